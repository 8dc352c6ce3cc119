"""Give memory that the engine's threads took back to the system; a long-lived process would keep it.

A writer of the engine starts threads and ends them. glibc gives each thread that it meets a heap of its own (an arena) and keeps what
is freed in it: after 50 updates of a small index 150 MB, with the two calls here 40. Elsewhere nothing is done.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache

_MOST_ARENAS = 2
_M_ARENA_MAX = -8
"""The option of mallopt(3) for the number of arenas, from `malloc.h`."""


@cache
def _libc() -> ctypes.CDLL | None:
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    return libc if hasattr(libc, "malloc_trim") and hasattr(libc, "mallopt") else None


def limit_arenas() -> None:
    """Have threads that are started from now on share a few heaps; to be called before they are."""
    if libc := _libc():
        libc.mallopt(_M_ARENA_MAX, _MOST_ARENAS)


def release_free_memory() -> None:
    """Give the system back what is free; takes half a millisecond."""
    if libc := _libc():
        libc.malloc_trim(0)
