"""The state between two syncs; losing it costs one fetch."""

from __future__ import annotations

import json

from mdmem.folder import files
from mdmem.model import CommitId, FilePath
from mdmem.repo.remotes import Remote
from mdmem.startup.records import asdict, dataclass, field
from mdmem.workspace import Workspace

STATE_NAME = "sync.json"


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
    - `secrets`: the files in which a likely secret came in.
    - `next`: when to try again by itself; None: not before somebody does something.
    - `proposals`: the commits that both sides had last, by the full names of their branches.
    """

    line: str
    seen: CommitId | None = None
    last: float | None = None
    tried: float | None = None
    failures: int = 0
    next: float | None = None
    secrets: tuple[FilePath, ...] = ()
    error: SyncError | None = None
    proposals: dict[str, CommitId] = field(default_factory=dict)


def load_state(workspace: Workspace) -> SyncState | None:
    """The stored state; None without a readable one."""
    try:
        fields = json.loads((workspace.state / STATE_NAME).read_text(encoding="utf-8"))
        error = fields.pop("error")
        fields["secrets"] = tuple(fields.get("secrets", ()))
        return SyncState(**fields, error=SyncError(**error) if error else None)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def state_of(workspace: Workspace, remote: Remote) -> SyncState:
    """The state of a remote and branch; an empty one if the last sync was with another."""
    line = files.digest(f"{remote.url}\n{remote.branch}".encode())
    state = load_state(workspace)
    return state if state and state.line == line else SyncState(line=line)


def save_state(workspace: Workspace, state: SyncState) -> None:
    """Store a state."""
    fields = asdict(state) | {"error": asdict(state.error) if state.error else None}
    files.write_cache(workspace.state / STATE_NAME, json.dumps(fields))
