"""Try a request again where it failed in a way that may pass, within the time of one request."""

from __future__ import annotations

import time
from collections.abc import Callable

from mdmem.llm.endpoints import ModelAnswer
from mdmem.llm.failures import ModelFailure

RETRIES = 3
FIRST_PAUSE = 1.0
"""Seconds before the second try, unless the failure names others; before each later one twice as many."""


def answer_in_time(send: Callable[[float], ModelAnswer], seconds: float, pause: Callable[[float], None]) -> ModelAnswer:
    """Send a request until it is answered, but no longer than so many seconds in all.

    Args:
        send: sends it once; takes the seconds that are left.
        seconds: the time for all tries and the pauses between them.
        pause: waits for so many seconds.

    Raises:
        ModelFailure: the last one, or the first that does not pass.
    """
    end = time.monotonic() + seconds
    number = 0
    while True:
        try:
            return send(end - time.monotonic())
        except ModelFailure as failure:
            wait = FIRST_PAUSE * 2**number if failure.wait is None else failure.wait
            if not failure.is_passing or number == RETRIES or time.monotonic() + wait >= end:
                raise
        pause(wait)
        number += 1
