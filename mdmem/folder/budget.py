"""The budget for reading one file, and the versions of files that exceeded it.

Whoever may push can write a file that keeps a parser busy for hours, so reading is ended when it
has taken too much, and that version is not read again. A timer ends it in a main thread, in the
midst of a pattern too; in other threads a watcher does, between two steps of Python's.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from mdmem import __version__
from mdmem.folder import config, files
from mdmem.model.errors import PathProblem

_SECONDS, _SECONDS_EACH_MB = 2.0, 5.0
"""Of CPU; a list of 4.8 MB takes 3.3 s and 215 MB."""
_MEMORY_MB, _MEMORY_EACH_MB = 200, 100
_LOOK_SECONDS = 0.05
_MAXRSS_BYTES = 1 if sys.platform == "darwin" else 1024
_MEGABYTE = 1_000_000
_RECORD_NAME = "left-out"
_MAX_RECORDED = 1_000
_RECORD_SECONDS = 0.2
"""The record is read this seldom, since thousands of files ask for it."""
LEFT_OUT = "reading this version takes too much time or memory"


class OverBudget(BaseException):
    """Ends a step in its midst; no `except` for expected failures may stop it."""


@contextmanager
def reading(data: bytes) -> Iterator[None]:
    """Read these bytes of a file; a version that exceeded its budget before is refused at once.

    Raises PathProblem (`unsupported-file`: the budget is exceeded).
    """
    known = _exceeded.digests()
    if known and _digest(data) in known:
        raise _left_out()
    if threading.get_ident() in _in_budget:
        yield
        return
    try:
        with limited(len(data)):
            yield
    except OverBudget:
        _exceeded.add(_digest(data))
        raise _left_out() from None


def left_out() -> frozenset[str]:
    """The digests and names of all that exceeded its budget."""
    return _exceeded.digests()


def leave_out(name: str) -> None:
    _exceeded.add(name)


def _left_out() -> PathProblem:
    return PathProblem("unsupported-file", LEFT_OUT, "Shorten or split it.")


_in_budget: set[int] = set()
"""The threads that have a budget already; what they read within it counts against that."""


@contextmanager
def limited(size: int) -> Iterator[None]:
    """The budget for `size` bytes of files; raises OverBudget once it is exceeded."""
    thread = threading.get_ident()
    if thread in _in_budget:
        yield
        return
    is_main = threading.current_thread() is threading.main_thread()
    meter = (_Timer if is_main else _Watcher)(size)
    _in_budget.add(thread)
    try:
        try:
            meter.start()
            yield
        finally:
            meter.stop()
    except OverBudget:  # it may have come while the meter was stopped
        meter.stop()
        raise
    finally:
        _in_budget.discard(thread)


class _Meter:
    """The CPU and memory that a thread has taken since its budget began."""

    def __init__(self, size: int) -> None:
        self._seconds = _SECONDS + _SECONDS_EACH_MB * size / _MEGABYTE
        self._bytes = int(_MEMORY_MB * _MEGABYTE + _MEMORY_EACH_MB * size)
        self._is_over = False
        self._began = 0.0
        self._memory = _most_memory()

    def _is_exceeded(self, clock: float) -> bool:
        return clock - self._began > self._seconds or _most_memory() - self._memory > self._bytes


_WITH_CALLBACKS = ("_weakrefset", "weakref")


class _Timer(_Meter):
    """For the main thread, the only one that signals reach."""

    def start(self) -> None:
        self._began = time.thread_time()
        self._before = signal.signal(signal.SIGVTALRM, self._look)
        signal.siginterrupt(signal.SIGVTALRM, False)
        signal.setitimer(signal.ITIMER_VIRTUAL, _LOOK_SECONDS, _LOOK_SECONDS)

    def stop(self) -> None:
        self._is_over = True
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, self._before)

    def _look(self, number: int, frame: FrameType | None) -> None:
        if self._is_over or _is_in_callback(frame):
            return
        if self._is_exceeded(time.thread_time()):
            raise OverBudget


def _is_in_callback(frame: FrameType | None) -> bool:
    """True in a destructor or a weak reference's callback: Python drops what these raise."""
    return frame is not None and (
        frame.f_code.co_name == "__del__" or frame.f_globals.get("__name__") in _WITH_CALLBACKS
    )


class _Watcher(_Meter):
    """For any other thread: a thread that looks at it."""

    def start(self) -> None:
        self._thread = threading.get_ident()
        find_clock = getattr(time, "pthread_getcpuclockid", None)  # not on macOS
        self._clock = find_clock(self._thread) if find_clock else None
        self._began = self._time()
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._has_raised = False
        with suppress(RuntimeError):  # the system has no room for a thread
            threading.Thread(target=self._watch, name="mdmem budget", daemon=True).start()

    def stop(self) -> None:
        with self._lock:
            self._ended.set()
        if self._has_raised:
            _raise_in(self._thread, None)  # one that is still on its way

    def _time(self) -> float:
        return time.process_time() if self._clock is None else time.clock_gettime(self._clock)

    def _watch(self) -> None:
        while not self._ended.wait(_LOOK_SECONDS):
            with self._lock:
                if not self._ended.is_set() and self._is_exceeded(self._time()):
                    self._has_raised = True
                    _raise_in(self._thread, OverBudget)


def _raise_in(thread: int, failure: type[BaseException] | None) -> None:
    value = None if failure is None else ctypes.py_object(failure)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), value)


def _most_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAXRSS_BYTES


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


class _Exceeded:
    """The versions of files that exceeded their budget with this version of the program.

    They are recorded in the user's own folder, by the digest of their bytes.
    """

    def __init__(self) -> None:
        self._digests: frozenset[str] = frozenset()
        self._unrecorded: frozenset[str] = frozenset()
        """Those of this process, where there is no home to record them in."""
        self._next_look = 0.0

    def digests(self) -> frozenset[str]:
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + _RECORD_SECONDS
            self._digests = self._unrecorded.union(_recorded(_record_path()))
        return self._digests

    def add(self, digest: str) -> None:
        path = _record_path()
        self._next_look = 0.0
        if path is None:
            self._unrecorded |= {digest}
            return
        kept = [*_recorded(path), digest][-_MAX_RECORDED:]
        with suppress(OSError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            files.write_cache(path, "".join(f"{each} {__version__}\n" for each in kept))


_exceeded = _Exceeded()


def _record_path() -> Path | None:
    folder = config.user_state_folder(os.environ)
    return folder / _RECORD_NAME if folder else None


def _recorded(path: Path | None) -> list[str]:
    try:
        text = path.read_text("utf-8", "replace") if path else ""
    except OSError:
        return []
    lines = (line.partition(" ") for line in text.splitlines())
    return [digest for digest, _, version in lines if version == __version__]
