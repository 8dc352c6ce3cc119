"""Compiles regular expressions for Python 3.11.0 to 3.11.4, which matches possessive repetitions of
groups wrongly.

There `(?:-[ ]*+){3,}+` may fail to match, or match less than it should (CPython's gh-106052). An
atomic group with the greedy repetition in it, `(?>(?:-[ ]*+){3,})`, means the same and is matched
right.
"""

from __future__ import annotations

import re
from functools import cache
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]  # they have no types
from typing import Any, AnyStr


@cache
def compiled(text: AnyStr) -> re.Pattern[AnyStr]:
    """Compile `text` as `re.compile` does on later versions. The result's own `pattern` is None.

    Raises:
        re.error: as `re.compile` does.
    """
    tree = _parser.parse(text)
    _mend(tree)
    mended: re.Pattern[AnyStr] = _compiler.compile(tree)
    return mended


def _mend(part: Any) -> None:
    if isinstance(part, _parser.SubPattern):
        for index, (operation, argument) in enumerate(part.data):
            _mend(argument)
            if operation is _constants.POSSESSIVE_REPEAT:
                greedy = _parser.SubPattern(part.state, [(_constants.MAX_REPEAT, argument)])
                part.data[index] = (_constants.ATOMIC_GROUP, greedy)
    elif isinstance(part, list | tuple):
        for inner in part:
            _mend(inner)
