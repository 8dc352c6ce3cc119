"""The order of the units in a section of a merge: those of a list as each side has them, those of a set by their texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from mdmem.editors.merge3.merged_units import MergedUnit
from mdmem.editors.merge3.section_matches import SectionMatches
from mdmem.editors.merge3.sequences import merge_order, merge_set_order
from mdmem.editors.merge3.unit_matches import UnitMatches, UnitTriple
from mdmem.editors.merge3.versions import Version
from mdmem.facts import MARKER


class UnitOrder:
    """The units that stand, section by section.

    Args:
        versions: the base and the two sides.
        sections: their sections, matched.
        matches: their units, matched.
        merged: the unit that stands of each triple.
    """

    def __init__(
        self,
        versions: tuple[Version, Version, Version],
        sections: SectionMatches,
        matches: UnitMatches,
        merged: Mapping[UnitTriple, MergedUnit | None],
    ) -> None:
        self._versions, self._sections, self._merged = versions, sections, merged
        self._triples_of = (matches.in_base, *matches.in_sides)

    def in_section(self, section: int, is_set: bool) -> list[MergedUnit]:
        """The units that stand in a section (the number of its triple), in their order."""
        members = self._sections.triples[section].members
        numbers = [
            [n for member in group for n in version.units_in[member]] for version, group in zip(self._versions, members, strict=True)
        ]
        base, ours, theirs = (self._standing(version, group, section) for version, group in enumerate(numbers))
        order = merge_set_order(base, (ours, theirs), (_entry_key, _entry_key)) if is_set else merge_order(base, (ours, theirs), _unit_key)
        texts = [text for unit in order for text in unit.texts]
        if len(set(texts)) == len(texts):
            return order
        counts = [Counter(version.units[n].text for n in group) for version, group in zip(self._versions[1:], numbers[1:], strict=True)]
        _keep_once(order, counts[0] | counts[1])
        return [unit for unit in order if unit.texts]

    def _standing(self, version: int, units: Sequence[int], section: int) -> list[MergedUnit]:
        merged = (self._merged[self._triples_of[version][n]] for n in units)
        return [unit for unit in merged if unit and unit.section == section]


def _keep_once(units: Sequence[MergedUnit], most: Mapping[str, int]) -> None:
    """Take out of the units of a section what stands more often than on any side: the same text that two old units became."""
    counts: Counter[str] = Counter()
    for unit in units:
        texts = []
        for text in unit.texts:
            counts[text] += 1
            if counts[text] <= max(1, most.get(text, 0)):
                texts.append(text)
        unit.texts = tuple(texts)


def _unit_key(unit: MergedUnit) -> Any:
    """The order of units by themselves: their texts; equal ones as in the base."""
    return unit.texts, -1 if unit.triple.base is None else unit.triple.base


def _entry_key(unit: MergedUnit) -> Any:
    """The order of the entries of a minute: their texts without markers."""
    text = min(unit.texts)
    marker = MARKER.match(text)
    return text[marker.end() :] if marker else text, *_unit_key(unit)
