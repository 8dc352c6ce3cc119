"""Patterns compiled on first use, of which most commands need a small part, and modules loaded so.

A group is repeated possessively as `(?>(?:…)*)`: Python 3.11.0 to 3.11.4 match `(?:…)*+` wrongly
(CPython's gh-106052).
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any, AnyStr, cast


def pattern(text: AnyStr) -> re.Pattern[AnyStr]:
    """A lazy `re.compile(text)`: it is compiled on first use.

    A command uses half of the hundred patterns of its modules; the others would cost 2 to 7 ms.
    """
    return cast("re.Pattern[AnyStr]", _LatePattern(text))


def prepare(value: object) -> None:
    """Leave the pattern, if it is one, in the cache of `re`, for processes that are forked."""
    if isinstance(value, _LatePattern):
        re.compile(value.pattern)


class _LatePattern:
    # keeps each method that was used, so that only its first call is slower

    def __init__(self, text: str | bytes) -> None:
        self.pattern = text

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(re.compile(self.pattern), attribute)
        setattr(self, attribute, value)
        return value


def module(name: str) -> Any:
    """A module of the program, such as `queries.search`."""
    return import_module(f"mdmem.{name}")
