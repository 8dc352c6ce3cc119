"""Judge which places, of those that only people may change, a change touches. Pure.

A place is a file or a section with its subsections, there or not yet. A change is judged by the
rules before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from mdmem.folder.layout import file_and_section, matches
from mdmem.model import PATH_SEPARATOR, SETTINGS_NAME, FileKind, FilePath, SectionPath
from mdmem.model.errors import PathProblem
from mdmem.startup.records import dataclass
from mdmem.text.document import (
    common_ends,
    fold_space,
    is_named,
    join_path,
    lines_without_ends,
    parse_bytes,
)

_ATTRIBUTES = ".gitattributes"
_KEPT_TEXTS = 8
"""The text after one commit is the text before the next."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The settings `people_only` and `agents_propose`, and the kind of each file by its path."""

    people_only: tuple[str, ...]
    agents_propose: bool
    kind_of: Callable[[str], FileKind]

    def addresses(self, path: str) -> tuple[str, ...]:
        """The sections of a file that only people may change; an empty address is all of it."""
        folded = _fold(path)
        is_rule = folded == SETTINGS_NAME or folded.rpartition("/")[2] == _ATTRIBUTES
        free = (FileKind.DAILY, FileKind.OTHER)
        if is_rule or (self.agents_propose and self.kind_of(path) not in free):
            return ("",)
        places = map(file_and_section, self.people_only)
        return tuple(address for file, address in places if matches(folded, (_fold(file),)))

    def place_of(self, path: FilePath, section: SectionPath) -> str | None:
        """The place that a section is in; None if anybody may change it."""
        around = [section[:end] for end in range(1, len(section) + 1)]
        for address in self.addresses(path):
            if not address or any(is_named(each, address) for each in around):
                return _name(path, address)
        return None


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """The bytes of a file before and after a change; None where it is missing."""

    path: FilePath
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True, slots=True)
class ChangedPlace:
    """A file, or with an address its sections, before and after; the first line that differs."""

    path: FilePath
    address: str
    before: str
    after: str
    line: int

    @property
    def name(self) -> str:
        return _name(self.path, self.address)


def changed_places(rules: Rules, changes: Iterable[WrittenFile]) -> Iterator[ChangedPlace]:
    """Yield the places that changes take from, bring into, rename or move, as they may not."""
    for change in changes:
        texts = change.before, change.after
        for address in rules.addresses(change.path) if change.before != change.after else ():
            before, after = (text_of(data, address) for data in texts)
            if before != after or not address:
                lines = (lines_without_ends(text_of(data, "")) for data in texts)
                line = common_ends(*lines)[0] + 1
                yield ChangedPlace(
                    path=change.path, address=address, before=before, after=after, line=line
                )


def marked_place(
    rules: Rules, facts: Iterable[Iterable[tuple[FilePath, SectionPath]]]
) -> str | None:
    """The place of the first fact that is in such places alone; None if there is none."""
    for places in facts:
        names = [rules.place_of(path, section) for path, section in places]
        if names and all(names):
            return names[0]
    return None


@lru_cache(_KEPT_TEXTS)
def text_of(data: bytes | None, address: str) -> str:
    """The sections with an address, and their paths; all of a file that cannot be parsed."""
    text = (data or b"").decode("utf-8", "replace")
    if not address:
        return text
    try:
        document = parse_bytes(data or b"")
    except PathProblem:
        return text
    return "".join(
        f"{join_path(each.path)}\n{document.slice(each.start, each.tree_end).rstrip()}\n"
        for each in document.sections
        if is_named(each.path, address)
    )


def _name(path: FilePath, address: str) -> str:
    return PATH_SEPARATOR.join(filter(None, (path, address)))


def _fold(path: str) -> str:
    """A path as file systems may compare it: those of a Mac ignore case and forms of letters."""
    return fold_space(path).casefold()
