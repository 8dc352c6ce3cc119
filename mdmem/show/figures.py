"""Results of `mdmem stats`: figures over weeks, as aligned columns of plain ASCII."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from mdmem.health.stats import ContextFigures, Drift, Figures, RunFigures, SearchFigures, Week
from mdmem.model import Source
from mdmem.model.errors import number_of
from mdmem.model.history import FactTrends, MarkdownTrends, TrendSection
from mdmem.past.lifetimes import week_name
from mdmem.show.formatting import dim, one_line
from mdmem.text.document import join_path

_BAR = 20  # width of the longest bar
_HEIGHTS = ".:-=+*#"  # from zero to the maximum
_BLOCKS = "▁▂▃▄▅▆▇█"
_MOST_AUTHORS = 10
_SURVIVAL_DAYS = (7, 30, 90, 365)
_FIGURES = {
    "without_hit": "the share of searches without a hit",
    "median_ms": "the time that a search takes, in ms,",
    "median_hits": "the number of hits",
    "median_first": "the score of the first hit",
    "median_spread": "the spread of the scores",
    "median_age_days": "the age of the hits, in days,",
    "answered": "the share of prompts that got a block",
    "median_tokens": "the number of tokens of a prompt's block",
    "again": "the share of what was found that had been given before",
}
_SHARES = ("without_hit", "answered", "again")


def figures_text(figures: Figures, colour: bool) -> str:
    if not figures.verbs:
        return ""
    head = ("command", "count", "median ms", "p95 ms", "refused", "failed", "bugs", "by week")
    rows = [
        (
            one_line(verb.verb),
            str(verb.count),
            f"{verb.median_ms:,.0f}",
            f"{verb.p95_ms:,.0f}",
            _count(verb.refused),
            _count(verb.failed),
            _count(verb.bugs),
            _heights(verb.weeks),
        )
        for verb in figures.verbs
    ]
    return "\n".join(
        [
            *_columns(head, rows, colour),
            dim(
                f"Most recent week: {figures.weeks[-1]}."
                " One character per week: . = none, # = most.",
                colour,
            ),
        ]
    )


def _count(number: int) -> str:
    return str(number) if number else "-"


def _heights(counts: Sequence[int], heights: str = _HEIGHTS) -> str:
    most = max(1, *counts)
    return "".join(heights[-(-max(0, count) * (len(heights) - 1) // most)] for count in counts)


def _weekly_text(
    figures: SearchFigures | ContextFigures,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    colour: bool,
) -> str:
    drift = [drift_sentence(figures.weeks[-1].week, figures.drift)] if figures.drift else []
    return "\n".join([*_columns(head, rows, colour), *drift])


def searches_text(figures: SearchFigures, colour: bool) -> str:
    if not figures.weeks:
        return ""
    most = max(week.searches for week in figures.weeks)
    head = (
        "week",
        "searches",
        "no hit",
        "ms",
        "hits",
        "first",
        "spread",
        "age",
        f"#: found, .: nothing; full width: {most}",
    )
    rows = [
        (
            week.week,
            str(week.searches),
            _share(week.without_hit),
            _number(week.median_ms, 1),
            _number(week.median_hits, 1),
            _number(week.median_first, 2),
            _number(week.median_spread, 2),
            _number(week.median_age_days, 0),
            _bar(week, most),
        )
        for week in figures.weeks
    ]
    return _weekly_text(figures, head, rows, colour)


def contexts_text(figures: ContextFigures, colour: bool) -> str:
    if not figures.weeks:
        return ""
    most = max(week.prompts for week in figures.weeks)
    head = (
        "week",
        "prompts",
        "got",
        "tokens",
        "at start",
        "again",
        "kept",
        "guarded",
        "refused",
        f"# with a block, . without; {_BAR} are {most}",
    )
    rows = [
        (
            week.week,
            str(week.prompts),
            _share(week.answered),
            _number(week.median_tokens, 0),
            _number(week.session_tokens, 0),
            _share(week.again),
            _count(week.kept),
            _count(week.guarded),
            _count(week.refused),
            _share_bar(week.prompts, 1 - (week.answered or 0), most),
        )
        for week in figures.weeks
    ]
    return _weekly_text(figures, head, rows, colour)


def runs_text(figures: RunFigures, colour: bool) -> str:
    if not figures.weeks:
        return ""
    most = max(week.figures.entries for week in figures.weeks)
    has_model = any(week.figures.tokens or week.figures.by_model for week in figures.weeks)
    of_model = ("by model", "tokens") if has_model else ()
    counted = (
        "week",
        "steps",
        "failed",
        "sessions",
        "messages",
        "noise",
        "entries",
        "repeated",
        "redacted",
        "refused",
    )
    bar = f"{_BAR} # are {most}" if most else ""
    head = (*counted, *of_model, bar)
    rows = [
        (
            week.week,
            str(week.steps),
            _count(week.failed),
            _count(sums.sessions),
            f"{sums.messages:,}",
            _share(sums.noise / sums.messages if sums.messages else None),
            _count(sums.entries),
            _count(sums.doubled),
            _count(sums.redacted),
            _count(sums.refused),
            *((_count(sums.by_model), f"{sums.tokens:,}") if has_model else ()),
            _share_bar(sums.entries, 0, most),
        )
        for week in figures.weeks
        for sums in [week.figures]
    ]
    return "\n".join(_columns(head, rows, colour))


def trends_text(trends: MarkdownTrends, colour: bool, blocks: bool) -> str:
    if not trends.commits:
        return ""
    heights = _BLOCKS if blocks else _HEIGHTS
    lasting = "; more than half of all lines ever added are still there"
    if trends.half_life_days is not None:
        is_new = trends.commits == trends.weeks[-1].commits
        lasting = _half_life("lines", None if is_new else trends.half_life_days)
    charts = [
        (name, f"{total:,}", _heights([getattr(week, name) for week in trends.weeks], heights))
        for name, total in (
            ("lines", trends.lines),
            ("added", trends.added),
            ("removed", trends.removed),
            ("commits", trends.commits),
        )
    ]
    shown = trends.authors[:_MOST_AUTHORS]
    authors = [
        (
            author.last.isoformat(),
            f"{author.commits:,}",
            f"{author.added:,}",
            f"{author.removed:,}",
            one_line(author.name),
        )
        for author in shown
    ]
    files = [(f"{file.lines:,}", one_line(file.path)) for file in trends.largest]
    size = f"{number_of(trends.files, 'file')}, {number_of(trends.lines, 'line')}"
    more = len(trends.authors) - len(shown)
    weeks = _weeks_named([week.week for week in trends.weeks])
    return "\n".join(
        [
            f"{size}{lasting}",
            "",
            *_columns(("", "total", weeks), charts, colour),
            "",
            *_columns(("last", "commits", "added", "removed", "author"), authors, colour),
            *([dim(f"{number_of(more, 'more author')} (--json has all)", colour)] if more else []),
            *(["", *_columns(("lines", "largest files"), files, colour)] if files else []),
            *([] if trends.facts is None else ["", *_fact_lines(trends.facts, colour, heights)]),
        ]
    )


def _fact_lines(trends: FactTrends, colour: bool, heights: str) -> list[str]:
    weeks = {
        name: list(days) for name, days in groupby(trends.days, lambda day: week_name(day.day))
    }
    last = [days[-1] for days in weeks.values()]
    standing = [
        (name, f"{counts[-1]:,}", _heights(counts, heights))
        for name, attribute in (
            (Source.USER_STATED, "stated"),
            (Source.INFERRED, "inferred"),
            (Source.AUTO, "automatic"),
        )
        for counts in [[getattr(day, attribute) for day in last]]
    ]
    changes = [
        (name, f"{sum(counts):,}", _heights(counts, heights))
        for name in ("added", "replaced", "removed", "contradicted")
        for counts in [[sum(getattr(day, name) for day in days) for days in weeks.values()]]
    ]
    has_aged = bool(trends.survival) and trends.survival[-1][0] >= _SURVIVAL_DAYS[0]
    lasting = "; more than half of all curated facts ever added are still current"
    if trends.half_life_days is not None:
        lasting = _half_life("curated facts", trends.half_life_days if has_aged else None)
    kinds = [(f"{each.count:,}", one_line(each.kind) or "(none)") for each in trends.kinds]
    writers = [
        (f"{each.count:,}", f"{one_line(each.name)}{' (agent)' if each.is_agent else ''}")
        for each in trends.writers[:_MOST_AUTHORS]
    ]
    return [
        f"{number_of(trends.current, 'current fact')}{lasting}",
        *([_survival_line(trends)] if has_aged else []),
        "",
        *_columns(("facts", "total", _weeks_named(list(weeks))), [*standing, *changes], colour),
        *(["", *_columns(("facts", "kind"), kinds, colour)] if kinds else []),
        *(["", *_columns(("changes", "by"), writers, colour)] if writers else []),
        *_section_lines("changed most", trends.changed_most, colour),
        *_section_lines("untouched longest", trends.untouched, colour),
    ]


def _half_life(what: str, days: float | None) -> str:
    return "" if days is None else f"; half of all {what} last {days:,.1f} days or longer"


def _survival_line(trends: FactTrends) -> str:
    oldest = trends.survival[-1][0]
    shares = {
        days: min((share for age, share in trends.survival if age <= days), default=1.0)
        for days in _SURVIVAL_DAYS
        if days <= oldest
    }
    after = ", ".join(
        f"{share:.0%} after {number_of(days, 'day')}" for days, share in shares.items()
    )
    return f"still current: {after}"


def _section_lines(title: str, sections: Sequence[TrendSection], colour: bool) -> list[str]:
    rows = [
        (
            section.last.date().isoformat(),
            f"{section.count:,}",
            one_line(f"{section.path}: {join_path(section.section)}"),
        )
        for section in sections
    ]
    return ["", *_columns(("last", "versions", title), rows, colour)] if rows else []


def _weeks_named(weeks: Sequence[str]) -> str:
    return f"{weeks[0]} to {weeks[-1]}" if len(weeks) > 1 else weeks[0]


def notes(damaged: int, nothing: str = "") -> tuple[str, ...]:
    lost = (f"lines of the events that could not be read: {damaged}",) if damaged else ()
    return (*([nothing] if nothing else []), *lost)


def _bar(week: Week, most: int) -> str:
    # even one search without a hit shows
    return _share_bar(week.searches, week.without_hit or 0, most)


def _share_bar(count: int, without: float, most: int) -> str:
    size = -(-_BAR * count // most) if most else 0
    dots = -(-int(1000 * size * without) // 1000)
    return "#" * (size - dots) + "." * dots


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def drift_sentence(week: str, drift: Sequence[Drift]) -> str:
    return f"{week} drifts: {'; '.join(map(_drift, drift))}."


def _drift(drift: Drift) -> str:
    formatted = _share if drift.figure in _SHARES else lambda value: _number(value, 2)
    return (
        f"{_FIGURES[drift.figure]} is {formatted(drift.value)}; expected from the weeks before:"
        f" {formatted(drift.low)} to {formatted(drift.high)}"
    )


def _columns(head: Sequence[str], rows: Sequence[Sequence[str]], colour: bool) -> list[str]:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        first, *numbers, chart = cells
        right = (cell.rjust(width) for cell, width in zip(numbers, widths[1:-1], strict=True))
        return "  ".join([first.ljust(widths[0]), *right, chart]).rstrip()

    return [dim(line(head), colour), *map(line, rows)]
