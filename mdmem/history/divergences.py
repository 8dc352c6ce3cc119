"""Facts that replaced one and the same fact on two sides, neither knowing of the other. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import combinations
from typing import Protocol

from mdmem.facts import normalise
from mdmem.history.chains import joined_by_moves
from mdmem.model import CommitId, FactId
from mdmem.model.trail import Entry, Fate, Mark, MarkKind, Occurrence


class SuccessorTrail(Protocol):
    """The part of the trail that following a fact to its successors needs."""

    def occurrences_of(self, fact: FactId) -> tuple[Occurrence, ...]:
        """Every occurrence of a fact, oldest first."""
        ...

    def stated_marks_of(self, number: int) -> tuple[Mark, ...]:
        """The marks in force on one occurrence."""
        ...


def current_successor(fact: FactId | None, trail: SuccessorTrail) -> FactId | None:
    """The current fact that a fact has become, itself if it is current; None if it was taken out."""
    passed = set[FactId]()
    while fact is not None and fact not in passed:
        passed.add(fact)
        every = trail.occurrences_of(fact)
        marks = [trail.stated_marks_of(each.number) for each in every if each.ended is None]
        if not all(marks):
            return fact
        successors = [mark.other for of_one in marks for mark in of_one]
        successors = successors or [each.successor for each in every if each.fate is Fate.SUPERSEDED]
        fact = successors[-1] if successors else None
    return None


def share_key(first: Iterable[Entry], second: Iterable[Entry]) -> bool:
    """True if facts hold one key in one section: such values contradict each other by themselves."""
    places = [{(each.path, each.section, normalise(each.key)) for each in entries if each.key} for entries in (first, second)]
    return not places[0].isdisjoint(places[1])


def merge_contradictions(
    replaced: Iterable[Occurrence],
    sides: Sequence[SuccessorTrail],
    order: Callable[[int], tuple[int, CommitId]],
    entries_in_merge: Callable[[FactId], Collection[Entry]],
) -> Iterator[Mark]:
    """Mark the facts that two sides of a merge made of one, and that it has.

    They contradict each other since the later of the two was said, whoever merged them.

    Args:
        replaced: the occurrences that several sides ended or marked.
        sides: the trail of each.
        order: tells which of two commits is the earlier.
        entries_in_merge: gives the entries of a fact that the merge has.
    """
    for occurrence in replaced:
        ends = [end for side in sides if (end := _replacement(occurrence, side))]
        for (first, ended_first), (second, ended_second) in combinations(ends, 2):
            entries = entries_in_merge(first), entries_in_merge(second)
            if first == second or not all(entries) or share_key(*entries):
                continue
            later = max(ended_first, ended_second, key=order)
            yield Mark(kind=MarkKind.CONTRADICTS, commit=order(later)[1], begun=later, fact=min(first, second), other=max(first, second))


def _replacement(occurrence: Occurrence, trail: SuccessorTrail) -> tuple[FactId, int] | None:
    """The current fact that a side made of an occurrence, and the commit that replaced it first."""
    runs = joined_by_moves(trail.occurrences_of(occurrence.entry.fact or FactId("")))
    last = next((run[-1] for run in runs if any(each.number == occurrence.number for each in run)), None)
    if last is None:
        return None
    marks = [mark for mark in trail.stated_marks_of(last.number) if mark.kind is MarkKind.SUPERSEDED] if last.ended is None else []
    number, successor = (marks[0].begun, marks[0].other) if marks else (last.ended, last.successor)
    current = current_successor(successor, trail)
    return None if number is None or current is None else (current, number)
