"""The model step of a night: ask once about entries the rules leave open, before writing.

Its changes are kept for the night beside its answers: writing changes memory, and so what would be
asked after an interruption.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from hashlib import sha256
from typing import Any

from mdmem import secrets
from mdmem.editors.likeness import candidate_pairs, likeness
from mdmem.editors.sameness import StatementIndex
from mdmem.folder import config
from mdmem.index.session_messages import purged_texts
from mdmem.llm import asking
from mdmem.llm.asking import AskedRun, Asker
from mdmem.llm.checks import ChangeOp, Ground, SaidLine, SuggestedChange, check_changes
from mdmem.llm.requests import (
    BAD_ANSWER,
    DOWN,
    ConsolidateData,
    DayFact,
    MemoryEntry,
    ModelFailure,
    configured,
    consolidate_request,
)
from mdmem.model import FactId, Source
from mdmem.model.errors import MdmemError
from mdmem.model.pipelines import DreamOp, ModelFigures
from mdmem.nights.dream.candidates import (
    CuratedFact,
    CuratedMemory,
    DreamCandidate,
    Night,
    canonical_attribute,
)
from mdmem.nights.dream.cases import (
    FORGETS_NOTHING,
    SAID_ONCE,
    Suggestion,
    leave,
)
from mdmem.nights.dream.wording import plain_form
from mdmem.sessions.plain import subject_to_forget
from mdmem.startup.records import dataclass, field, replace
from mdmem.text.document import join_path
from mdmem.text.facts import fact_id, normalise
from mdmem.workspace import Say, Workspace

_NEAR = 0.25
"""The minimum likeness of a fact shown to the model beside an entry."""
_MOST_NEAR = 5
_MOST_FACTS, _MOST_BYTES = 25, 20_000
"""The maximum of entries in a request, and of bytes about them and memory."""
_MOST_CHARACTERS = 1_000
"""Longer entries and facts are not sent."""
_BYTES_AROUND = 120
"""The bytes of a fact in a request besides its texts."""


@dataclass(frozen=True, slots=True)
class OpenEntries:
    """Entries that the rules leave open, as many as one request holds, and its data."""

    facts: frozenset[FactId]
    data: ConsolidateData


@dataclass(frozen=True, slots=True)
class MergedSuggestions:
    suggestions: tuple[Suggestion, ...]
    refused: int


def open_requests(
    day: date, by_rules: Sequence[Suggestion], memory: CuratedMemory, asked: frozenset[FactId]
) -> list[OpenEntries]:
    """Requests about open entries, without those `asked` already.

    They depend on commits alone, so that an interruption does not change them.
    """
    opened = {fact: rule for fact, rule in _open(by_rules).items() if fact not in asked}
    near = _near(list(opened.values()), memory)
    requests: list[OpenEntries] = []
    facts: list[DayFact] = []
    shown: dict[FactId, CuratedFact] = {}
    for fact, rule in opened.items():
        more = {each.fact: each for each in near[fact] if each.fact not in shown}
        if facts and (
            len(facts) == _MOST_FACTS
            or _size(facts, shown.values()) + _size([_day_fact(rule, near[fact])], more.values())
            > _MOST_BYTES
        ):
            requests.append(_request(day, facts, shown))
            facts, shown = [], {}
            more = {each.fact: each for each in near[fact]}
        facts.append(_day_fact(rule, near[fact]))
        shown |= more
    return [*requests, _request(day, facts, shown)] if facts else requests


def _request(
    day: date, facts: Sequence[DayFact], shown: Mapping[FactId, CuratedFact]
) -> OpenEntries:
    memory = tuple(
        MemoryEntry(
            id=fact,
            text=each.value,
            section=join_path(each.section),
            source=each.source,
            key=each.key,
        )
        for fact, each in shown.items()
    )
    return OpenEntries(
        frozenset(fact.id for fact in facts),
        ConsolidateData(day=day, facts=tuple(facts), memory=memory),
    )


def _open(by_rules: Iterable[Suggestion]) -> dict[FactId, Suggestion]:
    opened: dict[FactId, Suggestion] = {}
    for rule in by_rules:
        if rule.candidate is not None and _is_open(rule, rule.candidate):
            opened.setdefault(rule.candidate.fact, rule)
    return opened


def _is_open(rule: Suggestion, candidate: DreamCandidate) -> bool:
    """True unless a change is certain, or none is wanted, whatever the words mean."""
    if (
        candidate.sender is not None
        or len(candidate.text) > _MOST_CHARACTERS
        or secrets.find(candidate.text, strict=True)
    ):
        return False
    if rule.op is DreamOp.NONE:
        return rule.why in (SAID_ONCE, FORGETS_NOTHING)
    return not (rule.op is DreamOp.UPDATE and rule.is_sure)


def _near(rules: Sequence[Suggestion], memory: CuratedMemory) -> dict[FactId, list[CuratedFact]]:
    candidates = [rule.candidate for rule in rules if rule.candidate is not None]
    facts = [fact for fact in memory.facts if len(fact.value) <= _MOST_CHARACTERS]
    texts, values = [each.text for each in candidates], [fact.value for fact in facts]
    alike: dict[int, list[tuple[float, int]]] = {}
    for at, number in candidate_pairs(texts, values):
        if (measure := likeness(texts[at], values[number])) >= _NEAR:
            alike.setdefault(at, []).append((-measure, number))
    near: dict[FactId, list[CuratedFact]] = {}
    for at, (rule, candidate) in enumerate(zip(rules, candidates, strict=True)):
        attribute = canonical_attribute(candidate.attribute)
        by_rule = [
            fact
            for fact in facts
            if fact is rule.old
            or (attribute and fact.attribute == attribute)
            or fact.fact in candidate.corrects
        ]
        closest = [facts[number] for _, number in sorted(alike.get(at, ()))[:_MOST_NEAR]]
        near[candidate.fact] = list(
            {fact.fact: fact for fact in (*by_rule[:_MOST_NEAR], *closest)}.values()
        )
    return near


def _day_fact(rule: Suggestion, near: Sequence[CuratedFact]) -> DayFact:
    candidate = rule.candidate
    if candidate is None:
        raise ValueError("a suggestion without an entry")
    return DayFact(
        id=candidate.fact,
        text=candidate.text,
        day=candidate.day,
        source=candidate.source,
        near=tuple(fact.fact for fact in near),
        key=candidate.attribute,
    )


def _size(facts: Iterable[DayFact], shown: Iterable[CuratedFact]) -> int:
    entries = sum(len(fact.text.encode()) + 12 * len(fact.near) + _BYTES_AROUND for fact in facts)
    return entries + sum(
        len(fact.value.encode()) + len(join_path(fact.section).encode()) + _BYTES_AROUND
        for fact in shown
    )


def merge(
    by_rules: Sequence[Suggestion],
    changes: Mapping[FactId, SuggestedChange],
    memory: CuratedMemory,
    is_taken_out: Callable[[DreamCandidate], bool],
) -> MergedSuggestions:
    """Replace the rules' suggestions with the model's, as far as these are allowed.

    `changes` (by entry) are checked against what the model was sent. `is_taken_out` tells of a
    reworded entry that a person removed what it says.
    """
    merger = _Merger(by_rules, memory, is_taken_out)
    answered = [(rule, changes[fact]) for fact, rule in _open(by_rules).items() if fact in changes]
    by_model = {
        id(rule): merger.suggestion(change, rule, rule.candidate)
        for rule, change in answered
        if rule.candidate is not None
    }
    merged = tuple(by_model.get(id(rule)) or rule for rule in by_rules)
    return MergedSuggestions(merged, refused=list(by_model.values()).count(None))


class _Merger:
    def __init__(
        self,
        by_rules: Sequence[Suggestion],
        memory: CuratedMemory,
        is_taken_out: Callable[[DreamCandidate], bool],
    ) -> None:
        self._is_taken_out = is_taken_out
        self._changed = {rule.old.fact: rule.candidate for rule in by_rules if rule.old is not None}
        """The facts that a change is suggested for, and by which entry."""
        self._changeable = {
            fact.fact: fact for fact in reversed(memory.facts) if fact.is_changeable
        }
        self._sections = {
            join_path(fact.section)
            for fact in memory.facts
            if fact.path == memory.curated and fact.section
        }
        self._statements = StatementIndex(
            [
                *(fact.value for fact in memory.facts),
                *(rule.text for rule in by_rules if rule.op is DreamOp.ADD),
            ]
        )

    def suggestion(
        self, change: SuggestedChange, rule: Suggestion, candidate: DreamCandidate
    ) -> Suggestion | None:
        """None keeps the rules' suggestion."""
        match change.op:
            case ChangeOp.ADD:
                return self._addition(change, rule, candidate)
            case ChangeOp.UPDATE:
                return self._update(change, rule, candidate)
            case ChangeOp.DELETE:
                return self._removal(change, rule, candidate)
            case ChangeOp.NONE:
                return _when_declined(rule, candidate)

    def _addition(
        self, change: SuggestedChange, rule: Suggestion, candidate: DreamCandidate
    ) -> Suggestion | None:
        if subject_to_forget(candidate.text) is not None:
            return None
        section = change.section if change.section in self._sections else None
        if rule.op is DreamOp.ADD and rule.is_sure:
            return replace(rule, section=section)
        worded = self._worded(change, candidate)
        if worded is None:
            return None
        return replace(worded, op=DreamOp.ADD, section=section, cites=rule.cites)

    def _update(
        self, change: SuggestedChange, rule: Suggestion, candidate: DreamCandidate
    ) -> Suggestion | None:
        old = self._old(change, candidate)
        if (
            old is None
            or candidate.said <= old.said
            or rule.op is DreamOp.DELETE
            or subject_to_forget(candidate.text) is not None
        ):
            return None
        worded = self._worded(change, candidate)
        if worded is None:
            return None
        has_key = (
            old.key is not None
            and change.key is not None
            and canonical_attribute(change.key) == canonical_attribute(old.key)
        )
        self._changed[old.fact] = candidate
        return replace(
            worded,
            op=DreamOp.UPDATE,
            old=old,
            key=old.key if has_key else worded.key,
            cites=rule.cites,
        )

    def _removal(
        self, change: SuggestedChange, rule: Suggestion, candidate: DreamCandidate
    ) -> Suggestion | None:
        """A removal needs a person's explicit request; the model says which fact is meant."""
        old = self._old(change, candidate)
        if (
            old is None
            or subject_to_forget(candidate.text) is None
            or candidate.source is Source.AUTO
        ):
            return None
        self._changed[old.fact] = candidate
        return replace(
            leave(candidate, _reason(change, candidate, old)),
            op=DreamOp.DELETE,
            old=old,
            cites=rule.cites,
        )

    def _old(self, change: SuggestedChange, candidate: DreamCandidate) -> CuratedFact | None:
        old = self._changeable.get(change.old) if change.old is not None else None
        return (
            old if old is not None and self._changed.get(old.fact, candidate) is candidate else None
        )

    def _worded(self, change: SuggestedChange, candidate: DreamCandidate) -> Suggestion | None:
        """Rewording makes words nobody's own; None where they are current, or were removed."""
        old = self._changeable.get(change.old) if change.old is not None else None
        suggestion = replace(leave(candidate, _reason(change, candidate, old)), kind=candidate.kind)
        if normalise(change.text) == normalise(candidate.text):
            form = plain_form(
                candidate.text,
                kind=candidate.kind,
                day=candidate.day,
                attribute=candidate.attribute,
            )
            return replace(
                suggestion, text=form.text, key=form.key, kind=form.kind, until=form.until
            )
        if self._statements.holds_like(change.text) or self._is_taken_out(
            replace(candidate, text=change.text, fact=fact_id(change.text))
        ):
            return None
        self._statements.add(change.text)
        source = min(candidate.source, Source.INFERRED, key=lambda source: source.strength)
        return replace(
            suggestion,
            text=change.text,
            source=source,
            confidence=min(candidate.confidence, source.confidence),
        )


def _when_declined(rule: Suggestion, candidate: DreamCandidate) -> Suggestion:
    """Where a model would leave a person's words, they are proposed at least."""
    if candidate.source is Source.USER_STATED:
        return replace(rule, is_sure=False)
    return leave(candidate, "a model would leave it")


def _reason(change: SuggestedChange, candidate: DreamCandidate, old: CuratedFact | None) -> str:
    lines: Iterator[SaidLine] = (
        SaidLine(text, candidate.day) for text in (candidate.text, old.value if old else "") if text
    )
    is_held = bool(change.why) and not Ground(lines).ungrounded(change.why)
    return f"a model suggests it: {change.why}" if is_held else "a model suggests it"


_MOST_SECONDS = 3 * 60
"""After so long nothing more is asked: a timer ends a run of 15 minutes, digest included."""
_JUST_NOW = 15 * 60
"""A model that did not answer so many seconds ago is not asked."""


@dataclass(slots=True)
class _NightAnswers:
    asked: set[FactId] = field(default_factory=set)
    items: list[dict[str, Any]] = field(default_factory=list)


class NightModel:
    def __init__(
        self,
        workspace: Workspace,
        night: Night,
        say: Say,
        *,
        is_dry: bool = False,
        is_asked_for: bool = False,
    ) -> None:
        self._workspace = workspace
        self._night = night
        self._say = say
        self._is_dry = is_dry
        self._is_asked_for = is_asked_for
        self._heard: _NightAnswers | None = None
        self._name = ""
        self.figures = ModelFigures()

    def merged(
        self,
        by_rules: Sequence[Suggestion],
        memory: CuratedMemory,
        is_taken_out: Callable[[DreamCandidate], bool],
    ) -> list[Suggestion]:
        """Only the first call asks the model. Raises: MdmemError: memory cannot be read."""
        is_first = self._heard is None
        if self._heard is None:
            self._heard = self._ask(by_rules, memory)
        changes: dict[FactId, SuggestedChange] = {}
        refused = 0
        for request in open_requests(self._night.day, by_rules, memory, frozenset()):
            checked = check_changes(
                [item for item in self._heard.items if item.get("fact") in request.facts],
                request.data,
            )
            changes |= {change.fact: change for change in checked.changes}
            refused += len(checked.refused)
        merged = merge(by_rules, changes, memory, is_taken_out)
        if is_first:
            self.figures.bad_answers = refused + merged.refused
        return list(merged.suggestions)

    def _ask(self, by_rules: Sequence[Suggestion], memory: CuratedMemory) -> _NightAnswers:
        workspace = self._workspace
        try:
            endpoint = configured(workspace.settings, workspace.environment)
        except MdmemError as problem:
            self.figures.outcome, self.figures.message = problem.code, problem.message
            return _NightAnswers()
        self._name = sha256(f"{endpoint.name}\0{self._night.run}".encode()).hexdigest()
        heard = self._read_answers()
        requests = open_requests(self._night.day, by_rules, memory, frozenset(heard.asked))
        if not requests or self._was_just_down():
            return heard
        purged = purged_texts(workspace, self._say).digest
        run = AskedRun(
            name=self._night.run,
            tokens_a_day=workspace.settings.model_tokens_day,
            zone=config.zone(workspace.settings.timezone),
            is_dry=self._is_dry,
            figures=self.figures,
        )
        asker = Asker(workspace.state, endpoint, run, workspace.now)
        try:
            self._ask_all(requests, asker, heard)
        finally:
            asker.close()
        if purged_texts(workspace, self._say).digest != purged:
            asking.drop_all_answers(workspace.state)
            return _NightAnswers()
        return heard

    def _ask_all(self, requests: Sequence[OpenEntries], asker: Asker, heard: _NightAnswers) -> None:
        deadline = time.monotonic() + _MOST_SECONDS
        for request in requests:
            if not self._is_asked_for and time.monotonic() > deadline:
                return
            try:
                answer = asker.ask(consolidate_request(request.data))
            except ModelFailure as failure:
                self.figures.outcome, self.figures.message = failure.outcome, str(failure)
                if failure.outcome != BAD_ANSWER:
                    return
                continue
            if answer is not None:
                heard.asked |= request.facts
                heard.items += [
                    item
                    for item in answer.items
                    if isinstance(item, dict) and item.get("fact") in request.facts
                ]
                self._keep_heard(heard)

    def _was_just_down(self) -> bool:
        """Not asked again after the same run's digest; an explicit request asks anyway."""
        last = asking.last_record(self._workspace.state)
        if self._is_asked_for or last is None or last.outcome != DOWN:
            return False
        if (self._workspace.now() - last.time).total_seconds() > _JUST_NOW:
            return False
        self.figures.outcome = DOWN
        self.figures.message = "the model did not answer a moment ago"
        return True

    def _read_answers(self) -> _NightAnswers:
        with suppress(ValueError, TypeError, KeyError, RecursionError):
            values = json.loads(asking.read_kept_answer(self._workspace.state, self._name, 0) or "")
            return _NightAnswers(
                set(map(FactId, values["asked"])),
                [item for item in values["items"] if isinstance(item, dict)],
            )
        return _NightAnswers()

    def _keep_heard(self, heard: _NightAnswers) -> None:
        if not self._is_dry:
            with suppress(OSError):  # a cache
                asking.keep_answer(
                    self._workspace.state,
                    self._name,
                    json.dumps({"asked": sorted(heard.asked), "items": heard.items}),
                    None,
                )
