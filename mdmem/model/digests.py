"""Arguments and results of digests: entries of days that were drawn from sessions."""

from __future__ import annotations

from datetime import date

from mdmem.errors import UsageProblem
from mdmem.model import CommitId, FactId, Source
from mdmem.model.rules import require_possible_day
from mdmem.startup.records import dataclass
from mdmem.wording import field

FACTS, LINES = "facts", "lines"
"""The statements that become entries: those that say what will be asked for later, or all that are no noise."""


@dataclass(frozen=True, slots=True)
class Digest:
    """Read what is new in transcripts into the logs of the days on which it was said.

    - `sessions`: ids of sessions, unique beginnings of them, or files; none means all that the settings name.
    - `since`: an ISO date or a past day in words; what was said before it is left out.
    - `keep`: `facts` or `lines`.
    """

    sessions: tuple[str, ...] = ()
    since: str | None = None
    keep: str = FACTS
    dry_run: bool = False

    def __post_init__(self) -> None:
        """Refuse an impossible day, and statements of another sort."""
        require_possible_day(self.since)
        if self.keep not in (FACTS, LINES):
            raise UsageProblem(f"{field('keep')} is {self.keep[:80]!r}", f"It is {FACTS} or {LINES}.")


@dataclass(frozen=True, slots=True)
class DigestedEntry:
    """An entry that a digest wrote, or would write."""

    fact: FactId
    day: date
    minute: str
    kind: str | None
    text: str
    source: Source
    confidence: float
    cites: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LeftSession:
    """A session that a digest left alone, and why."""

    session: str
    why: str


@dataclass(frozen=True, slots=True)
class DigestResult:
    """The figures and entries of a digest.

    `messages` and `size` (bytes) count what was new, `noise` the messages that say nothing. `repeated`: entries that stood in their day's log
    already; `redacted`: messages with a secret in them; `refused`: entries that may not be written; `surplus`: those beyond the most of a day.
    `outside`: sessions of other folders, which do not count.
    """

    run: str
    sessions: int
    messages: int
    size: int
    noise: int
    entries: tuple[DigestedEntry, ...]
    repeated: int
    redacted: int
    refused: int
    surplus: int
    commits: tuple[CommitId, ...]
    left: tuple[LeftSession, ...]
    outside: int = 0
