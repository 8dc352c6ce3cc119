"""Cursors of transcripts, marks of messages, lines due for the model: rebuildable caches."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from mdmem.folder import files
from mdmem.model.sessions import ReadingStart, SkippedLines
from mdmem.sessions.files import TranscriptFile
from mdmem.startup.records import dataclass

T = TypeVar("T")

MARKS_NAME = "marks.json"
_MARKS_VERSION = 1
_MARK_DAYS = 60
_PREFIX_DIGITS, _REST_DIGITS, _SESSION_DIGITS, _DAY_DIGITS = 2, 10, 5, 4
"""The lengths of a mark's prefix and rest, and of the hexadecimal session number and day."""
_WIDTH = _REST_DIGITS + _SESSION_DIGITS + _DAY_DIGITS
_MANY_LOOKUPS = 2_000
"""Look-ups after which a table pays off."""


class Marks(MutableMapping[str, tuple[str, int]]):
    """The session in which each marked message was read, and the day since 1970."""

    def __init__(self, sessions: list[str], filed: dict[str, str], day: int) -> None:
        self._sessions = sessions
        self._filed = filed
        self._day = day
        """The day on which old marks were dropped."""
        self._table: dict[str, tuple[str, int]] = {}
        """The new marks; all, once many were looked up."""
        self._new: list[str] = []
        self._lookups = 0

    def __getitem__(self, mark: str) -> tuple[str, int]:
        if mark in self._table or self._lookups > _MANY_LOOKUPS:
            return self._table[mark]
        self._lookups += 1
        if self._lookups > _MANY_LOOKUPS:
            self._table = dict(self._all_filed()) | self._table
            return self._table[mark]
        filed, rest = self._filed.get(mark[:_PREFIX_DIGITS], ""), mark[_PREFIX_DIGITS:]
        at = filed.find(rest)
        while at % _WIDTH and at >= 0:
            at = filed.find(rest, at + 1)
        if at < 0:
            raise KeyError(mark)
        return self._parse(filed[at : at + _WIDTH])

    def __setitem__(self, mark: str, value: tuple[str, int]) -> None:
        self._table[mark] = value
        self._new.append(mark)

    def __delitem__(self, mark: str) -> None:
        raise TypeError("a mark goes by its age alone")

    def __iter__(self) -> Iterator[str]:
        yield from dict.fromkeys((*(mark for mark, _ in self._all_filed()), *self._new))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def values_on(self, today: int) -> dict[str, Any]:
        """The marks to store; old ones are dropped once a day."""
        if today != self._day:
            kept = {mark: self[mark] for mark in self if self[mark][1] > today - _MARK_DAYS}
            self._sessions, self._filed, self._day = [], {}, today
            self._table, self._new = kept, list(kept)
        numbers = {session: number for number, session in enumerate(self._sessions)}
        added: dict[str, list[str]] = {}
        for mark in dict.fromkeys(self._new):
            session, day = self._table[mark]
            number = numbers.setdefault(session, len(numbers))
            added.setdefault(mark[:_PREFIX_DIGITS], []).append(
                f"{mark[_PREFIX_DIGITS:]}{number:0{_SESSION_DIGITS}x}{day:0{_DAY_DIGITS}x}"
            )
        for prefix, records in added.items():
            self._filed[prefix] = self._filed.get(prefix, "") + "".join(records)
        self._sessions, self._new = list(numbers), []
        return {
            "version": _MARKS_VERSION,
            "sessions": self._sessions,
            "day": self._day,
            "marks": self._filed,
        }

    def _parse(self, record: str) -> tuple[str, int]:
        return self._sessions[int(record[_REST_DIGITS:-_DAY_DIGITS], 16)], int(
            record[-_DAY_DIGITS:], 16
        )

    def _all_filed(self) -> Iterator[tuple[str, tuple[str, int]]]:
        for prefix, filed in self._filed.items():
            for at in range(0, len(filed), _WIDTH):
                record = filed[at : at + _WIDTH]
                yield prefix + record[:_REST_DIGITS], self._parse(record)


def _load(path: Path, version: int, parse: Callable[[dict[str, Any]], T], empty: T) -> T:
    """Read a cache; `empty` where it is missing, damaged or of another version."""
    try:
        values = json.loads(path.read_bytes())
        return parse(values) if values["version"] == version else empty
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return empty


def read_marks(state: Path) -> Marks:
    """The stored marks; none where they cannot be read."""
    return _load(state / MARKS_NAME, _MARKS_VERSION, _parse_marks, Marks([], {}, 0))


def _parse_marks(values: dict[str, Any]) -> Marks:
    sessions, filed = values["sessions"], values["marks"]
    if not all(isinstance(each, str) for each in sessions) or any(
        len(each) % _WIDTH for each in filed.values()
    ):
        raise ValueError("marks of another form")
    return Marks(list(sessions), dict(filed), int(values["day"]))


def write_marks(state: Path, marks: Marks, today: int) -> None:
    """Store recent marks. Raises: OSError."""
    files.write_cache(state / MARKS_NAME, json.dumps(marks.values_on(today), separators=(",", ":")))


DUE_NAME = "model-due.json"
MOST_TRIES = 3
"""After so many runs without an answer, lines are left to the rules."""
FEWEST_BYTES = 500
"""Fewer bytes are not sent."""
_MANY_BYTES, _MANY_TURNS = 50_000, 10
"""So much is sent while the session goes on."""
_DUE_VERSION = 2
_DUE_FIELDS = ("path", "line", "turns", "size", "compacted", "tries", "given_up")


@dataclass(frozen=True, slots=True)
class DueLines:
    """The lines of a session that the model has not read.

    - `line`: the last one in `path` that it has read, or that was left to the rules.
    - `turns`, `size`: user messages behind it, and bytes of texts to send.
    - `compacted`: the agent's context was compacted behind it.
    - `tries`: runs without an answer. `given_up`: bytes left to the rules for that.
    """

    path: str
    line: int
    turns: int = 0
    size: int = 0
    compacted: bool = False
    tries: int = 0
    given_up: int = 0

    @property
    def is_pending(self) -> bool:
        """True if the lines are enough for a request, now or later."""
        return self.size >= FEWEST_BYTES

    def is_ready(self, is_idle: bool) -> bool:
        """True if they are sent now. `is_idle`: nothing was said for a while."""
        return self.is_pending and (
            is_idle or self.compacted or self.turns >= _MANY_TURNS or self.size >= _MANY_BYTES
        )


def read_due(state: Path) -> dict[str, DueLines]:
    """The due lines by CLIENT/SESSION."""
    return _load(state / DUE_NAME, _DUE_VERSION, _parse_due, {})


def _parse_due(values: dict[str, Any]) -> dict[str, DueLines]:
    return {
        session: DueLines(**dict(zip(_DUE_FIELDS, row, strict=True)))
        for session, row in values["sessions"].items()
    }


def write_due(state: Path, due: dict[str, DueLines]) -> None:
    """Store due lines of sessions with transcripts. Raises: OSError."""
    sessions = {
        session: [getattr(each, name) for name in _DUE_FIELDS]
        for session, each in due.items()
        if Path(each.path).exists()
    }
    files.write_cache(
        state / DUE_NAME,
        json.dumps({"version": _DUE_VERSION, "sessions": sessions}, separators=(",", ":")),
    )


CURSORS_NAME = "transcripts.json"
_CURSORS_VERSION = 5
OTHER_PROJECT = "other-project"
"""The beginning of the problem of a session of another project."""


@dataclass(frozen=True, slots=True)
class ReadEnd:
    """The last line that was read of a session, and the first 12 hex digits of its SHA-256."""

    line: int
    hash: str


@dataclass(frozen=True, slots=True)
class Cursor:
    """The progress of reading a file.

    - `device` to `changed` (ns): of the file when read; `read_size`: of the lines read.
    - `start`: the next reading's first byte (None: the first, and only lines behind `end` are new).
    - `has_entries`: some were drawn. `settled`: permissive rules can draw no more.
    - `problem`: why nothing was read (empty: it was); that of `other_project` for another
      project's session.
    - `skipped`: the lines not read (None: all were).
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
    problem: str = ""
    skipped: SkippedLines | None = None

    @property
    def read_end(self) -> ReadEnd | None:
        return ReadEnd(self.start.read_line, self.start.read_hash) if self.start else self.end

    @property
    def read_line(self) -> int:
        """Its number, or 0."""
        return self.read_end.line if self.read_end else 0

    def fits(self, file: TranscriptFile) -> bool:
        return (self.device, self.inode) == (file.device, file.inode) and file.size >= self.size


def other_project(projects: Sequence[Path]) -> str:
    """The problem of a session of another project, where these are the memory's own."""
    if not projects:
        return OTHER_PROJECT
    names = "\n".join(map(str, projects)).encode("utf-8", "surrogateescape")
    return f"{OTHER_PROJECT}-{sha256(names).hexdigest()[:8]}"


def cursor_of(file: TranscriptFile) -> Cursor:
    return Cursor(device=file.device, inode=file.inode, size=file.size, changed=file.modified)


class Cursors(MutableMapping[str, Cursor]):
    """Cursors by path, parsed on demand: a row's first values tell that a file has no news."""

    def __init__(self, rows: dict[str, list[Any]]) -> None:
        if not all(isinstance(row, list) and len(row) == _ROW_WIDTH for row in rows.values()):
            raise ValueError("a row of another form")
        self.rows = rows

    def problem(self, file: TranscriptFile) -> str:
        """The stored problem of an unchanged file, else empty."""
        problem = self.rows[file.path][_STAMP_WIDTH] if self.has_stamp(file) else ""
        return problem if isinstance(problem, str) else ""

    def has_stamp(self, file: TranscriptFile) -> bool:
        row = self.rows.get(file.path)
        return row is not None and row[:_STAMP_WIDTH] == list(file[1:])

    def is_read(self, file: TranscriptFile, ended: int) -> bool:
        """True if a file has no news; sessions last written before `ended` (ns) are over."""
        return self.has_stamp(file) and (
            self.rows[file.path][_STAMP_WIDTH] or file.modified > ended
        )

    def with_skipped_lines(self) -> Iterator[tuple[str, SkippedLines]]:
        for path, row in self.rows.items():
            if isinstance(row[-1], str) and row[-1].split("|", 4)[3:4] not in ([], [""]):
                cursor = self.get(path)
                if cursor is not None and cursor.skipped is not None:
                    yield path, cursor.skipped

    def __getitem__(self, path: str) -> Cursor:
        try:
            return _parse_cursor(self.rows[path])
        except (TypeError, ValueError, AttributeError) as problem:
            raise KeyError(path) from problem

    def __setitem__(self, path: str, cursor: Cursor) -> None:
        self.rows[path] = _row(cursor)

    def __delitem__(self, path: str) -> None:
        del self.rows[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class ReadState:
    """Cursors by path, and committed session ends without one (None: not looked for)."""

    cursors: Cursors
    ends: dict[str, tuple[ReadEnd, ...]] | None


def read_state(state: Path) -> ReadState:
    """The stored cursors and ends; none where they cannot be read."""
    empty = ReadState(Cursors({}), None)
    return _load(state / CURSORS_NAME, _CURSORS_VERSION, _parse_state, empty)


def _parse_state(stored: dict[str, Any]) -> ReadState:
    ends = {
        session: tuple(ReadEnd(line, hash_) for line, hash_ in ends)
        for session, ends in stored["values"]["ends"].items()
    }
    return ReadState(Cursors(stored["values"]["cursors"]), ends)


def read_cursors(state: Path) -> Cursors:
    """The cursors by path; none where they cannot be read."""
    return read_state(state).cursors


def write_state(state: Path, read: ReadState) -> None:
    """Store cursors and ends. Raises: OSError."""
    ends = {
        session: [[end.line, end.hash] for end in ends]
        for session, ends in (read.ends or {}).items()
    }
    values = {"cursors": read.cursors.rows, "ends": ends}
    files.write_cache(
        state / CURSORS_NAME,
        json.dumps({"version": _CURSORS_VERSION, "values": values}, separators=(",", ":")),
    )


_STAMP_WIDTH, _ROW_WIDTH = 4, 6
"""The values of a row that are the file's, and all: with `settled`, and the rest as one text.

One text costs a third of what its values would, each time that all rows are read.
"""
_FLAGS = "-01"


def _row(cursor: Cursor) -> list[Any]:
    end = f"{cursor.end.line} {cursor.end.hash}" if cursor.end else ""
    skipped = (
        f"{cursor.skipped.count} {cursor.skipped.first} {cursor.skipped.reason}"
        if cursor.skipped
        else None
    )
    parts: list[str | int] = [
        cursor.read_size,
        _FLAGS[1 + cursor.has_entries],
        end,
        _escaped(skipped),
    ]
    if (start := cursor.start) is not None:
        times = (time.isoformat() if time else "" for time in (start.started, start.time))
        flags = (
            _FLAGS[1 + start.unattended],
            _FLAGS[1 + start.tells_origin],
            _FLAGS[0 if start.own is None else 1 + start.own],
        )
        numbers = (
            start.line,
            start.offset,
            start.read_line,
            "" if start.tools_line is None else start.tools_line,
        )
        parts += [
            *numbers,
            start.read_hash,
            start.client,
            *times,
            "".join(flags),
            _escaped(start.session),
            _escaped(start.project),
        ]
    return [
        cursor.device,
        cursor.inode,
        cursor.size,
        cursor.changed,
        cursor.problem or cursor.settled,
        "|".join(map(str, parts)),
    ]


def _parse_cursor(row: list[Any]) -> Cursor:
    device, inode, size, changed, settled, rest = row
    read_size, has_entries, end, skipped, *start = rest.split("|")
    line, _, hash_ = end.partition(" ")
    count, _, first = (_unescaped(skipped) or "").partition(" ")
    first_line, _, reason = first.partition(" ")
    return Cursor(
        device=device,
        inode=inode,
        size=size,
        changed=changed,
        read_size=int(read_size),
        start=_parse_start(*start) if start else None,
        end=ReadEnd(int(line), hash_) if end else None,
        has_entries=has_entries == _FLAGS[2],
        settled=settled is True,
        problem=settled if isinstance(settled, str) else "",
        skipped=SkippedLines(int(count), int(first_line), reason) if count else None,
    )


def _parse_start(
    line: str,
    offset: str,
    read_line: str,
    tools_line: str,
    read_hash: str,
    client: str,
    started: str,
    time: str,
    flags: str,
    session: str,
    project: str,
) -> ReadingStart:
    unattended, tells_origin, own = (
        None if flag == _FLAGS[0] else flag == _FLAGS[2] for flag in flags
    )
    return ReadingStart(
        line=int(line),
        offset=int(offset),
        read_line=int(read_line),
        read_hash=read_hash,
        client=client,
        session=_unescaped(session),
        project=_unescaped(project),
        started=datetime.fromisoformat(started) if started else None,
        time=datetime.fromisoformat(time) if time else None,
        unattended=bool(unattended),
        tells_origin=bool(tells_origin),
        tools_line=int(tools_line) if tools_line else None,
        own=own,
    )


def _escaped(text: str | None) -> str:
    """None is empty, so other texts begin with `=`."""
    return "" if text is None else "=" + text.replace("%", "%25").replace("|", "%7C")


def _unescaped(text: str) -> str | None:
    return text[1:].replace("%7C", "|").replace("%25", "%") if text else None
