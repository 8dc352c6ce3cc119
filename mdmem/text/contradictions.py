"""Contradictions: facts that cannot both hold. They are reported, never arbitrated."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from itertools import combinations, pairwise

from mdmem.folder.layout import log_day
from mdmem.model import FactId, FilePath, SectionPath
from mdmem.model.trail import Claim, Conflict, Mark, MarkKind
from mdmem.startup import late
from mdmem.text.facts import find_held_key, is_dated, key_and_value, normalise

_MAX_ALL_PAIRS = 16
"""More facts of one key contradict only the next one, to avoid a pair of every two."""

_SPOKEN_LINES, _SPOKEN_SECONDS = 3, 600
"""So many lines with one key within so many seconds are speech (`Ada: …`), not values."""

_MANY_SECTIONS = 3
_LONG_VALUE, _FEW_LONG = 80, 2
"""A key in so many sections of a file (of a day's log: one less), or with so many values of more
characters, only labels.
"""
_BOLD = ("**", "__")
_QUOTATION = late.pattern(r"""(?s)\W*["\u201c\u201e\u00ab\u300c].+["\u201d\u201c\u00bb\u300d]\W*""")

_Pair = tuple[FactId, FactId]
_SectionKey = tuple[FilePath, SectionPath]


def find_conflicts(
    claims: Sequence[Claim], marks: Sequence[Mark], today: date
) -> tuple[Conflict, ...]:
    """The pairs of claims that contradict each other, in the order of the claims.

    They share a key in one section, unless it has several values there, or is a speaker, a date or
    a label; or a mark says so. The last mark decides.

    Args:
        claims: current ones; those expired by `today` contradict nothing.
        marks: contradictions and resolutions in force, oldest first.
    """
    unexpired = [claim for claim in claims if claim.until is None or claim.until >= today]
    last_marks = {pair: of_pair[-1].kind for pair, of_pair in marks_of_pairs(marks).items()}
    conflicts: dict[tuple[Claim, Claim], Conflict] = {}
    for first, second, key in _pairs_by_key(unexpired):
        mark = last_marks.get(_pair(first.id, second.id))
        if mark is not MarkKind.RESOLVED:
            conflicts[first, second] = _conflict(first, second, key, marked=mark is not None)
    for first, second in _marked_pairs(
        unexpired, [pair for pair, mark in last_marks.items() if mark is MarkKind.CONTRADICTS]
    ):
        conflicts.setdefault((first, second), _conflict(first, second, None, marked=True))
    if not conflicts:
        return ()
    positions = {claim: number for number, claim in enumerate(unexpired)}
    return tuple(
        sorted(
            conflicts.values(),
            key=lambda conflict: (positions[conflict.first], positions[conflict.second]),
        )
    )


def _conflict(first: Claim, second: Claim, key: str | None, marked: bool) -> Conflict:
    return Conflict(
        first=first, second=second, key=key, marked=marked, weaker=weaker_claim(first, second)
    )


def weaker_claim(first: Claim, second: Claim) -> Claim | None:
    """The worse founded claim, by confidence, source, age (the older one), if any."""
    ranks = [(claim.confidence, claim.source.confidence, claim.time) for claim in (first, second)]
    if ranks[0] == ranks[1]:
        return None
    return first if ranks[0] < ranks[1] else second


def _pair(first: FactId, second: FactId) -> _Pair:
    return (first, second) if first <= second else (second, first)


def marks_of_pairs(marks: Iterable[Mark]) -> dict[_Pair, list[Mark]]:
    """The marks of each two facts that contradict each other, or do not; the last one decides."""
    by_pair: dict[_Pair, list[Mark]] = defaultdict(list)
    for mark in sorted(marks, key=lambda mark: mark.begun):
        if mark.kind in (MarkKind.CONTRADICTS, MarkKind.RESOLVED) and mark.other is not None:
            by_pair[_pair(mark.fact, mark.other)].append(mark)
    return by_pair


def _pairs_by_key(claims: Sequence[Claim]) -> Iterator[tuple[Claim, Claim, str]]:
    places: dict[str, set[_SectionKey]] = defaultdict(set)
    for claim in claims:
        if claim.key is not None:
            places[normalise(claim.key)].add((claim.path, claim.section))
    for group, key in _groups_by_key(claims):
        if any(claim.also for claim in group) or is_dated(key) or _is_speaker(group):
            continue
        if _is_label(group, len(places[normalise(key)])) and not _is_of_user(key):
            continue
        for first, second in (
            combinations(group, 2) if len(group) <= _MAX_ALL_PAIRS else pairwise(group)
        ):
            yield first, second, key


def _is_of_user(key: str) -> bool:
    return late.module("text.languages").attribute_named(key) is not None


def _is_label(group: Sequence[Claim], sections: int) -> bool:
    """True if a key only says what sort of line follows, as what was seen or who said it.

    In a day's log, what is bold by hand is none: `--key` writes it plain.
    """
    is_in_log = log_day(group[0].path) is not None
    values = [key_and_value(claim.text)[1] for claim in group]
    return (
        sections + is_in_log >= _MANY_SECTIONS
        or (is_in_log and any(claim.text.startswith(_BOLD) for claim in group))
        or sum(len(claim.text) > _LONG_VALUE for claim in group) >= _FEW_LONG
        or any(_QUOTATION.fullmatch(value) for value in values)
    )


def _is_speaker(group: Iterable[Claim]) -> bool:
    """True if the key is the name of a person with one line after another."""
    times = sorted(claim.time for claim in group if claim.time)
    return any(
        last - first <= _SPOKEN_SECONDS
        for first, last in zip(times, times[_SPOKEN_LINES - 1 :], strict=False)
    )


def _groups_by_key(claims: Sequence[Claim]) -> Iterator[tuple[list[Claim], str]]:
    """The claims of each section with a key, each fact once, and the key as first written."""
    sections: dict[_SectionKey, list[Claim]] = defaultdict(list)
    for claim in claims:
        sections[claim.path, claim.section].append(claim)
    for section_claims in sections.values():
        spellings: dict[str, str] = {}
        for claim in section_claims:
            if claim.key is not None:
                spellings.setdefault(normalise(claim.key), claim.key)
        groups: dict[str, dict[FactId, Claim]] = defaultdict(dict)
        for claim in section_claims if spellings else ():
            key = (
                normalise(claim.key)
                if claim.key is not None
                else find_held_key(claim.text, spellings)
            )
            if key is not None:
                groups[key].setdefault(claim.id, claim)
        yield from (
            (list(facts.values()), spellings[key])
            for key, facts in groups.items()
            if len(facts) > 1
        )


def _marked_pairs(claims: Sequence[Claim], pairs: Sequence[_Pair]) -> Iterator[tuple[Claim, Claim]]:
    marked = {fact for pair in pairs for fact in pair}
    claims_of: dict[FactId, list[Claim]] = defaultdict(list)
    for claim in claims:
        if claim.id in marked:
            claims_of[claim.id].append(claim)
    positions = {claim: number for number, claim in enumerate(claims)} if marked else {}
    for first, second in pairs:
        nearest = _nearest(claims_of[first], claims_of[second]) if first != second else None
        if nearest is not None:
            yield min(nearest, key=positions.__getitem__), max(nearest, key=positions.__getitem__)


def _nearest(left: Sequence[Claim], right: Sequence[Claim]) -> tuple[Claim, Claim] | None:
    """The nearest two claims: in one section, else in one file, else the first of each."""
    if not left or not right:
        return None
    for depth in (2, 1):
        by_location = {(claim.path, claim.section)[:depth]: claim for claim in reversed(right)}
        for claim in left:
            counterpart = by_location.get((claim.path, claim.section)[:depth])
            if counterpart is not None:
                return claim, counterpart
    return left[0], right[0]
