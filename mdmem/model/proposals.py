"""Proposals: changes of memory on branches of their own, which wait for a person; arguments and
results of their verbs.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from mdmem.errors import UsageProblem
from mdmem.model import CommitId, FactId, FilePath, SectionPath, Source
from mdmem.model.reads import UnreadableProposal, Waiting
from mdmem.model.rules import require_no_trailer
from mdmem.model.writes import Change, EditSection, Forget, Log, Remember, WriteOptions, WriteResult
from mdmem.startup.records import dataclass, field
from mdmem.wording import field as field_name

MOST_PROPOSALS, MOST_PARTS = 500, 1000
"""The most proposals that may stand, and the most open parts that one may have."""
KEPT_DAYS = 90
"""The days for which a closed proposal can be looked up."""

PartName = str
"""The id of the fact that a part brings in, else of the one that it takes out; of other text
`SECTION@ETAG`.
"""


class PartOp(StrEnum):
    """The operations of parts: on a fact, or (`SECTION`) on a heading and what stands under it
    besides facts.
    """

    ADD = "add"
    UPDATE = "update"
    DELETE = "delete"
    RETRACT = "retract"
    CONFIRM = "confirm"
    SECTION = "section"


class PartState(StrEnum):
    """The states of a part.

    `OVERTAKEN`: its place was changed since the proposal began. `ACCEPTED` is also what stands
    already, however it came there.
    """

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
    """Whose statement a part is, by the commit that proposes it. `source` is the one that it has
    when it is accepted as it is.
    """

    source: Source
    confidence: float
    actor: str | None = None
    session: str | None = None
    reason: str | None = None
    cites: tuple[str, ...] = ()
    run: str | None = None


@dataclass(frozen=True, slots=True)
class PartView:
    """A part as it is shown: `old` is what it takes out, `new` what it brings in, `standing` what
    stands in its place now.
    """

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
    """A proposal with its parts. `since` is when its oldest commit was made; `base` is the commit
    where its branch began.
    """

    id: str
    actor: str
    branch: str
    base: CommitId | None
    tip: CommitId
    since: datetime
    parts: tuple[PartView, ...]
    reason: str | None = None
    others: tuple[str, ...] = ()
    """Files of the branch that are no memory, and that accepting leaves alone."""

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
    """Propose an edit: as a new proposal, or (`to`) as a part of one that stands. `again`: though a
    person rejected it.

    `own`: the id of a pipeline's own proposal, to which it goes, and which is begun where it does
    not stand.
    """

    edit: EditSection | Log | Remember | Forget
    to: str | None = None
    again: bool = False
    own: str | None = None


@dataclass(frozen=True, slots=True)
class ProposeBranch:
    """Make a proposal from the changes on a branch. `again`: though a person rejected
    some of it.
    """

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
    """Take parts of a proposal onto memory as it is; without `parts` all that are fresh.

    `edited` pairs parts with the texts that a person made of them. `vouch`: the person states it
    themselves. `anyway`: the parts that are named are taken even where they are overtaken.
    """

    proposal: str
    parts: tuple[PartName, ...] = ()
    edited: tuple[tuple[PartName, str], ...] = ()
    vouch: bool = False
    anyway: bool = False
    options: WriteOptions = field(default_factory=WriteOptions)

    def __post_init__(self) -> None:
        """Refuse a source, which the parts have themselves, and overtaken parts that
        nobody named.
        """
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
    """The outcome of a verb that proposes: that of the verb itself, and the proposal
    that holds it.
    """

    result: WriteResult
    proposal: str | None


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome of a decision: the parts that were decided, each with what became of it, and
    those that were left.

    `closed`: the proposal has no open part any more, and its branch is gone.
    """

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
    """Something that could be tidied: `command` is the command line that does it, or that shows
    what has to be decided.

    `change` is the change that the command makes, None where a decision comes first. `safe`: no
    fact that holds is lost, so nobody has to be asked. `facts` are those concerned, the ones to
    remove first. `line` counts from 1.
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
