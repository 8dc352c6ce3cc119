"""The chain of a fact: what it replaced and what replaced it, as the trail has it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import date
from typing import Protocol

from mdmem.model import CommitId, FactId, FilePath, SectionPath, Source, Status
from mdmem.model.trail import Fate, MainlineCommit, Mark, MarkKind, Occurrence
from mdmem.startup.records import dataclass

_Location = tuple[FilePath, SectionPath]


class FactTrail(Protocol):
    """The part of the trail that a chain needs."""

    def occurrences_of(self, fact: FactId) -> tuple[Occurrence, ...]:
        """Every occurrence of a fact, oldest first."""
        ...

    def predecessors_of(self, fact: FactId) -> tuple[Occurrence, ...]:
        """The occurrences that a fact replaced, by ending them or by a mark."""
        ...

    def marks_of(self, number: int) -> tuple[Mark, ...]:
        """The marks in force on one occurrence."""
        ...

    def commit_numbered(self, number: int) -> MainlineCommit | None:
        """The mainline commit with this number."""
        ...


@dataclass(frozen=True, slots=True)
class ChainLink:
    """A fact for as long as it held in one place, moves included; its words and location are the last ones.

    `commit` is the one that brought in the last line, `first_line`. `end` is None for what still holds. Expiry is not judged here: an
    expired fact is current.
    """

    id: FactId
    text: str
    start: MainlineCommit
    end: MainlineCommit | None
    source: Source
    confidence: float
    commit: CommitId
    path: FilePath
    section: SectionPath
    status: Status
    until: date | None = None
    claimed_by: str | None = None
    first_line: str = ""
    cites: tuple[str, ...] = ()


def fact_chain(fact: FactId, trail: FactTrail, among: Collection[int] | None = None) -> tuple[ChainLink, ...]:
    """Follow a fact to what it replaced and what replaced it, and so on in both directions, oldest first.

    Args:
        fact: each period in which it held somewhere is a link of the chain.
        trail: brought up to HEAD.
        among: the numbers of the occurrences to start from; None: all of the fact.
    """
    builder = _ChainBuilder(trail)
    waiting = [run for run in builder.runs(fact) if among is None or any(each.number in among for each in run.occurrences)]
    chain: dict[tuple[int, int], _OccurrenceRun] = {}
    while waiting:
        run = waiting.pop()
        if run.key not in chain:
            chain[run.key] = run
            waiting += [*builder.successors(run), *builder.predecessors(run)]
    return tuple(builder.link(chain[key]) for key in sorted(chain))


@dataclass(frozen=True, slots=True)
class _OccurrenceRun:
    """Occurrences of which each is the one before it, moved. `ended` is the number of a mainline commit, None for what still holds."""

    occurrences: tuple[Occurrence, ...]
    ended: int | None
    status: Status
    successor: FactId | None

    @property
    def key(self) -> tuple[int, int]:
        """The commit and the row with which it began, by which runs are told apart and sorted."""
        return self.occurrences[0].begun, self.occurrences[0].number

    @property
    def location(self) -> _Location:
        """The file and the section that it was in last."""
        return _location(self.occurrences[-1])


class _ChainBuilder:
    def __init__(self, trail: FactTrail) -> None:
        self._trail = trail
        self._runs: dict[FactId, list[_OccurrenceRun]] = {}

    def runs(self, fact: FactId) -> list[_OccurrenceRun]:
        """Each period in which a fact held somewhere, oldest first."""
        if fact not in self._runs:
            self._runs[fact] = [self._run(occurrences) for occurrences in joined_by_moves(self._trail.occurrences_of(fact))]
        return self._runs[fact]

    def _run(self, occurrences: Sequence[Occurrence]) -> _OccurrenceRun:
        last = occurrences[-1]
        marks = [mark for each in occurrences for mark in self._trail.marks_of(each.number)]
        closing = [mark for mark in marks if mark.kind in (MarkKind.SUPERSEDED, MarkKind.RETRACTED)]
        if closing:
            first = min(closing, key=lambda mark: mark.begun)
            status = Status.SUPERSEDED if first.kind is MarkKind.SUPERSEDED else Status.REMOVED
            return _OccurrenceRun(tuple(occurrences), first.begun, status, first.other)
        if last.ended is None:
            return _OccurrenceRun(tuple(occurrences), None, Status.CURRENT, None)
        status = Status.SUPERSEDED if last.fate is Fate.SUPERSEDED else Status.REMOVED
        return _OccurrenceRun(tuple(occurrences), last.ended, status, last.successor)

    def successors(self, run: _OccurrenceRun) -> list[_OccurrenceRun]:
        """The run that replaced a run: of its successor, holding when the run ended, in the same section before others."""
        if run.successor is None or run.ended is None:
            return []
        ended, candidates = run.ended, [each for each in self.runs(run.successor) if each.key != run.key]
        holding = [each for each in candidates if each.key[0] <= ended and (each.ended is None or each.ended > ended)]
        if holding:
            return [max(holding, key=lambda each: (each.location == run.location, each.location[0] == run.location[0], each.key))]
        return [each for each in candidates if each.key[0] > ended][:1] or candidates[-1:]

    def predecessors(self, run: _OccurrenceRun) -> list[_OccurrenceRun]:
        """The runs that a run replaced."""
        facts = {each.entry.fact for each in self._trail.predecessors_of(run.occurrences[0].entry.fact or FactId(""))}
        candidates = [each for fact in facts if fact is not None for each in self.runs(fact)]
        return [each for each in candidates if any(successor.key == run.key for successor in self.successors(each))]

    def link(self, run: _OccurrenceRun) -> ChainLink:
        """The link of a run: since when it holds, and its last words, location and origin."""
        last = run.occurrences[-1]
        return ChainLink(
            id=last.entry.fact or FactId(""),
            text=last.entry.text,
            start=self._commit(run.occurrences[0].begun),
            end=self._commit(run.ended) if run.ended is not None else None,
            source=last.origin.source,
            confidence=last.origin.confidence,
            commit=last.origin.commit,
            path=last.entry.path,
            section=last.entry.section,
            status=run.status,
            until=last.entry.until,
            claimed_by=last.origin.claimed_by,
            first_line=last.entry.first_line,
            cites=last.origin.cites,
        )

    def _commit(self, number: int) -> MainlineCommit:
        commit = self._trail.commit_numbered(number)
        assert commit is not None  # occurrences and marks begin and end with a commit of the trail
        return commit


def _location(occurrence: Occurrence) -> _Location:
    return occurrence.entry.path, occurrence.entry.section


def joined_by_moves(occurrences: Iterable[Occurrence]) -> list[list[Occurrence]]:
    """Group the occurrences of one fact, oldest first: each goes behind the one that moved to become it."""
    groups: list[list[Occurrence]] = []
    for occurrence in occurrences:
        moved = [group for group in groups if group[-1].fate is Fate.MOVED and group[-1].ended == occurrence.begun]
        if moved:
            max(moved, key=lambda group: _nearness(group[-1], occurrence)).append(occurrence)
        else:
            groups.append([occurrence])
    return groups


def _nearness(first: Occurrence, second: Occurrence) -> int:
    """2 in one section of one file, 1 in one file or in sections of one path, else 0."""
    if _location(first) == _location(second):
        return 2
    return int(first.entry.path == second.entry.path or first.entry.section == second.entry.section)
