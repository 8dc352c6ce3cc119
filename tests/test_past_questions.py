"""Questions about the past of facts: how they are read, and which version they put first."""

import math
import os
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from conftest import World
from dated_memory import SEED_DATE
from workspaces import Desk, desk

from mdmem.memory import Memory
from mdmem.model.searches import Hit, Search
from mdmem.model.writes import Forget, Log, Remember, WriteOptions
from mdmem.queries.past_questions import Asked, read_question

_DATA = Path(__file__).parent / "data" / "past"
_TODAY = date(2026, 1, 15)


def _first_reading(question: str) -> tuple[object, ...]:
    reading = read_question(question, _TODAY)[0]
    span = reading.span and tuple(
        day.isoformat() for day in reading.span.in_year(reading.span.year or 2025)
    )
    return reading.asked, *(span or ((reading.words,) if reading.words else ()))


@pytest.mark.parametrize(
    ("question", "asked", "days"),
    [
        ("Where did I work on 2025-06-01?", Asked.HELD, ("2025-06-01", "2025-06-01")),
        ("license on 10 March 2025", Asked.HELD, ("2025-03-10", "2025-03-10")),
        ("license on March 10th, 2025", Asked.HELD, ("2025-03-10", "2025-03-10")),
        ("What was it in March?", Asked.HELD, ("2025-03-01", "2025-03-31")),
        ("the port in 2025-02", Asked.HELD, ("2025-02-01", "2025-02-28")),
        ("the plan in winter 2024", Asked.HELD, ("2024-12-01", "2025-02-28")),
        ("the rate in Q3 2025", Asked.HELD, ("2025-07-01", "2025-09-30")),
        ("the rate in the second quarter of 2025", Asked.HELD, ("2025-04-01", "2025-06-30")),
        ("who led it in early 2025", Asked.HELD, ("2025-01-01", "2025-04-30")),
        ("who led it in 2024", Asked.HELD, ("2024-01-01", "2024-12-31")),
        ("who led it yesterday", Asked.HELD, ("2026-01-14", "2026-01-14")),
        ("who led it last week", Asked.HELD, ("2026-01-05", "2026-01-11")),
        ("who led it last month", Asked.HELD, ("2025-12-01", "2025-12-31")),
        (
            "who led it in the last week of the year? last week, that is",
            Asked.HELD,
            ("2026-01-05", "2026-01-11"),
        ),
        ("wo war das im März 2025?", Asked.HELD, ("2025-03-01", "2025-03-31")),
        ("2025年3月在哪里工作", Asked.HELD, ("2025-03-01", "2025-03-31")),
        ("2025年3月5日", Asked.HELD, ("2025-03-05", "2025-03-05")),
        ("on 30 February 2025", Asked.HELD, ("2025-02-28", "2025-02-28")),
    ],
)
def test_dates(question: str, asked: Asked, days: tuple[str, str]):
    assert _first_reading(question) == (asked, *days)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Where did I work before Linear?", (Asked.BEFORE_VERSION, "Linear?")),
        ("Who was Aiko's predecessor?", (Asked.BEFORE_VERSION, "Aiko")),
        ("What replaced Sentry?", (Asked.AFTER_VERSION, "Sentry?")),
        ("What did Linear replace?", (Asked.BEFORE_VERSION, "Linear")),
        ("How often did it change?", (Asked.ALL,)),
        ("the deploy history", (Asked.ALL,)),
        ("Was it ever anything else?", (Asked.ALL,)),
        ("the original name", (Asked.FIRST,)),
        ("When did we first use Zed?", (Asked.FIRST, "When did we first use Zed?")),
        ("the third employer", (Asked.NTH,)),
        ("alte Adresse", (Asked.PREVIOUS,)),
        ("the current name", (Asked.LAST,)),
        ("以前的公司", (Asked.PREVIOUS,)),
    ],
)
def test_words(question: str, expected: tuple[object, ...]):
    assert _first_reading(question) == expected


@pytest.mark.parametrize(
    "question",
    [
        "",
        "Where do I work?",
        "he may march to the station",
        "port 8080",
        "on 2025-13-40",
        "32 May 2025 99",
    ],
)
def test_nothing_of_the_past(question: str):
    assert [
        reading
        for reading in read_question(question, _TODAY)
        if reading.asked is not Asked.HELD or reading.span is None
    ] == []


class _Past:
    """Memory on any day."""

    def __init__(self, at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at = at
        self._patch = monkeypatch

    def on(self, day: str) -> Memory:
        self._patch.setenv("MDMEM_NOW", f"{day}T12:00:00")
        return Memory.open(self.at.root, os.environ)

    def remember(
        self, day: str, text: str, supersedes: str | None = None, **arguments: str
    ) -> None:
        change = Remember(
            text, section="Facts", create=True, options=WriteOptions(supersedes=supersedes)
        )
        self.on(day).apply(replace(change, **arguments))

    def log(self, day: str, text: str, supersedes: str | None = None) -> None:
        self.on(day).apply(Log(text, options=WriteOptions(supersedes=supersedes)))

    def hits(self, question: str, **arguments: object) -> tuple[Hit, ...]:
        return (
            self.on("2026-01-15").search(replace(Search(question, history=True), **arguments)).hits
        )

    def texts(self, question: str, **arguments: object) -> list[str]:
        return [hit.text for hit in self.hits(question, **arguments)]


@pytest.fixture
def past(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> _Past:
    early = World(
        world.home,
        {**world.environment, "GIT_AUTHOR_DATE": SEED_DATE, "GIT_COMMITTER_DATE": SEED_DATE},
    )
    return _Past(Desk(world, desk(early, repository, seed="# Memory\n").root), monkeypatch)


def _write_facts(past: _Past) -> None:
    """Write the facts of the data, each version on its day."""
    writes = []
    for block in (_DATA / "facts.txt").read_text(encoding="utf-8").strip().split("\n\n"):
        head, *lines = block.splitlines()
        versions = [line.split(" ", 1) for line in lines]
        former = (
            [None, *(text for _, text in versions)]
            if not head.startswith("once")
            else [None] * len(versions)
        )
        section = head.removeprefix("curated ") if head.startswith("curated") else ""
        writes += [
            (day, section, text, before)
            for (day, text), before in zip(versions, former, strict=False)
        ]
    for day, section, text, before in sorted(writes, key=lambda write: write[0]):
        if section:
            past.remember(day, text, before, section=section)
        else:
            past.log(day, text, before)


def test_questions_about_the_past(past: _Past):
    _write_facts(past)
    questions = [
        line.split(" | ")
        for line in (_DATA / "questions.txt").read_text(encoding="utf-8").splitlines()
    ]
    right = 0
    for question, *versions in questions:
        texts = past.texts(question)
        right += len(texts) >= len(versions) and all(
            version in text for version, text in zip(versions, texts, strict=False)
        )
    assert len(questions) == 124
    assert right >= 0.95 * len(questions)
    found = past.on("2026-01-15").search(Search("Where did the user work first?")).hits
    assert {hit.status.value for hit in found} == {"current"}, "nothing stale without history"
    for question in (
        "Where did the user work first?",
        "How often has standup moved?",
        "rent in March 2025",
    ):
        assert_scores_add_up(past.hits(question, explain=True))


def assert_scores_add_up(hits: tuple[Hit, ...]) -> None:
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for hit in hits:
        assert hit.explanation is not None
        product = math.prod(factor.value for factor in hit.explanation.factors)
        assert sum(part.score for part in hit.explanation.parts) * product == pytest.approx(
            hit.score, rel=0.01
        )


class TestVersions:
    def test_a_value_that_came_back(self, past: _Past):
        for day, text in (("2025-02-01", "MIT"), ("2025-04-01", "Apache"), ("2025-06-01", "MIT")):
            past.remember(day, text, key="license")
        assert past.texts("How often did the license change?") == [
            "license: MIT",
            "license: Apache",
            "license: MIT",
        ]
        assert (
            past.texts("the license before Apache")[0]
            == past.texts("license in March 2025")[0]
            == "license: MIT"
        )
        assert [hit.status.value for hit in past.hits("the license before Apache")][:1] == [
            "superseded"
        ]

    def test_a_word_of_the_fact_asks_nothing(self, past: _Past):
        past.remember("2025-02-01", "Ann", key="first name")
        past.remember("2025-04-01", "Anna", key="first name")
        assert past.texts("What is the first name?")[0] == "first name: Anna"

    def test_days_of_logs_count_and_not_those_of_commits(self, past: _Past):
        past.log("2025-02-01", "Standup is at 9:00")
        past.on("2025-09-01").apply(
            Log(
                "Standup is at 10:00",
                day="2025-03-01",
                options=WriteOptions(supersedes="Standup is at 9:00"),
            )
        )
        assert past.texts("When was standup in June 2025?")[0] == "Standup is at 10:00"
        assert past.texts("When was standup on 2025-02-10?")[0] == "Standup is at 9:00"

    def test_what_ended_without_a_successor(self, past: _Past):
        past.remember("2025-02-01", "trains at FitInn", key="gym")
        past.remember("2025-04-01", "trains at the club", key="gym")
        past.on("2025-06-01").apply(Forget("gym: trains at the club"))
        assert past.texts("What was the previous gym?")[0] == "gym: trains at the club"
        assert past.texts("the gym in March 2025")[0] == "gym: trains at FitInn"

    def test_a_version_without_the_words_of_the_question(self, past: _Past):
        past.log("2025-02-01", "Wir nehmen den Bus")
        past.log("2025-05-01", "The children cycle to school", "Wir nehmen den Bus")
        assert past.texts("How did the children get to school at first?")[0] == "Wir nehmen den Bus"
        assert past.texts("How do the children get to school?") == ["The children cycle to school"]

    def test_the_first_time(self, past: _Past):
        for day, text, before in (
            ("2025-02-01", "Emacs", None),
            ("2025-04-01", "Zed", "Emacs"),
            ("2025-06-01", "Helix", "Zed"),
        ):
            past.log(day, f"Writes code in {text}", before and f"Writes code in {before}")
        assert past.texts("When did I first write code in Zed?")[0] == "Writes code in Zed"
        assert past.texts("In what did I first write code?")[0] == "Writes code in Emacs"

    def test_a_key_goes_before_the_log_lines_of_the_day(self, past: _Past):
        for day, text in (("2025-02-01", "works at Stripe"), ("2025-04-01", "works at Linear")):
            past.remember(day, text, key="current employer")
        for number in range(40):
            past.log(
                "2025-02-10", f"employer, current: call {number} with the employer on 2025-02-10"
            )
        past.log("2025-03-10", "current employer and the employer's lawyer")
        assert (
            past.texts("current employer on 2025-02-10")[0] == "current employer: works at Stripe"
        )
        hits = past.hits("Who was my current employer on 10 February 2025?", explain=True)
        assert hits[0].text == "current employer: works at Stripe"
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert past.texts("employer on 2025-02-10")[0].startswith("employer, current: call")

    def test_filters_hold(self, past: _Past):
        past.log("2025-02-01", "lives in Oslo")
        past.remember("2025-05-01", "lives in Bergen", "lives in Oslo")
        assert past.texts("Where did I live first?", file="MEMORY.md") == ["lives in Bergen"]
