"""Put the files of a commit in place, one by one, by a record that a killed process leaves.

What somebody saves meanwhile is merged with what comes, and the difference stays a pending edit.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TypeAlias

from mdmem import repo
from mdmem.folder import files
from mdmem.folder.write_ahead import LANDING_NAME, drop_unfinished
from mdmem.merge import merge_by_section
from mdmem.merge.again import merged_kind
from mdmem.model import CommitId, FilePath
from mdmem.model.errors import PathProblem, RepositoryProblem
from mdmem.repo import Repository, branch_commits, commits, git_files
from mdmem.repo.branch_commits import BlobChange
from mdmem.startup.records import asdict, dataclass, replace
from mdmem.workspace import Workspace, workspaces_of

_NEXT_NAME = "landing.next.json"
_LOCK_NAME = "landing.lock"
"""Held to put files in place, as commands in several workspaces may finish one landing."""
_TRIES = 50
_MOST_BYTES = 1 << 32
"""The limit of bytes for what is placed: a user may also sync other files than Markdown."""
_EXECUTABLE = "100755"


@dataclass(frozen=True, slots=True)
class LandedFile:
    """A file that changes: its path from the root, its blobs (None: no file), a temporary name."""

    path: FilePath
    before: str | None
    after: str | None
    temporary: str

    @property
    def change(self) -> tuple[FilePath, str | None, str | None]:
        return self.path, self.before, self.after


@dataclass(frozen=True, slots=True)
class Landing:
    """A commit that is put in place of another; `before` is None on an unborn branch."""

    branch: str | None
    before: CommitId | None
    after: CommitId
    files: tuple[LandedFile, ...]


def plan_landing(repository: Repository, before: CommitId | None, after: CommitId) -> Landing:
    """Raises: PathProblem (`bad-path`: a link or a submodule)."""
    changes = changes_between(repository, before, after)
    if others := [change.path for change in changes if not change.is_plain]:
        raise PathProblem(
            "bad-path",
            f"{os.fsdecode(others[0])} is a link or a submodule there",
            f"To take it: {repository.command_line('git pull')}",
        )
    return Landing(
        branch=repository.branch(),
        before=before,
        after=after,
        files=tuple(
            LandedFile(
                path=FilePath(os.fsdecode(change.path)),
                before=change.before,
                after=change.after,
                temporary=files.temporary_name(),
            )
            for change in changes
        ),
    )


def changes_between(
    repository: Repository, before: CommitId | None, after: CommitId
) -> list[BlobChange]:
    trees = branch_commits.trees_of(repository, [before, after])
    (changes,) = branch_commits.changed_blobs(repository, [(trees[0], trees[1])])
    return changes


def _record_path(workspace: Workspace) -> Path:
    return workspace.state.parent / LANDING_NAME


def _next_path(workspace: Workspace) -> Path:
    return workspace.state.parent / _NEXT_NAME


def _save(path: Path, landing: Landing) -> None:
    fields = {
        "branch": landing.branch,
        "from": landing.before,
        "to": landing.after,
        "files": [asdict(file) for file in landing.files],
    }
    files.write_record(path, json.dumps(fields))


def _load(path: Path) -> Landing | None:
    """The record that a process left; None where there is none or it is not whole."""
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        return Landing(
            branch=fields["branch"],
            before=fields["from"],
            after=fields["to"],
            files=tuple(LandedFile(**file) for file in fields["files"]),
        )
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return None


def prepare(
    workspace: Workspace, landing: Landing, prepared: Prepared
) -> tuple[Landing, list[Placement]]:
    """Write the new bytes beside the files, which takes long and needs no lock.

    Files prepared earlier are used or removed; the bytes of those in `prepared` are not checked
    again. One process at a time does this, and calls `discard` in the end.
    """
    left = {(file.path, file.after): file.temporary for file in _prepared(workspace)}
    landing = replace(
        landing,
        files=tuple(
            replace(file, temporary=left.pop((file.path, file.after), file.temporary))
            for file in landing.files
        ),
    )
    for (path, _), temporary in left.items():
        _remove(workspace.repository.root / path, temporary)
    _save(_next_path(workspace), landing)
    new = [file for file in landing.files if file.change not in prepared]
    for file, placement in zip(new, _placements(workspace, landing, new), strict=True):
        placement.prepare()
        prepared[file.change] = placement
    return landing, [prepared[file.change] for file in landing.files]


def discard(workspace: Workspace) -> None:
    for file in _prepared(workspace):
        _remove(workspace.repository.root / file.path, file.temporary)
    _next_path(workspace).unlink(missing_ok=True)
    drop_unfinished(workspace.state.parent)


def _prepared(workspace: Workspace) -> tuple[LandedFile, ...]:
    landing = _load(_next_path(workspace))
    return landing.files if landing else ()


def _remove(path: Path, temporary: str) -> None:
    path.with_name(temporary).unlink(missing_ok=True)
    folder = path.parent
    with suppress(OSError):  # it is not empty
        while True:
            folder.rmdir()
            folder = folder.parent


def carry_out(workspace: Workspace, landing: Landing, placements: Sequence[Placement]) -> bool:
    """Return False, with the files as before, where the branch moved meanwhile.

    The caller holds the locks of all workspaces of the work tree.
    """
    with _landing_lock(workspace):
        _next_path(workspace).rename(_record_path(workspace))
        files.sync(workspace.state.parent)
        is_landed = _settle(workspace, landing, placements)
        # What was displaced is removed by `discard`: that takes long, and needs no lock.
        _record_path(workspace).rename(_next_path(workspace))
        return is_landed


def finish(workspace: Workspace) -> str:
    """Return a line for the user. The caller holds a workspace's lock."""
    with _landing_lock(workspace):
        landing = _load(_record_path(workspace))
        if landing is None:
            _record_path(workspace).unlink(missing_ok=True)
            return "dropped an interrupted sync"
        placements = _placements(workspace, landing, landing.files)
        for placement in placements:
            with suppress(PathProblem):  # somebody put a link or a folder there, which stays
                placement.settle_temporaries()
        landed = _settle(workspace, landing, placements)
        for file in landing.files:
            _remove(workspace.repository.root / file.path, file.temporary)
        _record_path(workspace).unlink(missing_ok=True)
    return "finished an interrupted sync" if landed else "took back an interrupted sync"


def _landing_lock(workspace: Workspace) -> AbstractContextManager[None]:
    return files.lock(workspace.state.parent / _LOCK_NAME, workspace.settings.lock_timeout)


def _settle(workspace: Workspace, landing: Landing, placements: Sequence[Placement]) -> bool:
    repository = workspace.repository.at_root()
    head = repository.head()
    if head == landing.before and repository.branch() == landing.branch:
        for placement in placements:
            with suppress(PathProblem):  # as above
                placement.put_in_place()
        for folder in {placement.folder for placement in placements}:
            with suppress(FileNotFoundError):  # the last file in it is gone
                files.sync(folder)
        date = branch_commits.date_variables(repo.raw_date(workspace.now()), workspace.identity())
        reason = f"mdmem sync: {(landing.before or 'nothing')[:10]}..{landing.after[:10]}"
        is_landed = commits.move_head(repository, landing.after, landing.before, reason, date)
    else:
        is_landed = head is not None and repository.is_ancestor(landing.after)
    if is_landed:
        _renew_index(repository, landing, repository.head() or landing.after)
    else:
        for placement in placements:
            with suppress(PathProblem):
                placement.put_back()
    return is_landed


def _renew_index(repository: Repository, landing: Landing, head: CommitId) -> None:
    landed = {os.fsencode(file.path) for file in landing.files}
    changes = changes_between(repository, landing.before, head)
    commits.set_entries(repository, [change for change in changes if change.path in landed])


class Placement:
    def __init__(
        self,
        root: Path,
        file: LandedFile,
        before: bytes | None,
        after: bytes | None,
        merge: Callable[[bytes, bytes, bytes], bytes | None],
        is_executable: bool,
    ) -> None:
        self._path = root / file.path
        self._temporary = file.temporary
        self._before = before
        self._after = after
        self._merge = merge
        self._is_executable = is_executable
        self._is_prepared = False

    @property
    def folder(self) -> Path:
        return self._path.parent

    def prepare(self) -> None:
        """Write the new bytes beside the file, unless they are there."""
        if self._after is not None:
            new = self._path.with_name(self._temporary)
            if files.read(new, _MOST_BYTES) != self._after:
                new.unlink(missing_ok=True)
                files.make_folders(self._path.parent)
                files.prepare(self._path, self._after, self._temporary)
            self._is_prepared = True

    def put_in_place(self) -> None:
        """Put the new bytes in place; what was saved meanwhile is merged with them."""
        if self._is_prepared and self._after is not None:
            self._is_prepared = not files.exchange(
                self._path, self._after, self._before, self._temporary
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
            self._path.with_name(self._temporary).unlink(missing_ok=True)
            files.make_folders(self._path.parent)
        return files.replace(self._path, new, saved, self._temporary, is_prepared, syncs=False)

    def _take_out(self, saved: bytes | None) -> bool:
        """Remove the file, which is renamed first; False where it was saved at that moment."""
        moved = self._path.with_name(self._temporary)
        with suppress(FileNotFoundError):  # somebody else removed it
            files.move(self._path, moved)
            if files.read(moved, _MOST_BYTES) != saved:
                files.move(moved, self._path)
                return False
            files.remove(moved)
        _remove(self._path, self._temporary)
        return True

    def _set_mode(self) -> None:
        mode = self._path.stat().st_mode
        if self._is_executable != bool(mode & stat.S_IXUSR):
            with suppress(OSError):  # a disk without such modes
                self._path.chmod(mode | 0o111 if self._is_executable else mode & ~0o111)

    def settle_temporaries(self) -> None:
        """Merge a save that was displaced just before a kill; keep what is prepared, no more."""
        displaced_name = self._path.with_name(self._temporary)
        backup = files.backup_name(self._temporary)
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


Prepared: TypeAlias = dict[tuple[FilePath, str | None, str | None], Placement]


def _placements(
    workspace: Workspace, landing: Landing, landed: Sequence[LandedFile]
) -> list[Placement]:
    if not landed:
        return []
    repository = workspace.repository.at_root()
    ids = {blob for file in landed for blob in (file.before, file.after) if blob}
    contents = repository.contents(sorted(ids))
    folders = {(repository.root / file.path).parent for file in landed}
    workspaces = workspaces_of(repository, folders, workspace.environment)
    modes = {
        change.path: change.mode
        for change in changes_between(repository, landing.before, landing.after)
    }
    placements = []
    for file in landed:
        before, after = (
            _on_disk(repository, file.path, blob, contents) for blob in (file.before, file.after)
        )
        around = workspaces.get((repository.root / file.path).parent)
        placements.append(
            Placement(
                root=repository.root,
                file=file,
                before=before,
                after=after,
                merge=_merger(around, file.path),
                is_executable=modes.get(os.fsencode(file.path)) == _EXECUTABLE,
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
