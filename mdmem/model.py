"""The nouns of mdmem: frozen dataclasses, enumerations and new types. Nothing here touches the world.

Paths are POSIX paths relative to the workspace; lines are counted from 1; days are the user's own days.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import NewType

CommitId = NewType("CommitId", str)
FactId = NewType("FactId", str)
FilePath = NewType("FilePath", str)
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
class Purge:
    """Take a fact, named like one to forget, or by words that stand in history only, out of everything."""

    fact: str
    reason: str | None = None


Change = EditSection | Log | Remember | Forget


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
    """A query over what is current. `since` and `until` are ISO dates, both inclusive; `confidence` is from 0 to 1."""

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


@dataclass(frozen=True, slots=True)
class ListFacts:
    """Which facts to list; `everything` includes those that no longer hold."""

    tags: tuple[str, ...] = ()
    kind: str | None = None
    section: str | None = None
    everything: bool = False


# What the verbs answer.


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The outcome of a write. `diff` is set by a dry run; `notes` are lines for the user; `warnings` are codes of `check`."""

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
class Hit:
    """One entry that a search found. Lines are of the file as it is on disk."""

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


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The answer to a search. `stale` says that the index could not be brought up to date; `notes` say why."""

    query: str
    commit: CommitId | None
    stale: bool
    hits: tuple[Hit, ...]
    notes: tuple[str, ...] = ()


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
