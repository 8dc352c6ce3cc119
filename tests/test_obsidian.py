"""A vault of Obsidian: what its notes say besides facts, its links, its daily notes, its canvases."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from conftest import World
from dated_memory import DatedMemory
from workspaces import Desk, desk

from mdmem.memory import Memory
from mdmem.model import FilePath
from mdmem.model.errors import FactProblem
from mdmem.model.history import FactHistory, ShowHistory
from mdmem.model.prompts import BuildContext
from mdmem.model.searches import Hit, ListFacts, Search
from mdmem.model.writes import EditSection, Forget, Log, Remember, Save, WriteOptions
from mdmem.text.document import parse
from mdmem.text.facts import entries

ALL_NOTES = 'paths = ["**/*.md"]\n'


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


def vault(at: Desk, notes: Mapping[str, str], settings: str = ALL_NOTES) -> Memory:
    """A workspace with these notes, committed."""
    for path, text in {"mdmem.toml": settings, "MEMORY.md": "# Memory\n", **notes}.items():
        at.write(path, text)
    at.commit()
    return Memory.open(at.root, os.environ)


def found(memory: Memory, query: str) -> list[Hit]:
    return [hit for hit in memory.search(Search(query)).hits if not hit.near]


def listed(memory: Memory, **options: str) -> list[str]:
    return [hit.text for hit in memory.facts(ListFacts(**options)).facts]


class TestFields:
    CRANE = (
        '---\ntags: [boat]\nowner: "[[Mira]]"\nbudget: 400\nparts:\n  - mast\n  - winch\nempty:\n---\n'
        "# Crane\n\nbuilt:: 1998\nheight:: 12 m ^h\n\n- lies in Bergen [berth:: 7]\n- yard:: Laksevåg\n"
    )

    def test_each_is_an_entry_of_its_line(self):
        read = entries(parse(self.CRANE), FilePath("Crane.md"), nested=True)
        assert [(each.start_line, each.text, each.fact is not None) for each in read] == [
            (3, "owner: [[Mira]]", False),
            (4, "budget: 400", False),
            (5, "parts: mast, winch", False),
            (12, "built: 1998", False),
            (13, "height: 12 m", False),
            (15, "lies in Bergen [berth:: 7]", True),
            (15, "berth: 7", False),
            (16, "yard: Laksevåg", False),
        ]

    @pytest.mark.parametrize(
        "text",
        [
            "std::vector",
            "Example::",
            "`budget:: 400`",
            "%%budget:: 400%%",
            "~~budget:: 400~~",
            "```\nbudget:: 400\n```",
            ".. note:: 400",
            "use [[budget:: 400]]",
        ],
    )
    def test_what_is_none(self, text: str):
        assert not any(each.key for each in entries(parse(text), FilePath("a.md"), nested=True))

    def test_they_are_found_and_answered_by_key(self, at: Desk):
        memory = vault(
            at, {"Crane.md": self.CRANE, "Barge.md": "---\nbudget: 90\n---\n- a barge\n"}
        )
        first = found(memory, "crane budget")[0]
        assert (first.text, first.start_line) == ("budget: 400", 4)
        assert listed(memory, key="budget", file="Crane.md") == ["budget: 400"]
        assert listed(memory, key="Yard") == ["yard: Laksevåg"]
        assert listed(memory) == ["a barge", "lies in Bergen [berth:: 7]"]
        assert not memory.conflicts().conflicts

    def test_they_begin_no_session(self, at: Desk):
        curated = "---\nowner: Mira\n---\n# Memory\n\n- likes tea\n- yard:: Bergen\n"
        block = vault(at, {"MEMORY.md": curated}).context(BuildContext()).text
        assert "tea" in block
        assert "Mira" not in block
        assert "Bergen" not in block

    def test_the_past_of_one_is_that_of_its_key(self, dated: DatedMemory):
        for day, value in (("01", 400), ("02", 500), ("03", 600)):
            text = f"---\nbudget: {value}\n---\n# Crane\n\n- x {day}\nyard:: {value}\n"
            dated.at.write("memory/crane.md", text)
            dated.on(f"2026-02-{day}").save(Save())
        memory = dated.on("2026-02-04")
        for key in ("budget", "yard"):
            past = memory.history(ShowHistory(key, file="memory/crane.md"))
            assert isinstance(past, FactHistory)
            assert [(link.text, f"{link.start:%d}", link.status) for link in past.chain] == [
                (f"{key}: 400", "01", "superseded"),
                (f"{key}: 500", "02", "superseded"),
                (f"{key}: 600", "03", "current"),
            ]

    @pytest.mark.parametrize(
        "change",
        [
            Forget("budget: 400"),
            Forget("yard", file="Crane.md"),
            Remember("900", key="budget", file="Crane.md"),
            Remember("900", options=WriteOptions(supersedes="yard: Laksevåg")),
        ],
        ids=str,
    )
    def test_verbs_for_facts_name_the_line(self, at: Desk, change: Forget | Remember):
        memory = vault(at, {"Crane.md": self.CRANE})
        with pytest.raises(FactProblem, match=r"Crane\.md:(4|16) is a field") as problem:
            memory.apply(change)
        assert problem.value.code == "not-a-fact"
        assert at.read("Crane.md") == self.CRANE

    def test_a_line_is_changed_with_its_section(self, at: Desk):
        memory = vault(at, {"Crane.md": self.CRANE})
        edit = EditSection.of(
            "Crane", file="Crane.md", replace="built:: 1998", replacement="built:: 1999"
        )
        memory.apply(edit)
        assert listed(memory, key="built") == ["built: 1999"]

    def test_a_fact_is_not_written_as_one(self, at: Desk):
        memory = vault(at, {})
        done = memory.apply(Log("yard:: Bergen"))
        assert "- yard\\:: Bergen" in at.read(done.path)
        assert len(done.added) == 1
