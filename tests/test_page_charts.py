"""Charts: shapes, labels and links, with hostile words in them."""

from collections.abc import Sequence
from datetime import date, timedelta
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st

from mdmem.model.history import ActiveDay, FactDay
from mdmem.page import charts
from mdmem.page.charts import Period, Series
from mdmem.page.pages import Links

HOSTILE = "<script>alert('1')</script>\" onload=\"x"
LAST = date(2026, 3, 5)


class NoDays(Links):
    """Addresses of an export without the pages of days."""

    def day(self, day: object) -> str:
        return ""


def day(number: int, stated: int = 0) -> FactDay:
    return FactDay(
        day=LAST - timedelta(days=number),
        added=stated,
        replaced=0,
        removed=0,
        people=stated,
        agents=0,
        stated=stated,
        inferred=0,
        automatic=0,
    )


def parsed(chart: str) -> Element:
    return ElementTree.fromstring(chart)


def picture(chart: str) -> Element:
    found = parsed(chart).find("svg")
    assert found is not None
    return found


def classes(chart: str) -> list[str]:
    return [shape.get("class", "") for shape in picture(chart).iter("rect")]


def sizes(chart: str, colour: str) -> list[float]:
    shapes = picture(chart).iter("rect")
    return [float(shape.get("height", 0)) for shape in shapes if shape.get("class") == colour]


ALL = {
    "bars": charts.bars(HOSTILE, [HOSTILE], [Series(HOSTILE, [1])], Series(HOSTILE, [2])),
    "linked bars": charts.bars(HOSTILE, ["a"], [Series("b", [1])], address=lambda _: HOSTILE),
    "areas": charts.areas(HOSTILE, [HOSTILE], [Series(HOSTILE, [1]), Series(HOSTILE, [2])]),
    "steps": charts.steps(HOSTILE, [(1.5, 0.5)]),
    "room": charts.room(HOSTILE, 3, 2),
    "small bars": charts.small_bars(HOSTILE, [1, 0]),
    "small line": charts.small_line(HOSTILE, [1]),
    "periods": charts.periods(HOSTILE, [Period(HOSTILE, 0, 1)], (HOSTILE, HOSTILE)),
    "nothing": charts.bars(HOSTILE, [], []),
}


@pytest.mark.parametrize("chart", ALL.values(), ids=ALL)
def test_hostile_words_are_words(chart: str) -> None:
    elements = list(parsed(chart).iter())
    assert not {"script", "style"} & {each.tag for each in elements}
    names = {name for each in elements for name in each.attrib}
    assert not any(name == "style" or name.startswith("on") for name in names)
    assert picture(chart).get("aria-label") in (HOSTILE, "a")


def test_a_chart_is_an_image_and_one_with_links_a_group_of_them() -> None:
    assert picture(ALL["areas"]).get("role") == "img"
    linked = picture(ALL["linked bars"])
    assert linked.get("role") == "group"
    assert [(link.get("href"), link.get("aria-label")) for link in linked.iter("a")] == [
        (HOSTILE, "a: 1 b")
    ]


def test_bars_are_stacked_by_what_they_count() -> None:
    chart = charts.bars(
        "x", ["Mon", "Tue"], [Series("new", [6, 2]), Series("old", [2, 0])], height=80
    )
    assert sizes(chart, "s0") == [60, 20]
    assert sizes(chart, "s1") == [20]
    titles = [title.text for title in picture(chart).iter("title")]
    assert titles == ["Mon: 6 new, 2 old", "Tue: 2 new, 0 old"]


def test_what_is_gone_hangs_below_the_line() -> None:
    chart = charts.bars("x", ["Mon"], [Series("new", [4])], Series("gone", [2]), height=80)
    shapes = {shape.get("class"): shape for shape in picture(chart).iter("rect")}
    assert float(shapes["s3"].get("y", 0)) > 80
    assert shapes["s3"].get("height") == "40"
    legend = parsed(chart).findall("p[@class='legend']/span")
    assert ["".join(each.itertext()) for each in legend] == ["new", "gone"]


def test_bars_by_day_link_to_days() -> None:
    made = ((2, 3, 0), (1, 0, 0), (0, 0, 1))
    days = [ActiveDay(LAST - timedelta(days=back), *counts) for back, *counts in made]
    chart = charts.bars_by_day(days, Links())
    links = [link.get("href") for link in picture(chart).iter("a")]
    assert links == ["/day/2026-03-03", "/day/2026-03-04", "/day/2026-03-05"]
    assert picture(chart).get("aria-label") == (
        "Changes per day: 3 by people, 1 by agents in 3 days"
    )
    assert [each.get("class") for each in picture(chart).iter("g")] == ["bar", "bar", "bar now"]
    assert picture(charts.bars_by_day(days, NoDays())).get("role") == "img"


def test_a_memory_without_facts_has_today_alone() -> None:
    assert charts.since_first([day(1), day(0)]) == [day(0)]


def test_facts_that_were_there_before_begin_a_chart() -> None:
    assert len(charts.since_first([day(2, stated=1), day(1), day(0)])) == 3


@pytest.mark.parametrize(
    ("labels", "shown"),
    [
        ([], []),
        (["a"], ["a"]),
        (["a", "b", "c"], ["a", "c"]),
        ([str(number) for number in range(10)], ["0", "3", "6", "9"]),
    ],
)
def test_an_axis_has_the_ends_and_what_fits_between(
    labels: Sequence[str], shown: Sequence[str]
) -> None:
    assert [each.text for each in parsed(charts.axis(labels))] == shown


def test_a_period_that_lasts_is_marked_and_one_that_contradicts_is_dashed() -> None:
    rows = [Period("a", 0, 0.5), Period("b", 0.5, 1), Period("c", 0.9, 1, is_contradicting=True)]
    groups = list(picture(charts.periods("x", rows, ("4 Feb", "now"))).iter("g"))
    assert [each.get("class") for each in groups] == [
        "period",
        "period now",
        "period contradicting",
    ]


def test_what_is_over_a_budget_has_another_colour() -> None:
    assert classes(charts.room("x", 1, 2)) == ["s2", "s0"]
    assert classes(charts.room("x", 3, 2)) == ["s2", "s0", "s3"]


@pytest.mark.costly
@examples(50)
@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=50),
    st.lists(st.floats(0, 1), max_size=50),
)
def test_shapes_stay_within_their_picture(
    counts: list[tuple[int, int]], shares: list[float]
) -> None:
    series = [
        Series("a", [first for first, _ in counts]),
        Series("b", [second for _, second in counts]),
    ]
    labels = [str(number) for number in range(len(counts))]
    for chart in (
        charts.bars("x", labels, series[:1], series[1]),
        charts.bars("x", labels, series),
        charts.areas("x", labels, series),
        charts.small_line("x", series[0].values),
        charts.steps("x", [(float(age), share) for age, share in enumerate(shares)]),
    ):
        _, _, width, height = map(float, picture(chart).get("viewBox", "").split())
        for shape in picture(chart).iter():
            for point in shape.get("points", "").split():
                x, y = map(float, point.split(","))
                assert -0.1 <= x <= width + 0.1
                assert -0.1 <= y <= height + 0.1
            if shape.tag == "rect":
                bottom = float(shape.get("y", 0)) + float(shape.get("height", 0))
                assert -0.1 <= float(shape.get("y", 0)) <= bottom <= height + 1.2
