"""A process that does one thing, and is over."""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

_LITTER = 50_000
"""So many new objects before cycles among them are looked for. By default that is done a dozen times while modules are loaded, for nothing."""


def once(main: Callable[[], int]) -> NoReturn:
    """Do it, and leave with its status, without taking the interpreter apart, which takes some 6 ms. What it needs it is to load itself."""
    gc.set_threshold(_LITTER)
    status = main()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)
