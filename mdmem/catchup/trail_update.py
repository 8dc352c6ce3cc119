"""The trail: the table of versions, brought up to HEAD before it is read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from mdmem import files, trail
from mdmem.errors import StorageProblem
from mdmem.model import CommitId
from mdmem.startup import late
from mdmem.trail import BrokenTrail, Trail
from mdmem.workspace import Progress, Say, Workspace

if TYPE_CHECKING:
    from mdmem.catchup import replay
else:
    replay = late.module("mdmem.catchup.replay")


def stored_trail(workspace: Workspace) -> Trail:
    """The table as it is, not caught up."""
    return Trail.open(workspace.state, _settings(workspace))


def _settings(workspace: Workspace) -> str:
    """A digest of everything besides the commits that the table is made from."""
    shallow = workspace.repository.common_dir / "shallow"
    borders = shallow.read_bytes() if shallow.exists() else b""
    what = repr((workspace.settings.extra_paths, workspace.root.name, workspace.repository.prefix, borders))
    return hashlib.sha256(what.encode("utf-8", "surrogateescape")).hexdigest()[:16]


@contextmanager
def fresh_trail(workspace: Workspace, say: Say | None = None, progress: Progress | None = None) -> Iterator[Trail]:
    """The table, brought up to HEAD first; one in memory where it cannot be written.

    One that turns out to be damaged while it is read is deleted, so that the next one who asks has it built anew.
    """
    head = workspace.repository.head()
    with stored_trail(workspace) as known:
        if (known.newest_commit.commit if known.newest_commit else None) == head:
            yield from _watched(workspace, known)
            return
    try:
        workspace.ensure_state()
        with files.lock(workspace.state / files.TRAIL_LOCK, workspace.settings.lock_timeout, say):
            # HEAD as it is now: history may have been purged while the lock was waited for.
            known = _stored(workspace, workspace.repository.head(), progress)
    except (OSError, StorageProblem):
        known = _caught_up(workspace, Trail.in_memory(), head, progress)
    with known:
        yield from _watched(workspace, known)


def _watched(workspace: Workspace, known: Trail) -> Iterator[Trail]:
    try:
        yield known
    except BrokenTrail:
        with suppress(OSError):
            trail.discard(workspace.state)
        raise


def _stored(workspace: Workspace, head: CommitId | None, progress: Progress | None) -> Trail:
    """The table in the state folder, brought up to a commit; built anew where it is damaged."""
    try:
        return _caught_up(workspace, stored_trail(workspace), head, progress)
    except BrokenTrail:
        return _caught_up(workspace, Trail.create(workspace.state, _settings(workspace)), head, progress)


def _caught_up(workspace: Workspace, known: Trail, head: CommitId | None, progress: Progress | None) -> Trail:
    """A table, brought up to a commit; closed where that fails."""
    try:
        replay.replay_new_commits(workspace, known, head, progress)
    except BaseException:
        known.close()
        raise
    return known
