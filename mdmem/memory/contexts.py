"""`context` and the guard, each with the record of what a session was given: read it first, update it afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from mdmem.errors import RepositoryProblem
from mdmem.given import guard, sessions
from mdmem.given.sessions import SessionRecord
from mdmem.model.contexts import BuildContext, ContextBlock, Purpose, part_counts
from mdmem.queries import restated
from mdmem.queries.context import gather
from mdmem.startup.records import replace
from mdmem.workspace import Progress, Say, Workspace

if TYPE_CHECKING:
    from mdmem.given.guard import GuardedTexts


def session_of(workspace: Workspace, named: str | None) -> str | None:
    """The session that a call is for: the one named, else MDMEM_SESSION."""
    return named or workspace.environment.get("MDMEM_SESSION") or None


def give_context(workspace: Workspace, request: BuildContext, say: Say, progress: Progress | None) -> ContextBlock:
    """The block for a prompt; it is added to the session's record.

    If the record cannot be written, a later block may repeat some entries; nothing fails.
    """
    session = session_of(workspace, request.session)
    if session and request.compacted:
        _update(workspace, session, SessionRecord.in_next_cycle)
    record = sessions.read_record(workspace.state, session) if session else None
    block = gather.build_context(workspace, request, frozenset(record.given if record else ()), say, progress)
    if session and record and block.text:
        starts = request.block_purpose is Purpose.SESSION
        block = replace(block, unchanged=starts and record.block == sessions.block_hash(block.text))
        _update(workspace, session, lambda current: (current.with_block(block.text) if starts else current).with_given(block.ids))
    return block


def _update(workspace: Workspace, session: str, change: Callable[[SessionRecord], SessionRecord]) -> None:
    """Change the record of a session, if it can be written."""
    with suppress(OSError, RepositoryProblem):
        workspace.ensure_state()
        sessions.update_record(workspace.state, session, change)


def note_compaction(workspace: Workspace, session: str) -> None:
    """Note in a session's record the commit at which its compaction begins."""
    head = workspace.repository.head()
    _update(workspace, session, lambda record: replace(record, head=head))


def context_figures(request: BuildContext, block: ContextBlock) -> Mapping[str, Any]:
    """The figures that the event of a block keeps: numbers and the names of parts, never a text."""
    gate = {None: None, True: "open", False: "closed"}[block.carried]
    return {
        "for": request.block_purpose.value,
        "budget": block.budget,
        "tokens": block.tokens,
        "parts": {name: list(counts) for name, counts in part_counts(block).items()},
        **({"gate": gate} if gate else {}),
        **({"top": round(block.top, 2)} if block.top is not None else {}),
        "given": block.repeated,
    }


def drop_given(workspace: Workspace, texts: Sequence[str], session: str | None, is_summary: bool, say: Say) -> GuardedTexts:
    """The texts that say anything new: without blocks, and without what this session was given or memory holds.

    After the summary of a compaction, what the session was given in the cycle before is forgotten.
    """
    named = session_of(workspace, session)
    record = sessions.read_record(workspace.state, named) if named else None
    given_ids = frozenset((*record.given, *record.before)) if record else frozenset()
    stripped = [text for text in map(guard.strip_blocks, texts) if text.strip()]
    guarded = guard.drop_given(restated.nearest_entries(workspace, stripped, say), given_ids)
    if named and is_summary:
        _update(workspace, named, SessionRecord.after_summary)
    return replace(guarded, dropped=guarded.dropped + len(texts) - len(stripped))
