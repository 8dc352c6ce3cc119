"""What an index has seen of the workspace: commit, files, settings; in the index's folder as `seen.json`, whose first part is read alone."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any
from zlib import crc32

from mdmem.files import sync
from mdmem.model import CommitId
from mdmem.search import schema
from mdmem.startup.records import dataclass, field

SNAPSHOT_NAME = "seen.json"
_FILES = b',"files":'
"""What parts the beginning of `seen.json`, which every search reads, from the files, which it needs only where they have changed."""
_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class FileStamp:
    """What the file system says of a file; times are in nanoseconds since 1970."""

    mtime_ns: int
    ctime_ns: int
    size: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileStamp:
        """What tells this state of a file from another."""
        return cls(status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)

    @property
    def text(self) -> str:
        """The same as `stamp_text` has it."""
        return f"{self.mtime_ns} {self.ctime_ns} {self.size} {self.inode}"


def stamp_text(status: os.stat_result) -> str:
    """A stamp in one word, for who looks at ten thousand files."""
    return f"{status.st_mtime_ns} {status.st_ctime_ns} {status.st_size} {status.st_ino}"


def stamps_digest(stamps: Mapping[str, str]) -> str:
    """What tells the stamps of all files, by path, from others."""
    return (
        hashlib.blake2b(
            "\0".join([f"{path}\0{stamps[path]}" for path in sorted(stamps)]).encode("utf-8", "surrogateescape"), digest_size=_DIGEST_BYTES
        )
        .digest()
        .hex()
    )


@dataclass(frozen=True, slots=True)
class SnapshotFile:
    """A file as it was indexed: `digest` is of its bytes, `skipped` says why it could not be indexed."""

    stamp: FileStamp
    digest: str
    uncommitted: bool
    skipped: str | None = None


NEVER_INDEXED = SnapshotFile(FileStamp(0, 0, 0, 0), "", True)
"""Of a path whose documents are being changed: like no file there is, so the path is done again, or taken out where it is gone."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the index knows of the workspace.

    `settings` is a digest of the settings that change what is indexed, `stamps` of the stamps of all files: the index keeps it. `paired`
    says that facts may be marked as contradicting each other, or as not doing so.
    """

    commit: CommitId | None = None
    files: Mapping[str, SnapshotFile] = field(default_factory=dict)
    settings: str = ""
    has_pair_marks: bool = True
    stamps: str = field(default="", compare=False)

    def changed_paths(self, stamps: Mapping[str, str]) -> tuple[list[str], list[str]]:
        """The paths whose stamps, as `stamp_text` has them, are others than were seen; and those that have none any more."""
        known = (
            self.files.stamps() if isinstance(self.files, _StoredFiles) else {path: file.stamp.text for path, file in self.files.items()}
        )
        return [path for path, stamp in stamps.items() if known.get(path) != stamp], [path for path in known if path not in stamps]


EMPTY_SNAPSHOT = Snapshot()


class _StoredFiles(Mapping[str, SnapshotFile]):
    """Files as `seen.json` has them, taken apart when one is first asked for."""

    def __init__(self, text: memoryview) -> None:
        self._text = text

    @cached_property
    def _files(self) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = json.loads(bytes(self._text).decode("utf-8", "surrogatepass"))
        return found

    def stamps(self) -> dict[str, str]:
        """The stamps by path, as they are written."""
        return {path: values[0] for path, values in self._files.items()}

    def __getitem__(self, path: str) -> SnapshotFile:
        stamp, digest, uncommitted, skipped = self._files[path]
        return SnapshotFile(FileStamp(*map(int, stamp.split())), digest, uncommitted, skipped)

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


def read_snapshot(folder: Path) -> Snapshot | None:
    """What the index in a folder has seen, or None where there is nothing, or nothing of this version."""
    try:
        text = (folder / SNAPSHOT_NAME).read_bytes()
        end = text.index(_FILES)
        found, files = json.loads(text[:end].decode("utf-8", "surrogatepass") + "}"), memoryview(text)[end + len(_FILES) : -1]
        if found["version"] != schema.INDEX_VERSION or found["check"] != crc32(files):
            return None
        return Snapshot(
            commit=found["commit"],
            files=_StoredFiles(files),
            settings=found["settings"],
            has_pair_marks=found["paired"],
            stamps=found["stamps"],
        )
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, TypeError, KeyError):  # half written, or another program's
        return None


def write_snapshot(folder: Path, seen: Snapshot, durably: bool) -> None:
    """Write what was seen: one object, the files last, and before them a checksum of their text."""
    path = folder / SNAPSHOT_NAME
    files = _json({path: [file.stamp.text, file.digest, file.uncommitted, file.skipped] for path, file in seen.files.items()})
    told = {"commit": seen.commit, "settings": seen.settings, "paired": seen.has_pair_marks, "stamps": seen.stamps}
    start = {"version": schema.INDEX_VERSION, **told, "check": crc32(files)}
    new = path.with_name(f"{path.name}.new")
    with new.open("wb") as stream:
        stream.write(_json(start)[:-1] + _FILES + files + b"}")
        if durably:
            stream.flush()
            os.fsync(stream.fileno())
    new.replace(path)
    if durably:
        sync(path.parent)


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
