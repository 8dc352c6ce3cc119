"""Arguments and results of a sync."""

from __future__ import annotations

from mdmem.errors import UsageProblem
from mdmem.model import CommitId, FactId, FilePath
from mdmem.startup.records import dataclass
from mdmem.wording import field

SYNCED, QUEUED, BLOCKED, FAILING = "synced", "queued", "blocked", "failing"
"""The states of a workspace towards its remote: equal; to be tried again; waiting for a person;
refused by the remote."""
PASSING_FAILURES = ("remote-unreachable", "sync-timeout", "sync-busy")
"""Failures that a later try does without a person."""


@dataclass(frozen=True, slots=True)
class Sync:
    """Bring this machine and the remote together, within `wait` seconds.

    `all_files`: commits of other files than memory too. `join`: also if they have no commit in
    common, since both began separately. `purge`: remove what was purged on one side from the other
    too. `automatic`: nobody asked for it.
    """

    dry_run: bool = False
    wait: float = 60.0
    all_files: bool = False
    join: bool = False
    purge: bool = False
    automatic: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.wait < 1e6:
            raise UsageProblem(f"{field('wait')} is {self.wait:g}", "It is a number of seconds.")


@dataclass(frozen=True, slots=True)
class SetAside:
    """A file of which the other side's version stands; `blob` holds this machine's."""

    path: FilePath
    blob: str


@dataclass(frozen=True, slots=True)
class SyncResult:
    """The outcome of a sync, or of a dry run.

    `pulled` and `pushed` count commits that are no merges, `merged` is the last merge that it made.
    `taken_in` are the devices whose branches were merged.
    `kept` facts and `kept_files` were changed on one side and removed on the other.
    """

    remote: str
    branch: str
    state: str
    pulled: int
    pushed: int
    merged: CommitId | None = None
    taken_in: tuple[str, ...] = ()
    contradicts: tuple[tuple[FactId, FactId], ...] = ()
    kept: tuple[FactId, ...] = ()
    kept_files: tuple[FilePath, ...] = ()
    set_aside: tuple[SetAside, ...] = ()
    retries: int = 0
    ms: float = 0.0
    dry_run: bool = False
