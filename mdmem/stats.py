"""`mdmem stats`: figures by week of the verbs that ran, and the drift of search answers. Pure functions over the events.

Weeks are those of ISO 8601, in the user's zone; the last one is not over yet.
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
"""The verb whose quality is measured."""

_LEAST_SEARCHES = 5
"""A week with fewer searches is not used for drift."""
_LEAST_WEEKS = 6
"""With fewer weeks before the newest one the limits could not be trusted."""
_SIGMAS = 2.576
"""One value in 100 of a normal distribution lies outside of so many standard errors."""
_LEAST_CHANGE = 0.1
"""Nobody would notice a change by less than this part of the mean."""


@dataclass(frozen=True, slots=True)
class VerbFigures:
    """The figures of one verb. `weeks` has its count in each week; `refused`, `failed` and `bugs` are part of `count`."""

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
    """The figures of some weeks (by name), the most frequent verb first; `damaged` is the number of unreadable lines of events."""

    weeks: tuple[str, ...]
    verbs: tuple[VerbFigures, ...]
    damaged: int


@dataclass(frozen=True, slots=True)
class Week:
    """The searches of a week, without refused ones. A figure that was not measured is None; ages are in days."""

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
    """A figure of the newest week outside of the limits set by the weeks before it."""

    figure: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class SearchFigures:
    """The searches of some weeks, oldest first, from the first week with a search on; and the figures that drifted in the newest."""

    weeks: tuple[Week, ...]
    drift: tuple[Drift, ...]
    damaged: int


def figures(events: Iterable[Event], damaged: int, today: date, zone: tzinfo | None, weeks: int) -> Figures:
    """The figures of the last weeks (their number in `weeks`), up to today."""
    by_week = _group_by_week(events, today, zone, weeks)
    active = _without_leading_gaps(by_week)
    by_verb: dict[str, list[Event]] = {}
    for event in (event for of_week in active.values() for event in of_week):
        by_verb.setdefault(event.verb, []).append(event)
    counts = [Counter(event.verb for event in of_week) for of_week in active.values()]
    verbs = [_verb_figures(verb, of_week, tuple(count[verb] for count in counts)) for verb, of_week in by_verb.items()]
    return Figures(tuple(map(_week_name, active)), tuple(sorted(verbs, key=lambda figures: (-figures.count, figures.verb))), damaged)


def _verb_figures(verb: str, events: Sequence[Event], weeks: tuple[int, ...]) -> VerbFigures:
    ended = Counter(event.outcome for event in events)
    times = sorted(event.ms for event in events)
    slow = times[math.ceil(0.95 * len(times)) - 1]
    return VerbFigures(
        verb=verb,
        count=len(events),
        median_ms=median(times),
        p95_ms=slow,
        refused=ended[Outcome.REFUSED],
        failed=ended[Outcome.FAILED],
        bugs=ended[Outcome.BUG],
        weeks=weeks,
    )


def search_figures(events: Iterable[Event], damaged: int, today: date, zone: tzinfo | None, weeks: int) -> SearchFigures:
    """The searches of the last weeks (their number in `weeks`), and the drift of the newest from those before it."""
    done = (event for event in events if event.verb == SEARCH and event.outcome is Outcome.DONE)
    by_week = _without_leading_gaps(_group_by_week(done, today, zone, weeks))
    searches = tuple(_week_figures(_week_name(monday), events) for monday, events in by_week.items())
    return SearchFigures(searches, drift(searches), damaged)


def _week_figures(name: str, events: Sequence[Event]) -> Week:
    answers = [event.quality for event in events if event.quality is not None]  # events of older versions have none
    return Week(
        week=name,
        searches=len(events),
        without_hit=fmean(answer.hits == 0 for answer in answers) if answers else None,
        median_ms=median(event.ms for event in events) if events else None,
        median_hits=_median(answers, lambda answer: answer.hits),
        median_first=_median(answers, lambda answer: answer.first),
        median_spread=_median(answers, lambda answer: answer.spread),
        median_age_days=_median(answers, lambda answer: answer.age),
        behind=sum(answer.behind for answer in answers),
    )


def _median(answers: Iterable[Quality], measure: Callable[[Quality], float | None]) -> float | None:
    """The median of a measure over the answers that have it."""
    values = [value for answer in answers if (value := measure(answer)) is not None]
    return median(values) if values else None


def _group_by_week(events: Iterable[Event], today: date, zone: tzinfo | None, weeks: int) -> dict[date, list[Event]]:
    """The events of the last weeks by their Mondays, oldest first; events of a later week are left out."""
    newest = _monday(today)
    by_week: dict[date, list[Event]] = {newest - timedelta(weeks=back): [] for back in reversed(range(weeks))}
    for event in events:
        by_week.get(_monday(event.time.astimezone(zone).date()), []).append(event)
    return by_week


def _without_leading_gaps(by_week: Mapping[date, list[Event]]) -> dict[date, list[Event]]:
    """The weeks from the first one with an event on."""
    first = next((monday for monday, events in by_week.items() if events), date.max)
    return {monday: events for monday, events in by_week.items() if monday >= first}


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def _week_name(day: date) -> str:
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
    """The figures of the newest week that are outside of their limits.

    The limits are Student's for one more value like those of the weeks before: chance alone puts one week in 100 outside. The share of
    searches without a hit comes from few searches, so its limits are at least as wide as chance makes such a share. With fewer than six
    weeks to compare, or fewer than five searches in a week, there is no drift.
    """
    if not weeks or weeks[-1].searches < _LEAST_SEARCHES:
        return ()
    earlier_weeks = [week for week in weeks[:-1] if week.searches >= _LEAST_SEARCHES]
    drifts = []
    for name, measure in _WATCHED.items():
        value, earlier = measure(weeks[-1]), [figure for week in earlier_weeks if (figure := measure(week)) is not None]
        if value is None or len(earlier) < _LEAST_WEEKS:
            continue
        margin, highest = _margin(earlier), math.inf
        if name == "without_hit":
            margin, highest = max(margin, _share_margin(fmean(earlier), earlier_weeks, weeks[-1].searches)), 1.0
        low, high = max(0.0, fmean(earlier) - margin), min(highest, fmean(earlier) + margin)
        if not low <= value <= high:
            drifts.append(Drift(name, value, low, high))
    return tuple(drifts)


def _margin(values: Sequence[float]) -> float:
    """The distance from the mean within which one more value may lie."""
    error = stdev(values) * math.sqrt(1 + 1 / len(values))
    return max(_student(len(values) - 1) * error, _LEAST_CHANGE * abs(fmean(values)))


def _student(freedom: int) -> float:
    """The value of Student's t that corresponds to `_SIGMAS` (Abramowitz and Stegun, 26.7.5; from 5 degrees of freedom on exact to 1 %)."""
    z = _SIGMAS
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    return z + first / freedom + second / freedom**2 + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384 / freedom**3


def _share_margin(mean: float, before: Sequence[Week], searches: int) -> float:
    """The margin of a share among so many searches, and one search more. What never happened counts as rare, not as impossible (Laplace)."""
    seen = sum(week.searches for week in before)
    share = (mean * seen + 1) / (seen + 2)
    return _SIGMAS * math.sqrt(share * (1 - share) / searches) + 1 / searches
