"""Open the trail, brought up to HEAD."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from mdmem.catchup import boundary, replay
from mdmem.errors import RepositoryProblem, StorageProblem
from mdmem.folder import files
from mdmem.model import CommitId
from mdmem.trail import BrokenTrail, Trail, discard
from mdmem.workspace import Progress, Say, Workspace


def stored_trail(workspace: Workspace) -> Trail:
    """The trail as it is stored, not brought up to HEAD."""
    return Trail.open(workspace.state, settings_digest(workspace))


def settings_digest(workspace: Workspace) -> str:
    """A digest of everything that the trail depends on besides the commits."""
    borders = workspace.history_borders()
    settings = repr(
        (
            workspace.settings.extra_paths,
            workspace.settings.paths,
            workspace.daily,
            workspace.root.name,
            workspace.repository.prefix,
            borders,
        )
    )
    return hashlib.sha256(settings.encode("utf-8", "surrogateescape")).hexdigest()[:16]


@contextmanager
def updated_trail(
    workspace: Workspace, say: Say | None = None, progress: Progress | None = None
) -> Iterator[Trail]:
    """The trail, brought up to HEAD first; in memory where it cannot be written.

    If it turns out to be damaged while it is read, it is deleted: the next call rebuilds it.
    """
    head = workspace.repository.head()
    with stored_trail(workspace) as trail:
        if trail.head == head:
            yield from _discarded_if_broken(workspace, trail)
            return
    try:
        workspace.ensure_state()
        with files.lock(workspace.state / files.TRAIL_LOCK, workspace.settings.lock_timeout, say):
            # HEAD is read again: history may have been purged while this waited for the lock.
            trail = _updated_file(workspace, workspace.repository.head(), progress)
    except (OSError, StorageProblem):
        trail = _updated_in_memory(workspace, head, progress)
    with trail:
        yield from _discarded_if_broken(workspace, trail)


def _discarded_if_broken(workspace: Workspace, trail: Trail) -> Iterator[Trail]:
    try:
        yield trail
    except BrokenTrail:
        with suppress(OSError):
            discard(workspace.state)
        raise


def _updated_file(workspace: Workspace, head: CommitId | None, progress: Progress | None) -> Trail:
    """The stored trail, brought up to a commit (or begun with it); rebuilt if damaged."""
    if workspace.history_boundary is None:
        boundary.forget_boundary(workspace)  # a fetch may have brought what was missing
    try:
        return _updated(workspace, stored_trail(workspace), head, progress)
    except BrokenTrail:
        return _updated(
            workspace, Trail.create(workspace.state, settings_digest(workspace)), head, progress
        )
    except RepositoryProblem:
        if head is None or workspace.history_boundary == head or not boundary.is_partial(workspace):
            raise
        boundary.set_boundary(workspace, head)
        return _updated(workspace, stored_trail(workspace), head, progress)


def _updated_in_memory(
    workspace: Workspace, head: CommitId | None, progress: Progress | None
) -> Trail:
    try:
        return _updated(workspace, Trail.in_memory(), head, progress)
    except RepositoryProblem:
        if head is None or not boundary.is_partial(workspace):
            raise
        return _updated(workspace, Trail.in_memory(), head, progress, head)


def _updated(
    workspace: Workspace,
    trail: Trail,
    head: CommitId | None,
    progress: Progress | None,
    begins_with: CommitId | None = None,
) -> Trail:
    try:
        replay.replay_new_commits(
            workspace, trail, head, begins_with or workspace.history_boundary, progress
        )
    except BaseException:
        trail.close()
        raise
    return trail
