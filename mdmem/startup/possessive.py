"""Compile possessive repetitions of groups for Python 3.11.0 to 3.11.4, which match them wrongly.

There `(?:-[ ]*+){3,}+` may match too little (CPython's gh-106052).
The atomic group `(?>(?:-[ ]*+){3,})` means the same and is matched right.
"""

from __future__ import annotations

import re
from functools import cache
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]  # they have no types
from typing import Any, AnyStr


@cache
def compiled(text: AnyStr) -> re.Pattern[AnyStr]:
    """Like `re.compile` of later versions, but the result's own `pattern` is None."""
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
