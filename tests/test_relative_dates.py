"""Relative dates in sentences as people say them: each with the day that it means from the day on
which it was said.
"""

import re
from datetime import date

import pytest

from mdmem.sessions.sentences import annotate_dates

_MEANING = re.compile(r" \(\d{4}[^)]*\)")
SAID: dict[str, tuple[str, ...]] = {
    # A Wednesday.
    "2026-03-04": (
        "We went to the lake yesterday (2026-03-03), and it rained.",
        "Yesterday's (2026-03-03) dinner was too much.",
        "Yesterday (2026-03-03) I finally sold the boat.",
        "I slept badly last night (2026-03-03).",
        "The plumber came the day before yesterday (2026-03-02).",
        "The fuse blew the night before last (2026-03-02).",
        "The boiler is fetched tomorrow morning (2026-03-05).",
        "The exam is the day after tomorrow (2026-03-06).",
        "I'm off tonight (2026-03-04) with Ann.",
        "We met this morning (2026-03-04) at the market.",
        "I signed the lease today (2026-03-04).",
        "Last week (2026-02-23 to 2026-03-01) we painted the fence.",
        "The week before last (2026-02-16 to 2026-02-22) was calm.",
        "We fly to Porto next week (2026-03-09 to 2026-03-15).",
        "The inspection is the week after next (2026-03-16 to 2026-03-22).",
        "I finish the report this week (2026-03-02 to 2026-03-08).",
        "My parents visited last weekend (2026-02-28 to 2026-03-01).",
        "We hiked the weekend before last (2026-02-21 to 2026-02-22).",
        "This weekend (2026-03-07 to 2026-03-08) I help Zofia move.",
        "We camped two weekends ago (2026-02-21 to 2026-02-22).",
        "I joined the choir last month (2026-02).",
        "The roof is done next month (2026-04).",
        "We married last year (2025) in Gdynia.",
        "Next year (2027) I go to Japan.",
        "I was in Rome the year before last (2024).",
        "Last Tuesday (2026-03-03) the server died.",
        "Last Wednesday (2026-02-25) we met the notary.",
        "We talked last Fri (2026-02-27) about it.",
        "I ran ten miles last Sunday (2026-03-01).",
        "The call is next Monday (2026-03-09).",
        "Next Wednesday (2026-03-11) is a holiday.",
        "This Friday (2026-03-06) the beta ships.",
        "The coming Friday (2026-03-06) the beta ships.",
        "This past weekend (2026-02-28 to 2026-03-01) was sunny.",
        "I quit three days ago (2026-03-01).",
        "We moved here two weeks ago (2026-02-16 to 2026-02-22).",
        "A month ago (2026-02) I broke my arm.",
        "She graduated five years ago (2021).",
        "I bought it a couple of years ago (2024).",
        "He was born twenty years ago (2006).",
        "That was a decade ago (2016).",
        "The audit was a fortnight ago (2026-02-16 to 2026-02-22).",
        "In two days (2026-03-06) I turn forty.",
        "The lease ends in 3 months (2026-06).",
        "We marry in a year (2027).",
        "The baby is due in a month's time (2026-04).",
        "Two weeks from now (2026-03-16 to 2026-03-22) we open the shop.",
        "I won the race on Saturday (2026-02-28).",
        "We had dinner with Marek on Monday evening (2026-03-02).",
        "On Sunday (2026-03-01) I planted two pear trees.",
        "I'll call the bank on Friday (2026-03-06).",
        "We are meeting the notary on Thursday (2026-03-05).",
        "The rent must be paid on Monday (2026-03-09).",
        "I have an exam on Thursday (2026-03-05).",
        "I've booked the ferry for us on Friday (2026-03-06).",
        "The vet comes on Monday week (2026-03-16).",
        "I teach the course a week on Friday (2026-03-13).",
        "Last March (2025-03) we lived in Poznań.",
        "We were in Brno last August (2025-08).",
        "I start next January (2027-01).",
        "Last summer (2025) we sailed to Hiiumaa.",
        "Last spring (2025) the well ran dry.",
        "We build the shed next autumn (2026).",
    ),
    # A Monday, the first of a year.
    "2029-01-01": (
        "Yesterday (2028-12-31) we saw the fireworks.",
        "Last week (2028-12-25 to 2028-12-31) everything was closed.",
        "I was ill last month (2028-12).",
        "We begin next month (2029-02).",
        "Last year (2028) was long.",
        "Three months ago (2028-10) I moved to Lisbon.",
        "Last Monday (2028-12-25) we slept in.",
        "Next Sunday (2029-01-07) we ski.",
        "Last summer (2028) was hot.",
        "Last December (2028-12) it snowed.",
    ),
    # A Sunday at the end of February in a leap year's neighbour.
    "2027-02-28": (
        "Tomorrow (2027-03-01) the courier comes.",
        "Next week (2027-03-01 to 2027-03-07) I am away.",
        "Last week (2027-02-15 to 2027-02-21) I was away.",
        "This weekend (2027-02-27 to 2027-02-28) we baked bread.",
        "Last weekend (2027-02-20 to 2027-02-21) we baked cake.",
        "Next weekend (2027-03-06 to 2027-03-07) we rest.",
        "Two days ago (2027-02-26) I lost my keys.",
        "Last Sunday (2027-02-21) we met Ann.",
        "Next Sunday (2027-03-07) we meet Ann.",
        "I got the keys on Friday (2027-02-26).",
        "A year ago (2026) we had no dog.",
    ),
    # A leap day.
    "2028-02-29": (
        "A year ago (2027) I wrote it down.",
        "In a year (2029) it is paid.",
        "Yesterday (2028-02-28) it thawed.",
        "Last month (2028-01) it froze.",
        "In four days (2028-03-04) we sow.",
    ),
}
UNTOUCHED = (
    "It has not rained like that in ten years.",
    "We haven't met in two months.",
    "It was the best harvest in five years.",
    "I built the shed in two weeks.",
    "She lands three weeks from this Saturday.",
    "We always pay in thirty days.",
    "We met recently, the other day in fact.",
    "I did that a few years ago.",
    "Some weeks ago it was colder.",
    "Over the last year we met often.",
    "I have read a lot during the last month.",
    "In the last week of the course we wrote a paper.",
    "It will last weeks.",
    "Lastly, the night train is slow.",
    "The shop closes on Sundays.",
    "We always eat fish on Friday.",
    "On Wednesday I fixed it.",
    "The vet comes on Wednesday week.",
    "If it rains on Monday we stay.",
    "The day after the exam I slept.",
    "He was seven years old.",
    "Every week I swim.",
    "Monday is fine.",
    "Last orders, next door, this one.",
    "today-only offers",
)
PAIRS = [(day, text) for day, texts in SAID.items() for text in texts]


@pytest.mark.parametrize(("day", "text"), PAIRS)
def test_a_phrase_gains_what_it_means(day: str, text: str):
    plain = _MEANING.sub("", text)
    assert plain != text
    assert annotate_dates(plain, date.fromisoformat(day)) == text
    assert annotate_dates(text, date.fromisoformat(day)) == text


@pytest.mark.parametrize("text", UNTOUCHED)
def test_what_means_no_day_stays(text: str):
    assert annotate_dates(text, date(2026, 3, 4)) == text


def test_there_are_a_hundred():
    assert len(PAIRS) + len(UNTOUCHED) >= 100
