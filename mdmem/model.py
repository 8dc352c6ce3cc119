"""The nouns of mdmem: frozen dataclasses, enumerations and new types. Nothing here touches the world.

Paths are POSIX paths relative to the workspace; lines are counted from 1; days are the user's own days.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from mdmem.dates import date, datetime
from mdmem.records import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NewType

    CommitId = NewType("CommitId", str)
    FactId = NewType("FactId", str)
    FilePath = NewType("FilePath", str)
else:
    CommitId = FactId = FilePath = str
SectionPath = tuple[str, ...]
"""The headings from the outermost to the section itself, as written. The empty path is the text before the first heading."""

PATH_SEPARATOR = " > "
SETTINGS_NAME = "mdmem.toml"


class FileKind(StrEnum):
    """What a Markdown file of the workspace is to memory."""

    EVERGREEN = "evergreen"
    DAILY = "daily"
    PROFILE = "profile"
    BOOTSTRAP = "bootstrap"
    OTHER = "other"

    @property
    def is_memory(self) -> bool:
        """Whether files of this kind are indexed and guarded."""
        return self is not FileKind.OTHER


class Source(StrEnum):
    """Where a statement comes from, strongest first."""

    USER_STATED = "user-stated"
    INFERRED = "inferred"
    AUTO = "auto"

    @property
    def confidence(self) -> float:
        """The default confidence of this source, from 0 to 1."""
        return {Source.USER_STATED: 0.95, Source.INFERRED: 0.7, Source.AUTO: 0.4}[self]


class Status(StrEnum):
    """Whether an occurrence of a fact still holds."""

    CURRENT = "current"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    REMOVED = "removed"


class Op(StrEnum):
    """What a commit of mdmem did (`Mdmem-Op`)."""

    REPLACE = "replace"
    APPEND = "append"
    PREPEND = "prepend"
    RENAME = "rename"
    DELETE = "delete"
    CREATE = "create"
    LOG = "log"
    REMEMBER = "remember"
    FORGET = "forget"
    INIT = "init"
    REVERT = "revert"
    SUPERSEDE = "supersede"
    RETRACT = "retract"
    CONTRADICT = "contradict"
    RESOLVE = "resolve"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Who says so and how surely; kept in the trailers of the commit that brings a line in."""

    source: Source = Source.INFERRED
    confidence: float = Source.INFERRED.confidence
    actor: str | None = None
    session: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """One list item as a statement. `text` holds the key, but no list marker, kind, tags, comment or block id."""

    id: FactId
    text: str
    key: str | None = None
    kind: str | None = None
    tags: tuple[str, ...] = ()
    until: date | None = None


@dataclass(frozen=True, slots=True)
class Superseded:
    """A fact and the one that took its place."""

    old: FactId
    new: FactId


@dataclass(frozen=True, slots=True)
class Origin:
    """The commit that brought a line in, and what it says of the line. `time` is in seconds since 1970."""

    commit: CommitId
    time: int
    source: Source
    confidence: float


@dataclass(frozen=True, slots=True)
class Entry:
    """One list item, paragraph, code block, table, quote or HTML block, at the top level of its section.

    Lines count from 1 and are inclusive. `text` is the Markdown without outermost list marker, kind, trailing tags, comments and
    block id. `tags` are the entry's own and then the file's. `fact` is set for list items only. `first_line` is the first line as it
    stands in the file without white space around it.
    """

    path: FilePath
    start_line: int
    end_line: int
    section: SectionPath
    day: date | None
    text: str
    kind: str | None
    key: str | None
    tags: tuple[str, ...]
    until: date | None
    fact: FactId | None
    first_line: str


@dataclass(frozen=True, slots=True)
class Landmark:
    """One commit of HEAD's first-parent line. They are numbered from 1, oldest first; `time` is the author's, in seconds since 1970."""

    number: int
    commit: CommitId
    time: int
    author: str
    message: str


class Fate(StrEnum):
    """How an occurrence came to stand no longer where it stood."""

    MOVED = "moved"
    SUPERSEDED = "superseded"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One entry that stands in one place from one commit to another.

    `begun` and `ended` are numbers of landmarks: it stands from `begun` on and no longer at `ended` (None: it stands at HEAD). While
    it stands, the lines of `entry` are those of the commit in which it began, afterwards those of `last`, the last commit that held
    it. `successor` took its place. `also` says that its key has several values. `number` is its row in the table, 0 before it has one.
    """

    entry: Entry
    begun: int
    origin: Origin
    also: bool = False
    ended: int | None = None
    fate: Fate | None = None
    successor: FactId | None = None
    last: CommitId | None = None
    number: int = 0


@dataclass(frozen=True, slots=True)
class Revision:
    """The own text of one section, heading included, without blank lines at its end, as it stands from one commit to another.

    `lineage` tells sections apart, whatever their headings and files are called in time: it is the number of its first revision, 0
    before there is one. `nth` counts the sections of the file with this path, from 1. `quiet` says that it differs from the one
    before in its place only (heading above, file, `nth`), and not in its bytes. The empty path is the text before the first heading.
    """

    lineage: int
    begun: int
    path: FilePath
    section: SectionPath
    nth: int
    text: str
    quiet: bool = False
    ended: int | None = None
    number: int = 0


class MarkKind(StrEnum):
    """What a commit can say of facts without changing a text."""

    SUPERSEDED = "superseded"
    RETRACTED = "retracted"
    CONTRADICTS = "contradicts"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True)
class Mark:
    """What a commit says of facts, from landmark `begun` on until a revert takes it back (`ended`).

    Superseded and retracted: of one standing occurrence (its row's number) of the fact `one`, which `other` took the place of.
    Contradicts and resolved: of the facts `one` and `other`.
    """

    kind: MarkKind
    begun: int
    one: FactId
    other: FactId | None = None
    occurrence: int = 0
    ended: int | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A fact as somebody states it in one place. `line` counts from 1, `time` is in seconds since 1970, `until` holds through that day.

    `also` says that its key was said to have several values.
    """

    id: FactId
    text: str
    key: str | None
    path: FilePath
    section: SectionPath
    line: int
    time: int
    source: Source
    confidence: float
    also: bool = False
    until: date | None = None


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two claims that contradict each other: by the `key` of both (else None), or because somebody `marked` them, or both.

    `weaker` is the one that is worse founded, None where neither is. That says nothing of which is right.
    """

    one: Claim
    other: Claim
    key: str | None
    marked: bool
    weaker: Claim | None


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit as history is read: `time` is the author's, in seconds since 1970."""

    id: CommitId
    time: int
    author: str
    message: str


@dataclass(frozen=True, slots=True)
class Problem:
    """Something unacceptable (`error`) or doubtful (`warning`) in a file or in a change to it.

    `line` counts from 1; `kind` is what kind of secret was found.
    """

    path: str
    line: int
    code: str
    level: str
    message: str
    hint: str = ""
    kind: str | None = None


# The arguments of the verbs: one frozen dataclass each, filled by the command line or by any other door.


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What all writing verbs share. `confidence` is from 0 to 1; None is the default of the source."""

    source: Source = Source.INFERRED
    confidence: float | None = None
    actor: str | None = None
    session: str | None = None
    reason: str | None = None
    supersedes: str | None = None
    dry_run: bool = False
    allow: frozenset[str] = frozenset()


class Action(StrEnum):
    """What `edit-section` does to its section."""

    BODY = "body"
    APPEND = "append"
    PREPEND = "prepend"
    REPLACE = "replace"
    RENAME = "rename"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class EditSection:
    """Change one section of a file. `text` is the body, the addition, the text to find or the new title."""

    section: str | None
    action: Action
    text: str = ""
    replacement: str = ""
    file: str | None = None
    create: bool = False
    after: str | None = None
    nth: int | None = None
    expect: str | None = None
    subtree: bool = False
    options: WriteOptions = field(default_factory=WriteOptions)


@dataclass(frozen=True, slots=True)
class Log:
    """Append an entry to a day's log. `time` is HH:MM, `day` an ISO date; None means now."""

    text: str
    kind: str | None = None
    tags: tuple[str, ...] = ()
    time: str | None = None
    day: str | None = None
    again: bool = False
    options: WriteOptions = field(default_factory=WriteOptions)


@dataclass(frozen=True, slots=True)
class Remember:
    """Put a fact into a curated file. `until` is an ISO date."""

    text: str
    file: str | None = None
    section: str | None = None
    create: bool = False
    key: str | None = None
    also: bool = False
    kind: str | None = None
    tags: tuple[str, ...] = ()
    until: str | None = None
    options: WriteOptions = field(default_factory=WriteOptions)


@dataclass(frozen=True, slots=True)
class Forget:
    """Take a fact, named by its exact text, its id or a prefix of it, out of a file."""

    fact: str
    file: str | None = None
    section: str | None = None
    options: WriteOptions = field(default_factory=WriteOptions)


@dataclass(frozen=True, slots=True)
class Revert:
    """Undo one change and keep everything later: a commit, named in git's way, or the last change of a fact (id, prefix or text)."""

    what: str
    options: WriteOptions = field(default_factory=WriteOptions)


@dataclass(frozen=True, slots=True)
class Contradict:
    """Say that two facts contradict each other."""

    one: str
    other: str
    options: WriteOptions = field(default_factory=WriteOptions)


@dataclass(frozen=True, slots=True)
class Resolve:
    """Say that two facts do not contradict each other, or not any more."""

    one: str
    other: str
    options: WriteOptions = field(default_factory=WriteOptions)


@dataclass(frozen=True, slots=True)
class Purge:
    """Take a fact, named like one to forget, or by words that stand in history only, out of everything.

    A purge states nothing, so there is neither source nor confidence: `actor`, `session` and `reason` stand in the note that it leaves.
    """

    fact: str
    reason: str | None = None
    actor: str | None = None
    session: str | None = None
    allow: frozenset[str] = frozenset()


Change = EditSection | Log | Remember | Forget | Revert | Contradict | Resolve


@dataclass(frozen=True, slots=True)
class Initialise:
    """Make or adopt a workspace in `folder`."""

    folder: str
    hooks: bool = True


@dataclass(frozen=True, slots=True)
class Show:
    """Read one section, or the text before the first heading (`preamble`), or a whole file (neither)."""

    file: str | None = None
    section: str | None = None
    nth: int | None = None
    preamble: bool = False


@dataclass(frozen=True, slots=True)
class Search:
    """A query over what is current. `since` and `until` are ISO dates, both inclusive; `confidence` is from 0 to 1.

    `history` adds what was superseded, has expired or was removed; `as_of` (a date, a moment or a commit) asks memory as it was then.
    With `explain` each hit says how its score came about.
    """

    query: str
    limit: int = 8
    file: str | None = None
    section: str | None = None
    kind: str | None = None
    tags: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    min_confidence: float | None = None
    recent_days: int | None = None
    history: bool = False
    as_of: str | None = None
    explain: bool = False


@dataclass(frozen=True, slots=True)
class ListFacts:
    """Which facts to list: with all of `tags`, with one of `any_tags`; `everything` includes those that no longer hold."""

    tags: tuple[str, ...] = ()
    any_tags: tuple[str, ...] = ()
    kind: str | None = None
    section: str | None = None
    everything: bool = False


# What the verbs answer.


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The outcome of a write: `op` is what its commit says that it did.

    `diff` is set by a dry run; `notes` are lines for the user; `warnings` are codes of `check`.
    """

    changed: bool
    path: str
    section: SectionPath
    etag: str | None
    commit: CommitId | None
    added: tuple[FactId, ...] = ()
    removed: tuple[FactId, ...] = ()
    supersedes: tuple[Superseded, ...] = ()
    diff: str | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    op: Op | None = None


@dataclass(frozen=True, slots=True)
class SectionView:
    """One section as `show` gives it: `text` is its own text without the heading, lines count from 1 and are inclusive."""

    path: str
    section: SectionPath
    level: int
    text: str
    etag: str
    tree_etag: str
    start_line: int
    end_line: int
    commit: CommitId | None
    uncommitted: bool
    subsections: tuple[SectionPath, ...]


@dataclass(frozen=True, slots=True)
class OutlineRow:
    """One section in a file's outline; `lines` counts its own lines, heading included."""

    section: SectionPath
    level: int
    line: int
    etag: str
    lines: int


@dataclass(frozen=True, slots=True)
class Outline:
    """The sections of a file in their order."""

    path: str
    sections: tuple[OutlineRow, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """What one word of a query (`said`) adds to a score: by being a term of a field, or by having one for a relative."""

    field: str
    term: str
    said: str
    score: float


@dataclass(frozen=True, slots=True)
class Factor:
    """One thing that makes a score higher or lower."""

    name: str
    value: float


@dataclass(frozen=True, slots=True)
class Why:
    """How a score came about: the sum of its parts times its factors."""

    parts: tuple[Part, ...]
    factors: tuple[Factor, ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """One entry that a search found. Lines are of the file as it is on disk. `since` is when it was brought in, in the user's time."""

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
    why: Why | None = None


@dataclass(frozen=True, slots=True)
class Quality:
    """What can be told of a search's answer without knowing the right one.

    - `words`: the number of terms that the query asks for.
    - `hits`: how many there are; `first`, `last`: the score of the first and the last.
    - `spread`: how far the median score stays behind the first, as a share of it.
    - `text`, `heading`, `beside`: of the first hits, how many have a word of the query in their text, only in headings or file name, in
      neither.
    - `age`: the median, in days.
    - `behind`: the index could not be brought up to date.
    - `query`: as it was typed, without secrets; None unless the settings say so.
    """

    words: int
    hits: int
    first: float | None = None
    last: float | None = None
    spread: float | None = None
    text: int = 0
    heading: int = 0
    beside: int = 0
    age: float | None = None
    behind: bool = False
    query: str | None = None


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The answer to a search. `stale` says that the index could not be brought up to date; `notes` say why."""

    query: str
    commit: CommitId | None
    stale: bool
    hits: tuple[Hit, ...]
    notes: tuple[str, ...] = ()
    as_of: str | None = None


@dataclass(frozen=True, slots=True)
class AskHistory:
    """What was said before: of a section (address), of a fact (exact text, id or prefix), or (None) of a file or of all memory."""

    what: str | None = None
    file: str | None = None
    nth: int | None = None
    limit: int = 20


@dataclass(frozen=True, slots=True)
class RevisionView:
    """One change of a section (or a file), as its commit tells it. `time` is the author's; `text` and `diff` are of the section.

    `op` is None for a person's own commit. `claimed_by` is the agent that says that the user said so.
    """

    commit: CommitId
    time: datetime
    author: str
    actor: str | None
    op: str | None
    source: Source
    confidence: float
    reason: str | None
    diff: str
    text: str
    before: str = ""
    path: str = ""
    section: SectionPath = ()
    claimed_by: str | None = None


@dataclass(frozen=True, slots=True)
class SectionHistory:
    """The changes of a section, of a file or of all memory (then `path` is empty), newest first; `notes` are lines for the user."""

    path: str
    section: SectionPath
    revisions: tuple[RevisionView, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FactLink:
    """One fact of a chain: from when to when it held, who said so and why, and the commit that brought it in.

    `op` is None for a person's own commit. `claimed_by` is the agent that says that the user said so.
    """

    id: FactId
    text: str
    start: datetime
    end: datetime | None
    source: Source
    confidence: float
    commit: CommitId
    path: str
    section: SectionPath
    status: Status
    author: str = ""
    actor: str | None = None
    op: str | None = None
    reason: str | None = None
    claimed_by: str | None = None


@dataclass(frozen=True, slots=True)
class FactHistory:
    """What a fact replaced and what replaced it, oldest first."""

    fact: FactId
    status: Status
    chain: tuple[FactLink, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BlamedLine:
    """One line of a section and what brought it in; without a commit it is a person's pending edit."""

    line: int
    text: str
    commit: CommitId | None
    time: datetime | None
    author: str | None
    source: Source | None
    confidence: float | None


@dataclass(frozen=True, slots=True)
class Blame:
    """The lines of a section; `line` counts from 1 in the file."""

    path: str
    section: SectionPath
    lines: tuple[BlamedLine, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StayView:
    """From which commit to which a text stood in a section; `went` is None while it stands."""

    path: str
    section: SectionPath
    came: CommitId
    came_at: datetime
    went: CommitId | None
    went_at: datetime | None


@dataclass(frozen=True, slots=True)
class Stays:
    """When a text stood where, oldest first; `notes` are lines for the user."""

    text: str
    stays: tuple[StayView, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConflictView:
    """Two facts that contradict each other; `key` is what both speak of, None where somebody marked them."""

    one: Hit
    other: Hit
    key: str | None


class AdviceKind(StrEnum):
    """What a review finds in curated files that could be tidied."""

    SUPERSEDED = "superseded-standing"
    EXPIRED = "expired"
    DUPLICATE = "duplicate"
    NEAR_DUPLICATE = "near-duplicate"
    CONTRADICTION = "contradiction"
    UNTOUCHED = "untouched"
    OVER_BUDGET = "over-budget"


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing that could be tidied, and how: `command` is the command line that does it, or that shows what to decide on.

    `change` is what that command carries out, None where there is something to decide first. `safe`: nothing that holds is lost by it,
    so that no one need be asked. `facts` are those that it is about, what goes first. `line` counts from 1.
    """

    kind: AdviceKind
    path: FilePath
    section: SectionPath
    line: int
    facts: tuple[FactId, ...]
    message: str
    command: tuple[str, ...]
    safe: bool = False
    change: Change | None = None


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What a review carried out, with what came of each, and the advice that is left."""

    advice: tuple[Advice, ...]
    done: tuple[tuple[Advice, WriteResult], ...] = ()


@dataclass(frozen=True, slots=True)
class WorkspaceStatus:
    """What is where and how fresh: `files` counts memory files by kind, `skipped` says why one is not indexed."""

    workspace: str
    branch: str | None
    commit: CommitId | None
    files: Mapping[str, int]
    uncommitted: tuple[FilePath, ...]
    skipped: tuple[tuple[str, str], ...]
    entries: int
    indexed_commit: CommitId | None
    current: bool
    hooks: Mapping[str, str]
    notes: tuple[str, ...]
