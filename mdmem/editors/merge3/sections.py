"""The sections of a merge: the parent, level and heading of each, and their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from mdmem.editors.merge3.sequences import merge_order, merge_set_order
from mdmem.editors.merge3.units import MergedUnit
from mdmem.editors.merge3.values import choices
from mdmem.editors.merge3.versions import SectionMatches, SectionTriple
from mdmem.editors.sections import SectionPart, SectionParts
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.document import split_lines


def _remaining_sections(
    base: SectionParts,
    sections: Sequence[MergedSection],
    units: Sequence[Sequence[MergedUnit]],
    is_minute: Sequence[bool],
) -> set[int]:
    """Sections of both sides, new and renamed ones, and removed ones with content; with parents.

    A minute without its last entry is removed.
    """
    remaining = {0}
    for number, section in enumerate(sections):
        triple, is_empty = section.triple, not units[number]
        if is_empty and is_minute[number] and triple.base is not None and base.units(triple.base):
            continue
        if (
            is_empty
            and triple.base is not None
            and not (triple.sides[0] and triple.sides[1])
            and not section.is_renamed
        ):
            continue
        around = number
        while around not in remaining:
            remaining.add(around)
            around = sections[around].parent
    return remaining


class SectionOrder:
    def __init__(
        self,
        trees: tuple[SectionParts, SectionParts, SectionParts],
        matches: SectionMatches,
        sections: Sequence[MergedSection],
        units: Sequence[Sequence[MergedUnit]],
        is_minute: Sequence[bool],
    ) -> None:
        self._trees, self._matches, self._sections, self._units, self._is_minute = (
            trees,
            matches,
            sections,
            units,
            is_minute,
        )
        self._triples_of = (range(len(trees[0].sections)), *matches.in_sides)
        self._remaining = _remaining_sections(trees[0], sections, units, is_minute)
        self._all_in: dict[int, list[int]] = {}
        for number in sorted(self._remaining - {0}):
            self._all_in.setdefault(sections[number].parent, []).append(number)

    def children(self, parent: int) -> list[int]:
        """A parent's remaining sections in order, by number."""
        everyone = self._all_in.get(parent, [])
        if len(everyone) < 2:
            return everyone
        base, ours, theirs = (self._children_in(version, parent) for version in range(3))
        if any(self._is_minute[number] for number in (*ours, *theirs)):
            order = merge_set_order(
                base, (ours, theirs), (self._minutes(ours), self._minutes(theirs))
            )
        else:
            order = merge_order(base, (ours, theirs), self._key)
        return list(dict.fromkeys((*order, *everyone)))

    def _children_in(self, version: int, parent: int) -> list[int]:
        tree, of, triples = self._trees[version], self._triples_of[version], self._matches.triples
        children = (
            (of[child], child)
            for member in triples[parent].members[version]
            for child in tree.sections[member].children
        )
        return [
            number
            for number, child in children
            if number in self._remaining
            and self._sections[number].parent == parent
            and triples[number].members[version][0] == child
        ]

    def _key(self, number: int) -> Any:
        section = self._sections[number]
        base = -1 if section.triple.base is None else section.triple.base
        return section.title, section.heading, [unit.texts for unit in self._units[number]], base

    def _minutes(self, side: Sequence[int]) -> Callable[[int], Any]:
        keys: dict[int, tuple[str, bool, Any]] = {}
        minute = ""
        for number in side:
            minute = self._sections[number].title if self._is_minute[number] else minute
            keys[number] = (minute, not self._is_minute[number], self._key(number))
        return keys.__getitem__


Value = TypeVar("Value")
_MOST_ATTEMPTS = 8
_ATX = late.pattern(r"( {0,3})#{1,6}")
_SETEXT_LEVELS = {1: "=", 2: "-"}


@dataclass(slots=True)
class MergedSection:
    """A section of the result, `steps` levels below its `parent` (the number of a triple).

    `title` is without markup, `heading` as written at `level`. The second ones are the other
    side's, if different.
    """

    triple: SectionTriple
    parent: int
    steps: int
    title: str
    heading: str
    level: int
    second_title: str | None = None
    second_heading: str | None = None
    is_renamed: bool = False

    def headings_at(self, level: int) -> list[str]:
        return [
            _at_level(heading, self.level, level)
            for heading in (self.heading, self.second_heading)
            if heading is not None
        ]


def _at_level(heading: str, old: int, level: int) -> str:
    if old == level:
        return heading
    lines = split_lines(heading)
    match = _ATX.match(heading) if len(lines) == 1 else None
    if match:
        return f"{match[1]}{'#' * level}{heading[match.end() :]}"
    if level in _SETEXT_LEVELS:
        return heading[: -len(lines[-1])] + lines[-1].replace(
            _SETEXT_LEVELS[old], _SETEXT_LEVELS[level]
        )
    return f"{'#' * level} {' '.join(line.strip() for line in lines[:-1])}"


def merge_sections(
    base: SectionParts, sides: tuple[SectionParts, SectionParts], matches: SectionMatches
) -> list[MergedSection]:
    merged = [_merge_section(triple, base, sides, matches) for triple in matches.triples]
    _break_circles(merged, base)
    return merged


def _merge_section(
    triple: SectionTriple,
    base: SectionParts,
    sides: tuple[SectionParts, SectionParts],
    matches: SectionMatches,
) -> MergedSection:
    old = base.sections[triple.base] if triple.base is not None else None
    mains = [
        (side, sides[side].sections[main])
        for side in (0, 1)
        if (main := triple.main(side)) is not None
    ]
    parents = [(side, section, matches.in_sides[side][section.parent]) for side, section in mains]
    moves = [
        (side, section, parent)
        for side, section, parent in parents
        if old is None or parent != old.parent
    ]
    if moves:
        _, _, parent = min(moves, key=lambda move: (sides[move[0]].name(move[1].number), move[2]))
    else:
        parent = old.parent if old else 0
    steps = _choices_of(
        _steps(base, old) if old else None,
        [_steps(sides[side], section) for side, section in mains],
    )
    first, *second = _headings(old, [section for _, section in mains])
    return MergedSection(
        triple=triple,
        parent=parent,
        steps=min(steps),
        title=first.title,
        heading=first.heading,
        level=first.level,
        second_title=second[0].title if second else None,
        second_heading=(
            _at_level(second[0].heading, second[0].level, first.level) if second else None
        ),
        is_renamed=old is not None and any(section.title != old.title for _, section in mains),
    )


def _choices_of(base: Value | None, sides: Sequence[Value]) -> Sequence[Value]:
    if base is None:
        return sides
    return choices(base, sides[0], sides[-1]) if sides else (base,)


def _headings(old: SectionPart | None, sections: Sequence[SectionPart]) -> list[SectionPart]:
    by_body = {_body(section): section for section in (*([old] if old else []), *sections)}
    bodies = _choices_of(_body(old) if old else None, [_body(section) for section in sections])
    by_title = {by_body[body].title: by_body[body] for body in sorted(bodies, reverse=True)}
    return sorted(by_title.values(), key=_body)


def _steps(version: SectionParts, section: SectionPart) -> int:
    return section.level - version.sections[section.parent].level


def _body(section: SectionPart) -> str:
    match = _ATX.match(section.heading) if len(split_lines(section.heading)) == 1 else None
    return match[1] + section.heading[match.end() :] if match else section.heading


def _break_circles(merged: list[MergedSection], base: SectionParts) -> None:
    for attempt in range(_MOST_ATTEMPTS):
        circular = _in_circles([section.parent for section in merged])
        if not circular:
            return
        for section in (
            merged if attempt == _MOST_ATTEMPTS - 1 else [merged[number] for number in circular]
        ):
            if section.triple.base is not None:
                section.parent = base.sections[section.triple.base].parent


def _in_circles(parents: Sequence[int]) -> list[int]:
    settled = {0}
    circular: list[int] = []
    for number in range(len(parents)):
        way: dict[int, None] = {}
        while number not in settled and number not in way:
            way[number] = None
            number = parents[number]
        if number not in settled:
            steps = list(way)
            circular += steps[steps.index(number) :]
        settled.update(way)
    return circular
