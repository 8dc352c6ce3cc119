"""Trends: the Markdown of a repository over time, and the facts of a workspace."""

from __future__ import annotations

from datetime import date, datetime

from mdmem.model import FilePath, SectionPath
from mdmem.model.rules import require_range
from mdmem.startup.records import dataclass

MOST_DAYS = 3660


@dataclass(frozen=True, slots=True)
class TrendWeek:
    """A week as `2026-W10`: what its commits did, and the lines there were at its end."""

    week: str
    commits: int
    added: int
    removed: int
    lines: int


@dataclass(frozen=True, slots=True)
class TrendAuthor:
    """An author: commits, lines added and removed, and the day of the last commit."""

    name: str
    commits: int
    added: int
    removed: int
    last: date


@dataclass(frozen=True, slots=True)
class FileSize:
    """A file and its lines."""

    path: str
    lines: int


@dataclass(frozen=True, slots=True)
class MarkdownTrends:
    """The Markdown below a folder, as its branch has it.

    `commits`, `added`, `removed` and `authors` (most commits first) are of all history, `weeks` the
    last ones up to now, oldest first, `largest` the largest files. `half_life_days` is None where
    more than half of all lines are still there. `facts` are those of a workspace in these weeks.
    """

    commits: int
    lines: int
    files: int
    added: int
    removed: int
    half_life_days: float | None
    weeks: tuple[TrendWeek, ...]
    authors: tuple[TrendAuthor, ...]
    largest: tuple[FileSize, ...]
    facts: FactTrends | None = None


@dataclass(frozen=True, slots=True)
class ShowTrends:
    """Ask how facts changed over the last so many days, today included."""

    days: int = 42

    def __post_init__(self) -> None:
        require_range("days", self.days, 1, MOST_DAYS)


@dataclass(frozen=True, slots=True)
class FactDay:
    """A day of facts: its changes as `changes` has them, logs included, and by whom they were made.

    `stated`, `inferred` and `automatic` are the current facts at its end by source. `contradicted`
    counts the pairs that commits of the day named as contradicting each other.
    """

    day: date
    added: int
    replaced: int
    removed: int
    people: int
    agents: int
    stated: int
    inferred: int
    automatic: int
    contradicted: int = 0


@dataclass(frozen=True, slots=True)
class TrendWriter:
    """An actor, or an author without one: the changes in the period, and on each of its days."""

    name: str
    is_agent: bool
    count: int
    days: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ActiveDay:
    """A day, and the changes to facts that people and agents made on it, logs included."""

    day: date
    people: int
    agents: int


@dataclass(frozen=True, slots=True)
class FactActivity:
    """The changes of facts over some days, and who made them (most of them first).

    `days` begin with that of the first commit, if it is one of the period.
    """

    days: tuple[ActiveDay, ...]
    writers: tuple[TrendWriter, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TrendKind:
    """A kind of facts ("": none): the current ones, and those at the end of each day."""

    kind: str
    count: int
    days: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TrendSection:
    """A section: the versions of its text in the period, and when the newest one was made."""

    path: FilePath
    section: SectionPath
    count: int
    last: datetime


@dataclass(frozen=True, slots=True)
class FactTrends:
    """The facts of a workspace over some days, from its history alone; each fact counts once.

    `survival` has the share of curated facts that are still current at an age in days, wherever it
    falls; `half_life_days` is None while more than half of them are. `changed_most` and
    `untouched` (others, the longest first) are curated sections. `current` is the number of facts.
    """

    days: tuple[FactDay, ...]
    writers: tuple[TrendWriter, ...]
    kinds: tuple[TrendKind, ...]
    survival: tuple[tuple[int, float], ...]
    half_life_days: float | None
    changed_most: tuple[TrendSection, ...]
    untouched: tuple[TrendSection, ...]
    current: int
    notes: tuple[str, ...] = ()
