"""The commit that brought in each line of a section, and the periods in which memory held a text, from revisions. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Protocol

from mdmem.document import is_blank, split_lines
from mdmem.history.differences import common_ends
from mdmem.model import FilePath, SectionPath
from mdmem.model.trail import Revision
from mdmem.startup.records import dataclass

_Line = tuple[str, int | None]
"""A line without its end, and the number of the mainline commit that brought it in."""


class TextTrail(Protocol):
    """The part of the trail that text presences need."""

    def revisions_containing(self, text: str) -> tuple[Revision, ...]:
        """The revisions that contain a text, oldest first."""
        ...


@dataclass(frozen=True, slots=True)
class LineOrigin:
    """One line of a section, its number there from 1, without its line end.

    `commit` is the number of the mainline commit that brought it in; None: it is not committed.
    """

    line: int
    text: str
    commit: int | None


def blame_lines(revisions: Iterable[Revision], text: str | None = None) -> tuple[LineOrigin, ...]:
    """Find the mainline commit that brought in each line of a section; a line that only moves within it keeps its commit.

    Args:
        revisions: of one section, in any order.
        text: the section as it is on disk, where that may differ from its newest revision. Blank lines at its end are left out.
    """
    lines: list[_Line] = []
    for revision in sorted(revisions, key=lambda revision: (revision.begun, revision.number)):
        lines = _with_text(lines, revision.text, revision.begun)
    if text is not None:
        lines = _with_text(lines, text, None)
    while lines and is_blank(lines[-1][0]):
        lines.pop()
    return tuple(LineOrigin(number, line, commit) for number, (line, commit) in enumerate(lines, 1))


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

    It lasts from mainline commit `came` until mainline commit `went` (None: the section contains it now).
    """

    came: int
    went: int | None
    path: FilePath
    section: SectionPath


def text_presences(trail: TextTrail, text: str) -> tuple[TextPresence, ...]:
    """List the periods in which a section contained a text, oldest first.

    One period lasts however the section is renamed, and whatever else in it changes.
    """
    presences: dict[int, list[TextPresence]] = {}
    for revision in trail.revisions_containing(text):
        of_section = presences.setdefault(revision.lineage, [])
        continues = of_section and of_section[-1].went == revision.begun
        came = of_section.pop().came if continues else revision.begun
        of_section.append(TextPresence(came, revision.ended, revision.path, revision.section))
    return tuple(sorted((presence for of_section in presences.values() for presence in of_section), key=lambda presence: presence.came))
