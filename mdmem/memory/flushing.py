"""`flush`: tell whether a session is due, mark its cycle, and give it the prompts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from mdmem import packaged_files
from mdmem.errors import PathProblem, RepositoryProblem
from mdmem.given import sessions
from mdmem.given.sessions import SessionRecord
from mdmem.model.flushes import SILENT, Flush, FlushPrompts, FlushResult
from mdmem.startup.records import replace
from mdmem.workspace import Workspace

_SYSTEM_TEMPLATE, _USER_TEMPLATE = "flush_system.md", "flush.md"


def flush(workspace: Workspace, request: Flush) -> FlushResult:
    """Tell whether a session is due, and unless that is all that was asked, mark its cycle and give the prompts.

    Of several callers at once one gets the prompts.

    Raises:
        PathProblem: `file-not-found`: there is no such transcript.
    """
    session, tokens, cycle = _measure(request, workspace.environment.get("MDMEM_SESSION"))
    record = sessions.read_record(workspace.state, session)
    result = _result(request, record, tokens, cycle)
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
        record = sessions.update_record(workspace.state, session, mark)
    except (OSError, RepositoryProblem):
        return replace(result, due=False)
    return replace(result, due=won, flushed=record.flushed, prompts=write_prompts(workspace, request.silent) if won else None)


def flush_figures(result: FlushResult) -> Mapping[str, int | bool]:
    """The figures that the event of a flush keeps."""
    return {"due": result.due, "tokens": result.tokens, "threshold": result.threshold, "cycle": result.cycle}


def _measure(request: Flush, default_session: str | None) -> tuple[str, int, int]:
    """The session, its tokens and its cycle."""
    if request.transcript is None:
        return request.session or default_session or "", request.tokens or 0, request.cycle or 0
    try:
        with Path(request.transcript).open("rb") as lines:
            progress = sessions.read_progress(lines)
    except OSError as problem:
        raise PathProblem("file-not-found", f"{request.transcript[:200]!r} cannot be read: {problem.strerror}") from problem
    return request.session or progress.session or default_session or "", progress.tokens, progress.cycle


def _result(request: Flush, record: SessionRecord, tokens: int, cycle: int) -> FlushResult:
    return FlushResult(
        due=request.is_due(tokens, cycle, record.flushed),
        tokens=tokens,
        threshold=request.threshold,
        cycle=cycle,
        flushed=record.flushed,
    )


def _is_writable(workspace: Workspace) -> bool:
    """True if today's log could be written."""
    log = workspace.root / workspace.log_path(workspace.now().date())
    folders = [folder for folder in (log.parent, workspace.root) if folder.is_dir()]
    return os.access(folders[0], os.W_OK) and (not log.exists() or os.access(log, os.W_OK))


def write_prompts(workspace: Workspace, silent: str = SILENT) -> FlushPrompts:
    """The two prompts, by the user's clock."""
    day = workspace.now().date()
    path = workspace.log_path(day)
    settings = workspace.settings

    def filled(own: str | None, template: str) -> str:
        text = own if own is not None else packaged_files.template(template)
        for name, value in (("day", day.isoformat()), ("path", str(path)), ("silent", silent)):
            text = text.replace(f"{{{name}}}", value)
        return text.strip()

    return FlushPrompts(
        system=filled(settings.flush_system, _SYSTEM_TEMPLATE),
        user=filled(settings.flush_prompt, _USER_TEMPLATE),
        day=day.isoformat(),
        path=path,
    )
