"""Wait for a quiet moment in a folder before work that is not urgent, so that a burst of changes leads to one run of it.

Loads next to nothing, so that a process that is not needed finds that out before it loads more.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

_QUIET_SECONDS, _LONGEST_WAIT_SECONDS, _LOOK_SECONDS = 0.5, 3.0, 0.1


def wait_until_quiet(folder: str | os.PathLike[str]) -> None:
    """Wait until no name has been written in a folder for a moment, but no longer than a few seconds."""
    ends = time.monotonic() + _LONGEST_WAIT_SECONDS
    while time.monotonic() < ends and time.time() - os.stat(folder).st_mtime < _QUIET_SECONDS:
        time.sleep(_LOOK_SECONDS)  # in the background, where nobody waits for it


def wait_unless_waited(folder: str, mark: str) -> bool:
    """Wait until the folder is quiet, unless another process does already: that one will see what was done before this call.

    Args:
        folder: where names are written at each change.
        mark: a file that exists while a process waits, stamped with the time at which the wait ends at the latest. If the folder is newer,
            the process was killed and has left the file. (The shims check it in the same way before they start a process.)

    Returns:
        True if this process is to do the work.
    """
    try:
        os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        if _is_newer(mark, folder):
            return False
    except OSError:  # no folder for the mark, or none that can be written
        return True
    with suppress(FileNotFoundError):
        ends = time.time() + _LONGEST_WAIT_SECONDS
        os.utime(mark, (ends, ends))
    try:
        wait_until_quiet(folder)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(mark)
    return True


def _is_newer(mark: str, folder: str) -> bool:
    try:
        return os.stat(mark).st_mtime > os.stat(folder).st_mtime
    except FileNotFoundError:
        return False
