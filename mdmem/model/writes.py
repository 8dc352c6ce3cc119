"""What can be written, and what comes of it: the arguments of the verbs that write, and their result."""

from __future__ import annotations

from enum import StrEnum

from mdmem.model import CommitId, FactId, Op, SectionPath, Source, Supersession
from mdmem.startup.records import dataclass, field


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
class WriteResult:
    """The outcome of a write: `op` is what its commit says that it did.

    `ended` was superseded and nothing took its place. `diff` is set by a dry run; `notes` are lines for the user; `warnings` are codes
    of `check`.
    """

    changed: bool
    path: str
    section: SectionPath
    etag: str | None
    commit: CommitId | None
    added: tuple[FactId, ...] = ()
    removed: tuple[FactId, ...] = ()
    supersedes: tuple[Supersession, ...] = ()
    diff: str | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    op: Op | None = None
    ended: tuple[FactId, ...] = ()
