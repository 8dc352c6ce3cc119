"""The state of a workspace towards its remote, for the status."""

from __future__ import annotations

import time
from collections.abc import Iterator

from mdmem.errors import MdmemError
from mdmem.model.reads import WorkspaceStatus
from mdmem.model.syncing import BLOCKED, FAILING, PASSING_FAILURES, QUEUED, SYNCED
from mdmem.repo.remotes import find_remote
from mdmem.startup.records import replace
from mdmem.sync.sync_state import SyncState, load_state
from mdmem.wording import number_of
from mdmem.workspace import Workspace

_FAILING = frozenset({"remote-auth", "remote-refused"})
_DAY = 86_400
_LISTED_DAYS = 30
"""The days for which files that were set aside are named."""


def with_sync(workspace: Workspace, status: WorkspaceStatus) -> WorkspaceStatus:
    """The status with a line about the last sync, and notes of files set aside."""
    state = load_state(workspace)
    if state is None:
        return status
    notes = (*status.notes, *_set_aside(workspace))
    return replace(status, sync=_line(workspace, state), notes=notes)


def state_name(state: SyncState) -> str:
    """`synced`, `queued`, `blocked` or `failing`."""
    if state.error is None:
        return SYNCED
    if state.error.code in (*PASSING_FAILURES, "running", "busy"):
        return QUEUED
    return FAILING if state.error.code in _FAILING else BLOCKED


def _line(workspace: Workspace, state: SyncState) -> str:
    unsent = _unsent(workspace, state)
    waiting = f"{number_of(unsent, 'commit')} not pushed" if unsent else ""
    if state.error is None:
        return (
            waiting or f"synced with {_remote(workspace)} {_ago(time.time() - (state.last or 0))}"
        )
    message = state.error.message
    match state_name(state):
        case "blocked":
            return f"blocked: {message}"
        case "failing":
            return f"failing since {workspace.local_time(int(state.error.since)):%A}: {message}"
    tried = f"last attempt {workspace.local_time(int(state.tried or 0)):%H:%M}: {message}"
    return "; ".join(filter(None, (waiting, tried)))


def _remote(workspace: Workspace) -> str:
    try:
        branch = workspace.repository.branch() or ""
        named = workspace.settings.sync_remote
        return find_remote(workspace.repository, branch, 0, named).name
    except MdmemError:
        return "a remote"


def _unsent(workspace: Workspace, state: SyncState) -> int:
    repository = workspace.repository
    if state.seen is None or not repository.has(state.seen) or repository.head() is None:
        return 0
    return int(repository.git("rev-list", "--count", "--no-merges", f"{state.seen}..HEAD"))


def _ago(seconds: float) -> str:
    for size, name in ((_DAY, "day"), (3600, "h"), (60, "min")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{number_of(count, name) if name == 'day' else f'{count} {name}'} ago"
    return "just now"


def _set_aside(workspace: Workspace) -> Iterator[str]:
    """Lines on the files of which the remote's version was taken."""
    repository = workspace.repository
    if repository.head() is None:
        return
    prefix = "Mdmem-Set-Aside: "
    since = int(workspace.now().timestamp()) - _LISTED_DAYS * _DAY
    listed = repository.git(
        "log", f"--since={since}", "--merges", f"--grep=^{prefix}", "--format=%B"
    )
    for line in dict.fromkeys(listed.decode("utf-8", "replace").splitlines()):
        if line.startswith(prefix):
            path, _, blob = line.removeprefix(prefix).rpartition(" ")
            yield f"{path} was changed on two machines, and one version set aside: git show {blob}"
