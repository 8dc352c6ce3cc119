"""The sections of two versions of a document, and which became which, however renamed. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import (
    Callable,
    Collection,
    Container,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from functools import cached_property

from mdmem.editors.pairs import one_to_one, unmatched_between
from mdmem.editors.text_units import Unit, units_of, without_line_end
from mdmem.model import SectionPath
from mdmem.startup.records import dataclass, replace
from mdmem.text.document import Document, Section, common_ends, is_blank, plain_title

_MOST_HOLDERS = 50
"""Contents that more sections share are ignored."""


@dataclass(frozen=True, eq=False)
class SectionPart:
    """A heading with its own text, or (number 0, empty path) the text before the first heading.

    `position` is its number in the whole document, `parent` a number; `nth` counts the sections
    with this path, from 1.
    """

    document: Document
    number: int
    position: int
    parent: int
    level: int
    path: SectionPath
    nth: int
    start: int
    body: int
    end: int
    children: list[int]

    @cached_property
    def title(self) -> str:
        """Without markup."""
        return plain_title(self.path[-1]) if self.path else ""

    @property
    def heading(self) -> str:
        """The heading as written, without its last line end."""
        return without_line_end(self.document.slice(self.start, self.body))

    @property
    def own(self) -> str:
        return self.document.slice(self.body, self.end)

    @cached_property
    def text(self) -> str:
        """The text that the etag is of: from the heading to the last line that is not blank."""
        end = self.end
        while end > self.start and is_blank(self.document.lines[end - 1]):
            end -= 1
        return self.document.slice(self.start, end).rstrip("\r\n")


class SectionParts:
    """The text before the first heading and the sections of a document; none without one.

    Of `heads`, where they are given: positions of sections, with those around them.
    """

    def __init__(self, document: Document | None, heads: Container[int] | None = None) -> None:
        self.sections = tuple(_read(document, heads)) if document else ()
        self._units: dict[int, tuple[tuple[Unit, int, int], ...]] = {}

    def name(self, number: int) -> tuple[tuple[str, ...], str, str]:
        """The order of sections of a whole file: path, without markup, heading and own text."""
        part, titles = self.sections[number], list[str]()
        while number:
            titles.append(self.sections[number].title)
            number = self.sections[number].parent
        return tuple(reversed(titles)), part.heading, part.own

    def units(self, number: int) -> tuple[Unit, ...]:
        return tuple(unit for unit, _, _ in self.units_with_lines(number))

    def units_with_lines(self, number: int) -> tuple[tuple[Unit, int, int], ...]:
        """The units of a section's own text, each with its first line and the line after it."""
        units = self._units.get(number)
        if units is None:
            part = self.sections[number]
            units = self._units[number] = units_of(part.document, part.body, part.end)
        return units


def _read(document: Document, heads: Container[int] | None) -> list[SectionPart]:
    counts = Counter[SectionPath]()
    preamble = SectionPart(
        document=document,
        number=0,
        position=0,
        parent=0,
        level=0,
        path=(),
        nth=1,
        start=document.front,
        body=document.front,
        end=document.preamble_end,
        children=[],
    )
    parts = [preamble]
    around = [0]
    for position, head in enumerate(document.sections, 1):
        counts[head.path] += 1
        if heads is not None and position not in heads:
            continue
        while parts[around[-1]].level >= head.level:
            around.pop()
        part = SectionPart(
            document=document,
            number=len(parts),
            position=position,
            parent=around[-1],
            level=head.level,
            path=head.path,
            nth=counts[head.path],
            start=head.start,
            body=head.body,
            end=head.end,
            children=[],
        )
        parts[part.parent].children.append(part.number)
        around.append(part.number)
        parts.append(part)
    return parts


@dataclass(frozen=True, slots=True)
class Range:
    """Sections `first` to `last`; the first one includes the text before the first heading."""

    document: Document | None
    first: int
    last: int

    @property
    def lines(self) -> tuple[int, int]:
        """Its lines, counted from 0."""
        if self.document is None:
            return 0, 0
        starts = [
            *(section.start for section in self.document.sections[self.first : self.last + 1]),
            len(self.document.lines),
        ]
        return (starts[0] if self.first else 0), starts[self.last - self.first]

    @property
    def sections(self) -> Sequence[Section]:
        return self.document.sections[self.first : self.last] if self.document else ()

    @property
    def outside(self) -> Iterator[Section]:
        """The sections before and behind it."""
        sections = self.document.sections if self.document else ()
        yield from sections[: self.first]
        yield from sections[self.last :]

    @property
    def ends_inside_a_section(self) -> bool:
        """True if the section behind it is in one of its sections."""
        behind = self.document.sections[self.last :] if self.document else ()
        return bool(behind) and any(section.tree_end > behind[0].start for section in self.sections)

    def holds(self, part: SectionPart) -> bool:
        return not part.position or self.first < part.position <= self.last

    def parts(self, around: Collection[int]) -> SectionParts:
        """The text before the first heading, its sections, and others at some positions."""
        if self.document and len(self.sections) == len(self.document.sections):
            return SectionParts(self.document)
        return SectionParts(self.document, {*around, *range(self.first + 1, self.last + 1)})

    def around(self) -> set[int]:
        """The positions of the sections before it that some of its sections are in."""
        found, level = set[int](), next((section.level for section in self.sections), 0)
        if self.document:
            for section in reversed(self.document.sections[: self.first]):
                if section.level < level:
                    found.add(section.index + 1)
                    level = section.level
        return found


def whole_range(document: Document | None) -> Range:
    return Range(document, 0, len(document.sections) if document else 0)


def changed_ranges(before: Document | None, after: Document | None) -> tuple[Range, Range]:
    """The ranges of two versions between their equal first and equal last sections."""
    if before is None or after is None:
        return whole_range(before), whole_range(after)
    old, new = before.sections, after.sections
    same_lines, same_last_lines = common_ends(before.lines, after.lines)
    shift = len(after.lines) - len(before.lines)
    most = min(len(old), len(new))
    first = next(
        (n for n in range(most) if old[n].end > same_lines or not _is_same(old[n], new[n], 0)), most
    )
    tail_start = len(before.lines) - same_last_lines
    most -= first
    last = next(
        (
            n
            for n in range(most)
            if old[-1 - n].start < tail_start or not _is_same(old[-1 - n], new[-1 - n], shift)
        ),
        most,
    )
    # The number of a section among those of its path changes where one was added or removed above
    # it.
    counts = Counter(section.path for section in old[first : len(old) - last])
    counts.subtract(section.path for section in new[first : len(new) - last])
    uneven = {path for path, count in counts.items() if count}
    last = next((n for n in range(last) if old[-1 - n].path in uneven), last)
    return Range(before, first, len(old) - last), Range(after, first, len(new) - last)


def _is_same(old: Section, new: Section, shift: int) -> bool:
    return (old.start + shift, old.body + shift, old.end + shift, old.path) == (
        new.start,
        new.body,
        new.end,
        new.path,
    )


def ranges_to_match(before: Document | None, after: Document | None) -> tuple[Range, Range]:
    """The changed ranges; all sections where those outside may say what became of those inside."""
    old, new = changed_ranges(before, after)
    inside, outside = (*old.sections, *new.sections), tuple(old.outside)
    # An entry may have an equal in another section of the same path.
    is_whole = not {section.path for section in outside}.isdisjoint(
        section.path for section in inside
    )
    if [_head(section) for section in old.sections] != [_head(section) for section in new.sections]:
        titles = {plain_title(section.title) for section in outside}
        is_whole = (
            is_whole
            or not titles.isdisjoint(plain_title(section.title) for section in inside)
            or old.ends_inside_a_section
            or new.ends_inside_a_section
        )
    return (whole_range(before), whole_range(after)) if is_whole else (old, new)


def _head(section: Section) -> tuple[int, str]:
    return section.level, section.title


def under_paths(document: Document, paths: Mapping[int, SectionPath]) -> Document:
    """A document with other paths of sections, by their positions."""
    sections = tuple(
        replace(section, path=paths.get(section.index + 1, section.path))
        for section in document.sections
    )
    return document if sections == document.sections else replace(document, sections=sections)


def became(old: SectionParts, new: SectionParts) -> dict[int, int]:
    """The new number of each old section; the first rule that decides counts:

    the same path; a title unique among the rest; half of the content; an empty one's place.
    """
    if not old.sections or not new.sections:
        return {}
    matcher = _SectionMatcher(old, new)
    matcher.match(0, 0)
    matcher.by_path()
    matcher.twins()
    matcher.by_title()
    matcher.by_content()
    matcher.by_surroundings()
    matcher.in_order()
    return matcher.matches


_Group = tuple[list[int], list[int]]


class _SectionMatcher:
    def __init__(self, old: SectionParts, new: SectionParts) -> None:
        self._old, self._new = old, new
        self.matches: dict[int, int] = {}
        self._taken: set[int] = set()
        self._to_descend: list[tuple[int, int]] = []
        self._ambiguous: list[_Group] = []
        self._undecided: list[_Group] = []

    def match(self, old: int, new: int) -> None:
        if old not in self.matches and new not in self._taken:
            self.matches[old] = new
            self._taken.add(new)
            self._to_descend.append((old, new))

    def by_path(self) -> None:
        while self._to_descend:
            old, new = self._to_descend.pop()
            old_children, new_children = (
                self._left_in(self._old, old, self.matches),
                self._left_in(self._new, new, self._taken),
            )
            for title, numbers in old_children.items():
                others = new_children.get(title, ())
                if len(numbers) == len(others) == 1:
                    self.match(numbers[0], others[0])
                elif others:
                    self._ambiguous.append((numbers, others))

    @staticmethod
    def _left_in(
        version: SectionParts, parent: int, matched: Container[int]
    ) -> dict[str, list[int]]:
        titles: dict[str, list[int]] = {}
        for number in version.sections[parent].children:
            if number not in matched:
                titles.setdefault(version.sections[number].title, []).append(number)
        return titles

    def twins(self) -> None:
        while self._ambiguous:
            groups, self._ambiguous = self._ambiguous, []
            for rule in (self._same_text, self._shared_text, self._as_many):
                for group in groups:
                    for pair in rule(*self._left_of(group)):
                        self.match(*pair)
            self._undecided += groups
            self.by_path()

    def in_order(self) -> None:
        while self._undecided:
            groups, self._undecided = self._undecided, []
            for group in groups:
                for pair in zip(*self._left_of(group), strict=False):
                    self.match(*pair)
            self.by_path()
            self.twins()

    def _left_of(self, group: _Group) -> _Group:
        olds, news = group
        return [number for number in olds if number not in self.matches], [
            number for number in news if number not in self._taken
        ]

    def _same_text(self, olds: list[int], news: list[int]) -> Iterator[tuple[int, int]]:
        texts: dict[str, list[int]] = {}
        for number in reversed(news):
            texts.setdefault(_text(self._new, number), []).append(number)
        for number in olds:
            group = texts.get(_text(self._old, number))
            if group and _text(self._old, number):
                yield number, group.pop()

    def _shared_text(self, olds: list[int], news: list[int]) -> Iterator[tuple[int, int]]:
        yield from self._most_alike(olds, news, lambda shared, _: shared > 0)

    def _as_many(self, olds: list[int], news: list[int]) -> Iterator[tuple[int, int]]:
        if len(olds) == len(news):
            yield from zip(olds, news, strict=True)

    def by_title(self) -> None:
        olds, news = self._left()
        in_old, in_new = _single(olds, self._old), _single(news, self._new)
        for title, number in in_old.items():
            if title in in_new:
                self.match(number, in_new[title])
        self.by_path()
        self.twins()

    def by_content(self) -> None:
        olds, news = self._left()
        for pair in self._most_alike(olds, news, lambda shared, size: 2 * shared >= size):
            self.match(*pair)
        self.by_path()
        self.twins()

    def _most_alike(
        self, olds: list[int], news: list[int], is_enough: Callable[[int, int], bool]
    ) -> Iterator[tuple[int, int]]:
        holders: dict[Hashable, list[int]] = {}
        for number in news:
            for token in {
                token for tokens in self._contents(self._new, number, False) for token in tokens
            }:
                holders.setdefault(token, []).append(number)
        ranked = []
        for number in olds:
            contents = list(self._contents(self._old, number, True))
            shared: Counter[int] = Counter()
            for tokens in contents:
                few = [
                    holders[token]
                    for token in tokens
                    if len(holders.get(token, ())) in range(1, _MOST_HOLDERS)
                ]
                shared.update({new for group in few for new in group})
            ranked += [
                (-count, number, new)
                for new, count in shared.items()
                if is_enough(count, len(contents))
            ]
        for _, old, new in one_to_one(sorted(ranked)):
            yield old, new

    def _contents(
        self, version: SectionParts, number: int, is_old: bool
    ) -> Iterator[tuple[Hashable, ...]]:
        section = version.sections[number]
        for unit in version.units(number):
            if unit.fact:
                yield (
                    (("id", unit.fact.id), ("key", unit.key))
                    if unit.key
                    else (("id", unit.fact.id),)
                )
            else:
                yield from ((("atom", atom),) for atom in unit.atoms)
        for child in section.children:
            if not is_old:
                yield (("section", child),)
            elif child in self.matches:
                yield (("section", self.matches[child]),)

    def by_surroundings(self) -> None:
        olds, _ = self._left()
        itself, old_of = (
            {old: old for old in self.matches},
            {new: old for old, new in self.matches.items()},
        )
        for parent in dict.fromkeys(self._old.sections[number].parent for number in olds):
            if parent not in itself:
                continue
            news = unmatched_between(self._new.sections[self.matches[parent]].children, old_of)
            unmatched = unmatched_between(self._old.sections[parent].children, itself)
            for neighbours, numbers in unmatched.items():
                others = news.get(neighbours, ())
                if len(numbers) == len(others) and all(map(self._is_empty, numbers)):
                    for pair in zip(numbers, others, strict=True):
                        self.match(*pair)
        self.by_path()

    def _is_empty(self, old: int) -> bool:
        return not self._old.units(old) and not self._old.sections[old].children

    def _left(self) -> tuple[list[int], list[int]]:
        return (
            [
                section.number
                for section in self._old.sections
                if section.number not in self.matches
            ],
            [section.number for section in self._new.sections if section.number not in self._taken],
        )


def _text(version: SectionParts, number: int) -> str:
    return version.sections[number].own.strip()


def _single(numbers: Iterable[int], version: SectionParts) -> dict[str, int]:
    titles: dict[str, list[int]] = {}
    for number in numbers:
        titles.setdefault(version.sections[number].title, []).append(number)
    return {title: group[0] for title, group in titles.items() if len(group) == 1}
