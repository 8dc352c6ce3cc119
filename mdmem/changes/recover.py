"""Undo failed writes, recover those of killed processes, and lock the workspace for writing."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from types import TracebackType

from mdmem.folder import files, hook_files, journal
from mdmem.folder.journal import CommitStep, FileStep, Journal, Rename
from mdmem.model import CommitId, FilePath
from mdmem.model.errors import PathProblem, RepositoryProblem, StorageProblem
from mdmem.repo import Repository, commits
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


def discard(root: Path, rename: Rename) -> None:
    _remove(root, rename)
    if files.identity(str(root / rename.target)) and not files.identity(str(root / rename.path)):
        files.move(root / rename.target, root / rename.path)


def _remove(root: Path, rename: Rename) -> None:
    removed = root / rename.target
    if not holds(root, rename.target, rename.digests):
        return
    if removed.is_dir():
        files.remove_tree(removed)
        files.sync(removed.parent)
    else:
        files.remove(removed)


def settle_move(workspace: Workspace, rename: Rename, then: CommitStep) -> str | None:
    """Finish or drop a killed process's move; return a line for the user, if any."""
    root, repository = workspace.root, workspace.repository
    is_there, is_moved = (
        files.identity(str(root / path)) is not None for path in (rename.path, rename.target)
    )
    if is_there or not is_moved:
        _settle_unmoved(workspace, rename, is_there, is_moved)
        return None
    if not _is_committed(workspace, rename):
        if not holds(root, rename.target, rename.digests):
            if rename.is_removal:
                files.move(root / rename.target, root / rename.path)
            return f"{rename.path} was changed in an interrupted move; it is kept unchanged"
        order = commit_order(workspace, moved(rename), then)
        _commit(repository, order, lambda: _is_committed(workspace, rename))
    else:
        commits.renew_index(repository, moved(rename))
    if rename.is_removal:
        discard(root, rename)
    return f"finished an interrupted write of {rename.path}"


def commit_order(
    workspace: Workspace, paths: Sequence[FilePath], step: CommitStep
) -> commits.CommitOrder:
    """Raises: RepositoryProblem (`no-identity`)."""
    return commits.CommitOrder(
        paths=paths,
        message=step.message,
        date=step.date,
        hook_timeout=workspace.settings.hook_timeout,
        identity=workspace.identity(),
    )


def _commit(
    repository: Repository, order: commits.CommitOrder, is_committed: Callable[[], bool]
) -> CommitId | None:
    """None where the git of the killed process has outlived it, and has committed meanwhile."""
    try:
        return commits.commit(repository, order).id
    except RepositoryProblem:
        if not is_committed():
            raise
    return None


def _settle_unmoved(workspace: Workspace, rename: Rename, is_there: bool, is_moved: bool) -> None:
    """The move had not begun, or the disk kept both names, or neither."""
    root = workspace.root
    if is_there and is_moved and rename.is_removal:
        _remove(root, rename)
    elif _is_committed(workspace, rename):
        return
    elif is_there and is_moved and holds(root, rename.path, rename.digests):
        _remove(root, rename)
    elif not is_there and not is_moved:
        for inner in rename.digests:
            path = FilePath(f"{rename.path}/{inner}".rstrip("/"))
            if (data := read_committed(workspace, path, workspace.repository.head())) is not None:
                files.make_folders((root / path).parent)
                files.write_durably(root / path, data)
                files.sync((root / path).parent)


def moved(rename: Rename) -> tuple[FilePath, ...]:
    return (rename.path,) if rename.is_removal else (rename.path, rename.target)


def _is_committed(workspace: Workspace, rename: Rename) -> bool:
    listed = workspace.repository.run("ls-tree", "-z", "--name-only", "HEAD", "--", rename.path)
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
    """Raises: RepositoryProblem: git cannot take a commit now; the journal stays."""
    path, message = workspace.state / journal.WRITE_NAME, None
    left = journal.load(path)
    if left:
        workspace.require_ready()
    match left:
        case Journal((Rename() as rename,), CommitStep() as then):
            message = settle_move(workspace, rename, then)
        case Journal((FileStep(), *_), CommitStep() as then):
            message = _settle_write(workspace, left.files, then)
    journal.drop(path)
    if message:
        say(message)
    if (workspace.state.parent / journal.LANDING_NAME).exists():
        # A module that only a killed sync needs.
        from mdmem.changes import placing  # noqa: PLC0415

        workspace.require_ready()
        say(placing.finish(workspace))


def _settle_write(workspace: Workspace, steps: Sequence[FileStep], then: CommitStep) -> str | None:
    repository, paths = workspace.repository, [step.path for step in steps]
    try:
        contents = _settle_files(workspace, steps)
    except PathProblem:
        return _kept(paths)
    digests = {
        path: files.digest(data) if data is not None else None for path, data in contents.items()
    }
    written = [step for step in steps if digests[step.path] == step.after]
    pending = [step for step in written if repository.state(step.path).pending]
    if written and not pending:
        commits.renew_index(repository, [step.path for step in written])
        return None
    if len(written) < len(steps):
        for step in pending:
            _put_back(workspace, step)
        changed = [
            step.path for step in steps if digests[step.path] not in (step.before, step.after)
        ]
        return _kept(changed) if changed else None
    order = commit_order(workspace, paths, then)
    made = _commit(
        repository, order, lambda: not any(repository.state(path).pending for path in paths)
    )
    if made is not None:
        for path, data in contents.items():
            made = _without_saves(workspace, made, path, data, order)
    return f"finished an interrupted write of {' and '.join(paths)}"


def _kept(paths: Sequence[FilePath]) -> str:
    was, it_is = ("was", "it is") if len(paths) == 1 else ("were", "they are")
    return f"{' and '.join(paths)} {was} changed after an interrupted write; {it_is} kept unchanged"


def _settle_files(workspace: Workspace, steps: Sequence[FileStep]) -> dict[FilePath, bytes | None]:
    full_paths = [files.path_on_disk(workspace.root, step.path) for step in steps]
    journal.put_others_in_place(full_paths, steps)
    for full_path, step in zip(full_paths, steps, strict=True):
        journal.recover_temporaries(full_path, step)
    return {step.path: files.read(workspace.root / step.path) for step in steps}


def _put_back(workspace: Workspace, step: FileStep) -> None:
    """Restore a file from HEAD, as somebody changed another one of the write."""
    full_path, repository = workspace.root / step.path, workspace.repository
    ours, committed = files.read(full_path), read_committed(workspace, step.path, repository.head())
    if step.before is None and committed is None:
        files.remove(full_path)
    elif committed is not None and files.digest(committed) == step.before:
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
