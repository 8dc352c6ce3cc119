"""Patterns compiled on first use: most commands need a small part of them."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, AnyStr, cast

if TYPE_CHECKING or sys.version_info >= (3, 11, 5):
    compiled = re.compile
else:
    from mdmem.startup.possessive import compiled


def pattern(text: AnyStr) -> re.Pattern[AnyStr]:
    """A stand-in for `compiled(text)`, compiled on first use.

    A command uses half of the hundred patterns of its modules; the others would cost 2 to 7 ms.
    """
    return cast("re.Pattern[AnyStr]", _LatePattern(text))


def prepare(value: object) -> None:
    """Leave the pattern, if it is one, in the cache of `re`, for processes that are forked."""
    if isinstance(value, _LatePattern):
        compiled(value.pattern)


class _LatePattern:
    # keeps each method that was used, so that only its first call is slower

    def __init__(self, text: str | bytes) -> None:
        self.pattern = text

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(compiled(self.pattern), attribute)
        setattr(self, attribute, value)
        return value
