"""Recovery: finish, or drop, a write that a killed process left; and the lock under which everything is written."""

from __future__ import annotations

from contextlib import AbstractContextManager

from mdmem import files, write_ahead
from mdmem.errors import PathProblem, RepositoryProblem
from mdmem.repo import Identity, commits
from mdmem.workspace import Say, Workspace


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
        commits.commit(workspace.repository, order)
    except RepositoryProblem:
        # The git of the killed process may have outlived it, and have committed meanwhile.
        if workspace.repository.state(record.path).pending:
            raise
    return f"finished an interrupted write of {record.path}"
