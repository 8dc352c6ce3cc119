"""The content of a moved file or folder, and the recovery of a move that a killed process left.

A removal begins as a move too, to a temporary name beside it: that takes one step, can be undone, and what somebody saved at the last moment
is seen before anything is deleted.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

from mdmem import files
from mdmem.errors import PathProblem, RepositoryProblem
from mdmem.model import FilePath
from mdmem.repo import Identity, commits
from mdmem.workspace import Workspace, read_committed
from mdmem.write_ahead import MoveRecord

Contents = Mapping[str, bytes]
"""The files in a folder by their paths below it; a file that is moved itself has an empty path."""


def read_contents(root: Path, path: FilePath) -> Contents:
    """Read all files of a folder, or one file.

    Raises:
        PathProblem: `bad-path`: another repository, a link or a device is in it; `unsupported-file`.
    """
    full_path = root / path
    if not stat.S_ISDIR(full_path.lstat().st_mode):
        return {"": files.read(files.path_on_disk(root, path)) or b""}
    contents = {}
    for folder, folders, names in os.walk(full_path, onerror=_refuse_unreadable):
        for name in (*folders, *names):
            inner = Path(folder, name)
            below = inner.relative_to(root).as_posix()
            mode = inner.lstat().st_mode
            if name == ".git" or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                raise PathProblem("bad-path", f"{below} is neither a file nor a folder of this repository", "Remove it by hand.")
            if stat.S_ISREG(mode):
                contents[inner.relative_to(full_path).as_posix()] = files.read(inner) or b""
    return dict(sorted(contents.items()))


def _refuse_unreadable(problem: OSError) -> None:
    raise PathProblem("unsupported-file", f"{problem.filename} cannot be read: {problem.strerror}") from problem


def digests_of(contents: Contents) -> Mapping[str, str]:
    """The digest of each file."""
    return {path: files.digest(data) for path, data in contents.items()}


def holds(root: Path, path: FilePath, digests: Mapping[str, str]) -> bool:
    """True if a folder, or a file, holds just these bytes."""
    try:
        return digests_of(read_contents(root, path)) == digests
    except (PathProblem, OSError):
        return False


def discard(root: Path, record: MoveRecord) -> None:
    """Delete what was moved away to be removed; what somebody saved into it meanwhile goes back to its old path."""
    _remove(root, record)
    if files.identity(str(root / record.target)) and not files.identity(str(root / record.path)):
        files.move(root / record.target, root / record.path)


def _remove(root: Path, record: MoveRecord) -> None:
    """Delete what has the new name, if it holds what was moved."""
    removed = root / record.target
    if not holds(root, record.target, record.digests):
        return
    if removed.is_dir():
        shutil.rmtree(removed)
        files.sync(removed.parent)
    else:
        files.remove(removed)


def settle(workspace: Workspace, record: MoveRecord, identity: Identity | None) -> str | None:
    """Finish or drop a move that a killed process left. Return a line for the user; None where there is nothing to say."""
    root, repository = workspace.root, workspace.repository
    paths = moved(record)
    is_there, is_moved = (files.identity(str(root / path)) is not None for path in (record.path, record.target))
    if is_there or not is_moved:
        _settle_unmoved(workspace, record, is_there, is_moved)
        return None
    if not _is_committed(workspace, record):
        if not holds(root, record.target, record.digests):
            if record.is_removal:
                files.move(root / record.target, root / record.path)
            return f"{record.path} was changed in an interrupted move; it is kept unchanged"
        order = commits.CommitOrder(
            paths=paths,
            message=record.message,
            date=record.date,
            hook_timeout=workspace.settings.hook_timeout,
            identity=identity,
        )
        try:
            commits.commit(repository, order)
        except RepositoryProblem:
            # The git of the killed process may have outlived it, and have committed meanwhile.
            if not _is_committed(workspace, record):
                raise
    else:
        commits.renew_index(repository, paths)
    if record.is_removal:
        discard(root, record)
    return f"finished an interrupted write of {record.path}"


def _settle_unmoved(workspace: Workspace, record: MoveRecord, is_there: bool, is_moved: bool) -> None:
    """Settle a move that had not begun, or of which the disk kept a half: both names, or neither."""
    root = workspace.root
    if is_there and is_moved and record.is_removal:
        _remove(root, record)
    elif _is_committed(workspace, record):
        return
    elif is_there and is_moved and holds(root, record.path, record.digests):
        _remove(root, record)
    elif not is_there and not is_moved:
        for inner in record.digests:
            path = FilePath(f"{record.path}/{inner}".rstrip("/"))
            if (data := read_committed(workspace, path, workspace.repository.head())) is not None:
                files.make_folders((root / path).parent)
                files.write_durably(root / path, data)
                files.sync((root / path).parent)


def moved(record: MoveRecord) -> tuple[FilePath, ...]:
    """The paths that the commit of a move is of."""
    return (record.path,) if record.is_removal else (record.path, record.target)


def _is_committed(workspace: Workspace, record: MoveRecord) -> bool:
    """True if HEAD has nothing any more at the old path."""
    listed = workspace.repository.run("ls-tree", "-z", "--name-only", "HEAD", "--", record.path)
    return listed.status == 0 and not listed.output
