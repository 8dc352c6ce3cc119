"""An agent's write as a proposal, with the answer of a write."""

from __future__ import annotations

from mdmem.changes import moves, proposing
from mdmem.model.proposals import Propose
from mdmem.model.writes import (
    CreateFile,
    EditSection,
    Forget,
    InsertText,
    Log,
    Remember,
    ReplaceText,
    WholeFileEdit,
    WriteResult,
)
from mdmem.proposals import own_files
from mdmem.startup.records import replace
from mdmem.workspace import Say, Workspace


def propose(
    workspace: Workspace, edit: EditSection | Log | Remember | Forget | WholeFileEdit, say: Say
) -> WriteResult:
    """Propose an edit; files, index and HEAD stay. Raises: MdmemError as `proposing.propose`."""
    if isinstance(edit, CreateFile | ReplaceText | InsertText):
        actor = workspace.given_actor(edit.options.actor)
        moves.require_possible(own_files.seen_by(workspace, actor), edit)
    done = proposing.propose(workspace, Propose(edit=edit), say)
    return replace(
        done.result,
        proposed=done.proposal is not None or done.result.changed,
        proposal=done.proposal,
    )
