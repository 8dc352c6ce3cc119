"""Answers of a memory that is held open, asked again while nothing moves."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
_SECONDS = 10


def kept(ask: Callable[[], T]) -> T:
    """The answer, once it is kept: what was written a moment ago may be written again unseen."""
    ends = time.monotonic() + _SECONDS
    answer = ask()
    while (again := ask()) is not answer:
        assert time.monotonic() < ends, "it is never kept"
        answer = again
    return answer
