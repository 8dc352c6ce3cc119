"""The journal of a change to files: written before its first step, dropped after the last."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from mdmem.folder.files import (
    TEMPORARY_PREFIX,
    backup_name,
    fingerprint,
    give_back,
    identity,
    read,
    replace,
    sync,
    write_record,
)
from mdmem.model import CommitId, FilePath
from mdmem.startup.records import asdict, dataclass

WRITE_NAME = "write-ahead.json"
"""The journal of a write or a move, in the workspace's state folder."""
LANDING_NAME = "landing.json"
"""The journal of `changes.placing`, in git's folder, for all workspaces of a work tree."""


@dataclass(frozen=True, slots=True)
class FileStep:
    """A file that gets other bytes: digests of a write, blobs of a landing; None: no such file."""

    path: FilePath
    before: str | None
    after: str | None
    temporary: str


@dataclass(frozen=True, slots=True)
class Rename:
    """A file or folder that is moved, or removed, for which it is first moved to a temporary name.

    `digests` are by the paths below it (of a moved file itself: an empty path).
    """

    path: FilePath
    target: FilePath
    is_removal: bool
    digests: Mapping[str, str]

    @property
    def temporary(self) -> str:
        return self.target.rpartition("/")[2] if self.is_removal else ""


@dataclass(frozen=True, slots=True)
class CommitStep:
    """`date` is in git's raw form."""

    message: str
    date: str


@dataclass(frozen=True, slots=True)
class BranchStep:
    """`branch` is None without one, `before` on an unborn one."""

    branch: str | None
    before: CommitId | None
    after: CommitId


@dataclass(frozen=True, slots=True)
class Journal:
    """A change that is about to happen: enough to finish or to drop it after a crash."""

    steps: tuple[FileStep | Rename, ...]
    then: CommitStep | BranchStep

    @property
    def files(self) -> list[FileStep]:
        return [step for step in self.steps if isinstance(step, FileStep)]


_PARTS: Mapping[str, Any] = {
    part.__name__: part for part in (FileStep, Rename, CommitStep, BranchStep)
}
"""By the names that they have on disk, where another version looks for them."""


def save(path: Path, journal: Journal) -> None:
    rows = [(type(part).__name__, asdict(part)) for part in (*journal.steps, journal.then)]
    write_record(path, json.dumps(rows))


def load(path: Path) -> Journal | None:
    """The journal that a process left; None where there is none or it is not whole."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        rows = _rows_before_0_3_0(rows) if isinstance(rows, dict) else rows
        *steps, then = (_PARTS[name](**fields) for name, fields in rows)
    except (FileNotFoundError, KeyError, TypeError, ValueError):
        return None
    return Journal(tuple(steps), then) if all(map(_is_whole, (*steps, then))) else None


def _rows_before_0_3_0(fields: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The rows of a record that a version before 0.3.0 left."""
    if "files" in fields:
        return [
            *(("FileStep", file) for file in fields["files"]),
            (
                "BranchStep",
                {"branch": fields["branch"], "before": fields["from"], "after": fields["to"]},
            ),
        ]
    then = {name: fields.pop(name) for name in ("message", "date")}
    others = [fields.pop("second")] if "second" in fields else []
    name = "Rename" if "is_removal" in fields else "FileStep"
    return [*((name, each) for each in (fields, *others)), ("CommitStep", then)]


def _is_whole(part: object) -> bool:
    """False where a value is of another type, or a name not ours: somebody changed it by hand."""
    match part:
        case Rename(str(), str(), is_removal, dict() as digests):
            is_ours = not is_removal or is_temporary(part.temporary)
            return is_ours and all(isinstance(digest, str) for digest in digests.values())
        case (
            FileStep(str(), None | str(), None | str(), str())
            | CommitStep(str(), str())
            | BranchStep(None | str(), None | str(), str())
        ):
            return True
    return False


def drop(path: Path) -> None:
    """Remove a journal, and unfinished ones of killed processes; no other may be writing there."""
    path.unlink(missing_ok=True)
    for left in path.parent.iterdir() if path.parent.exists() else ():
        if left.name.startswith(TEMPORARY_PREFIX) and left.name.endswith(".tmp"):
            left.unlink(missing_ok=True)


def put_others_in_place(paths: Sequence[Path], steps: Sequence[FileStep]) -> None:
    """Finish a killed write of several files: once the first is in place, the others are ready."""
    for path, step in zip(paths[1:], steps[1:], strict=True):
        ready = path.parent / step.temporary
        states = (fingerprint(paths[0]), fingerprint(path), fingerprint(ready))
        if is_temporary(step.temporary) and states == (steps[0].after, step.before, step.after):
            replace(path, ready.read_bytes(), read(path), step.temporary, is_prepared=True)


def is_temporary(name: str) -> bool:
    """True for a possible temporary file: a journal may have been changed by hand."""
    return name.startswith(TEMPORARY_PREFIX) and "/" not in name


def recover_temporaries(path: Path, step: FileStep) -> None:
    """Deal with the temporary files of an unfinished write, and make the file durable.

    They hold mdmem's bytes, or the file's old ones, and are removed. But if the file holds what was
    exchanged for it, and the temporary file something else (a link, a folder or a file of any size
    too), a person saved that at the last moment: it was displaced, and is put back.
    """
    if not is_temporary(step.temporary):
        return
    for name, exchanged in (
        (step.temporary, step.after),
        (backup_name(step.temporary), step.before),
    ):
        temporary = path.parent / name
        displaced, ours = fingerprint(temporary), identity(str(path))
        if displaced is not None:
            if (
                exchanged is not None
                and displaced not in (step.before, step.after)
                and fingerprint(path) == exchanged
            ):
                give_back(temporary, path, ours, exchanged)
            with suppress(IsADirectoryError):
                temporary.unlink(missing_ok=True)
    if path.parent.is_dir():
        sync(path.parent)
