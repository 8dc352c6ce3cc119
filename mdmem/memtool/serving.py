"""`mdmem memory-tool`: a JSON line of output for each JSON line of input, in the same order."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO

from mdmem.errors import UsageProblem, json_line
from mdmem.memory import Memory, hosts
from mdmem.memtool.backend import ToolAnswer, answer

_MOST_BYTES = 32_000_000  # of a line: the largest editable file fits, fully escaped
_CATCH_UP_SECONDS = 10.0


def serve(folder: str | None, environment: Mapping[str, str]) -> int:
    """Answer lines until the input ends; return the exit status."""
    opened = _Opened(folder, environment)
    for line in _lines(sys.stdin.buffer):
        if line is None or line.strip():
            print(
                json_line(_answer_object(answer(opened.memory, partial(_parse, line)))), flush=True
            )
    opened.close()
    return 0


def _answer_object(outcome: ToolAnswer) -> dict[str, object]:
    if outcome.code is None:
        return {"content": outcome.text, "is_error": False}
    return {"content": outcome.text, "is_error": True, "error": outcome.code}


def _lines(source: IO[bytes]) -> Iterator[bytes | None]:
    """The lines of the input; None for one that is too long, of which nothing is kept."""
    while line := source.readline(_MOST_BYTES):
        is_whole = line.endswith(b"\n") or len(line) < _MOST_BYTES
        while not is_whole:
            rest = source.readline(_MOST_BYTES)
            is_whole = rest.endswith(b"\n") or len(rest) < _MOST_BYTES
            line = b""
        yield line or None


def _parse(line: bytes | None) -> object:
    if line is None:
        raise UsageProblem(f"the line has more than {_MOST_BYTES:,} bytes")
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as problem:
        raise UsageProblem(
            "the line is not JSON",
            'One object per line, as in {"command": "view", "path": "/memories"}',
        ) from problem


class _Opened:
    """A memory opened by the first command that needs it; after a failure, the next one retries."""

    def __init__(self, folder: str | None, environment: Mapping[str, str]) -> None:
        self._folder = Path(folder) if folder else None
        self._environment = environment
        self._memory: Memory | None = None

    def memory(self) -> Memory:
        if self._memory is None:
            repository = hosts.require_host_workspace(self._environment, self._folder)
            self._memory = Memory.open_in(repository, self._environment)
        return self._memory

    def close(self) -> None:
        # waits up to a limit until the index has caught up
        if self._memory is not None:
            self._memory.await_catch_up(_CATCH_UP_SECONDS)
            self._memory.close()
