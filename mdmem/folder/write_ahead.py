"""The write-ahead record, in the state folder from before a replacement until its commit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

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
from mdmem.model import FilePath
from mdmem.startup.records import asdict, dataclass

RECORD_NAME = "write-ahead.json"
LANDING_NAME = "landing.json"
"""The record of `changes.placing`, in git's folder, for all workspaces of a work tree."""


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One file of a write: digests of its bytes before (None: a new file) and after."""

    path: FilePath
    before: str | None
    after: str
    temporary: str


@dataclass(frozen=True, slots=True)
class Record:
    """A write that is about to happen: enough to finish or to drop it after a crash.

    Its own fields are of the first file, `second` is another in the commit; `date` is git's raw
    form.
    """

    path: FilePath
    before: str | None
    after: str
    message: str
    date: str
    temporary: str
    second: FileRecord | None = None

    @property
    def files(self) -> tuple[FileRecord, ...]:
        """The files of the write, in the order in which they are put in place."""
        first = FileRecord(self.path, self.before, self.after, self.temporary)
        return (first, self.second) if self.second else (first,)


@dataclass(frozen=True, slots=True)
class MoveRecord:
    """A move that is about to happen, or a removal, which first moves to a temporary name.

    `digests` are by the paths below it (of a moved file itself: an empty path).
    """

    path: FilePath
    target: FilePath
    is_removal: bool
    digests: Mapping[str, str]
    message: str
    date: str

    @property
    def files(self) -> tuple[FileRecord, ...]:
        name = self.target.rpartition("/")[2] if self.is_removal else ""
        return (FileRecord(self.path, self.digests.get(""), "", name),)


def save_record(state: Path, record: Record | MoveRecord) -> None:
    fields = asdict(record)
    if isinstance(record, Record):
        del fields["second"]  # without this key, an earlier version can read the record of one file
        fields |= {"second": asdict(record.second)} if record.second else {}
    write_record(state / RECORD_NAME, json.dumps(fields))


def load_record(state: Path) -> Record | MoveRecord | None:
    """The write-ahead record that a process left; None where there is none or it is not whole."""
    try:
        fields = json.loads((state / RECORD_NAME).read_text(encoding="utf-8"))
        if "is_removal" in fields:
            return _valid_move(MoveRecord(**fields))
        second = FileRecord(**fields.pop("second")) if "second" in fields else None
        record = Record(**fields, second=second)
    except (AttributeError, FileNotFoundError, ValueError, TypeError):
        return None
    texts = [
        record.message,
        record.date,
        *(text for file in record.files for text in (file.path, file.after, file.temporary)),
    ]
    whole = all(isinstance(text, str) for text in texts) and all(
        isinstance(file.before, str | None) for file in record.files
    )
    return record if whole else None


def _valid_move(record: MoveRecord) -> MoveRecord | None:
    texts = (
        record.path,
        record.target,
        record.message,
        record.date,
        *record.digests,
        *record.digests.values(),
    )
    is_ours = not record.is_removal or is_temporary(record.target.rpartition("/")[2])
    return record if is_ours and all(isinstance(text, str) for text in texts) else None


def drop_record(state: Path) -> None:
    """Remove the record, and an unfinished one of a killed process; the caller holds the lock."""
    (state / RECORD_NAME).unlink(missing_ok=True)
    drop_unfinished(state)


def drop_unfinished(folder: Path) -> None:
    """Remove the unfinished records of killed processes; no other may be writing one there."""
    for path in folder.iterdir() if folder.exists() else ():
        if path.name.startswith(TEMPORARY_PREFIX) and path.name.endswith(".tmp"):
            path.unlink(missing_ok=True)


def put_second_in_place(paths: Sequence[Path], record: Record) -> None:
    """Finish a killed write of two files: the second one's bytes are ready beside it."""
    (first_path, second_path), (first, second) = paths, record.files
    ready = second_path.parent / second.temporary
    states = (fingerprint(first_path), fingerprint(second_path), fingerprint(ready))
    if is_temporary(second.temporary) and states == (first.after, second.before, second.after):
        replace(
            second_path, ready.read_bytes(), read(second_path), second.temporary, is_prepared=True
        )


def is_temporary(name: str) -> bool:
    """True for a possible temporary file: a record may have been changed by hand."""
    return name.startswith(TEMPORARY_PREFIX) and "/" not in name


def recover_temporaries(path: Path, record: FileRecord) -> None:
    """Deal with the temporary files of an unfinished write, and make the file durable.

    They hold mdmem's bytes, or the file's old ones, and are removed. But if the file holds what was
    exchanged for it, and the temporary file something else (a link, a folder or a file of any size
    too), a person saved that at the last moment: it was displaced, and is put back.
    """
    if not is_temporary(record.temporary):
        return
    for name, exchanged in (
        (record.temporary, record.after),
        (backup_name(record.temporary), record.before),
    ):
        temporary = path.parent / name
        displaced, ours = fingerprint(temporary), identity(str(path))
        if displaced is not None:
            if (
                exchanged is not None
                and displaced not in (record.before, record.after)
                and fingerprint(path) == exchanged
            ):
                give_back(temporary, path, ours, exchanged)
            with suppress(IsADirectoryError):
                temporary.unlink(missing_ok=True)
    if path.parent.is_dir():
        sync(path.parent)
