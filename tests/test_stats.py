"""Figures over weeks: when something drifts, and what is counted."""

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.events import Event, Outcome
from mdmem.health import stats
from mdmem.health.stats import Drift, SearchFigures, Week
from mdmem.show import figures


def test_what_is_of_a_later_week_is_left_out():
    noon = datetime(2026, 3, 5, 12, tzinfo=UTC)
    late = Event(verb="log", ms=10, outcome=Outcome.DONE, time=noon + timedelta(weeks=1))
    assert stats.figures([late], 0, noon.date(), UTC, 12).verbs == ()


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
    def test_every_figure_that_can_drift_has_its_words(self):
        assert set(figures._FIGURES) == {*stats._WATCHED, *stats._WATCHED_CONTEXT}

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
