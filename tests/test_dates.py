"""Dates and times: in ISO form, and in words of several languages."""

import re
import sys
import time
from datetime import date, datetime
from pathlib import Path

import pytest
from conftest import World
from workspaces import Desk, desk

from mdmem.lookup import dates
from mdmem.model.errors import MdmemError


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", "2026-11-22T12:00:00")  # a Sunday
    return desk(world, repository)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2026-03-01", "2026-03-01", "2026-03-01"),
        (" 2026-03-01T23:30 ", "2026-03-01", "2026-03-01"),
        ("2026-03-01T23:30:00+00:00", "2026-03-01", "2026-03-01"),
        ("2026-02", "2026-02-01", "2026-02-28"),
        ("2025", "2025-01-01", "2025-12-31"),
        ("2026-W10", "2026-03-02", "2026-03-08"),
        ("2026-W10-3", "2026-03-04", "2026-03-04"),
        ("yesterday", "2026-11-21", "2026-11-21"),
        ("last Tuesday", "2026-11-17", "2026-11-17"),
        ("last March", "2026-03-01", "2026-03-31"),
        ("March", "2026-03-01", "2026-03-31"),
        ("March 2025", "2025-03-01", "2025-03-31"),
        ("1 March", "2026-03-01", "2026-03-01"),
        ("June 25", "2026-06-25", "2026-06-25"),
        ("12 May 25", "2025-05-12", "2025-05-12"),
        ("June 1945", "1945-06-01", "1945-06-30"),
        ("June '99", "1999-06-01", "1999-06-30"),
        ("45 days ago", "2026-10-08", "2026-10-08"),
        ("26 years ago", "2000-11-22", "2000-11-22"),
        ("13 years ago", "2013-11-22", "2013-11-22"),
        ("24 months ago", "2024-11-22", "2024-11-22"),
        ("13y ago", "2013-11-22", "2013-11-22"),
        ("vor 13 Jahren", "2013-11-22", "2013-11-22"),
        ("il y a 24 mois", "2024-11-22", "2024-11-22"),
        ("12 May 25 at 10:30", "2025-05-12", "2025-05-12"),
        ("Dec 24 10:25", "2025-12-24", "2025-12-24"),
        ("Friday at 10 pm", "2026-11-20", "2026-11-20"),
        ("last week", "2026-11-09", "2026-11-15"),
        ("last month", "2026-10-01", "2026-10-31"),
        ("last year", "2025-01-01", "2025-12-31"),
        ("2 weeks ago", "2026-11-08", "2026-11-08"),
        ("gestern", "2026-11-21", "2026-11-21"),
        ("昨天", "2026-11-21", "2026-11-21"),
    ],
)
def test_the_days_that_a_text_means(at: Desk, text: str, first: str, last: str) -> None:
    workspace = at.workspace
    assert dates.days_asked(workspace, text, text) == (
        date.fromisoformat(first),
        date.fromisoformat(last),
    )


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-11-20", "2026-11-20"),
        ("2026-02", "2026-02-28"),
        ("today", "2026-11-22"),
        ("tomorrow", "2026-11-23"),
        ("friday", "2026-11-27"),
        ("next friday", "2026-11-27"),
        ("until Friday", "2026-11-27"),
        ("in 3 days", "2026-11-25"),
        ("2 weeks", "2026-12-06"),
        ("next week", "2026-11-29"),
        ("November", "2026-11-30"),
        ("June", "2027-06-30"),
        ("22 November", "2026-11-22"),
        ("12 May", "2027-05-12"),
        ("next year", "2027-12-31"),
        ("yesterday", "2026-11-21"),
    ],
)
def test_a_day_to_come(at: Desk, text: str, day: str) -> None:
    assert dates.last_day_to_come(at.workspace, text, "until").isoformat() == day


def test_a_day_that_is_past_is_one(at: Desk) -> None:
    assert dates.past_day(at.workspace, "friday", "day") == date(2026, 11, 20)
    assert dates.past_day(at.workspace, "2026-11-01T10:00", "day") == date(2026, 11, 1)
    for several in ("last week", "2026-11", "March"):
        with pytest.raises(MdmemError) as failure:
            dates.past_day(at.workspace, several, "day")
        assert failure.value.code == "usage"


@pytest.mark.parametrize(
    ("text", "date_meant"),
    [
        ("31.12.2025", "2025-12-31"),
        ("13/06/2026", "2026-06-13"),
        ("06/13/2026", "2026-06-13"),
        ("2026/13/06", "2026-06-13"),
        ("6/6/2026", "2026-06-06"),
        ("24.12.", "2026-12-24"),
        ("29/02/2025", "2026-11-21"),
    ],
)
def test_digits_that_are_one_date_are_refused_with_it(at: Desk, text: str, date_meant: str) -> None:
    with pytest.raises(MdmemError) as failure:
        dates.past_day(at.workspace, text, "since")
    assert failure.value.code == "ambiguous-date"
    assert failure.value.message.endswith(f": {text!r} is not in the form YYYY-MM-DD")
    assert failure.value.hint == f"Write it as {date_meant}."


@pytest.mark.parametrize(
    "text",
    ["03/04/2026", "3.4.2026", "3/4", "on 3.4.", "2026/03/04", "12.5", "31.12.25", "0/5/6"],
)
def test_digits_that_could_be_two_dates_are_refused(at: Desk, text: str) -> None:
    workspace = at.workspace
    for read in (
        lambda: dates.days_asked(workspace, text, None),
        lambda: dates.days_asked(workspace, None, text),
        lambda: dates.past_day(workspace, text, "since"),
        lambda: dates.last_day_to_come(workspace, text, "since"),
    ):
        with pytest.raises(MdmemError) as failure:
            read()
        assert (failure.value.code, failure.value.exit_status) == ("ambiguous-date", 2)
        assert re.match("(since|until): '.*' could be two dates$", str(failure.value))


@pytest.mark.parametrize(
    "text",
    [
        "2026-13",
        "2026-02-30",
        "2026-1-1",
        "2026-01-01T99",
        "0000",
        "no such day",
        "32 June",
        "40 november",
        "June 45",
        "June 45 at 10:30",
        "31 Nov 10:30",
        "32. Juni",
        "the 32nd",
        "2",
        " 31. ",
        "-3",
        "#2",
        "٢",
        "2nd",
        "the 3rd",
        "31 February",
        "13/45/2026",
        "2026/13/45",
        "30.2.2026",
        "99/99",
        "13/2026",
        "06/2026",
        "2026/06",
        "2026-W54",
        "2026-W1",
        "",
        "   ",
        "\0",
        "🦓" * 50,
    ],
)
def test_a_text_that_means_no_day_is_refused(at: Desk, text: str) -> None:
    for read in (
        lambda: dates.days_asked(at.workspace, text, None),
        lambda: dates.past_day(at.workspace, text, "date"),
        lambda: dates.last_day_to_come(at.workspace, text, "until"),
    ):
        with pytest.raises(MdmemError) as failure:
            read()
        assert (failure.value.code, failure.value.exit_status) == ("usage", 2)


def test_a_day_ends_with_its_last_second_in_the_user_s_zone(at: Desk) -> None:
    at.write("mdmem.toml", 'timezone = "Asia/Tokyo"\n')
    workspace = at.workspace
    span = dates.parse_iso(workspace, "2026-03-01", "as_of")
    assert span is not None
    assert dates.end_of_span(workspace, span) == (1772377199, date(2026, 3, 1))


def test_a_moment_is_itself(at: Desk) -> None:
    span = dates.parse_iso(at.workspace, "2026-03-01T12:00:00+02:00", "as_of")
    assert span is not None
    assert dates.end_of_span(at.workspace, span)[0] == 1772359200
    span_of_words = dates.parse_words(at.workspace, "2 hours ago", "as_of")
    assert span_of_words is not None
    assert span_of_words.moment is not None
    assert span_of_words.moment.isoformat() == "2026-11-22T10:00:00+00:00"


def test_iso_dates_load_no_words(world: World, at: Desk) -> None:
    code = (
        "import os, sys; from pathlib import Path; from mdmem.lookup import dates; from mdmem.workspace import open_at\n"
        "dates.days_asked(open_at(Path('.').resolve(), os.environ), '2026-03-01', None); print('dateparser' in sys.modules)"
    )
    assert world.run(at.root, [sys.executable, "-c", code]).stdout == "False\n"


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/New_York"])
def test_the_first_day_and_the_last_have_seconds(
    zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    moments = datetime.min, datetime.max
    first, last = (dates.seconds_of(moment) for moment in moments)
    monkeypatch.undo()
    time.tzset()
    assert first < 0 < last
