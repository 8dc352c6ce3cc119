"""Events: one JSON line for each thing done or refused, in the state folder, for `mdmem doctor` and `mdmem stats`.

A line says what was done, how long it took and how it ended, and of a search how its answer looked; never what a person wrote or keeps
secret, and what was asked only where the settings say so (`log_queries`). A path and a commit are those of the result, not those that
were asked for.
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

from mdmem.errors import MdmemError, StorageProblem
from mdmem.model import CommitId
from mdmem.model.searches import Quality
from mdmem.startup.records import asdict, dataclass, field, replace

EVENTS_NAME, OLDER_EVENTS_NAME = "events.jsonl", "events.1.jsonl"
MAX_BYTES = 1_000_000
"""A file that would grow larger becomes the older one; the one that was older goes."""

_MODE = 0o600
_QUERY = b'"query": '
_MAX_CHARS = 300
"""Of each text."""


class Outcome(StrEnum):
    """How something ended: `refused` is an expected failure, `failed` the disk's or an interruption, `bug` anything else."""

    DONE = "done"
    UNCHANGED = "unchanged"
    REFUSED = "refused"
    FAILED = "failed"
    BUG = "bug"


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Event:
    """One thing done or refused. `time` is the real clock's, `warnings` are codes, `bug` is an error's class and where it was raised.

    `quality` is a search's; its fields stand in the line among the others.
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


_OPTIONAL = ("path", "commit", "warnings", "bug", "quality")


# Writing.


def record_event(state: Path, event: Event) -> None:
    """Add an event to those of a workspace.

    Nothing comes of it where it cannot be written: the disk is full or read-only, or there is no state folder. An event only tells of
    work that is done or refused already; to fail now, or even to speak of it, would make a success look like a failure.
    """
    with suppress(OSError):
        _append(state, _line(event))


def _line(event: Event) -> bytes:
    found = {"time": event.time.isoformat(timespec="milliseconds")}
    told = {name: value for name, value in asdict(event).items() if value or name not in _OPTIONAL}
    if event.quality is not None:
        told |= {name: value for name, value in asdict(event.quality).items() if value is not None and value is not False}
    for name, value in told.items():
        if name not in ("time", "quality"):
            found[name] = value[:_MAX_CHARS] if isinstance(value, str) else value
    return json.dumps(found).encode() + b"\n"


def _append(state: Path, line: bytes) -> None:
    """One write at the end of the file, which the kernel does not mix with another's."""
    descriptor = _open_for(state, len(line))
    try:
        os.write(descriptor, line if _ends_whole(descriptor) else b"\n" + line)
    finally:
        os.close(descriptor)


def _ends_whole(descriptor: int) -> bool:
    """Whether the file ends with a line end; it does not where a full disk took only the start of a line."""
    size = os.fstat(descriptor).st_size
    return size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"


def _open(place: Path) -> int:
    return os.open(place, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, _MODE)


def _open_for(state: Path, more: int) -> int:
    """The file that is to take `more` bytes; one that is full is moved out of the way first."""
    descriptor = _open(state / EVENTS_NAME)
    if os.fstat(descriptor).st_size + more <= MAX_BYTES:
        return descriptor
    try:
        _rotate(state, descriptor)
    finally:
        os.close(descriptor)
    return _open(state / EVENTS_NAME)


def _rotate(state: Path, descriptor: int) -> None:
    """Make the file that is open the older one.

    The lock is on the file itself: only who holds it, and finds the file under its name still, may move it. So no file is moved over
    one that another process has just moved. Who does not get the lock writes to whichever file is there.
    """
    with suppress(BlockingIOError, FileNotFoundError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), (state / EVENTS_NAME).lstat()):
            (state / EVENTS_NAME).rename(state / OLDER_EVENTS_NAME)


# Timing.


class EventRecorder:
    """Times a verb and records how it ended when the block is left; an error goes on to whoever waits for it.

    `with Watch(state, "log", actor, session) as watch: …; watch.done(changed, path, commit)`
    """

    def __init__(self, state: Path, verb: str, actor: str | None = None, session: str | None = None) -> None:
        self._state = state
        self._event = Event(verb=verb, ms=0, outcome=Outcome.DONE, code=None, actor=actor, session=session)
        self._started = time.monotonic()

    def __enter__(self) -> Self:
        self._started = time.monotonic()
        return self

    def done(self, changed: bool = True, path: str | None = None, commit: CommitId | None = None, warnings: tuple[str, ...] = ()) -> None:
        """Say what came of it; a verb of which nothing is said is done."""
        outcome = Outcome.DONE if changed else Outcome.UNCHANGED
        self._event = replace(self._event, outcome=outcome, path=path, commit=commit, warnings=warnings)

    def searched(self, quality: Quality) -> None:
        """Say how the answer of a search looks."""
        self._event = replace(self._event, quality=quality)

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        event = replace(self._event, ms=round((time.monotonic() - self._started) * 1000, 1), time=_now())
        if problem is not None:
            outcome, code = _ended_by(problem)
            event = replace(event, outcome=outcome, code=code, bug=_place(problem) if outcome is Outcome.BUG else None)
        record_event(self._state, event)


def _ended_by(problem: BaseException) -> tuple[Outcome, str]:
    """What an error makes of a verb, and its stable code, as `errors.report` has it."""
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


def _place(problem: BaseException) -> str:
    """The class of an error, and the module and line that raised it. Its message may hold what a person wrote."""
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{type(problem).__name__} in {trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}" if trace else type(problem).__name__


# Reading.


@dataclass(frozen=True, slots=True)
class EventLog:
    """The events that are kept, oldest first, and the number of lines that are no whole event."""

    events: tuple[Event, ...]
    damaged: int


def read_log(state: Path) -> EventLog:
    """The events of a workspace. A line that is not a whole event is counted and passed over.

    Raises:
        OSError: they cannot be read.
    """
    lines = [line for data in _files(state) for line in data.split(b"\n") if line]
    found = tuple(event for event in map(_event, lines) if event is not None)
    return EventLog(found, len(lines) - len(found))


def read_events(state: Path) -> tuple[Event, ...]:
    """The events alone.

    Raises:
        OSError: they cannot be read.
    """
    return read_log(state).events


def holds_queries(data: bytes) -> bool:
    """Whether a file of events says what was searched for."""
    return _QUERY in data


def _files(state: Path) -> tuple[bytes, ...]:
    """The older file and the newer. Both are opened before either is read, so that a rotation meanwhile hides nothing."""
    with ExitStack() as stack:
        newer = _opened(stack, state / EVENTS_NAME)
        older = _opened(stack, state / OLDER_EVENTS_NAME)
        if newer is not None and older is not None and os.path.samestat(os.fstat(newer), os.fstat(older)):
            newer = _opened(stack, state / EVENTS_NAME)
        return tuple(_all(descriptor) for descriptor in (older, newer) if descriptor is not None)


def _opened(stack: ExitStack, place: Path) -> int | None:
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    stack.callback(os.close, descriptor)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(place))
    return descriptor


def _all(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        return file.read()


def _event(line: bytes) -> Event | None:
    """The event of a line; None where it is half written, or another program's."""
    try:
        found = json.loads(line.decode())
        event = Event(
            verb=_text(found["verb"]) or "",
            ms=float(found["ms"]),
            outcome=Outcome(found["outcome"]),
            code=_text(found["code"]),
            actor=_text(found["actor"]),
            session=_text(found["session"]),
            path=_text(found.get("path")),
            commit=found.get("commit") and CommitId(_text(found["commit"]) or ""),
            warnings=tuple(str(code) for code in found.get("warnings", ())),
            bug=_text(found.get("bug")),
            time=datetime.fromisoformat(found["time"]),
            quality=_quality(found) if "hits" in found else None,
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
        return None
    return event if event.time.tzinfo and math.isfinite(event.ms) else None


def _quality(found: Mapping[str, Any]) -> Quality:
    return Quality(
        words=int(found["words"]),
        hits=int(found["hits"]),
        first=_measure(found.get("first")),
        last=_measure(found.get("last")),
        spread=_measure(found.get("spread")),
        text=int(found["text"]),
        heading=int(found["heading"]),
        beside=int(found["beside"]),
        age=_measure(found.get("age")),
        behind=bool(found.get("behind")),
        query=_text(found.get("query")),
    )


def _measure(value: Any) -> float | None:
    if value is not None and not math.isfinite(value):
        raise ValueError(f"{value} is no measure")
    return None if value is None else float(value)


def _text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} is not a text")
    return value
