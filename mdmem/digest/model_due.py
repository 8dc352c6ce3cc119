"""Lines of sessions that are due for the model, kept in `model-due.json`. A cache: what it says no more is left to the rules."""

from __future__ import annotations

import json
from pathlib import Path

from mdmem import files
from mdmem.startup.records import dataclass

DUE_NAME = "model-due.json"
MOST_TRIES = 3
"""After so many more runs in which the model gave no answer, lines are left to the rules."""
FEWEST_BYTES = 500
"""Fewer bytes are not sent."""
_MANY_BYTES, _MANY_TURNS = 50_000, 10
"""So much is sent while the session goes on."""
_VERSION = 2


@dataclass(frozen=True, slots=True)
class DueLines:
    """The lines of a session that the model has not read.

    - `path`: of the transcript. `line`: the last line that it has read, or that were left to the rules.
    - `turns`, `size`: messages of the user behind it, and the bytes of texts that would be sent.
    - `compacted`: the agent's context was compacted behind it.
    - `tries`: runs in which it gave no answer. `given_up`: the bytes that were left to the rules for that.
    """

    path: str
    line: int
    turns: int = 0
    size: int = 0
    compacted: bool = False
    tries: int = 0
    given_up: int = 0

    @property
    def is_pending(self) -> bool:
        """True if the lines are enough for a request, now or later."""
        return self.size >= FEWEST_BYTES

    def is_ready(self, is_idle: bool) -> bool:
        """True if they are sent now. `is_idle`: nothing was said for a while."""
        return self.is_pending and (is_idle or self.compacted or self.turns >= _MANY_TURNS or self.size >= _MANY_BYTES)


def read_due(state: Path) -> dict[str, DueLines]:
    """The due lines by CLIENT/SESSION; none where they cannot be read."""
    try:
        values = json.loads((state / DUE_NAME).read_bytes())
        if values["version"] == _VERSION:
            return {
                session: DueLines(path=path, line=line, turns=turns, size=size, compacted=compacted, tries=tries, given_up=given_up)
                for session, (path, line, turns, size, compacted, tries, given_up) in values["sessions"].items()
            }
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    return {}


def write_due(state: Path, due: dict[str, DueLines]) -> None:
    """Keep the due lines of sessions whose transcripts are still there.

    Raises:
        OSError
    """
    sessions = {
        session: [each.path, each.line, each.turns, each.size, each.compacted, each.tries, each.given_up]
        for session, each in due.items()
        if Path(each.path).exists()
    }
    files.write_cache(state / DUE_NAME, json.dumps({"version": _VERSION, "sessions": sessions}, separators=(",", ":")))
