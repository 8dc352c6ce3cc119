"""The progress in transcripts: cursors, marks of messages, lines due for the model. A cache."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from functools import cached_property
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

from mdmem.folder import files
from mdmem.model.sessions import ReadingStart, SkippedLines
from mdmem.sessions.files import TranscriptFile
from mdmem.startup import late
from mdmem.startup.records import asdict, dataclass

MOST_TRIES = 3
"""After so many runs without an answer, lines are left to the rules."""
FEWEST_BYTES = 500
"""Fewer bytes are not sent."""
_MANY_BYTES, _MANY_TURNS = 50_000, 10
"""So much is sent while the session goes on."""


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


_STAMP = '{"device":%d,"inode":%d,"size":%d,"changed":%d,'
"""The beginning of a cursor's text."""
_TIMES = ("started", "time")


class Cursors(MutableMapping[str, Cursor]):
    """Cursors by path, each a text until it is asked for: its beginning tells most."""

    def __init__(self, texts: dict[str, str]) -> None:
        if not all(isinstance(text, str) for text in texts.values()):
            raise ValueError("a cursor of another form")
        self.texts = texts

    def has_stamp(self, file: TranscriptFile) -> bool:
        stamp = (file.device, file.inode, file.size, file.modified)
        return self.texts.get(file.path, "").startswith(_STAMP % stamp)

    def unchanged(self, file: TranscriptFile) -> Mapping[str, Any]:
        """The fields of the cursor of a file that is as it was when read; empty for others."""
        fields: dict[str, Any] = {}
        if self.has_stamp(file):
            with suppress(ValueError):
                fields = json.loads(self.texts[file.path])
        return fields

    def with_skipped_lines(self) -> Iterator[tuple[str, SkippedLines]]:
        # `skipped` is the last field.
        for path in [path for path, text in self.texts.items() if not text.endswith("null}")]:
            cursor = self.get(path)
            if cursor is not None and cursor.skipped is not None:
                yield path, cursor.skipped

    def __getitem__(self, path: str) -> Cursor:
        try:
            return _cursor(json.loads(self.texts[path]))
        except (TypeError, ValueError) as problem:
            raise KeyError(path) from problem

    def __setitem__(self, path: str, cursor: Cursor) -> None:
        self.texts[path] = _packed(cursor)

    def __delitem__(self, path: str) -> None:
        del self.texts[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    def __len__(self) -> int:
        return len(self.texts)


def _cursor(fields: dict[str, Any]) -> Cursor:
    start, end, skipped = fields["start"], fields["end"], fields["skipped"]
    if start is not None:
        times = {name: start[name] and datetime.fromisoformat(start[name]) for name in _TIMES}
        fields["start"] = ReadingStart(**start | times)
    fields["end"] = end and ReadEnd(**end)
    return Cursor(**fields | {"skipped": skipped and SkippedLines(**skipped)})


def _packed(value: object) -> str:
    return json.dumps(value, default=_plain, separators=(",", ":"))


def _plain(value: Any) -> object:
    return value.isoformat() if isinstance(value, datetime) else asdict(value)


# What is kept.

STATE_NAME = "transcripts.json"
OLD_MARKS_NAME, _OLD_DUE_NAME = "marks.json", "model-due.json"
_VERSION = 6
_MARK_DAYS = 60
_MARK = late.pattern(".{12}")
_OLD_MARK = late.pattern("(.{10})(.{5})(.{4})")
_DAMAGED = (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError)
_FiledMarks = dict[str, dict[str, str]]
"""Marks, one behind the other, by session and day."""


class ReadState:
    """All that is kept, in one file: a process that is killed leaves all old or all new.

    - `cursors`: by path. `due`: by CLIENT/SESSION.
    - `ends`: committed ends of sessions without a cursor (None: not looked for).
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.cursors = Cursors(values["cursors"])
        self.ends: dict[str, tuple[ReadEnd, ...]] | None = values["ends"] and {
            session: tuple(ReadEnd(**end) for end in ends)
            for session, ends in values["ends"].items()
        }
        self.due: dict[str, DueLines] = {
            session: DueLines(**each) for session, each in values["due"].items()
        }
        self.has_changed = False
        self._filed: _FiledMarks = values["marks"]
        if not all(
            day.isdecimal() and isinstance(text, str)
            for days in self._filed.values()
            for day, text in days.items()
        ):
            raise ValueError("marks of another form")

    @cached_property
    def marks(self) -> dict[str, tuple[str, int]]:
        """The session in which each message was read, and the day since 1970; new ones are last."""
        marks: dict[str, tuple[str, int]] = {}
        for session, days in self._filed.items():
            for day, text in days.items():
                marks |= dict.fromkeys(_MARK.findall(text), (session, int(day)))
        self._marks_filed = len(marks)
        return marks

    def write(self, state: Path) -> None:
        """Store it, without old marks and lost transcripts' due lines. Raises: OSError."""
        if "marks" in vars(self):
            for mark, (session, day) in islice(self.marks.items(), self._marks_filed, None):
                _file_mark(self._filed, mark, session, day)
            self._marks_filed = len(self.marks)
        oldest = today() - _MARK_DAYS
        self._filed = {
            session: recent
            for session, days in self._filed.items()
            if (recent := {day: text for day, text in days.items() if int(day) > oldest})
        }
        values = {
            "version": _VERSION,
            "cursors": self.cursors.texts,
            "ends": self.ends,
            "due": {name: each for name, each in self.due.items() if Path(each.path).exists()},
            "marks": self._filed,
        }
        files.write_cache(state / STATE_NAME, _packed(values))


def _file_mark(filed: _FiledMarks, mark: str, session: str, day: int) -> None:
    days = filed.setdefault(session, {})
    days[str(day)] = days.get(str(day), "") + mark


def today() -> int:
    """The day, counted from 1970."""
    return (datetime.now(UTC).date() - date(1970, 1, 1)).days


def read_state(state: Path) -> ReadState:
    """Read the stored state; an empty one where it cannot be read."""
    try:
        return ReadState(_load(state / STATE_NAME, _VERSION))
    except _DAMAGED:
        return ReadState(_left_by_0_3(state))


def _load(path: Path, version: int) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(path.read_bytes())
    if values["version"] != version:
        raise ValueError("another version")
    return values


def _left_by_0_3(state: Path) -> dict[str, Any]:
    """Its marks and due lines, which nothing else tells; cursors come from commits."""
    filed: _FiledMarks = {}
    due = {}
    with suppress(*_DAMAGED):
        old = _load(state / OLD_MARKS_NAME, 1)
        for prefix, records in old["marks"].items():
            for rest, session, day in _OLD_MARK.findall(records):
                name = old["sessions"][int(session, 16)]
                _file_mark(filed, prefix + rest, name, int(day, 16))
    with suppress(*_DAMAGED):
        fields = DueLines.__match_args__
        rows = _load(state / _OLD_DUE_NAME, 2)["sessions"]
        due = {name: dict(zip(fields, row, strict=True)) for name, row in rows.items()}
    return {"cursors": {}, "ends": None, "due": due, "marks": filed}
