"""Searches and lists without words: what was said on a day, by an actor, in a session; the newest
first.
"""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from commandline import MadeOnce
from conftest import World
from workspaces import Desk, desk

from mdmem.memory import Memory
from mdmem.model.errors import UsageProblem
from mdmem.model.searches import ListFacts, Search
from mdmem.model.writes import Log, Remember, WriteOptions
from mdmem.text.facts import parse_item

DIGEST = """memory/2026-03-04.md: digest

+ - [fact] the walrus was digested

Mdmem-Op: digest
Mdmem-Actor: digest
Mdmem-Session: claude/5a1e-1
Mdmem-Run: digest/2026-03-04-1
Mdmem-Source: user-stated
Mdmem-Cites: {fact} claude/5a1e-2#7
"""


@pytest.fixture
def diary(
    world: World, repository: Path, monkeypatch: pytest.MonkeyPatch, made_once: MadeOnce
) -> Desk:
    """A memory in which something was said on four days, by a person and two agents in sessions."""
    dates = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), "2026-02-28T09:00:00+00:00")
    before = replace(world, environment={**world.environment, **dates})
    made_once("a diary", lambda: say(desk(before, repository), monkeypatch))
    monkeypatch.setenv("MDMEM_NOW", "2026-03-04T09:00:00+00:00")
    return Desk(world, repository)


def say(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MDMEM_NOW", "2026-03-01T09:00:00+00:00")
    at.apply(
        Log("first walrus", kind="fact", options=WriteOptions(actor="agent/main", session="one"))
    )
    monkeypatch.setenv("MDMEM_NOW", "2026-03-02T09:00:00+00:00")
    at.apply(Remember("second walrus", options=WriteOptions(actor="agent/main", session="two")))
    monkeypatch.setenv("MDMEM_NOW", "2026-03-03T09:00:00+00:00")
    at.apply(
        Log(
            "third walrus",
            kind="lesson",
            tags=("sea",),
            options=WriteOptions(actor="Agent/Other", session="two"),
        )
    )
    monkeypatch.setenv("MDMEM_NOW", "2026-03-04T09:00:00+00:00")
    at.apply(Log("fourth walrus"))


def texts(at: Desk, **wanted: object) -> list[str]:
    return [
        hit.text
        for hit in Memory.open(at.root, os.environ).search(Search(**wanted)).hits
        if "walrus" in hit.text
    ]


def test_the_newest_first_from_a_day_on(diary: Desk) -> None:
    assert texts(diary, since="2026-03-02") == ["fourth walrus", "third walrus", "second walrus"]
    assert texts(diary, since="2026-03-02", until="yesterday") == ["third walrus", "second walrus"]
    assert texts(diary, since="2026-03-01", file="memory", limit=1) == ["fourth walrus"]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"kind": "lesson"}, ["third walrus"]),
        ({"tags": ("sea",)}, ["third walrus"]),
        ({"actor": "agent/main"}, ["second walrus", "first walrus"]),
        ({"actor": "agent/other"}, ["third walrus"]),
        ({"actor": "ada example"}, ["fourth walrus"]),
        ({"session": "two"}, ["third walrus", "second walrus"]),
        ({"session": "two", "actor": "agent/main"}, ["second walrus"]),
        ({"session": "TWO"}, []),
        ({"file": "MEMORY.md"}, ["second walrus"]),
        ({"section": "Facts"}, ["second walrus"]),
        ({"source": "user-stated"}, []),
        ({"min_confidence": 0.9}, []),
        ({"recent_days": 1, "kind": "lesson"}, []),
        ({"recent_days": 2}, ["fourth walrus", "third walrus", "second walrus"]),
    ],
)
def test_by_what_narrows(diary: Desk, wanted: dict[str, object], expected: list[str]) -> None:
    assert texts(diary, **wanted) == expected
    assert sorted(texts(diary, query="walrus", **wanted)) == sorted(expected)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("#sea", ["third walrus"]),
        ("walrus #sea", ["third walrus"]),
        ("tag:SEA fourth walrus", ["third walrus"]),
        ("sea", ["third walrus"]),
        ("#walrus third", ["third walrus", "fourth walrus", "second walrus", "first walrus"]),
    ],
)
def test_a_tag_in_a_query_is_asked_for_where_an_entry_has_it(
    diary: Desk, query: str, expected: list[str]
) -> None:
    assert texts(diary, query=query)[:1] == expected[:1]
    assert sorted(texts(diary, query=query)) == sorted(expected)
    assert Memory.open(diary.root, os.environ).search(Search(query=query)).query == query


def test_facts_by_the_same(diary: Desk) -> None:
    memory = Memory.open(diary.root, os.environ)
    listed = memory.facts(ListFacts(since="yesterday", session="two"))
    assert [hit.text for hit in listed.facts] == ["third walrus"]
    assert str(listed.since) == "2026-03-03"


def test_the_past_without_words(diary: Desk) -> None:
    diary.apply(Remember("fifth walrus", options=WriteOptions(supersedes="second walrus")))
    assert texts(diary, since="2026-03-02", until="2026-03-02") == []
    assert texts(diary, since="2026-03-02", until="2026-03-02", history=True) == ["second walrus"]
    assert texts(diary, since="2026-03-02", as_of="HEAD^") == [
        "fourth walrus",
        "third walrus",
        "second walrus",
    ]


def test_an_entry_of_a_digest_is_of_the_session_where_it_was_said(diary: Desk) -> None:
    text = "- [fact] the walrus was digested\n"
    fact = parse_item(text).id
    diary.write("memory/2026-03-05.md", f"# 2026-03-05\n\n{text}")
    diary.commit(DIGEST.format(fact=fact))
    for session in ("claude/5a1e-2", "5a1e-2"):
        assert texts(diary, session=session) == ["the walrus was digested"]
    assert texts(diary, session="claude/5a1e-1") == []
    assert texts(diary, actor="digest") == ["the walrus was digested"]


@pytest.mark.parametrize("wanted", [{}, {"query": "  "}, {"history": True}])
def test_words_or_what_narrows_is_needed(wanted: dict[str, object]) -> None:
    with pytest.raises(UsageProblem, match="search needs words, or an option that narrows it"):
        Search(**wanted)


@pytest.mark.parametrize("since", [None, "2026-03-01"])
def test_sessions_are_searched_by_words(since: str | None) -> None:
    with pytest.raises(UsageProblem, match="sessions needs words"):
        Search(sessions=True, since=since)
