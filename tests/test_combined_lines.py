"""The source of lines that only a merge made: the weaker of the two."""

import os
import sys
from pathlib import Path

import pytest
from conftest import World
from workspaces import NOW, Desk
from workspaces import desk as make_desk

from mdmem.editors.merge3.merging import merge3
from mdmem.memory import Memory
from mdmem.merge import setup
from mdmem.model import Source
from mdmem.model.history import ShowBlame
from mdmem.model.searches import ListFacts
from mdmem.model.writes import Action, EditSection, WriteOptions

SEED = "# Memory\n\n## Work\n\n- desk: by the window\n- likes Go\n"
WORDS, TAG = (
    ("desk: by the window", "desk: by the door"),
    ("desk: by the window", "desk: by the window #office"),
)
MADE = "- desk: by the door #office"


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    at = make_desk(world, repository, seed=SEED)
    setup.install(at.workspace, sys.executable)
    return at


def edit(at: Desk, change: tuple[str, str], source: Source) -> None:
    old, new = change
    at.apply(
        EditSection(
            "Work", Action.REPLACE, old, replacement=new, options=WriteOptions(source=source)
        )
    )


def source_of(at: Desk, key: str = "desk") -> tuple[Source | None, Source | None]:
    """The source of the fact with a key, as `facts` and as `blame` have it."""
    memory = Memory.open(at.root, os.environ)
    (fact,) = memory.facts(ListFacts(key=key)).facts
    blamed = next(
        line for line in memory.blame(ShowBlame("Work")).lines if line.text.startswith(f"- {key}:")
    )
    return fact.source, blamed.made.source


def test_a_merge_tells_what_it_made_of_both_sides():
    base, ours, theirs = (
        f"## A\n\n- x: {value}\n- y\n".encode() for value in ("one #a", "two #a", "one #a #b")
    )
    for sides in ((ours, theirs), (theirs, ours)):
        assert merge3(base, *sides).combinations == (
            ("- x: two #a #b", "- x: one #a #b", "- x: two #a"),
        )
    assert merge3(base, ours, base.replace(b"- y", b"- z")).combinations == ()


@pytest.mark.parametrize("weaker", ["words", "tag"])
@pytest.mark.parametrize("here", ["words", "tag"])
def test_words_of_one_side_and_tags_of_the_other(at: Desk, weaker: str, here: str):
    strengths = {"words": Source.INFERRED, "tag": Source.INFERRED} | {weaker: Source.AUTO}
    changes = {"words": WORDS, "tag": TAG}
    (there,) = {"words", "tag"} - {here}
    at.git("switch", "-qc", "side")
    edit(at, changes[there], strengths[there])
    at.git("switch", "-q", "main")
    edit(at, changes[here], strengths[here])
    at.git("merge", "-q", "--no-edit", "side")
    assert MADE in at.read("MEMORY.md")
    if weaker == "tag":  # a tag changes no source where the fact stays in its section
        assert source_of(at) == (Source.INFERRED, Source.INFERRED)
    else:
        assert source_of(at) == (Source.AUTO, Source.AUTO)


def test_a_merge_on_the_branch_that_is_brought_in(at: Desk):
    at.git("switch", "-qc", "side")
    edit(at, WORDS, Source.AUTO)
    at.git("switch", "-qc", "other", "main")
    edit(at, TAG, Source.INFERRED)
    at.git("merge", "-q", "--no-edit", "side")
    assert source_of(at) == (Source.AUTO, Source.AUTO)
    at.git("switch", "-q", "main")
    edit(at, ("likes Go", "likes Go and Rust"), Source.INFERRED)
    at.git("merge", "-q", "--no-edit", "other")
    assert MADE in at.read("MEMORY.md")
    assert source_of(at) == (Source.AUTO, Source.AUTO)


def test_a_line_that_a_person_wrote_into_the_merge_is_theirs(at: Desk):
    at.git("switch", "-qc", "side")
    edit(at, WORDS, Source.AUTO)
    at.git("switch", "-q", "main")
    edit(at, ("likes Go", "likes Rust"), Source.AUTO)
    at.git("merge", "-q", "--no-commit", "side")
    at.write("MEMORY.md", at.read("MEMORY.md").replace("- likes", "- phone: 555\n- likes"))
    at.git("commit", "-q", "-a", "--no-edit")
    assert source_of(at, "phone") == (Source.USER_STATED, Source.USER_STATED)
    assert source_of(at) == (Source.AUTO, Source.AUTO)
