"""Cursors: the end of what is read of each transcript, and the session in which each message was read. A cache: `rebuilding` makes it again.

Two files in the state folder: `transcripts.json`, read by every digest, and `marks.json`, read where there is something new.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from mdmem import files
from mdmem.model.sessions import ReadingStart
from mdmem.startup.records import asdict, dataclass, replace

CURSORS_NAME, MARKS_NAME = "transcripts.json", "marks.json"
_VERSION = 3
_MARK_DAYS = 60
"""A mark is kept for so many days."""


@dataclass(frozen=True, slots=True)
class ReadEnd:
    """The last line that was read of a session, and the first 12 hex digits of its SHA-256."""

    line: int
    hash: str


@dataclass(frozen=True, slots=True)
class Cursor:
    """The end of what is read of a file.

    - `device`, `inode`, `size`, `changed`: of the file when it was read; `changed` in nanoseconds. `read_size`: of its lines that are read.
    - `start`: where the next reading begins (None: at the first byte, and only what stands behind `end` is new).
    - `has_entries`: some were drawn from what is read.
    - `settled`: nothing more can be drawn from what is read, were it by permissive rules.
    """

    device: int
    inode: int
    size: int
    changed: int
    read_size: int = 0
    start: ReadingStart | None = None
    end: ReadEnd | None = None
    has_entries: bool = False
    settled: bool = False

    @property
    def read_line(self) -> int:
        """The last line that is read, 0 where none is."""
        return self.start.read_line if self.start else self.end.line if self.end else 0

    def is_of(self, status: os.stat_result) -> bool:
        """True if a file has not changed since it was read."""
        return self.fits(status) and (self.size, self.changed) == (status.st_size, status.st_mtime_ns)

    def fits(self, status: os.stat_result) -> bool:
        """True if a file is the one that was read, and has not become shorter."""
        return (self.device, self.inode) == (status.st_dev, status.st_ino) and status.st_size >= self.size


def cursor_of(status: os.stat_result) -> Cursor:
    """A cursor at the start of a file."""
    return Cursor(device=status.st_dev, inode=status.st_ino, size=status.st_size, changed=status.st_mtime_ns)


@dataclass(frozen=True, slots=True)
class ReadState:
    """The cursors by the path of their file, and the ends of sessions that commits tell and no cursor has taken over (None: not looked for)."""

    cursors: dict[str, Cursor]
    ends: dict[str, tuple[ReadEnd, ...]] | None


def read_state(state: Path) -> ReadState:
    """The cursors and ends that are kept; none where they cannot be read."""
    values = _read(state / CURSORS_NAME)
    try:
        return ReadState(
            {path: _parse_cursor(cursor) for path, cursor in values["cursors"].items()},
            {session: tuple(ReadEnd(line, hash_) for line, hash_ in ends) for session, ends in values["ends"].items()},
        )
    except (TypeError, ValueError, KeyError, AttributeError):
        return ReadState({}, None)


def read_cursors(state: Path) -> dict[str, Cursor]:
    """The cursors by the path of their file; none where they cannot be read."""
    return read_state(state).cursors


def write_state(state: Path, read: ReadState) -> None:
    """Keep cursors and ends.

    Raises:
        OSError
    """
    ends = {session: [[end.line, end.hash] for end in ends] for session, ends in (read.ends or {}).items()}
    _write(state / CURSORS_NAME, {"cursors": {path: _cursor_values(cursor) for path, cursor in read.cursors.items()}, "ends": ends})


def read_marks(state: Path) -> dict[str, tuple[str, int]]:
    """The session in which each message was read, by the message's mark, and the day, counted from 1970."""
    values = _read(state / MARKS_NAME)
    try:
        return {mark: (str(session), int(day)) for mark, (session, day) in values.items()}
    except (TypeError, ValueError):
        return {}


def write_marks(state: Path, marks: Mapping[str, tuple[str, int]], today: int) -> None:
    """Keep the marks that are not too old.

    Raises:
        OSError
    """
    _write(state / MARKS_NAME, {mark: kept for mark, kept in marks.items() if kept[1] > today - _MARK_DAYS})


def _read(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    kept = values.get("values") if isinstance(values, dict) and values.get("version") == _VERSION else None
    return kept if isinstance(kept, dict) else {}


def _write(path: Path, values: Mapping[str, Any]) -> None:
    files.write_cache(path, json.dumps({"version": _VERSION, "values": values}))


def _cursor_values(cursor: Cursor) -> dict[str, Any]:
    values = asdict(replace(cursor, start=None, end=None))
    if cursor.end is not None:
        values["end"] = asdict(cursor.end)
    if cursor.start is not None:
        start = asdict(cursor.start)
        values["start"] = {name: value.isoformat() if isinstance(value, datetime) else value for name, value in start.items()}
    return values


def _parse_cursor(values: dict[str, Any]) -> Cursor:
    start, end = values.pop("start"), values.pop("end")
    if start is not None:
        for name in ("started", "time"):
            start[name] = datetime.fromisoformat(start[name]) if start[name] is not None else None
    return Cursor(**values, start=None if start is None else ReadingStart(**start), end=None if end is None else ReadEnd(**end))
