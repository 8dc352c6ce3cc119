"""Arguments and results of the verbs that look back: histories, blame, when, trends."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from enum import StrEnum

from mdmem.model import (
    CommitId,
    FactId,
    FilePath,
    OtherReading,
    SectionPath,
    Signature,
    Source,
    Status,
)
from mdmem.model.errors import UsageProblem, field
from mdmem.model.reads import SectionView
from mdmem.model.rules import require_range
from mdmem.startup.records import dataclass, replace

_MAX_LISTED = 1_000_000_000
CURATED, LOGS = "curated", "logs"
"""The files that changes are in: daily logs, or all others."""


@dataclass(frozen=True, slots=True)
class ShowChanges:
    """List what commits did to facts, newest first; `since` and `until` are inclusive days.

    `actor` means the author where a commit names none. `file` may be a folder. `where`: only in
    daily logs (`logs`), or only in other files (`curated`). `commit`: what one commit did. `limit`
    0: none. `fold`: commits that added more facts than that are named as a whole; 0: none.
    """

    since: str | None = None
    until: str | None = None
    actor: str | None = None
    file: str | None = None
    where: str | None = None
    commit: str | None = None
    limit: int = 20
    fold: int = 0

    def __post_init__(self) -> None:
        require_range("limit", self.limit, 0, _MAX_LISTED)
        if self.where not in (None, CURATED, LOGS):
            raise UsageProblem(f"{field('where')} is {CURATED} or {LOGS}, not {self.where!r}")


class ChangeKind(StrEnum):
    """The kinds of changes to a fact."""

    ADDED = "added"
    REPLACED = "replaced"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Made:
    """The author, time and reason of a change by its commit; `op` is None for a plain git commit.

    `claimed_by` and `cites` as in `Origin`; `run` is the digest's.
    """

    commit: CommitId
    time: datetime
    author: str
    source: Source
    confidence: float
    actor: str | None = None
    session: str | None = None
    op: str | None = None
    reason: str | None = None
    claimed_by: str | None = None
    proposed_by: str | None = None
    run: str | None = None
    proposal: str | None = None
    cites: tuple[str, ...] = ()
    signed: Signature | None = None

    @property
    def who(self) -> str:
        """The actor, or the author where the commit names none."""
        return self.actor or self.author

    @property
    def statement(self) -> Made:
        """The key by which changes are shown as one row."""
        return replace(self, session=None, cites=())


@dataclass(frozen=True, slots=True)
class ReplacedFact:
    """A fact that another one has replaced, and its place."""

    id: FactId
    text: str
    path: FilePath
    section: SectionPath


@dataclass(frozen=True, slots=True)
class FactChange:
    """A change to a fact; `replaced` is the fact that it replaced.

    A removed fact has the path, section and line of the last commit that held it.
    """

    made: Made
    kind: ChangeKind
    fact: FactId
    text: str
    path: FilePath
    section: SectionPath
    line: int
    replaced: ReplacedFact | None = None


@dataclass(frozen=True, slots=True)
class LargeCommit:
    """A commit with the number of facts that it added."""

    made: Made
    count: int


@dataclass(frozen=True, slots=True)
class ChangeList:
    """Changes, newest first; `since` and `until` are the days that were asked for in words.

    `large`: the commits that are named as a whole; none of `changes` is theirs. `is_undone`: a
    later commit, itself not undone, reverts the commit that was asked for.
    """

    changes: tuple[FactChange, ...]
    notes: tuple[str, ...] = ()
    since: date | None = None
    until: date | None = None
    large: tuple[LargeCommit, ...] = ()
    is_undone: bool = False


@dataclass(frozen=True, slots=True)
class DayView:
    """A day: its logs, and the changes to facts that they do not tell; `more` are left out."""

    day: date
    logs: tuple[SectionView, ...]
    changes: tuple[FactChange, ...]
    more: int = 0


_MAX_SHOWN = 10_000


@dataclass(frozen=True, slots=True)
class ShowHistory:
    """Show the past of a section, a fact, a file, or (None) of all memory.

    An ambiguous word is taken as exact text, section, key, id, file: the first that fits; with
    `by_id` as the id of a fact. `limit` counts changes of sections; of a file or of all memory
    commits (`by_commit`). `upto`: the number of the newest change of a section to show, 1 being
    the oldest.
    """

    target: str | None = None
    file: str | None = None
    nth: int | None = None
    limit: int = 20
    preamble: bool = False
    by_commit: bool = False
    upto: int | None = None
    by_id: bool = False

    def __post_init__(self) -> None:
        require_range("limit", self.limit, 1, _MAX_SHOWN)
        require_range("upto", self.upto, 1, _MAX_LISTED)
        if self.target is not None and self.preamble:
            raise UsageProblem(f"history takes a section or a fact, or {field('preamble')}")


@dataclass(frozen=True, slots=True)
class ShowBlame:
    """Ask which commit added each line of a section, of the preamble, or of a whole file."""

    section: str | None = None
    file: str | None = None
    nth: int | None = None
    preamble: bool = False

    def __post_init__(self) -> None:
        if not (self.preamble or self.file) if self.section is None else self.preamble:
            raise UsageProblem(f"name a section or a file, or give {field('preamble')}")

    @property
    def whole_file(self) -> bool:
        """True if it names a file and nothing in it."""
        return self.section is None and not self.preamble


@dataclass(frozen=True, slots=True)
class RevisionView:
    """One change of a section or a file; `merged` brought it in a week or more later.

    `before` and `text` are the section's; `added` and `removed` the first words of such entries.
    """

    made: Made
    text: str
    before: str = ""
    path: str = ""
    section: SectionPath = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    merged: Made | None = None


@dataclass(frozen=True, slots=True)
class SectionHistory:
    """Changes of a section, a file or all memory (empty `path`), newest first.

    `also`: other meanings of the word. `gone`: cited lines whose transcript no longer exists.
    `total`: of a section, the number of its changes; `first`: the time of the oldest one.
    """

    path: str
    section: SectionPath
    revisions: tuple[RevisionView, ...]
    notes: tuple[str, ...] = ()
    also: tuple[OtherReading, ...] = ()
    gone: tuple[str, ...] = ()
    total: int = 0
    first: datetime | None = None

    @property
    def cites(self) -> tuple[str, ...]:
        """The lines of sessions that the changes cite, each once."""
        return _each_once(each.made for each in self.revisions)


@dataclass(frozen=True, slots=True)
class FactLink:
    """One fact of a chain: its period, its last statement, and the commit that added its line.

    `merged` brought it in a week or more after its `start`; `also_by` stated the same on other
    branches.
    """

    made: Made
    id: FactId
    text: str
    start: datetime
    end: datetime | None
    path: str
    section: SectionPath
    status: Status
    ended_by: Made | None = None
    merged: Made | None = None
    also_by: tuple[Made, ...] = ()


@dataclass(frozen=True, slots=True)
class FactHistory:
    """Predecessors and successors of a fact, oldest first; see `SectionHistory`."""

    fact: FactId
    status: Status
    chain: tuple[FactLink, ...]
    notes: tuple[str, ...] = ()
    also: tuple[OtherReading, ...] = ()
    gone: tuple[str, ...] = ()

    @property
    def cites(self) -> tuple[str, ...]:
        """The lines of sessions that the chain cites, each once."""
        return _each_once(each.made for each in self.chain)


@dataclass(frozen=True, slots=True)
class BlamedLine:
    """A line of a section and the commit that added it; None: a pending edit."""

    line: int
    text: str
    made: Made | None


@dataclass(frozen=True, slots=True)
class Blame:
    """The lines of a section; `gone` as in `SectionHistory`."""

    path: str
    section: SectionPath
    lines: tuple[BlamedLine, ...]
    notes: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    @property
    def cites(self) -> tuple[str, ...]:
        """The lines of sessions that the lines cite, each once."""
        return _each_once(each.made for each in self.lines)


def _each_once(changes: Iterable[Made | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(cited for made in changes if made for cited in made.cites))


@dataclass(frozen=True, slots=True)
class PresenceView:
    """A period in which a section held a text; `went_at` is None while it lasts.

    `ended_by` removed the text, or ended its fact though the line is still there.
    """

    path: str
    section: SectionPath
    came: Made
    went_at: datetime | None
    ended_by: Made | None = None
    merged: Made | None = None


@dataclass(frozen=True, slots=True)
class TextHistory:
    """The periods in which sections held a text, oldest first; `notes` are lines for the user."""

    text: str
    stays: tuple[PresenceView, ...]
    notes: tuple[str, ...] = ()


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
    `untouched` (for a week or more, the longest first) are curated sections. `current` is the
    number of facts.
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
