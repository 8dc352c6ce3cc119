"""Undo failed writes, recover those of killed processes, and lock the workspace for writing."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from types import TracebackType

from mdmem.folder import files, hook_files, write_ahead
from mdmem.folder.write_ahead import LANDING_NAME, MoveRecord
from mdmem.model import CommitId, FilePath
from mdmem.model.errors import PathProblem, RepositoryProblem, StorageProblem
from mdmem.repo import Identity, Repository, commits
from mdmem.workspace import Say, Workspace, read_committed

Contents = Mapping[str, bytes]
"""Files by path below a folder; a single file has an empty path."""


class WriteSteps:
    def __init__(self) -> None:
        self._undoings: list[Callable[[BaseException], bool]] = []

    def add(self, undo: Callable[[BaseException], bool]) -> None:
        """Register an undo; it gets the failure, and returns False if it cannot undo."""
        self._undoings.append(undo)

    def keep(self) -> None:
        self._undoings.clear()

    def undo(self, problem: BaseException) -> None:
        """Undo the steps, newest first, up to one that cannot be: it depends on those before."""
        while self._undoings and self._undoings.pop()(problem):
            pass


class Transaction:
    """Several writes, undone newest first where the block raises."""

    def __init__(self) -> None:
        self._writes = ExitStack()

    def __enter__(self) -> Transaction:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if problem is not None:
            self._writes.__exit__(kind, problem, traceback)

    def begin_write(self) -> WriteSteps:
        """Add a write; if its undo fails, the others are still undone."""
        steps = WriteSteps()

        def undo(_: object, problem: BaseException | None, __: object) -> None:
            if problem is not None:
                steps.undo(problem)

        self._writes.push(undo)
        return steps


def not_put_back(
    problem: BaseException, paths: Iterable[FilePath], failure: OSError
) -> StorageProblem:
    return StorageProblem(
        f"{problem}; and {' and '.join(paths)} could not be put back: {failure.strerror}",
        "Free some disk space; the next command repairs it.",
    )


def clear_bits(
    repository: Repository, path: FilePath, bits: Sequence[str], steps: WriteSteps
) -> None:
    def restore(_: BaseException) -> bool:
        commits.set_bits(repository, path, bits)
        return True

    steps.add(restore)
    commits.clear_bits(repository, path, bits)


def read_contents(root: Path, path: FilePath) -> Contents:
    """Raises: PathProblem (`bad-path`: a repository, link or device; `unsupported-file`)."""
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
                raise PathProblem(
                    "bad-path",
                    f"{below} is neither a file nor a folder of this repository",
                    "Remove it by hand.",
                )
            if stat.S_ISREG(mode):
                contents[inner.relative_to(full_path).as_posix()] = files.read(inner) or b""
    return dict(sorted(contents.items()))


def _refuse_unreadable(problem: OSError) -> None:
    raise PathProblem(
        "unsupported-file", f"{problem.filename} cannot be read: {problem.strerror}"
    ) from problem


def digests_of(contents: Contents) -> Mapping[str, str]:
    return {path: files.digest(data) for path, data in contents.items()}


def holds(root: Path, path: FilePath, digests: Mapping[str, str]) -> bool:
    """True if a path holds exactly these bytes."""
    try:
        return digests_of(read_contents(root, path)) == digests
    except (PathProblem, OSError):
        return False


def discard(root: Path, record: MoveRecord) -> None:
    _remove(root, record)
    if files.identity(str(root / record.target)) and not files.identity(str(root / record.path)):
        files.move(root / record.target, root / record.path)


def _remove(root: Path, record: MoveRecord) -> None:
    removed = root / record.target
    if not holds(root, record.target, record.digests):
        return
    if removed.is_dir():
        files.remove_tree(removed)
        files.sync(removed.parent)
    else:
        files.remove(removed)


def settle_move(workspace: Workspace, record: MoveRecord, identity: Identity | None) -> str | None:
    """Finish or drop a killed process's move; return a line for the user, if any."""
    root, repository = workspace.root, workspace.repository
    paths = moved(record)
    is_there, is_moved = (
        files.identity(str(root / path)) is not None for path in (record.path, record.target)
    )
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


def _settle_unmoved(
    workspace: Workspace, record: MoveRecord, is_there: bool, is_moved: bool
) -> None:
    """The move had not begun, or the disk kept both names, or neither."""
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
    return (record.path,) if record.is_removal else (record.path, record.target)


def _is_committed(workspace: Workspace, record: MoveRecord) -> bool:
    listed = workspace.repository.run("ls-tree", "-z", "--name-only", "HEAD", "--", record.path)
    return listed.status == 0 and not listed.output


def lock_workspace(
    workspace: Workspace, say: Say, to_sync: bool = False
) -> AbstractContextManager[None]:
    """Hold the workspace's lock, to write or `to_sync`, which may bring settings that can be read.

    Raises RepositoryProblem (`busy`), WorkspaceProblem (as `settings_problem`).
    """
    if workspace.settings_problem is not None and not to_sync:
        raise workspace.settings_problem
    return files.lock(workspace.write_lock(), workspace.settings.lock_timeout, say)


def recover(workspace: Workspace, say: Say) -> None:
    """Raises: RepositoryProblem: git cannot take a commit now; the record stays."""
    record = write_ahead.load_record(workspace.state)
    message = None
    if record:
        workspace.require_ready()
        identity = workspace.identity()
        if isinstance(record, write_ahead.MoveRecord):
            message = settle_move(workspace, record, identity)
        else:
            message = _settle_write(workspace, record, identity)
    write_ahead.drop_record(workspace.state)
    if message:
        say(message)
    if (workspace.state.parent / LANDING_NAME).exists():
        # A module that only a killed sync needs.
        from mdmem.changes import placing  # noqa: PLC0415

        workspace.require_ready()
        say(placing.finish(workspace))


def _settle_write(
    workspace: Workspace, record: write_ahead.Record, identity: Identity | None
) -> str | None:
    paths = [file.path for file in record.files]
    try:
        contents = _settle_files(workspace, record)
    except PathProblem:
        return _kept(paths)
    digests = [files.digest(data) if data is not None else None for data in contents]
    written = [
        file for file, digest in zip(record.files, digests, strict=True) if digest == file.after
    ]
    pending = [file for file in written if workspace.repository.state(file.path).pending]
    if written and not pending:
        commits.renew_index(workspace.repository, [file.path for file in written])
        return None
    if len(written) < len(record.files):
        for file in pending:
            _put_back(workspace, file)
        changed = [
            file.path
            for file, digest in zip(record.files, digests, strict=True)
            if digest not in (file.before, file.after)
        ]
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
            made = _without_saves(workspace, made, path, data, order)
    return f"finished an interrupted write of {' and '.join(paths)}"


def _kept(paths: Sequence[FilePath]) -> str:
    was, it_is = ("was", "it is") if len(paths) == 1 else ("were", "they are")
    return f"{' and '.join(paths)} {was} changed after an interrupted write; {it_is} kept unchanged"


def _settle_files(workspace: Workspace, record: write_ahead.Record) -> list[bytes | None]:
    full_paths = [files.path_on_disk(workspace.root, file.path) for file in record.files]
    if record.second:
        write_ahead.put_second_in_place(full_paths, record)
    for full_path, file in zip(full_paths, record.files, strict=True):
        write_ahead.recover_temporaries(full_path, file)
    return [files.read(full_path) for full_path in full_paths]


def _put_back(workspace: Workspace, file: write_ahead.FileRecord) -> None:
    """Restore one of two files from HEAD, as somebody changed the other one."""
    full_path, repository = workspace.root / file.path, workspace.repository
    ours, committed = files.read(full_path), read_committed(workspace, file.path, repository.head())
    if file.before is None and committed is None:
        files.remove(full_path)
    elif committed is not None and files.digest(committed) == file.before:
        files.replace(full_path, committed, ours, files.temporary_name())


def _without_saves(
    workspace: Workspace,
    commit: CommitId,
    path: FilePath,
    data: bytes | None,
    order: commits.CommitOrder,
) -> CommitId:
    """Remove what somebody saved before git read the file from our commit: it is pending."""
    repository = workspace.repository
    if (
        data is None
        or commits.commit_has_bytes(repository, commit, path, data)
        or not hook_files.has_only_our_hooks(repository.hooks_dir)
    ):
        return commit
    return commits.replace_commit(repository, commit, path, data, order) or commit
