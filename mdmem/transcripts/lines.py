"""Lines of a transcript. Only whole ones count: the last one without a line end may still be being written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

MOST_LINE_BYTES = 8 * 1024 * 1024
TOO_LONG, NO_OBJECT = "over 8 MB", "no JSON object"
"""Reasons why a line is skipped."""


class Line(NamedTuple):
    """One whole line without its end: its number in the file (from 1), where it begins in the file, and its bytes."""

    number: int
    offset: int
    data: bytes


def whole_lines(data: bytes, number: int = 1, offset: int = 0) -> Iterator[Line]:
    """The whole lines of `data`, which begins at `offset` of the file with line `number`."""
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        yield Line(number, offset + start, data[start:end])
        start, number = end + 1, number + 1


def last_line(data: bytes) -> Line | None:
    """The last whole line of a file; None where there is none."""
    end = data.rfind(b"\n")
    start = data.rfind(b"\n", 0, max(end, 0)) + 1
    return Line(data.count(b"\n"), start, data[start:end]) if end >= 0 else None


def parse_object(data: bytes) -> dict[str, Any] | None:
    """The JSON object of a line (None: it is none)."""
    try:
        values = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None
