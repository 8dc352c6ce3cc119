"""What answers print, and files have, names a fact, a run or a file wherever one is asked for."""

import os
from pathlib import Path

import pytest
from conftest import World
from workspaces import Desk, code_of, desk

from mdmem.changes.apply import apply
from mdmem.memory import Memory
from mdmem.model.errors import FactProblem, PathProblem
from mdmem.model.history import FactHistory, SectionHistory, ShowBlame, ShowHistory
from mdmem.model.proposals import Decide, Propose, Selection
from mdmem.model.reads import SectionView, Show
from mdmem.model.searches import ListFacts, Search
from mdmem.model.writes import (
    Contradict,
    Forget,
    Log,
    PipelineNote,
    Purge,
    Remember,
    Revert,
    WriteOptions,
)
from mdmem.text.facts import fact_id

MEMORY = """# Memory

## Home

- tea: green #hot
- lives in Oslo
  with two cats

The house is red.
"""
BOAT = """---
aliases: [Big boat, 2]
---
# Boat

- engine: diesel

## Papers

- engine: diesel
"""
LOG = "memory/2026-03-04.md"


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    at = desk(world, repository, seed=MEMORY)
    at.write("memory/boat.md", BOAT)
    at.write(LOG, "# 2026-03-04\n\n- it rained all day\n")
    at.commit()
    return at


def memory(at: Desk) -> Memory:
    return Memory.open(at.root, os.environ)


def night(at: Desk, text: str, run: str) -> None:
    options = WriteOptions(pipeline=PipelineNote(actor="dream", run=run))
    apply(at.workspace, Remember(text, options=options), lambda _: None)


@pytest.mark.parametrize(
    ("line", "text", "section"),
    [
        (5, "- tea: green #hot\n", "Home"),
        (7, "- lives in Oslo\n  with two cats\n", "Home"),
        (9, None, "Home"),
        (1, None, "Memory"),
    ],
)
def test_a_line_is_its_fact_or_else_its_section(
    at: Desk, line: int, text: str | None, section: str
) -> None:
    view = memory(at).show_named(Show(section=f"MEMORY.md:{line}"))
    assert isinstance(view, SectionView)
    assert view.section[-1] == section
    assert (view.text if view.fact else None) == text
    blamed = memory(at).blame(ShowBlame(section=f"./MEMORY.md:{line}"))
    assert (blamed.section[-1], len(blamed.lines) <= 2) == (section, text is not None or line == 1)


def test_the_history_of_a_line(at: Desk) -> None:
    of_fact = memory(at).history(ShowHistory(target="MEMORY.md:5"))
    assert isinstance(of_fact, FactHistory)
    assert of_fact.fact == fact_id("tea: green")
    of_section = memory(at).history(ShowHistory(target="MEMORY.md:9"))
    assert isinstance(of_section, SectionHistory)
    assert of_section.section == ("Memory", "Home")


def test_a_line_is_written_to_as_its_fact(at: Desk) -> None:
    assert memory(at).apply(Remember("", entry=f"{LOG}:3")).added == (fact_id("it rained all day"),)
    gone = memory(at).apply(
        Remember("drinks water", options=WriteOptions(supersedes="MEMORY.md:5"))
    )
    assert gone.removed == (fact_id("tea: green"),)
    assert memory(at).apply(Forget("MEMORY.md:5")).changed
    assert "Oslo" not in at.read("MEMORY.md")


def test_of_two_lines_with_one_fact_the_named_one_goes(at: Desk) -> None:
    superseded = WriteOptions(supersedes="memory/boat.md:6")
    assert code_of(lambda: memory(at).apply(Log("sold", options=superseded))) == "fact-ambiguous"
    memory(at).apply(Forget("memory/boat.md:10"))
    assert at.read("memory/boat.md").split() == BOAT.split()[:-3]


def test_a_line_in_other_verbs(at: Desk) -> None:
    memory(at).apply(Contradict("MEMORY.md:5", "MEMORY.md:6"))
    (marked,) = memory(at).conflicts().conflicts
    assert {marked.first.key, marked.second.key} == {"tea", None}
    assert memory(at).plan_purge(Purge("MEMORY.md:5")).has_changes
    proposed = memory(at).proposals.propose(Propose(edit=Forget("MEMORY.md:5")))
    assert proposed.result.removed == (fact_id("tea: green"),)
    assert memory(at).apply(Revert("MEMORY.md:5")).removed == (fact_id("tea: green"),)


def test_a_line_above_the_headings(at: Desk) -> None:
    at.write("memory/plain.md", "only words\n\n# Below\n")
    view = memory(at).show_named(Show(section="memory/plain.md:1"))
    assert isinstance(view, SectionView)
    assert view.text == "only words\n\n"


@pytest.mark.parametrize("name", ["MEMORY.md:9", "MEMORY.md:99"])
def test_a_line_without_a_fact_is_refused(at: Desk, name: str) -> None:
    with pytest.raises(FactProblem) as caught:
        memory(at).apply(Forget(name))
    assert caught.value.code == "fact-not-found"
    assert code_of(lambda: memory(at).apply(Forget("nowhere.md:5"))) == "fact-not-found"


def test_an_alias_is_a_name_of_its_file(at: Desk) -> None:
    view = memory(at).show_named(Show(section="BIG BOAT"))
    assert isinstance(view, SectionView)
    assert view.path == "memory/boat.md"
    assert [each.section[-1] for each in memory(at).outline("big boat").sections] == [
        "Boat",
        "Papers",
    ]
    assert memory(at).facts(ListFacts(file="Big boat")).total == 2
    assert memory(at).facts(ListFacts(file="memory")).total == 3
    assert {hit.path for hit in memory(at).search(Search("engine", file="boat")).hits} == {
        "memory/boat.md"
    }
    assert (
        memory(at).apply(Remember("two masts", file="2", section="Boat")).path == "memory/boat.md"
    )
    at.write("memory/other.md", "---\naliases: big boat\n---\n- else\n")
    with pytest.raises(PathProblem):
        memory(at).outline("Big boat")


def test_last_night_is_the_run_of_the_newest_night(at: Desk) -> None:
    assert code_of(lambda: memory(at).apply(Revert("last night"))) == "commit-not-found"
    night(at, "first dream", "dream/2026-03-04")
    night(at, "second dream", "dream/2026-03-05")
    memory(at).apply(Log("said since"))
    for word in ("last night", "Last Night", "dream/2026-03-05"):
        history = memory(at).history(ShowHistory(target=word))
        assert isinstance(history, SectionHistory)
        assert [each.added for each in history.revisions] == [("second dream",)]
    assert memory(at).apply(Revert("last night")).removed == (fact_id("second dream"),)
    assert "first dream" in at.read("MEMORY.md")
    refused = Decide(selection=Selection(proposal="last night"))
    with pytest.raises(Exception, match="no part proposed by dream/2026-03-05 is pending"):
        memory(at).proposals.decide(refused)
