"""System calls that fail, and the descriptors that are open."""

import ctypes
import os
from collections.abc import Callable
from pathlib import Path


def failing(number: int) -> Callable[..., None]:
    """A function of Python's that fails."""

    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


def failed_call(number: int) -> Callable[..., int]:
    """A function of the C library that fails."""

    def call(*_: object) -> int:
        ctypes.set_errno(number)
        return -1

    return call


def descriptors() -> list[str]:
    """The descriptors that are open, with the one by which they are listed."""
    return sorted(path.name for path in Path("/dev/fd").iterdir())
