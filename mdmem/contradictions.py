"""Contradictions: which facts cannot both hold. They are named and never arbitrated."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import combinations, pairwise

from mdmem.facts import find_held_key, normalise
from mdmem.model import FactId, FilePath, SectionPath
from mdmem.model.trail import Claim, Conflict, Mark, MarkKind

_ALL_PAIRS = 16
"""Where more facts than this have one key, each contradicts the next one, so that a long list does not make a pair of every two."""

_Pair = tuple[FactId, FactId]
_SectionKey = tuple[FilePath, SectionPath]


def find_conflicts(claims: Sequence[Claim], marks: Sequence[Mark], today: date) -> tuple[Conflict, ...]:
    """The pairs of claims that contradict each other, in the order of the claims.

    Two do that hold one key in one section of one file, unless the key was said there to have several values; and two that a mark
    says so of. A later mark that resolves a pair ends both kinds, one after it that they contradict begins it again.

    Args:
        claims: those that stand and are not superseded. What has expired by `today` contradicts nothing.
        marks: contradictions and resolutions in force, oldest first.
        today: the day on which they are to hold.
    """
    holding = [claim for claim in claims if claim.until is None or claim.until >= today]
    said = _last_said(marks)
    conflicts: dict[tuple[Claim, Claim], Conflict] = {}
    for one, other, key in _by_key(holding):
        verdict = said.get(_pair(one.id, other.id))
        if verdict is not MarkKind.RESOLVED:
            conflicts[one, other] = Conflict(one, other, key, verdict is not None, weaker_claim(one, other))
    for one, other in _by_hand(holding, [pair for pair, verdict in said.items() if verdict is MarkKind.CONTRADICTS]):
        conflicts.setdefault((one, other), Conflict(one, other, None, True, weaker_claim(one, other)))
    if not conflicts:
        return ()
    places = {claim: number for number, claim in enumerate(holding)}
    return tuple(sorted(conflicts.values(), key=lambda conflict: (places[conflict.one], places[conflict.other])))


def weaker_claim(one: Claim, other: Claim) -> Claim | None:
    """Which of two is worse founded: by its confidence, then its source, then its age (the older one); None where neither is."""
    a, b = ((claim.confidence, claim.source.confidence, claim.time) for claim in (one, other))
    return None if a == b else min((a, one), (b, other), key=lambda row: row[0])[1]


def _pair(one: FactId, other: FactId) -> _Pair:
    return (one, other) if one <= other else (other, one)


def _last_said(marks: Sequence[Mark]) -> dict[_Pair, MarkKind]:
    """What was said last of each pair of facts."""
    return {
        _pair(mark.one, mark.other): mark.kind
        for mark in sorted(marks, key=lambda mark: mark.begun)
        if mark.kind in (MarkKind.CONTRADICTS, MarkKind.RESOLVED) and mark.other is not None
    }


def _by_key(claims: Sequence[Claim]) -> Iterator[tuple[Claim, Claim, str]]:
    for group, key in _groups(claims):
        if any(claim.also for claim in group):
            continue
        for one, other in combinations(group, 2) if len(group) <= _ALL_PAIRS else pairwise(group):
            yield one, other, key


def _groups(claims: Sequence[Claim]) -> Iterator[tuple[list[Claim], str]]:
    """The claims of each section that hold one key, each fact once, with the key as the first of them writes it."""
    sections: dict[_SectionKey, list[Claim]] = defaultdict(list)
    for claim in claims:
        sections[claim.path, claim.section].append(claim)
    for standing in sections.values():
        written: dict[str, str] = {}
        for claim in standing:
            if claim.key is not None:
                written.setdefault(normalise(claim.key), claim.key)
        groups: dict[str, dict[FactId, Claim]] = defaultdict(dict)
        for claim in standing if written else ():
            key = normalise(claim.key) if claim.key is not None else find_held_key(claim.text, written)
            if key is not None:
                groups[key].setdefault(claim.id, claim)
        yield from ((list(facts.values()), written[key]) for key, facts in groups.items() if len(facts) > 1)


def _by_hand(claims: Sequence[Claim], pairs: Sequence[_Pair]) -> Iterator[tuple[Claim, Claim]]:
    """The claims that marked pairs of facts mean: two of one section, else of one file, else the first of each."""
    wanted = {fact for pair in pairs for fact in pair}
    standing: dict[FactId, list[Claim]] = defaultdict(list)
    for claim in claims:
        if claim.id in wanted:
            standing[claim.id].append(claim)
    places = {claim: number for number, claim in enumerate(claims)} if wanted else {}
    for one, other in pairs:
        met = _nearest(standing[one], standing[other]) if one != other else None
        if met is not None:
            yield min(met, key=places.__getitem__), max(met, key=places.__getitem__)


def _nearest(ones: Sequence[Claim], others: Sequence[Claim]) -> tuple[Claim, Claim] | None:
    if not ones or not others:
        return None
    for depth in (2, 1):
        there = {(claim.path, claim.section)[:depth]: claim for claim in reversed(others)}
        for claim in ones:
            if (met := there.get((claim.path, claim.section)[:depth])) is not None:
                return claim, met
    return ones[0], others[0]
