"""The sections that stand in a merge, and the order of those in one parent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mdmem.editors.merge3.merged_sections import MergedSection
from mdmem.editors.merge3.merged_units import MergedUnit
from mdmem.editors.merge3.section_matches import SectionMatches
from mdmem.editors.merge3.sequences import merge_order, merge_set_order
from mdmem.editors.merge3.versions import SectionTree


def standing_sections(
    base: SectionTree, sections: Sequence[MergedSection], units: Sequence[Sequence[MergedUnit]], is_minute: Sequence[bool]
) -> set[int]:
    """The sections that stand, by the numbers of their triples.

    These are the sections that both sides have, new ones, those that a side renamed, and those that a side took out but in which something
    stands, each with all around it. A minute from which the last entry was taken out goes.
    """
    standing = {0}
    for number, section in enumerate(sections):
        triple, is_empty = section.triple, not units[number]
        if is_empty and is_minute[number] and triple.base is not None and base.units(triple.base):
            continue
        if is_empty and triple.base is not None and not (triple.sides[0] and triple.sides[1]) and not section.is_renamed:
            continue
        around = number
        while around not in standing:
            standing.add(around)
            around = sections[around].parent
    return standing


class SectionOrder:
    """The order of the standing sections, parent by parent.

    Args:
        trees: the base and the two sides.
        matches: their sections, matched.
        sections: the merged sections.
        units: for each of them the units that stand in it.
        is_minute: for each of them, whether it is a minute of a day's log.
    """

    def __init__(
        self,
        trees: tuple[SectionTree, SectionTree, SectionTree],
        matches: SectionMatches,
        sections: Sequence[MergedSection],
        units: Sequence[Sequence[MergedUnit]],
        is_minute: Sequence[bool],
    ) -> None:
        self._trees, self._matches, self._sections, self._units, self._is_minute = trees, matches, sections, units, is_minute
        self._triples_of = (range(len(trees[0].sections)), *matches.in_sides)
        self._standing = standing_sections(trees[0], sections, units, is_minute)
        self._all_in: dict[int, list[int]] = {}
        for number in sorted(self._standing - {0}):
            self._all_in.setdefault(sections[number].parent, []).append(number)

    def children(self, parent: int) -> list[int]:
        """The sections that stand in a parent, in their order; all by the numbers of their triples."""
        everyone = self._all_in.get(parent, [])
        if len(everyone) < 2:
            return everyone
        base, ours, theirs = (self._children_in(version, parent) for version in range(3))
        if any(self._is_minute[number] for number in (*ours, *theirs)):
            order = merge_set_order(base, (ours, theirs), (self._minutes(ours), self._minutes(theirs)))
        else:
            order = merge_order(base, (ours, theirs), self._key)
        return list(dict.fromkeys((*order, *everyone)))

    def _children_in(self, version: int, parent: int) -> list[int]:
        """The sections that stand in a parent, and stand there in a version too, in its order."""
        tree, of, triples = self._trees[version], self._triples_of[version], self._matches.triples
        children = ((of[child], child) for member in triples[parent].members[version] for child in tree.sections[member].children)
        return [
            number
            for number, child in children
            if number in self._standing and self._sections[number].parent == parent and triples[number].members[version][0] == child
        ]

    def _key(self, number: int) -> Any:
        """The order of sections by themselves: title, heading and own text; equal ones as in the base."""
        section = self._sections[number]
        base = -1 if section.triple.base is None else section.triple.base
        return section.title, section.heading, [unit.texts for unit in self._units[number]], base

    def _minutes(self, side: Sequence[int]) -> Callable[[int], Any]:
        """The keys of a side's sections in a log: their minutes; another heading has that of the minute before it."""
        keys: dict[int, tuple[str, bool, Any]] = {}
        minute = ""
        for number in side:
            minute = self._sections[number].title if self._is_minute[number] else minute
            keys[number] = (minute, not self._is_minute[number], self._key(number))
        return keys.__getitem__
