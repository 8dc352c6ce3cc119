"""Patterns compiled on first use: most commands need a small part of them."""

from __future__ import annotations

import re
import sys
from functools import cache
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]  # they have no types
from typing import TYPE_CHECKING, Any, AnyStr, cast


@cache
def compiled_as_atomic(text: AnyStr) -> re.Pattern[AnyStr]:
    """Like `re.compile` of later versions, but the result's own `pattern` is None.

    Python 3.11.0 to 3.11.4 match possessive repetitions of groups wrongly: `(?:-[ ]*+){3,}+` may
    match too little (CPython's gh-106052). The atomic group `(?>(?:-[ ]*+){3,})` means the same
    and is matched right.
    """
    tree = _parser.parse(text)
    _make_atomic(tree)
    atomic: re.Pattern[AnyStr] = _compiler.compile(tree)
    return atomic


def _make_atomic(part: Any) -> None:
    if isinstance(part, _parser.SubPattern):
        for index, (operation, argument) in enumerate(part.data):
            _make_atomic(argument)
            if operation is _constants.POSSESSIVE_REPEAT:
                greedy = _parser.SubPattern(part.state, [(_constants.MAX_REPEAT, argument)])
                part.data[index] = (_constants.ATOMIC_GROUP, greedy)
    elif isinstance(part, list | tuple):
        for inner in part:
            _make_atomic(inner)


compiled = re.compile if TYPE_CHECKING or sys.version_info >= (3, 11, 5) else compiled_as_atomic


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
