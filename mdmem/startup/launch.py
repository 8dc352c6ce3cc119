"""A process that does one thing and ends."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

# being terminated or hung up on counts as an interruption too
INTERRUPTIONS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
INTERRUPTED = 130  # exit status
# the default threshold would collect a dozen times while modules load, for nothing
_GC_THRESHOLD = 50_000


def launch(main: Callable[[], int], at_end: Callable[[], None] | None = None) -> NoReturn:
    """Run `main`, which loads what it needs, and exit without teardown, which takes 6 ms.

    `at_end` is called when all is done and printed.
    """
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
        if at_end is not None:
            at_end()
    finally:
        os._exit(status)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Interrupt once. Further signals are ignored, so that unfinished work is rolled back."""
    for interruption in INTERRUPTIONS:
        signal.signal(interruption, _ignore_signal)
    raise KeyboardInterrupt


def _ignore_signal(number: int, frame: FrameType | None) -> None:
    pass
