"""Which section of a document became which section of the next one, whatever their headings are called."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property

from mdmem.document import Document, Section, is_blank
from mdmem.history.differences import common_ends
from mdmem.model import SectionPath
from mdmem.startup.records import dataclass

_COMMONPLACE = 50
"""A line that stands in more sections than this tells nothing about any of them."""


@dataclass(frozen=True, eq=False)
class SectionPart:
    """A heading with its own text, or (the empty path, at place 0) the text before the first heading.

    `nth` counts the sections with this path from 1; `parent` is the place of the section around it, 0 where there is none.
    """

    document: Document
    position: int
    section: SectionPath
    nth: int
    start: int
    body: int
    end: int
    level: int
    parent: int

    @cached_property
    def text(self) -> str:
        """What the etag is of: from the heading to the last line that is not blank."""
        return self._trimmed(self.start)

    @cached_property
    def own(self) -> str:
        """The same without the heading."""
        return self._trimmed(self.body)

    @cached_property
    def lines(self) -> Counter[str]:
        """The lines of the own text that are not blank."""
        return Counter(line.strip() for line in self.document.lines[self.body : self.end] if not is_blank(line))

    @property
    def title(self) -> str:
        """The last heading of the path."""
        return self.section[-1] if self.section else ""

    def _trimmed(self, start: int) -> str:
        end = self.end
        while end > start and is_blank(self.document.lines[end - 1]):
            end -= 1
        return self.document.slice(start, end).rstrip("\r\n")


def section_parts(document: Document | None, first: int = 0, last: int | None = None) -> tuple[SectionPart, ...]:
    """The text before the first heading and the sections `first` up to `last` of a document; a file that is not there has none."""
    if document is None:
        return ()
    found = [SectionPart(document, 0, (), 1, document.front, document.front, document.preamble_end, 0, 0)]
    seen = Counter(section.path for section in document.sections[:first])
    around: list[Section] = []
    for section in document.sections[:last]:
        while around and around[-1].level >= section.level:
            around.pop()
        parent = around[-1].index + 1 if around else 0
        around.append(section)
        if section.index < first:
            continue
        seen[section.path] += 1
        place = (section.start, section.body, section.end)
        found.append(SectionPart(document, section.index + 1, section.path, seen[section.path], *place, section.level, parent))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class SectionRange:
    """The sections `first` up to `last` of a document; with the first of them comes the text before the first heading."""

    document: Document | None
    first: int
    last: int

    @property
    def parts(self) -> tuple[SectionPart, ...]:
        """The text before the first heading, whatever the first section is, and the sections."""
        return section_parts(self.document, self.first, self.last)

    @property
    def lines(self) -> tuple[int, int]:
        """The lines of it, from 0."""
        if self.document is None:
            return 0, 0
        starts = [*(section.start for section in self.document.sections[self.first : self.last + 1]), len(self.document.lines)]
        return (starts[0] if self.first else 0), starts[self.last - self.first]

    def outside(self) -> set[SectionPath]:
        """The paths of the other sections."""
        every = self.document.sections if self.document else ()
        return {section.path for section in (*every[: self.first], *every[self.last :])}


def whole_range(document: Document | None) -> SectionRange:
    """All of a document; a file that is not there has none."""
    return SectionRange(document, 0, len(document.sections) if document else 0)


def changed_ranges(before: Document | None, after: Document | None) -> tuple[SectionRange, SectionRange]:
    """The stretches of two versions of a document that are left without the sections that both begin with, and those that both end with."""
    if before is None or after is None:
        return whole_range(before), whole_range(after)
    old, new = before.sections, after.sections
    above, tail = common_ends(before.lines, after.lines)
    shift = len(after.lines) - len(before.lines)
    most = min(len(old), len(new))
    first = next((at for at in range(most) if old[at].end > above or not _same(old[at], new[at], 0)), most)
    below = len(before.lines) - tail
    most -= first
    last = next((at for at in range(most) if old[-1 - at].start < below or not _same(old[-1 - at], new[-1 - at], shift)), most)
    # A section goes by another number where one of its path came in or went out above it.
    counts = Counter(section.path for section in old[first : len(old) - last])
    counts.subtract(section.path for section in new[first : len(new) - last])
    uneven = {path for path, count in counts.items() if count}
    last = next((at for at in range(last) if old[-1 - at].path in uneven), last)
    return SectionRange(before, first, len(old) - last), SectionRange(after, first, len(new) - last)


def _same(one: Section, other: Section, shift: int) -> bool:
    return (one.start + shift, one.body + shift, one.end + shift, one.path) == (other.start, other.body, other.end, other.path)


def match_sections(old: Sequence[SectionPart], new: Sequence[SectionPart]) -> dict[int, SectionPart]:
    """What became of the sections: by place in the old document, the section that goes on in the new one.

    First those of the same path; then those with the same text below another heading; then those that kept at least half of their
    lines; then empty ones in the same surroundings. With each go the sections around and inside it that kept their titles.
    """
    if not old or not new:
        return {}
    found = _Partners(old, new)
    found.by_path()
    found.by_text()
    found.by_likeness()
    found.by_surroundings()
    return found.partner


class _Partners:
    def __init__(self, old: Sequence[SectionPart], new: Sequence[SectionPart]) -> None:
        self._old = {part.position: part for part in old}
        self._new = {part.position: part for part in new}
        self._taken: set[int] = set()
        self._inside_old = _grouped(old, lambda part: part.parent)
        self._inside_new = _grouped(new, lambda part: part.parent)
        self.partner: dict[int, SectionPart] = {}

    def by_path(self) -> None:
        """Sections of the same path, in their order; where their number is another one, those with the same text first."""
        olds, news = _grouped(self._old.values(), _path), _grouped(self._new.values(), _path)
        for path in olds.keys() & news.keys():
            old, new = olds[path], news[path]
            if len(old) != len(new):
                self._pair(old, new, _text, _text, alone=True)
            self._pair(old, new, _path, _path, alone=True)

    def by_text(self) -> None:
        """Sections with the same text below another heading."""
        self._pair(*self._left(lambda part: bool(part.own)), _own, _own)

    def by_likeness(self) -> None:
        """Sections that kept at least half of their lines, each with the one that has most of them."""
        old, new = self._left(lambda part: bool(part.own))
        holders: dict[str, list[SectionPart]] = {}
        for part in new:
            for line in part.lines:
                holders.setdefault(line, []).append(part)
        for one in old:
            shared: Counter[int] = Counter()
            for line, count in one.lines.items():
                there = holders.get(line, ())
                for other in there if len(there) <= _COMMONPLACE else ():
                    shared[other.position] += min(count, other.lines[line])
            free = [place for place in shared if place not in self._taken]
            place = min(free, key=lambda place: (-shared[place], place), default=0)
            if place and 2 * shared[place] >= one.lines.total() and one.position not in self.partner:
                self._join(one, self._new[place])

    def by_surroundings(self) -> None:
        """Empty sections say nothing of themselves: what stands around them has to be the same."""

        def around(part: SectionPart) -> Hashable:
            above = self.partner.get(part.parent)
            known = part.parent not in self._old
            return (above.position if above else part.parent if known else None, part.level)

        self._pair(*self._left(lambda part: not part.own), around, lambda part: (part.parent, part.level))

    def _left(self, counts: Callable[[SectionPart], bool]) -> tuple[list[SectionPart], list[SectionPart]]:
        old = [part for place, part in self._old.items() if place not in self.partner and counts(part)]
        return old, [part for place, part in self._new.items() if place not in self._taken and counts(part)]

    def _pair(
        self,
        old: Sequence[SectionPart],
        new: Sequence[SectionPart],
        old_key: Callable[[SectionPart], Hashable],
        new_key: Callable[[SectionPart], Hashable],
        alone: bool = False,
    ) -> None:
        """Those with the same key, in their order; unless `alone` with what is around and inside them."""
        waiting = {key: deque(group) for key, group in _grouped(new, new_key).items()}
        for one in old:
            if one.position in self.partner:
                continue
            group = waiting.get(old_key(one), deque())
            while group and group[0].position in self._taken:
                group.popleft()
            if group and alone:
                self._take(one, group.popleft())
            elif group:
                self._join(one, group.popleft())

    def _take(self, old: SectionPart, new: SectionPart) -> None:
        self.partner[old.position] = new
        self._taken.add(new.position)

    def _join(self, old: SectionPart, new: SectionPart) -> None:
        """These two, then the sections inside them and around them that kept their titles."""
        self._take(old, new)
        self._pair(self._inside_old.get(old.position, ()), self._inside_new.get(new.position, ()), _title, _title)
        above, now = self._old.get(old.parent), self._new.get(new.parent)
        if above and now and old.title == new.title and above.position not in self.partner and now.position not in self._taken:
            self._join(above, now)


def _path(part: SectionPart) -> SectionPath:
    return part.section


def _title(part: SectionPart) -> str:
    return part.title


def _text(part: SectionPart) -> str:
    return part.text


def _own(part: SectionPart) -> str:
    return part.own


def _grouped(parts: Iterable[SectionPart], key: Callable[[SectionPart], Hashable]) -> dict[Hashable, list[SectionPart]]:
    groups: dict[Hashable, list[SectionPart]] = {}
    for part in parts:
        groups.setdefault(key(part), []).append(part)
    return groups
