"""The state between two syncs, of which losing it costs one fetch; and whether one is due."""

from __future__ import annotations

import json
import time
from contextlib import suppress

from mdmem.folder import files
from mdmem.model import CommitId, FilePath
from mdmem.model.errors import RepositoryProblem, SyncProblem
from mdmem.model.pipelines import Incoming, Sync
from mdmem.repo import Repository
from mdmem.repo.remotes import Remote, find_remote
from mdmem.startup.records import asdict, dataclass, field, replace
from mdmem.workspace import Workspace

_MOST_ARRIVED = 20


@dataclass(frozen=True, slots=True)
class SyncError:
    """The reason of the last failure, and when the first such one was (seconds since 1970).

    `head` and `theirs` are the commits of both sides at the last one.
    """

    code: str
    message: str
    since: float
    head: CommitId | None = None
    theirs: CommitId | None = None


@dataclass(frozen=True, slots=True)
class SyncState:
    """The past of a workspace's syncs; times are in seconds since 1970.

    - `line`: the URL and the branch there, as a digest; of others nothing is known.
    - `seen`: the commit at which both sides stood last.
    - `last`: the last success. `tried`: the last try. `failures`: tries since a success, or since
      a person's.
    - `incoming`: what syncs brought in that a commit here would have been refused for.
    - `next`: when to try again by itself; None: not before somebody does something.
    - `proposals`: the commits that both sides had last, by the full names of their branches.
    - `refused`: the last push to the branch was. `agreed`: this machine's commit when both sides
      had the same text last, whatever their commits. `branch`: the one it pushes to instead.
    - `arrived`: lines for the next commit made here, on what came with a date ahead of the clock.
    """

    line: str
    seen: CommitId | None = None
    last: float | None = None
    tried: float | None = None
    failures: int = 0
    next: float | None = None
    incoming: tuple[Incoming, ...] = ()
    error: SyncError | None = None
    proposals: dict[str, CommitId] = field(default_factory=dict)
    refused: bool = False
    agreed: CommitId | None = None
    branch: str = ""
    arrived: tuple[str, ...] = ()


def load_state(workspace: Workspace) -> SyncState | None:
    """The stored state; None without a readable one."""
    try:
        fields = json.loads((workspace.state / files.SYNC_STATE).read_text(encoding="utf-8"))
        error, arrived = fields.pop("error"), tuple(map(str, fields.pop("arrived", ())))
        incoming = tuple(Incoming(**each) for each in fields.pop("incoming", ()))
        incoming += tuple(map(_of_old_secret, fields.pop("secrets", ())))
        error = SyncError(**error) if error else None
        return SyncState(**fields, incoming=incoming, error=error, arrived=arrived)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _of_old_secret(path: FilePath) -> Incoming:
    """A file with a likely secret, as versions before 0.3.0 remember it."""
    return Incoming(
        path=path,
        code="secret-found",
        message="possible secret added",
        before=None,
        commit=None,
        author="",
        can_revert=False,
        time=0,
    )


def state_of(workspace: Workspace, remote: Remote) -> SyncState:
    """The state of a remote and branch; an empty one if the last sync was with another."""
    line = files.digest(f"{remote.url}\n{remote.branch}".encode())
    state = load_state(workspace)
    return state if state and state.line == line else SyncState(line=line)


def save_state(workspace: Workspace, state: SyncState) -> None:
    """Store a state; of what has arrived that which is stored, for writers take it meanwhile."""
    kept = load_state(workspace)
    _store(workspace, replace(state, arrived=kept.arrived if kept else ()))


def keep_arrival(workspace: Workspace, line: str) -> None:
    state = load_state(workspace) or SyncState(line="")
    _store(workspace, replace(state, arrived=(*state.arrived, line)[-_MOST_ARRIVED:]))


def _store(workspace: Workspace, state: SyncState) -> None:
    # `asdict` leaves the records in a record to `json`.
    files.write_cache(workspace.state / files.SYNC_STATE, json.dumps(asdict(state), default=asdict))


# With `sync = "auto"`: whether a sync is due, and the quiet moment after writes

_QUIET_SECONDS, _LONGEST_WAIT_SECONDS, _LOOK_SECONDS = 10.0, 60.0, 0.5
_BY_HAND = frozenset({"remote-rewound", "remote-purged", "purge-unpushed", "remote-unrelated"})
"""Failures that wait for a person; those without a time are otherwise retried when HEAD or the
remote's branch moves."""


def find_due(workspace: Workspace, only_unsent: bool, when_quiet: bool) -> Sync | None:
    """The sync to make now by itself; None if none is due, or the user has not adopted memory here.

    `only_unsent`: only where HEAD is not what the remote has. `when_quiet`: wait until nobody has
    written for a moment, which is left to another process that waits already.
    """
    if workspace.settings.sync != "auto" or not workspace.is_adopted:
        return None
    request, repository = Sync(automatic=True), workspace.repository
    try:
        branch, named = repository.branch() or "", workspace.settings.sync_remote
        remote = find_remote(repository, branch, request.wait, named)
    except SyncProblem:  # `doctor` says that there is no remote
        return None
    workspace.ensure_state()
    if only_unsent and not _is_unsent(repository, state_of(workspace, remote)):
        return None
    if when_quiet and not _wait_until_quiet(workspace):
        return None
    return request if _is_due(repository, remote, state_of(workspace, remote)) else None


def _is_unsent(repository: Repository, state: SyncState) -> bool:
    """True if HEAD is neither at the remote nor what it could not be synced with."""
    head = repository.head()
    is_blocked = state.error is not None and state.next is None and state.error.head == head
    return head not in (state.seen, state.agreed) and not is_blocked


def _wait_until_quiet(workspace: Workspace) -> bool:
    """Wait until HEAD has not moved for a moment; False if another process waits for that."""
    try:
        with files.lock(workspace.state / files.SYNC_QUEUE_LOCK, 0):
            began = moved = time.monotonic()
            head = workspace.repository.head()
            while time.monotonic() < min(moved + _QUIET_SECONDS, began + _LONGEST_WAIT_SECONDS):
                time.sleep(_LOOK_SECONDS)  # nobody tells of a commit, and HEAD is read in no time
                if (current := workspace.repository.head()) != head:
                    head, moved = current, time.monotonic()
    except RepositoryProblem as problem:
        if problem.code != "busy":
            raise
        return False
    return True


def _is_due(repository: Repository, remote: Remote, state: SyncState) -> bool:
    error = state.error
    if error is None:
        return True
    if state.next is not None:
        return not (state.tried or 0) <= time.time() < state.next
    if error.code in _BY_HAND:
        return False
    if repository.head() != error.head:
        return True
    with suppress(SyncProblem):
        return remote.tip() != error.theirs
    return False
