"""Arguments and results of searches and lists."""

from __future__ import annotations

from datetime import date, datetime

from mdmem.model import CommitId, FactId, SectionPath, Signature, Source, Status
from mdmem.model.errors import UsageProblem, field, verb
from mdmem.model.rules import require_choice, require_range, require_single_tags
from mdmem.startup.records import dataclass

COMBINED_DAYS = 7
"""The last days of the logs that `--combined` searches."""
MAX_HITS = 1000
_MAX_DAYS = 100_000
_MAX_LISTED = 1_000_000_000
_OF_ENTRIES = (
    "file",
    "section",
    "kind",
    "tags",
    "actor",
    "session",
    "source",
    "min_confidence",
    "history",
    "as_of",
    "explain",
)
"""Fields of a search that say something of entries, and nothing of messages."""
_INSTEAD_OF_WORDS = (
    "since",
    "until",
    "kind",
    "tags",
    "file",
    "section",
    "actor",
    "session",
    "source",
    "min_confidence",
    "recent_days",
)
"""Search fields of which one suffices without words."""


@dataclass(frozen=True, slots=True)
class Search:
    """A query over current memory. `since` and `until` are inclusive ISO dates.

    Without words it finds the newest entries, and needs something that narrows them. `actor` means
    the author where a commit names none. `history` adds what is no longer current; `as_of` (a date,
    a time or a commit) searches past memory; `sessions` adds messages of transcripts.
    `words_only`: without vectors; `days`: those that the query names come first. `fleet`: the
    user's fleet is asked too, and its hits come behind.
    """

    query: str = ""
    limit: int = 8
    file: str | None = None
    section: str | None = None
    kind: str | None = None
    tags: tuple[str, ...] = ()
    actor: str | None = None
    session: str | None = None
    source: str | None = None
    since: str | None = None
    until: str | None = None
    min_confidence: float | None = None
    recent_days: int | None = None
    history: bool = False
    as_of: str | None = None
    explain: bool = False
    sessions: bool = False
    words_only: bool = False
    days: bool = True
    fleet: bool = False

    def __post_init__(self) -> None:
        require_single_tags(self.tags)
        require_choice("source", self.source, tuple(Source))
        require_range("limit", self.limit, 1, MAX_HITS)
        require_range("min_confidence", self.min_confidence, 0, 1)
        require_range("recent_days", self.recent_days, 1, _MAX_DAYS)
        if self.history and self.as_of is not None:
            raise UsageProblem(
                f"{field('history')} and {field('as_of')} exclude each other",
                f"{field('as_of')} searches memory as it was then.",
            )
        if self.sessions and not self.has_words:
            raise UsageProblem(
                f"{field('sessions')} needs words",
                f'Use: {verb("search")} "your words" {field("sessions")}',
            )
        if not self.has_words and not any(getattr(self, name) for name in _INSTEAD_OF_WORDS):
            hint = (
                f'Use: {verb("search")} "your words", or {verb("search")} {field("since")}'
                " yesterday"
            )
            message = "search needs words, or an option that narrows it"
            raise UsageProblem(message, hint)
        if self.sessions and (
            name := next((name for name in _OF_ENTRIES if getattr(self, name)), None)
        ):
            raise UsageProblem(
                f"{field(name)} and {field('sessions')} exclude each other",
                "Messages of sessions have no section, kind or past: search memory and sessions"
                " separately.",
            )

    @property
    def has_words(self) -> bool:
        """True if it asks for words."""
        return bool(self.query.strip())


@dataclass(frozen=True, slots=True)
class ListFacts:
    """List facts, newest first: with all of `tags`, one of `any_tags`, one of `ids`, and `key`.

    Other fields as in `Search`. `expiring`: with a last day up to this one. `everything`: also
    those no longer current. `limit` 0: none; `offset`: so many are left out before.
    """

    tags: tuple[str, ...] = ()
    any_tags: tuple[str, ...] = ()
    ids: tuple[FactId, ...] = ()
    key: str | None = None
    kind: str | None = None
    section: str | None = None
    file: str | None = None
    actor: str | None = None
    session: str | None = None
    since: str | None = None
    until: str | None = None
    everything: bool = False
    limit: int = 100
    offset: int = 0
    expiring: str | None = None

    def __post_init__(self) -> None:
        require_single_tags((*self.tags, *self.any_tags))
        require_range("limit", self.limit, 0, _MAX_LISTED)
        require_range("offset", self.offset, 0, _MAX_LISTED)


@dataclass(frozen=True, slots=True)
class ScorePart:
    """The share of a query word in a score, by a term of a field or a relative of it."""

    field: str
    term: str
    query_word: str
    score: float


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor that makes a score higher or lower."""

    name: str
    value: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """The parts and factors of a score, which is the sum of the parts times the factors."""

    parts: tuple[ScorePart, ...]
    factors: tuple[Factor, ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """An entry that answers a query.

    `line` is in the file on disk; `since` is when it was added. `near`: only its neighbours match.
    `about`: matching words of the front matter. `also`: its copies in logs, as PATH:LINE;
    `promoted`: the curated fact that counts instead of this log line. `author`: None where it is
    the user (until the answer is complete: as in `Origin`, as are `cites` and `attribute`).
    `later`: a newer statement that seems to correct it. `proposed`: an open part of the asking
    actor's own proposal. `workspace`: its name in a pool; None for this one. `claimed_by`: the
    agent that names the user as its source. `like`: only its meaning matches, no word. `done`: a
    task that is ticked or cancelled. `item`: the id of an item in another one, which is no fact.
    `minute`: the time of an entry of a log, HH:MM.
    """

    path: str
    start_line: int
    end_line: int
    section: SectionPath
    kind: str | None
    day: date | None
    text: str
    score: float
    fact: FactId | None
    key: str | None
    tags: tuple[str, ...]
    source: Source | None
    confidence: float | None
    status: Status
    until: date | None
    commit: CommitId | None
    uncommitted: bool
    superseded_by: FactId | None = None
    contradicts: tuple[FactId, ...] = ()
    since: datetime | None = None
    near: bool = False
    explanation: Explanation | None = None
    cites: tuple[str, ...] = ()
    attribute: str | None = None
    author: str | None = None
    about: str = ""
    also: tuple[str, ...] = ()
    promoted: FactId | None = None
    retracted: bool = False
    later: FactId | None = None
    proposed: bool = False
    workspace: str | None = None
    claimed_by: str | None = None
    like: bool = False
    done: bool = False
    item: FactId | None = None
    minute: str | None = None
    signed: Signature | None = None

    @property
    def file(self) -> str:
        """Its file as it is cited: after the name of another workspace."""
        return self.path if self.workspace is None else f"{self.workspace}:{self.path}"

    @property
    def place(self) -> str:
        """Its file and line as they are cited."""
        return f"{self.file}:{self.start_line}"


@dataclass(frozen=True, slots=True)
class MessageHit:
    """A message of a transcript that answers a query.

    - `path`, `line`: in the transcript. `session`: CLIENT/SESSION; `project`: its working folder.
    - `speaker`: user or agent; `sender`: another person than the owner. `time`: the user's zone.
    """

    path: str
    line: int
    session: str
    project: str | None
    speaker: str
    sender: str | None
    time: datetime | None
    text: str
    score: float

    @property
    def reference(self) -> str:
        """The message as it is cited: CLIENT/SESSION#LINE."""
        return f"{self.session}#{self.line}"


@dataclass(frozen=True, slots=True)
class BuildProgress:
    """Files indexed so far, and all of them, while the index is being built."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The answer to a search. `stale`: the index could not be brought up to date; `notes` tell why.

    `building`: the index is stale because another process is still building it.

    `as_of` is the one that was asked for, as it was understood, and `commits` are the newest whose
    whole past it knows (the last is `commit`); `since` and `until` are those that were asked for in
    words. `messages`: of transcripts, where these were to be searched; they come behind all hits.
    `missing`: workspaces of the pool that could not be read; None without a pool.
    `vectors`: why there were none, where the settings have them: off, behind, late or down.
    """

    query: str
    commit: CommitId | None
    stale: bool
    hits: tuple[Hit, ...]
    notes: tuple[str, ...] = ()
    as_of: str | None = None
    since: date | None = None
    until: date | None = None
    messages: tuple[MessageHit, ...] = ()
    building: BuildProgress | None = None
    commits: tuple[CommitId, ...] = ()
    missing: tuple[str, ...] | None = None
    vectors: str | None = None


@dataclass(frozen=True, slots=True)
class FactList:
    """Facts asked for; `total` includes those left out. Others as in `SearchResult`."""

    facts: tuple[Hit, ...]
    total: int
    stale: bool = False
    notes: tuple[str, ...] = ()
    since: date | None = None
    until: date | None = None
    building: BuildProgress | None = None
    missing: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ConflictView:
    """Two facts that contradict each other; `key` is None where somebody marked them.

    `is_of_parts`: a merge kept both versions of a part of a block (a row, a sentence), named by ids
    as facts are.
    """

    first: Hit
    second: Hit
    key: str | None
    is_of_parts: bool = False


@dataclass(frozen=True, slots=True)
class ConflictList:
    """The facts that contradict each other. The others are as of a search."""

    conflicts: tuple[ConflictView, ...]
    stale: bool = False
    notes: tuple[str, ...] = ()
    building: BuildProgress | None = None


@dataclass(frozen=True, slots=True)
class TagCount:
    """A tag without its `#` in its most frequent spelling, and the number of facts with it."""

    tag: str
    count: int


@dataclass(frozen=True, slots=True)
class TagCatalogue:
    """The tags of memory. The others are as of a search."""

    tags: tuple[TagCount, ...]
    stale: bool = False
    notes: tuple[str, ...] = ()
    building: BuildProgress | None = None
    missing: tuple[str, ...] | None = None
