"""The records of the trail, and sets of numbers as ranges: of its commits, which mostly follow each
other.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from datetime import date
from enum import StrEnum
from typing import NamedTuple

from mdmem.model import CommitId, FactId, FilePath, SectionPath, Source
from mdmem.startup.records import dataclass

Ranges = tuple[tuple[int, int], ...]
"""Numbers from each first to each last one, ascending and not adjacent."""
LAST_NUMBER = 2**62
"""Greater than the number of every commit."""
EVERY_NUMBER: Ranges = ((1, LAST_NUMBER),)


def of_numbers(numbers: Iterable[int]) -> Ranges:
    """The ranges of some numbers."""
    ranges: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if ranges and number <= ranges[-1][1] + 1:
            ranges[-1] = ranges[-1][0], max(ranges[-1][1], number)
        else:
            ranges.append((number, number))
    return tuple(ranges)


def holds(ranges: Ranges, number: int) -> bool:
    """True if a number is in one of the ranges."""
    at = bisect_right(ranges, (number, 2**63)) - 1
    return at >= 0 and number <= ranges[at][1]


def complement(ranges: Ranges, last: int) -> Ranges:
    """The numbers from 1 up to `last` that are in no range."""
    gaps: list[tuple[int, int]] = []
    start = 1
    for first, end in ranges:
        if first > last:
            break
        if start < first:
            gaps.append((start, first - 1))
        start = end + 1
    if start <= last:
        gaps.append((start, last))
    return tuple(gaps)


def intersection(one: Ranges, other: Ranges) -> Ranges:
    """The numbers that are in both."""
    shared: list[tuple[int, int]] = []
    left = right = 0
    while left < len(one) and right < len(other):
        first, last = max(one[left][0], other[right][0]), min(one[left][1], other[right][1])
        if first <= last:
            shared.append((first, last))
        if one[left][1] < other[right][1]:
            left += 1
        else:
            right += 1
    return tuple(shared)


def union(one: Ranges, other: Ranges) -> Ranges:
    """The numbers that are in either."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted((*one, *other)):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(joined[-1][1], last)
        else:
            joined.append((first, last))
    return tuple(joined)


def ranges_as_text(ranges: Ranges) -> str | None:
    """The ranges as the trail stores them; None where there are none."""
    return " ".join(f"{first}-{last}" for first, last in ranges) or None


def parse_ranges(text: str | None) -> Ranges:
    """The ranges that `ranges_as_text` wrote."""
    pairs = (part.split("-") for part in text.split(" ")) if text else ()
    return tuple((int(first), int(last)) for first, last in pairs)


@dataclass(frozen=True, slots=True)
class Origin:
    """The commit that added a line, with its source and confidence; `time` is in epoch seconds.

    `author` is `NAME <EMAIL>`; `actor` and `session` as the commit names them. `claimed_by` is the
    agent that names the user as its source. Of a digest's entry, `cites` are the lines of sessions
    (`CLIENT/SESSION#LINE[-LINE]`), and `attribute` the key that a rule found for it.
    """

    commit: CommitId
    time: int
    source: Source
    confidence: float
    author: str = ""
    actor: str | None = None
    session: str | None = None
    claimed_by: str | None = None
    cites: tuple[str, ...] = ()
    attribute: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One list item, paragraph, code block, table, quote or HTML block, at the top of its section.

    `text` is without outermost list marker, kind, trailing tags, comments and block id; `tags` are
    its own, then the file's. `first_line` is as in the file, stripped. `fact`: list items only.
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


def plain_first_line(text: str) -> str:
    """The usual first line of entries with this text, so that only others need be stored."""
    return "- " + text.partition("\n")[0]


@dataclass(frozen=True, slots=True)
class TrailCommit:
    """A commit that HEAD reaches and that changed memory, or to which the trail was updated.

    Numbers begin at 1, parents before children. `time` is the author's, `committed` the
    committer's, in epoch seconds; `moment` is the time used for ordering (`Trail.moments`).
    `parents` are the nearest commits of the trail; `missing` the lower numbers it does not reach. A
    proposed commit takes time and author of the merge `brought` (0: not merged; None: not
    proposed). `by_agent`: the user's settings name its author as an agent, or a forge
    joined in it what agents may have written.
    """

    number: int
    commit: CommitId
    time: int
    author: str
    message: str
    email: str = ""
    committed: int = 0
    moment: int = 0
    parents: tuple[int, ...] = ()
    missing: Ranges = ()
    is_needed: bool = True
    """False where the trail was only updated to it."""
    brought: int | None = None
    by_agent: bool = False

    @property
    def is_merge(self) -> bool:
        """True if it has several parents."""
        return len(self.parents) > 1

    def reaches(self, number: int) -> bool:
        """True if the commit with a number is this one or one of its past."""
        return number <= self.number and not holds(self.missing, number)


class Fate(StrEnum):
    """The end of an occurrence."""

    MOVED = "moved"
    SUPERSEDED = "superseded"
    REMOVED = "removed"
    JOINED = "joined"
    """It was added on another branch too, where it is recorded."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One entry in one place (file and section), from commit `begun` to `ended` (None: live).

    Its lines are those of `begun` while it is live, afterwards of `last`, a commit that had it.
    `successor` is the fact that replaced it. `also`: its key has several values.
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
class FactSpan:
    """The commits from and to which a fact counted in a file; `ended` None: it still does."""

    fact: FactId
    path: FilePath
    kind: str | None
    source: Source
    until: date | None
    begun: int
    ended: int | None


@dataclass(frozen=True, slots=True)
class FactCount:
    """Facts with one place that began and ended (None: did not) with the same commits, counted.

    `path` is None for those of logs, wherever they were told apart.
    """

    path: FilePath | None
    kind: str
    source: Source
    begun: int
    ended: int | None
    facts: int


@dataclass(frozen=True, slots=True)
class Revision:
    """A section's own text with its heading, from one commit to another.

    `lineage`, the number of its first revision, identifies a section however it is renamed. `nth`
    counts sections with this path in the file, from 1. `unchanged_text`: only the place differs, or
    a merge only combined its sides. `previous` are the rows it continues, if several.
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
    previous: tuple[int, ...] = ()


class RevisionOutline(NamedTuple):
    """A revision without its text and place; a tuple, since a section has thousands."""

    number: int
    lineage: int
    begun: int
    ended: int | None
    unchanged_text: bool
    previous: tuple[int, ...]


class MarkKind(StrEnum):
    """The kinds of statements about facts that a commit can make without changing a text."""

    SUPERSEDED = "superseded"
    RETRACTED = "retracted"
    CONTRADICTS = "contradicts"
    RESOLVED = "resolved"
    OVERRULED = "overruled"
    PROMOTED = "promoted"


CLOSING_MARKS = (MarkKind.SUPERSEDED, MarkKind.RETRACTED)
"""The kinds that end a fact."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A statement of `commit` about facts, in force from `begun` until a revert (`ended`).

    Superseded and retracted: of one live occurrence of `fact` in a log, replaced by `other`;
    elsewhere the text is right and overrules it. Contradicts and resolved: of `fact` and `other`.
    Promoted: `other`, in a curated file, counts instead of this log line.
    """

    kind: MarkKind
    commit: CommitId
    begun: int
    fact: FactId
    other: FactId | None = None
    occurrence: int = 0
    ended: int | None = None


@dataclass(frozen=True, slots=True)
class StatedRevert:
    """`commit` reverts `reverted`; of a merge, each stating commit has its own record too."""

    commit: CommitId
    reverted: CommitId


@dataclass(frozen=True, slots=True)
class Claim:
    """A fact as stated in one place; `time` in epoch seconds (0: unknown), `until` inclusive."""

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
    """Two claims with one `key`, or `marked` as contradicting each other, or both.

    `weaker` is the claim with less provenance (None: neither); that does not tell which is right.
    """

    first: Claim
    second: Claim
    key: str | None
    marked: bool
    weaker: Claim | None


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit read from history: `time` is the author's, `email` set only if read from git.

    `by_agent`: as of `TrailCommit`.
    """

    id: CommitId
    time: int
    author: str
    message: str
    email: str = ""
    by_agent: bool = False
