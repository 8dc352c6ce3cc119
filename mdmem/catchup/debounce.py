"""A quiet moment in a folder: waited for before work that can wait, so that a burst of changes leads to one run of it.

Loads next to nothing: a process that is not needed finds that out before it loads more.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

_QUIET_SECONDS, _LONGEST_WAIT_SECONDS, _LOOK_SECONDS = 0.5, 3.0, 0.1


def wait_until_quiet(folder: str | os.PathLike[str]) -> None:
    """Wait until no name was written in a folder for a moment, but not for long."""
    ends = time.monotonic() + _LONGEST_WAIT_SECONDS
    while time.monotonic() < ends and time.time() - os.stat(folder).st_mtime < _QUIET_SECONDS:
        time.sleep(_LOOK_SECONDS)  # in the background, where nobody waits for it


def wait_unless_waited(folder: str, mark: str) -> bool:
    """Wait so, unless another process does: what was done before this call it sees when it has waited.

    Args:
        folder: where names are written at each change.
        mark: a file that is there while somebody waits, stamped with the time at which that ends at the latest. Where the folder is
            newer, a process that was killed has left it. (The shims look at it in the same way, before they start a process.)

    Returns:
        Whether it is this process that is to do the work.
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
