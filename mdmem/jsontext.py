"""JSON as `json` reads and writes it, by what the interpreter has for it. To load the library, which is needed for what is wrong only, takes
2 ms with the regular expressions that it compiles.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Write = Callable[[Any, int], tuple[str, ...]]

    def _read(text: str, start: int) -> tuple[Any, int]: ...

    quoted: Callable[[str], str]
    """A text as JSON has it."""
    _written: Write
    _written_ascii: Write
    _written_short: Write
else:
    try:
        from _json import encode_basestring, encode_basestring_ascii, make_encoder, make_scanner
    except ImportError:  # another interpreter
        from json.encoder import c_make_encoder as make_encoder
        from json.encoder import encode_basestring, encode_basestring_ascii
        from json.scanner import make_scanner

    class _Plainly:
        """What the scanner asks of a decoder."""

        strict, object_hook, object_pairs_hook, memo = True, None, None, {}
        parse_float, parse_int, parse_constant = float, int, float

    def _refused(value):
        raise TypeError(f"{type(value).__name__} is not written as JSON")

    quoted = encode_basestring
    _read = make_scanner(_Plainly())
    _written, _written_ascii, _written_short = (
        make_encoder(None, _refused, quote, None, colon, comma, False, False, True)
        for quote, colon, comma in ((encode_basestring, ": ", ", "), (encode_basestring_ascii, ": ", ", "), (encode_basestring, ":", ","))
    )


_SPACE = " \t\n\r"


def loads(text: str) -> Any:
    """What a text says.

    Raises:
        ValueError: it is no JSON.
    """
    try:
        bare = text.strip(_SPACE)
        value, end = _read(bare, 0)
        if end == len(bare):
            return value
    except (StopIteration, SystemError, ValueError):  # of which the first two are how it ends where it cannot say what is wrong
        pass
    import json  # here, so that only for what is wrong it is loaded

    return json.loads(text)


def dumps(value: object) -> str:
    """A value as people may read it too.

    Raises:
        TypeError: it is no value of JSON's.
    """
    return "".join(_written(value, 0))


def dumps_ascii(value: object) -> str:
    """The same in ASCII alone."""
    return "".join(_written_ascii(value, 0))


def dumps_short(value: object) -> str:
    """The same without a space between."""
    return "".join(_written_short(value, 0))
