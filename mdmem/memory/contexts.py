"""`context`, `flush` and the guard: all read and update the record of what a session was given."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from mdmem.context import gather, given
from mdmem.context.given import SessionRecord
from mdmem.folder import installed
from mdmem.model.errors import PathProblem, RepositoryProblem
from mdmem.model.prompts import (
    SILENT,
    BuildContext,
    ContextBlock,
    Flush,
    FlushPrompts,
    FlushResult,
    Purpose,
    part_counts,
)
from mdmem.queries import search
from mdmem.startup.records import replace
from mdmem.workspace import Progress, Say, Workspace

_SYSTEM_TEMPLATE, _USER_TEMPLATE = "flush_system.md", "flush.md"


def session_of(workspace: Workspace, named: str | None) -> str | None:
    """The session that a call is for: the one named, else MDMEM_SESSION."""
    return named or workspace.environment.get("MDMEM_SESSION") or None


def give_context(
    workspace: Workspace,
    request: BuildContext,
    say: Say,
    progress: Progress | None,
    without_pool: bool = False,
) -> ContextBlock:
    """The block for a prompt, added to the session's record unless it is only looked at.

    If the record cannot be written, a later block may repeat some entries; nothing fails.
    """
    session = session_of(workspace, request.session) if request.is_recorded else request.session
    if session and request.compacted and request.is_recorded:
        _update(workspace, session, SessionRecord.in_next_cycle)
    record = given.read_record(workspace.state, session) if session else None
    block = gather.build_context(
        workspace, request, frozenset(record.given if record else ()), say, progress, without_pool
    )
    if session and record and block.text and request.is_recorded:
        starts = request.block_purpose is Purpose.SESSION
        block = replace(block, unchanged=starts and record.block == given.block_hash(block.text))
        _update(
            workspace,
            session,
            lambda current: (current.with_block(block.text) if starts else current).with_given(
                block.ids
            ),
        )
    return block


def _update(
    workspace: Workspace, session: str, change: Callable[[SessionRecord], SessionRecord]
) -> None:
    with suppress(OSError, RepositoryProblem):
        workspace.ensure_state()
        given.update_record(workspace.state, session, change)


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


def drop_given(
    workspace: Workspace, texts: Sequence[str], session: str | None, is_summary: bool, say: Say
) -> given.GuardedTexts:
    """The texts with anything new to this session and to memory, without blocks.

    After the summary of a compaction, what the session was given in the cycle before is forgotten.
    """
    named = session_of(workspace, session)
    record = given.read_record(workspace.state, named) if named else None
    given_ids = frozenset((*record.given, *record.before)) if record else frozenset()
    stripped = [text for text in map(given.strip_blocks, texts) if text.strip()]
    guarded = given.drop_given(search.nearest_entries(workspace, stripped, say), given_ids)
    if named and is_summary:
        _update(workspace, named, SessionRecord.after_summary)
    return replace(guarded, dropped=guarded.dropped + len(texts) - len(stripped))


def flush(workspace: Workspace, request: Flush) -> FlushResult:
    """Tell whether a session is due, and by default mark its cycle and give one caller the prompts.

    Raises PathProblem (`file-not-found`: there is no such transcript).
    """
    session, tokens, cycle = _measure(request, workspace.environment.get("MDMEM_SESSION"))
    record = given.read_record(workspace.state, session)
    result = FlushResult(
        due=request.is_due(tokens, cycle, record.flushed),
        tokens=tokens,
        threshold=request.threshold,
        cycle=cycle,
        flushed=record.flushed,
    )
    if not result.due or not _is_writable(workspace):
        return replace(result, due=False)
    if request.check:
        return result
    won = False

    def mark(current: SessionRecord) -> SessionRecord:
        nonlocal won
        won = request.is_due(tokens, cycle, current.flushed)
        return current.flushed_in(cycle, tokens) if won else current

    try:
        workspace.ensure_state()
        record = given.update_record(workspace.state, session, mark)
    except (OSError, RepositoryProblem):
        return replace(result, due=False)
    return replace(
        result,
        due=won,
        flushed=record.flushed,
        prompts=write_prompts(workspace, request.silent) if won else None,
    )


def flush_figures(result: FlushResult) -> Mapping[str, int | bool]:
    """The figures that the event of a flush keeps."""
    return {
        "due": result.due,
        "tokens": result.tokens,
        "threshold": result.threshold,
        "cycle": result.cycle,
    }


def _measure(request: Flush, default_session: str | None) -> tuple[str, int, int]:
    if request.transcript is None:
        return request.session or default_session or "", request.tokens or 0, request.cycle or 0
    try:
        with Path(request.transcript).open("rb") as lines:
            progress = given.read_progress(lines)
    except OSError as problem:
        raise PathProblem(
            "file-not-found", f"{request.transcript[:200]!r} cannot be read: {problem.strerror}"
        ) from problem
    return (
        request.session or progress.session or default_session or "",
        progress.tokens,
        progress.cycle,
    )


def _is_writable(workspace: Workspace) -> bool:
    log = workspace.root / workspace.log_path(workspace.now().date())
    folders = [folder for folder in (log.parent, workspace.root) if folder.is_dir()]
    return os.access(folders[0], os.W_OK) and (not log.exists() or os.access(log, os.W_OK))


def write_prompts(workspace: Workspace, silent: str = SILENT) -> FlushPrompts:
    """The two prompts, by the user's clock."""
    day = workspace.now().date()
    path = workspace.log_path(day)
    settings = workspace.settings

    def filled(own: str | None, template: str) -> str:
        text = own if own is not None else installed.template(template)
        for name, value in (("day", day.isoformat()), ("path", str(path)), ("silent", silent)):
            text = text.replace(f"{{{name}}}", value)
        return text.strip()

    return FlushPrompts(
        system=filled(settings.flush_system, _SYSTEM_TEMPLATE),
        user=filled(settings.flush_prompt, _USER_TEMPLATE),
        day=day.isoformat(),
        path=path,
    )
