"""Checks of the sync with the remote: the last try, and files of which it kept one version."""

from __future__ import annotations

from collections.abc import Iterator

from mdmem.doctor.inspection import Finding, Inspection, Level
from mdmem.errors import SyncProblem
from mdmem.repo.remotes import find_remote
from mdmem.sync import status
from mdmem.sync.sync_state import load_state
from mdmem.wording import verb


def check_sync(inspection: Inspection) -> Iterator[Finding]:
    """A sync that fails, that cannot begin, or after which a person may want to look."""
    workspace = inspection.workspace
    if workspace.settings.sync == "auto":
        branch, named = workspace.repository.branch() or "", workspace.settings.sync_remote
        try:
            find_remote(workspace.repository, branch, 1, named)
        except SyncProblem as problem:
            yield Finding(
                check="sync",
                level=Level.WARNING,
                message=f'sync = "auto", and {problem.message}',
                hint=problem.hint,
            )
    state = load_state(workspace)
    if state is None:
        return
    yield Finding(
        check="sync",
        level=Level.WARNING if state.error else Level.OK,
        message=status.describe(workspace, state),
        hint=f"To try again: {verb('sync')}" if state.error else "",
    )
    for note in status.notes(workspace, state):
        yield Finding(check="sync", level=Level.NOTE, message=note)
