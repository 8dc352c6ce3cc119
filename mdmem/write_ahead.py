"""The write-ahead record: kept in the state folder from before a file is replaced until its commit is made."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from mdmem.files import TEMPORARY_PREFIX, backup_name, fingerprint, give_back, identity, sync, temporary_name, write_durably
from mdmem.model import FilePath
from mdmem.startup.records import asdict, dataclass

RECORD_NAME = "write-ahead.json"
"""In the state folder."""


@dataclass(frozen=True, slots=True)
class Record:
    """A write that is about to happen: enough to finish or to drop it after a crash.

    `before` and `after` are digests of the file's bytes (`before` None: a new file); `date` is git's raw form.
    """

    path: FilePath
    before: str | None
    after: str
    message: str
    date: str
    temporary: str


def save_record(state: Path, record: Record) -> None:
    """Write the write-ahead record, durably."""
    new = state / temporary_name()
    write_durably(new, json.dumps(asdict(record)).encode(), 0o600)
    new.rename(state / RECORD_NAME)
    sync(state)


def load_record(state: Path) -> Record | None:
    """The write-ahead record that a process left; None where there is none or it is not whole."""
    try:
        record = Record(**json.loads((state / RECORD_NAME).read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return None
    whole = all(isinstance(value, str) for name, value in asdict(record).items() if name != "before")
    return record if whole and isinstance(record.before, str | None) else None


def drop_record(state: Path) -> None:
    """Remove the write-ahead record, and the temporary file of one that a killed process was writing. The caller holds the lock."""
    (state / RECORD_NAME).unlink(missing_ok=True)
    for path in state.iterdir() if state.exists() else ():
        if path.name.startswith(TEMPORARY_PREFIX) and path.name.endswith(".tmp"):
            path.unlink(missing_ok=True)


def recover_temporaries(path: Path, record: Record) -> None:
    """Deal with the temporary files that an unfinished write left next to `path`, and make the bytes of the file durable.

    They hold our bytes, or the file's old ones, and are removed. But if the file holds what was exchanged for it, and the temporary file
    something else (a link, a folder or a file of any size too), a person saved that at the last moment: it was displaced, and is put back.
    """
    if not record.temporary.startswith(TEMPORARY_PREFIX) or "/" in record.temporary:
        return
    for name, exchanged in ((record.temporary, record.after), (backup_name(record.temporary), record.before)):
        temporary = path.parent / name
        displaced, ours = fingerprint(temporary), identity(str(path))
        if displaced is not None:
            if displaced not in (record.before, record.after) and fingerprint(path) == exchanged:
                give_back(temporary, path, ours)
            with suppress(IsADirectoryError):
                temporary.unlink(missing_ok=True)
    if path.parent.is_dir():
        sync(path.parent)
