"""Recovery: finish, or drop, a write that a killed process left; and the lock under which everything is written."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

from mdmem import files, hookfiles, write_ahead
from mdmem.changes import moved_paths
from mdmem.errors import PathProblem, RepositoryProblem
from mdmem.model import CommitId, FilePath
from mdmem.repo import Identity, commits, mixed_commits
from mdmem.workspace import Say, Workspace, read_committed


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
        identity = workspace.identity()
        if isinstance(record, write_ahead.MoveRecord):
            message = moved_paths.settle(workspace, record, identity)
        else:
            message = _settle(workspace, record, identity)
    write_ahead.drop_record(workspace.state)
    if message:
        say(message)


def _settle(workspace: Workspace, record: write_ahead.Record, identity: Identity | None) -> str | None:
    """Finish or drop the write of a record. Return a line for the user; None where there is nothing to say."""
    paths = [file.path for file in record.files]
    try:
        contents = _settle_files(workspace, record)
    except PathProblem:
        return _kept(paths)
    digests = [files.digest(data) if data is not None else None for data in contents]
    written = [file for file, digest in zip(record.files, digests, strict=True) if digest == file.after]
    pending = [file for file in written if workspace.repository.state(file.path).pending]
    if written and not pending:
        commits.renew_index(workspace.repository, [file.path for file in written])
        return None
    if len(written) < len(record.files):
        for file in pending:
            _put_back(workspace, file)
        changed = [file.path for file, digest in zip(record.files, digests, strict=True) if digest not in (file.before, file.after)]
        return _kept(changed) if changed else None
    order = commits.CommitOrder(
        paths=paths,
        message=record.message,
        date=record.date,
        hook_timeout=workspace.settings.hook_timeout,
        identity=identity,
    )
    try:
        made = commits.commit(workspace.repository, order).id
    except RepositoryProblem:
        # The git of the killed process may have outlived it, and have committed meanwhile.
        if any(workspace.repository.state(path).pending for path in paths):
            raise
    else:
        for path, data in zip(paths, contents, strict=True):
            made = _leave_saves_out(workspace, made, path, data, order)
    return f"finished an interrupted write of {' and '.join(paths)}"


def _kept(paths: Sequence[FilePath]) -> str:
    return f"{' and '.join(paths)} was changed after an interrupted write; it is kept unchanged"


def _settle_files(workspace: Workspace, record: write_ahead.Record) -> list[bytes | None]:
    """Put the second of two files in place where the first is, and saves that were displaced; what the files hold now.

    Raises:
        PathProblem: one is no file that mdmem edits.
    """
    full_paths = [files.path_on_disk(workspace.root, file.path) for file in record.files]
    if record.second:
        write_ahead.put_second_in_place(full_paths, record)
    for full_path, file in zip(full_paths, record.files, strict=True):
        write_ahead.recover_temporaries(full_path, file)
    return [files.read(full_path) for full_path in full_paths]


def _put_back(workspace: Workspace, file: write_ahead.FileRecord) -> None:
    """Give one of two files its former bytes back, those of HEAD, since the other one was changed by somebody."""
    full_path, repository = workspace.root / file.path, workspace.repository
    ours, committed = files.read(full_path), read_committed(workspace, file.path, repository.head())
    if file.before is None and committed is None:
        files.remove(full_path)
    elif committed is not None and files.digest(committed) == file.before:
        files.replace(full_path, committed, ours, files.temporary_name())


def _leave_saves_out(workspace: Workspace, commit: CommitId, path: FilePath, data: bytes | None, order: commits.CommitOrder) -> CommitId:
    """Take out of our commit what somebody saved before git read the file: it is theirs, and pending. Return the commit."""
    repository = workspace.repository
    if data is None or commits.commit_has_bytes(repository, commit, path, data) or not hookfiles.has_only_our_hooks(repository.hooks_dir):
        return commit
    return mixed_commits.replace_commit(repository, commit, path, data, order) or commit
