"""Figures over weeks: pure functions over events, how they are shown, when something drifts."""

import random
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.events import Event, Outcome, Quality
from mdmem.health import stats
from mdmem.health.stats import Drift, Figures, SearchFigures, VerbFigures, Week
from mdmem.show import figures
from mdmem.show.values import to_json

TODAY = date(2026, 3, 5)  # a Thursday, in 2026-W10
NOON = datetime(2026, 3, 5, 12, tzinfo=UTC)


def event(
    verb: str = "log",
    ms: float = 10,
    outcome: Outcome = Outcome.DONE,
    weeks_ago: float = 0,
    **fields: Any,
) -> Event:
    return Event(
        verb=verb, ms=ms, outcome=outcome, time=NOON - timedelta(weeks=weeks_ago), **fields
    )


def search(hits: int = 5, weeks_ago: float = 0, **fields: Any) -> Event:
    return event("search", weeks_ago=weeks_ago, quality=Quality(words=3, hits=hits, **fields))


def searches(events: Sequence[Event], weeks: int = 12) -> SearchFigures:
    return stats.search_figures(events, 0, TODAY, UTC, weeks)


class TestFigures:
    def test_verbs(self):
        times = [event(ms=number, weeks_ago=1) for number in range(1, 101)]
        ends = [event("remember", 5, outcome) for outcome in Outcome]
        counted = stats.figures([*times, event(ms=200), *ends], 3, TODAY, UTC, 2)
        assert counted == Figures(
            ("2026-W09", "2026-W10"),
            (
                VerbFigures(
                    verb="log",
                    count=101,
                    median_ms=51,
                    p95_ms=96,
                    refused=0,
                    failed=0,
                    bugs=0,
                    weeks=(100, 1),
                ),
                VerbFigures(
                    verb="remember",
                    count=5,
                    median_ms=5,
                    p95_ms=5,
                    refused=1,
                    failed=1,
                    bugs=1,
                    weeks=(0, 5),
                ),
            ),
            3,
        )

    def test_the_most_frequent_first_then_by_name(self):
        counted = stats.figures([event("b"), event("c"), event("c"), event("a")], 0, TODAY, UTC, 1)
        assert [verb.verb for verb in counted.verbs] == ["c", "a", "b"]

    def test_nothing(self):
        assert stats.figures([], 0, TODAY, UTC, 12) == Figures((), (), 0)
        assert stats.figures([event(weeks_ago=12)], 0, TODAY, UTC, 12) == Figures((), (), 0)

    def test_weeks_begin_on_monday_in_the_user_s_zone(self):
        late = Event(
            verb="log", ms=1, outcome=Outcome.DONE, time=datetime(2026, 3, 1, 23, tzinfo=UTC)
        )
        assert stats.figures([late], 0, TODAY, UTC, 12).weeks == ("2026-W09", "2026-W10")
        assert stats.figures([late], 0, TODAY, timezone(timedelta(hours=2)), 12).weeks == (
            "2026-W10",
        )

    def test_a_year_that_begins_in_the_last_week_of_the_old_one(self):
        new_year = Event(
            verb="log", ms=1, outcome=Outcome.DONE, time=datetime(2027, 1, 1, tzinfo=UTC)
        )
        assert stats.figures([new_year], 0, date(2027, 1, 3), UTC, 1).weeks == ("2026-W53",)

    def test_what_is_of_a_later_week_is_left_out(self):
        assert stats.figures([event(weeks_ago=-1)], 0, TODAY, UTC, 12).verbs == ()


class TestSearches:
    def test_a_week(self):
        counted = searches(
            [
                search(0),
                search(8, first=9.0, spread=0.5, age=4),
                search(2, first=3.0, spread=0.1, age=10, behind=True),
                event("search", 40),
                event("search", 1, Outcome.REFUSED),
                event("log"),
            ]
        )
        assert counted.weeks == (
            Week(
                week="2026-W10",
                searches=4,
                without_hit=pytest.approx(1 / 3),
                median_ms=10,
                median_hits=2,
                median_first=6.0,
                median_spread=pytest.approx(0.3),
                median_age_days=7,
                behind=1,
            ),
        )

    def test_a_week_without_searches_is_a_week(self):
        first, empty, last = searches([search(weeks_ago=2), search()]).weeks
        assert (first.week, first.searches, last.week, last.searches) == (
            "2026-W08",
            1,
            "2026-W10",
            1,
        )
        assert empty == Week(week="2026-W09", searches=0)

    def test_the_last_weeks_only(self):
        assert [
            week.week for week in searches([search(weeks_ago=ago) for ago in range(20)], 3).weeks
        ] == [
            "2026-W08",
            "2026-W09",
            "2026-W10",
        ]

    def test_none(self):
        assert searches([event()]) == SearchFigures((), (), 0)


def weeks(*values: float, name: str = "median_first", count: int = 20) -> list[Week]:
    return [
        Week(week=f"2026-W{number:02}", searches=count, **{name: value})
        for number, value in enumerate(values, 1)
    ]


class TestDrift:
    def test_outside_of_what_the_weeks_before_let_expect(self):
        (drift,) = stats.drift(weeks(5.0, 5.2, 4.9, 5.1, 4.8, 5.0, 2.0))
        assert drift == Drift(
            "median_first", 2.0, pytest.approx(4.37, abs=0.02), pytest.approx(5.63, abs=0.02)
        )

    @pytest.mark.parametrize(
        "values",
        [
            (5.0, 5.2, 4.9, 5.1, 4.8, 5.0, 4.7),
            (5.0, 2.2, 8.9, 5.1, 1.8, 5.0, 9.0),
            (5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.4),
            (5.0, 5.2, 4.9, 5.1, 4.8, 2.0),
        ],
        ids=["within", "weeks that differ much", "by little", "too few weeks"],
    )
    def test_none(self, values: tuple[float, ...]):
        assert stats.drift(weeks(*values)) == ()

    def test_of_few_searches_nothing_is_said(self):
        earlier = weeks(5.0, 5.2, 4.9, 5.1, 4.8, 5.0)
        assert stats.drift([*earlier, *weeks(2.0)])
        assert not stats.drift([*earlier, *weeks(2.0, count=4)])
        assert not stats.drift([*weeks(5.0, 5.2, 4.9, 5.1, 4.8, 5.0, count=4), *weeks(2.0)])
        assert stats.drift([*earlier, Week(week="2026-W09", searches=0), *weeks(2.0)])

    @pytest.mark.parametrize(
        ("share", "count", "drifts"),
        [(0.2, 5, False), (0.2, 100, True), (0.02, 100, False), (1.0, 5, True)],
    )
    def test_a_share_is_judged_by_the_number_of_searches_too(
        self, share: float, count: int, drifts: bool
    ):
        newest = weeks(share, name="without_hit", count=count)
        assert bool(stats.drift([*weeks(*[0.0] * 8, name="without_hit"), *newest])) is drifts

    def test_limits_of_a_share_are_shares(self):
        (drift,) = stats.drift(weeks(0.95, 1.0, 0.9, 0.95, 1.0, 0.9, 0.1, name="without_hit"))
        assert drift.high == 1.0
        (drift,) = stats.drift(weeks(0.05, 0.0, 0.1, 0.05, 0.0, 0.1, 0.9, name="without_hit"))
        assert drift.low == 0.0

    @pytest.mark.parametrize(
        ("freedom", "expected"), [(5, 4.032), (7, 3.499), (10, 3.169), (30, 2.750)]
    )
    def test_student_s_t(self, freedom: int, expected: float):
        assert stats._student(freedom) == pytest.approx(expected, rel=0.01)

    def test_chance_alone_is_seldom_a_drift(self):
        chance = random.Random(7)
        drifts = [
            stats.drift(weeks(*(chance.gauss(50, 15) for _ in range(9)))) for _ in range(2000)
        ]
        assert sum(map(bool, drifts)) / len(drifts) < 0.02


FOUND = SearchFigures(
    (
        Week(
            week="2026-W08",
            searches=40,
            without_hit=0.0,
            median_ms=12.34,
            median_hits=8,
            median_first=7.5,
            median_spread=0.421,
            median_age_days=30.5,
        ),
        Week(week="2026-W09", searches=0),
        Week(
            week="2026-W10",
            searches=30,
            without_hit=0.5,
            median_ms=9.0,
            median_hits=0.5,
            median_first=3.0,
            median_spread=0.1,
            median_age_days=2,
            behind=1,
        ),
    ),
    (Drift("without_hit", 0.5, 0.0, 0.1234), Drift("median_spread", 0.1, 0.351, 0.502)),
    1,
)


WATCHED = [
    dict(zip(("searches", *stats._WATCHED), row, strict=True))
    for row in (
        (31, 0.06, 12.4, 6, 6.02, 0.44, 12),
        (24, 0.08, 12.1, 5, 5.71, 0.41, 15),
        (40, 0.05, 12.6, 6, 6.20, 0.45, 11),
        (28, 0.07, 12.2, 6, 5.88, 0.43, 14),
        (35, 0.06, 12.9, 5, 5.95, 0.42, 16),
        (22, 0.09, 12.3, 6, 6.11, 0.46, 13),
        (26, 0.35, 12.5, 4, 5.69, 0.41, 17),
    )
]


def test_the_tour_shows_what_is_shown():
    listed = tuple(
        Week(**{"week": f"2026-W{number:02}", **row}) for number, row in enumerate(WATCHED, 4)
    )
    shown = figures.searches_text(SearchFigures(listed, stats.drift(listed), 0), colour=False)
    tour = (Path(__file__).parents[1] / "docs/tour.md").read_text(encoding="utf-8")
    assert " ".join(shown.split()) in " ".join(tour.split())


class TestShown:
    def test_searches(self):
        assert figures.searches_text(FOUND, colour=False).splitlines() == [
            "week      searches  no hit    ms  hits  first  spread  age"
            "  #: found, .: nothing; full width: 40",
            "2026-W08        40      0%  12.3   8.0   7.50    0.42   30  ####################",
            "2026-W09         0       -     -     -      -       -    -",
            "2026-W10        30     50%   9.0   0.5   3.00    0.10    2  #######........",
            "2026-W10 drifts: the share of searches without a hit is 50%; expected from the weeks before: 0% to 12%; "
            "the spread of the scores is 0.10; expected from the weeks before: 0.35 to 0.50.",
        ]

    def test_searches_for_a_program(self):
        value = to_json(FOUND)
        assert value["weeks"][0] == {
            **{
                "week": "2026-W08",
                "searches": 40,
                "without_hit": 0.0,
                "median_ms": 12.34,
                "median_hits": 8,
                "median_first": 7.5,
            },
            **{"median_spread": 0.421, "median_age_days": 30.5, "behind": 0},
        }
        assert value["weeks"][1]["without_hit"] is None
        assert value["drift"][0] == {
            "figure": "without_hit",
            "value": 0.5,
            "low": 0.0,
            "high": 0.123,
        }
        assert value["damaged"] == 1

    def test_every_figure_that_can_drift_has_its_words(self):
        assert set(figures._FIGURES) == {*stats._WATCHED, *stats._WATCHED_CONTEXT}

    def test_verbs(self):
        counted = Figures(
            ("2026-W08", "2026-W09", "2026-W10"),
            (
                VerbFigures(
                    verb="search",
                    count=1200,
                    median_ms=12.3,
                    p95_ms=1234.5,
                    refused=2,
                    failed=0,
                    bugs=0,
                    weeks=(600, 0, 6),
                ),
                VerbFigures(
                    verb="lo\x1bg",
                    count=3,
                    median_ms=40.0,
                    p95_ms=41.0,
                    refused=0,
                    failed=1,
                    bugs=2,
                    weeks=(1, 2, 0),
                ),
            ),
            0,
        )
        assert figures.figures_text(counted, colour=False).splitlines() == [
            "command  count  median ms  p95 ms  refused  failed  bugs  by week",
            "search    1200         12   1,234        2       -     -  #.:",
            "lo\ufffdg         3         40      41        -       1     2  =#.",
            "Most recent week: 2026-W10. One character per week: . = none, # = most.",
        ]
        assert to_json(counted)["verbs"][0] == {
            **{
                "verb": "search",
                "count": 1200,
                "median_ms": 12.3,
                "p95_ms": 1234.5,
                "refused": 2,
                "failed": 0,
                "bugs": 0,
            },
            "weeks": [600, 0, 6],
        }

    def test_nothing(self):
        assert figures.figures_text(Figures((), (), 0), colour=True) == ""
        assert figures.searches_text(SearchFigures((), (), 0), colour=True) == ""
        assert figures.notes(0) == ()
        assert figures.notes(2, "nothing") == (
            "nothing",
            "lines of the events that could not be read: 2",
        )

    @given(st.lists(st.tuples(st.integers(0, 500), st.floats(0, 1)), min_size=1, max_size=12))
    def test_bars_are_ascii_of_one_width_and_hide_nothing(self, rows: list[tuple[int, float]]):
        listed = [
            Week(
                week="2026-W01",
                searches=searches,
                without_hit=round(share * searches) / searches if searches else None,
            )
            for searches, share in rows
        ]
        most = max(week.searches for week in listed)
        for week in listed:
            bar = figures._bar(week, most)
            assert bar.isascii()
            assert len(bar) <= 20
            assert bool(bar) is bool(week.searches)
            assert ("." in bar) is bool(week.without_hit)
