"""The transcripts as the index of messages has read them. Stored as `seen.json`: a line that every search reads, and one with the transcripts."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any
from zlib import crc32

from mdmem import __version__
from mdmem.files import sync
from mdmem.model.sessions import ReadingStart
from mdmem.search.snapshot import INDEX_VERSION
from mdmem.startup.records import dataclass, field

SEEN_NAME = "seen.json"
_VERSION = [2, INDEX_VERSION, __version__]
"""Of this format, of the terms of the index, and of the rules by which texts are cleaned: each version of mdmem reads transcripts anew."""
_DIGEST_BYTES = 16
_START_FIELDS = ReadingStart.__match_args__
_TIMES = tuple(_START_FIELDS.index(name) for name in ("started", "time"))

Stamp = tuple[int, int, int, int]
"""Device, inode, size and time of change (in nanoseconds) of a file."""


@dataclass(frozen=True, slots=True)
class SeenTranscript:
    """A transcript as it was read.

    - `start_values`: where the next reading begins, as it is stored (None: from the first byte).
    - `counts`: False for a session out of scope; nothing of it is indexed.
    - `problem`: why it could not be read.
    """

    stamp: Stamp
    start_values: list[Any] | None = None
    counts: bool = True
    problem: str | None = None

    @property
    def start(self) -> ReadingStart | None:
        """The place where the next reading begins."""
        return _parsed_start(self.start_values)


@dataclass(frozen=True, slots=True)
class Seen:
    """The transcripts as they were read.

    - `settings`, `purged`: digests of what else the index depends on. `commit`: the one that told what was purged.
    - `stamps`: a digest of all stamps.
    - `unknown`: the paths of those in an unknown format.
    """

    transcripts: Mapping[str, SeenTranscript] = field(default_factory=dict)
    settings: str = ""
    purged: str = ""
    commit: str = ""
    stamps: str = ""
    unknown: tuple[str, ...] = ()


def seen_of(transcripts: Mapping[str, SeenTranscript], settings: str, purged: str, commit: str) -> Seen:
    """The transcripts, with their digests."""
    return Seen(
        transcripts=transcripts,
        settings=settings,
        purged=purged,
        commit=commit,
        stamps=stamps_digest({path: transcript.stamp for path, transcript in transcripts.items()}),
        unknown=tuple(path for path, transcript in transcripts.items() if transcript.problem),
    )


def stamps_digest(stamps: Mapping[str, Stamp]) -> str:
    """A digest of the stamps of all transcripts, by path."""
    text = "\0".join([f"{path}\0{stamps[path]}" for path in sorted(stamps)])
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=_DIGEST_BYTES).hexdigest()


class _StoredTranscripts(Mapping[str, SeenTranscript]):
    """The transcripts of `seen.json`, parsed at first use."""

    def __init__(self, text: bytes) -> None:
        self._text = text

    @cached_property
    def _transcripts(self) -> dict[str, SeenTranscript]:
        values: dict[str, list[Any]] = json.loads(self._text.decode("utf-8", "surrogatepass"))
        return {path: SeenTranscript(tuple(stamp), start, counts, problem) for path, (stamp, start, counts, problem) in values.items()}

    def __getitem__(self, path: str) -> SeenTranscript:
        return self._transcripts[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._transcripts)

    def __len__(self) -> int:
        return len(self._transcripts)


def read_seen(folder: Path) -> Seen | None:
    """The transcripts that the index in a folder has read; None if nothing is there of this version."""
    try:
        with (folder / SEEN_NAME).open("rb") as file:
            header, text = json.loads(file.readline()), file.read()
        if header["version"] != _VERSION or header["check"] != crc32(text):
            return None
        return Seen(
            transcripts=_StoredTranscripts(text),
            settings=header["settings"],
            purged=header["purged"],
            commit=header["commit"],
            stamps=header["stamps"],
            unknown=tuple(header["unknown"]),
        )
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, TypeError, KeyError):  # half written, or another program's
        return None


def write_seen(folder: Path, seen: Seen) -> None:
    """Write them whole or not at all, for its owner alone, and durably."""
    text = _json({path: _values(transcript) for path, transcript in seen.transcripts.items()})
    header = {
        "version": _VERSION,
        "settings": seen.settings,
        "purged": seen.purged,
        "commit": seen.commit,
        "stamps": seen.stamps,
        "unknown": seen.unknown,
        "check": crc32(text),
    }
    new = folder / f"{SEEN_NAME}.new"
    with new.open("wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(_json(header) + b"\n" + text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(folder / SEEN_NAME)
    sync(folder)


def _values(transcript: SeenTranscript) -> list[Any]:
    return [transcript.stamp, transcript.start_values, transcript.counts, transcript.problem]


def start_values(start: ReadingStart | None) -> list[Any] | None:
    """A place to begin reading at, as it is stored."""
    if start is None:
        return None
    values = [getattr(start, name) for name in _START_FIELDS]
    return [value.isoformat() if isinstance(value, datetime) else value for value in values]


def _parsed_start(values: list[Any] | None) -> ReadingStart | None:
    if values is None:
        return None
    times = {position: datetime.fromisoformat(values[position]) for position in _TIMES if values[position] is not None}
    return ReadingStart(**dict(zip(_START_FIELDS, [times.get(position, value) for position, value in enumerate(values)], strict=True)))


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
