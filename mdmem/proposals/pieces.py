"""The pieces of one file's change: one per fact, and one per heading with its prose. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby

from mdmem.editors.fact_difference import changed_paths, items_difference
from mdmem.editors.section import strip_blank_lines
from mdmem.editors.sections import SectionParts, became, under_paths
from mdmem.model import FactId, SectionPath, Supersession
from mdmem.past.messages import section_name
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.text.document import Document, Section, is_blank, parse, preamble_etag, section_etag
from mdmem.text.facts import Item, items, normalise

_BLANK_LINES = late.pattern(r"\n{3,}")

EMPTY = parse("")


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
        """All section paths in file order; the first is empty."""
        return tuple(self._ranges)

    def has_section(self, path: SectionPath) -> bool:
        """True for a path in the file, and always for the empty one."""
        return path in self._ranges

    def section(self, path: SectionPath) -> Section | None:
        """The first section with this path."""
        return (
            next((section for section in self.document.sections if section.path == path), None)
            if path in self._ranges
            else None
        )

    def in_section(self, path: SectionPath) -> tuple[Item, ...]:
        """The facts of a section's own text; none if there is no such section."""
        if path not in self._items:
            ranges = self._ranges.get(path, ())
            self._items[path] = tuple(
                item for start, end in ranges for item in items(self.document, start, end)
            )
        return self._items[path]

    def own_text(self, path: SectionPath) -> str:
        """A section's text without heading and subsections."""
        return "".join(self.document.slice(start, end) for start, end in self._ranges.get(path, ()))

    def prose(self, path: SectionPath) -> str:
        """A section's own text between its facts, joined by one blank line."""
        taken = {line for item in self.in_section(path) for line in range(item.start, item.end)}
        runs = (
            run
            for start, end in self._ranges.get(path, ())
            for run in groupby(range(start, end), key=taken.__contains__)
        )
        lines = (
            (self.document.lines[number].rstrip("\r\n") for number in numbers)
            for is_fact, numbers in runs
            if not is_fact
        )
        return "\n\n".join(filter(None, (strip_blank_lines("\n".join(each)) for each in lines)))

    @cached_property
    def by_fact(self) -> dict[FactId, list[tuple[SectionPath, Item]]]:
        holders: dict[FactId, list[tuple[SectionPath, Item]]] = {}
        for path in self._ranges:
            for item in self.in_section(path):
                holders.setdefault(item.fact.id, []).append((path, item))
        return holders

    def holders(self, fact: FactId, section: SectionPath | None) -> tuple[Item, ...]:
        """The items that state a fact in a section, or in the whole file (None)."""
        if section is None:
            return tuple(item for _, item in self.by_fact.get(fact, ()))
        return tuple(item for item in self.in_section(section) if item.fact.id == fact)

    def only_holder(self, fact: FactId) -> tuple[Item, ...]:
        """The one item that states a fact; none where several do."""
        same = self.holders(fact, None)
        return same if len(same) == 1 else ()

    def ids(self, section: SectionPath) -> frozenset[FactId]:
        return frozenset(item.fact.id for item in self.in_section(section))

    def key_holders(self, section: SectionPath, key: str) -> tuple[Item, ...]:
        wanted = normalise(key)
        return tuple(
            item
            for item in self.in_section(section)
            if item.fact.key and normalise(item.fact.key) == wanted
        )

    @cached_property
    def headings(self) -> dict[SectionPath, tuple[str, ...]]:
        """The raw headings that lead to each section, its own last."""
        lines: dict[SectionPath, tuple[str, ...]] = {(): ()}
        for section in self.document.sections:
            own = self.document.slice(section.start, section.body).rstrip("\r\n")
            lines.setdefault(section.path, (*lines.get(section.path[:-1], ()), own))
        return lines


def same_prose(text: str | None, other: str | None) -> bool:
    """True if texts differ only in trailing white space and numbers of blank lines."""
    return text == other or (
        text is not None and other is not None and _tidied(text) == _tidied(other)
    )


def _tidied(text: str) -> str:
    return _BLANK_LINES.sub("\n\n", "\n".join(line.rstrip() for line in text.split("\n")))


def written_lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.split("\n") if not is_blank(line)]


_MOST_ABOVE = 20
"""The maximum of facts above a part to remember, to insert it behind one still there."""
_MOST_NAME = 500
"""The maximum of characters of a section's path in a part's name."""


@dataclass(frozen=True, slots=True)
class ItemPlace:
    """A list item with its section, and the raw headings and (nearest first) facts above it."""

    item: Item
    section: SectionPath
    headings: tuple[str, ...]
    above: tuple[FactId, ...]
    same_key: frozenset[FactId]


@dataclass(frozen=True, slots=True)
class FactPiece:
    """The change of one fact from `old` to `new`, either of them perhaps None."""

    old: ItemPlace | None
    new: ItemPlace | None

    @property
    def place(self) -> ItemPlace:
        place = self.new or self.old
        assert place is not None
        return place

    @property
    def fact(self) -> FactId:
        return self.place.item.fact.id


@dataclass(frozen=True, slots=True)
class SectionPiece:
    """The change of a heading, or of its text besides facts.

    `old` and `new` are its paths (None: no such section), `before` and `after` its texts,
    `headings` the raw ones of the new section. `target` is the file before with this text change
    alone.
    """

    old: SectionPath | None
    new: SectionPath | None
    etag: str
    before: str | None
    after: str | None
    headings: tuple[str, ...] = ()
    target: str | None = None

    @property
    def section(self) -> SectionPath:
        return self.new if self.new is not None else self.old or ()

    @property
    def name(self) -> str:
        return _part_name(self.section, self.etag)


def _part_name(section: SectionPath, etag: str) -> str:
    return f"{section_name(section)[:_MOST_NAME]}@{etag}"


def section_names(document: Document) -> frozenset[str]:
    """The names of parts that would bring in the sections of a document, or take them out."""
    facts = FileFacts(document)
    return frozenset(_part_name(path, _etag(facts, path)) for path in facts.paths)


@dataclass(frozen=True, slots=True)
class FileSource:
    """The file where a part began, and the proposal's new section paths."""

    base: Document
    paths: Mapping[SectionPath, SectionPath]


# Facts.


def fact_pieces(
    base: FileFacts, tip: FileFacts, pairs: Sequence[Supersession] | None = None
) -> tuple[FactPiece, ...]:
    """Changed facts between two versions; both sides use the second's section paths.

    `pairs` are the replaced facts with their successors; None: by likeness.
    """
    changed = changed_paths(base.document, tip.document)
    old, new = (
        {path: facts.in_section(path) for path in facts.paths if path in changed}
        for facts in (base, tip)
    )
    difference = items_difference(old, new)
    added = {item.start: item for item in difference.added}
    removed = {item.start: item for item in difference.removed}
    came, went = _by_place(tip, added.values()), _by_place(base, removed.values())
    pieces = []
    for pair in difference.supersedes if pairs is None else pairs:
        for path in new:
            before, after = went.get((path, pair.old)), came.get((path, pair.new))
            if before and after and before.start in removed and after.start in added:
                del removed[before.start], added[after.start]
                pieces.append(FactPiece(_place(base, before), _place(tip, after)))
                break
    pieces += [FactPiece(_place(base, item), None) for item in removed.values()]
    pieces += [FactPiece(None, _place(tip, item)) for item in added.values()]
    for path in new:
        pieces += [
            FactPiece(_place(base, before), _place(tip, after))
            for before, after in _relabelled(old.get(path, ()), new[path])
        ]
    return tuple(sorted(pieces, key=lambda piece: (piece.new is None, piece.place.item.start)))


def _by_place(facts: FileFacts, items: Iterable[Item]) -> dict[tuple[SectionPath, FactId], Item]:
    first: dict[tuple[SectionPath, FactId], Item] = {}
    for item in items:
        first.setdefault((facts.document.path_at(item.start), item.fact.id), item)
    return first


def _relabelled(before: Sequence[Item], after: Sequence[Item]) -> Iterator[tuple[Item, Item]]:
    earlier: dict[FactId, list[Item]] = {}
    for item in before:
        earlier.setdefault(item.fact.id, []).append(item)
    for item in after:
        same = earlier.get(item.fact.id)
        old = same.pop(0) if same else item
        if old.raw.rstrip() != item.raw.rstrip():
            yield old, item


def _place(facts: FileFacts, item: Item) -> ItemPlace:
    section = facts.document.path_at(item.start)
    same = facts.in_section(section)
    number = bisect_left(same, item.start, key=lambda each: each.start)
    above = tuple(each.fact.id for each in reversed(same[max(0, number - _MOST_ABOVE) : number]))
    same_key = (
        frozenset(each.fact.id for each in facts.key_holders(section, item.fact.key))
        if item.fact.key
        else frozenset[FactId]()
    )
    return ItemPlace(
        item=item,
        section=section,
        headings=facts.headings.get(section, ()),
        above=above,
        same_key=same_key,
    )


def _without_facts(tip: FileFacts, changed: Iterable[FactPiece]) -> Document:
    """Undo all fact changes at once, restoring removed facts behind their neighbours."""
    document = tip.document
    lines = dict(enumerate(document.lines))
    for piece in changed:
        old = piece.old.item.raw.rstrip("\r\n") + document.line_end if piece.old else ""
        if piece.new is not None:
            item = piece.new.item
            lines |= dict.fromkeys(range(item.start, item.end), "")
            lines[item.start] = old
            if (
                not old
                and item.end in lines
                and is_blank(lines[item.end])
                and is_blank(_line_above(lines, item.start))
            ):
                lines[item.end] = ""  # keep one of the blank lines on both sides
        elif piece.old is not None:
            stands = {item.fact.id: item for item in tip.in_section(piece.old.section)}
            above = next((stands[fact] for fact in piece.old.above if fact in stands), None)
            section = tip.section(piece.old.section)
            line = above.end - 1 if above else section.body - 1 if section else 0
            lines[line] = lines.get(line, "") + old
    return parse(document.bom + "".join(lines[number] for number in sorted(lines)))


def _line_above(lines: Mapping[int, str], number: int) -> str:
    return next((lines[above] for above in range(number - 1, -1, -1) if lines[above]), "")


# Sections.


def with_paths_of(
    base: Document, tip: Document
) -> tuple[Document, Mapping[SectionPath, SectionPath]]:
    """The first version under the second's section paths, and the new path of each old one."""
    if [section.path for section in base.sections] == [section.path for section in tip.sections]:
        return base, {}
    old_parts, new_parts = SectionParts(base), SectionParts(tip)
    paths = {
        old_parts.sections[old].path: new_parts.sections[new].path
        for old, new in became(old_parts, new_parts).items()
        if old and new
    }
    renamed = {old: new for old, new in paths.items() if old != new}
    if not renamed:
        return base, {}
    places = {part.position: renamed.get(part.path, part.path) for part in old_parts.sections}
    return under_paths(base, places), renamed


def section_pieces(
    base: FileFacts,
    tip: FileFacts,
    facts: Iterable[FactPiece],
    paths: Mapping[SectionPath, SectionPath],
) -> tuple[SectionPiece, ...]:
    """Sections renamed, added or removed, and changes of text besides `facts`.

    `paths` are the new paths of old sections.
    """
    to_old = {new: old for old, new in paths.items()}
    pieces = [
        _renamed_piece(base, tip, old, new) for new, old in to_old.items() if new[-1] != old[-1]
    ]
    changed = []
    undone: Document | None = None
    for new in tip.paths:
        old = to_old.get(new, new)
        if not base.has_section(old):
            text = tip.prose(new)
            if text or not _holds_facts(tip, new):
                headings = tip.headings[new]
                pieces.append(
                    SectionPiece(
                        old=None,
                        new=new,
                        etag=_etag(tip, new),
                        before=None,
                        after=text,
                        headings=headings,
                    )
                )
        elif base.own_text(old) != tip.own_text(new) and not same_prose(
            before := base.prose(old), after := tip.prose(new)
        ):
            undone = undone or _without_facts(tip, facts)
            target = _target(base.document, undone, old, new)
            changed.append(
                SectionPiece(
                    old=old,
                    new=new,
                    etag=_etag(tip, new),
                    before=before,
                    after=after,
                    target=target,
                )
            )
    gone = [old for old in base.paths if not tip.has_section(paths.get(old, old))]
    removed = [
        SectionPiece(old=old, new=None, etag=_etag(base, old), before=base.prose(old), after=None)
        for old in reversed(gone)
    ]
    return (*pieces, *changed, *removed)


def _renamed_piece(
    base: FileFacts, tip: FileFacts, old: SectionPath, new: SectionPath
) -> SectionPiece:
    before, headings = base.headings[old][-1], tip.headings[new]
    return SectionPiece(
        old=old, new=new, etag=_etag(tip, new), before=before, after=headings[-1], headings=headings
    )


def _holds_facts(facts: FileFacts, path: SectionPath) -> bool:
    return any(facts.in_section(each) for each in facts.paths if each[: len(path)] == path)


def _etag(facts: FileFacts, path: SectionPath) -> str:
    section = facts.section(path)
    return section_etag(facts.document, section) if section else preamble_etag(facts.document)


def _target(base: Document, undone: Document, old: SectionPath, new: SectionPath) -> str:
    target, source = _bounds(base, old), _bounds(undone, new)
    if target is None or source is None:
        return base.text
    own, text = base.slice(*target), undone.slice(*source).rstrip()
    ending = (
        own[len(own.rstrip()) :]
        if text and own.strip()
        else base.line_end * (2 if target[1] < len(base.lines) else 1)
    )
    return (
        base.bom + base.slice(0, target[0]) + text + ending + base.slice(target[1], len(base.lines))
    )


def _bounds(document: Document, path: SectionPath) -> tuple[int, int] | None:
    if not path:
        return 0, document.preamble_end
    return next(
        ((section.body, section.end) for section in document.sections if section.path == path), None
    )


# Sections that have other names now.


def renamed_pieces(
    pieces: Iterable[FactPiece], paths: Mapping[SectionPath, SectionPath]
) -> tuple[FactPiece, ...]:
    return (
        tuple(
            FactPiece(old=_moved(piece.old, paths), new=_moved(piece.new, paths))
            for piece in pieces
        )
        if paths
        else tuple(pieces)
    )


def _moved(place: ItemPlace | None, paths: Mapping[SectionPath, SectionPath]) -> ItemPlace | None:
    if place is None:
        return None
    for length in range(len(place.section), 0, -1):
        if place.section[:length] in paths:
            return replace(place, section=(*paths[place.section[:length]], *place.section[length:]))
    return place
