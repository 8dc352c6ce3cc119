"""Put the files of a commit in place, one by one, by a journal that a killed process leaves.

What somebody saves meanwhile is merged with what comes, and the difference stays a pending edit.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TypeAlias

from mdmem import repo
from mdmem.folder import files, journal
from mdmem.folder.journal import LANDING_NAME, BranchStep, FileStep, Journal
from mdmem.merge import merge_by_section
from mdmem.merge.again import merged_kind
from mdmem.model import CommitId, FilePath
from mdmem.model.errors import PathProblem, RepositoryProblem
from mdmem.repo import Repository, branch_commits, commits, git_files
from mdmem.repo.branch_commits import BlobChange
from mdmem.workspace import Workspace, workspaces_of

_NEXT_NAME = "landing.next.json"
_LOCK_NAME = "landing.lock"
"""Held to put files in place, as commands in several workspaces may finish one landing."""
_TRIES = 50
_MOST_BYTES = 1 << 32
"""The limit of bytes for what is placed: a user may also sync other files than Markdown."""
_EXECUTABLE = "100755"


def plan_steps(
    workspace: Workspace, before: CommitId | None, after: CommitId
) -> tuple[FileStep, ...]:
    """The files that a landing changes; those prepared earlier keep their temporary names.

    Raises: PathProblem (`bad-path`: a link or a submodule).
    """
    repository = workspace.repository.at_root()
    changes = changes_between(repository, before, after)
    if others := [change.path for change in changes if not change.is_plain]:
        raise PathProblem(
            "bad-path",
            f"{os.fsdecode(others[0])} is a link or a submodule there",
            f"To take it: {repository.command_line('git pull')}",
        )
    left = {(step.path, step.after): step.temporary for step in _prepared(workspace)}
    paths = [FilePath(os.fsdecode(change.path)) for change in changes]
    return tuple(
        FileStep(
            path=path,
            before=change.before,
            after=change.after,
            temporary=left.get((path, change.after)) or files.temporary_name(),
        )
        for path, change in zip(paths, changes, strict=True)
    )


def changes_between(
    repository: Repository, before: CommitId | None, after: CommitId
) -> list[BlobChange]:
    trees = branch_commits.trees_of(repository, [before, after])
    (changes,) = branch_commits.changed_blobs(repository, [(trees[0], trees[1])])
    return changes


def prepare(
    workspace: Workspace, steps: tuple[FileStep, ...], then: BranchStep, prepared: Prepared
) -> list[Placement]:
    """Write the new bytes beside the files, which takes long and needs no lock.

    Files prepared earlier are used or removed; the bytes of those in `prepared` are not checked
    again. One process at a time does this, and calls `discard` in the end.
    """
    temporaries = {step.temporary for step in steps}
    for left in _prepared(workspace):
        if left.temporary not in temporaries:
            _remove(workspace.repository.root / left.path, left.temporary)
    journal.save(workspace.state.parent / _NEXT_NAME, Journal(steps, then))
    new = [step for step in steps if step not in prepared]
    for step, placement in zip(new, _placements(workspace, new, then), strict=True):
        placement.prepare()
        prepared[step] = placement
    return [prepared[step] for step in steps]


def discard(workspace: Workspace) -> None:
    for step in _prepared(workspace):
        _remove(workspace.repository.root / step.path, step.temporary)
    journal.drop(workspace.state.parent / _NEXT_NAME)


def _prepared(workspace: Workspace) -> Sequence[FileStep]:
    left = journal.load(workspace.state.parent / _NEXT_NAME)
    return left.files if left else ()


def _remove(path: Path, temporary: str) -> None:
    path.with_name(temporary).unlink(missing_ok=True)
    folder = path.parent
    with suppress(OSError):  # it is not empty
        while True:
            folder.rmdir()
            folder = folder.parent


def carry_out(workspace: Workspace, then: BranchStep, placements: Sequence[Placement]) -> bool:
    """Return False, with the files as before, where the branch moved meanwhile.

    The caller holds the locks of all workspaces of the work tree.
    """
    folder = workspace.state.parent
    with _landing_lock(workspace):
        (folder / _NEXT_NAME).rename(folder / LANDING_NAME)
        files.sync(folder)
        is_landed = _settle(workspace, then, placements)
        # What was displaced is removed by `discard`: that takes long, and needs no lock.
        (folder / LANDING_NAME).rename(folder / _NEXT_NAME)
        return is_landed


def finish(workspace: Workspace) -> str:
    """Return a line for the user. The caller holds a workspace's lock."""
    path = workspace.state.parent / LANDING_NAME
    with _landing_lock(workspace):
        match journal.load(path):
            case Journal(then=BranchStep() as then) as left:
                end = _finish(workspace, left.files, then)
            case _:
                end = "dropped"
        path.unlink(missing_ok=True)
    return f"{end} an interrupted sync"


def _finish(workspace: Workspace, steps: Sequence[FileStep], then: BranchStep) -> str:
    placements = _placements(workspace, steps, then)
    for placement in placements:
        with suppress(PathProblem):  # somebody put a link or a folder there, which stays
            placement.settle_temporaries()
    is_landed = _settle(workspace, then, placements)
    for step in steps:
        _remove(workspace.repository.root / step.path, step.temporary)
    return "finished" if is_landed else "took back"


def _landing_lock(workspace: Workspace) -> AbstractContextManager[None]:
    return files.lock(workspace.state.parent / _LOCK_NAME, workspace.settings.lock_timeout)


def _settle(workspace: Workspace, then: BranchStep, placements: Sequence[Placement]) -> bool:
    repository = workspace.repository.at_root()
    head = repository.head()
    if head == then.before and repository.branch() == then.branch:
        for placement in placements:
            with suppress(PathProblem):  # as above
                placement.put_in_place()
        for folder in {(repository.root / placement.step.path).parent for placement in placements}:
            with suppress(FileNotFoundError):  # the last file in it is gone
                files.sync(folder)
        date = branch_commits.date_variables(repo.raw_date(workspace.now()), workspace.identity())
        reason = f"mdmem sync: {(then.before or 'nothing')[:10]}..{then.after[:10]}"
        is_landed = commits.move_head(repository, then.after, then.before, reason, date)
    else:
        is_landed = head is not None and repository.is_ancestor(then.after)
    if is_landed:
        landed = {os.fsencode(placement.step.path) for placement in placements}
        changes = changes_between(repository, then.before, repository.head() or then.after)
        commits.set_entries(repository, [change for change in changes if change.path in landed])
    else:
        for placement in placements:
            with suppress(PathProblem):
                placement.put_back()
    return is_landed


class Placement:
    def __init__(
        self,
        root: Path,
        step: FileStep,
        before: bytes | None,
        after: bytes | None,
        merge: Callable[[bytes, bytes, bytes], bytes | None],
        is_executable: bool,
    ) -> None:
        self.step = step
        self._path = root / step.path
        self._before = before
        self._after = after
        self._merge = merge
        self._is_executable = is_executable
        self._is_prepared = False

    def prepare(self) -> None:
        """Write the new bytes beside the file, unless they are there."""
        if self._after is not None:
            new = self._path.with_name(self.step.temporary)
            if files.read(new, _MOST_BYTES) != self._after:
                new.unlink(missing_ok=True)
                files.make_folders(self._path.parent)
                files.prepare(self._path, self._after, self.step.temporary)
            self._is_prepared = True

    def put_in_place(self) -> None:
        """Put the new bytes in place; what was saved meanwhile is merged with them."""
        if self._is_prepared and self._after is not None:
            self._is_prepared = not files.exchange(
                self._path, self._after, self._before, self.step.temporary
            )
            if not self._is_prepared:
                self._set_mode()
                return
        for _ in range(_TRIES):
            saved = files.read(self._path, _MOST_BYTES)
            new = self._wanted(saved)
            if new == saved:
                return
            if new is None:
                if self._take_out(saved):
                    return
            elif self._replace(new, saved):
                self._set_mode()
                return
        raise RepositoryProblem(
            "busy", f"another program keeps saving {self._path.name}", "Close it there."
        )

    def put_back(self) -> None:
        """Undo it, unless somebody has saved the file since."""
        saved = files.read(self._path, _MOST_BYTES)
        if saved != self._after or saved == self._before:
            return
        if self._before is None:
            self._take_out(saved)
        else:
            self._replace(self._before, saved)

    def _wanted(self, saved: bytes | None) -> bytes | None:
        if saved in (self._before, None):
            return self._after
        if self._after is None:
            return saved
        merged = self._merge(self._before or b"", saved or b"", self._after)
        return saved if merged is None else merged

    def _replace(self, new: bytes, saved: bytes | None) -> bool:
        is_prepared, self._is_prepared = self._is_prepared, False
        is_prepared = is_prepared and new == self._after
        if not is_prepared:
            self._path.with_name(self.step.temporary).unlink(missing_ok=True)
            files.make_folders(self._path.parent)
        return files.replace(self._path, new, saved, self.step.temporary, is_prepared, syncs=False)

    def _take_out(self, saved: bytes | None) -> bool:
        """Remove the file, which is renamed first; False where it was saved at that moment."""
        moved = self._path.with_name(self.step.temporary)
        with suppress(FileNotFoundError):  # somebody else removed it
            files.move(self._path, moved)
            if files.read(moved, _MOST_BYTES) != saved:
                files.move(moved, self._path)
                return False
            files.remove(moved)
        _remove(self._path, self.step.temporary)
        return True

    def _set_mode(self) -> None:
        mode = self._path.stat().st_mode
        if self._is_executable != bool(mode & stat.S_IXUSR):
            with suppress(OSError):  # a disk without such modes
                self._path.chmod(mode | 0o111 if self._is_executable else mode & ~0o111)

    def settle_temporaries(self) -> None:
        """Merge a save that was displaced just before a kill; keep what is prepared, no more."""
        displaced_name = self._path.with_name(self.step.temporary)
        backup = files.backup_name(self.step.temporary)
        displaced = files.read(displaced_name, _MOST_BYTES)
        if displaced not in (None, self._before, self._after):
            current = files.read(self._path, _MOST_BYTES)
            merged = (
                displaced
                if current in (None, self._before)
                else self._merge(self._before or b"", displaced or b"", current or b"")
            )
            if not files.replace(self._path, merged or displaced or b"", current, backup):
                return
        self._is_prepared = displaced is not None and displaced == self._after
        if not self._is_prepared:
            displaced_name.unlink(missing_ok=True)
        self._path.with_name(backup).unlink(missing_ok=True)


Prepared: TypeAlias = dict[FileStep, Placement]


def _placements(
    workspace: Workspace, steps: Sequence[FileStep], then: BranchStep
) -> list[Placement]:
    if not steps:
        return []
    repository = workspace.repository.at_root()
    ids = {blob for step in steps for blob in (step.before, step.after) if blob}
    contents = repository.contents(sorted(ids))
    folders = {(repository.root / step.path).parent for step in steps}
    workspaces = workspaces_of(repository, folders, workspace.environment)
    modes = {
        change.path: change.mode for change in changes_between(repository, then.before, then.after)
    }
    placements = []
    for step in steps:
        before, after = (
            _on_disk(repository, step.path, blob, contents) for blob in (step.before, step.after)
        )
        around = workspaces.get((repository.root / step.path).parent)
        placements.append(
            Placement(
                root=repository.root,
                step=step,
                before=before,
                after=after,
                merge=_merger(around, step.path),
                is_executable=modes.get(os.fsencode(step.path)) == _EXECUTABLE,
            )
        )
    return placements


def _merger(
    workspace: Workspace | None, path: FilePath
) -> Callable[[bytes, bytes, bytes], bytes | None]:
    kind = merged_kind(workspace, path) if workspace else None
    if kind is None:
        return lambda base, ours, theirs: None
    return lambda base, ours, theirs: merge_by_section(base, ours, theirs, kind).data


def _on_disk(
    repository: Repository, path: FilePath, blob: str | None, contents: Mapping[str, bytes]
) -> bytes | None:
    if blob is None:
        return None
    data, name = contents[blob], os.fsencode(path)
    if not git_files.may_be_converted(str(repository.git_dir), str(repository.root), name, data):
        return data
    return repository.git("cat-file", "--filters", f"--path={path}", blob)
