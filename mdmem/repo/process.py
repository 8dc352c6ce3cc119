"""A process in a session of its own: started, heard and ended by the system's own calls.

The standard library's module for this takes as long to load as git takes to answer.
"""

import os
import select
import time
from collections.abc import Mapping

_QUIET_SECONDS = 0.2
_KILL_SECONDS = 2.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.0002, 0.05
_CHUNK_BYTES = 65_536
_KILL, _BROKEN_PIPE, _TERMINATE, _FILE_TOO_LARGE = 9, 13, 15, 25
"""Signals, by the numbers that they have on every system that has process groups: their names take long to load too."""


class TimeUpError(Exception):
    """A process was not done in its time; it is ended, and all that it started."""


def converse(command: list[str], environment: Mapping[str, str], text: bytes, seconds: float) -> tuple[int, bytes, bytes]:
    """Start a process (found by PATH), give it `text`, and hear it to its end.

    What it started in the background may keep the pipes open; that is not waited for.

    Returns:
        Its exit status (below zero: the signal that ended it), standard output and standard error.

    Raises:
        FileNotFoundError: there is no such program.
        TimeUpError: it took longer than `seconds`.
    """
    pairs = [os.pipe() for _ in range(3)]
    theirs = [pairs[0][0], pairs[1][1], pairs[2][1]]
    ours = [pairs[0][1], pairs[1][0], pairs[2][0]]
    try:
        try:
            actions = [(os.POSIX_SPAWN_DUP2, end, number) for number, end in enumerate(theirs)]
            unignored = (_BROKEN_PIPE, _FILE_TOO_LARGE)
            process = os.posix_spawnp(command[0], command, environment, file_actions=actions, setsid=True, setsigdef=unignored)
        finally:
            for end in theirs:
                os.close(end)
        child = _Child(process)
        try:
            output, words = _heard(child, ours, text, time.monotonic() + seconds)
        except BaseException:
            child.end()
            raise
    finally:
        for end in ours:
            if end >= 0:
                os.close(end)
    return child.status or 0, output, words


class _Child:
    """A process that was started. `status` is None until it has ended, as far as that was looked for."""

    def __init__(self, process: int) -> None:
        self.process = process
        self.status: int | None = None

    def has_ended(self) -> bool:
        if self.status is None:
            found, status = os.waitpid(self.process, os.WNOHANG)
            self.status = os.waitstatus_to_exitcode(status) if found else None
        return self.status is not None

    def ends_by(self, limit: float) -> bool:
        """Wait for the end until a moment of the monotonic clock."""
        pause = _FIRST_PAUSE
        while not self.has_ended():
            if time.monotonic() >= limit:
                return False
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
        return True

    def end(self) -> None:
        """End it and all that it started; it gets the time to take its lock files away."""
        for number in (_TERMINATE, _KILL):
            try:
                os.killpg(self.process, number)
            except ProcessLookupError:
                break
            self.ends_by(time.monotonic() + _KILL_SECONDS)
        if self.status is None:
            os.waitpid(self.process, 0)


def _heard(child: _Child, ours: list[int], text: bytes, limit: float) -> tuple[bytes, bytes]:
    """Standard output and standard error; an end of `ours` that is closed becomes -1."""
    poller = select.poll()
    left, heard = memoryview(text), {end: bytearray() for end in ours[1:]}
    os.set_blocking(ours[0], False)
    for end in ours:
        poller.register(end, select.POLLOUT if end == ours[0] else select.POLLIN)
    listening, ended_at = set(heard), None
    while listening:
        ready = poller.poll(_QUIET_SECONDS * 1000)
        for end, _ in ready:
            if end == ours[0]:
                left = _given(end, left)
                if not left:
                    poller.unregister(end)
                    os.close(end)
                    ours[0] = -1
            elif chunk := os.read(end, _CHUNK_BYTES):
                heard[end] += chunk
            else:
                poller.unregister(end)
                listening.discard(end)
        now = time.monotonic()
        if ended_at is not None:
            if now - ended_at >= _QUIET_SECONDS:
                break
        elif (not ready or now >= limit) and child.has_ended():
            ended_at = now
        elif now >= limit:
            raise TimeUpError
    if not child.ends_by(limit):
        raise TimeUpError
    output, words = heard.values()
    return bytes(output), bytes(words)


def _given(end: int, left: memoryview) -> memoryview:
    """What is left of a text after giving what the process takes now; nothing where it reads no more."""
    try:
        return left[os.write(end, left[:_CHUNK_BYTES]) :]
    except BlockingIOError:
        return left
    except BrokenPipeError:
        return left[:0]
