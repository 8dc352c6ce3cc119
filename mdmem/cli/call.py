"""What passes between the command line and the commands: a call and its answer, and what they have in common."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mdmem import check
from mdmem.cli.progress import Progress, say
from mdmem.errors import TextProblem, UsageProblem
from mdmem.layout import MAX_FILE_BYTES
from mdmem.memory import Memory
from mdmem.model import WriteOptions, WriteResult
from mdmem.show import writes


@dataclass(frozen=True, slots=True)
class Call:
    """A command as it was called. `workspace` is what -C says, `values` has every parameter of the command by its name."""

    command: str
    workspace: str | None
    values: Mapping[str, Any]

    @property
    def as_json(self) -> bool:
        """Whether the answer is for a program."""
        return bool(self.values["as_json"])


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command has to say: an object for programs, text for people, notes beside it, and the exit status."""

    found: Mapping[str, Any]
    text: str
    notes: Sequence[str] = ()
    status: int = 0


def opened(call: Call) -> Memory:
    """The memory that a call is for; what it says while it works is for people only."""
    named = Path(call.workspace) if call.workspace else None
    if call.as_json:
        return Memory.open(named)
    return Memory.open(named, say, Progress() if sys.stderr.isatty() else None)


def given(text: str) -> str:
    """A text argument; `-` is standard input."""
    if text != "-":
        return text
    data = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise TextProblem("bad-text", f"standard input has more than {MAX_FILE_BYTES:,} bytes", "Split it.")
    return data.decode("utf-8", "surrogateescape")


def write_options(call: Call) -> WriteOptions:
    """The options that writing commands share; a command that puts no fact in the place of another has no `supersedes`."""
    names = ("source", "confidence", "actor", "session", "reason", "dry_run")
    shared: dict[str, Any] = {name: call.values[name] for name in names}
    if shared["confidence"] is not None and not 0 <= shared["confidence"] <= 1:
        raise UsageProblem(f"confidence is {shared['confidence']:g}, which is not from 0 to 1")
    allow = frozenset(call.values["allow"] or ())
    for name in sorted(allow.difference(check.ALLOWABLE)):
        raise UsageProblem(f"--allow is {name!r}, which is nothing that can be allowed", f"It takes {', '.join(check.ALLOWABLE)}.")
    return WriteOptions(**shared, supersedes=call.values.get("supersedes"), allow=allow)


def written(result: WriteResult, fact: str | None = None) -> Answer:
    """The answer of a write; `fact` is the one that it is about."""
    return Answer(writes.write_json(result), writes.write_text(result, fact), result.notes)


def colour() -> bool:
    """Whether what is printed may be coloured."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
