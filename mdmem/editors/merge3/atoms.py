"""Three versions of a sequence of atoms made one: rows of a table, sentences, items of a list.

An atom that both sides changed differently remains twice, side by side. Symmetric in the sides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from mdmem.editors.merge3.sequences import (
    matching_items,
    merge_order,
    slid_down,
)
from mdmem.editors.pairs import one_to_one, unmatched_between
from mdmem.startup.records import dataclass, field

Atom: TypeAlias = Any
"""One value for each sequence: a row, a text."""
Ranked: TypeAlias = tuple[float, int, int]


@dataclass(frozen=True, slots=True)
class AtomKind:
    """A kind of atom, as it is matched and merged.

    Args:
        names: of an atom (None: nameless), the certain ones first. The first is its identity; the
            others count where each version has them once.
        combine: the base's atom (None: new on both sides) and both sides', to one atom, or to two.
        likely: pairs of atoms that a side lacks and new ones that may be the same, the best first,
            each behind its rank.
        is_changed: tells if a side changed an atom that the other removed (None: by identity).
        by_place: different atoms between the same neighbours are the same.
        may_move: equal atoms are the same in any order.
    """

    names: Sequence[Callable[[Atom], Any]]
    combine: Callable[[Atom | None, Atom, Atom], tuple[Atom, ...]]
    likely: Callable[[Sequence[Atom], Sequence[Atom]], Iterable[Ranked]] | None = None
    is_changed: Callable[[Atom, Atom], bool] | None = None
    by_place: bool = True
    may_move: bool = True


@dataclass(slots=True, eq=False)
class AtomTriple:
    """An atom by number, in each version. `is_kept`: one side removed it, the other changed it."""

    base: int | None = None
    sides: list[int | None] = field(default_factory=lambda: [None, None])
    atoms: tuple[Atom, ...] = ()
    is_kept: bool = False

    @property
    def members(self) -> tuple[int | None, int | None, int | None]:
        return self.base, self.sides[0], self.sides[1]


class MergedText(NamedTuple):
    """`pairs`: atoms side by side, each of one side; `kept`: one side removed, one changed them."""

    texts: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...] = ()
    kept: tuple[str, ...] = ()


def merge_atoms(
    versions: tuple[Sequence[Atom], Sequence[Atom], Sequence[Atom]], kind: AtomKind
) -> list[AtomTriple]:
    """The atoms of a base and two sides that remain, in order."""
    base, ours, theirs = versions
    matcher = _AtomMatcher(base, (ours, theirs), kind)
    matcher.match()
    identity = kind.names[0]
    for triple in matcher.triples():
        old = None if triple.base is None else base[triple.base]
        match triple.sides:
            case [int(a), int(b)]:
                atoms = kind.combine(old, ours[a], theirs[b])
                triple.atoms = tuple(sorted(atoms, key=identity))
            case [int(a), None]:
                _keep(triple, old, ours[a], kind)
            case [None, int(b)]:
                _keep(triple, old, theirs[b], kind)
    of_base, of_sides = matcher.of_base, matcher.of_sides

    def key(triple: AtomTriple) -> Any:
        names = [identity(atom) for atom in triple.atoms]
        return names, -1 if triple.base is None else triple.base

    order = merge_order(
        [triple for triple in of_base if triple.atoms],
        (
            [triple for triple in of_sides[0] if triple.atoms],
            [triple for triple in of_sides[1] if triple.atoms],
        ),
        key,
    )
    names = [identity(atom) for triple in order for atom in triple.atoms]
    if len(set(names)) == len(names):
        return order
    counts = [Counter(map(identity, atoms)) for atoms in versions]
    most = counts[1] + counts[2]
    most.subtract(counts[0])
    return list(_without_repeats(order, identity, most | counts[1] | counts[2]))


def _without_repeats(
    triples: Iterable[AtomTriple], identity: Callable[[Atom], Any], most: Counter[Any]
) -> Iterator[AtomTriple]:
    """Remove atoms that are there more often than the sides put them: two triples became one."""
    counts: Counter[Any] = Counter()
    for triple in triples:
        counts.update(map(identity, triple.atoms))
        if any(counts[identity(atom)] > max(1, most[identity(atom)]) for atom in triple.atoms):
            triple.atoms = tuple(
                atom
                for atom in triple.atoms
                if counts[identity(atom)] <= max(1, most[identity(atom)])
            )
            if not triple.atoms:
                continue
        yield triple


def _keep(triple: AtomTriple, old: Atom | None, atom: Atom, kind: AtomKind) -> None:
    identity = kind.names[0]
    is_changed = kind.is_changed or (lambda old, atom: identity(old) != identity(atom))
    if old is None or is_changed(old, atom):
        triple.atoms, triple.is_kept = (atom,), old is not None


def versions_of_sides(
    triples: Iterable[AtomTriple], ours: Sequence[Atom], theirs: Sequence[Atom]
) -> tuple[list[Atom], list[Atom]]:
    """The result twice: where two atoms are side by side, each side's."""
    versions: tuple[list[Atom], list[Atom]] = ([], [])
    for triple in triples:
        for side, atoms in enumerate((ours, theirs)):
            number = triple.sides[side] if len(triple.atoms) == 2 else None
            versions[side].extend(triple.atoms if number is None else (atoms[number],))
    return versions


class _AtomMatcher:
    def __init__(
        self,
        base: Sequence[Atom],
        sides: tuple[Sequence[Atom], Sequence[Atom]],
        kind: AtomKind,
    ) -> None:
        self._base, self._sides, self._kind = base, sides, kind
        self.of_base = [AtomTriple(base=number) for number in range(len(base))]
        self.of_sides = (
            [AtomTriple(sides=[number, None]) for number in range(len(sides[0]))],
            [AtomTriple(sides=[None, number]) for number in range(len(sides[1]))],
        )

    def triples(self) -> Iterable[AtomTriple]:
        return dict.fromkeys((*self.of_base, *self.of_sides[0], *self.of_sides[1]))

    def match(self) -> None:
        """Match equal atoms, then those new on both sides, then each side's."""
        identity = self._kind.names[0]
        names = [identity(atom) for atom in self._base]
        for side in (0, 1):
            for old, new in self._equal(names, [identity(atom) for atom in self._sides[side]]):
                self._link(self.of_base[old], self.of_sides[side][new])
        for a, b in self._new_on_both():
            self._link(self.of_sides[0][a], self.of_sides[1][b])
        for rule in self._rules():
            self._match_both(rule)
            for side in (0, 1):
                self._link_pairs(side, self._pairs(rule, side, is_in_both=False))

    def _new_on_both(self) -> list[tuple[int, int]]:
        """Equal atoms that both sides added; unless they may move, at places that may be one."""
        identity, may_move = self._kind.names[0], self._kind.may_move
        numbers = [
            [
                n
                for n, triple in enumerate(of_side)
                if triple.base is None or not self._kind.may_move
            ]
            for of_side in self.of_sides
        ]
        ours, theirs = (
            [identity(atoms[n]) for n in places]
            for atoms, places in zip(self._sides, numbers, strict=True)
        )
        if ours <= theirs:  # whichever is ours
            equal = list(self._equal(ours, theirs))
        else:
            equal = [(a, b) for b, a in self._equal(theirs, ours)]
        pairs = [(numbers[0][a], numbers[1][b]) for a, b in equal]
        if may_move:
            return pairs
        gaps = [
            {n: gap for gap, run in self._new_runs(side).items() for n in run} for side in (0, 1)
        ]
        return [
            (a, b)
            for a, b in pairs
            if a in gaps[0] and b in gaps[1] and _may_be_one(gaps[0][a], gaps[1][b])
        ]

    def _new_runs(self, side: int) -> dict[tuple[int, int], list[int]]:
        bases = {n: triple.base for n, triple in enumerate(self.of_sides[side])}
        known = {n: base for n, base in bases.items() if base is not None}
        return unmatched_between(range(len(bases)), known)

    def _match_both(self, rule: _Rule) -> None:
        identity = self._kind.names[0]
        found = [(side, self._pairs(rule, side, is_in_both=True)) for side in (0, 1)]

        def key(pairs: tuple[int, list[tuple[int, int]]]) -> Any:
            side, numbers = pairs
            return sorted((old, identity(self._sides[side][n])) for old, n in numbers)

        self._link_pairs(*min(found, key=key))

    def _pairs(self, rule: _Rule, side: int, is_in_both: bool) -> list[tuple[int, int]]:
        gone = [
            n
            for n, triple in enumerate(self.of_base)
            if triple.sides[side] is None
            and not (is_in_both and triple.sides[1 - side] is not None)
        ]
        new = [
            n
            for n, triple in enumerate(self.of_sides[side])
            if triple.base is None and (triple.sides[1 - side] is not None) == is_in_both
        ]
        return list(rule(self, side, gone, new)) if gone and new else []

    def _link_pairs(self, side: int, pairs: Iterable[tuple[int, int]]) -> None:
        for old, number in pairs:
            self._link(self.of_base[old], self.of_sides[side][number])

    def _link(self, into: AtomTriple, other: AtomTriple) -> None:
        for side, number in enumerate(other.sides):
            if number is not None:
                into.sides[side] = number
                self.of_sides[side][number] = into

    def _equal(self, olds: Sequence[Any], news: Sequence[Any]) -> Iterator[tuple[int, int]]:
        pairs = matching_items(olds, news)
        if not self._kind.may_move:
            pairs = slid_down(pairs, olds, news)
        yield from pairs
        if not self._kind.may_move or len(pairs) == min(len(olds), len(news)):
            return
        matched_old, matched_new = {a for a, _ in pairs}, {b for _, b in pairs}
        waiting: dict[Any, list[int]] = {}
        for number in reversed(range(len(news))):
            if number not in matched_new:
                waiting.setdefault(news[number], []).append(number)
        for number, name in enumerate(olds):
            if number not in matched_old and waiting.get(name):
                yield number, waiting[name].pop()

    def _rules(self) -> Iterator[_Rule]:
        for name in self._kind.names[1:]:
            yield lambda matcher, *at, name=name: matcher.by_name(name, *at)
        if self._kind.likely is not None:
            yield _AtomMatcher.by_likeness
        if self._kind.by_place:
            yield _AtomMatcher.by_place

    def by_name(
        self, name: Callable[[Atom], Hashable], side: int, gone: list[int], new: list[int]
    ) -> Iterator[tuple[int, int]]:
        counts = [Counter(map(name, atoms)) for atoms in (self._base, self._sides[side])]
        numbers = {name(self._sides[side][n]): n for n in new}
        for old in gone:
            named = name(self._base[old])
            if named is not None and all(count[named] == 1 for count in counts):
                number = numbers.get(named)
                if number is not None:
                    yield old, number

    def by_likeness(self, side: int, gone: list[int], new: list[int]) -> Iterator[tuple[int, int]]:
        assert self._kind.likely is not None
        atoms = [self._base[n] for n in gone], [self._sides[side][n] for n in new]
        for _, a, b in one_to_one(self._kind.likely(*atoms)):
            yield gone[a], new[b]

    def by_place(self, side: int, gone: list[int], new: list[int]) -> Iterator[tuple[int, int]]:
        old_runs = unmatched_between(
            range(len(self._base)),
            {n: n for n, triple in enumerate(self.of_base) if triple.sides[side] is not None},
        )
        new_runs = self._new_runs(side)
        wanted, free = set(gone), set(new)
        for neighbours, run in old_runs.items():
            others = [n for n in new_runs.get(neighbours, ()) if n in free]
            yield from zip([n for n in run if n in wanted], others, strict=False)


def _may_be_one(gap: tuple[int, int], other: tuple[int, int]) -> bool:
    return all(end < 0 or start < end for start, end in ((gap[0], other[1]), (other[0], gap[1])))


_Rule = Callable[[_AtomMatcher, int, list[int], list[int]], Iterable[tuple[int, int]]]
