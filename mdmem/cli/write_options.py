"""What the commands that change something have in common: the options of a write, and its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mdmem.cli.call import Answer
from mdmem.model import FactId
from mdmem.model.writes import WriteOptions, WriteResult
from mdmem.show import writes


def write_options(shared: Mapping[str, Any], supersedes: str | None = None) -> WriteOptions:
    """What writing commands share (`options.Writing`); only those that can put a fact in the place of another take `supersedes`."""
    names = ("source", "confidence", "actor", "session", "reason", "dry_run")
    return WriteOptions(**{name: shared[name] for name in names}, supersedes=supersedes, allow=frozenset(shared["allow"] or ()))


def write_answer(result: WriteResult, facts: Sequence[FactId] = ()) -> Answer:
    """The answer of a write; the last of `facts` is the one that it is about."""
    return Answer(writes.write_json(result), writes.write_text(result, facts[-1] if facts else None), result.notes)
