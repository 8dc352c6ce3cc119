"""What the trail is made of: entries, when and why they stood, and what was said of them."""

from __future__ import annotations

from datetime import date
from enum import StrEnum

from mdmem.model import CommitId, FactId, FilePath, SectionPath, Source
from mdmem.startup.records import dataclass


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
class MainlineCommit:
    """One commit of HEAD's first-parent line. They are numbered from 1, oldest first; `time` is the author's, in seconds since 1970.

    What a `merge` brought in may be the word of side commits.
    """

    number: int
    commit: CommitId
    time: int
    author: str
    message: str
    merge: bool = False


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
    unchanged_text: bool = False
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
class MergedLine:
    """A line, without white space around it, of a section that a merge changed, and the commit beside the merge's line that brought it in."""

    path: FilePath
    line: str
    commit: Commit
