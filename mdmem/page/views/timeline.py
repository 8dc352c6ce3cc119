"""The timeline of changes by day, one day, one commit; and figures of history and searches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from itertools import groupby, islice
from typing import TypeAlias

from markupsafe import Markup

from mdmem import secrets
from mdmem.folder import files
from mdmem.health.stats import SearchFigures, Week
from mdmem.model.errors import HistoryProblem, PathProblem, UsageProblem, number_of
from mdmem.model.history import (
    CURATED,
    LOGS,
    ChangeList,
    FactChange,
    FactDay,
    FactTrends,
    LargeCommit,
    ShowChanges,
    ShowTrends,
)
from mdmem.model.reads import ShowFigures
from mdmem.model.rules import is_iso_day
from mdmem.model.trail import Entry
from mdmem.page import charts
from mdmem.page.pages import (
    COMMIT,
    ChangeRow,
    FilterLink,
    Page,
    Query,
    Reader,
    change_rows,
    error_page,
    kept,
    place_of,
)
from mdmem.page.views.front import BARS, MOST_COUNTED, changes_of_both, changes_of_day
from mdmem.show.figures import drift_sentence
from mdmem.startup.records import dataclass, replace
from mdmem.text.facts import entries, shortened

_TREND_DAYS, _WEEKS = 42, 12
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


def trends(reader: Reader, query: Query) -> Page:
    memory = reader.memory
    facts = kept(reader, memory.trends, ShowTrends(_TREND_DAYS))
    searches = memory.figures.of_searches(ShowFigures(_WEEKS))
    days = charts.since_first(facts.days)
    skipped = len(facts.days) - len(days)
    return Page(
        template="trends",
        title="Trends",
        values={
            "days": days,
            "notes": facts.notes,
            "figures": [_current(facts, days), _churn(days)],
            "writers": [
                (
                    writer.name,
                    charts.small_bars(
                        f"{writer.name}: {number_of(writer.count, 'change')}", writer.days[skipped:]
                    ),
                    writer.count,
                )
                for writer in facts.writers[:_MOST_ROWS]
            ],
            "other_writers": len(facts.writers[_MOST_ROWS:]),
            "kinds": [
                (
                    kind.kind or "no kind",
                    charts.small_line(
                        f"{kind.kind or 'no kind'}: {number_of(kind.count, 'current fact')}",
                        kind.days[skipped:],
                    ),
                    kind.count,
                )
                for kind in facts.kinds[:_MOST_ROWS]
            ],
            "other_kinds": len(facts.kinds[_MOST_ROWS:]),
            "survival": _survival(facts),
            "changed_most": facts.changed_most,
            "untouched": facts.untouched,
            "searches": _searches(searches) if searches.weeks else None,
            "drift": drift_sentence(searches.weeks[-1].week, searches.drift)
            if searches.drift
            else "",
            "room": _room(reader),
        },
        data={"trends": facts, "searches": searches},
        tab="trends",
        back=reader.links.trends(),
    )


def _current(facts: FactTrends, days: Sequence[FactDay]) -> Figure:
    series = [
        charts.Series("stated", [day.stated for day in days]),
        charts.Series("inferred", [day.inferred for day in days]),
        charts.Series("automatic", [day.automatic for day in days]),
    ]
    words = ", ".join(f"{each.values[-1]:,} {each.name}" for each in series)
    name = f"Current facts by source over {number_of(len(days), 'day')}: {words} now"
    chart = charts.areas(name, _labels(days), series)
    return _by_day("Current facts", f"{facts.current:,}", words, chart, days, series)


def _churn(days: Sequence[FactDay]) -> Figure:
    series = [
        charts.Series("new", [day.added for day in days]),
        charts.Series("replaced", [day.replaced for day in days]),
        charts.Series("gone", [day.removed for day in days]),
    ]
    new, replaced, gone = (sum(each.values) for each in series)
    words = f"new, {replaced:,} replaced, {gone:,} gone"
    name = f"Changes to facts over {number_of(len(days), 'day')}: {new:,} {words}"
    chart = charts.bars(name, _labels(days), series[:-1], series[-1], height=124)
    return _by_day("Churn", f"{new:,}", words, chart, days, series)


def _by_day(
    title: str,
    number: str,
    words: str,
    chart: Markup,
    days: Sequence[FactDay],
    series: Sequence[charts.Series],
) -> Figure:
    counts = ([f"{count:,}" for count in each.values] for each in series)
    return Figure(
        title=title,
        number=number,
        words=words,
        chart=chart,
        columns=("Day", *(each.name for each in series)),
        rows=list(zip(_labels(days), *counts, strict=True)),
    )


def _labels(days: Sequence[FactDay]) -> list[str]:
    return [charts.short_day(day.day) for day in days]


def _survival(facts: FactTrends) -> Figure | None:
    if not facts.survival:
        return None
    half = facts.half_life_days
    number, words = (
        (f"{facts.survival[-1][1]:.0%}", "of the curated facts are still current")
        if half is None
        else (f"{half:,.0f}", "days until half of the curated facts have changed")
    )
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
        charts.Series(
            "with a hit",
            [week.searches - count for week, count in zip(weeks, missed, strict=True)],
        ),
        charts.Series("without a hit", missed),
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
    return charts.short_day(date.fromisocalendar(int(year), int(number), 1))


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


_DAYS, _ROWS = 7, 14
"""Maximum number of days on a page, and of rows of a day."""
_READ = 2 * _ROWS
_MOST_WRITERS = 8
_DAY = timedelta(days=1)
_WIDER = 4


_TimelineDay: TypeAlias = tuple[date, Sequence[ChangeRow], Sequence[LargeCommit], bool]
"""A day's changes, its large commits, and whether it has more changes."""


# The timeline.


def timeline(reader: Reader, query: Query) -> Page:
    """Changes by day, newest first. Raises UsageProblem (`before` is not a day)."""
    before = _day_in(query["before"]) if query.get("before") else None
    asked = {name: query[name] for name in ("who", "where", "file") if query.get(name)}
    wanted = ShowChanges(
        actor=asked.get("who"),
        where=asked.get("where"),
        file=asked.get("file"),
        limit=_READ + 1,
        fold=MOST_COUNTED,
    )
    last = max(before, date.min + _DAY) - _DAY if before else None
    days, changes = _read_days(reader, wanted, last)
    oldest = days[-1][0] if days else None
    until = (oldest - _DAY).isoformat() if oldest else None
    earlier = replace(wanted, until=until, limit=1, fold=0)
    has_older = oldest and kept(reader, reader.memory.changes, earlier).changes
    activity = kept(reader, reader.memory.activity, ShowTrends(BARS))
    writers = [writer.name for writer in activity.writers]
    back = reader.links.days(before=before, **asked)
    return Page(
        template="timeline",
        title="Timeline",
        values={
            "days": days,
            "chart": charts.bars_by_day(activity.days, reader.links),
            "notes": activity.notes,
            "who": _choices(reader, asked, "who", "everybody", writers[:_MOST_WRITERS]),
            "where": _choices(reader, asked, "where", "everywhere", (CURATED, LOGS)),
            "file": asked.get("file"),
            "all_files": reader.links.days(**{**asked, "file": ""}),
            "older": reader.links.days(before=oldest, **asked) if has_older else "",
            "newest": reader.links.days(**asked) if before else "",
            "is_filtered": bool(asked or before),
        },
        data=ChangeList(changes=tuple(changes)),
        tab="timeline",
        back=back,
    )


def _read_days(
    reader: Reader, wanted: ShowChanges, last: date | None
) -> tuple[list[_TimelineDay], list[FactChange]]:
    days: dict[date, tuple[list[FactChange], list[LargeCommit], bool]] = {}
    while len(days) < _DAYS:
        until = last.isoformat() if last else None
        listed = kept(reader, reader.memory.changes, replace(wanted, until=until))
        made: list[FactChange | LargeCommit] = [*listed.changes, *listed.large]
        made.sort(key=lambda each: each.made.time, reverse=True)
        groups = [(day, list(group)) for day, group in groupby(made, _day_of)]
        is_all = len(made) < wanted.limit
        if not is_all and len(groups) > 1:
            del groups[-1]  # not all of its changes were read
        for day, of_day in groups[: _DAYS - len(days)]:
            changes = [each for each in of_day if isinstance(each, FactChange)]
            large = [each for each in of_day if isinstance(each, LargeCommit)]
            days[day] = changes[:_ROWS], large, len(changes) > _ROWS
        if is_all or min(days) == date.min:
            break
        last = min(days) - _DAY
    shown = [change for changes, _, _ in days.values() for change in changes]
    rows = iter(change_rows(reader, shown))
    return [
        (day, list(islice(rows, len(changes))), large, has_more)
        for day, (changes, large, has_more) in days.items()
    ], shown


def _day_in(text: str) -> date:
    if is_iso_day(text):
        return date.fromisoformat(text)
    raise UsageProblem(f"{text[:80]!r} is not a day", "Write a day as 2026-03-05.")


def _day_of(change: FactChange | LargeCommit) -> date:
    return change.made.time.date()


def _choices(
    reader: Reader, asked: Mapping[str, str], name: str, anything: str, values: Sequence[str]
) -> list[FilterLink]:
    chosen = asked.get(name, "")
    return [
        FilterLink(value or anything, reader.links.days(**{**asked, name: value}), value == chosen)
        for value in dict.fromkeys(("", *values, chosen))
    ]


# One day.


def day(reader: Reader, query: Query) -> Page:
    try:
        shown = _day_in(query["day"])
    except UsageProblem as problem:
        return error_page(problem, 404)
    curated, logged = (changes_of_day(reader, shown, where) for where in (CURATED, LOGS))
    others, unreadable = _entries_of_other_days(reader, shown, logged)
    before, after = _day_before(reader, shown), _day_after(reader, shown)
    return Page(
        template="day",
        title=f"{shown:%A} {shown.day} {shown:%B} {shown.year}",
        values={
            "shown": shown,
            "changed": change_rows(reader, curated.changes[:MOST_COUNTED]),
            "logged": change_rows(reader, logged.changes[:MOST_COUNTED])[::-1],
            "others": others[:MOST_COUNTED],
            "unreadable": unreadable,
            "large_changed": curated.large,
            "large_logged": logged.large,
            "more_changed": len(curated.changes) > MOST_COUNTED,
            "more_logged": max(len(logged.changes), len(others)) > MOST_COUNTED,
            "log": reader.links.file(reader.memory.workspace.log_path(shown)),
            "before": (before, reader.links.day(before)) if before else None,
            "after": (after, reader.links.day(after)) if after else None,
            "evening": reader.links.search(at=shown),
        },
        data=changes_of_both(curated, logged),
        tab="timeline",
        back=reader.links.day(shown),
    )


def _entries_of_other_days(
    reader: Reader, shown: date, logged: ChangeList
) -> tuple[Sequence[Entry], str]:
    """Entries of the day's log that did not come on that day: written for it, or not saved yet.

    Then why the log cannot be read, if it is there.
    """
    path = reader.memory.workspace.log_path(shown)
    try:
        text = reader.memory.look(path)
    except PathProblem as problem:
        return (), "" if problem.code == "file-not-found" else f"{path}: {problem.message}"
    if not isinstance(text, str) or len(logged.changes) > MOST_COUNTED:
        return (), ""
    facts = {change.fact for change in logged.changes}
    listed = entries(reader.memory.workspace.parse(path, text), path)
    return [each for each in listed if each.fact not in facts], ""


def _day_before(reader: Reader, shown: date) -> date | None:
    if shown == date.min:
        return None
    until = (shown - _DAY).isoformat()
    changes = reader.memory.changes(ShowChanges(until=until, limit=1)).changes
    return _day_of(changes[0]) if changes else None


def _day_after(reader: Reader, shown: date) -> date | None:
    if shown == date.max:
        return None
    low = shown + _DAY
    newest = reader.memory.changes(ShowChanges(since=low.isoformat(), limit=1)).changes
    if not newest:
        return None
    # a day may have very many changes, so that no span is read but for its newest one
    high, length = _day_of(newest[0]), _DAY
    while low < high:
        last = low + min(length, high - low) - _DAY
        span = ShowChanges(since=low.isoformat(), until=last.isoformat(), limit=1)
        if changes := reader.memory.changes(span).changes:
            high, length = _day_of(changes[0]), _DAY
        else:
            low, length = last + _DAY, length * _WIDER
    return high


# One commit.


_MOST_IN_COMMIT = 200
_SHORT, _MOST_TITLE = 10, 80


def _weight(reader: Reader, change: FactChange) -> tuple[bool, bool]:
    """Curated facts weigh more than logs, and among these what is replaced."""
    place = place_of(reader.memory.workspace, change.path, change.section)
    return bool(place), change.replaced is not None


def commit(reader: Reader, query: Query) -> Page:
    """The changes of a commit, with its author, time and reason. Raises HistoryProblem."""
    name = query["commit"]
    if not COMMIT.fullmatch(name):
        raise HistoryProblem("commit-not-found", f"{name[:80]!r} is not a commit", "")
    listed = reader.memory.changes(ShowChanges(commit=name, limit=_MOST_IN_COMMIT + 1))
    first = listed.changes[0].made if listed.changes else None
    rows = change_rows(reader, listed.changes[:_MOST_IN_COMMIT])
    weightiest = max(rows, key=lambda row: _weight(reader, row.change), default=None)
    text = secrets.redact(weightiest.change.text) if weightiest else ""
    return Page(
        template="commit",
        title=shortened(" ".join(text.split()), _MOST_TITLE) or f"Change {name[:_SHORT]}",
        values={
            "commit": first.commit if first else name,
            "first": first,
            "rows": rows,
            "weightiest": weightiest,
            "has_more": len(listed.changes) > _MOST_IN_COMMIT,
            "is_undone": listed.is_undone,
        },
        data=listed,
        tab="timeline",
        back=reader.links.commit(name),
    )
