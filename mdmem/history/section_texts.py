"""The commit that brought in each line of a section, and the periods in which memory held a text, from revisions. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from mdmem.document import is_blank, split_lines
from mdmem.history.differences import common_ends
from mdmem.model import CommitId, FilePath, SectionPath
from mdmem.model.trail import Revision, TrailCommit
from mdmem.startup.records import dataclass

_Line = tuple[str, int | None]
"""A line without its end, and the number of the commit that brought it in."""
_Order = Callable[[int], tuple[int, CommitId]]


class TextTrail(Protocol):
    """The part of the trail that text presences need."""

    def revisions_containing(self, text: str) -> tuple[Revision, ...]:
        """The revisions that contain a text, in the order in which they arrived."""
        ...

    def ends_of_revision(self, revision: Revision) -> tuple[int, ...]:
        """The commits that ended a revision, each on its side."""
        ...

    def order(self, number: int) -> tuple[int, CommitId]:
        """The place of a commit among others: its moment, then its id."""
        ...

    def commit_numbered(self, number: int) -> TrailCommit | None:
        """The commit with this number."""
        ...


@dataclass(frozen=True, slots=True)
class LineOrigin:
    """One line of a section, its number there from 1, without its line end.

    `commit` is the number of the commit that brought it in; None: it is not committed.
    """

    line: int
    text: str
    commit: int | None


def blame_lines(revisions: Sequence[Revision], order: _Order, text: str | None = None) -> tuple[LineOrigin, ...]:
    """Find the commit that brought in each line of a section; a line that only moves within it keeps its commit.

    Args:
        revisions: of one section, in the order in which they arrived, and last the one that is there.
        order: tells which of two commits is the earlier.
        text: the section as it is on disk, where that may differ from its last revision. Blank lines at its end are left out.
    """
    lines_of: dict[int, list[_Line]] = {}
    lines: list[_Line] = []
    for revision in revisions:
        before = [lines_of[number] for number in revision.previous if number in lines_of]
        lines = lines_of[revision.number] = _with_text_of_all(before, revision.text, revision.begun, order)
    if text is not None:
        lines = _with_text(lines, text, None)
    while lines and is_blank(lines[-1][0]):
        lines.pop()
    return tuple(LineOrigin(number, line, commit) for number, (line, commit) in enumerate(lines, 1))


def _with_text_of_all(sides: Sequence[Sequence[_Line]], text: str, commit: int, order: _Order) -> list[_Line]:
    """The lines of a text that follows one or several others: a line that several have keeps the earliest commit."""
    ways = [_with_text(side, text, commit) for side in sides or [[]]]
    if len(ways) == 1:
        return ways[0]
    lines: list[_Line] = []
    for same in zip(*ways, strict=True):
        earlier = [number for _, number in same if number is not None and number != commit]
        lines.append((same[0][0], min(earlier, key=order, default=commit)))
    return lines


def _with_text(before: Sequence[_Line], text: str, commit: int | None) -> list[_Line]:
    """The lines of the next text: those that were there before keep their commit, the others come with this one."""
    lines = [line.rstrip("\r\n") for line in split_lines(text)]
    start, end = common_ends([line for line, _ in before], lines)
    earlier: dict[str, deque[int | None]] = {}
    for line, number in before[start : len(before) - end]:
        earlier.setdefault(line, deque()).append(number)
    middle = [(line, earlier[line].popleft() if earlier.get(line) else commit) for line in lines[start : len(lines) - end]]
    return [*before[:start], *middle, *before[len(before) - end :]]


@dataclass(frozen=True, slots=True)
class TextPresence:
    """One period in which a section contained a text, with the file and the section as they were called last.

    It lasts from commit `came` until commit `went` (None: the section contains it now).
    """

    came: int
    went: int | None
    path: FilePath
    section: SectionPath


def text_presences(trail: TextTrail, text: str) -> tuple[TextPresence, ...]:
    """List the periods in which a section contained a text, oldest first.

    One period lasts however the section is renamed, whatever else in it changes, and on however many sides it began.
    """
    groups = _joined_revisions(trail, trail.revisions_containing(text))
    presences = [_presence(trail, group) for group in groups]
    return tuple(sorted(presences, key=lambda each: (trail.order(each.came), each.path, each.section)))


def _joined_revisions(trail: TextTrail, revisions: Sequence[Revision]) -> list[list[Revision]]:
    """The groups of revisions of which each continues others of its group, or goes on in one."""
    of_number = {each.number: each for each in revisions}
    of_place: dict[tuple[object, ...], list[int]] = {}
    for each in revisions:
        of_place.setdefault((each.lineage, each.path, each.section, each.begun), []).append(each.number)
    group_of = {number: number for number in of_number}

    def first(number: int) -> int:
        while group_of[number] != number:
            group_of[number] = number = group_of[group_of[number]]
        return number

    for each in revisions:
        before = [number for number in each.previous if number in of_number and _continues(trail, each, of_number[number])]
        twins = of_place.get((each.lineage, each.path, each.section, each.ended), ())
        for number in (*before, *twins):
            group_of[first(each.number)] = first(number)
    groups: dict[int, list[Revision]] = {}
    for each in revisions:
        groups.setdefault(first(each.number), []).append(each)
    return list(groups.values())


def _continues(trail: TextTrail, revision: Revision, before: Revision) -> bool:
    """True unless a section was taken out before it was brought back."""
    if before.ended == revision.begun:
        return True
    commit = trail.commit_numbered(revision.begun)
    ends = trail.ends_of_revision(before)
    return commit is None or commit.is_merge or not any(end != revision.begun and commit.reaches(end) for end in ends)


def _presence(trail: TextTrail, group: Sequence[Revision]) -> TextPresence:
    """The period of a group of revisions: since its earliest beginning, until an end that no revision of the group followed."""
    numbers = {each.number for each in group}
    came = min((each.begun for each in group if numbers.isdisjoint(each.previous)), key=trail.order, default=group[0].begun)
    live = [each for each in group if each.ended is None]
    last = live[-1] if live else max(group, key=lambda each: (trail.order(each.begun), each.number))
    return TextPresence(came, None if live else _last_end(trail, group), last.path, last.section)


def _last_end(trail: TextTrail, group: Sequence[Revision]) -> int:
    """The commit with which a text went: the earliest that took it out and was not undone; a merge only where no side did."""
    begun = [commit for commit in map(trail.commit_numbered, {each.begun for each in group}) if commit]
    numbers = {number for each in group for number in trail.ends_of_revision(each)} - {each.begun for each in group}
    ends = [commit for commit in map(trail.commit_numbered, numbers) if commit]
    ends = [end for end in ends if not any(later.number != end.number and later.reaches(end.number) for later in begun)] or ends
    own = [end for end in ends if not end.is_merge] or ends
    return min((end.number for end in own), key=trail.order, default=max(each.ended or 0 for each in group))
