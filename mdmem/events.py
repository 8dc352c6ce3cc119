"""Events: a JSON line for each finished or refused verb, for `mdmem doctor` and `mdmem stats`.

They never hold a person's text or secrets, and queries only if the settings allow it
(`log_queries`). Path and commit are those of the result, not of the arguments.
"""

from __future__ import annotations

import errno
import fcntl
import json
import math
import os
import stat
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from mdmem.model import CommitId
from mdmem.model.errors import MdmemError, StorageProblem
from mdmem.startup.records import asdict, dataclass, field, replace

EVENTS_NAME, OLDER_EVENTS_NAME = "events.jsonl", "events.1.jsonl"
# a file that would grow larger becomes the older one; the previous older one is dropped
MAX_BYTES = 1_000_000

_MODE = 0o600
_QUERY = b'"query": '
_MAX_CHARS = 300  # of each text in an event


class Outcome(StrEnum):
    """`refused`: expected failure, `failed`: disk or interruption, `bug`: anything else."""

    DONE = "done"
    UNCHANGED = "unchanged"
    REFUSED = "refused"
    FAILED = "failed"
    BUG = "bug"


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Quality:
    """Figures of an answer that need no knowledge of the right one.

    - `words`: number of terms in the query. `age`: median, in days.
    - `first`, `last`: scores; `spread`: share by which the median score is below the first.
    - `text`, `heading`, `beside`: number of first hits with a word there.
    - `behind`: the index was out of date. `query`: without secrets; None unless the settings keep
      it.
    """

    words: int
    hits: int
    first: float | None = None
    last: float | None = None
    spread: float | None = None
    text: int = 0
    heading: int = 0
    beside: int = 0
    age: float | None = None
    behind: bool = False
    query: str | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """A finished or refused verb; `time` is real time, `warnings` are codes.

    `bug`: class of an error and where it was raised. `quality`: of a search. `figures`: of other
    verbs, stored among the other fields.
    """

    verb: str
    ms: float
    outcome: Outcome
    code: str | None = None
    actor: str | None = None
    session: str | None = None
    path: str | None = None
    commit: CommitId | None = None
    warnings: tuple[str, ...] = ()
    bug: str | None = None
    time: datetime = field(default_factory=_now)
    quality: Quality | None = None
    figures: Mapping[str, Any] | None = None


_OPTIONAL = ("path", "commit", "warnings", "bug", "quality", "figures")


# Writing.


def record_event(state: Path, event: Event) -> None:
    """Add an event.

    One that cannot be written is dropped silently: the work is already done or refused, and an
    error now would make a success look like a failure.
    """
    with suppress(OSError):
        append_line(state / EVENTS_NAME, state / OLDER_EVENTS_NAME, _format_line(event), MAX_BYTES)


def _format_line(event: Event) -> bytes:
    line: dict[str, Any] = {"time": event.time.isoformat(timespec="milliseconds")}
    values = {
        name: value for name, value in asdict(event).items() if value or name not in _OPTIONAL
    }
    if event.quality is not None:
        values |= {
            name: value
            for name, value in asdict(event.quality).items()
            if value is not None and value is not False
        }
    values |= event.figures or {}
    for name, value in values.items():
        if name not in ("time", "quality", "figures"):
            line[name] = value[:_MAX_CHARS] if isinstance(value, str) else value
    return json.dumps(line).encode() + b"\n"


def append_line(path: Path, older: Path, line: bytes, most: int) -> None:
    """Append a line in one write, which the kernel keeps whole; rotate a full file (OSError)."""
    descriptor = _open_for(path, older, len(line), most)
    try:
        os.write(descriptor, line if _ends_whole(descriptor) else b"\n" + line)
    finally:
        os.close(descriptor)


def _ends_whole(descriptor: int) -> bool:
    # after a full disk the file may end within a line
    size = os.fstat(descriptor).st_size
    return size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"


def _open_to_append(path: Path) -> int:
    return os.open(
        path,
        os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC,
        _MODE,
    )


def _open_for(path: Path, older: Path, more: int, most: int) -> int:
    descriptor = _open_to_append(path)
    if os.fstat(descriptor).st_size + more <= most:
        return descriptor
    try:
        _rotate(path, older, descriptor)
    finally:
        os.close(descriptor)
    return _open_to_append(path)


def _rotate(path: Path, older: Path, descriptor: int) -> None:
    """Make the open file the older one.

    Only the holder of the file's lock may move it, and only while it has its name, so that no file
    replaces one that was just moved. Without the lock, the current file is used.
    """
    with suppress(BlockingIOError, FileNotFoundError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), path.lstat()):
            path.rename(older)


# Timing.


class EventRecorder:
    """Times a verb and records its outcome at the end of the block; errors pass through.

    `with EventRecorder(state, "log", actor, session) as recorder: …; recorder.done(…)`
    """

    def __init__(
        self, state: Path, verb: str, actor: str | None = None, session: str | None = None
    ) -> None:
        self._state = state
        self._event = Event(
            verb=verb, ms=0, outcome=Outcome.DONE, code=None, actor=actor, session=session
        )
        self._started = time.monotonic()

    def __enter__(self) -> Self:
        self._started = time.monotonic()
        return self

    def done(
        self,
        changed: bool = True,
        path: str | None = None,
        commit: CommitId | None = None,
        warnings: tuple[str, ...] = (),
    ) -> None:
        """Set the outcome; without this call the verb is recorded as done."""
        outcome = Outcome.DONE if changed else Outcome.UNCHANGED
        self._event = replace(
            self._event, outcome=outcome, path=path, commit=commit, warnings=warnings
        )

    def searched(self, quality: Quality) -> None:
        self._event = replace(self._event, quality=quality)

    def measured(self, figures: Mapping[str, Any]) -> None:
        """Set the figures of a verb: numbers, flags and names chosen by the program, never text."""
        self._event = replace(self._event, figures=figures)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        event = replace(
            self._event, ms=round((time.monotonic() - self._started) * 1000, 1), time=_now()
        )
        if problem is not None:
            outcome, code = outcome_of(problem)
            event = replace(
                event,
                outcome=outcome,
                code=code,
                bug=_raised_at(problem) if outcome is Outcome.BUG else None,
            )
        record_event(self._state, event)


def outcome_of(problem: BaseException) -> tuple[Outcome, str]:
    """The outcome of a failed verb, and the error's stable code as in `errors.report`."""
    match problem:
        case StorageProblem():
            return Outcome.FAILED, problem.code
        case MdmemError():
            return Outcome.REFUSED, problem.code
        case OSError():
            return Outcome.FAILED, "storage"
        case KeyboardInterrupt():
            return Outcome.FAILED, "interrupted"
        case _:
            return Outcome.BUG, "bug"


def _raised_at(problem: BaseException) -> str:
    """The class and place of an error, not its message, which may hold a person's text."""
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return (
        f"{type(problem).__name__} in {trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}"
        if trace
        else type(problem).__name__
    )


# Reading.


@dataclass(frozen=True, slots=True)
class EventLog:
    """All events, oldest first, and the number of damaged lines."""

    events: tuple[Event, ...]
    damaged: int


def read_log(state: Path) -> EventLog:
    """Read all events, counting and skipping damaged lines. Raises OSError."""
    lines = read_lines(state / EVENTS_NAME, state / OLDER_EVENTS_NAME)
    parsed = tuple(event for event in map(_parse_event, lines) if event is not None)
    return EventLog(parsed, len(lines) - len(parsed))


def read_events(state: Path) -> tuple[Event, ...]:
    """Read all events. Raises OSError."""
    return read_log(state).events


def read_lines(path: Path, older: Path) -> list[bytes]:
    """The lines appended to a file, oldest first. Raises OSError."""
    return [line for data in _files(path, older) for line in data.split(b"\n") if line]


def holds_queries(data: bytes) -> bool:
    return _QUERY in data


def _files(path: Path, older: Path) -> tuple[bytes, ...]:
    # both are opened before either is read, so that a rotation meanwhile hides nothing
    with ExitStack() as stack:
        new = _open_to_read(stack, path)
        old = _open_to_read(stack, older)
        if new is not None and old is not None and os.path.samestat(os.fstat(new), os.fstat(old)):
            new = _open_to_read(stack, path)
        return tuple(_read_all(descriptor) for descriptor in (old, new) if descriptor is not None)


def _open_to_read(stack: ExitStack, path: Path) -> int | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    stack.callback(os.close, descriptor)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return descriptor


def _read_all(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        return file.read()


def _parse_event(line: bytes) -> Event | None:
    # None if it is half written, or another program's
    try:
        values = json.loads(line.decode())
        event = Event(
            verb=_parse_text(values["verb"]) or "",
            ms=float(values["ms"]),
            outcome=Outcome(values["outcome"]),
            code=_parse_text(values["code"]),
            actor=_parse_text(values["actor"]),
            session=_parse_text(values["session"]),
            path=_parse_text(values.get("path")),
            commit=values.get("commit") and CommitId(_parse_text(values["commit"]) or ""),
            warnings=tuple(str(code) for code in values.get("warnings", ())),
            bug=_parse_text(values.get("bug")),
            time=datetime.fromisoformat(values["time"]),
            quality=_parse_quality(values) if "hits" in values else None,
            figures=None if "hits" in values else _parse_figures(values),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
        return None
    return event if event.time.tzinfo and math.isfinite(event.ms) else None


def _parse_quality(values: Mapping[str, Any]) -> Quality:
    return Quality(
        words=int(values["words"]),
        hits=int(values["hits"]),
        first=_parse_number(values.get("first")),
        last=_parse_number(values.get("last")),
        spread=_parse_number(values.get("spread")),
        text=int(values["text"]),
        heading=int(values["heading"]),
        beside=int(values["beside"]),
        age=_parse_number(values.get("age")),
        behind=bool(values.get("behind")),
        query=_parse_text(values.get("query")),
    )


def _parse_figures(values: Mapping[str, Any]) -> Mapping[str, Any] | None:
    # the values besides an event's usual fields
    return {
        name: value for name, value in values.items() if name not in Event.__match_args__
    } or None


def _parse_number(value: Any) -> float | None:
    if value is not None and not math.isfinite(value):
        raise ValueError(f"{value} is not a measure")
    return None if value is None else float(value)


def _parse_text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} is not a text")
    return value
