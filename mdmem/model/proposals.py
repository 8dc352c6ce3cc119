"""Proposals: changes of memory on their own branches, which wait for review."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from mdmem.errors import UsageProblem
from mdmem.model import CommitId, FactId, FilePath, SectionPath, Source
from mdmem.model.reads import UnreadableProposal, Waiting
from mdmem.model.rules import require_no_trailer
from mdmem.model.writes import (
    Change,
    EditSection,
    Forget,
    Log,
    Remember,
    WholeFileEdit,
    WriteOptions,
    WriteResult,
)
from mdmem.startup.records import dataclass, field
from mdmem.wording import field as field_name

MOST_PROPOSALS, MOST_PARTS = 500, 1000
"""Maximum number of open proposals, and of open parts in one."""
KEPT_DAYS = 90
"""Days for which a closed proposal can be looked up."""

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
    """States of a part. `OVERTAKEN`: its target has changed since. `ACCEPTED`: memory has it."""

    OPEN = "open"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    OVERTAKEN = "overtaken"

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
class ProposalList:
    """The proposals that HEAD has not taken in, oldest first, and those that cannot be read."""

    views: tuple[ProposalView, ...] = ()
    unreadable: tuple[UnreadableProposal, ...] = ()


@dataclass(frozen=True, slots=True)
class Propose:
    """Propose an edit, as a new proposal or (`to`) as a part of an open one.

    `again`: even if rejected before. `own`: the id of a pipeline's proposal, created if missing.
    """

    edit: EditSection | Log | Remember | Forget | WholeFileEdit
    to: str | None = None
    again: bool = False
    own: str | None = None


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
        """Refuse a reason that reads as a trailer."""
        require_no_trailer("reason", self.reason)


@dataclass(frozen=True, slots=True)
class Accept:
    """Apply parts of a proposal to current memory; without `parts` all that are fresh.

    `edited` pairs parts with the reviewer's texts. `vouch`: the reviewer states it. `anyway`:
    include named parts that are overtaken.
    """

    proposal: str
    parts: tuple[PartName, ...] = ()
    edited: tuple[tuple[PartName, str], ...] = ()
    vouch: bool = False
    anyway: bool = False
    options: WriteOptions = field(default_factory=WriteOptions)

    def __post_init__(self) -> None:
        if self.anyway and not (self.parts or self.edited):
            raise UsageProblem(f"{field_name('anyway')} needs named parts")
        if self.options.source is not Source.INFERRED or self.options.confidence is not None:
            raise UsageProblem(
                f"a part has a source of its own; {field_name('vouch')} makes it the user's"
            )


@dataclass(frozen=True, slots=True)
class Reject:
    """Refuse parts of a proposal; without `parts` all that wait."""

    proposal: str
    parts: tuple[PartName, ...] = ()
    options: WriteOptions = field(default_factory=WriteOptions)


@dataclass(frozen=True, slots=True)
class ProposedWrite:
    """The result of a verb that proposes, and the proposal; `repeats` if it had it already."""

    result: WriteResult
    proposal: str | None
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """Decided parts with their results, and those left. `closed`: no open part is left."""

    proposal: str
    parts: tuple[tuple[PartView, WriteResult], ...] = ()
    overtaken: tuple[PartView, ...] = ()
    commits: tuple[CommitId, ...] = ()
    closed: bool = False
    dry_run: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProposedHit:
    """A part of a proposal that holds words of a query."""

    proposal: str
    actor: str
    part: PartView
    score: float


class AdviceKind(StrEnum):
    """Kinds of advice on curated files."""

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
    concerned, the ones to remove first.
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
class ReviewResult:
    """Advice that a review carried out, each with its result, and the advice that remains."""

    advice: tuple[Advice, ...]
    done: tuple[tuple[Advice, WriteResult], ...] = ()
    waiting: Waiting = Waiting()
