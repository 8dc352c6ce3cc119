"""A process that does one thing and ends."""

from __future__ import annotations

import gc
import os
import signal
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn
from warnings import catch_warnings, simplefilter

# being terminated or hung up on counts as an interruption too
INTERRUPTIONS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
INTERRUPTED = 130  # exit status
# the default threshold would collect a dozen times while modules load, for nothing
_GC_THRESHOLD = 50_000
_WATCHER = b"thread-tantivy-"
"""The beginning of the name of tantivy's thread that looks for other writers' commits."""


class _Rest:
    """The work left to the end of this process; None in one that may live long."""

    def __init__(self) -> None:
        self.work: dict[object, Callable[[], None]] | None = None


_REST = _Rest()


def launch(main: Callable[[], int], at_end: Callable[[], None] | None = None) -> NoReturn:
    """Run `main`, which loads what it needs, and exit without teardown, which takes 6 ms.

    `at_end` is called when all is done and printed.
    """
    _REST.work = {}
    gc.set_threshold(_GC_THRESHOLD)
    for number in INTERRUPTIONS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _interrupt)
    try:
        status = main()
    except KeyboardInterrupt:  # so early that nothing else could report it
        try:
            os.write(2, b"mdmem: interrupted\n")
        finally:
            os._exit(INTERRUPTED)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
        for work in (*(_REST.work or {}).values(), at_end):
            if work is not None:
                work()
    finally:
        os._exit(status)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Interrupt once. Further signals are ignored, so that unfinished work is rolled back."""
    for interruption in INTERRUPTIONS:
        signal.signal(interruption, _ignore_signal)
    raise KeyboardInterrupt


def _ignore_signal(number: int, frame: FrameType | None) -> None:
    pass


def live_on() -> None:
    """Say that this process ends only when its user says so: nothing is left to its end."""
    _REST.work = None


def leave_to_the_end(name: object, work: Callable[[], None]) -> bool:
    """Have `work`, once for a name, done after the answer; False if this process may live long."""
    if _REST.work is None:
        return False
    _REST.work.setdefault(name, work)
    return True


def fork_detached(work: Callable[[], None]) -> bool:
    """Have `work` done by a process forked of this one; False where that would not be safe.

    It has a session of its own, so it outlives a caller that is killed, and neither the streams nor
    the files that came from the caller, such as a lock. Objects of this process are never collected
    there: to close a database twice would harm it.
    """
    if sys.platform != "linux" or not all(map(_is_harmless, Path("/proc/self/task").iterdir())):
        return False  # a lock that another thread holds would never be released
    if any(stat.S_ISREG(mode) for _, is_callers, mode in _open_files() if not is_callers):
        return False  # SQLite would count this process's locks as those of the other
    before = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTIONS)
    with catch_warnings():
        simplefilter("ignore", DeprecationWarning)  # of any thread, from Python 3.12 on
        process = os.fork()
    if process:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return True
    try:
        os.setsid()
        for number in INTERRUPTIONS:  # what was meant for the caller, and waits
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        gc.freeze()
        null = os.open(os.devnull, os.O_RDWR)
        for file in range(3):
            os.dup2(null, file)
        for file, is_callers, mode in _open_files():
            if is_callers or stat.S_ISREG(mode):  # tantivy's watcher may just have taken its lock
                os.close(file)
        work()
    finally:
        os._exit(0)


def _open_files() -> list[tuple[int, bool, int]]:
    """Open files but for the streams, True for those that a caller has left, and their modes."""
    found = []
    for file in [int(path.name) for path in Path("/proc/self/fd").iterdir()]:
        with suppress(OSError):  # the last was that of the list
            if file > 2:
                found.append((file, os.get_inheritable(file), os.fstat(file).st_mode))
    return found


def _is_harmless(thread: Path) -> bool:
    """True for the main thread, and for one that sleeps and has no lock that a new index needs."""
    if int(thread.name) == os.getpid():
        return True
    try:
        return (thread / "comm").read_bytes().startswith(_WATCHER)
    except (FileNotFoundError, ProcessLookupError):  # it has ended
        return True
