"""Of two statements in an answer the newer comes first where it seems to correct the older."""

import os
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from conftest import World
from test_search_quality import hit
from workspaces import desk

from mdmem.memory import Memory
from mdmem.model import FactId
from mdmem.model.prompts import BuildContext
from mdmem.model.searches import Hit, Search
from mdmem.model.writes import Log, Remember
from mdmem.queries.later import put_later_first
from mdmem.show.hits import search_text
from mdmem.show.values import to_json
from mdmem.text.facts import plain_id

_DATA = Path(__file__).parent / "data" / "like"
_FIRST = datetime(2026, 3, 4, 9, tzinfo=UTC)


def statement(text: str, days: int = 0, **fields: object) -> Hit:
    """A hit for a statement, said some days after the first."""
    values = {"fact": plain_id(text), "since": _FIRST + timedelta(days), **fields}
    return hit(2.0, text, **values)


def order(*hits: Hit, limit: int = 8) -> list[tuple[str, FactId | None]]:
    """The texts of an answer and what is marked as later."""
    return [(each.text, each.later) for each in put_later_first(hits, limit)]


OLDER = statement("The API listens on port 8080")
NEWER = statement("The API listens on port 9090 now", 2)
OTHER = statement("The API is written in Go", 1)


def test_the_newer_comes_first_and_the_older_is_marked():
    marked = ("The API listens on port 8080", NEWER.fact)
    new, other = (NEWER.text, None), (OTHER.text, None)
    assert order(OTHER, OLDER, NEWER) == [other, new, marked]
    assert order(NEWER, OTHER, OLDER) == [new, other, marked]
    assert order(OLDER, OTHER, NEWER, limit=1) == [new]


@pytest.mark.parametrize(
    "newer",
    [
        replace(NEWER, since=_FIRST - timedelta(1)),  # the port was changed back
        replace(NEWER, since=_FIRST),  # one commit says both
        replace(NEWER, since=None),
        replace(NEWER, fact=None),
        statement("The API listens on port 9090", 2),  # reports no change
        statement("The database listens on a socket now", 2),
        statement("Ada: The API listens on port 9090 now", 2, day=date(2026, 3, 6)),
    ],
)
def test_others_stay_as_they_are(newer: Hit):
    assert order(OLDER, newer) == [(OLDER.text, None), (newer.text, None)]


def test_a_statement_behind_the_first_twenty_is_not_looked_at():
    rows = [statement(f"Row {number} of the list of plants") for number in range(19)]
    assert order(OLDER, *rows, NEWER, limit=30)[0] == (OLDER.text, None)
    assert order(OLDER, *rows[1:], NEWER, limit=30)[0] == (NEWER.text, None)


def test_each_of_a_chain_names_the_next():
    last = statement("The API listens on port 9999 now", 3)
    found = order(OLDER, NEWER, last)
    assert found[0] == (last.text, None)
    assert all(later for _, later in found[1:])


def _pairs(name: str) -> list[list[str]]:
    lines = (_DATA / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [line.split(" | ") for line in lines if not line.startswith(" | ")]


def _changes_order(older: str, newer: str) -> bool:
    return order(statement(older), statement(newer, 1))[0][0] == newer


@pytest.mark.parametrize("name", ["look_alikes", "held_out_look_alikes"])
def test_pairs_of_one_topic_that_do_not_correct_each_other(name: str):
    pairs = _pairs(name)
    assert len(pairs) >= 40
    assert sum(_changes_order(*pair) for pair in pairs) <= len(pairs) / 50


def test_corrections():
    pairs = _pairs("held_out_corrections")
    assert len(pairs) == 40
    assert sum(_changes_order(*pair) for pair in pairs) >= 33


@pytest.fixture
def memory(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Memory:
    """Memory in which a day's log corrects what stands in the curated file."""
    root = desk(world, repository).root
    for time, change in [("2026-03-04", Remember(OLDER.text)), ("2026-03-06", Log(NEWER.text))]:
        monkeypatch.setenv("MDMEM_NOW", f"{time}T09:00:00+00:00")
        memory = Memory.open(root, os.environ)
        memory.apply(change)
    return memory


def test_in_an_answer(memory: Memory):
    assert [each.text for each in memory.search(Search("the port of the API", limit=1)).hits] == [
        NEWER.text
    ]
    newer, older = memory.search(Search("port 8080")).hits
    assert (newer.text, newer.later) == (NEWER.text, None)
    assert (older.text, older.later) == (OLDER.text, newer.fact)
    assert to_json(older)["later"] == newer.fact
    assert f"(later: {newer.fact})" in search_text(memory.search(Search("port 8080")), False)


def test_far_behind_the_hits(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch):
    root = desk(world, repository).root
    lines = [*(f"API port {number}: open" for number in range(10)), OLDER.text]
    monkeypatch.setenv("MDMEM_NOW", "2026-03-04T09:00:00+00:00")
    for line in lines:
        Memory.open(root, os.environ).apply(Remember(line))
    monkeypatch.setenv("MDMEM_NOW", "2026-03-06T09:00:00+00:00")
    Memory.open(root, os.environ).apply(Log(f"{NEWER.text}, as the people of the network asked"))
    ask = Search("API port 8080 listens", limit=2)
    found = Memory.open(root, os.environ).search(ask).hits
    assert [each.later for each in found] == [None, found[0].fact]
    assert [each.text for each in found][1] == OLDER.text


@pytest.mark.parametrize("budget", [60, 80, 100, 500])
def test_in_a_block(memory: Memory, budget: int):
    block = memory.context(
        BuildContext(
            prompt="Which port does the API listen on, 8080?", budget=budget, without=("days",)
        )
    ).text
    assert (OLDER.text in block) == (f"{OLDER.text} (later: " in block)
    assert NEWER.text in block or OLDER.text not in block
    assert NEWER.text in block or budget < 100


def test_in_a_block_after_what_was_given_before(memory: Memory):
    ask = BuildContext(prompt="Which port does the API listen on?", session="s1", budget=80)
    assert NEWER.text in memory.context(ask).text
    assert OLDER.text not in memory.context(replace(ask, budget=500)).text
