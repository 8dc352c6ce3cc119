"""Facts that a person took out of memory, or never let in.

No pipeline brings these back unless the person says it again later; superseding does not count.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mdmem.editors import sameness
from mdmem.editors.fact_difference import fact_difference
from mdmem.folder import files
from mdmem.folder.layout import is_markdown
from mdmem.model import CommitId, FactId
from mdmem.model.errors import PathProblem
from mdmem.model.trail import Fate, MarkKind, TrailCommit
from mdmem.past import fresh_trail
from mdmem.past.notes import PurgedWords, holds_purged, parse_message, purged_words
from mdmem.proposals import branches
from mdmem.startup.records import dataclass
from mdmem.workspace import Say, Workspace

if TYPE_CHECKING:
    from mdmem.past.table import Trail


_BEFORE_ALL = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class TakenOut:
    fact: FactId
    text: str
    time: datetime


class TakenOutFacts:
    """Facts that a person removed in the commits up to `commit`, and purged words."""

    def __init__(
        self, facts: Iterable[TakenOut], purged: tuple[PurgedWords, ...], commit: CommitId | None
    ) -> None:
        self.commit = commit
        self._purged = purged
        self._times: dict[FactId, datetime] = {}
        self._facts = tuple(facts)
        self._statements = sameness.StatementIndex(each.text for each in self._facts)
        for each in self._facts:
            self._times[each.fact] = max(each.time, self._times.get(each.fact, each.time))

    def holds(self, text: str, fact: FactId, time: datetime | None) -> bool:
        """True if a person removed this text, or nearly this.

        `time` is that of the person's own statement, which counts if it is later than the removal.
        """
        # Without microseconds, as the times of commits are.
        time = _BEFORE_ALL if time is None else time.replace(microsecond=0)
        if fact in self._times and time <= self._times[fact]:
            return True
        return any(
            time <= self._facts[at].time for at in self._statements.find(text)
        ) or holds_purged(text, time, self._purged)


def facts_taken_out(workspace: Workspace, say: Say) -> TakenOutFacts:
    """Facts whose lines a person removed (committed or not), or retracted in a log."""
    with fresh_trail(workspace, say) as trail:
        newest = trail.newest_commit
        facts = (
            *_removed(workspace, trail),
            *_retracted(workspace, trail),
            *_rejected(workspace, newest),
        )
        purged = purged_words(trail, workspace.now())
    return TakenOutFacts(
        (*facts, *_removed_by_hand(workspace)), purged, newest.commit if newest else None
    )


def _removed(workspace: Workspace, trail: Trail) -> list[TakenOut]:
    newest = trail.newest_commit
    ended = trail.occurrences_ended(0, newest.number) if newest else ()
    removed = [each for each in ended if each.fate is Fate.REMOVED and each.entry.fact is not None]
    times = {
        number: _persons_time(workspace, trail, number)
        for number in {each.ended for each in removed if each.ended is not None}
    }
    return [
        TakenOut(each.entry.fact, each.entry.text, time)
        for each in removed
        if each.ended is not None
        and each.entry.fact is not None
        and (time := times[each.ended]) is not None
    ]


def _retracted(workspace: Workspace, trail: Trail) -> list[TakenOut]:
    retracted = []
    for mark in trail.marks():
        if (
            mark.kind is MarkKind.RETRACTED
            and (time := _persons_time(workspace, trail, mark.begun)) is not None
        ):
            occurrences = trail.occurrences_of(mark.fact)
            retracted += [TakenOut(mark.fact, each.entry.text, time) for each in occurrences[-1:]]
    return retracted


def _rejected(workspace: Workspace, newest: TrailCommit | None) -> list[TakenOut]:
    parts = branches.rejected_parts(workspace.repository, newest.commit if newest else None)
    return [
        TakenOut(FactId(part.name), part.text or "", part.time)
        for part in parts
        if not part.is_removal
    ]


def _removed_by_hand(workspace: Workspace) -> list[TakenOut]:
    repository, now = workspace.repository, workspace.now()
    paths = [
        path
        for path in repository.pending()
        if is_markdown(path) and workspace.kind_of(path).is_memory
    ]
    head = repository.head()
    removed = []
    for path, before in (repository.read(head, paths) if head and paths else {}).items():
        try:
            after = files.read(files.path_on_disk(workspace.root, path))
            old, new = (workspace.parse(path, data or b"") for data in (before, after))
            difference = fact_difference(old, new)
        except PathProblem:  # it is no text that mdmem reads
            continue
        replaced = {pair.old for pair in difference.supersedes}
        removed += [
            TakenOut(item.fact.id, item.fact.text, now)
            for item in difference.removed
            if item.fact.id not in replaced
        ]
    return removed


def _persons_time(workspace: Workspace, trail: Trail, number: int) -> datetime | None:
    """The time of a person's commit, else None; a merge says nothing of the other side's lines."""
    commit = trail.commit_numbered(number)
    if commit is None or commit.is_merge:
        return None
    actor = parse_message(commit.message).provenance.actor
    return None if workspace.is_agent(actor) else datetime.fromtimestamp(commit.time, UTC)
