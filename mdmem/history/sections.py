"""Match the sections of two versions of a document, however their headings are renamed. Pure."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property
from operator import attrgetter

from mdmem.model import SectionPath
from mdmem.startup.records import dataclass
from mdmem.text.document import Document, Section, common_ends, is_blank

_MOST_HOLDERS = 50
"""A line in more sections than this tells nothing about any of them."""
_PATH, _TITLE, _TEXT, _OWN = map(attrgetter, ("section", "title", "text", "own"))


@dataclass(frozen=True, eq=False)
class SectionPart:
    """A heading with its own text, or (empty path, position 0) the text before the first heading.

    `nth` counts the sections with this path, from 1; `parent` is a position, 0 at the top.
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
        """The text that the etag is of: from the heading to the last line that is not blank."""
        return self._trimmed(self.start)

    @cached_property
    def own(self) -> str:
        return self._trimmed(self.body)

    @cached_property
    def lines(self) -> Counter[str]:
        return Counter(
            line.strip() for line in self.document.lines[self.body : self.end] if not is_blank(line)
        )

    @property
    def title(self) -> str:
        return self.section[-1] if self.section else ""

    def _trimmed(self, start: int) -> str:
        end = self.end
        while end > start and is_blank(self.document.lines[end - 1]):
            end -= 1
        return self.document.slice(start, end).rstrip("\r\n")


def section_parts(
    document: Document | None, first: int = 0, last: int | None = None
) -> tuple[SectionPart, ...]:
    """The text before the first heading and sections `first` to `last`; none without a document."""
    if document is None:
        return ()
    preamble = SectionPart(
        document=document,
        position=0,
        section=(),
        nth=1,
        start=document.front,
        body=document.front,
        end=document.preamble_end,
        level=0,
        parent=0,
    )
    parts = [preamble]
    counts = Counter(section.path for section in document.sections[:first])
    around: list[Section] = []
    for section in document.sections[:last]:
        while around and around[-1].level >= section.level:
            around.pop()
        parent = around[-1].index + 1 if around else 0
        around.append(section)
        if section.index < first:
            continue
        counts[section.path] += 1
        part = SectionPart(
            document=document,
            position=section.index + 1,
            section=section.path,
            nth=counts[section.path],
            start=section.start,
            body=section.body,
            end=section.end,
            level=section.level,
            parent=parent,
        )
        parts.append(part)
    return tuple(parts)


@dataclass(frozen=True, slots=True)
class SectionRange:
    """Sections `first` to `last`; the first one includes the text before the first heading."""

    document: Document | None
    first: int
    last: int

    @property
    def parts(self) -> tuple[SectionPart, ...]:
        """The text before the first heading, in any range, and the sections."""
        return section_parts(self.document, self.first, self.last)

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

    def outside(self) -> set[SectionPath]:
        sections = self.document.sections if self.document else ()
        return {section.path for section in (*sections[: self.first], *sections[self.last :])}


def whole_range(document: Document | None) -> SectionRange:
    return SectionRange(document, 0, len(document.sections) if document else 0)


def changed_ranges(
    before: Document | None, after: Document | None
) -> tuple[SectionRange, SectionRange]:
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
    return SectionRange(before, first, len(old) - last), SectionRange(after, first, len(new) - last)


def _is_same(old: Section, new: Section, shift: int) -> bool:
    return (old.start + shift, old.body + shift, old.end + shift, old.path) == (
        new.start,
        new.body,
        new.end,
        new.path,
    )


def match_sections(
    old: Sequence[SectionPart], new: Sequence[SectionPart]
) -> dict[int, SectionPart]:
    """The new section that each old one became, by its position in the old document.

    First those of the same path; then those with the same text under another heading; then those
    that kept at least half of their lines; then empty ones in the same surroundings. Each brings
    along the sections around and inside it that kept their titles.
    """
    if not old or not new:
        return {}
    matcher = _SectionMatcher(old, new)
    matcher.by_path()
    matcher.by_text()
    matcher.by_likeness()
    matcher.by_surroundings()
    return matcher.matches


class _SectionMatcher:
    def __init__(self, old: Sequence[SectionPart], new: Sequence[SectionPart]) -> None:
        self._old = {part.position: part for part in old}
        self._new = {part.position: part for part in new}
        self._taken: set[int] = set()
        self._inside_old = _grouped(old, lambda part: part.parent)
        self._inside_new = _grouped(new, lambda part: part.parent)
        self.matches: dict[int, SectionPart] = {}

    def by_path(self) -> None:
        """Sections of the same path in order; if their number changed, the same text first."""
        old_groups, new_groups = (
            _grouped(self._old.values(), _PATH),
            _grouped(self._new.values(), _PATH),
        )
        for path in old_groups.keys() & new_groups.keys():
            old, new = old_groups[path], new_groups[path]
            if len(old) != len(new):
                self._match_by(old, new, _TEXT, _TEXT, alone=True)
            self._match_by(old, new, _PATH, _PATH, alone=True)

    def by_text(self) -> None:
        self._match_by(*self._unmatched(lambda part: bool(part.own)), _OWN, _OWN)

    def by_likeness(self) -> None:
        old_parts, new_parts = self._unmatched(lambda part: bool(part.own))
        holders: dict[str, list[SectionPart]] = {}
        for part in new_parts:
            for line in part.lines:
                holders.setdefault(line, []).append(part)
        for old in old_parts:
            shared: Counter[int] = Counter()
            for line, count in old.lines.items():
                candidates = holders.get(line, ())
                for new in candidates if len(candidates) <= _MOST_HOLDERS else ():
                    shared[new.position] += min(count, new.lines[line])
            free = [position for position in shared if position not in self._taken]
            best = min(free, key=lambda position: (-shared[position], position), default=0)
            if best and 2 * shared[best] >= old.lines.total() and old.position not in self.matches:
                self._match_family(old, self._new[best])

    def by_surroundings(self) -> None:
        """Match empty sections, which have nothing to compare, by what is around them."""

        def surroundings(part: SectionPart) -> Hashable:
            parent = self.matches.get(part.parent)
            is_outside = part.parent not in self._old
            return (parent.position if parent else part.parent if is_outside else None, part.level)

        self._match_by(
            *self._unmatched(lambda part: not part.own),
            surroundings,
            lambda part: (part.parent, part.level),
        )

    def _unmatched(
        self, qualifies: Callable[[SectionPart], bool]
    ) -> tuple[list[SectionPart], list[SectionPart]]:
        old = [
            part
            for position, part in self._old.items()
            if position not in self.matches and qualifies(part)
        ]
        return old, [
            part
            for position, part in self._new.items()
            if position not in self._taken and qualifies(part)
        ]

    def _match_by(
        self,
        old: Sequence[SectionPart],
        new: Sequence[SectionPart],
        old_key: Callable[[SectionPart], Hashable],
        new_key: Callable[[SectionPart], Hashable],
        alone: bool = False,
    ) -> None:
        """Match equal keys in order; unless `alone`, with what is around and inside them."""
        waiting = {key: deque(group) for key, group in _grouped(new, new_key).items()}
        for part in old:
            if part.position in self.matches:
                continue
            group = waiting.get(old_key(part), deque())
            while group and group[0].position in self._taken:
                group.popleft()
            if group and alone:
                self._match(part, group.popleft())
            elif group:
                self._match_family(part, group.popleft())

    def _match(self, old: SectionPart, new: SectionPart) -> None:
        self.matches[old.position] = new
        self._taken.add(new.position)

    def _match_family(self, old: SectionPart, new: SectionPart) -> None:
        """Match two sections, then those inside and around them that kept their titles."""
        self._match(old, new)
        self._match_by(
            self._inside_old.get(old.position, ()),
            self._inside_new.get(new.position, ()),
            _TITLE,
            _TITLE,
        )
        old_parent, new_parent = self._old.get(old.parent), self._new.get(new.parent)
        if not old_parent or not new_parent or old.title != new.title:
            return
        if old_parent.position not in self.matches and new_parent.position not in self._taken:
            self._match_family(old_parent, new_parent)


def _grouped(
    parts: Iterable[SectionPart], key: Callable[[SectionPart], Hashable]
) -> dict[Hashable, list[SectionPart]]:
    groups: dict[Hashable, list[SectionPart]] = {}
    for part in parts:
        groups.setdefault(key(part), []).append(part)
    return groups
