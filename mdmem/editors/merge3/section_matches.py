"""Match the sections of three versions: by path, by title, by content, by surroundings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Iterator

from mdmem.editors.merge3.versions import SectionTree
from mdmem.editors.pairs import one_to_one, unmatched_between
from mdmem.startup.records import dataclass

_MOST_HOLDERS = 50
"""Contents that more sections share are ignored."""


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
    base: SectionTree, sides: tuple[SectionTree, SectionTree], folds: Callable[[str], bool]
) -> SectionMatches:
    """Match the sections of three versions; of titles that fold, one section is under a parent."""
    triples = [SectionTriple(section.number, ([], [])) for section in base.sections]
    in_sides = ([-1] * len(sides[0].sections), [-1] * len(sides[1].sections))
    for side, version in enumerate(sides):
        for old, new in match_sections(base, version).items():
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
        base: SectionTree,
        sides: tuple[SectionTree, SectionTree],
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


def match_sections(old: SectionTree, new: SectionTree) -> dict[int, int]:
    """The new number of each old section; the first rule that decides counts:

    the same path; a title unique among the rest; half of the content; an empty one's place.
    """
    matcher = _TreeMatcher(old, new)
    matcher.match(0, 0)
    matcher.by_path()
    matcher.twins()
    matcher.by_title()
    matcher.by_content()
    matcher.by_surroundings()
    matcher.in_order()
    return matcher.matches


_Group = tuple[list[int], list[int]]


class _TreeMatcher:
    def __init__(self, old: SectionTree, new: SectionTree) -> None:
        self._old, self._new = old, new
        self.matches: dict[int, int] = {}
        self._taken: set[int] = set()
        self._to_descend: list[tuple[int, int]] = []
        self._ambiguous: list[_Group] = []
        self._undecided: list[_Group] = []

    def match(self, old: int, new: int) -> None:
        if old not in self.matches and new not in self._taken:
            self.matches[old] = new
            self._taken.add(new)
            self._to_descend.append((old, new))

    def by_path(self) -> None:
        while self._to_descend:
            old, new = self._to_descend.pop()
            old_children, new_children = (
                self._left_in(self._old, old, self.matches),
                self._left_in(self._new, new, self._taken),
            )
            for title, numbers in old_children.items():
                others = new_children.get(title, ())
                if len(numbers) == len(others) == 1:
                    self.match(numbers[0], others[0])
                elif others:
                    self._ambiguous.append((numbers, others))

    @staticmethod
    def _left_in(
        version: SectionTree, parent: int, matched: Container[int]
    ) -> dict[str, list[int]]:
        titles: dict[str, list[int]] = {}
        for number in version.sections[parent].children:
            if number not in matched:
                titles.setdefault(version.sections[number].title, []).append(number)
        return titles

    def twins(self) -> None:
        while self._ambiguous:
            groups, self._ambiguous = self._ambiguous, []
            for rule in (self._same_text, self._shared_text, self._as_many):
                for group in groups:
                    for pair in rule(*self._left_of(group)):
                        self.match(*pair)
            self._undecided += groups
            self.by_path()

    def in_order(self) -> None:
        while self._undecided:
            groups, self._undecided = self._undecided, []
            for group in groups:
                for pair in zip(*self._left_of(group), strict=False):
                    self.match(*pair)
            self.by_path()
            self.twins()

    def _left_of(self, group: _Group) -> _Group:
        olds, news = group
        return [number for number in olds if number not in self.matches], [
            number for number in news if number not in self._taken
        ]

    def _same_text(self, olds: list[int], news: list[int]) -> Iterator[tuple[int, int]]:
        texts: dict[str, list[int]] = {}
        for number in reversed(news):
            texts.setdefault(_text(self._new, number), []).append(number)
        for number in olds:
            group = texts.get(_text(self._old, number))
            if group and _text(self._old, number):
                yield number, group.pop()

    def _shared_text(self, olds: list[int], news: list[int]) -> Iterator[tuple[int, int]]:
        yield from self._most_alike(olds, news, lambda shared, _: shared > 0)

    def _as_many(self, olds: list[int], news: list[int]) -> Iterator[tuple[int, int]]:
        if len(olds) == len(news):
            yield from zip(olds, news, strict=True)

    def by_title(self) -> None:
        olds, news = self._left()
        in_old, in_new = _single(olds, self._old), _single(news, self._new)
        for title, number in in_old.items():
            if title in in_new:
                self.match(number, in_new[title])
        self.by_path()
        self.twins()

    def by_content(self) -> None:
        olds, news = self._left()
        for pair in self._most_alike(olds, news, lambda shared, size: 2 * shared >= size):
            self.match(*pair)
        self.by_path()
        self.twins()

    def _most_alike(
        self, olds: list[int], news: list[int], is_enough: Callable[[int, int], bool]
    ) -> Iterator[tuple[int, int]]:
        holders: dict[Hashable, list[int]] = {}
        for number in news:
            for token in {
                token for tokens in self._contents(self._new, number, False) for token in tokens
            }:
                holders.setdefault(token, []).append(number)
        ranked = []
        for number in olds:
            contents = list(self._contents(self._old, number, True))
            shared: Counter[int] = Counter()
            for tokens in contents:
                few = [
                    holders[token]
                    for token in tokens
                    if len(holders.get(token, ())) in range(1, _MOST_HOLDERS)
                ]
                shared.update({new for group in few for new in group})
            ranked += [
                (-count, number, new)
                for new, count in shared.items()
                if is_enough(count, len(contents))
            ]
        for _, old, new in one_to_one(sorted(ranked)):
            yield old, new

    def _contents(
        self, version: SectionTree, number: int, is_old: bool
    ) -> Iterator[tuple[Hashable, ...]]:
        section = version.sections[number]
        for unit in version.units(number):
            if unit.fact:
                yield (
                    (("id", unit.fact.id), ("key", unit.key))
                    if unit.key
                    else (("id", unit.fact.id),)
                )
            else:
                yield from ((("atom", atom),) for atom in unit.atoms)
        for child in section.children:
            if not is_old:
                yield (("section", child),)
            elif child in self.matches:
                yield (("section", self.matches[child]),)

    def by_surroundings(self) -> None:
        olds, _ = self._left()
        itself, old_of = (
            {old: old for old in self.matches},
            {new: old for old, new in self.matches.items()},
        )
        for parent in dict.fromkeys(self._old.sections[number].parent for number in olds):
            if parent not in itself:
                continue
            news = unmatched_between(self._new.sections[self.matches[parent]].children, old_of)
            unmatched = unmatched_between(self._old.sections[parent].children, itself)
            for neighbours, numbers in unmatched.items():
                others = news.get(neighbours, ())
                if len(numbers) == len(others) == 1 and self._is_empty(numbers[0]):
                    self.match(numbers[0], others[0])
        self.by_path()

    def _is_empty(self, old: int) -> bool:
        return not self._old.units(old) and not self._old.sections[old].children

    def _left(self) -> tuple[list[int], list[int]]:
        return (
            [
                section.number
                for section in self._old.sections
                if section.number not in self.matches
            ],
            [section.number for section in self._new.sections if section.number not in self._taken],
        )


def _text(version: SectionTree, number: int) -> str:
    return version.own(number).strip()


def _single(numbers: Iterable[int], version: SectionTree) -> dict[str, int]:
    titles: dict[str, list[int]] = {}
    for number in numbers:
        titles.setdefault(version.sections[number].title, []).append(number)
    return {title: group[0] for title, group in titles.items() if len(group) == 1}
