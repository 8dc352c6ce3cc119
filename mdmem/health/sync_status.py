"""The state of a workspace towards its remote, and what syncs brought in."""

from __future__ import annotations

import time
from collections.abc import Iterator

from mdmem.folder import files
from mdmem.health import dating, incoming
from mdmem.model.errors import MdmemError, number_of, verb
from mdmem.model.pipelines import BLOCKED, FAILING, PASSING_FAILURES, QUEUED, SYNCED
from mdmem.model.reads import WorkspaceStatus
from mdmem.repo import commit_seconds
from mdmem.repo.remotes import find_remote
from mdmem.startup.records import replace
from mdmem.workspace import Workspace
from mdmem.workspace.sync_state import SyncState, load_state

_FAILING = frozenset({"remote-auth", "remote-refused"})
_DAY = 86_400
_LISTED_DAYS = 30
_ASIDE, _KEPT = "Mdmem-Set-Aside: ", "Mdmem-Kept-File: "


def with_sync(workspace: Workspace, status: WorkspaceStatus) -> WorkspaceStatus:
    state = load_state(workspace)
    if state is None:
        return status
    return replace(
        status,
        sync=describe(workspace, state),
        notes=(*status.notes, *notes(workspace, state)),
    )


def state_name(state: SyncState) -> str:
    if state.error is None:
        return SYNCED
    if state.error.code in (*PASSING_FAILURES, "running", "busy"):
        return QUEUED
    return FAILING if state.error.code in _FAILING else BLOCKED


def describe(workspace: Workspace, state: SyncState) -> str:
    unsent = len(_unsent(workspace, state))
    not_pushed = f"{number_of(unsent, 'commit')} not pushed" if unsent else ""
    if state.error is None:
        return (
            waiting(workspace, state)
            or not_pushed
            or f"synced with {_remote(workspace)} {_ago(time.time() - (state.last or 0))}"
        )
    message = state.error.message
    match state_name(state):
        case "blocked":
            return f"blocked: {message}"
        case "failing":
            return f"failing since {workspace.local_time(int(state.error.since)):%A}: {message}"
    tried = f"last attempt {workspace.local_time(int(state.tried or 0)):%H:%M}: {message}"
    return "; ".join(filter(None, (not_pushed, tried)))


def _remote(workspace: Workspace) -> str:
    try:
        branch = workspace.repository.branch() or ""
        named = workspace.settings.sync_remote
        return find_remote(workspace.repository, branch, 0, named).name
    except MdmemError:
        return "a remote"


def waiting(workspace: Workspace, state: SyncState) -> str:
    """A line on what a pull request has to bring to the branch; empty for nothing."""
    times = _unsent(workspace, state) if state.branch else ()
    if not times:
        return ""
    age = dating.span(workspace.now().timestamp() - min(times))
    return f"{state.branch} waits to be merged: {number_of(len(times), 'commit')}, {age}"


def _unsent(workspace: Workspace, state: SyncState) -> list[int]:
    """The times of the commits that are not at the remote."""
    repository = workspace.repository
    if state.seen is None or not repository.has(state.seen) or repository.head() is None:
        return []
    had = [f"^{each}" for each in (state.seen, state.agreed) if each and repository.has(each)]
    rows = repository.git("log", "--no-merges", "--format=%ct", "HEAD", *had).split()
    return list(map(commit_seconds, rows))


def _ago(seconds: float) -> str:
    for size, name in ((_DAY, "day"), (3600, "h"), (60, "min")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{number_of(count, name) if name == 'day' else f'{count} {name}'} ago"
    return "just now"


def notes(workspace: Workspace, state: SyncState) -> Iterator[str]:
    yield from (each.line for each in incoming.current(workspace, state.incoming))
    repository = workspace.repository
    if repository.head() is None:
        return
    since = int(workspace.now().timestamp()) - _LISTED_DAYS * _DAY
    named = (f"--grep=^{_ASIDE}", f"--grep=^{_KEPT}")
    listed = repository.git("log", f"--since={since}", *named, "--format=%B")
    for line in dict.fromkeys(listed.decode("utf-8", "replace").splitlines()):
        if line.startswith(_KEPT):
            path = line.removeprefix(_KEPT)
            yield f"{path} was removed on one machine; it is kept"
        if line.startswith(_ASIDE):
            path, _, blob = line.removeprefix(_ASIDE).rpartition(" ")
            yield f"{path} was changed on two machines, and one version set aside: git show {blob}"


def take_news(workspace: Workspace) -> str:
    """A line on what syncs brought in since this was asked last; empty for nothing to tell."""
    (workspace.state / files.SYNC_NEWS).unlink(missing_ok=True)
    state = load_state(workspace)
    told = list(incoming.current(workspace, state.incoming)) if state else []
    if not told:
        return ""
    more = f" (and {len(told) - 1} more: {verb('status')})" if told[1:] else ""
    return f"a sync brought in: {told[0].line}{more}"
