"""`mdmem stats`: what was done, as figures over weeks, and how the answers of searches drift. Pure functions over the events.

Weeks are those of ISO 8601, in the user's zone; the last one is under way.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta, tzinfo
from statistics import fmean, median, stdev

from mdmem.events import Event, Outcome
from mdmem.model.searches import Quality
from mdmem.startup.records import dataclass

SEARCH = "search"
"""The verb whose quality is watched."""

_LEAST_SEARCHES = 5
"""A week with fewer says nothing of a drift."""
_LEAST_WEEKS = 6
"""Fewer weeks before the newest one give no limits that could be trusted."""
_SIGMAS = 2.576
"""Standard errors of the normal distribution outside of which lies one value in 100."""
_LEAST_CHANGE = 0.1
"""A change by less than this part of the mean is none that anybody would notice."""


@dataclass(frozen=True, slots=True)
class VerbFigures:
    """What came of one verb. `weeks`: how often in each week; `refused`, `failed` and `bugs` are among the `count`."""

    verb: str
    count: int
    median_ms: float
    p95_ms: float
    refused: int
    failed: int
    bugs: int
    weeks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Figures:
    """What was done in some weeks (by their names), the most frequent verb first; `damaged` lines of the events could not be read."""

    weeks: tuple[str, ...]
    verbs: tuple[VerbFigures, ...]
    damaged: int


@dataclass(frozen=True, slots=True)
class Week:
    """The searches of a week, refused ones left out. What was not measured is None; ages are days."""

    week: str
    searches: int
    without_hit: float | None = None
    median_ms: float | None = None
    median_hits: float | None = None
    median_first: float | None = None
    median_spread: float | None = None
    median_age_days: float | None = None
    behind: int = 0


@dataclass(frozen=True, slots=True)
class Drift:
    """A figure of the newest week that lies outside of what the weeks before it let expect."""

    figure: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class SearchFigures:
    """The searches of some weeks, oldest first, beginning with the first that has any; and what has drifted in the newest."""

    weeks: tuple[Week, ...]
    drift: tuple[Drift, ...]
    damaged: int


def figures(events: Iterable[Event], damaged: int, today: date, zone: tzinfo | None, weeks: int) -> Figures:
    """What was done in the last so many weeks."""
    by_week = _by_week(events, today, zone, weeks)
    known = _from_the_first(by_week)
    by_verb: dict[str, list[Event]] = {}
    for event in (event for found in known.values() for event in found):
        by_verb.setdefault(event.verb, []).append(event)
    counts = [Counter(event.verb for event in found) for found in known.values()]
    verbs = [_of_verb(verb, found, tuple(count[verb] for count in counts)) for verb, found in by_verb.items()]
    return Figures(tuple(map(_name, known)), tuple(sorted(verbs, key=lambda one: (-one.count, one.verb))), damaged)


def _of_verb(verb: str, found: Sequence[Event], weeks: tuple[int, ...]) -> VerbFigures:
    ended = Counter(event.outcome for event in found)
    times = sorted(event.ms for event in found)
    slow = times[math.ceil(0.95 * len(times)) - 1]
    return VerbFigures(
        verb=verb,
        count=len(found),
        median_ms=median(times),
        p95_ms=slow,
        refused=ended[Outcome.REFUSED],
        failed=ended[Outcome.FAILED],
        bugs=ended[Outcome.BUG],
        weeks=weeks,
    )


def search_figures(events: Iterable[Event], damaged: int, today: date, zone: tzinfo | None, weeks: int) -> SearchFigures:
    """The searches of the last so many weeks, and whether the newest drifts from those before it."""
    done = (event for event in events if event.verb == SEARCH and event.outcome is Outcome.DONE)
    known = _from_the_first(_by_week(done, today, zone, weeks))
    found = tuple(_of_week(_name(monday), events) for monday, events in known.items())
    return SearchFigures(found, drift(found), damaged)


def _of_week(name: str, found: Sequence[Event]) -> Week:
    answers = [event.quality for event in found if event.quality is not None]  # events of older versions have none
    return Week(
        week=name,
        searches=len(found),
        without_hit=fmean(answer.hits == 0 for answer in answers) if answers else None,
        median_ms=median(event.ms for event in found) if found else None,
        median_hits=_median(answers, lambda answer: answer.hits),
        median_first=_median(answers, lambda answer: answer.first),
        median_spread=_median(answers, lambda answer: answer.spread),
        median_age_days=_median(answers, lambda answer: answer.age),
        behind=sum(answer.behind for answer in answers),
    )


def _median(answers: Iterable[Quality], measure: Callable[[Quality], float | None]) -> float | None:
    """Of those that have it."""
    found = [value for answer in answers if (value := measure(answer)) is not None]
    return median(found) if found else None


def _by_week(events: Iterable[Event], today: date, zone: tzinfo | None, weeks: int) -> dict[date, list[Event]]:
    """The events of the last so many weeks by their Mondays, oldest first; what has a later time than today is in none."""
    newest = _monday(today)
    found: dict[date, list[Event]] = {newest - timedelta(weeks=back): [] for back in reversed(range(weeks))}
    for event in events:
        found.get(_monday(event.time.astimezone(zone).date()), []).append(event)
    return found


def _from_the_first(by_week: Mapping[date, list[Event]]) -> dict[date, list[Event]]:
    """The weeks without those at the beginning in which nothing was done."""
    first = next((monday for monday, events in by_week.items() if events), date.max)
    return {monday: events for monday, events in by_week.items() if monday >= first}


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def _name(day: date) -> str:
    year, week, _ = day.isocalendar()
    return f"{year}-W{week:02}"


# Drift.


_WATCHED: Mapping[str, Callable[[Week], float | None]] = {
    "without_hit": lambda week: week.without_hit,
    "median_ms": lambda week: week.median_ms,
    "median_hits": lambda week: week.median_hits,
    "median_first": lambda week: week.median_first,
    "median_spread": lambda week: week.median_spread,
    "median_age_days": lambda week: week.median_age_days,
}


def drift(weeks: Sequence[Week]) -> tuple[Drift, ...]:
    """What lies outside of its limits in the newest week.

    The limits are Student's for one more value like those of the weeks before: chance alone puts one week in 100 outside. A share without
    a hit is one of few searches, so its limits are at least as wide as chance makes a share of so many. Where there are fewer than six
    weeks to go by, or a week has fewer than five searches, nothing is said.
    """
    if not weeks or weeks[-1].searches < _LEAST_SEARCHES:
        return ()
    before = [week for week in weeks[:-1] if week.searches >= _LEAST_SEARCHES]
    found = []
    for name, measure in _WATCHED.items():
        value, known = measure(weeks[-1]), [one for week in before if (one := measure(week)) is not None]
        if value is None or len(known) < _LEAST_WEEKS:
            continue
        room, most = _room(known), math.inf
        if name == "without_hit":
            room, most = max(room, _room_of_share(fmean(known), before, weeks[-1].searches)), 1.0
        low, high = max(0.0, fmean(known) - room), min(most, fmean(known) + room)
        if not low <= value <= high:
            found.append(Drift(name, value, low, high))
    return tuple(found)


def _room(known: Sequence[float]) -> float:
    """How far from the mean one more value may lie."""
    error = stdev(known) * math.sqrt(1 + 1 / len(known))
    return max(_student(len(known) - 1) * error, _LEAST_CHANGE * abs(fmean(known)))


def _student(freedom: int) -> float:
    """What Student's t has in the place of `_SIGMAS` (Abramowitz and Stegun, 26.7.5; from 5 on right to one part in 100)."""
    z = _SIGMAS
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    return z + first / freedom + second / freedom**2 + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384 / freedom**3


def _room_of_share(mean: float, before: Sequence[Week], searches: int) -> float:
    """The same for a share of so many searches, and one search more. What was never seen is held to be seldom, not impossible (Laplace)."""
    seen = sum(week.searches for week in before)
    share = (mean * seen + 1) / (seen + 2)
    return _SIGMAS * math.sqrt(share * (1 - share) / searches) + 1 / searches
