"""`mdmem stats`: weekly figures of verbs, and drift of search answers. Pure.

Weeks are those of ISO 8601 in the user's zone, the current one included.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date, timedelta, tzinfo
from statistics import fmean, median, stdev
from typing import TypeVar

from mdmem.events import Event, Outcome, Quality
from mdmem.model.pipelines import StepFigures, StepRecord
from mdmem.past.lifetimes import monday, week_name
from mdmem.startup.records import dataclass

E = TypeVar("E", Event, StepRecord)

SEARCH = "search"  # the verb whose quality is measured

# verbs of blocks and of the guard; code of a write refused since it held a block
CONTEXT, GUARD, RECALLED = "context", "guard", "recalled-text"

_MIN_SEARCHES = 5  # in a week, for drift
_MIN_WEEKS = 6  # before the newest one; with fewer the limits are unreliable
_SIGMAS = 2.576  # standard errors: 1 % of a normal distribution lies outside
_MIN_CHANGE = 0.1  # share of the mean that anybody would notice


@dataclass(frozen=True, slots=True)
class VerbFigures:
    """One verb: `weeks` are counts; `refused`, `failed` and `bugs` are part of `count`."""

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
    """The most frequent verb first; `damaged` is the number of unreadable lines of events."""

    weeks: tuple[str, ...]
    verbs: tuple[VerbFigures, ...]
    damaged: int


@dataclass(frozen=True, slots=True)
class Week:
    """Searches of a week, refused ones not counted; None is not measured; ages are in days."""

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
    """A figure of the newest week outside the limits set by the weeks before."""

    figure: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class SearchFigures:
    """Weeks from the first with a search, oldest first, and the drift of the newest."""

    weeks: tuple[Week, ...]
    drift: tuple[Drift, ...]
    damaged: int


@dataclass(frozen=True, slots=True)
class ContextWeek:
    """The blocks of a week; None is not measured.

    - `prompts` asked for a block; `answered`: the share that got one.
    - `median_tokens`: of blocks for prompts, empty ones apart; `session_tokens`: at session starts.
    - `again`: the share of results that the session had been given before.
    - `kept`, `guarded`: texts that the guard kept, dropped; `refused`: writes that held a block.
    """

    week: str
    prompts: int
    answered: float | None = None
    median_tokens: float | None = None
    session_tokens: float | None = None
    again: float | None = None
    kept: int = 0
    guarded: int = 0
    refused: int = 0


@dataclass(frozen=True, slots=True)
class ContextFigures:
    """Weeks from the first with a block, oldest first, and the drift of the newest."""

    weeks: tuple[ContextWeek, ...]
    drift: tuple[Drift, ...]
    damaged: int


@dataclass(frozen=True, slots=True)
class RunWeek:
    """The steps of a week with sums of their figures; `failed` is part of `steps`."""

    week: str
    steps: int
    failed: int
    figures: StepFigures


@dataclass(frozen=True, slots=True)
class RunFigures:
    """Weeks from the first with a step, oldest first."""

    weeks: tuple[RunWeek, ...]


def figures(
    events: Iterable[Event], damaged: int, today: date, zone: tzinfo | None, weeks: int
) -> Figures:
    """The figures of the last weeks (`weeks` of them), up to today."""
    active = _group_by_week(events, today, zone, weeks)
    by_verb: dict[str, list[Event]] = {}
    for event in (event for of_week in active.values() for event in of_week):
        by_verb.setdefault(event.verb, []).append(event)
    counts = [Counter(event.verb for event in of_week) for of_week in active.values()]
    verbs = [
        _verb_figures(verb, of_week, tuple(count[verb] for count in counts))
        for verb, of_week in by_verb.items()
    ]
    return Figures(
        tuple(map(week_name, active)),
        tuple(sorted(verbs, key=lambda figures: (-figures.count, figures.verb))),
        damaged,
    )


def _verb_figures(verb: str, events: Sequence[Event], weeks: tuple[int, ...]) -> VerbFigures:
    ended = Counter(event.outcome for event in events)
    times = sorted(event.ms for event in events)
    return VerbFigures(
        verb=verb,
        count=len(events),
        median_ms=median(times),
        p95_ms=times[math.ceil(0.95 * len(times)) - 1],
        refused=ended[Outcome.REFUSED],
        failed=ended[Outcome.FAILED],
        bugs=ended[Outcome.BUG],
        weeks=weeks,
    )


def search_figures(
    events: Iterable[Event], damaged: int, today: date, zone: tzinfo | None, weeks: int
) -> SearchFigures:
    done = (event for event in events if event.verb == SEARCH and event.outcome is Outcome.DONE)
    by_week = _group_by_week(done, today, zone, weeks)
    searches = tuple(_week_figures(week_name(monday), events) for monday, events in by_week.items())
    return SearchFigures(searches, drift(searches), damaged)


def _week_figures(name: str, events: Sequence[Event]) -> Week:
    # Events of older versions have no quality.
    answers = [event.quality for event in events if event.quality is not None]
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


def context_figures(
    events: Iterable[Event], damaged: int, today: date, zone: tzinfo | None, weeks: int
) -> ContextFigures:
    counted = (
        event for event in events if event.verb in (CONTEXT, GUARD) or event.code == RECALLED
    )
    by_week = _group_by_week(counted, today, zone, weeks)
    by_name = tuple(_context_week(week_name(monday), events) for monday, events in by_week.items())
    return ContextFigures(
        by_name,
        _drift_of(by_name, _WATCHED_CONTEXT, lambda week: week.prompts, ("answered", "again")),
        damaged,
    )


def _context_week(name: str, events: Sequence[Event]) -> ContextWeek:
    blocks = [
        event.figures
        for event in events
        if event.verb == CONTEXT and event.outcome is Outcome.DONE and event.figures
    ]
    guards = [event.figures for event in events if event.verb == GUARD and event.figures]
    prompts = [figures for figures in blocks if figures.get("for") == "prompt"]
    tokens = [_number(figures, "tokens") for figures in prompts]
    starts = [_number(figures, "tokens") for figures in blocks if figures.get("for") == "session"]
    again = sum(_number(figures, "given") for figures in prompts)
    shown = sum(_shown(figures) for figures in prompts)
    return ContextWeek(
        week=name,
        prompts=len(prompts),
        answered=fmean(count > 0 for count in tokens) if tokens else None,
        median_tokens=median(used) if (used := [count for count in tokens if count]) else None,
        session_tokens=median(starts) if starts else None,
        again=again / (again + shown) if again + shown else None,
        kept=int(sum(_number(figures, "kept") for figures in guards)),
        guarded=int(sum(_number(figures, "dropped") for figures in guards)),
        refused=sum(event.code == RECALLED for event in events),
    )


def run_figures(
    records: Iterable[StepRecord], today: date, zone: tzinfo | None, weeks: int
) -> RunFigures:
    """The steps of the last weeks (their number in `weeks`), up to today."""
    by_week = _group_by_week(records, today, zone, weeks)
    return RunFigures(
        tuple(_run_week(week_name(monday), steps) for monday, steps in by_week.items())
    )


def _run_week(name: str, steps: Sequence[StepRecord]) -> RunWeek:
    figures = StepFigures()
    for step in steps:
        figures.add(step.figures)
    return RunWeek(name, len(steps), sum(step.failed for step in steps), figures)


def _number(figures: Mapping[str, object], name: str) -> float:
    # 0 where it is missing or no number
    value = figures.get(name)
    return value if isinstance(value, int | float) and math.isfinite(value) else 0


def _shown(figures: Mapping[str, object]) -> float:
    parts = figures.get("parts")
    counts = parts.get("found") if isinstance(parts, dict) else None
    return counts[0] if isinstance(counts, list) and counts and isinstance(counts[0], int) else 0


def _median(answers: Iterable[Quality], measure: Callable[[Quality], float | None]) -> float | None:
    values = [value for answer in answers if (value := measure(answer)) is not None]
    return median(values) if values else None


def _group_by_week(
    events: Iterable[E], today: date, zone: tzinfo | None, weeks: int
) -> dict[date, list[E]]:
    # by their Mondays, oldest first, from the first week with an event on, without later weeks
    newest = monday(today)
    by_week: dict[date, list[E]] = {
        newest - timedelta(weeks=back): [] for back in reversed(range(weeks))
    }
    for event in events:
        by_week.get(monday(event.time.astimezone(zone).date()), []).append(event)
    first = next((monday for monday, events in by_week.items() if events), date.max)
    return {monday: events for monday, events in by_week.items() if monday >= first}


# Drift.


_WATCHED: Mapping[str, Callable[[Week], float | None]] = {
    "without_hit": lambda week: week.without_hit,
    "median_ms": lambda week: week.median_ms,
    "median_hits": lambda week: week.median_hits,
    "median_first": lambda week: week.median_first,
    "median_spread": lambda week: week.median_spread,
    "median_age_days": lambda week: week.median_age_days,
}


_WATCHED_CONTEXT: Mapping[str, Callable[[ContextWeek], float | None]] = {
    "answered": lambda week: week.answered,
    "median_tokens": lambda week: week.median_tokens,
    "again": lambda week: week.again,
}

W = TypeVar("W", Week, ContextWeek)


def drift(weeks: Sequence[Week]) -> tuple[Drift, ...]:
    return _drift_of(weeks, _WATCHED, lambda week: week.searches, ("without_hit",))


def _drift_of(
    weeks: Sequence[W],
    watched: Mapping[str, Callable[[W], float | None]],
    count: Callable[[W], int],
    shares: Collection[str],
) -> tuple[Drift, ...]:
    """Figures of the newest week outside their limits; none with fewer than six weeks to compare or
    a count below five in a week.

    The limits are Student's for one more value: chance alone puts one week in 100 outside. For a
    share (of searches without a hit, of prompts with a block) they are at least as wide as chance
    makes a share of so few.
    """
    if not weeks or count(weeks[-1]) < _MIN_SEARCHES:
        return ()
    earlier_weeks = [week for week in weeks[:-1] if count(week) >= _MIN_SEARCHES]
    drifts = []
    for name, measure in watched.items():
        value, earlier = (
            measure(weeks[-1]),
            [figure for week in earlier_weeks if (figure := measure(week)) is not None],
        )
        if value is None or len(earlier) < _MIN_WEEKS:
            continue
        margin, highest = _margin(earlier), math.inf
        if name in shares:
            margin, highest = (
                max(
                    margin,
                    _share_margin(fmean(earlier), sum(map(count, earlier_weeks)), count(weeks[-1])),
                ),
                1.0,
            )
        low, high = max(0.0, fmean(earlier) - margin), min(highest, fmean(earlier) + margin)
        if not low <= value <= high:
            drifts.append(Drift(name, value, low, high))
    return tuple(drifts)


def _margin(values: Sequence[float]) -> float:
    error = stdev(values) * math.sqrt(1 + 1 / len(values))
    return max(_student(len(values) - 1) * error, _MIN_CHANGE * abs(fmean(values)))


def _student(freedom: int) -> float:
    """Student's t for `_SIGMAS` (Abramowitz and Stegun, 26.7.5; within 1 % for 5 or more)."""
    z = _SIGMAS
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    return (
        z
        + first / freedom
        + second / freedom**2
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384 / freedom**3
    )


def _share_margin(mean: float, seen: int, count: int) -> float:
    """The margin of a share. What never happened among `seen` counts as rare (Laplace)."""
    share = (mean * seen + 1) / (seen + 2)
    return _SIGMAS * math.sqrt(share * (1 - share) / count) + 1 / count
