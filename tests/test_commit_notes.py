"""Notes of commits: whose statement a change is, and commits that change no file."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from workspaces import Desk, code_of, desk

from mdmem.changes.apply import change_note
from mdmem.changes.commit_notes import (
    commit_note,
    complete_options,
    saved_message,
    with_pipeline,
    with_provenance,
)
from mdmem.changes.file_write import Plan
from mdmem.changes.verbs import RevertEdit
from mdmem.editors import EditResult
from mdmem.model import CommitId, FactId, FilePath, Op, Provenance, Source, Supersession
from mdmem.model.writes import Forget, PipelineNote, WriteOptions
from mdmem.past.messages import CommitNote
from mdmem.text.document import parse

NOTE = CommitNote(
    op=Op.RETRACT,
    path=FilePath("MEMORY.md"),
    section=("Work",),
    provenance=Provenance(),
    retracts=(FactId("0123abcd"),),
)

FACT = FactId("0123abcd")
PIPELINE = PipelineNote(
    actor="dream",
    run="dream/1",
    cites=("claude/1#2", "claude/1#3"),
    attribute="employer",
    sender="Bob",
    dreamt=CommitId("12345678"),
)


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


@pytest.mark.parametrize(
    ("confidence", "expected"), [(None, Source.USER_STATED.confidence), (0.25, 0.25)]
)
def test_the_confidence_is_that_of_the_source_unless_one_is_named(
    at: Desk, confidence: float | None, expected: float
) -> None:
    options = WriteOptions(source=Source.USER_STATED, confidence=confidence)
    assert complete_options(at.workspace, options).confidence == expected
    assert with_provenance(at.workspace, NOTE, options).provenance.confidence == expected


@pytest.mark.parametrize(
    ("own_work", "pipeline", "actor"),
    [(False, None, "agent/a"), (True, None, None), (False, PIPELINE, None), (True, PIPELINE, None)],
)
def test_what_mdmem_does_of_its_own_accord_is_nobodys_order(
    at: Desk, own_work: bool, pipeline: PipelineNote | None, actor: str | None
) -> None:
    options = WriteOptions(actor="agent/a", session="1", pipeline=pipeline)
    completed = replace(options, actor=actor, confidence=Source.INFERRED.confidence)
    assert complete_options(at.workspace, options, own_work) == completed


@pytest.mark.parametrize(
    ("facts", "pipeline", "expected"),
    [
        (
            (FactId("0"), FACT),
            PIPELINE,
            {
                "cites": ((FACT, "claude/1#2"), (FACT, "claude/1#3")),
                "keys": ((FACT, "employer"),),
                "senders": ((FACT, "Bob"),),
            },
        ),
        ((FACT,), replace(PIPELINE, cites=(), attribute=None, sender=None), {}),
        ((), PIPELINE, {}),
    ],
)
def test_what_a_pipeline_says_of_the_last_fact(
    facts: tuple[FactId, ...], pipeline: PipelineNote, expected: dict[str, Any]
) -> None:
    note = replace(NOTE, provenance=Provenance(source=Source.AUTO, actor="agent/a"))
    provenance = Provenance(source=Source.AUTO, actor="dream")
    assert with_pipeline(note, pipeline, facts) == replace(
        NOTE, provenance=provenance, run="dream/1", dreamt=CommitId("12345678"), **expected
    )


def test_the_note_of_a_change_says_all_that_its_plan_does(at: Desk) -> None:
    supersedes, other = (Supersession(FACT, FactId("1")),), FactId("2")
    result = EditResult(
        text="b",
        op=Op.REPLACE,
        section=("A",),
        also=True,
        confirms=(other,),
        more_sections=(("B",),),
    )
    path = FilePath("MEMORY.md")
    plan = Plan(
        path=path,
        full_path=Path(path),
        before=b"a",
        old=parse("a"),
        new=parse("b"),
        edit=result,
        removed=(FACT,),
        supersedes=supersedes,
        ended=(FactId("3"),),
        retracts=(FactId("4"),),
    )
    revert = RevertEdit(
        path=path,
        before="b",
        after="a",
        only=None,
        reverts=CommitId("1234567"),
        options=WriteOptions(reason="because"),
        from_log=False,
    )
    note = CommitNote(
        op=Op.REPLACE,
        path=path,
        section=("A",),
        provenance=Provenance(
            source=Source.INFERRED, confidence=Source.INFERRED.confidence, reason="because"
        ),
        supersedes=supersedes,
        ended=(FactId("3"),),
        also=True,
        confirms=(other,),
        retracts=(FactId("4"),),
        reverts=(CommitId("1234567"),),
        more_sections=(("B",),),
    )
    assert change_note(at.workspace, plan, revert) == note
    forget = Forget(FACT, options=WriteOptions(reason="because"))
    assert change_note(at.workspace, plan, forget) == replace(note, reverts=())
    of_pipeline = change_note(
        at.workspace, plan, replace(forget, options=WriteOptions(pipeline=PIPELINE))
    )
    assert (of_pipeline.keys, of_pipeline.run) == (((FACT, "employer"),), "dream/1")


def test_all_that_the_options_say_of_its_origin(at: Desk) -> None:
    options = WriteOptions(
        source=Source.AUTO, confidence=0.5, actor="agent/a", session="1", reason="because"
    )
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
def test_an_agent_claims_what_it_calls_the_users(
    at: Desk, source: Source, actor: str | None, claimed_by: str | None
) -> None:
    settings = at.world.home / ".config" / "mdmem" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('people = ["Ada"]\n')
    assert (
        with_provenance(at.workspace, NOTE, WriteOptions(source=source, actor=actor)).claimed_by
        == claimed_by
    )


def test_a_claimed_save_of_what_is_no_text(at: Desk) -> None:
    message = saved_message(
        at.workspace, "MEMORY.md: edited by hand", [(None, b"- caf\xe9\n")], "agent/a"
    )
    assert "caf\N{REPLACEMENT CHARACTER}" in message


def test_a_commit_of_a_note_alone(at: Desk) -> None:
    at.git("config", "--remove-section", "user")
    at.write("mdmem.toml", 'author = "Memory <memory@example.org>"\n')
    assert commit_note(at.workspace, NOTE) == at.git("rev-parse", "HEAD").strip()
    assert at.git("log", "-1", "--format=%an <%ae>") == "Memory <memory@example.org>\n"
    assert at.git("log", "-1", "--format=%B").startswith(
        "MEMORY.md: retract Work\n\nMdmem-Op: retract\n"
    )
    assert at.git("show", "--format=", "--name-only") == ""


def test_no_note_is_committed_while_git_merges(at: Desk) -> None:
    at.write(".git/MERGE_HEAD", at.git("rev-parse", "HEAD"))
    before = at.git("rev-parse", "HEAD")
    assert code_of(lambda: commit_note(at.workspace, NOTE)) == "repository-busy"
    assert at.git("rev-parse", "HEAD") == before
