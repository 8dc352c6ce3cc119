"""Edits of one file: which file each goes to, whether that takes it, and the texts it brings in."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from command_table import IN_A_LOG, LOG, NEW_TEXTS
from conftest import World
from workspaces import Desk, code_of, desk

from mdmem.changes.plan import plan_edit
from mdmem.changes.verbs import FileEdit, InstructionsEdit, RevertEdit, target_path, verb_of
from mdmem.model import CommitId, FilePath, Source
from mdmem.model.writes import DigestDay, Remember, WriteOptions
from mdmem.repo import branch_commits
from mdmem.text.facts import fact_id


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


def revert_edit(from_log: bool) -> RevertEdit:
    return RevertEdit(
        path=LOG,
        before="",
        after="- x\n",
        only=None,
        reverts=CommitId("1234567"),
        options=WriteOptions(),
        from_log=from_log,
    )


OWN_EDITS: list[tuple[FileEdit, bool]] = [
    (DigestDay(day=date(2026, 3, 4), entries=(), run="r"), True),
    (revert_edit(from_log=True), True),
    (revert_edit(from_log=False), False),
    (InstructionsEdit(LOG, False, WriteOptions()), False),
]
"""Edits of a day's log that are no commands, and whether it takes them."""


@pytest.mark.parametrize(
    ("edit", "is_taken"), [*IN_A_LOG, *OWN_EDITS], ids=lambda value: type(value).__name__
)
def test_a_days_log_takes_what_adds_to_it(at: Desk, edit: FileEdit, is_taken: bool) -> None:
    if is_taken:
        assert target_path(at.workspace, edit) == LOG
    else:
        assert code_of(lambda: target_path(at.workspace, edit)) == "append-only"


@pytest.mark.parametrize(("edit", "texts"), NEW_TEXTS)
def test_the_texts_that_an_edit_brings_in(edit: FileEdit, texts: list[str]) -> None:
    assert list(verb_of(edit).new_texts(edit)) == texts


def test_in_a_proposal_a_value_replaces_a_better_founded_one(at: Desk) -> None:
    at.write("MEMORY.md", "# Memory\n\n## Work\n\n- k: 1\n")
    at.commit("by hand")
    head = CommitId(at.head())
    view = replace(at.workspace, contents=branch_commits.CommitFiles(at.workspace.repository, head))
    edit = Remember("k: 2", section="Work", options=WriteOptions(source=Source.AUTO))
    for workspace, removed in ((view, (fact_id("k: 1"),)), (at.workspace, ())):
        assert plan_edit(workspace, edit, FilePath("MEMORY.md")).removed == removed
