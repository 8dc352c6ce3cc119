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
"""To be terminated, or hung up on, is to be interrupted."""
_INTERRUPTED = 130
"""The status."""
_LITTER = 50_000
"""So many new objects before cycles among them are looked for. By default that is done a dozen times while modules are loaded, for nothing."""


def launch(main: Callable[[], int]) -> NoReturn:
    """Do it, and leave with its status, without taking the interpreter apart, which takes some 6 ms. What it needs it is to load itself."""
    gc.set_threshold(_LITTER)
    for number in INTERRUPTIONS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _interrupt)
    try:
        status = main()
    except KeyboardInterrupt:  # before there was anything that could say so
        try:
            os.write(2, b"mdmem: interrupted\n")
        finally:
            os._exit(_INTERRUPTED)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Interrupt, once: what is half done then is put back, and that is not to be left half done."""
    for one in INTERRUPTIONS:
        signal.signal(one, _let_be)
    raise KeyboardInterrupt


def _let_be(number: int, frame: FrameType | None) -> None:
    pass
