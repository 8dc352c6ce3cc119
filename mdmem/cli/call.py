"""What passes between the command line and the commands: a call and its answer, and what they have in common."""

from __future__ import annotations

import os
import sys

from mdmem import check
from mdmem.cli.progress import Progress, say
from mdmem.errors import TextProblem, UsageProblem
from mdmem.layout import MAX_FILE_BYTES
from mdmem.memory import Memory
from mdmem.model.writes import WriteOptions, WriteResult
from mdmem.paths import Path
from mdmem.records import dataclass
from mdmem.show import writes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from mdmem.model import FactId


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


def write_options(shared: Mapping[str, Any], supersedes: str | None = None) -> WriteOptions:
    """What writing commands share (`options.Writing`); only those that can put a fact in the place of another take `supersedes`."""
    confidence = shared["confidence"]
    if confidence is not None and not 0 <= confidence <= 1:
        raise UsageProblem(f"confidence is {confidence:g}, which is not from 0 to 1")
    allow = frozenset(shared["allow"] or ())
    for name in sorted(allow.difference(check.ALLOWABLE)):
        raise UsageProblem(f"--allow is {name!r}, which is nothing that can be allowed", f"It takes {', '.join(check.ALLOWABLE)}.")
    names = ("source", "confidence", "actor", "session", "reason", "dry_run")
    return WriteOptions(**{name: shared[name] for name in names}, supersedes=supersedes, allow=allow)


def written(result: WriteResult, facts: Sequence[FactId] = ()) -> Answer:
    """The answer of a write; the last of `facts` is the one that it is about."""
    return Answer(writes.write_json(result), writes.write_text(result, facts[-1] if facts else None), result.notes)


def colour() -> bool:
    """Whether what is printed may be coloured."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
