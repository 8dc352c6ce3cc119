"""When commits count as made: decided here alone, and by commits alone.

Clocks were wrong at times. Whoever asks, in whichever clone and whenever, gets the same answer.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from heapq import heappop, heappush
from typing import NamedTuple

from mdmem.model import CommitId
from mdmem.model.trail import Ranges, TrailCommit, complement, intersection
from mdmem.startup import late
from mdmem.startup.records import dataclass

ARRIVED = "Mdmem-Arrived: "
DAY_SECONDS = 24 * 60 * 60
_ID, _TIME = r"([0-9a-f]{40,64})", r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)"
_ARRIVAL = late.pattern(rf"(?m)^{ARRIVED}{_ID} {_ID} {_TIME}$")
MOST_BETWEEN, _MOST_OF_ONE, _MOST_ROUNDS = 1_000, 20, 20
"""Commits that a clock can speak of; trailers of one commit; rounds of judging, of which honest
trailers need three."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A clock's word that what came on top of `before` was there at `time`.

    `by` is the commit that says so, `covered` are the numbers of what came.
    """

    by: TrailCommit
    before: TrailCommit
    covered: Ranges
    time: int


class Settled(NamedTuple):
    """Of all commits, by number: their moments, and the latest moment that each reaches.

    `arrivals` are those that date some of them back.
    """

    moments: dict[int, int]
    newest: dict[int, int]
    arrivals: list[Arrival]


def moment_of(commit: TrailCommit, of_parents: Iterable[int]) -> int:
    """A commit's moment by its own dates, and by its parents' where its clock lay far behind."""
    latest = max(of_parents, default=commit.committed)
    if commit.committed < latest - DAY_SECONDS:
        return latest
    return commit.committed if commit.brought is not None else min(commit.time, commit.committed)


def trailer(before: CommitId, commit: CommitId, time: float) -> str:
    """The line that says that a commit, landed on top of another, had arrived by a time."""
    return f"{ARRIVED}{before} {commit} {datetime.fromtimestamp(int(time), UTC):%Y-%m-%dT%H:%M:%SZ}"


def settle(commits: Sequence[TrailCommit]) -> Settled:
    """The moments of a whole trail, oldest first; what arrived counts as made by then.

    An arrival counts once nothing that was there before is later: moments only fall from one round
    to the next, so that the order in which arrivals are judged makes no difference.
    """
    arrivals = list(_arrivals(commits))
    begins: dict[int, list[tuple[int, int]]] = {}
    for at, arrival in enumerate(arrivals):
        for begin, end in arrival.covered:
            begins.setdefault(begin, []).append((end, at))
    counted = set[int]()
    for _ in range(_MOST_ROUNDS):
        count, moments, newest, told = len(counted), dict[int, int](), dict[int, int](), set[int]()
        telling: list[
            tuple[int, int, int]
        ] = []  # the earliest first, with the end of what it covers
        for commit in commits:
            of_parents = [moments[each] for each in commit.parents]
            # what was proposed has the moment of the merge that brought it
            moment = commit.moment if commit.brought else moment_of(commit, of_parents)
            for end, at in begins.get(commit.number, ()):
                if at in counted or _holds(arrivals[at], newest):
                    counted.add(at)
                    heappush(telling, (arrivals[at].time, end, at))
            while telling and telling[0][1] < commit.number:
                heappop(telling)
            if telling and telling[0][0] < moment:
                moment, _, at = telling[0]
                told.add(at)
            moments[commit.number] = moment
            newest[commit.number] = max([moment, *(newest[each] for each in commit.parents)])
        counted |= {at for at, arrival in enumerate(arrivals) if _holds(arrival, newest)}
        if len(counted) == count:
            break
    return Settled(moments, newest, [arrivals[at] for at in sorted(told)])


def _holds(arrival: Arrival, newest: Mapping[int, int]) -> bool:
    """True if nothing that was there before is later, as far as that is known."""
    return newest.get(arrival.before.number, math.inf) <= arrival.time


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
            unknown = intersection(
                complement(by.missing, by.number - 1),
                complement(complement(before.missing, before.number), by.number),
            )
            count = sum(
                last + 1 - first - (bisect_right(others, last) - bisect_left(others, first))
                for first, last in unknown
            )
            with suppress(ValueError, OverflowError):
                time = int(datetime.fromisoformat(text).timestamp())
                if time <= min(by.time, by.committed) and count <= MOST_BETWEEN:
                    covered = intersection(unknown, complement(commit.missing, commit.number))
                    yield Arrival(by=by, before=before, covered=covered, time=time)
