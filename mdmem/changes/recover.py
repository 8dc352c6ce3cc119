"""Recovery: finish, or drop, a write that a killed process left; and the lock under which everything is written."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from mdmem import files, write_ahead
from mdmem.errors import PathProblem, RepositoryProblem
from mdmem.model import CommitId, FilePath
from mdmem.repo import Identity, commits
from mdmem.startup import late
from mdmem.workspace import Say, Workspace

if TYPE_CHECKING:
    from mdmem import hookfiles
    from mdmem.repo import mixed_commits
else:
    hookfiles = late.module("mdmem.hookfiles")
    mixed_commits = late.module("mdmem.repo.mixed_commits")


def lock_workspace(workspace: Workspace, say: Say) -> AbstractContextManager[None]:
    """Hold the workspace's lock.

    Raises:
        RepositoryProblem: `busy`.
    """
    workspace.ensure_state()
    return files.lock(workspace.state / files.LOCK_NAME, workspace.settings.lock_timeout, say)


def recover(workspace: Workspace, say: Say) -> None:
    """Finish, or drop, what a killed process left, and say so at once: what comes after it may be refused.

    Raises:
        RepositoryProblem: git cannot take a commit now; the record stays.
    """
    record = write_ahead.load_record(workspace.state)
    message = None
    if record:
        workspace.repository.require_ready(workspace.settings.allow_detached, workspace.repository.branch())
        message = _settle(workspace, record, workspace.identity())
    write_ahead.drop_record(workspace.state)
    if message:
        say(message)


def _settle(workspace: Workspace, record: write_ahead.Record, identity: Identity | None) -> str | None:
    """Finish what a record speaks of, or let it be; a line for the user, None where there is nothing to say."""
    kept = f"{record.path} was changed after an interrupted write; it is kept as it is"
    try:
        full_path = files.path_on_disk(workspace.root, record.path)
        write_ahead.recover_temporaries(full_path, record)
        data = files.read(full_path)
    except PathProblem:
        return kept
    digest = files.digest(data) if data is not None else None
    if digest not in (record.after, record.before):
        return kept
    if digest == record.before:
        return None
    if not workspace.repository.state(record.path).pending:
        commits.renew_index(workspace.repository, [record.path])
        return None
    order = commits.CommitOrder(
        paths=(record.path,),
        message=record.message,
        date=record.date,
        hook_timeout=workspace.settings.hook_timeout,
        identity=identity,
    )
    try:
        made = commits.commit(workspace.repository, order)
    except RepositoryProblem:
        # The git of the killed process may have outlived it, and have committed meanwhile.
        if workspace.repository.state(record.path).pending:
            raise
    else:
        _leave_saves_out(workspace, made.id, record.path, data, order)
    return f"finished an interrupted write of {record.path}"


def _leave_saves_out(workspace: Workspace, commit: CommitId, path: FilePath, data: bytes | None, order: commits.CommitOrder) -> None:
    """Take what somebody saved before git read the file out of our commit: it is theirs, and pending."""
    repository = workspace.repository
    if data is None or commits.commit_has_bytes(repository, commit, path, data) or not hookfiles.has_only_our_hooks(repository.hooks_dir):
        return
    mixed_commits.replace_commit(repository, commit, path, data, order)
