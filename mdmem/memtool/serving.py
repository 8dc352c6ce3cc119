"""`mdmem memory-tool`: commands as JSON lines on standard input, answers as JSON lines on standard
output, one each, in their order.
"""

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

_MOST_BYTES = 32_000_000
"""The most bytes of a line: the largest file that can be edited fits, with everything in it
escaped.
"""
_CATCH_UP_SECONDS = 10.0


def serve(folder: str | None, environment: Mapping[str, str]) -> int:
    """Answer each line until the input ends; return the exit status. Without a workspace each
    answer says so.
    """
    opened = _Opened(folder, environment)
    for line in _lines(sys.stdin.buffer):
        if line is None or line.strip():
            print(
                json_line(_answer_object(answer(opened.memory, partial(_parse, line)))), flush=True
            )
    opened.close()
    return 0


def _answer_object(outcome: ToolAnswer) -> dict[str, object]:
    """The object of an answer: `content` and `is_error` are those of a tool result, `error` is the
    code.
    """
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
    """The value of a line.

    Raises:
        UsageProblem: it is too long, or no JSON.
    """
    if line is None:
        raise UsageProblem(f"the line has more than {_MOST_BYTES:,} bytes")
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as problem:
        raise UsageProblem(
            "the line is not JSON",
            'One object a line, as in {"command": "view", "path": "/memories"}',
        ) from problem


class _Opened:
    """A memory that is opened by the first command which needs it; where that failed, by the next
    one.
    """

    def __init__(self, folder: str | None, environment: Mapping[str, str]) -> None:
        self._folder = Path(folder) if folder else None
        self._environment = environment
        self._memory: Memory | None = None

    def memory(self) -> Memory:
        """The memory.

        Raises:
            MdmemError: there is no workspace, or it cannot be used.
        """
        if self._memory is None:
            repository = hosts.require_host_workspace(self._environment, self._folder)
            self._memory = Memory.open_in(repository, self._environment)
        return self._memory

    def close(self) -> None:
        """Let go of everything; wait for a while until the index has caught up with what was
        written.
        """
        if self._memory is not None:
            self._memory.await_catch_up(_CATCH_UP_SECONDS)
            self._memory.close()
