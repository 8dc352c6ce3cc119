"""The chain of a fact: what it replaced and what replaced it, as the trail has it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from mdmem.model import FactId, FilePath, SectionPath, Status
from mdmem.model.trail import CLOSING_MARKS, Entry, Fate, MarkKind, Occurrence, Origin, TrailCommit
from mdmem.startup.records import dataclass

if TYPE_CHECKING:
    from mdmem.past.table import Trail

_Location = tuple[FilePath, SectionPath]
_Key = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ChainLink:
    """A period in which a fact was in one place, moves included.

    `entry` and `origin` are those of its last line; `also` brought that in on other sides. `end` is
    None for what is still there. Expiry is not judged here: an expired fact is current.
    """

    id: FactId
    entry: Entry
    origin: Origin
    start: TrailCommit
    end: TrailCommit | None
    status: Status
    also: tuple[TrailCommit, ...] = ()


def fact_chain(
    fact: FactId, trail: Trail, among: Collection[int] | None = None
) -> tuple[ChainLink, ...]:
    """Follow a fact to what it replaced and what replaced it, and so on; oldest first.

    `among` are the numbers of the occurrences to start from (None: all of the fact).
    """
    builder = _ChainBuilder(trail)
    waiting = [
        run
        for run in builder.runs(fact)
        if among is None or any(each.number in among for each in run.occurrences)
    ]
    chain: dict[_Key, _OccurrenceRun] = {}
    while waiting:
        run = waiting.pop()
        if run.key not in chain:
            chain[run.key] = run
            waiting += [*builder.successors(run), *builder.predecessors(run)]
    return tuple(builder.link(chain[key]) for key in sorted(chain))


@dataclass(frozen=True, slots=True)
class _OccurrenceRun:
    """Occurrences that moved into each other. `begun` and `over` are ranks, `ended` is a commit."""

    occurrences: tuple[Occurrence, ...]
    begun: int
    ended: int | None
    over: int | None
    status: Status
    successor: FactId | None

    @property
    def key(self) -> _Key:
        return self.begun, self.occurrences[0].number

    @property
    def location(self) -> _Location:
        return _location(self.occurrences[-1])


class _ChainBuilder:
    def __init__(self, trail: Trail) -> None:
        self._trail = trail
        self._runs: dict[FactId, list[_OccurrenceRun]] = {}
        self._ranks: Mapping[int, int] = {}

    def _rank(self, number: int) -> int:
        if number not in self._ranks:
            self._ranks = {**self._ranks, **self._trail.ranks({number})}
        return self._ranks[number]

    def runs(self, fact: FactId) -> list[_OccurrenceRun]:
        if fact not in self._runs:
            own = [
                each for each in self._trail.occurrences_of(fact) if each.fate is not Fate.JOINED
            ]
            self._runs[fact] = sorted(map(self._run, joined_by_moves(own)), key=lambda run: run.key)
        return self._runs[fact]

    def _run(self, occurrences: Sequence[Occurrence]) -> _OccurrenceRun:
        last = occurrences[-1]
        marks = [mark for each in occurrences for mark in self._trail.marks_of(each.number)]
        closing = [mark for mark in marks if mark.kind in CLOSING_MARKS]
        if closing:
            first = min(closing, key=lambda mark: self._rank(mark.begun))
            status = Status.SUPERSEDED if first.kind is MarkKind.SUPERSEDED else Status.REMOVED
            return self._new_run(occurrences, first.begun, status, first.other)
        if last.ended is None:
            return self._new_run(occurrences, None, Status.CURRENT, None)
        status = Status.SUPERSEDED if last.fate is Fate.SUPERSEDED else Status.REMOVED
        return self._new_run(occurrences, last.ended, status, last.successor)

    def _new_run(
        self,
        occurrences: Sequence[Occurrence],
        ended: int | None,
        status: Status,
        successor: FactId | None,
    ) -> _OccurrenceRun:
        return _OccurrenceRun(
            occurrences=tuple(occurrences),
            begun=self._rank(occurrences[0].begun),
            ended=ended,
            over=None if ended is None else self._rank(ended),
            status=status,
            successor=successor,
        )

    def successors(self, run: _OccurrenceRun) -> list[_OccurrenceRun]:
        """The run that replaced a run: current when that ended, the same section first."""
        if run.successor is None or run.over is None:
            return []
        over, candidates = (
            run.over,
            [each for each in self.runs(run.successor) if each.key != run.key],
        )
        holding = [
            each
            for each in candidates
            if each.begun <= over and (each.over is None or each.over > over)
        ]
        if holding:
            return [
                max(
                    holding,
                    key=lambda each: (
                        each.location == run.location,
                        each.location[0] == run.location[0],
                        each.key,
                    ),
                )
            ]
        return [each for each in candidates if each.begun > over][:1] or candidates[-1:]

    def predecessors(self, run: _OccurrenceRun) -> list[_OccurrenceRun]:
        facts = {
            each.entry.fact
            for each in self._trail.predecessors_of(run.occurrences[0].entry.fact or FactId(""))
        }
        candidates = [each for fact in facts if fact is not None for each in self.runs(fact)]
        return [
            each
            for each in candidates
            if any(successor.key == run.key for successor in self.successors(each))
        ]

    def link(self, run: _OccurrenceRun) -> ChainLink:
        last = run.occurrences[-1]
        return ChainLink(
            id=last.entry.fact or FactId(""),
            entry=last.entry,
            origin=last.origin,
            start=self._commit(run.occurrences[0].begun),
            end=self._commit(run.ended) if run.ended is not None else None,
            status=run.status,
            also=self._other_origins(run),
        )

    def _other_origins(self, run: _OccurrenceRun) -> tuple[TrailCommit, ...]:
        """The commits that brought the line in on other sides than its own, earliest first."""
        last = run.occurrences[-1]
        pairs = [
            (self._commit(before.begun), self._commit(after.begun))
            for before, after in pairwise(run.occurrences)
        ]
        confirmed = [before for before, after in pairs if not after.reaches(before.number)]
        begun = {each.begun for each in run.occurrences}
        same = self._trail.occurrences_of(last.entry.fact or FactId(""))
        joined = [
            self._commit(each.begun)
            for each in same
            if each.fate is Fate.JOINED and each.ended in begun and _location(each) == run.location
        ]
        also = {
            each.number: each for each in (*confirmed, *joined) if each.commit != last.origin.commit
        }
        return tuple(sorted(also.values(), key=lambda each: (each.moment, each.commit)))

    def _commit(self, number: int) -> TrailCommit:
        commit = self._trail.commit_numbered(number)
        assert commit is not None  # occurrences and marks begin and end with a commit of the trail
        return commit


def _location(occurrence: Occurrence) -> _Location:
    return occurrence.entry.path, occurrence.entry.section


def joined_by_moves(occurrences: Iterable[Occurrence]) -> list[list[Occurrence]]:
    """Group the occurrences of one fact: each goes behind the one that moved to become it."""
    every = list(occurrences)
    before: dict[int, Occurrence] = {}
    moved = [each for each in every if each.fate is Fate.MOVED]
    for occurrence in every:
        origins = [
            each for each in moved if each.ended == occurrence.begun and each is not occurrence
        ]
        if origins:
            nearest = max(origins, key=lambda each: _nearness(each, occurrence))
            before[occurrence.number] = nearest
            moved.remove(nearest)
    after = {earlier.number: later for later in every if (earlier := before.get(later.number))}
    groups = []
    for first in (each for each in every if each.number not in before):
        group = [first]
        while (following := after.get(group[-1].number)) is not None:
            group.append(following)
        groups.append(group)
    return groups


def _nearness(first: Occurrence, second: Occurrence) -> int:
    """2 in one section of one file, 1 in one file or in sections of one path, else 0."""
    if _location(first) == _location(second):
        return 2
    return int(first.entry.path == second.entry.path or first.entry.section == second.entry.section)
