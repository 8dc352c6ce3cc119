"""A process in a session of its own: started, heard and ended by the system's own calls.

The standard library's module for this takes as long to load as git takes to answer.
"""

from __future__ import annotations

import math
import os
import select
import time

from mdmem.once import INTERRUPTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as signals
    from collections.abc import Mapping
else:
    import _signal as signals  # the numbers alone: the library's module, which gives them names, takes long to load too

_QUIET_SECONDS = 0.2
_KILL_SECONDS = 2.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.0002, 0.05
_CHUNK_BYTES = 65_536
_IGNORED_HERE = (signals.SIGPIPE, signals.SIGXFSZ)
"""By the interpreter, which what it starts would go on with."""
_UNHEARD = 255
"""The status of a process whose end was heard as this one was interrupted."""


class TimeUpError(Exception):
    """A process was not done in its time; it is ended, and all that it started."""


def converse(command: list[str], environment: Mapping[str, str], text: bytes, seconds: float) -> tuple[int, bytes, bytes]:
    """Start a process (found by PATH), give it `text`, and hear it to its end.

    What it started in the background may keep the pipes open; that is not waited for. A text that a pipe holds is given before the start:
    where this process is killed, the other never takes a part of it for the whole.

    Returns:
        Its exit status (below zero: the signal that ended it), standard output and standard error.

    Raises:
        FileNotFoundError: there is no such program.
        TimeUpError: it took longer than `seconds`.
    """
    if signals.getsignal(signals.SIGCHLD) == signals.SIG_IGN:  # as it can be inherited; no process would say then how it ended
        signals.signal(signals.SIGCHLD, signals.SIG_DFL)
    theirs: list[int] = []
    ours: list[int] = []
    child = _Child()
    try:
        try:
            for number in range(3):
                reading, writing = os.pipe()
                theirs.append(writing if number else reading)
                ours.append(reading if number else writing)
            os.set_blocking(ours[0], False)
            left = _given(ours, memoryview(text))
            child.start(command, environment, theirs)
        finally:
            for end in theirs:
                os.close(end)
        output, words = _heard(child, ours, left, time.monotonic() + seconds)
    except BaseException:
        child.end()
        raise
    finally:
        for end in ours:
            if end >= 0:
                os.close(end)
    return child.status or 0, output, words


class _Child:
    """A process. `status` is None until it has ended, as far as that was looked for."""

    def __init__(self) -> None:
        self.process: int | None = None
        self.status: int | None = None

    def start(self, command: list[str], environment: Mapping[str, str], streams: list[int]) -> None:
        """Start it. An interruption waits until its number is known: it would go on unseen, and commit what is being put back here."""
        actions = [(os.POSIX_SPAWN_DUP2, end, number) for number, end in enumerate(streams)]
        mask = signals.pthread_sigmask(signals.SIG_BLOCK, INTERRUPTIONS)
        try:
            self.process = os.posix_spawnp(
                command[0], command, environment, file_actions=actions, setsid=True, setsigmask=mask, setsigdef=_IGNORED_HERE
            )
        finally:
            signals.pthread_sigmask(signals.SIG_SETMASK, mask)

    def has_ended(self) -> bool:
        if self.status is None and self.process is not None:
            try:
                found, status = os.waitpid(self.process, os.WNOHANG)
            except ChildProcessError:
                self.status = _UNHEARD
            else:
                self.status = os.waitstatus_to_exitcode(status) if found else None
        return self.status is not None

    def ends_by(self, limit: float) -> bool:
        """Wait for the end until a moment of the monotonic clock."""
        pause = _FIRST_PAUSE
        while not self.has_ended():
            if time.monotonic() >= limit:
                return False
            time.sleep(pause)  # not every system tells when a process ends; at first this is a fraction of a millisecond
            pause = min(pause * 2, _LONGEST_PAUSE)
        return True

    def end(self) -> None:
        """End it, where it was started, and all that it started; it gets the time to take its lock files away."""
        if self.process is None:
            return
        for number in (signals.SIGTERM, signals.SIGKILL):
            try:
                os.killpg(self.process, number)
            except (ProcessLookupError, PermissionError):  # nothing is left, or what a hook started as another user
                break
            self.ends_by(time.monotonic() + _KILL_SECONDS)
        self.ends_by(math.inf)


def _heard(child: _Child, ours: list[int], left: memoryview, limit: float) -> tuple[bytes, bytes]:
    """Standard output and standard error, while what is left of the text is given."""
    poller = select.poll()
    heard = {end: bytearray() for end in ours[1:]}
    for end in heard:
        poller.register(end, select.POLLIN)
    if left:
        poller.register(ours[0], select.POLLOUT)
    listening, ended_at = set(heard), None
    while listening or left:
        ready = poller.poll(_QUIET_SECONDS * 1000)
        for end, _ in ready:
            if end == ours[0]:
                left = _given(ours, left)
                if not left:
                    poller.unregister(end)
            elif chunk := os.read(end, _CHUNK_BYTES):
                heard[end] += chunk
            else:
                poller.unregister(end)
                listening.discard(end)
        now = time.monotonic()
        if ended_at is not None:
            if now - ended_at >= _QUIET_SECONDS:
                break
        elif child.has_ended():
            ended_at = now  # what it said is in the pipes, and heard in the next round
        elif now >= limit:
            raise TimeUpError
    if not child.ends_by(limit):
        raise TimeUpError
    output, words = heard.values()
    return bytes(output), bytes(words)


def _given(ours: list[int], left: memoryview) -> memoryview:
    """What is left of a text after giving what the process takes now; the first end of `ours` is closed (-1) after all of it.

    Nothing is left either where the process reads no more.
    """
    try:
        left = left[os.write(ours[0], left[:_CHUNK_BYTES]) :]
    except BlockingIOError:
        return left
    except BrokenPipeError:
        left = left[:0]
    if not left:
        os.close(ours[0])
        ours[0] = -1
    return left
