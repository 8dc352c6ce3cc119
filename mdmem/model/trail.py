"""The records of the trail: commits, entries and their occurrences, revisions of sections, marks,
reverts, contradictions.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from datetime import date
from enum import StrEnum

from mdmem.model import CommitId, FactId, FilePath, SectionPath, Source
from mdmem.startup.records import dataclass

Ranges = tuple[tuple[int, int], ...]
"""Numbers from each first to each last one, in their order; no two ranges touch."""


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


def as_text(ranges: Ranges) -> str | None:
    """The ranges as the trail stores them; None where there are none."""
    return " ".join(f"{first}-{last}" for first, last in ranges) or None


def parse(text: str | None) -> Ranges:
    """The ranges that `as_text` wrote."""
    pairs = (part.split("-") for part in text.split(" ")) if text else ()
    return tuple((int(first), int(last)) for first, last in pairs)


@dataclass(frozen=True, slots=True)
class Origin:
    """The commit that brought in a line, with the source and confidence that it states. `time` is
    in seconds since 1970.

    `author` is who made the commit, as git writes a person: `NAME <EMAIL>`. `actor` and `session`
    are those that it names. `claimed_by` is the agent that says that it is the user's own, or under
    whose name mdmem committed what a person may have typed.

    Of a digest's entry: `cites` are the lines of sessions where it was said
    (`CLIENT/SESSION#LINE[-LINE]`), and `attribute` is what it is about, if a rule named that: the
    key under which it may stand in curated memory.
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
    """One list item, paragraph, code block, table, quote or HTML block, at the top level of its
    section.

    Lines count from 1 and are inclusive. `text` is the Markdown without outermost list marker,
    kind, trailing tags, comments and block id. `tags` are the entry's own and then the file's.
    `fact` is set for list items only. `first_line` is the first line as it is in the file, without
    white space around it.
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
    """The first line that most entries with this text have, so that only another one need be
    stored.
    """
    return "- " + text.partition("\n")[0]


@dataclass(frozen=True, slots=True)
class TrailCommit:
    """A commit that HEAD reaches and that did something to memory, or to which the trail was
    brought up.

    They are numbered from 1 as they arrive, parents before children; no answer depends on that.
    `time` is the author's and `committed` the committer's, in seconds since 1970. `moment` is when
    the commit counts as made, as far as that can be told without a clock (`Trail.moments`).
    `parents` are numbers: the nearest commits of the trail, in git's order. `missing` are the
    numbers below its own that it does not reach.

    What was proposed counts as made by the merge that brought it to a line without it: then
    `brought` is the number of that, and time and author are the merge's. It is 0 as long as there
    is none, and None for all that was not proposed.
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
    """False where the trail was only brought up to it."""
    brought: int | None = None

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
    """It was brought in on another side too, and is told of there."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One entry in one place (file and section) from one commit to another.

    `begun` and `ended` are numbers of commits: the one that brought it in and the one that took it
    out (None: it is live, HEAD has it). While it is live, the lines of `entry` are those of the
    commit in which it began, afterwards those of `last`, a commit that had it. `successor` is the
    fact that replaced it. `also` tells that its key has several values. `number` is its row, 0
    before it has one.
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
    """The own text of one section, heading included, without blank lines at its end, from one
    commit to another.

    `lineage` tells sections apart, however their headings and files are renamed: it is the number
    of the first revision, 0 before there is one. `nth` counts the sections of the file with this
    path, from 1. `unchanged_text` marks a revision that differs from the one before in its place
    only (heading above, file, `nth`), and not in its bytes, or in which a merge only put together
    what its sides did. The empty path is the text before the first heading. `previous` are the rows
    of those that it continues, in a merge of several.
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


class MarkKind(StrEnum):
    """The kinds of statements about facts that a commit can make without changing a text."""

    SUPERSEDED = "superseded"
    RETRACTED = "retracted"
    CONTRADICTS = "contradicts"
    RESOLVED = "resolved"
    OVERRULED = "overruled"
    PROMOTED = "promoted"


@dataclass(frozen=True, slots=True)
class Mark:
    """A statement of `commit` about facts, from commit `begun` on until a revert takes it back
    (`ended`).

    A statement that holds again begins with the revert of its revert. Superseded and retracted: of
    one live occurrence (its row) of `fact`, which `other` replaced. Only logs have these: in a file
    that is edited in place the text is right, and the same statement is overruled. Contradicts and
    resolved: of the facts `fact` and `other`. Promoted: `other` in a file that is edited in place
    says what this line of a log says, and counts in its stead.
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
    """`commit` states that it takes `reverted` back. Where that is a merge, each stating commit
    that it brought has a record of its own, too.
    """

    commit: CommitId
    reverted: CommitId


@dataclass(frozen=True, slots=True)
class Claim:
    """A fact as somebody states it in one place. `line` counts from 1, `time` is in seconds since
    1970 (0: not known), `until` holds through that day.

    `also` tells that its key has several values, as a commit states.
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
    """Two claims that contradict each other: by the `key` of both (else None), or because somebody
    `marked` them, or both.

    `weaker` is the claim with less behind it, None where neither has. That does not tell which is
    right.
    """

    first: Claim
    second: Claim
    key: str | None
    marked: bool
    weaker: Claim | None


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit as history is read: `time` is the author's, in seconds since 1970.

    `email` is known of commits that are read from git.
    """

    id: CommitId
    time: int
    author: str
    message: str
    email: str = ""
