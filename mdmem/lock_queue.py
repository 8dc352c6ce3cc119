"""Wait for a lock file that another process holds. Loaded where one does."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable

NOTICE_SECONDS = 1.0
NOTICE = "waiting for another mdmem to finish"


def wait_for_lock(descriptor: int, timeout: float, waiting: Callable[[str], None] | None) -> bool:
    """Queue for a lock, which the system hands on in turn; True if it was acquired in time.

    flock(2) has no time limit, so a thread waits, with a descriptor of its own for the same open file: this one may be closed, and its
    number reused, before the thread runs. A thread that waits in vain ends with the process, or gets the lock and releases it at once.
    """
    if timeout <= 0:
        return False
    acquired = threading.Event()
    duplicate = os.dup(descriptor)

    def wait() -> None:
        try:
            fcntl.flock(duplicate, fcntl.LOCK_EX)
        finally:
            os.close(duplicate)
        acquired.set()

    threading.Thread(target=wait, daemon=True).start()
    if acquired.wait(min(timeout, NOTICE_SECONDS)):
        return True
    if timeout <= NOTICE_SECONDS:
        return False
    if waiting:
        waiting(NOTICE)
    return acquired.wait(timeout - NOTICE_SECONDS)
