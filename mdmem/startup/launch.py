"""A process that does one thing, and is over."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

INTERRUPTIONS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that interrupt a process: to be terminated, or hung up on, counts as one too."""
INTERRUPTED = 130
"""The exit status after an interruption."""
_LITTER = 50_000
"""The new objects before cycles among them are looked for. By default that is done a dozen times
while modules are loaded, for nothing.
"""


def launch(main: Callable[[], int]) -> NoReturn:
    """Run `main` and leave with its status, without taking the interpreter apart, which takes 6 ms.
    `main` loads what it needs itself.
    """
    gc.set_threshold(_LITTER)
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
    finally:
        os._exit(status)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Interrupt the process once. Further signals are ignored, so that half-done work is put back
    to the end.
    """
    for interruption in INTERRUPTIONS:
        signal.signal(interruption, _let_be)
    raise KeyboardInterrupt


def _let_be(number: int, frame: FrameType | None) -> None:
    pass
