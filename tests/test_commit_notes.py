"""Notes of commits: whose statement a change is, and commits that change no file."""

from pathlib import Path

import pytest
from conftest import World
from workspaces import Desk, code_of, desk

from mdmem import history
from mdmem.changes.commit_notes import commit_note, complete_options, saved_message, with_provenance
from mdmem.model import FactId, FilePath, Op, Provenance, Source
from mdmem.model.writes import WriteOptions

NOTE = history.CommitNote(
    op=Op.RETRACT, path=FilePath("MEMORY.md"), section=("Work",), provenance=Provenance(), retracts=(FactId("0123abcd"),)
)


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


@pytest.mark.parametrize(("confidence", "expected"), [(None, Source.USER_STATED.confidence), (0.25, 0.25)])
def test_the_confidence_is_that_of_the_source_unless_one_is_named(at: Desk, confidence: float | None, expected: float) -> None:
    options = WriteOptions(source=Source.USER_STATED, confidence=confidence)
    assert complete_options(at.workspace, options).confidence == expected
    assert with_provenance(at.workspace, NOTE, options).provenance.confidence == expected


def test_all_that_the_options_say_of_its_origin(at: Desk) -> None:
    options = WriteOptions(source=Source.AUTO, confidence=0.5, actor="agent/a", session="1", reason="because")
    assert with_provenance(at.workspace, NOTE, options).provenance == Provenance(
        source=Source.AUTO, confidence=0.5, actor="agent/a", session="1", reason="because"
    )


@pytest.mark.parametrize(
    ("source", "actor", "claimed_by"),
    [
        (Source.USER_STATED, "agent/a", "agent/a"),
        (Source.USER_STATED, "Ada", None),
        (Source.USER_STATED, None, None),
        (Source.INFERRED, "agent/a", None),
    ],
)
def test_an_agent_claims_what_it_calls_the_users(at: Desk, source: Source, actor: str | None, claimed_by: str | None) -> None:
    settings = at.world.home / ".config" / "mdmem" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('people = ["Ada"]\n')
    assert with_provenance(at.workspace, NOTE, WriteOptions(source=source, actor=actor)).claimed_by == claimed_by


def test_a_claimed_save_of_what_is_no_text(at: Desk) -> None:
    message = saved_message(at.workspace, "MEMORY.md: edited by hand", [(None, b"- caf\xe9\n")], "agent/a")
    assert "caf\N{REPLACEMENT CHARACTER}" in message


def test_a_commit_of_a_note_alone(at: Desk) -> None:
    at.git("config", "--remove-section", "user")
    at.write("mdmem.toml", 'author = "Memory <memory@example.org>"\n')
    assert commit_note(at.workspace, NOTE) == at.git("rev-parse", "HEAD").strip()
    assert at.git("log", "-1", "--format=%an <%ae>") == "Memory <memory@example.org>\n"
    assert at.git("log", "-1", "--format=%B").startswith("MEMORY.md: retract Work\n\nMdmem-Op: retract\n")
    assert at.git("show", "--format=", "--name-only") == ""


def test_no_note_is_committed_while_git_merges(at: Desk) -> None:
    at.write(".git/MERGE_HEAD", at.git("rev-parse", "HEAD"))
    before = at.git("rev-parse", "HEAD")
    assert code_of(lambda: commit_note(at.workspace, NOTE)) == "repository-busy"
    assert at.git("rev-parse", "HEAD") == before
