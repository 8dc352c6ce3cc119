"""The order of a merge: which sections stand, and in which order they and their units follow on each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

from mdmem.editors.merge3.blank_lines import PlannedElement
from mdmem.editors.merge3.merged_sections import MergedSection
from mdmem.editors.merge3.merged_units import MergedUnit, keep_once
from mdmem.editors.merge3.section_matches import SectionMatches
from mdmem.editors.merge3.sequences import merge_order, merge_set_order
from mdmem.editors.merge3.unit_matches import UnitTriple
from mdmem.editors.merge3.versions import Version
from mdmem.facts import MARKER

_MAX_LEVEL = 6


class Arrangement:
    """The sections and units of a merge in their order.

    Args:
        versions: the base and the two sides.
        matches: which of their sections are one.
        merged: what became of each section.
        triples: which of their units are one.
        placed: what stands of these, in the same order.
        is_minute: of each section, whether it is a minute of a day's log.
    """

    def __init__(
        self,
        versions: tuple[Version, Version, Version],
        matches: SectionMatches,
        merged: Sequence[MergedSection],
        triples: Sequence[UnitTriple],
        placed: Sequence[MergedUnit | None],
        is_minute: Sequence[bool],
    ) -> None:
        self._base, self._sides = versions[0], versions[1:]
        self._matches, self._merged, self._is_minute = matches, merged, is_minute
        self._triple_of: list[dict[int, UnitTriple]] = [{}, {}, {}]
        self._placed = dict(zip(triples, placed, strict=True))
        for triple in triples:
            for version, number in enumerate((triple.base, *triple.sides)):
                if number is not None:
                    self._triple_of[version][number] = triple
        self._units = [self._order_units(number) for number in range(len(merged))]
        self._stands = self._standing()
        self._children = self._order_sections()

    def elements(self) -> Iterator[PlannedElement]:
        """The headings and units of the result."""
        waiting: list[tuple[int, int] | PlannedElement] = [(0, 0)]
        while waiting:
            step = waiting.pop()
            if isinstance(step, PlannedElement):
                yield step
                continue
            number, level = step
            section = self._merged[number]
            if number:
                level = min(level + section.steps, _MAX_LEVEL)
                heading, *second = section.headings_at(level)
                yield PlannedElement(number, heading)
                waiting += [PlannedElement(("second", number), text) for text in second]
            for unit in self._units[number]:
                yield from (PlannedElement(unit.triple, text, unit.unit) for text in unit.texts)
            waiting += [(child, level) for child in reversed(self._children[number])]

    def names(self) -> list[list[Hashable]]:
        """For each version, which section or unit of all three each of its elements is."""
        names: list[list[Hashable]] = [
            [element.number if element.is_heading else self._triple_of[0][element.number] for element in self._base.elements]
        ]
        for side, version in enumerate(self._sides):
            of = self._matches.in_sides[side]
            mains = {triple.main(side) for triple in self._matches.triples}
            names.append(
                [
                    self._triple_of[side + 1][element.number]
                    if not element.is_heading
                    else of[element.number]
                    if element.number in mains
                    else (side, element.number)
                    for element in version.elements
                ]
            )
        return names

    # Units.

    def _order_units(self, number: int) -> list[MergedUnit]:
        triple = self._matches.triples[number]
        old = self._base.units_in[triple.base] if triple.base is not None else []
        members = [[self._sides[side].units_in[member] for member in triple.sides[side]] for side in (0, 1)]
        base = self._standing_units(0, old, number)
        sides = [self._standing_units(side + 1, [u for units in members[side] for u in units], number) for side in (0, 1)]
        if self._is_minute[number]:
            order = merge_set_order(base, (sides[0], sides[1]), (_entry_key, _entry_key))
        else:
            order = merge_order(base, (sides[0], sides[1]), _unit_key)
        most: Counter[str] = Counter()
        for side in (0, 1):
            most |= Counter(self._sides[side].units[u].text for units in members[side] for u in units)
        keep_once(order, most)
        return [unit for unit in order if unit.texts]

    def _standing_units(self, version: int, units: Sequence[int], section: int) -> list[MergedUnit]:
        placed = (self._placed[self._triple_of[version][unit]] for unit in units)
        return [unit for unit in placed if unit and unit.section == section]

    # Sections.

    def _standing(self) -> set[int]:
        """The sections that stand: those of both sides, new ones, and those that one side took out but in which something stands."""
        stands = {0}
        for number, section in enumerate(self._merged):
            triple = section.triple
            is_empty = not self._units[number]
            if is_empty and self._is_minute[number] and triple.base is not None and self._base.units_in[triple.base]:
                continue
            if not is_empty or triple.base is None or (triple.sides[0] and triple.sides[1]) or section.is_renamed:
                way = number
            else:
                continue
            while way not in stands:
                stands.add(way)
                way = self._merged[way].parent
        return stands

    def _order_sections(self) -> list[list[int]]:
        """The subsections of each section, in their order."""
        base = self._children_by_parent([[n] for n in range(len(self._base.sections))], self._base, lambda number: number)
        sides = [self._side_children(side) for side in (0, 1)]
        children = []
        everyone: dict[int, list[int]] = {}
        for number in sorted(self._stands - {0}):
            everyone.setdefault(self._merged[number].parent, []).append(number)
        keys = [self._section_key(number) if number in self._stands else () for number in range(len(self._merged))]
        for number in range(len(self._merged)):
            old, ours, theirs = (version.get(number, []) for version in (base, *sides))
            order = self._order_children(old, (ours, theirs), keys)
            seen = set(order)
            children.append(order + [n for n in everyone.get(number, []) if n not in seen])
        return children

    def _order_children(self, base: list[int], sides: tuple[list[int], list[int]], keys: Sequence[Any]) -> list[int]:
        if any(self._is_minute[n] for n in (*sides[0], *sides[1])):
            return merge_set_order(base, sides, (self._minute_keys(sides[0], keys), self._minute_keys(sides[1], keys)))
        return merge_order(base, sides, keys.__getitem__)

    def _minute_keys(self, side: Sequence[int], keys: Sequence[Any]) -> Callable[[int], Any]:
        """The keys of a side's sections: their minutes; another heading has that of the minute before it."""
        places: dict[int, tuple[str, bool, Any]] = {}
        minute = ""
        for number in side:
            minute = self._merged[number].title if self._is_minute[number] else minute
            places[number] = (minute, not self._is_minute[number], keys[number])
        return places.__getitem__

    def _side_children(self, side: int) -> dict[int, list[int]]:
        mains: list[list[int]] = [[] for _ in self._sides[side].sections]
        for number, triple in enumerate(self._matches.triples):
            main = triple.main(side)
            if main is not None:
                mains[main].append(number)
        return self._children_by_parent(mains, self._sides[side], self._matches.in_sides[side].__getitem__)

    def _children_by_parent(self, triples: list[list[int]], version: Version, triple_of: Callable[[int], int]) -> dict[int, list[int]]:
        """By triple: the standing sections that a version has in it, and the result too."""
        children: dict[int, list[int]] = {}
        for section in version.sections[1:]:
            for number in triples[section.number]:
                parent = triple_of(section.parent)
                if number in self._stands and self._merged[number].parent == parent:
                    children.setdefault(parent, []).append(number)
        return children

    def _section_key(self, number: int) -> Any:
        """The order of sections by themselves: title, heading and own text."""
        section = self._merged[number]
        base = -1 if section.triple.base is None else section.triple.base
        return section.title, section.heading, [unit.texts for unit in self._units[number]], base


def _unit_key(unit: MergedUnit) -> Any:
    """The order of units by themselves: their texts; equal ones as in the base."""
    return unit.texts, -1 if unit.triple.base is None else unit.triple.base


def _entry_key(unit: MergedUnit) -> Any:
    """The order of the entries of a minute: their texts without markers."""
    text = min(unit.texts)
    marker = MARKER.match(text)
    return text[marker.end() :] if marker else text, *_unit_key(unit)
