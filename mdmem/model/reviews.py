"""Advice of a review, and its result."""

from __future__ import annotations

from enum import StrEnum

from mdmem.model import FactId, FilePath, SectionPath
from mdmem.model.reads import Waiting
from mdmem.model.writes import Change, WriteResult
from mdmem.startup.records import dataclass


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
    """Something that could be tidied: `command` is the command line that does it, or that shows what has to be decided.

    `change` is the change that the command makes, None where a decision comes first. `safe`: no fact that holds is lost, so nobody has to
    be asked. `facts` are those concerned, the ones to remove first. `line` counts from 1.
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
