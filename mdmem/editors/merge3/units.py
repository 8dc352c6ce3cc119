"""The units of a merge: what remains of each, in which section and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from mdmem.editors.merge3.blocks import merge_unit
from mdmem.editors.merge3.section_matches import SectionMatches
from mdmem.editors.merge3.sequences import merge_order, merge_set_order
from mdmem.editors.merge3.unit_matches import UnitMatches, UnitTriple
from mdmem.editors.merge3.values import choices
from mdmem.editors.merge3.versions import Unit, Version
from mdmem.startup.records import dataclass
from mdmem.text.facts import MARKER


class UnitOrder:
    """The remaining units, section by section; `merged` are those of each triple."""

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
        """The remaining units of a section (the number of its triple), in order."""
        members = self._sections.triples[section].members
        numbers = [
            [n for member in group for n in version.units_in[member]]
            for version, group in zip(self._versions, members, strict=True)
        ]
        base, ours, theirs = (
            self._remaining(version, group, section) for version, group in enumerate(numbers)
        )
        order = (
            merge_set_order(base, (ours, theirs), (_entry_key, _entry_key))
            if is_set
            else merge_order(base, (ours, theirs), _unit_key)
        )
        texts = [text for unit in order for text in unit.texts]
        if len(set(texts)) == len(texts):
            return order
        counts = [
            Counter(version.units[n].text for n in group)
            for version, group in zip(self._versions[1:], numbers[1:], strict=True)
        ]
        _keep_once(order, counts[0] | counts[1])
        return [unit for unit in order if unit.texts]

    def _remaining(self, version: int, units: Sequence[int], section: int) -> list[MergedUnit]:
        merged = (self._merged[self._triples_of[version][n]] for n in units)
        return [unit for unit in merged if unit and unit.section == section]


def _keep_once(units: Sequence[MergedUnit], most: Mapping[str, int]) -> None:
    """Remove what is repeated more than on any side: one text that two units became."""
    counts: Counter[str] = Counter()
    for unit in units:
        texts = []
        for text in unit.texts:
            counts[text] += 1
            if counts[text] <= max(1, most.get(text, 0)):
                texts.append(text)
        unit.texts = tuple(texts)


def _unit_key(unit: MergedUnit) -> Any:
    return unit.texts, -1 if unit.triple.base is None else unit.triple.base


def _entry_key(unit: MergedUnit) -> Any:
    text = min(unit.texts)
    marker = MARKER.match(text)
    return text[marker.end() :] if marker else text, *_unit_key(unit)


@dataclass(slots=True, eq=False)
class MergedUnit:
    """A unit of the result.

    Args:
        triple: the unit in the three versions.
        section: the number of its section's triple.
        unit: as on one of the sides.
        texts: one, or both sides'.
        is_kept: one side removed it, the other changed or moved it.
        is_moved_apart: each side moved it to another section.
        made_of: both sides' texts, sorted, for a text that neither has.
        pairs: atoms side by side in a block, of which each side wrote one.
        kept: atoms of a block that one side removed and the other changed.
    """

    triple: UnitTriple
    section: int
    unit: Unit
    texts: tuple[str, ...]
    is_kept: bool = False
    is_moved_apart: bool = False
    made_of: tuple[str, str] | None = None
    pairs: tuple[tuple[str, str], ...] = ()
    kept: tuple[str, ...] = ()


class _UnitMerger:
    def __init__(
        self, base: Version, sides: tuple[Version, Version], sections: SectionMatches
    ) -> None:
        self._base, self._sides, self._sections = base, sides, sections

    def merge(self, triple: UnitTriple) -> MergedUnit | None:
        match triple.sides:
            case [int(ours), int(theirs)]:
                return self._merge_both(triple, ours, theirs)
            case [int(number), None]:
                return self._merge_single(triple, 0, number)
            case [None, int(number)]:
                return self._merge_single(triple, 1, number)
        return None

    def _section(self, side: int, number: int) -> int:
        return self._sections.in_sides[side][self._sides[side].section_of[number]]

    def _merge_single(self, triple: UnitTriple, side: int, number: int) -> MergedUnit | None:
        """A unit of one side; one of the base is gone unless changed or moved."""
        unit, section = self._sides[side].units[number], self._section(side, number)
        is_old = triple.base is not None
        if (
            triple.base is not None
            and unit.text == self._base.units[triple.base].text
            and section == self._base.section_of[triple.base]
        ):
            return None
        return MergedUnit(
            triple=triple, section=section, unit=unit, texts=(unit.text,), is_kept=is_old
        )

    def _merge_both(self, triple: UnitTriple, ours: int, theirs: int) -> MergedUnit:
        units = (self._sides[0].units[ours], self._sides[1].units[theirs])
        sections = (self._section(0, ours), self._section(1, theirs))
        old = self._base.units[triple.base] if triple.base is not None else None
        goals = (
            sections
            if triple.base is None
            else choices(self._base.section_of[triple.base], *sections)
        )
        section, is_moved_apart = goals[0], len(set(goals)) > 1
        if is_moved_apart:
            names = (self._section_name(0, ours), self._section_name(1, theirs))
            _, section = min(zip(names, sections, strict=True))
        merged = merge_unit(
            units[0].kind, old.text if old else None, units[0].text, units[1].text, triple.is_guess
        )
        first, second = sorted(unit.text for unit in units)
        made_of = None if {*merged.texts} <= {first, second} else (first, second)
        return MergedUnit(
            triple=triple,
            section=section,
            unit=units[0],
            texts=merged.texts,
            is_moved_apart=is_moved_apart,
            made_of=made_of,
            pairs=merged.pairs,
            kept=merged.kept,
        )

    def _section_name(self, side: int, number: int) -> tuple[tuple[str, ...], str, str]:
        version = self._sides[side]
        return version.tree.name(version.section_of[number])


def merge_units(
    base: Version, sides: tuple[Version, Version], sections: SectionMatches, units: UnitMatches
) -> dict[UnitTriple, MergedUnit | None]:
    """The remaining unit of each triple; None where nothing remains."""
    merger = _UnitMerger(base, sides, sections)
    return {triple: merger.merge(triple) for triple in units.triples}
