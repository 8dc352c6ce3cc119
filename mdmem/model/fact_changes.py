"""Arguments and results of the verb that lists changes by fact."""

from __future__ import annotations

from datetime import date, datetime
from enum import StrEnum

from mdmem.model import CommitId, FactId, FilePath, SectionPath, Source
from mdmem.model.reads import SectionView
from mdmem.model.rules import require_range
from mdmem.startup.records import dataclass

_MAX_CHANGES = 1_000_000_000


@dataclass(frozen=True, slots=True)
class ShowChanges:
    """List what commits did to facts, the newest first.

    `since` and `until` are days, both inclusive. An `actor` is compared with the author where a commit
    names none. `file` is a file, its name, or a folder above it. A `limit` of 0 is none.
    """

    since: str | None = None
    until: str | None = None
    actor: str | None = None
    file: str | None = None
    limit: int = 20

    def __post_init__(self) -> None:
        """Refuse a limit out of its range."""
        require_range("limit", self.limit, 0, _MAX_CHANGES)


class ChangeKind(StrEnum):
    """The kinds of changes to a fact."""

    ADDED = "added"
    REPLACED = "replaced"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class ReplacedFact:
    """A fact that another one has replaced, and its place."""

    id: FactId
    text: str
    path: FilePath
    section: SectionPath


@dataclass(frozen=True, slots=True)
class FactChange:
    """One change to a fact: the commit that made it, who and why; `replaced` is the fact that this one replaced.

    A removed fact has the path, section and line of the last commit that held it, and the source of what
    removed it. `op` is None for a person's own commit.
    """

    kind: ChangeKind
    fact: FactId
    text: str
    path: FilePath
    section: SectionPath
    line: int
    commit: CommitId
    time: datetime
    author: str
    actor: str | None
    session: str | None
    op: str | None
    source: Source
    confidence: float
    claimed_by: str | None
    reason: str | None
    run: str | None
    proposal: str | None
    replaced: ReplacedFact | None = None


@dataclass(frozen=True, slots=True)
class ChangeList:
    """Changes, newest first; `notes` are lines for the user.

    `since` and `until` are the days that were asked for in words.
    """

    changes: tuple[FactChange, ...]
    notes: tuple[str, ...] = ()
    since: date | None = None
    until: date | None = None


@dataclass(frozen=True, slots=True)
class DayView:
    """A day: its logs, and the changes to facts that they do not tell."""

    day: date
    logs: tuple[SectionView, ...]
    changes: tuple[FactChange, ...]
