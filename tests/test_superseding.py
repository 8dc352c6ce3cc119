"""`supersedes`: what it names goes out of a file that is edited in place, and is marked in a day's log."""

from pathlib import Path

import pytest
from conftest import World
from workspaces import NOW, Desk, desk, refused

from mdmem.facts import fact_id
from mdmem.model.writes import Action, Change, EditSection, Log, Remember, WriteOptions

SEED = "# Memory\n\n## Facts\n\n- shell: zsh\n- tea\n\n## Other\n\n- tea\n\n- editor: vi\n  - with tabs\n\ntext\n"
ZSH, VI = fact_id("shell: zsh"), fact_id("editor: vi\n- with tabs")


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository, seed=SEED)


def edit(section: str, text: str, supersedes: str, **more: object) -> EditSection:
    return EditSection(section, Action.APPEND, text, options=WriteOptions(supersedes=supersedes), **more)  # type: ignore[arg-type]


HEAD, FACTS, OTHER = SEED.partition("## Facts")[0], "## Facts\n\n- shell: zsh\n- tea\n\n", SEED[SEED.index("## Other") :]


@pytest.mark.parametrize(
    ("change", "after", "old"),
    [
        (
            edit("Other", "- shell: fish", "shell: zsh"),
            HEAD + FACTS.replace("- shell: zsh\n", "") + OTHER + "\n- shell: fish\n",
            ZSH,
        ),
        (
            edit("Facts", "- editor: ed", VI),
            HEAD + FACTS.replace("- tea\n", "- tea\n- editor: ed\n") + OTHER.replace("- editor: vi\n  - with tabs\n\n", ""),
            VI,
        ),
        (
            Remember("fish", key="sh", section="Other", options=WriteOptions(supersedes=ZSH)),
            HEAD + FACTS.replace("- shell: zsh\n", "") + OTHER + "\n- sh: fish\n",
            ZSH,
        ),
    ],
)
def test_it_goes_out_of_the_file_in_the_same_commit(at: Desk, change: Change, after: str, old: str) -> None:
    done = at.apply(change)
    assert at.read("MEMORY.md") == after
    assert ([(pair.old, pair.new) for pair in done.supersedes], done.removed) == ([(old, done.added[0])], (old,))
    assert len(at.subjects()) == 2
    assert not at.apply(change).changed


def test_its_neighbours_stay_byte_for_byte(at: Desk) -> None:
    at.apply(edit("Other", "- new", VI))
    assert at.read("MEMORY.md") == SEED.replace("- editor: vi\n  - with tabs\n\ntext\n", "text\n\n- new\n")


def test_of_several_the_one_in_the_edited_section_is_meant(at: Desk) -> None:
    at.write("memory/topic.md", "- tea\n")
    at.commit()
    refused(at, edit("Memory", "- water", "tea"), "fact-ambiguous")
    at.apply(edit("Other", "- water", "tea"))
    assert not at.apply(edit("Other", "- water", "tea")).changed
    assert at.read("MEMORY.md").split("## Other")[0] == SEED.split("## Other")[0]
    assert at.read("memory/topic.md") == "- tea\n"


def test_a_log_does_not_only_mark_it(at: Desk) -> None:
    refused(at, Log("no more tabs", options=WriteOptions(supersedes=VI)), "supersede-in-place")


def test_what_is_not_taken_out_leaves_the_file(at: Desk) -> None:
    at.apply(Log("rain"))
    done = at.apply(edit("Facts", "- sun", "rain"))
    assert [pair.old for pair in done.supersedes] == [fact_id("rain")]
    assert "- rain" in at.read("memory/2026-03-05.md")
    refused(at, edit("Facts", "- sun", "snow"), "fact-not-found")
