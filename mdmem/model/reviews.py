"""What a review finds and does."""

from __future__ import annotations

from enum import StrEnum

from mdmem.model import FactId, FilePath, SectionPath
from mdmem.model.writes import Change, WriteResult
from mdmem.startup.records import dataclass


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
class ReviewResult:
    """What a review carried out, with what came of each, and the advice that is left."""

    advice: tuple[Advice, ...]
    done: tuple[tuple[Advice, WriteResult], ...] = ()
