"""Match the sections of three versions: each side's with the base's, then the new ones of both."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mdmem.editors.sections import SectionParts, became
from mdmem.startup.records import dataclass


@dataclass(slots=True, eq=False)
class SectionTriple:
    """A section in the base and in both sides, by number.

    A side's second one is a new section with this one's new name; its content belongs here.
    """

    base: int | None
    sides: tuple[list[int], list[int]]

    @property
    def members(self) -> tuple[list[int], list[int], list[int]]:
        return [] if self.base is None else [self.base], *self.sides

    def main(self, side: int) -> int | None:
        """The number of the section in a side; None where that side lacks it."""
        return self.sides[side][0] if self.sides[side] else None


@dataclass(slots=True)
class SectionMatches:
    """Each section once; `in_sides` gives the triple of a side's section."""

    triples: list[SectionTriple]
    in_sides: tuple[list[int], list[int]]


def match_all_sections(
    base: SectionParts, sides: tuple[SectionParts, SectionParts], folds: Callable[[str], bool]
) -> SectionMatches:
    """Match the sections of three versions; of titles that fold, one section is under a parent."""
    triples = [SectionTriple(section.number, ([], [])) for section in base.sections]
    in_sides = ([-1] * len(sides[0].sections), [-1] * len(sides[1].sections))
    for side, version in enumerate(sides):
        for old, new in became(base, version).items():
            triples[old].sides[side].append(new)
            in_sides[side][new] = old
    matches = SectionMatches(triples, in_sides)
    _NewSections(matches, base, sides, folds).match()
    return matches


_Name = tuple[int, str]


class _NewSections:
    def __init__(
        self,
        matches: SectionMatches,
        base: SectionParts,
        sides: tuple[SectionParts, SectionParts],
        folds: Callable[[str], bool],
    ) -> None:
        self._matches, self._base, self._sides, self._folds = matches, base, sides, folds
        self._renamed = (self._renamed_by(0), self._renamed_by(1))

    def match(self) -> None:
        triples = self._matches.triples
        for parent, triple in enumerate(triples):  # which grows meanwhile
            titles: dict[str, tuple[list[int], list[int]]] = {}
            for side, version in enumerate(self._sides):
                for child in (
                    child
                    for member in triple.sides[side]
                    for child in version.sections[member].children
                ):
                    titles.setdefault(version.sections[child].title, ([], []))[side].append(child)
            for title, groups in titles.items():
                self._match_group((parent, title), groups)

    def _match_group(self, name: _Name, groups: tuple[list[int], list[int]]) -> None:
        folds = self._folds(name[1])
        new: list[list[int]] = [[], []]
        for side, group in enumerate(groups):
            of = self._matches.in_sides[side]
            matched = [of[section] for section in group if of[section] >= 0]
            new[side] = [section for section in group if of[section] < 0]
            renamed = self._renamed[1 - side].get(name)
            if folds and matched:
                self._add(matched[-1], side, new[side])
                new[side] = []
            elif renamed is not None:
                self._add(renamed, side, new[side][:1])
                del new[side][:1]
        rows = (
            [new]
            if folds
            else [[new[0][n : n + 1], new[1][n : n + 1]] for n in range(max(map(len, new)))]
        )
        for row in rows:
            if any(row):
                self._matches.triples.append(SectionTriple(None, ([], [])))
                for side, sections in enumerate(row):
                    self._add(len(self._matches.triples) - 1, side, sections)

    def _add(self, triple: int, side: int, sections: Iterable[int]) -> None:
        for section in sections:
            self._matches.triples[triple].sides[side].append(section)
            self._matches.in_sides[side][section] = triple

    def _renamed_by(self, side: int) -> dict[_Name, int]:
        names: dict[_Name, int] = {}
        for number, triple in enumerate(self._matches.triples):
            name = self._name(side, triple.main(side))
            old = self._base.sections[number]
            other = self._name(1 - side, triple.main(1 - side))
            if (
                number
                and name
                and name != (old.parent, old.title)
                and other in (None, (old.parent, old.title))
            ):
                names.setdefault(name, number)
        return names

    def _name(self, side: int, number: int | None) -> _Name | None:
        if number is None:
            return None
        section = self._sides[side].sections[number]
        return (self._matches.in_sides[side][section.parent], section.title)
