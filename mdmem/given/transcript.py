"""Read the progress of a session of Claude Code from its transcript: the tokens in its window, and how often it was compacted. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from mdmem.startup.records import dataclass

_USAGE = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
_BOUNDARY = b"compact_boundary"
_USAGE_MARK = b'"usage"'


@dataclass(frozen=True, slots=True)
class TranscriptProgress:
    """The session of a transcript (None: it names none), the tokens in its window, and the number of its compactions."""

    session: str | None
    tokens: int
    cycle: int


def read_progress(lines: Iterable[bytes]) -> TranscriptProgress:
    """Read the lines of a transcript. A line that is no JSON (half written, damaged) is skipped.

    The tokens are those of the last answer after the last compaction; 0 before there is one.
    """
    session: str | None = None
    tokens = cycle = 0
    for line in lines:
        if session is not None and _BOUNDARY not in line and _USAGE_MARK not in line:
            continue
        values = _object(line)
        session = session or _text(values.get("sessionId"))
        if values.get("type") == "system" and values.get("subtype") == "compact_boundary":
            cycle, tokens = cycle + 1, 0
        elif values.get("type") == "assistant" and values.get("isSidechain") is not True:
            tokens = _used(values) or tokens
    return TranscriptProgress(session, tokens, cycle)


def _object(line: bytes) -> dict[str, Any]:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def _used(values: dict[str, Any]) -> int:
    message = values.get("message")
    usage = message.get("usage") if isinstance(message, dict) else None
    if not isinstance(usage, dict):
        return 0
    return sum(count for name in _USAGE if isinstance(count := usage.get(name), int) and count > 0)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
