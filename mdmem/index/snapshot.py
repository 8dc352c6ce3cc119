"""The file that says what an index was made from (`seen.json`), and that of entries: a snapshot."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeVar
from zlib import crc32

from mdmem import __version__
from mdmem.folder.budget import LEFT_OUT
from mdmem.folder.files import sync
from mdmem.model import CommitId
from mdmem.startup.records import asdict, dataclass, field, replace

S = TypeVar("S", bound="SeenFiles")
T = TypeVar("T")

INDEX_NAME = "index"
SEEN_NAME = "seen.json"
_DIGEST_BYTES = 16
_LONG_BYTES = 10_000_000
"""So many bytes take long to index: the newest files can be searched meanwhile."""
INDEX_VERSION = 41
"""The version of `schema` and of `seen.json`; other indexes are rebuilt."""
_PART = "part"
"""Instead of a digest of settings."""


# The file.


class SeenFiles(Protocol):
    """A record of what an index was made from: the files that it has seen, and all else."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def files(self) -> Mapping[str, Any]: ...

    def summed_up(self) -> Self:
        """The same with what its files say of its other fields."""


class _StoredFiles(Mapping[str, T]):
    """The files of `seen.json`; the JSON is parsed when first asked for."""

    def __init__(self, text: memoryview, file_type: Callable[..., T]) -> None:
        self._text = text
        self._file_type = file_type

    @cached_property
    def rows(self) -> dict[str, Any]:
        """Lists in place of records, which ten thousand files take longer to become."""
        rows: dict[str, Any] = json.loads(bytes(self._text))
        return rows

    def __getitem__(self, path: str) -> T:
        return self._file_type(*self.rows[path])

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


def file_rows(files: Mapping[str, Any]) -> Mapping[str, Any]:
    """The values of each file, to be read by position."""
    return files.rows if isinstance(files, _StoredFiles) else files


def read_seen(
    folder: Path,
    version: Sequence[object],
    seen_type: Callable[..., S],
    file_type: Callable[..., object],
) -> S | None:
    """Read what the index in a folder has seen; None if there is nothing of this version."""
    try:
        text = (folder / SEEN_NAME).read_bytes()
        end = text.index(b"\n", text.index(b"\n") + 1)
        mark, header = text[:end].split(b"\n")
        files = memoryview(text)[end + 1 :]  # a megabyte, which is not copied
        if json.loads(mark) != [*version, crc32(files, crc32(header))]:
            return None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError:  # half written, or another program's
        return None
    return seen_type(**json.loads(header), files=_StoredFiles(files, file_type))


def write_seen(folder: Path, version: Sequence[object], seen: SeenFiles, durably: bool) -> None:
    """Write it for its owner alone, whole or not at all, in three lines.

    They are the version with a checksum, the header, which every search reads, and the files.
    """
    described = asdict(seen)
    files = json_bytes(dict(file_rows(described.pop("files"))))
    header = json_bytes(described)
    new = folder / f"{SEEN_NAME}.new"
    with new.open("wb") as stream:
        os.fchmod(stream.fileno(), 0o600)
        mark = json_bytes([*version, crc32(files, crc32(header))])
        stream.write(b"\n".join((mark, header, files)))
        if durably:
            stream.flush()
            os.fsync(stream.fileno())
    new.replace(folder / SEEN_NAME)
    if durably:
        sync(folder)


def json_bytes(value: object) -> bytes:
    """Compact JSON; lone surrogates are kept."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )


def seen_commit(folder: Path) -> CommitId | None:
    """The commit that an index has seen, read without the engine; None if unreadable."""
    try:
        with (folder / SEEN_NAME).open("rb") as file:
            file.readline()
            commit: CommitId | None = json.loads(file.readline())["commit"]
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return commit


# Stamps.


def stamp_text(status: os.stat_result) -> str:
    """The times (nanoseconds since 1970), size and inode of a file."""
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


# The snapshot of a workspace.


class SnapshotFile(NamedTuple):
    """An indexed file: its stamp, the digest of its bytes, and why it could not be indexed, if so.

    Ten thousand are sooner made as tuples, and are so in `seen.json`.
    """

    stamp: str
    digest: str
    uncommitted: bool
    skipped: str | None = None


UNSETTLED = "0 0 0 0"
"""The stamp of no file, for a file that has to be read again."""
NEVER_INDEXED = SnapshotFile(UNSETTLED, "", True)
"""For a path being changed: equal to no file, so that it is indexed again or removed."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of the workspace that an index was made from.

    `settings` and `stamps` are digests. `has_pair_marks` is False if no fact is marked as
    contradicting another, or as not. `is_fresh`: nothing was replaced or removed since the full
    build. `left_out_by`: the version of the program by which a file exceeded its budget
    (`folder.budget`), if one did.
    """

    commit: CommitId | None = None
    files: Mapping[str, SnapshotFile] = field(default_factory=dict)
    settings: str = ""
    has_pair_marks: bool = True
    is_fresh: bool = field(default=True, compare=False)
    stamps: str = field(default="", compare=False)
    left_out_by: str = field(default="", compare=False)

    @property
    def is_part(self) -> bool:
        """True for files as they are: what is searched until history is read and all is indexed."""
        return self.settings == _PART

    @property
    def left_out(self) -> list[str]:
        """The files that exceeded their budget."""
        skipped = self.skipped if self.left_out_by else {}
        return sorted(path for path, reason in skipped.items() if reason == LEFT_OUT)

    @property
    def is_to_be_read_again(self) -> bool:
        """True if another version of the program left files out."""
        return self.left_out_by not in ("", __version__)

    @property
    def has_unsettled(self) -> bool:
        """True if a file was saved while it was read, or a moment before."""
        return any(row[0] == UNSETTLED for row in file_rows(self.files).values())

    @property
    def skipped(self) -> dict[str, str]:
        rows = file_rows(self.files)
        return {path: reason for path, (_, _, _, reason) in rows.items() if reason}

    def changed_paths(self, stamps: Mapping[str, str]) -> tuple[list[str], list[str]]:
        """Paths whose stamps (`stamp_text`) are new or changed, and paths that are gone."""
        seen_stamps = {path: row[0] for path, row in file_rows(self.files).items()}
        return [path for path, stamp in stamps.items() if seen_stamps.get(path) != stamp], [
            path for path in seen_stamps if path not in stamps
        ]

    def summed_up(self) -> Snapshot:
        rows = file_rows(self.files)
        is_complete = all(row[3] != LEFT_OUT for row in rows.values())
        return replace(
            self,
            stamps=stamps_digest({path: row[0] for path, row in rows.items()}),
            left_out_by="" if is_complete else __version__,
        )


EMPTY_SNAPSHOT = Snapshot()
PART_SNAPSHOT = Snapshot(settings=_PART)
"""Equal to no workspace, so that the next update builds the index from nothing."""
