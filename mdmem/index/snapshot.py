"""The snapshot of an index's workspace (`seen.json`): commit, files, settings."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any
from zlib import crc32

from mdmem import __version__
from mdmem.folder.budget import LEFT_OUT
from mdmem.folder.files import sync
from mdmem.model import CommitId
from mdmem.startup.records import dataclass, field

INDEX_NAME = "index"
SNAPSHOT_NAME = "seen.json"
_FILES = b',"files":'
"""Before it is the head of `seen.json`, which every search reads; the files are seldom needed."""
_HEAD_BYTES = 1024
_DIGEST_BYTES = 16
_LONG_BYTES = 10_000_000
"""So many bytes take long to index: the newest days can be searched meanwhile."""
INDEX_VERSION = 28
"""The version of `schema`; other indexes are rebuilt."""
_PART = "part"
"""Instead of a digest of settings."""


@dataclass(frozen=True, slots=True)
class FileStamp:
    """The times (nanoseconds since 1970), size and inode of a file."""

    mtime_ns: int
    ctime_ns: int
    size: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileStamp:
        return cls(status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)

    @property
    def text(self) -> str:
        return f"{self.mtime_ns} {self.ctime_ns} {self.size} {self.inode}"


def stamp_text(status: os.stat_result) -> str:
    """A stamp as one text, quicker to make for ten thousand files."""
    return f"{status.st_mtime_ns} {status.st_ctime_ns} {status.st_size} {status.st_ino}"


def stamp_bytes(stamp: str) -> int:
    return int(stamp.split(" ", 3)[2])


def stamp_time(stamp: str) -> float:
    """When the file that has a stamp was written, in seconds since 1970."""
    return int(stamp.split(" ", 1)[0]) / 1e9


def is_long(stamps: Iterable[str]) -> bool:
    return sum(map(stamp_bytes, stamps)) >= _LONG_BYTES


def stamps_digest(stamps: Mapping[str, object]) -> str:
    text = "\0".join([f"{path}\0{stamps[path]}" for path in sorted(stamps)])
    return hashlib.blake2b(
        text.encode("utf-8", "surrogateescape"), digest_size=_DIGEST_BYTES
    ).hexdigest()


@dataclass(frozen=True, slots=True)
class SnapshotFile:
    """An indexed file: the digest of its bytes, and why it could not be indexed, if so."""

    stamp: FileStamp
    digest: str
    uncommitted: bool
    skipped: str | None = None


NEVER_INDEXED = SnapshotFile(FileStamp(0, 0, 0, 0), "", True)
"""For a path being changed: equal to no file, so that it is indexed again or removed."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of the workspace that an index was made from.

    `settings` and `stamps` are digests. `has_pair_marks` is False if no fact is marked as
    contradicting another, or as not. `is_fresh`: nothing was replaced or removed since the full
    build. `has_left_out`: a file exceeded its budget (`folder.budget`); `stamps` are empty where
    another version of the program found that.
    """

    commit: CommitId | None = None
    files: Mapping[str, SnapshotFile] = field(default_factory=dict)
    settings: str = ""
    has_pair_marks: bool = True
    is_fresh: bool = field(default=True, compare=False)
    stamps: str = field(default="", compare=False)
    has_left_out: bool = field(default=False, compare=False)

    @property
    def is_part(self) -> bool:
        """True for an unfinished index that can be searched already."""
        return self.settings == _PART

    @property
    def left_out(self) -> list[str]:
        """The files that exceeded their budget."""
        skipped = self.skipped if self.has_left_out else {}
        return sorted(path for path, reason in skipped.items() if reason == LEFT_OUT)

    @property
    def skipped(self) -> dict[str, str]:
        if isinstance(self.files, _StoredFiles):
            return self.files.skipped
        return {path: file.skipped for path, file in self.files.items() if file.skipped}

    def changed_paths(self, stamps: Mapping[str, str]) -> tuple[list[str], list[str]]:
        """Paths whose stamps (`stamp_text`) are new or changed, and paths that are gone."""
        seen_stamps = (
            self.files.stamps
            if isinstance(self.files, _StoredFiles)
            else {path: file.stamp.text for path, file in self.files.items()}
        )
        return [path for path, stamp in stamps.items() if seen_stamps.get(path) != stamp], [
            path for path in seen_stamps if path not in stamps
        ]


EMPTY_SNAPSHOT = Snapshot()
PART_SNAPSHOT = Snapshot(settings=_PART)
"""Equal to no workspace, so that the next update builds the index from nothing."""


class _StoredFiles(Mapping[str, SnapshotFile]):
    def __init__(self, text: memoryview) -> None:
        self._text = text

    @cached_property
    def _files(self) -> dict[str, list[Any]]:
        values_by_path: dict[str, list[Any]] = json.loads(
            bytes(self._text).decode("utf-8", "surrogatepass")
        )
        return values_by_path

    @cached_property
    def stamps(self) -> dict[str, str]:
        return {path: values[0] for path, values in self._files.items()}

    @property
    def skipped(self) -> dict[str, str]:
        return {path: values[3] for path, values in self._files.items() if values[3]}

    def __getitem__(self, path: str) -> SnapshotFile:
        stamp, digest, uncommitted, skipped = self._files[path]
        return SnapshotFile(FileStamp(*map(int, stamp.split())), digest, uncommitted, skipped)

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


def seen_commit(folder: Path) -> CommitId | None:
    """The commit that an index has seen, read without the engine; None if unreadable."""
    try:
        with (folder / SNAPSHOT_NAME).open("rb") as stream:
            text = stream.read(_HEAD_BYTES)
        commit: CommitId | None = _head(text[: text.index(_FILES)])["commit"]
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return commit


def _head(text: bytes) -> Any:
    return json.loads(text.decode("utf-8", "surrogatepass") + "}")


def read_snapshot(folder: Path) -> Snapshot | None:
    """The snapshot of the index in a folder; None if there is none of this version."""
    try:
        text = (folder / SNAPSHOT_NAME).read_bytes()
        end = text.index(_FILES)
        header, files = _head(text[:end]), memoryview(text)[end + len(_FILES) : -1]
        if header["version"] != INDEX_VERSION or header["check"] != crc32(files):
            return None
        return Snapshot(
            commit=header["commit"],
            files=_StoredFiles(files),
            settings=header["settings"],
            has_pair_marks=header["paired"],
            is_fresh=header["fresh"],
            # With another version of the program, what was left out is read again.
            stamps=header["stamps"] if header.get("left_out") in (None, __version__) else "",
            has_left_out=header.get("left_out") is not None,
        )
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, TypeError, KeyError):  # half written, or another program's
        return None


def write_snapshot(folder: Path, seen: Snapshot, durably: bool) -> None:
    """Write a snapshot as JSON, the files last, after a checksum of their text."""
    path = folder / SNAPSHOT_NAME
    files = json_bytes(
        {
            path: [file.stamp.text, file.digest, file.uncommitted, file.skipped]
            for path, file in seen.files.items()
        }
    )
    described = {
        "commit": seen.commit,
        "settings": seen.settings,
        "paired": seen.has_pair_marks,
        "stamps": seen.stamps,
        "fresh": seen.is_fresh,
    }
    if seen.has_left_out:
        described["left_out"] = __version__
    start = {"version": INDEX_VERSION, **described, "check": crc32(files)}
    new = path.with_name(f"{path.name}.new")
    with new.open("wb") as stream:
        os.fchmod(stream.fileno(), 0o600)
        stream.write(json_bytes(start)[:-1] + _FILES + files + b"}")
        if durably:
            stream.flush()
            os.fsync(stream.fileno())
    new.replace(path)
    if durably:
        sync(path.parent)


def json_bytes(value: object) -> bytes:
    """Compact JSON; lone surrogates are kept."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )
