"""Arguments and results of digests: entries of days that were drawn from sessions."""

from __future__ import annotations

from datetime import date

from mdmem.model import CommitId, FactId, Source
from mdmem.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class Digest:
    """Read what is new in transcripts into the logs of the days on which it was said.

    - `sessions`: ids of sessions, unique beginnings of them, or files; none means all that the settings name.
    - `since`: an ISO date or a past day in words; what was said before it is left out.
    - `keep_lines`: keep every statement that is no noise.
    """

    sessions: tuple[str, ...] = ()
    since: str | None = None
    keep_lines: bool = False
    dry_run: bool = False


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
