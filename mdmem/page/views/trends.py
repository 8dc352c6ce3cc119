"""Figures of history: facts over days, writers and survival; and of searches over weeks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from markupsafe import Markup

from mdmem.folder import files
from mdmem.health.stats import SearchFigures, Week
from mdmem.model.errors import number_of
from mdmem.model.history import FactDay, FactTrends, ShowTrends
from mdmem.model.reads import ShowFigures
from mdmem.page import charts
from mdmem.page.charts import Series, short_day
from mdmem.page.pages import Page, Query, Reader, kept
from mdmem.show.figures import drift_sentence
from mdmem.startup.records import dataclass

_DAYS, _WEEKS = 42, 12
_MOST_ROWS = 8
_CURVE_ROWS = 12


@dataclass(frozen=True, slots=True)
class Figure:
    title: str
    number: str
    words: str
    chart: Markup
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Share:
    name: str
    chart: Markup
    count: int


def trends(reader: Reader, query: Query) -> Page:
    memory = reader.memory
    facts = kept(reader, memory.trends, ShowTrends(_DAYS))
    searches = memory.figures.of_searches(ShowFigures(_WEEKS))
    days = charts.since_first(facts.days)
    skipped = len(facts.days) - len(days)
    values: dict[str, Any] = {
        "span": f"{_span(days)}, {_day_words(days[0])} to {_day_words(days[-1])}",
        "notes": facts.notes,
        "figures": [_current(facts, days), _churn(days)],
        "writers": [
            Share(
                name=writer.name,
                chart=charts.small_bars(
                    f"{writer.name}: {number_of(writer.count, 'change')}", writer.days[skipped:]
                ),
                count=writer.count,
            )
            for writer in facts.writers[:_MOST_ROWS]
        ],
        "other_writers": len(facts.writers[_MOST_ROWS:]),
        "kinds": [
            Share(
                name=kind.kind or "no kind",
                chart=charts.small_line(
                    f"{kind.kind or 'no kind'}: {number_of(kind.count, 'current fact')}",
                    kind.days[skipped:],
                ),
                count=kind.count,
            )
            for kind in facts.kinds[:_MOST_ROWS]
        ],
        "other_kinds": len(facts.kinds[_MOST_ROWS:]),
        "survival": _survival(facts),
        "changed_most": facts.changed_most,
        "untouched": facts.untouched,
        "searches": _searches(searches) if searches.weeks else None,
        "drift": drift_sentence(searches.weeks[-1].week, searches.drift) if searches.drift else "",
        "room": _room(reader),
    }
    data = {"trends": facts, "searches": searches}
    return Page(
        template="trends",
        title="Trends",
        values=values,
        data=data,
        tab="trends",
        back=reader.links.trends(),
    )


def _current(facts: FactTrends, days: Sequence[FactDay]) -> Figure:
    last = days[-1]
    sources = (f"{last.stated:,} stated", f"{last.inferred:,} inferred")
    words = ", ".join((*sources, f"{last.automatic:,} automatic"))
    series = [
        Series("stated", [day.stated for day in days]),
        Series("inferred", [day.inferred for day in days]),
        Series("automatic", [day.automatic for day in days]),
    ]
    name = f"Current facts by source over {_span(days)}: {words} now"
    return _by_day("Current facts", f"{facts.current:,}", words, days, series, areas_name=name)


def _churn(days: Sequence[FactDay]) -> Figure:
    series = [
        Series("new", [day.added for day in days]),
        Series("replaced", [day.replaced for day in days]),
        Series("gone", [day.removed for day in days]),
    ]
    new, replaced, gone = (sum(each.values) for each in series)
    words = f"new, {replaced:,} replaced, {gone:,} gone"
    return _by_day("Churn", f"{new:,}", words, days, series)


def _by_day(
    title: str,
    number: str,
    words: str,
    days: Sequence[FactDay],
    series: Sequence[Series],
    areas_name: str = "",
) -> Figure:
    labels = [short_day(day.day) for day in days]
    if areas_name:
        chart = charts.areas(areas_name, labels, series)
    else:
        name = f"Changes to facts over {_span(days)}: {number} {words}"
        chart = charts.bars(name, labels, series[:-1], series[-1], height=124)
    counts = zip(*(each.values for each in series), strict=True)
    return Figure(
        title=title,
        number=number,
        words=words,
        chart=chart,
        columns=("Day", *(each.name for each in series)),
        rows=[
            (label, *(f"{count:,}" for count in row))
            for label, row in zip(labels, counts, strict=True)
        ],
    )


def _day_words(day: FactDay) -> str:
    return f"{day.day.day} {day.day:%B}"


def _span(days: Sequence[FactDay]) -> str:
    return number_of(len(days), "day")


def _survival(facts: FactTrends) -> Figure | None:
    if not facts.survival:
        return None
    half = facts.half_life_days
    if half is None:
        number, words = f"{facts.survival[-1][1]:.0%}", "of the curated facts are still current"
    else:
        number, words = f"{half:,.0f}", "days until half of the curated facts have changed"
    every = -(-len(facts.survival) // _CURVE_ROWS)
    shown = [*facts.survival[:-1][::every], facts.survival[-1]]
    return Figure(
        title="How long curated facts last",
        number=number,
        words=words,
        chart=charts.steps(
            f"Share of curated facts still current by age: {number} {words}", facts.survival
        ),
        columns=("Age in days", "still current"),
        rows=[(f"{age:,.0f}", f"{share:.0%}") for age, share in shown],
    )


def _searches(figures: SearchFigures) -> Figure:
    weeks = figures.weeks
    missed = [round(week.searches * (week.without_hit or 0)) for week in weeks]
    series = [
        Series(
            "with a hit",
            [week.searches - count for week, count in zip(weeks, missed, strict=True)],
        ),
        Series("without a hit", missed),
    ]
    total = sum(week.searches for week in weeks)
    words = f"{number_of(total, 'search', 'searches')} in {number_of(len(weeks), 'week')}"
    share = sum(missed) / total if total else 0
    return Figure(
        title="Searches a week",
        number=f"{share:.0%}",
        words=f"without a hit, of {words}",
        chart=charts.bars(
            f"Searches a week: {words}, {share:.0%} without a hit",
            [_week_name(week) for week in weeks],
            series,
            height=80,
        ),
        columns=("Week of", "searches", "without a hit", "hits", "first score", "age in days"),
        rows=[
            (
                _week_name(week),
                f"{week.searches:,}",
                _formatted(week.without_hit, ".0%"),
                _formatted(week.median_hits, ",.1f"),
                _formatted(week.median_first, ",.2f"),
                _formatted(week.median_age_days, ",.0f"),
            )
            for week in weeks
        ],
    )


def _week_name(week: Week) -> str:
    year, _, number = week.week.partition("-W")
    return short_day(date.fromisocalendar(int(year), int(number), 1))


def _formatted(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def _room(reader: Reader) -> Figure:
    """The curated file against its budget: agents read it whole."""
    workspace = reader.memory.workspace
    content = files.read(workspace.root / workspace.curated) or b""
    settings = workspace.settings
    used = [
        ("lines", len(content.splitlines()), settings.budget_lines),
        ("bytes", len(content), settings.budget_bytes),
    ]
    _, count, most = max(used, key=lambda each: each[1] / max(1, each[2]))
    words = " and ".join(f"{size:,} of {limit:,} {unit}" for unit, size, limit in used)
    number = f"{count / max(1, most):.0%}"
    return Figure(
        title=f"Room in {workspace.curated}",
        number=number,
        words=f"used: {words}",
        chart=charts.room(f"{workspace.curated}: {number} of its budget used", count, most),
        columns=("Of", "used", "budget"),
        rows=[(unit, f"{size:,}", f"{limit:,}") for unit, size, limit in used],
    )
