"""Keep the marks of copies in the trail, as commits come in and go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, time, timedelta
from functools import partial
from typing import TYPE_CHECKING

from mdmem.catchup.commit_pages import is_log
from mdmem.editors.daily import is_minute_title
from mdmem.facts import fact_id
from mdmem.history.copies import CopyFates
from mdmem.model import CommitId, FactId
from mdmem.model.trail import Occurrence
from mdmem.repo import first_parent
from mdmem.workspace import Workspace

if TYPE_CHECKING:
    from mdmem.trail import Trail


def facts_to_derive(trail: Trail, after: int) -> set[FactId]:
    """The facts whose copies may have another fate by what commits after a number did."""
    facts, texts = trail.facts_with_copies(after)
    return facts | {fact_id(text.partition(": ")[2]) for text in texts}


def derive(workspace: Workspace, trail: Trail, facts: set[FactId]) -> None:
    """Derive the marks of copies of some facts anew."""
    if not facts:
        return
    times = _SaidTimes(workspace, trail)
    fates = CopyFates(trail, partial(is_log, workspace), times.of)
    times.expect(line[0] for fact in facts for line in fates.log_lines(fact))
    for fact in sorted(facts):
        trail.set_copy_marks(fact, fates.marks(fact))


def here_again(workspace: Workspace, trail: Trail) -> Iterator[Occurrence]:
    """The curated lines that a merge brought back though their fact was forgotten."""
    fates = CopyFates(trail, partial(is_log, workspace), _SaidTimes(workspace, trail).of)
    return (each for fact in trail.facts_here_again() for each in fates.here_again(fact))


class _SaidTimes:
    """The times at which lines of logs were said, never later than their commits.

    The day and minute of a line are read in the time zone of its commit.
    """

    def __init__(self, workspace: Workspace, trail: Trail) -> None:
        self._workspace = workspace
        self._trail = trail
        self._offsets: dict[CommitId, timedelta] = {}

    def expect(self, occurrences: Iterable[Occurrence]) -> None:
        """Read at once what git tells of the commits of some lines."""
        commits = {each.origin.commit for each in occurrences if _minute(each) is not None}
        self._offsets = first_parent.author_offsets(self._workspace.repository, commits)

    def of(self, occurrence: Occurrence) -> int:
        """When a line was said, in seconds since 1970."""
        committed, _ = self._trail.order(occurrence.begun)
        minute, offset = _minute(occurrence), self._offsets.get(occurrence.origin.commit)
        if minute is None or offset is None:
            return committed
        return min(committed, int((minute - offset).timestamp()))


def _minute(occurrence: Occurrence) -> datetime | None:
    """The day and minute of a line's place; None where it has none."""
    entry = occurrence.entry
    if entry.day is None or not entry.section or not is_minute_title(entry.section[-1]):
        return None
    return datetime.combine(entry.day, time.fromisoformat(entry.section[-1]), UTC)
