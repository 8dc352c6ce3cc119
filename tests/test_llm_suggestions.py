"""What a model suggests, checked one by one: facts from lines, and changes of memory."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from workspaces import TOKEN

from mdmem.llm.checks import check_changes, check_facts
from mdmem.llm.requests import (
    EXTRACT,
    PLACEHOLDERS,
    ConsolidateData,
    DayFact,
    MemoryEntry,
    RequestLine,
)
from mdmem.model import FactId, Source

DAY = date(2026, 11, 19)
LINES = (
    RequestLine(7, "user", DAY, "00:05", "No, drop the MySQL dump next Monday."),
    RequestLine(8, "agent", DAY, "00:06", "The importer of Anna failed on a lock."),
    RequestLine(9, "user", DAY, "00:07", "I just joined Linear."),
    RequestLine(10, "other", DAY, "00:08", "I live in Oslo."),
)
GOOD = {
    "lines": [7],
    "kind": "decision",
    "key": None,
    "text": "Drop the MySQL dump on 2026-11-23",
    "quote": "drop the MySQL dump",
}


def facts(*items: Any) -> Any:
    return check_facts(items, LINES)


def test_a_fact_that_its_line_holds():
    (fact,) = facts(GOOD).facts
    assert (fact.lines, fact.kind, fact.key, fact.by_person) == ((7,), "decision", None, True)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"lines": [99]}, "a line that was not sent"),
        ({"lines": []}, "no lines"),
        ({"lines": "7"}, "no lines"),
        ({"lines": [True]}, "no lines"),
        ({"kind": "rumour"}, "unknown kind"),
        ({"quote": "keep the MySQL dump"}, "a quote that is not there"),
        ({"quote": "I just joined"}, "a quote that is not there"),  # of a line that is not named
        ({"quote": None}, "a quote that is not there"),
        ({"quote": "."}, "a quote that is not there"),
        ({"text": None}, "no text"),
        ({"text": "  "}, "no text"),
        ({"text": "MySQL " * 70}, "a text that is too long"),
        ({"text": f"The MySQL dump needs {TOKEN}"}, "a secret"),
        ({"text": "Drop <b>the MySQL dump</b>"}, "a tag"),
        ({"text": "Drop &lt;system-reminder&gt; the MySQL dump"}, "a tag"),
        ({"text": "Drop {{the}} MySQL dump"}, "a tag"),
        ({"text": "Drop the MySQL\u202e dump"}, "control characters"),
        *(({"text": f"Drop the {each}"}, "words of the instructions") for each in PLACEHOLDERS),
        ({"text": " ".join(EXTRACT.split()[10:30])}, "words of the instructions"),
        ({"text": "Drop the MySQL dump on 2026-11-24"}, "not in the lines: 2026-11-24"),
        ({"text": "Drop the 2 MySQL dumps"}, "not in the lines: 2"),
        ({"text": "Bob drops the MySQL dump"}, "not in the lines: Bob"),
    ],
)
def test_what_is_refused(change: dict[str, Any], reason: str):
    checked = facts(GOOD | change, GOOD)
    assert checked.refused == (reason,)
    assert len(checked.facts) == 1


def test_what_is_no_object():
    assert facts(1, None, [], "x").refused == ("not an object",) * 4


@pytest.mark.parametrize(
    ("lines", "text", "quote", "by_person"),
    [
        ([7, 8], "Drop the MySQL dump", "drop the MySQL", True),
        ([7, 8], "The importer of Anna failed on a lock", "importer of Anna", False),
        (
            [7, 8],
            "Drop the MySQL dump of Anna",
            "drop the MySQL",
            False,
        ),  # a part of it is the agent's alone
        ([7, 8], "Drop the MySQL dump", "The importer", False),
        ([10], "Lives in Oslo", "live in Oslo", True),
    ],
)
def test_a_person_says_it_or_an_agent_does(
    lines: list[int], text: str, quote: str, by_person: bool
):
    (fact,) = facts(GOOD | {"lines": lines, "text": text, "quote": quote}).facts
    assert fact.by_person is by_person


@pytest.mark.parametrize(
    ("key", "named"),
    [
        ("employer", "employer"),
        ("Company", "employer"),
        ("mum", "mother"),
        ("favourite tea", "favourite tea"),
        ("shoe size", None),
        (7, None),
        ("", None),
    ],
)
def test_a_key_is_one_that_the_rules_know(key: Any, named: str | None):
    (fact,) = facts(
        GOOD | {"lines": [9], "text": "Joined Linear", "quote": "joined Linear", "key": key}
    ).facts
    assert fact.key == named


FACT, OTHER, OLD, OLDER = map(FactId, ("1f3c9a2b", "22222222", "8e0d4c11", "33333333"))
DATA = ConsolidateData(
    day=DAY,
    facts=(
        DayFact(
            id=FACT,
            text="I just joined Linear",
            day=DAY,
            source=Source.USER_STATED,
            near=(OLD,),
            key="employer",
        ),
        DayFact(id=OTHER, text="moves to Oslo next week", day=DAY, source=Source.INFERRED),
    ),
    memory=(
        MemoryEntry(
            id=OLD,
            text="works at Stripe",
            section="Memory > Work",
            source=Source.USER_STATED,
            key="company",
        ),
        MemoryEntry(
            id=OLDER, text="lives in Rome", section="Memory > Home", source=Source.INFERRED
        ),
    ),
)
UPDATE = {
    "op": "UPDATE",
    "fact": FACT,
    "old": OLD,
    "section": "Memory > Work",
    "key": "company",
    "text": "Joined Linear",
    "why": "a new job",
}


def test_a_change_of_what_was_sent():
    (change,) = check_changes([UPDATE], DATA).changes
    assert (
        change.op,
        change.fact,
        change.old,
        change.section,
        change.key,
        change.text,
        change.why,
    ) == tuple(UPDATE.values())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"op": "REPLACE"}, "unknown op"),
        ({"op": None}, "unknown op"),
        ({"fact": "99999999"}, "an id that was not sent"),
        ({"fact": OLD}, "an id that was not sent"),
        ({"fact": None}, "an id is missing"),
        ({"old": "99999999"}, "an id that was not sent"),
        ({"old": FACT}, "an id that was not sent"),
        ({"old": None}, "an id is missing"),
        ({"op": "DELETE", "old": None}, "an id is missing"),
        ({"section": "Memory > Secrets"}, "a section that was not sent"),
        ({"key": "shoe size"}, "a key that was not sent"),
        ({"text": "Joined Linear in 2019"}, "not in the fact: 2019"),
        ({"text": "Joined Acme"}, "not in the fact: Acme"),
        ({"text": ""}, "no text"),
        ({"why": "<b>because</b>"}, "a tag"),
    ],
)
def test_a_change_that_is_refused(change: dict[str, Any], reason: str):
    checked = check_changes([UPDATE | change], DATA)
    assert (checked.changes, checked.refused) == ((), (reason,))


def test_one_change_a_fact_and_no_text_where_nothing_is_written():
    checked = check_changes(
        [
            UPDATE | {"op": "NONE", "text": "Acme 99"},
            UPDATE,
            UPDATE | {"fact": OTHER, "op": "ADD", "key": None, "text": "Moves to Oslo"},
        ],
        DATA,
    )
    assert [(each.op, each.text, each.old) for each in checked.changes] == [
        ("NONE", "", OLD),
        ("ADD", "Moves to Oslo", None),
    ]
    assert checked.refused == ("a second change of one fact",)


WORDS = st.sampled_from(("drop", "the", "MySQL", "dump", "next", "Monday", "on 2026-11-23", "No"))
INVENTED = st.one_of(
    st.integers(min_value=2, max_value=10**6)
    .filter(lambda number: number not in (23, 2026))
    .map(str),
    st.dates().filter(lambda day: day != date(2026, 11, 23)).map(date.isoformat),
    st.sampled_from(
        (
            "Marcus",
            "Initech",
            "SQLite",
            "at initech",
            "called bob",
            "https://evil.example/x",
            "eve@evil.example",
            "$5",
            "東京",
            "forty",
        )
    ),
)


@given(st.lists(WORDS, min_size=1, max_size=6), INVENTED, st.lists(WORDS, max_size=4))
def test_nothing_that_is_invented_is_written(before: list[str], invented: str, behind: list[str]):
    text = " ".join((*before, invented, *behind))
    assert facts(GOOD | {"text": text}).facts == ()


@given(st.lists(WORDS, min_size=1, max_size=8))
def test_the_words_of_a_line_are_never_refused(words: list[str]):
    assert facts(GOOD | {"text": " ".join((*words, "dump"))}).refused == ()
