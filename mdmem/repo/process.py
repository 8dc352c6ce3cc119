"""Run a git process in a session of its own, read its output to the end, and end it where it takes too long.

`subprocess` starts it. Its own child processes are ended with it or, where they stay in the background, not waited for: `communicate` can
do neither.
"""

from __future__ import annotations

import math
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO

from mdmem.startup.launch import INTERRUPTIONS

if not hasattr(os, "memfd_create"):  # another system, or an interpreter built for an old one
    import tempfile


_QUIET_SECONDS = 0.2
_KILL_SECONDS = 2.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.0002, 0.05
_CHUNK_BYTES = 65_536
_LOST_STATUS = 255
"""The status of a process for which something else has waited: whether it succeeded is not known."""


class TimeUpError(Exception):
    """A process took too long; it and all its children are ended."""


class TooMuchOutputError(Exception):
    """A process wrote more than it may; it and all its children are ended."""


def converse(
    command: Sequence[str],
    environment: Mapping[str, str],
    text: bytes,
    seconds: float,
    folder: str | None = None,
    meanwhile: Callable[[], None] | None = None,
    most_bytes: int | None = None,
) -> tuple[int, bytes, bytes]:
    """Start a process (found by PATH) with `text` on its standard input, and read its output to the end.

    The whole text is there before the start: if this process is killed, the child never takes a part of it for the whole. Pipes that are
    kept open by processes in the background are not waited for. It runs in `folder` (None: in the current one). `meanwhile` is called while the
    process works, and is to be quick. `most_bytes`: of both outputs together (None: any number).

    Returns:
        Its exit status (below zero: the signal that ended it), standard output and standard error.

    Raises:
        FileNotFoundError: the program does not exist.
        TimeUpError: it took longer than `seconds`.
        TooMuchOutputError: it wrote more than `most_bytes`.
    """
    if _is_main_thread() and signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:  # inherited; no status could be waited for
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    process: subprocess.Popen[bytes] | None = None
    with _pipe() as (output, their_output), _pipe() as (errors, their_errors), _text_file(text) as their_input:
        try:
            with _interruptions_held():
                process = subprocess.Popen(
                    command,
                    stdin=their_input,
                    stdout=their_output,
                    stderr=their_errors,
                    env=environment,
                    cwd=folder,
                    start_new_session=True,
                )
            their_output.close()
            their_errors.close()
            if meanwhile is not None:
                meanwhile()
            received = _read_streams(process, (output, errors), time.monotonic() + seconds, most_bytes)
        except BaseException:
            if process is not None:
                _end(process)
            raise
    return process.returncode, received[0], received[1]


def _is_main_thread() -> bool:
    """True in the thread that handles signals and may set their handlers."""
    return threading.current_thread() is threading.main_thread()


@contextmanager
def _pipe() -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Both ends of a pipe, the reading end first. (Pipes that `Popen` makes stay open where it cannot make them all.)"""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as ours, os.fdopen(writing, "wb") as theirs:
        yield ours, theirs


@contextmanager
def _text_file(text: bytes) -> Iterator[IO[bytes] | int]:
    """A file without a name that holds the text; no file at all for an empty one."""
    if not text:
        yield subprocess.DEVNULL
        return
    with os.fdopen(os.memfd_create("text"), "w+b") if hasattr(os, "memfd_create") else tempfile.TemporaryFile() as file:
        file.write(text)
        file.seek(0)
        yield file


@contextmanager
def _interruptions_held() -> Iterator[None]:
    """Hold interruptions back until the process that is being started is under control here.

    Otherwise it would go on unseen, and commit what is being put back. Blocking the signal would block it in the process too.
    """
    handlers = {number: signal.getsignal(number) for number in INTERRUPTIONS} if _is_main_thread() else {}
    held: list[int] = []
    try:
        for number, handler in handlers.items():
            if callable(handler):
                signal.signal(number, lambda number, _: held.append(number))
        yield
    finally:
        for number, handler in handlers.items():
            if callable(handler):
                signal.signal(number, handler)
        for interruption in held:
            signal.raise_signal(interruption)


def _read_streams(
    process: subprocess.Popen[bytes],
    streams: Sequence[IO[bytes]],
    limit: float,
    most_bytes: int | None,
) -> list[bytes]:
    """Read what a process writes to these streams, until a time of the monotonic clock at most."""
    received = {stream.fileno(): bytearray() for stream in streams}
    ended_at: float | None = None
    with selectors.DefaultSelector() as selector:
        for stream in received:
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select(_QUIET_SECONDS):
                if chunk := os.read(key.fd, _CHUNK_BYTES):
                    received[key.fd] += chunk
                else:
                    selector.unregister(key.fd)
            if most_bytes is not None and sum(map(len, received.values())) > most_bytes:
                raise TooMuchOutputError
            now = time.monotonic()
            if ended_at is not None:
                if now - ended_at >= _QUIET_SECONDS:
                    break
            elif _has_ended(process):
                ended_at = now  # its last output is in the pipes, and read in the next round
            elif now >= limit:
                raise TimeUpError
    if not _ends_by(process, limit):
        raise TimeUpError
    return [bytes(data) for data in received.values()]


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """True if a process has ended. (`Popen.poll` reports a status that it cannot get as success.)"""
    if process.returncode is None:
        try:
            number, status = os.waitpid(process.pid, os.WNOHANG)
        except ChildProcessError:
            process.returncode = _LOST_STATUS
        else:
            process.returncode = os.waitstatus_to_exitcode(status) if number else None
    return process.returncode is not None


def _ends_by(process: subprocess.Popen[bytes], limit: float) -> bool:
    """Wait for the end until a time of the monotonic clock; False where the time is up."""
    pause = _FIRST_PAUSE
    while not _has_ended(process):
        if time.monotonic() >= limit:
            return False
        time.sleep(pause)  # not every system can signal the end of a process; the first pause is a fraction of a millisecond
        pause = min(pause * 2, _LONGEST_PAUSE)
    return True


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and all its children, with time to remove their lock files."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except (ProcessLookupError, PermissionError):  # none is left, or only one that a hook started as another user
            break
        _ends_by(process, time.monotonic() + _KILL_SECONDS)
    _ends_by(process, math.inf)
