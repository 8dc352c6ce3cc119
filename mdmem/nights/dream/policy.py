"""Policy: which suggested changes are applied, and which a person decides. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date

from mdmem.folder import trust
from mdmem.folder.trust import TextOrigin
from mdmem.model import FactId, FilePath, Source, rules
from mdmem.model.pipelines import TOO_MANY_CHANGES, DreamOp
from mdmem.nights.dream.candidates import DreamCandidate
from mdmem.nights.dream.curated import CuratedFact, CuratedMemory, canonical_attribute
from mdmem.sessions.statements import MANY_VALUED
from mdmem.startup.records import dataclass, replace
from mdmem.text.facts import fact_id


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A change of curated memory that an entry asks for; NONE changes nothing.

    - `candidate`: the entry (None: a duplicate, or the oldest fact in a full file).
    - `text`: without its `key`; empty for none. `until`: its last day.
    - `section`: the address; None decides by kind, and by the place of `old`.
    - `source`, `confidence`: of the text as worded here.
    - `also`: another value of its key may stay.
    - `is_sure`: it may be applied unasked.
    """

    op: DreamOp
    candidate: DreamCandidate | None
    why: str
    old: CuratedFact | None = None
    text: str = ""
    key: str | None = None
    kind: str | None = None
    until: date | None = None
    section: str | None = None
    source: Source = Source.INFERRED
    confidence: float = Source.INFERRED.confidence
    also: bool = False
    is_sure: bool = False
    cites: tuple[str, ...] = ()

    @property
    def statement(self) -> str:
        return f"{self.key}: {self.text}" if self.key else self.text

    @property
    def is_by_key(self) -> bool:
        """True if its key alone tells which line it replaces."""
        return self.key is not None and self.old is not None and self.old.key == self.key

    @property
    def fact(self) -> FactId:
        return fact_id(self.statement)

    @property
    def identity(self) -> tuple[DreamOp, FactId | None, FactId | None]:
        """Equal for the same change, judged again."""
        return (
            self.op,
            self.candidate.fact if self.candidate else None,
            self.old.fact if self.old else None,
        )


def leave(candidate: DreamCandidate, why: str) -> Suggestion:
    return Suggestion(
        op=DreamOp.NONE,
        candidate=candidate,
        why=why,
        source=candidate.source,
        confidence=candidate.confidence,
        cites=candidate.cites,
    )


def with_author(change: Suggestion) -> Suggestion:
    """A change that says who wrote its entry and when, if the user did not.

    Another author's entry is inferred at most: its new commit is the user's, and names nobody else.
    """
    candidate = change.candidate
    name = candidate and (candidate.author or candidate.sender)
    if not candidate or not name or change.op is DreamOp.NONE:
        return change
    told = f" ({rules.author_name(name)}, {candidate.day})"
    named = replace(change, why=f"{change.why.removesuffix(told)}{told}")
    if candidate.author is None:
        return named
    source = trust.limit_source(TextOrigin.OTHER_SENDER, change.source) or Source.AUTO
    return replace(named, source=source, confidence=min(change.confidence, source.confidence))


def one_for_each(
    suggestions: Sequence[Suggestion], is_counted: Callable[[CuratedFact], bool]
) -> list[Suggestion]:
    """Keep the best founded, then last, of several unsure changes of a counted fact."""
    best: dict[int, Suggestion] = {}
    for suggestion in suggestions:
        if suggestion.old is not None and not suggestion.is_sure and is_counted(suggestion.old):
            other = best.get(id(suggestion.old))
            if other is None or suggestion.source.strength >= other.source.strength:
                best[id(suggestion.old)] = suggestion
    return [
        (
            leave(each.candidate, "another entry asks for a change of the same fact")
            if each.candidate is not None
            and each.old is not None
            and not each.is_sure
            and best.get(id(each.old), each) is not each
            else each
        )
        for each in suggestions
    ]


_LARGEST_LOSS = 10
"""A file loses at most one of so many facts in a night, but one at least."""
_MARKER_BYTES = 20
"""The bytes of a new fact besides its text: list marker, kind, line end."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of a night.

    `most`: the maximum of applied changes, of which `done` are made. `budget_lines`,
    `budget_bytes`: the maximum size of the curated file.
    """

    applies: bool
    most: int
    done: int
    budget_lines: int
    budget_bytes: int


@dataclass(frozen=True, slots=True)
class Decided:
    """Changes to apply, to propose and to leave, in order; `outcome` is empty for success."""

    applied: tuple[Suggestion, ...]
    proposed: tuple[Suggestion, ...]
    left: tuple[Suggestion, ...]
    outcome: str = ""


def decide(suggestions: Sequence[Suggestion], memory: CuratedMemory, limits: Limits) -> Decided:
    left = tuple(each for each in suggestions if each.op is DreamOp.NONE)
    changes = [
        replace(each, is_sure=each.is_sure and _is_allowed(each))
        for each in map(with_author, suggestions)
        if each.op is not DreamOp.NONE
    ]
    changes = _with_few_losses(changes, memory)
    changes = _within_budget(changes, memory, limits)
    sure = [each for each in changes if each.is_sure]
    too_many = bool(sure) and len(sure) + limits.done > limits.most
    if not limits.applies or too_many:
        sure = []
    applied = tuple(each for each in changes if each in sure)
    proposed = _without_overlaps([each for each in changes if each not in sure], applied, memory)
    left += tuple(each for each in proposed if each.op is DreamOp.NONE)
    proposed = [each for each in proposed if each.op is not DreamOp.NONE]
    return Decided(
        applied, tuple(proposed), left, TOO_MANY_CHANGES if too_many and limits.applies else ""
    )


def _is_allowed(change: Suggestion) -> bool:
    """True unless the words, or the line replaced, are another's than the user's own."""
    old, candidate = change.old, change.candidate
    if candidate is None:
        return old is None or old.is_changeable
    row = trust.trust(candidate.origin)
    if old is None:
        return row.adds
    is_guarded = old.source is Source.USER_STATED
    may_end = (
        row.ends_users_word and change.source is Source.USER_STATED and change.op is DreamOp.UPDATE
    )
    return old.is_changeable and row.replaces and (may_end or not is_guarded)


def _with_few_losses(changes: Sequence[Suggestion], memory: CuratedMemory) -> list[Suggestion]:
    losses: Counter[FilePath] = Counter()
    kept = []
    for change in changes:
        if change.is_sure and change.op is DreamOp.DELETE and change.old is not None:
            path = change.old.path
            losses[path] += 1
            if losses[path] > max(1, memory.files[path].facts // _LARGEST_LOSS):
                change = replace(change, is_sure=False)
        kept.append(change)
    return kept


def _within_budget(
    changes: Sequence[Suggestion], memory: CuratedMemory, limits: Limits
) -> list[Suggestion]:
    """Where a file is full, new facts are unsure, and its oldest are suggested to go."""
    file = memory.files.get(memory.curated)
    size, lines = (file.size, file.lines) if file else (0, 0)
    kept, over = [], 0
    for change in changes:
        if change.op is DreamOp.ADD and change.is_sure:
            size += len(change.text.encode()) + _MARKER_BYTES
            lines += change.text.count("\n") + 1
            if size > limits.budget_bytes or lines > limits.budget_lines:
                change, over = replace(change, is_sure=False), over + 1
        kept.append(change)
    source = trust.trust(TextOrigin.RULE).most
    if source is None:
        return kept
    taken = {id(change.old) for change in changes}
    oldest = sorted(
        (fact for fact in memory.facts if fact.path == memory.curated and id(fact) not in taken),
        key=_age,
    )
    why = f"{memory.curated} is full, and this is the oldest there"
    return kept + [
        Suggestion(
            op=DreamOp.DELETE,
            candidate=None,
            why=why,
            old=fact,
            source=source,
            confidence=source.confidence,
        )
        for fact in oldest[:over]
    ]


def _without_overlaps(
    proposed: Sequence[Suggestion], applied: Sequence[Suggestion], memory: CuratedMemory
) -> list[Suggestion]:
    """Proposals do not replace other proposals of the night: parts would overlap."""
    current_ids = {id(fact) for fact in memory.facts}
    coming = {change.fact for change in applied}
    apart = []
    for change in proposed:
        if (
            change.candidate is not None
            and change.old is not None
            and id(change.old) not in current_ids
            and change.old.fact not in coming
        ):
            change = _beside_old(change, change.candidate, change.old)
        apart.append(change)
    return one_for_each(apart, lambda old: id(old) not in current_ids)


def _beside_old(change: Suggestion, candidate: DreamCandidate, old: CuratedFact) -> Suggestion:
    many = old.attribute is None or old.attribute in MANY_VALUED
    if change.op is DreamOp.UPDATE and (
        many or canonical_attribute(candidate.attribute) != old.attribute
    ):
        return replace(
            change,
            op=DreamOp.ADD,
            old=None,
            also=True,
            why="it is similar to something else that is proposed",
        )
    return leave(candidate, "it would change what is only proposed")


def _age(fact: CuratedFact) -> tuple[int, float, int]:
    """The order in which facts may go: the weakest, then the oldest."""
    return fact.source.strength, fact.said.timestamp(), fact.line
