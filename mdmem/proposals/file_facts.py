"""The facts of one file by section, by id and by key, and what stands between them; each section is read when it is asked for. Pure."""

from __future__ import annotations

from functools import cached_property
from itertools import groupby

from mdmem.document import Document, Section, is_blank, parse
from mdmem.editors.outline import strip_blank_lines
from mdmem.facts import Item, items, normalise
from mdmem.model import FactId, SectionPath
from mdmem.startup import late

_BLANK_LINES = late.pattern(r"\n{3,}")

EMPTY = parse("")
"""The document of a file that is not there."""


class FileFacts:
    """A document with its facts. The empty path is that of the text before the first heading."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._ranges: dict[SectionPath, list[tuple[int, int]]] = {(): [(0, document.preamble_end)]}
        for section in document.sections:
            self._ranges.setdefault(section.path, []).append((section.body, section.end))
        self._items: dict[SectionPath, tuple[Item, ...]] = {}

    @property
    def paths(self) -> tuple[SectionPath, ...]:
        """The paths of all sections, in file order; the first one is empty."""
        return tuple(self._ranges)

    def has_section(self, path: SectionPath) -> bool:
        """True if there is a section with this path; the text before the first heading always is."""
        return path in self._ranges

    def section(self, path: SectionPath) -> Section | None:
        """The first section with this path."""
        return next((section for section in self.document.sections if section.path == path), None) if path in self._ranges else None

    def in_section(self, path: SectionPath) -> tuple[Item, ...]:
        """The facts of a section's own text; none where there is no such section."""
        if path not in self._items:
            ranges = self._ranges.get(path, ())
            self._items[path] = tuple(item for start, end in ranges for item in items(self.document, start, end))
        return self._items[path]

    def own_text(self, path: SectionPath) -> str:
        """The text of a section, heading and subsections apart."""
        return "".join(self.document.slice(start, end) for start, end in self._ranges.get(path, ()))

    def prose(self, path: SectionPath) -> str:
        """The own text of a section besides its facts: the texts between them, without the blank lines around each, joined by one."""
        taken = {line for item in self.in_section(path) for line in range(item.start, item.end)}
        runs = (run for start, end in self._ranges.get(path, ()) for run in groupby(range(start, end), key=taken.__contains__))
        lines = ((self.document.lines[number].rstrip("\r\n") for number in numbers) for is_fact, numbers in runs if not is_fact)
        return "\n\n".join(filter(None, (strip_blank_lines("\n".join(each)) for each in lines)))

    @cached_property
    def by_fact(self) -> dict[FactId, list[tuple[SectionPath, Item]]]:
        """The items that state each fact, with their sections."""
        holders: dict[FactId, list[tuple[SectionPath, Item]]] = {}
        for path in self._ranges:
            for item in self.in_section(path):
                holders.setdefault(item.fact.id, []).append((path, item))
        return holders

    def holders(self, fact: FactId, section: SectionPath | None) -> tuple[Item, ...]:
        """The items that state a fact in a section; in the whole file without one."""
        if section is None:
            return tuple(item for _, item in self.by_fact.get(fact, ()))
        return tuple(item for item in self.in_section(section) if item.fact.id == fact)

    def only_holder(self, fact: FactId) -> tuple[Item, ...]:
        """The one item that states a fact; none where several do."""
        same = self.holders(fact, None)
        return same if len(same) == 1 else ()

    def ids(self, section: SectionPath) -> frozenset[FactId]:
        """The facts of a section."""
        return frozenset(item.fact.id for item in self.in_section(section))

    def key_holders(self, section: SectionPath, key: str) -> tuple[Item, ...]:
        """The items of a section that have a key."""
        wanted = normalise(key)
        return tuple(item for item in self.in_section(section) if item.fact.key and normalise(item.fact.key) == wanted)

    @cached_property
    def headings(self) -> dict[SectionPath, tuple[str, ...]]:
        """The raw headings that lead to each section, its own last."""
        lines: dict[SectionPath, tuple[str, ...]] = {(): ()}
        for section in self.document.sections:
            own = self.document.slice(section.start, section.body).rstrip("\r\n")
            lines.setdefault(section.path, (*lines.get(section.path[:-1], ()), own))
        return lines


def same_prose(text: str | None, other: str | None) -> bool:
    """True if two texts are the same apart from white space at the ends of lines and more than one blank line; None is a text that is not there."""
    return text == other or (text is not None and other is not None and _tidied(text) == _tidied(other))


def _tidied(text: str) -> str:
    return _BLANK_LINES.sub("\n\n", "\n".join(line.rstrip() for line in text.split("\n")))


def written_lines(text: str) -> list[str]:
    """The lines of a text that are not blank, without white space at their ends."""
    return [line.rstrip() for line in text.split("\n") if not is_blank(line)]
