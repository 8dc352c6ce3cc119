"""Patterns that are compiled when they are first used: most commands need a small part of them."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, AnyStr, cast

if TYPE_CHECKING or sys.version_info >= (3, 11, 5):
    compiled = re.compile
else:
    from mdmem.startup.possessive import compiled


def pattern(text: AnyStr) -> re.Pattern[AnyStr]:
    """A stand-in for `compiled(text)`, compiled when it is first used.

    A command uses half of the hundred patterns at the top of its modules; compiling the others
    takes 2 to 7 ms of a cold start.
    """
    return cast("re.Pattern[AnyStr]", _LatePattern(text))


class _LatePattern:
    """A pattern that may not be compiled yet. It keeps each method that was used, so that only the
    first call of each looks further.
    """

    def __init__(self, text: str | bytes) -> None:
        self.pattern = text

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(compiled(self.pattern), attribute)
        setattr(self, attribute, value)
        return value
