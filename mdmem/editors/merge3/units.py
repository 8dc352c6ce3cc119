"""The units of a merge: what remains of each, in which section and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any

from mdmem.editors.merge3.blocks import merge_unit
from mdmem.editors.merge3.sequences import merge_order, merge_set_order
from mdmem.editors.merge3.unit_matches import UnitMatches, UnitTriple
from mdmem.editors.merge3.values import choices
from mdmem.editors.merge3.versions import (
    MOST_SPACES,
    SectionMatches,
    Version,
    number_of_item,
    with_number,
)
from mdmem.editors.text_units import Unit, without_number
from mdmem.startup.records import dataclass, replace
from mdmem.text.facts import MARKER
from mdmem.text.scan import BlockKind


class UnitOrder:
    def __init__(
        self,
        versions: tuple[Version, Version, Version],
        sections: SectionMatches,
        matches: UnitMatches,
        merged: Mapping[UnitTriple, MergedUnit | None],
    ) -> None:
        self._versions, self._sections, self._merged = versions, sections, merged
        self._triples_of = (matches.in_base, *matches.in_sides)
        self._in_parent: dict[tuple[int, UnitTriple | None], list[MergedUnit]] = {}
        for unit in merged.values():
            if unit:
                self._in_parent.setdefault((unit.section, unit.parent), []).append(unit)

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
        order: list[MergedUnit] = []
        repeated: Counter[str] = Counter()
        waiting: list[MergedUnit | None] = [None]
        while waiting:
            parent = waiting.pop()
            if parent is not None and len(parent.texts) == 2 and (trees := self._trees(parent)):
                order += trees
                names = Counter(without_number(unit.texts[0]) for unit in trees)
                repeated += names - Counter([*names])
                continue
            if parent is not None:
                order.append(parent)
            children = self._children(parent, section, (base, ours, theirs), is_set)
            waiting += reversed(children)
        texts = [without_number(text) for unit in order for text in unit.texts]
        if len(set(texts)) < len(texts):
            counts = [
                Counter(without_number(version.units[n].text) for n in group)
                for version, group in zip(self._versions[1:], numbers[1:], strict=True)
            ]
            _keep_once(order, (counts[0] | counts[1]) + repeated)
            order = [unit for unit in order if unit.texts]
        return order

    def _trees(self, parent: MergedUnit) -> list[MergedUnit]:
        beneath = dict[UnitTriple, MergedUnit]()
        waiting = [parent]
        while waiting:
            children = self._in_parent.get((parent.section, waiting.pop().triple), ())
            beneath.update((child.triple, child) for child in children)
            waiting += children
        if not beneath or None in parent.triple.sides:
            return []
        wordings = sorted(
            version.units[n].text
            for version, n in zip(self._versions[1:], parent.triple.sides, strict=True)
            if n is not None
        )
        trees = [
            self._tree(parent, beneath, version, triples, number, wordings)
            for version, triples, number in zip(
                self._versions[1:], self._triples_of[1:], parent.triple.sides, strict=True
            )
            if number is not None
        ]
        trees.sort(key=lambda tree: parent.texts.index(tree[0].texts[0]))
        both = [unit for tree in trees for unit in tree]
        trees_of = Counter(unit.triple for unit in both)
        for unit in both:
            if trees_of[unit.triple] == 1:  # the other side has it elsewhere, or not
                unit.texts = beneath[unit.triple].texts
        return both if beneath.keys() <= {unit.triple for unit in both} else []

    @staticmethod
    def _tree(
        parent: MergedUnit,
        beneath: Collection[UnitTriple],
        version: Version,
        triples: Sequence[UnitTriple],
        number: int,
        wordings: Sequence[str],
    ) -> list[MergedUnit]:
        first = version.units[number]
        text = parent.texts[wordings.index(first.text)]
        wider = max(0, _offset(text) - _offset(first.text))
        tree = {number: replace(parent, texts=(text,))}
        for at in range(number + 1, len(version.units)):
            around, unit = version.parent_of[at], version.units[at]
            if around is None or around < number:
                break
            if triples[at] in beneath and around in tree:
                tree[at] = MergedUnit(
                    triple=triples[at],
                    section=parent.section,
                    unit=unit,
                    texts=(unit.text,),
                    indent=parent.indent + wider + unit.indent - first.indent,
                )
        return [*tree.values()]

    def _children(
        self,
        parent: MergedUnit | None,
        section: int,
        versions: tuple[_UnitsByParent, _UnitsByParent, _UnitsByParent],
        is_set: bool,
    ) -> list[MergedUnit]:
        triple = parent.triple if parent else None
        base, ours, theirs = (version.get(triple, []) for version in versions)
        order = (
            merge_set_order(base, (ours, theirs), (_entry_key, _entry_key))
            if is_set
            else merge_order(base, (ours, theirs), _unit_key)
        )
        units = list(dict.fromkeys((*order, *self._in_parent.get((section, triple), ()))))
        if parent:  # its number may be longer now
            for unit in units:
                unit.indent = max(unit.indent, parent.indent + _offset(parent.texts[-1]))
        for is_numbered, run in groupby(units, _is_numbered):
            if is_numbered:
                self._number(list(run))
        return units

    def _number(self, run: Sequence[MergedUnit]) -> None:
        """Number a list in order if a side did so, from the number that it began with."""
        written = [
            {
                id(numbers): numbers
                for unit in run
                if (at := (unit.triple.base, *unit.triple.sides)[version]) is not None
                and (numbers := lists.get(at))
            }.values()
            for version, lists in enumerate(self._numbered_lists)
        ]
        of_sides = [numbers for lists in written[1:] for numbers in lists]
        least = min(2, max(map(len, of_sides), default=0))
        if not any(
            len(numbers) >= least and sorted(numbers) == [*range(min(numbers), max(numbers) + 1)]
            for numbers in of_sides
        ):
            return
        base, *sides = (min(map(min, lists), default=None) for lists in written)
        starts = [start for start in sides if start is not None]
        number = min(start for start in choices(base, starts[0], starts[-1]) if start is not None)
        for unit in run:
            texts = list[str]()
            for text in unit.texts:
                texts.append(with_number(text, number))
                number += 1
            unit.texts = tuple(texts)

    @cached_property
    def _numbered_lists(self) -> list[dict[int, list[int]]]:
        all_lists = list[dict[int, list[int]]]()
        for version in self._versions:
            lists = dict[int, list[int]]()
            last: dict[tuple[int, int | None], int] = {}
            for at, unit in enumerate(version.units):
                around = (version.section_of[at], version.parent_of[at])
                number = number_of_item(unit.text) if unit.kind is BlockKind.ITEM else None
                if number is not None:
                    lists[at] = lists.get(last.get(around, -1), [])
                    lists[at].append(number)
                last[around] = at
            all_lists.append(lists)
        return all_lists

    def _remaining(self, version: int, units: Sequence[int], section: int) -> _UnitsByParent:
        by_parent: _UnitsByParent = {}
        triples, parent_of = self._triples_of[version], self._versions[version].parent_of
        for number in units:
            unit, parent = self._merged[triples[number]], parent_of[number]
            triple = None if parent is None else triples[parent]
            if unit and unit.section == section and unit.parent is triple:
                by_parent.setdefault(triple, []).append(unit)
        return by_parent


_UnitsByParent = dict[UnitTriple | None, list["MergedUnit"]]


def _is_numbered(unit: MergedUnit) -> bool:
    return unit.unit.kind is BlockKind.ITEM and all(
        number_of_item(text) is not None for text in unit.texts
    )


def _keep_once(units: Sequence[MergedUnit], most: Mapping[str, int]) -> None:
    """Remove what is repeated more than on any side: one text that two units became."""
    counts: Counter[str] = Counter()
    for unit in units:
        texts = []
        for text in unit.texts:
            name = without_number(text)
            counts[name] += 1
            if counts[name] <= max(1, most.get(name, 0)):
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
        section: the number of its section's triple.
        texts: one, or both sides'.
        is_kept: one side removed it, the other changed or moved it.
        is_moved_apart: each side moved it to another section.
        parent: of a list item, the one that it is in; `indent` spaces deep.
        made_of: both sides' texts, sorted, for a text that neither has.
        pairs, kept: atoms of a block, as in `MergedText`.
    """

    triple: UnitTriple
    section: int
    unit: Unit
    texts: tuple[str, ...]
    is_kept: bool = False
    is_moved_apart: bool = False
    parent: UnitTriple | None = None
    indent: int = 0
    made_of: tuple[str, str] | None = None
    pairs: tuple[tuple[str, str], ...] = ()
    kept: tuple[str, ...] = ()


class _UnitMerger:
    def __init__(
        self,
        versions: tuple[Version, Version, Version],
        sections: SectionMatches,
        units: UnitMatches,
    ) -> None:
        self._versions, self._sections = versions, sections
        self._base, self._sides = versions[0], versions[1:]
        self._triples_of = (units.in_base, *units.in_sides)

    def merge(self, triple: UnitTriple) -> MergedUnit | None:
        match triple.sides:
            case [int(ours), int(theirs)]:
                return self._merge_both(triple, ours, theirs)
            case [int(number), None]:
                return self._merge_single(triple, 0, number)
            case [None, int(number)]:
                return self._merge_single(triple, 1, number)
        return None

    def only(self, triple: UnitTriple) -> MergedUnit:
        side = 0 if triple.sides[0] is not None else 1
        number = triple.sides[side]
        assert number is not None
        unit = self._sides[side].units[number]
        return MergedUnit(
            triple=triple,
            section=self._section(side, number),
            unit=unit,
            texts=(unit.text,),
            is_kept=triple.base is not None,
            parent=self.parent_in(triple, side + 1),
        )

    def parent_of_gone(self, triple: UnitTriple) -> UnitTriple | None:
        for side in (0, 1):
            if triple.sides[side] is not None and triple.sides[1 - side] is None:
                parent = self.parent_in(triple, side + 1)
                return parent if parent and parent.sides[1 - side] is None else None
        return None

    def parent_in(self, triple: UnitTriple, version: int) -> UnitTriple | None:
        number = (triple.base, *triple.sides)[version]
        parent = None if number is None else self._versions[version].parent_of[number]
        return None if parent is None else self._triples_of[version][parent]

    def indents(self, triple: UnitTriple, parent: UnitTriple) -> list[int | None]:
        indents = list[int | None]()
        for version, members in zip(
            self._versions,
            zip((triple.base, *triple.sides), (parent.base, *parent.sides), strict=True),
            strict=True,
        ):
            number, around = members
            is_in = number is not None and version.parent_of[number] == around is not None
            indents.append(
                version.units[number].indent - version.units[around].indent
                if is_in and number is not None and around is not None
                else None
            )
        return indents

    def _section(self, side: int, number: int) -> int:
        return self._sections.in_sides[side][self._sides[side].section_of[number]]

    def _merge_single(self, triple: UnitTriple, side: int, number: int) -> MergedUnit | None:
        if (
            triple.base is not None
            and self._sides[side].units[number].text == self._base.units[triple.base].text
            and self._section(side, number) == self._base.section_of[triple.base]
            and self.parent_in(triple, 0) is self.parent_in(triple, side + 1)
        ):
            return None
        return self.only(triple)

    def _merge_both(self, triple: UnitTriple, ours: int, theirs: int) -> MergedUnit | None:
        units = (self._sides[0].units[ours], self._sides[1].units[theirs])
        places = [
            (self._section(0, ours), self.parent_in(triple, 1)),
            (self._section(1, theirs), self.parent_in(triple, 2)),
        ]
        old = self._base.units[triple.base] if triple.base is not None else None
        goals = (
            tuple(places)
            if triple.base is None
            else choices((self._base.section_of[triple.base], self.parent_in(triple, 0)), *places)
        )
        (section, parent), is_moved_apart = goals[0], len(set(goals)) > 1
        if is_moved_apart:
            names = (self._place_name(0, ours), self._place_name(1, theirs))
            _, (section, parent) = min(zip(names, places, strict=True), key=lambda pair: pair[0])
        merged = merge_unit(
            units[0].kind, old.text if old else None, units[0].text, units[1].text, triple.is_guess
        )
        if not merged.texts:
            return None
        first, second = sorted(unit.text for unit in units)
        made_of = None if {*merged.texts} <= {first, second} else (first, second)
        return MergedUnit(
            triple=triple,
            section=section,
            unit=units[0],
            texts=merged.texts,
            is_moved_apart=is_moved_apart,
            parent=parent,
            made_of=made_of,
            pairs=merged.pairs,
            kept=merged.kept,
        )

    def _place_name(self, side: int, number: int) -> tuple[Any, ...]:
        version = self._sides[side]
        parent = version.parent_of[number]
        text = "" if parent is None else version.units[parent].text
        return *version.tree.name(version.section_of[number]), text


def merge_units(
    versions: tuple[Version, Version, Version], sections: SectionMatches, units: UnitMatches
) -> dict[UnitTriple, MergedUnit | None]:
    """The remaining unit of each triple; None where nothing remains.

    An item remains where one beneath it does, and beneath one that a side changed.
    """
    merger = _UnitMerger(versions, sections, units)
    merged = {triple: merger.merge(triple) for triple in units.triples}
    for triple in units.triples:
        parent = merger.parent_of_gone(triple) if merged[triple] is None else None
        outer = merged[parent] if parent else None
        if outer and outer.is_kept:
            merged[triple] = merger.only(triple)
    waiting = [unit for unit in merged.values() if unit and unit.parent]
    for unit in waiting:
        if unit.parent and merged[unit.parent] is None:
            merged[unit.parent] = outer = merger.only(unit.parent)
            waiting.append(outer)
    for unit in waiting:
        _break_circle(unit, merged)
    usual: dict[UnitTriple, int] = {}
    for unit in waiting:
        if unit.parent and (indent := _common_indent(merger.indents(unit.triple, unit.parent))):
            usual.setdefault(unit.parent, indent)
    for unit in waiting:
        _set_place(unit, merged, merger, usual)
    return merged


def _around(
    unit: MergedUnit, merged: Mapping[UnitTriple, MergedUnit | None]
) -> Iterator[MergedUnit]:
    """The items that an item is in, the innermost first; endless in a circle."""
    parent = unit.parent
    while parent is not None and (outer := merged[parent]):
        yield outer
        parent = outer.parent


def _break_circle(unit: MergedUnit, merged: Mapping[UnitTriple, MergedUnit | None]) -> None:
    seen = {unit.triple}
    for outer in _around(unit, merged):
        if outer is unit:
            unit.parent = None
            return
        if outer.triple in seen:
            return
        seen.add(outer.triple)


def _common_indent(indents: Sequence[int | None]) -> int | None:
    base, ours, theirs = indents
    if ours is None or theirs is None:
        return None
    return max(ours, theirs) if base is None else max(choices(base, ours, theirs))


def _set_place(
    unit: MergedUnit,
    merged: Mapping[UnitTriple, MergedUnit | None],
    merger: _UnitMerger,
    usual: Mapping[UnitTriple, int],
) -> None:
    chain = [unit, *_around(unit, merged)]
    for outer, inner in pairwise(reversed(chain)):
        inner.section = outer.section
        indents = merger.indents(inner.triple, outer.triple)
        least = _offset(outer.texts[-1])
        indent = _common_indent(indents) or usual.get(outer.triple)
        if indent is None:
            indent = max((n for n in indents[1:] if n is not None), default=least)
        inner.indent = outer.indent + min(max(indent, least), least + MOST_SPACES)


def _offset(item: str) -> int:
    marker = MARKER.match(item)
    return marker.end() if marker else 2
