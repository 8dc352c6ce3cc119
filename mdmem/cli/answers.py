"""Answers of commands, and what all commands need: the memory, standard input, colour."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mdmem.cli.fast_parser import Call
from mdmem.cli.messages import count, say
from mdmem.errors import TextProblem, UsageProblem
from mdmem.memory import Memory
from mdmem.model import MAX_FILE_BYTES
from mdmem.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class Answer:
    """An object for programs, text for people, notes for standard error, and the exit status."""

    data: Mapping[str, Any]
    text: str
    notes: Sequence[str] = ()
    status: int = 0


def open_memory(call: Call, any_settings: bool = False) -> Memory:
    """Open the memory that a call is for; messages while it works are for people only."""
    named = Path(call.workspace) if call.workspace else None
    is_quiet = call.as_json or call.quiet
    progress = count if sys.stderr.isatty() else None
    memory = (
        Memory.open(named, os.environ, any_settings=any_settings)
        if is_quiet
        else Memory.open(named, os.environ, say, progress, any_settings=any_settings)
    )
    added, is_alone = call.values.get("added"), call.values.get("alone")
    if added and is_alone:
        raise UsageProblem("--with and --alone exclude each other")
    return memory.reading_with(None if is_alone else added) if added or is_alone else memory


def read_argument(text: str) -> str:
    if text != "-":
        return text
    data = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise TextProblem(
            "bad-text", f"standard input has more than {MAX_FILE_BYTES:,} bytes", "Split it."
        )
    return data.decode("utf-8", "surrogateescape")


def use_colour() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def use_blocks() -> bool:
    named = (os.environ.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    locale = next(filter(None, named), "").casefold().replace("-", "")
    return "utf8" in locale and not os.environ.get("NO_COLOR")
