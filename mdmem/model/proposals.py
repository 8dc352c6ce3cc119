"""Proposals: changes of memory on their own branches, which wait for review."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

from mdmem.model import CommitId, FactId, FilePath, SectionPath, Source
from mdmem.model.errors import UsageProblem, one_of
from mdmem.model.errors import field as field_name
from mdmem.model.reads import UnreadableProposal, Waiting
from mdmem.model.rules import require_no_trailer
from mdmem.model.searches import ConflictView
from mdmem.model.writes import (
    Change,
    DigestDay,
    UserEdit,
    WholeFileEdit,
    WriteOptions,
    WriteResult,
)
from mdmem.startup import late
from mdmem.startup.records import dataclass, field

MOST_PROPOSALS, MOST_PARTS = 500, 1000
"""Maximum number of open proposals, and of open parts in one."""
KEPT_DAYS = 90
"""Days for which a closed proposal can be looked up."""

_NUMBER = late.pattern(r"(\d{1,3})(?:([a-z])|-(\d{1,3}))?")
_AGE = late.pattern(r"(\d{1,5})d")

PartName = str
"""The id of the fact added, else of the one removed; for other text `SECTION@ETAG`."""


class PartOp(StrEnum):
    """Operations on a fact, or (`SECTION`) on a heading and its text other than facts."""

    ADD = "add"
    UPDATE = "update"
    DELETE = "delete"
    RETRACT = "retract"
    CONFIRM = "confirm"
    SECTION = "section"


class PartState(StrEnum):
    """States of a part.

    `OVERTAKEN`: its target has changed since. `ACCEPTED`: memory has it. `SUPERSEDED`: a rival was
    accepted.
    """

    OPEN = "open"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    OVERTAKEN = "overtaken"
    SUPERSEDED = "superseded"

    @property
    def waits(self) -> bool:
        """True if a person is still to decide."""
        return self in (PartState.OPEN, PartState.OVERTAKEN)


@dataclass(frozen=True, slots=True)
class PartOrigin:
    """The provenance of a part as proposed; `source` is used when accepted as is."""

    source: Source
    confidence: float
    actor: str | None = None
    session: str | None = None
    reason: str | None = None
    cites: tuple[str, ...] = ()
    run: str | None = None


@dataclass(frozen=True, slots=True)
class PlaceChange:
    """The change that overtook a part: by an actor (None: the user), at a time, if committed."""

    actor: str | None = None
    time: datetime | None = None


@dataclass(frozen=True, slots=True)
class PartView:
    """A part as shown: `old` is removed, `new` added; `standing` is the current text there."""

    name: PartName
    path: FilePath
    section: SectionPath
    op: PartOp
    old: str | None
    new: str | None
    origin: PartOrigin
    state: PartState
    standing: str | None = None
    duplicate_of: FactId | None = None
    contradicts: FactId | None = None
    key: str | None = None
    since: datetime | None = None
    """The time when it was proposed."""
    changed: PlaceChange | None = None
    """The change that overtook it."""


@dataclass(frozen=True, slots=True)
class ProposalView:
    """A proposal with its parts; `since`: the time of its oldest commit, `base`: where it began."""

    id: str
    actor: str
    branch: str
    base: CommitId | None
    tip: CommitId
    since: datetime
    parts: tuple[PartView, ...]
    reason: str | None = None
    others: tuple[str, ...] = ()
    """Files of the branch that are not memory, and that accepting ignores."""

    @property
    def waits(self) -> bool:
        """True if a part of it is still to be decided."""
        return any(part.state.waits for part in self.parts)


@dataclass(frozen=True, slots=True)
class ListedPart:
    """A part in the numbered list, with the id of its proposal and who proposed it when."""

    proposal: str
    actor: str
    since: datetime
    view: PartView


@dataclass(frozen=True, slots=True)
class ListedItem:
    """A numbered item: the rival values for one place, newest first.

    A value is one change, proposed by one actor or more: its parts, newest first. `shown` is a
    digest of all that a decision on it depends on.
    """

    number: int
    values: tuple[tuple[ListedPart, ...], ...]
    shown: str

    @property
    def place(self) -> tuple[FilePath, SectionPath]:
        """Its file and section."""
        view = self.values[0][0].view
        return view.path, view.section

    @property
    def is_rival(self) -> bool:
        """True if it has several values."""
        return len(self.values) > 1


@dataclass(frozen=True, slots=True)
class NumberedList:
    """Open parts as numbered items; `stamp` names the list.

    `unlisted` counts the items above the maximum.
    """

    stamp: str = ""
    items: tuple[ListedItem, ...] = ()
    unlisted: int = 0


@dataclass(frozen=True, slots=True)
class ProposalList:
    """The proposals that HEAD has not taken in, oldest first, and those that cannot be read.

    `numbered` are their open parts.
    """

    views: tuple[ProposalView, ...] = ()
    unreadable: tuple[UnreadableProposal, ...] = ()
    numbered: NumberedList = NumberedList()


@dataclass(frozen=True, slots=True)
class Propose:
    """Propose an edit, as a part of its actor's open proposal. `again`: even if rejected before."""

    edit: UserEdit | WholeFileEdit | DigestDay
    again: bool = False


@dataclass(frozen=True, slots=True)
class ProposeBranch:
    """Make a proposal from the changes on a branch. `again`: even if rejected before."""

    branch: str
    reason: str | None = None
    actor: str | None = None
    session: str | None = None
    again: bool = False
    allow: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        require_no_trailer("reason", self.reason)


@dataclass(frozen=True, slots=True)
class ItemChoice:
    """A decision on one item of a list: accept or reject a value (from 0; None: see below).

    Without a value the newest is accepted, and all are rejected. `text`: in these words. `keeps`:
    keep what it replaces, and accept all of its values.
    """

    number: int
    value: int | None = None
    accepts: bool = True
    text: str | None = None
    keeps: bool = False

    @property
    def name(self) -> str:
        """The item or value as a user names it: 1, 1b."""
        return f"{self.number}{'' if self.value is None else chr(ord('a') + self.value)}"


def is_number(word: str) -> bool:
    """True for an item of a list: 1, 1b, 4-9; an id has more digits."""
    return _NUMBER.fullmatch(word) is not None


def parse_numbers(words: Iterable[str]) -> tuple[tuple[int, int | None], ...]:
    """Items of a list, as a user names them, each with its value (from 0) if that is named.

    Raises: UsageProblem.
    """
    numbers: list[tuple[int, int | None]] = []
    for word in words:
        match = _NUMBER.fullmatch(word)
        if match is None:
            raise UsageProblem(
                f"{word[:80]!r} is not a number of the list", "Write numbers as 1, 1b or 4-9."
            )
        first, letter, last = match.groups()
        if last is not None and int(last) < int(first):
            raise UsageProblem(f"{word} is not a range: {last} comes before {first}")
        value = ord(letter) - ord("a") if letter else None
        numbers += [(number, value) for number in range(int(first), int(last or first) + 1)]
    return tuple(dict.fromkeys(numbers))


_SELECTING = ("undisputed", "section", "file", "from_actor")


def parse_age(text: str) -> int:
    """A number of days, as in 30d. Raises: UsageProblem."""
    match = _AGE.fullmatch(text)
    if match is None:
        message = f"{field_name('older')}: {text[:80]!r} is not an age"
        raise UsageProblem(message, "Write a number of days, as in 30d.")
    return int(match[1])


@dataclass(frozen=True, slots=True)
class Selection:
    """Items of a list by where they are, who proposed them, and their age in days.

    Or parts of one proposal (an id or a night): the named ones, or all that wait, of which only
    fresh ones are accepted. `edited` pairs parts with the reviewer's texts.
    """

    proposal: str | None = None
    parts: tuple[PartName, ...] = ()
    edited: tuple[tuple[PartName, str], ...] = ()
    section: str | None = None
    file: str | None = None
    actor: str | None = None
    older: int | None = None


@dataclass(frozen=True, slots=True)
class Decide:
    """Decide on items of a list: the named ones, or those of a selection (`accepts` says how).

    `stamp` None means the newest list of this user. `vouch`: the reviewer states it. `anyway`:
    accept what was overtaken since, removals that are overtaken, and named parts that are.
    `leaves`: leave what has changed since, instead of refusing everything. `expect`: proposals with
    the tips that the reviewer has seen.
    """

    choices: tuple[ItemChoice, ...] = ()
    selection: Selection | None = None
    accepts: bool = True
    stamp: str | None = None
    vouch: bool = False
    anyway: bool = False
    leaves: bool = False
    expect: tuple[tuple[str, str], ...] = ()
    options: WriteOptions = field(default_factory=WriteOptions)

    def __post_init__(self) -> None:
        if self.options.source is not Source.INFERRED or self.options.confidence is not None:
            raise UsageProblem(
                f"a part has a source of its own; {field_name('vouch')} makes it the user's"
            )
        if not self.choices and self.selection is None:
            raise UsageProblem(
                "no items named",
                f"Name them by number (1 4-9), or use {one_of(map(field_name, _SELECTING))}.",
            )
        if self.choices and self.selection is not None:
            raise UsageProblem("name items by number or select them, not both")
        selection = self.selection
        if self.anyway and selection is not None and not (selection.parts or selection.edited):
            names = "numbers" if selection.proposal is None else "named parts"
            raise UsageProblem(f"{field_name('anyway')} needs {names}")
        accepted = [choice.number for choice in self.choices if choice.accepts]
        if twice := next((each for each in accepted if accepted.count(each) > 1), None):
            raise UsageProblem(f"only one value of {twice} can be accepted")


@dataclass(frozen=True, slots=True)
class DecidedItem:
    """A decided part, with the result of its write; the number is 0 if not decided by it."""

    number: int
    proposal: str
    part: PartView
    result: WriteResult


SEVERAL_VALUES = "several values"


@dataclass(frozen=True, slots=True)
class LeftItem:
    """An item that was left, and why; `anyway` if it is accepted only with that."""

    number: int
    why: str
    anyway: bool = False


@dataclass(frozen=True, slots=True)
class ListDecision:
    """The outcome of `Decide`: `closed` are proposals without an open part.

    `moved` is the list as it is now, if nothing was done. Of parts of one `proposal`, `overtaken`
    are those left.
    """

    accepted: tuple[DecidedItem, ...] = ()
    rejected: tuple[DecidedItem, ...] = ()
    superseded: tuple[tuple[str, PartView], ...] = ()
    left: tuple[LeftItem, ...] = ()
    commits: tuple[CommitId, ...] = ()
    closed: tuple[str, ...] = ()
    dry_run: bool = False
    moved: NumberedList | None = None
    stamp: str = ""
    proposal: str = ""
    overtaken: tuple[PartView, ...] = ()


@dataclass(frozen=True, slots=True)
class ProposedWrite:
    """The result of a verb that proposes, and the proposal; `repeats` if it had it already."""

    result: WriteResult
    proposal: str | None
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class ProposedHit:
    """A part of a proposal that holds words of a query."""

    proposal: str
    actor: str
    part: PartView
    score: float


class AdviceKind(StrEnum):
    """Kinds of advice on curated files."""

    CONFLICT_MARKERS = "conflict-markers"
    SUPERSEDED = "superseded-standing"
    FORGOTTEN = "forgotten-again"
    EXPIRED = "expired"
    DUPLICATE = "duplicate"
    NEAR_DUPLICATE = "near-duplicate"
    CONTRADICTION = "contradiction"
    UNTOUCHED = "untouched"
    OVER_BUDGET = "over-budget"


@dataclass(frozen=True, slots=True)
class Advice:
    """Something that could be tidied; `command` does it, or shows what has to be decided.

    `change` is None where a decision comes first. `safe`: no current fact is lost. `facts`: those
    concerned, the ones to remove first. `forgets`: the commands that forget one of them instead.
    `conflict`: the contradiction that it is about.
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
    forgets: tuple[tuple[str, ...], ...] = ()
    conflict: ConflictView | None = None


@dataclass(frozen=True, slots=True)
class ReviewResult:
    """Advice that a review carried out, each with its result, and the advice that remains."""

    advice: tuple[Advice, ...]
    done: tuple[tuple[Advice, WriteResult], ...] = ()
    waiting: Waiting = Waiting()
