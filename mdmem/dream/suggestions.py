"""Suggestions: the change that an entry asks for, as rules or a model have it, before it is told what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mdmem.dream.candidates import DreamCandidate
from mdmem.dream.curated import CuratedFact
from mdmem.facts import fact_id
from mdmem.model import FactId, Source
from mdmem.model.dreams import DreamOp
from mdmem.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A change of curated memory that an entry asks for; a NONE leaves it as it is.

    - `candidate`: the entry (None: of a fact that stands twice, or of what is oldest in a file that is full).
    - `old`: the fact that is replaced or goes.
    - `text`: of the fact that comes in, without a key; empty where none does. `key`: the key that it has.
    - `section`: the address of the section that it goes to; None leaves that to its kind, and to the place of `old`.
    - `source`, `confidence`: of the text as it is worded here.
    - `also`: what comes in may stand beside another value of its key.
    - `is_sure`: it may be carried out without being asked for.
    """

    op: DreamOp
    candidate: DreamCandidate | None
    why: str
    old: CuratedFact | None = None
    text: str = ""
    key: str | None = None
    section: str | None = None
    source: Source = Source.INFERRED
    confidence: float = Source.INFERRED.confidence
    also: bool = False
    is_sure: bool = False
    cites: tuple[str, ...] = ()

    @property
    def statement(self) -> str:
        """The text with its key."""
        return f"{self.key}: {self.text}" if self.key else self.text

    @property
    def fact(self) -> FactId:
        """The fact that comes in with the text."""
        return fact_id(self.statement)

    @property
    def identity(self) -> tuple[DreamOp, FactId | None, FactId | None]:
        """The same for the same change, judged again."""
        return self.op, self.candidate.fact if self.candidate else None, self.old.fact if self.old else None


def leave(candidate: DreamCandidate, why: str) -> Suggestion:
    """The suggestion to leave an entry where it is."""
    return Suggestion(
        op=DreamOp.NONE, candidate=candidate, why=why, source=candidate.source, confidence=candidate.confidence, cites=candidate.cites
    )


def one_for_each(suggestions: Sequence[Suggestion], is_counted: Callable[[CuratedFact], bool]) -> list[Suggestion]:
    """Of several changes of one fact that are not sure, the last one that is best founded, for the facts that are to be counted."""
    best: dict[int, Suggestion] = {}
    for suggestion in suggestions:
        if suggestion.old is not None and not suggestion.is_sure and is_counted(suggestion.old):
            other = best.get(id(suggestion.old))
            if other is None or suggestion.source.strength >= other.source.strength:
                best[id(suggestion.old)] = suggestion
    return [
        leave(each.candidate, "another entry asks for a change of the same fact")
        if each.candidate is not None and each.old is not None and not each.is_sure and best.get(id(each.old), each) is not each
        else each
        for each in suggestions
    ]
