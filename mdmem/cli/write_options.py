"""Options and answers that all writing commands share."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from mdmem.cli.commands import Answer
from mdmem.cli.terminal import in_flags
from mdmem.folder import trust
from mdmem.model import FactId, Source
from mdmem.model.writes import WriteOptions, WriteResult
from mdmem.show import writes
from mdmem.startup.records import replace


def write_options(shared: Mapping[str, Any], supersedes: str | None = None) -> WriteOptions:
    names = shared.keys() & {"confidence", "actor", "session", "reason", "dry_run"}
    source = shared.get("source")
    return WriteOptions(
        **{name: shared[name] for name in names},
        source=source or Source.INFERRED,
        typed="source" in shared and source is None and at_own_terminal(),
        supersedes=supersedes,
        allow=frozenset(shared["allow"] or ()),
    )


def at_own_terminal() -> bool:
    """True if a person types here, and no agent shares the terminal."""
    streams_are_terminals = sys.stdin.isatty() and sys.stderr.isatty()
    return streams_are_terminals and not trust.shares_terminal(os.environ)


def write_answer(result: WriteResult, facts: Sequence[FactId] = ()) -> Answer:
    """The answer of a write; its id is the last of `facts`."""
    hint = in_flags(writes.write_hint(result))
    return Answer(
        replace(result, hint=hint),
        writes.write_text(result, facts[-1] if facts else None),
        writes.write_notes(result),
    )
