"""Notes of a merge: what somebody may want to know of it, for its answer and for the trailers of its commit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from mdmem.editors.merge3.merged_sections import MergedSection
from mdmem.editors.merge3.merged_units import MergedUnit
from mdmem.facts import parse_item
from mdmem.model import FactId
from mdmem.startup.records import dataclass


class Contradiction(NamedTuple):
    """Two facts that stand side by side, since each side made another one of a fact (`key` is None) or of the value of a key."""

    first: FactId
    second: FactId
    key: str | None


@dataclass(frozen=True, slots=True)
class MergeNotes:
    """Events of a merge that somebody may want to know. None of them depends on which side is called ours.

    Args:
        contradictions: pairs of facts that stand side by side.
        labels: facts that stand twice with the same words, since each side gave them another kind, until, comment or block id.
        kept: facts that one side took out and the other changed or moved.
        moved: facts that each side moved to another section.
        two_names: pairs of titles that the sides gave to one section; it stands under the first.
    """

    contradictions: tuple[Contradiction, ...] = ()
    labels: tuple[FactId, ...] = ()
    kept: tuple[FactId, ...] = ()
    moved: tuple[FactId, ...] = ()
    two_names: tuple[tuple[str, str], ...] = ()


def collect_notes(units: Iterable[MergedUnit], sections: Iterable[MergedSection]) -> MergeNotes:
    """The notes on what stands."""
    contradictions: list[Contradiction] = []
    labels, kept, moved = list[FactId](), list[FactId](), list[FactId]()
    for unit in units:
        facts = [parse_item(text) for text in unit.texts] if unit.unit.fact else []
        if len(facts) == 2:
            first, second = facts
            if first.id == second.id:
                labels.append(first.id)
            else:
                contradictions.append(Contradiction(first.id, second.id, first.key if first.key == second.key else None))
        if facts and unit.is_kept:
            kept.append(facts[0].id)
        if facts and unit.is_moved_apart:
            moved.append(facts[0].id)
    return MergeNotes(
        contradictions=tuple(contradictions),
        labels=tuple(labels),
        kept=tuple(kept),
        moved=tuple(moved),
        two_names=tuple((section.title, section.second_title) for section in sections if section.second_title is not None),
    )
