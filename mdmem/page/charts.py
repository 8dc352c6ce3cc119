"""Charts as SVG: coloured by class, named by their figures, without script or style.

Shapes are stretched to the available width; labels are not, since they are text beside the SVG.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from itertools import pairwise

from markupsafe import Markup

from mdmem.model.errors import number_of
from mdmem.model.history import ActiveDay, FactDay
from mdmem.page.pages import Links
from mdmem.show.reviews import visible
from mdmem.startup.records import dataclass

WIDTH, HEIGHT = 736, 52
_SMALL = 160, 24
_GAP = 2
_MANY_LABELS = 8
"""Above this number, two labels are written between the first and the last."""


@dataclass(frozen=True, slots=True)
class Series:
    """One value for each point; the colour depends on the position among the series."""

    name: str
    values: Sequence[int]


def bars_by_day(shown: Sequence[ActiveDay], links: Links) -> Markup:
    series = [
        Series("by people", [each.people for each in shown]),
        Series("by agents", [each.agents for each in shown]),
    ]
    people, agents = (sum(each.values) for each in series)
    days = number_of(len(shown), "day")
    return bars(
        f"Changes per day: {people} by people, {agents} by agents in {days}",
        [short_day(each.day) for each in shown],
        series,
        address=lambda number: links.day(shown[number].day),
        is_last_now=True,
    )


def since_first(days: Sequence[FactDay]) -> Sequence[FactDay]:
    """The days without those before the first fact; the last day where there is none."""
    begun = (
        number
        for number, day in enumerate(days)
        if day.people or day.agents or day.stated or day.inferred or day.automatic
    )
    return days[next(begun, len(days) - 1) :]


def short_day(day: date) -> str:
    return f"{day.day} {day:%b}"


def bars(
    name: str,
    labels: Sequence[str],
    series: Sequence[Series],
    below: Series | None = None,
    address: Callable[[int], str] | None = None,
    *,
    height: int = HEIGHT,
    is_last_now: bool = False,
) -> Markup:
    """Stacked bars, the first series lowest, and those of `below` under the line.

    `name` is for screen readers: the subject and its figures. Of `labels`, one for each bar, the
    first, the last and up to two between are written. `address` makes a bar a link, unless it is
    empty; `is_last_now` marks the last bar.
    """
    totals = [sum(values) for values in zip(*(each.values for each in series), strict=True)]
    scale = height / max((1, *totals))
    under = scale * max((0, *below.values)) if below else 0
    step = WIDTH / max(1, len(labels))
    counted = (*series, below) if below else tuple(series)
    has_links, drawn = False, []
    for number, label in enumerate(labels):
        counts = [(each.name, each.values[number]) for each in counted]
        shown = visible(f"{label}: " + ", ".join(f"{count} {word}" for word, count in counts))
        x, width = number * step, step - _GAP
        parts = Markup("<title>{}</title>").format(shown)
        parts += _rectangle("hit", x, 0, step, height + under)
        top = float(height)
        for place, (_, count) in enumerate(counts[: len(series)]):
            top -= count * scale
            parts += _rectangle(f"s{place}", x, top, width, count * scale)
        if below:
            parts += _rectangle("s3", x, height + 1, width, below.values[number] * scale)
        mark = " now" if is_last_now and number == len(labels) - 1 else ""
        bar = Markup('<g class="bar{}">{}</g>').format(mark, parts)
        if address and (where := address(number)):
            bar = Markup('<a href="{}" aria-label="{}">{}</a>').format(where, shown, bar)
            has_links = True
        drawn.append(bar)
    names = [
        *((f"s{place}", each.name) for place, each in enumerate(series)),
        *([("s3", below.name)] if below else []),
    ]
    picture = _picture(name, drawn, height + under + bool(below), has_links=has_links)
    return _figure(picture, axis(labels), legend(names))


def areas(name: str, labels: Sequence[str], series: Sequence[Series]) -> Markup:
    """Stacked areas, the first series lowest."""
    height = 160
    levels: list[Sequence[int]] = [[0] * len(labels)]
    for each in series:
        levels.append([low + value for low, value in zip(levels[-1], each.values, strict=True)])
    scale = height / max((1, *levels[-1]))
    edges = [_points(each, height, scale) for each in levels]
    drawn = [
        Markup('<polygon class="s{}" points="{}"/>').format(place, " ".join([*high, *low[::-1]]))
        for place, (low, high) in enumerate(pairwise(edges))
    ]
    names = [(f"s{place}", each.name) for place, each in enumerate(series)]
    picture = _peak(f"{max((0, *levels[-1])):,}") + _picture(name, drawn, height)
    return _figure(picture, axis(labels), legend(names))


def steps(name: str, points: Sequence[tuple[float, float]]) -> Markup:
    """A share that falls from 1; each point is an age in days and the share from then on."""
    height = 120
    longest = max((1.0, *(age for age, _ in points)))
    corners = [f"0,{_n(0)}"]
    before = 1.0
    for age, share in points:
        x = _n(age / longest * WIDTH)
        corners += [f"{x},{_n(height * (1 - before))}", f"{x},{_n(height * (1 - share))}"]
        before = share
    corners.append(f"{WIDTH},{_n(height * (1 - before))}")
    drawn = Markup('<line class="base" x1="0" x2="{0}" y1="{1}" y2="{1}"/>').format(WIDTH, height)
    drawn += Markup('<polyline class="line" points="{}"/>').format(" ".join(corners))
    picture = _peak("100%") + _picture(name, [drawn], height)
    return _figure(picture, axis(("new", number_of(round(longest), "day"))))


def room(name: str, used: int, most: int) -> Markup:
    """The used part of a budget, with any excess in another colour."""
    whole = max(used, most, 1)
    parts = [
        _rectangle("s2", 0, 0, WIDTH, 12),
        _rectangle("s0", 0, 0, min(used, most) / whole * WIDTH, 12),
        _rectangle("s3", most / whole * WIDTH, 0, max(0, used - most) / whole * WIDTH, 12),
    ]
    return _figure(_picture(name, parts, 12))


def small_bars(name: str, values: Sequence[int]) -> Markup:
    width, height = _SMALL
    scale, step = height / max((1, *values)), width / max(1, len(values))
    drawn = [
        _rectangle("s0", number * step, height - value * scale, step - 1, value * scale)
        for number, value in enumerate(values)
    ]
    return _figure(_picture(name, drawn, height, width=width))


def small_line(name: str, values: Sequence[float]) -> Markup:
    width, height = _SMALL
    points = _points(values, height - 1, (height - 2) / max((1.0, *values)), width)
    drawn = Markup('<polyline class="line" points="{}"/>').format(" ".join(points))
    return _figure(_picture(name, [drawn], height, width=width))


@dataclass(frozen=True, slots=True)
class Period:
    """A bar on a time line; `start` and `end` are shares of its length, from 0 to 1."""

    label: str
    start: float
    end: float
    is_contradicting: bool = False


def periods(name: str, rows: Sequence[Period], ends: tuple[str, str]) -> Markup:
    tall = 22
    drawn = []
    for number, row in enumerate(rows):
        mark = " contradicting" if row.is_contradicting else " now" if row.end >= 1 else ""
        width = max(3.0, (row.end - row.start) * WIDTH)
        bar = _rectangle("", min(row.start * WIDTH, WIDTH - 3), number * tall + 4, width, tall - 8)
        title = visible(row.label)
        drawn.append(Markup('<g class="period{}"><title>{}</title>{}</g>').format(mark, title, bar))
    return _figure(_picture(name, drawn, tall * len(rows)), axis(ends))


def axis(labels: Sequence[str]) -> Markup:
    """The first label, the last, and two between them if there are many."""
    last = len(labels) - 1
    places = {0, last // 3, 2 * last // 3, last} if last >= _MANY_LABELS else {0, last}
    shown = Markup("").join(
        Markup("<span>{}</span>").format(labels[place]) for place in sorted(places) if labels
    )
    return Markup('<div class="axis" aria-hidden="true">{}</div>').format(shown)


def legend(names: Sequence[tuple[str, str]]) -> Markup:
    """The name of each colour, by its class; empty for a single one."""
    if len(names) < 2:
        return Markup("")
    shown = Markup("").join(
        Markup('<span><i class="{}"></i>{}</span>').format(colour, word) for colour, word in names
    )
    return Markup('<p class="legend">{}</p>').format(shown)


def _points(values: Sequence[float], height: float, scale: float, width: int = WIDTH) -> list[str]:
    step = width / max(1, len(values) - 1)
    # One value alone is a level, not a point that nobody sees.
    level = [*values, *values[:1]] if len(values) == 1 else values
    return [
        f"{_n(number * (width if len(values) == 1 else step))},{_n(height - value * scale)}"
        for number, value in enumerate(level)
    ]


def _rectangle(colour: str, x: float, y: float, width: float, height: float) -> Markup:
    if not (width and height):
        return Markup("")
    attribute = Markup(' class="{}"').format(colour) if colour else ""
    return Markup('<rect{} x="{}" y="{}" width="{}" height="{}"/>').format(
        attribute, _n(x), _n(y), _n(width), _n(height)
    )


def _picture(
    name: str,
    parts: Sequence[Markup],
    height: float,
    width: int = WIDTH,
    *,
    has_links: bool = False,
) -> Markup:
    # An image hides its links from readers, so that a chart with links is a group.
    return Markup(
        '<svg role="{}" aria-label="{}" viewBox="0 0 {} {}" height="{}" preserveAspectRatio="none">'
        "{}</svg>"
    ).format(
        "group" if has_links else "img",
        visible(name),
        width,
        _n(height),
        _n(height),
        Markup("").join(parts),
    )


def _peak(words: str) -> Markup:
    return Markup('<p class="peak" aria-hidden="true">{}</p>').format(words)


def _figure(picture: Markup, axis: Markup | str = "", legend: Markup | str = "") -> Markup:
    return Markup('<div class="chart">{}{}{}</div>').format(picture, axis, legend)


def _n(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".") or "0"
