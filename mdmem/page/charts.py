"""Charts as SVG: coloured by class, named by their figures, with no script and no style of theirs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markupsafe import Markup, escape

from mdmem.startup.records import dataclass

WIDTH, HEIGHT = 736, 52
_GAP = 2
_AXIS = 18
"""Height of the line of labels under a chart."""


@dataclass(frozen=True, slots=True)
class Series:
    """One value for each point, with its word; its colour is that of its place among others."""

    name: str
    values: Sequence[int]


def bars(
    name: str,
    labels: Sequence[str],
    series: Sequence[Series],
    address: Callable[[int], str] | None = None,
    height: int = HEIGHT,
) -> Markup:
    """Stacked bars, the first series below; `address` makes each a link.

    Args:
        name: what a reader hears: what it shows, and its figures.
        labels: one for each bar; the first, the last and those between are written as they fit.
    """
    totals = [sum(values) for values in zip(*(each.values for each in series), strict=True)]
    most, step = max((1, *totals)), WIDTH / max(1, len(labels))
    drawn = []
    for number, label in enumerate(labels):
        counts = [each.values[number] for each in series]
        parts = _stack(counts, number * step, step - _GAP, height, most)
        shown = ", ".join(
            f"{count} {each.name}" for count, each in zip(counts, series, strict=True)
        )
        title = Markup("<title>{}: {}</title>").format(label, shown)
        group = Markup(
            '<g class="bar">{}<rect class="hit" x="{}" y="0" width="{}" height="{}"/>{}</g>'
        )
        bar = group.format(title, _n(number * step), _n(step), height, parts)
        if address and (where := address(number)):
            bar = Markup('<a href="{}" aria-label="{}: {}">{}</a>').format(where, label, shown, bar)
        drawn.append(bar)
    return _figure(name, [*drawn, *_axis(labels, height)], height + _AXIS, bool(address))


def _stack(counts: Sequence[int], x: float, width: float, height: int, most: int) -> Markup:
    drawn, top = Markup(""), float(height)
    for number, count in enumerate(counts):
        tall = height * count / most
        top -= tall
        if count:
            drawn += Markup('<rect class="s{}" x="{}" y="{}" width="{}" height="{}"/>').format(
                number, _n(x), _n(top), _n(width), _n(tall)
            )
    return drawn


def areas(name: str, labels: Sequence[str], series: Sequence[Series], height: int = 160) -> Markup:
    """Stacked areas, the first series below."""
    below = [0] * len(labels)
    stacked = []
    for each in series:
        above = [low + value for low, value in zip(below, each.values, strict=True)]
        stacked.append((below, above))
        below = above
    most, step = max((1, *below)), WIDTH / max(1, len(labels) - 1)

    def point(number: int, value: int) -> str:
        return f"{_n(number * step)},{_n(height - height * value / most)}"

    drawn = [
        Markup('<polygon class="s{}" points="{}"/>').format(
            place,
            " ".join(
                [
                    *(point(number, value) for number, value in enumerate(high)),
                    *(point(number, low[number]) for number in reversed(range(len(low)))),
                ]
            ),
        )
        for place, (low, high) in enumerate(stacked)
    ]
    return _figure(name, [*drawn, *_axis(labels, height)], height + _AXIS)


def line(name: str, values: Sequence[float], width: int = 160, height: int = 24) -> Markup:
    """A small line without axes."""
    most, step = max((1.0, *values)), width / max(1, len(values) - 1)
    points = " ".join(
        f"{_n(number * step)},{_n(height - height * value / most)}"
        for number, value in enumerate(values)
    )
    drawn = Markup('<polyline class="line" points="{}"/>').format(points)
    return _figure(name, [drawn], height, width=width)


@dataclass(frozen=True, slots=True)
class Period:
    """A bar on a line of time: from and to are shares of its length, from 0 to 1."""

    label: str
    start: float
    end: float
    is_contradicting: bool = False


def periods(name: str, rows: Sequence[Period], ends: tuple[str, str]) -> Markup:
    """A bar a row on a line of time; what contradicts is dashed."""
    tall = 22
    drawn = [
        Markup(
            '<g class="period{}"><title>{}</title><rect x="{}" y="{}" width="{}" height="{}"/></g>'
        ).format(
            " contradicting" if row.is_contradicting else "",
            row.label,
            _n(row.start * WIDTH),
            number * tall + 4,
            _n(max(3.0, (row.end - row.start) * WIDTH)),
            tall - 8,
        )
        for number, row in enumerate(rows)
    ]
    height = tall * len(rows)
    return _figure(name, [*drawn, *_axis(ends, height)], height + _AXIS)


def _axis(labels: Sequence[str], height: int) -> list[Markup]:
    """The first label, the last, and two between them where there is room."""
    count = len(labels)
    places = sorted({0, count // 3, 2 * count // 3, count - 1}) if count > 8 else [0, count - 1]
    anchors = {places[0]: "start", places[-1]: "end"} if count else {}
    step = WIDTH / max(1, count)
    return [
        Markup('<text x="{}" y="{}" text-anchor="{}">{}</text>').format(
            _n(WIDTH if place == count - 1 and count > 1 else place * step),
            height + _AXIS - 4,
            anchors.get(place, "middle"),
            labels[place],
        )
        for place in dict.fromkeys(places)
        if count
    ]


def _figure(
    name: str, parts: Sequence[Markup], height: int, has_links: bool = False, width: int = WIDTH
) -> Markup:
    # An image hides its links from readers, so that a chart with links is a group.
    role = "group" if has_links else "img"
    return Markup('<svg role="{}" aria-label="{}" viewBox="0 0 {} {}">{}</svg>').format(
        role, escape(name), width, height, Markup("").join(parts)
    )


def _n(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")
