"""A client at a terminal, with a person who types."""

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

_SECONDS = 120
_QUIET = 1.5
"""A screen that has not changed for so many seconds waits for the person."""


def type_lines(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    lines: Sequence[str],
    answered: Callable[[], int],
) -> str:
    """Type each line once `answered` counts the one before; returns what the screen showed."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.execvpe(command[0], command, dict(environment))
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    screen = _until_quiet(terminal)
    limit = time.monotonic() + _SECONDS
    try:
        for number, line in enumerate(lines, 1):
            os.write(terminal, line.encode())
            screen += _until_quiet(terminal)
            os.write(terminal, b"\r")
            while answered() < number and time.monotonic() < limit:
                screen += _until_quiet(terminal)
            screen += _until_quiet(terminal)
    finally:
        os.kill(process, signal.SIGTERM)
        os.waitpid(process, 0)
        os.close(terminal)
    return screen.decode("utf-8", "replace")


def _until_quiet(terminal: int) -> bytes:
    """The words that a terminal shows until it has shown nothing for a while."""
    shown, quiet = b"", 3 * _QUIET
    while select.select([terminal], [], [], quiet)[0]:
        try:
            shown += os.read(terminal, 65536)
        except OSError:  # the client has ended
            break
        quiet = _QUIET
    return shown
