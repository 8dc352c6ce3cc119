"""When commits count as made: decided here alone, and by commits alone.

Clocks were wrong at times. Whoever asks, in whichever clone and whenever, gets the same answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from mdmem.model import CommitId
from mdmem.model.trail import Ranges, TrailCommit, complement, holds, intersection
from mdmem.startup import late
from mdmem.startup.records import dataclass, field

ARRIVED = "Mdmem-Arrived: "
DAY_SECONDS = 24 * 60 * 60
_ID, _TIME = r"([0-9a-f]{40,64})", r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)"
_ARRIVAL = late.pattern(rf"(?m)^{ARRIVED}{_ID} {_ID} {_TIME}$")
MOST_BETWEEN, _MOST_OF_ONE, _MOST_ROUNDS = 1_000, 20, 100
"""Commits that a clock can speak of; trailers of one commit; rounds of judging, of which honest
trailers need three."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A clock's word that a commit, landed on top of `before`, was there at `time`.

    `by` is the commit that says so, `covered` are the numbers of what came.
    """

    by: TrailCommit
    before: TrailCommit
    covered: Ranges
    time: int

    @property
    def numbers(self) -> Iterator[int]:
        return (number for first, last in self.covered for number in range(first, last + 1))


@dataclass(slots=True)
class Settled:
    """The moments of all commits by number, and the arrivals that date some of them back."""

    moments: dict[int, int] = field(default_factory=dict)
    arrivals: list[Arrival] = field(default_factory=list)
    newest: dict[int, int] = field(default_factory=dict)
    """The latest moment that each commit reaches."""


def moment_of(commit: TrailCommit, of_parents: Iterable[int]) -> int:
    """A commit's moment by its own dates, and by its parents' where its clock lay far behind."""
    latest = max(of_parents, default=commit.committed)
    if commit.committed < latest - DAY_SECONDS:
        return latest
    return commit.committed if commit.brought is not None else min(commit.time, commit.committed)


def trailer(before: CommitId, commit: CommitId, time: float) -> str:
    """The line that says that a commit, landed on top of another, had arrived by a time."""
    return f"{ARRIVED}{before} {commit} {datetime.fromtimestamp(int(time), UTC):%Y-%m-%dT%H:%M:%SZ}"


def past_of(commit: TrailCommit) -> Ranges:
    """The numbers that a commit reaches, its own among them."""
    return complement(commit.missing, commit.number)


def settle(commits: Sequence[TrailCommit]) -> Settled:
    """The moments of a whole trail, oldest first; what arrived counts as made by then.

    An arrival counts once nothing that was there before is later: moments only fall from one round
    to the next, so that the order in which arrivals are judged makes no difference.
    """
    arrivals = list(_arrivals(commits))
    covering: dict[int, list[int]] = {}
    for at, arrival in enumerate(arrivals):
        for number in arrival.numbers:
            covering.setdefault(number, []).append(at)
    counted = set[int]()
    settled = Settled()
    for _ in range(_MOST_ROUNDS):
        settled, counted_before = Settled(), len(counted)
        told = set[int]()
        for commit in commits:
            of_parents = [settled.moments[each] for each in commit.parents]
            # what was proposed has the moment of the merge that brought it
            moment = commit.moment if commit.brought else moment_of(commit, of_parents)
            telling = covering.get(commit.number, ())
            counted |= {at for at in telling if _holds(arrivals[at], settled)}
            first = min(((arrivals[at].time, at) for at in telling if at in counted), default=None)
            if first is not None and first[0] < moment:
                moment = first[0]
                told.add(first[1])
            settled.moments[commit.number] = moment
            reached = (settled.newest[each] for each in commit.parents)
            settled.newest[commit.number] = max(moment, *reached, moment)
        settled.arrivals = [arrivals[at] for at in sorted(told)]
        counted |= {at for at, arrival in enumerate(arrivals) if _holds(arrival, settled)}
        if len(counted) == counted_before:
            break
    return settled


def _holds(arrival: Arrival, settled: Settled) -> bool:
    """True if nothing that was there before is later, as far as that is settled."""
    return settled.newest.get(arrival.before.number, math.inf) <= arrival.time


def _arrivals(commits: Sequence[TrailCommit]) -> Iterator[Arrival]:
    """The arrivals that may count, whatever the moments are."""
    by_id = {commit.commit: commit for commit in commits if commit.is_needed}
    others = [commit.number for commit in commits if not commit.is_needed]
    for by in commits:
        stated = _ARRIVAL.findall(by.message) if ARRIVED in by.message else []
        for *names, text in stated[:_MOST_OF_ONE]:
            before, commit = map(by_id.get, map(CommitId, names))
            if not (before and commit and by.reaches(before.number) and by.reaches(commit.number)):
                continue
            with suppress(ValueError, OverflowError):
                time = int(datetime.fromisoformat(text).timestamp())
                unknown = complement(past_of(before), by.number)
                between = intersection(past_of(by), unknown)
                count = sum(last - first + 1 for first, last in between)
                count -= sum(holds(between, number) for number in others)
                if time <= min(by.time, by.committed) and count <= MOST_BETWEEN + 1:
                    covered = intersection(past_of(commit), unknown)
                    yield Arrival(by=by, before=before, covered=covered, time=time)
