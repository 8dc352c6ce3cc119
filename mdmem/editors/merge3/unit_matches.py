"""Match the units of three versions: in a section by bytes, names, likeness; else by fact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial

from mdmem.editors import likeness
from mdmem.editors.merge3.values import ItemText
from mdmem.editors.merge3.versions import SectionMatches, Version
from mdmem.editors.pairs import half_in_common, one_to_one, unmatched_between
from mdmem.editors.text_units import Unit
from mdmem.startup.records import dataclass, field, replace
from mdmem.text.facts import TASK_BOX, normalise

_MIN_LIKENESS, _MIN_LIKENESS_ELSEWHERE = 0.55, 0.8
"""Minimum likeness of the same fact: within a section, and across sections."""
_MIN_LIKENESS_ALONE = 0.3
"""The same, for the only facts between the same neighbours."""
_MIN_LIKENESS_OF_PARTS = 0.75
"""Minimum likeness for combining one side's words with the other's parts."""

Name = Callable[[Unit], Hashable | None]


@dataclass(slots=True, eq=False)
class UnitTriple:
    """`is_guess`: a match too weak to combine words and parts."""

    base: int | None = None
    sides: list[int | None] = field(default_factory=lambda: [None, None])
    is_guess: bool = False


@dataclass(frozen=True, slots=True)
class UnitMatches:
    """Each unit once; `in_base` and `in_sides` give the triple of a version's unit."""

    triples: list[UnitTriple]
    in_base: list[UnitTriple]
    in_sides: tuple[list[UnitTriple], list[UnitTriple]]


_Scope = tuple[Sequence[int], tuple[Sequence[int], Sequence[int]]]
_Pair = tuple[int, int, bool]


@dataclass(frozen=True, slots=True)
class _Candidates:
    old_version: Version
    new_version: Version
    gone: Sequence[int]
    new: Sequence[int]
    all_old: Sequence[int]
    all_new: Sequence[int]
    side: int


_Rule = Callable[[_Candidates], Iterator[_Pair]]


class _UnitMatcher:
    def __init__(
        self,
        base: Version,
        sides: tuple[Version, Version],
        sections: SectionMatches,
        is_set: Sequence[bool],
    ) -> None:
        self._base, self._sides, self._sections, self._is_set = base, sides, sections, is_set
        self._of_base = [UnitTriple(base=number) for number in range(len(base.units))]
        self._of_sides = (
            [UnitTriple()] * len(sides[0].units),
            [UnitTriple()] * len(sides[1].units),
        )

    def match(self) -> UnitMatches:
        """Match by one rule after the other, among units not matched yet.

        The certain ones come first: names in a section, ids elsewhere. Then likely ones in a
        section (half of a block's lines, likeness), and elsewhere; last, units new on both sides.
        """
        sets: list[_Scope] = []
        lists: list[_Scope] = []
        for number, is_set in enumerate(self._is_set):
            scope = self._scope(number)
            if self._same_bytes(scope):
                (sets if is_set else lists).append(scope)
        for scope in sets:
            self._match(scope, (_by_block_id, _by_fact, _by_words))
        for scope in lists:
            self._match(scope, (_by_block_id, _by_fact, _by_task, _by_words, _by_key))
        self._match(self._elsewhere(lists), (_by_single_fact, _by_single_task))
        for name in (_fact_id, _task):
            self._new_elsewhere(lists, name)
        for scope in lists:
            rules = (_by_atoms, _by_header, _by_likeness, self._by_children, self._by_neighbours)
            self._match(scope, rules)
        self._match(
            self._elsewhere(lists),
            (
                _by_single_key,
                _by_single_words,
                partial(_by_atoms, least=2),
                partial(_by_likeness, least=_MIN_LIKENESS_ELSEWHERE),
                _by_likeness_alone,
            ),
        )
        for scope in lists:
            self._moved_here(scope)
        for scope in (*sets, *lists):
            self._new_on_both(scope)
        for scope in lists:
            self._new_key_on_both(scope)
        triples = list(dict.fromkeys((*self._of_base, *self._of_sides[0], *self._of_sides[1])))
        return UnitMatches(triples, self._of_base, self._of_sides)

    def _scope(self, number: int) -> _Scope:
        triple = self._sections.triples[number]
        base, ours, theirs = (
            [n for member in members for n in version.units_in[member]]
            for version, members in zip((self._base, *self._sides), triple.members, strict=True)
        )
        return base, (ours, theirs)

    def _elsewhere(self, scopes: Iterable[_Scope]) -> _Scope:
        base = sorted(n for scope in scopes for n in scope[0] if None in self._of_base[n].sides)
        sides = [
            sorted(
                n
                for scope in scopes
                for n in scope[1][side]
                if self._of_sides[side][n].base is None
            )
            for side in (0, 1)
        ]
        return base, (sides[0], sides[1])

    def _same_bytes(self, scope: _Scope) -> bool:
        base, sides = scope
        by_text = {text: self._of_base[number] for text, number in _numbered(self._base, base)}
        is_complete = len(base) == len(sides[0]) == len(sides[1])
        for side in (0, 1):
            for text, number in _numbered(self._sides[side], sides[side]):
                triple = by_text.get(text)
                if triple is None:
                    triple = by_text[text] = UnitTriple()
                triple.sides[side] = number
                self._of_sides[side][number] = triple
        return not is_complete or len(by_text) > len(base)

    def _match(self, scope: _Scope, rules: Sequence[_Rule]) -> None:
        base, sides = scope
        for side in (0, 1):  # of what both have, on either side in another section
            new = [
                n
                for n in sides[side]
                if self._of_sides[side][n].base is None
                and self._of_sides[side][n].sides[1 - side] is not None
            ]
            gone = [n for n in base if self._of_base[n].sides == [None, None]]
            self._match_side(gone, new, (side, 1 - side), scope, rules)
        for side in (0, 1):
            new = [n for n in sides[side] if self._is_new(side, n)]
            self._match_side(
                [n for n in base if self._of_base[n].sides[side] is None],
                new,
                (side,),
                scope,
                rules,
            )

    def _match_side(
        self,
        gone: list[int],
        new: list[int],
        to: tuple[int, ...],
        scope: _Scope,
        rules: Sequence[_Rule],
    ) -> None:
        side = to[0]
        for rule in rules:
            if not gone or not new:
                return
            candidates = _Candidates(
                old_version=self._base,
                new_version=self._sides[side],
                gone=gone,
                new=new,
                all_old=scope[0],
                all_new=scope[1][side],
                side=side,
            )
            for old, unit, is_guess in rule(candidates):
                self._link(old, unit, to, is_guess)
            gone = [n for n in gone if self._of_base[n].sides[side] is None]
            new = [n for n in new if self._of_sides[side][n].base is None]

    def _link(self, old: int, unit: int, to: tuple[int, ...], is_guess: bool) -> None:
        triple, new = self._of_base[old], self._of_sides[to[0]][unit]
        for side in to:
            number = new.sides[side]
            assert number is not None
            triple.sides[side] = number
            triple.is_guess |= is_guess
            self._of_sides[side][number] = triple

    def _by_children(self, candidates: _Candidates) -> Iterator[_Pair]:
        """Items that have most of the items beneath them in common."""
        triples = self._of_sides[candidates.side]
        gone, new = set(candidates.gone), set(candidates.new)
        counts: Counter[tuple[int, int]] = Counter()
        for number in candidates.all_new:
            parent, child = candidates.new_version.parent_of[number], triples[number].base
            if parent in new and child is not None:
                old = self._base.parent_of[child]
                if old in gone and old is not None and parent is not None:
                    counts[old, parent] += 1
        ranked = sorted((-count, old, unit) for (old, unit), count in counts.items())
        for _, old, unit in one_to_one(ranked):
            yield old, unit, True

    def _by_neighbours(self, candidates: _Candidates) -> Iterator[_Pair]:
        """Blocks alone between the same neighbours; facts if a little alike.

        What the other side gave its first item beneath goes on in whatever words are in its place.
        If the other side moved the old one, the first word must be the same too.
        """
        side, new = candidates.side, set(candidates.new)
        old_runs = unmatched_between(
            candidates.all_old,
            {n: n for n in candidates.all_old if self._of_base[n].sides[side] is not None},
        )
        old_of = {
            n: old for n in candidates.all_new if (old := self._of_sides[side][n].base) is not None
        }
        new_runs = unmatched_between(candidates.all_new, old_of)
        for neighbours, numbers in old_runs.items():
            others = new_runs.get(neighbours, [])
            units = [
                (candidates.old_version.units[old], candidates.new_version.units[unit])
                for old, unit in zip(numbers, others, strict=False)
            ]
            if len(numbers) == len(others) and all(
                old.kind is unit.kind is not None and not (old.fact or unit.fact)
                for old, unit in units
            ):
                for pair in zip(numbers, others, strict=True):
                    if pair[1] in new:
                        yield *pair, True
            elif len(numbers) != 1 or len(others) != 1 or others[0] not in candidates.new:
                continue
            elif self._got_its_first_child(numbers[0], 1 - side):
                yield numbers[0], others[0], True
            elif not self._is_moved(numbers[0]) or _have_one_subject(
                candidates, numbers[0], others[0]
            ):
                for old, unit, _ in _by_likeness(
                    replace(candidates, gone=numbers, new=others), _MIN_LIKENESS_ALONE
                ):
                    yield old, unit, True

    def _got_its_first_child(self, old: int, side: int) -> bool:
        number, parent_of = self._of_base[old].sides[side], self._sides[side].parent_of
        return number is not None and number in parent_of and old not in self._base.parent_of

    def _is_moved(self, old: int) -> bool:
        homes = (
            of_section[version.section_of[number]]
            for version, of_section, number in zip(
                self._sides, self._sections.in_sides, self._of_base[old].sides, strict=True
            )
            if number is not None
        )
        return any(home != self._base.section_of[old] for home in homes)

    def _moved_here(self, scope: _Scope) -> None:
        """Match what one side moved here with what the other has in its place, reworded."""
        for side in (0, 1):
            units, others = scope[1][side], scope[1][1 - side]
            triples, of_others = self._of_sides[side], self._of_sides[1 - side]
            runs = unmatched_between(
                others, {n: n for n in others if of_others[n].sides[side] is not None}
            )
            new_runs = unmatched_between(
                units, {n: o for n in units if (o := triples[n].sides[1 - side]) is not None}
            )
            for neighbours, run in runs.items():
                moved = [n for n in run if of_others[n].base is not None]
                new = [n for n in new_runs.get(neighbours, ()) if triples[n].base is None]
                if len(moved) == len(new) == 1 and self._is_reworded(side, new[0], moved[0]):
                    triple = of_others[moved[0]]
                    triple.sides[side], triple.is_guess = new[0], True
                    triples[new[0]] = triple

    def _is_reworded(self, side: int, unit: int, other: int) -> bool:
        units = (self._sides[side].units[unit], self._sides[1 - side].units[other])
        first, second = (each.words_of_fact for each in units)
        length = min(len(first), len(second))
        facts = [each.fact.text for each in units if each.fact]
        has_one_key = units[0].key == units[1].key
        return (length > 1 and has_one_key) and (
            first[:length] == second[:length] or likeness.likeness(*facts) >= _MIN_LIKENESS
        )

    # What both sides brought in.

    def _new_elsewhere(self, scopes: Iterable[_Scope], name: Name) -> None:
        ours, theirs = (
            [n for scope in scopes for n in scope[1][side] if self._is_new(side, n)]
            for side in (0, 1)
        )
        for pair in _pairs_by_name(*self._sides, ours, theirs, name, (ours, theirs)):
            self._join(*pair)

    def _new_on_both(self, scope: _Scope) -> None:
        ours, theirs = (
            [n for n in scope[1][side] if self._of_sides[side][n].sides[1 - side] is None]
            for side in (0, 1)
        )
        for pair in _pairs_by_name(*self._sides, ours, theirs, _fact_id, None):
            self._join(*pair)

    def _new_key_on_both(self, scope: _Scope) -> None:
        base, units = scope
        ours, theirs = ([n for n in units[side] if self._is_new(side, n)] for side in (0, 1))
        old_keys = {self._base.units[n].key for n in base} if ours and theirs else ()
        for pair in _pairs_by_name(*self._sides, ours, theirs, _key, units):
            if self._sides[0].units[pair[0]].key not in old_keys:
                self._join(*pair)

    def _is_new(self, side: int, number: int) -> bool:
        triple = self._of_sides[side][number]
        return triple.base is None and triple.sides[1 - side] is None

    def _join(self, ours: int, theirs: int) -> None:
        first, second = self._of_sides[0][ours], self._of_sides[1][theirs]
        if first.base is None or second.base is None:
            into = first if first.base is not None else second
            into.sides = [ours, theirs]
            self._of_sides[0][ours] = self._of_sides[1][theirs] = into


def match_units(
    base: Version, sides: tuple[Version, Version], sections: SectionMatches, is_set: Sequence[bool]
) -> UnitMatches:
    """Match the units of three versions; in sets only by the same bytes or id."""
    return _UnitMatcher(base, sides, sections, is_set).match()


def _numbered(
    version: Version, units: Iterable[int]
) -> Iterator[tuple[tuple[str, str | None, int], int]]:
    seen: Counter[tuple[str, str | None]] = Counter()
    for number in units:
        parent = version.parent_of[number]
        text = (
            version.units[number].unnumbered,
            None if parent is None else version.units[parent].unnumbered,
        )
        seen[text] += 1
        yield (*text, seen[text]), number


def _fact_id(unit: Unit) -> Hashable | None:
    return unit.fact.id if unit.fact else None


def _key(unit: Unit) -> Hashable | None:
    return unit.key


def _task(unit: Unit) -> Hashable | None:
    box = TASK_BOX.match(unit.fact.text) if unit.fact else None
    return normalise(unit.fact.text[box.end() :]) if unit.fact and box else None


def _block_id(unit: Unit) -> Hashable | None:
    return (
        (ItemText.read(unit.text).block_id.strip() or None)
        if "^" in unit.text and unit.fact
        else None
    )


def _words(unit: Unit) -> Hashable | None:
    return None if unit.fact else (unit.kind, unit.words)


def _header(unit: Unit) -> Hashable | None:
    return unit.table.head.words if unit.table else None


def _pairs_by_name(
    old: Version,
    new: Version,
    gone: Iterable[int],
    came: Iterable[int],
    name: Name,
    once_in: tuple[Iterable[int], Iterable[int]] | None,
) -> Iterator[tuple[int, int]]:
    waiting: dict[Hashable, list[int]] = {}
    for number in came:
        waiting.setdefault(name(new.units[number]), []).append(number)
    waiting.pop(None, None)
    if not waiting:
        return
    counts = (
        [
            Counter(name(version.units[n]) for n in units)
            for version, units in zip((old, new), once_in, strict=True)
        ]
        if once_in
        else []
    )
    taken: Counter[Hashable] = Counter()
    for number in gone:
        named = name(old.units[number])
        group = waiting.get(named, ())
        if taken[named] < len(group) and all(count[named] == 1 for count in counts):
            yield number, group[taken[named]]
            taken[named] += 1


# Rules: each yields pairs of a unit of the base and one of a side, and whether they may be one by a
# guess only.

_Numbers = tuple[Sequence[int], Sequence[int]]


def _in_scope(candidates: _Candidates) -> _Numbers:
    return candidates.all_old, candidates.all_new


def _unmatched(candidates: _Candidates) -> _Numbers:
    return candidates.gone, candidates.new


def _by_name(name: Name, once_in: Callable[[_Candidates], _Numbers] | None = None) -> _Rule:
    """The rule for units of one name, which must be there `once_in` these of either version."""

    def rule(candidates: _Candidates) -> Iterator[_Pair]:
        for old, unit in _pairs_by_name(
            candidates.old_version,
            candidates.new_version,
            candidates.gone,
            candidates.new,
            name,
            once_in(candidates) if once_in else None,
        ):
            yield old, unit, False

    return rule


_by_fact, _by_single_fact = _by_name(_fact_id), _by_name(_fact_id, _unmatched)
_by_task, _by_single_task = _by_name(_task), _by_name(_task, _unmatched)
_by_words, _by_single_words = _by_name(_words), _by_name(_words, _unmatched)
_by_block_id, _by_header = _by_name(_block_id, _in_scope), _by_name(_header, _in_scope)
_by_key = _by_name(_key, _in_scope)


def _by_single_key(candidates: _Candidates) -> Iterator[_Pair]:
    """Facts alone with a key; with an unlike value only a guess, since it may be another fact."""
    for old, unit, _ in _by_name(_key, _unmatched)(candidates):
        facts = (candidates.old_version.units[old].fact, candidates.new_version.units[unit].fact)
        yield (
            old,
            unit,
            likeness.likeness(*(fact.text for fact in facts if fact)) < _MIN_LIKENESS_OF_PARTS,
        )


def _by_atoms(candidates: _Candidates, least: int = 1) -> Iterator[_Pair]:
    parts = [
        {n: [(version.units[n].kind, atom) for atom in version.units[n].atoms] for n in numbers}
        for version, numbers in (
            (candidates.old_version, candidates.gone),
            (candidates.new_version, candidates.new),
        )
    ]
    ranked = (pair for pair in half_in_common(parts[0], parts[1]) if -pair[0] >= least)
    for _, first, second in one_to_one(ranked):
        yield first, second, False


def _by_likeness(candidates: _Candidates, least: float = _MIN_LIKENESS) -> Iterator[_Pair]:
    for distance, old, unit in one_to_one(sorted(_likenesses(candidates, least))):
        yield old, unit, -distance < _MIN_LIKENESS_OF_PARTS


def _by_likeness_alone(candidates: _Candidates) -> Iterator[_Pair]:
    pairs = list(_likenesses(candidates, _MIN_LIKENESS))
    olds, news = Counter(old for _, old, _ in pairs), Counter(unit for _, _, unit in pairs)
    for alike, old, unit in pairs:
        if olds[old] == news[unit] == 1 and _have_one_subject(candidates, old, unit):
            yield old, unit, -alike < _MIN_LIKENESS_OF_PARTS


def _have_one_subject(candidates: _Candidates, old: int, new: int) -> bool:
    words = (
        candidates.old_version.units[old].words_of_fact,
        candidates.new_version.units[new].words_of_fact,
    )
    return words[0][:1] == words[1][:1] != []


def _likenesses(candidates: _Candidates, least: float) -> Iterator[tuple[float, int, int]]:
    """Similar facts of one key, or none; negative likenesses sort the greatest first."""
    olds = [
        (n, fact.text) for n in candidates.gone if (fact := candidates.old_version.units[n].fact)
    ]
    news = [
        (n, fact.text) for n in candidates.new if (fact := candidates.new_version.units[n].fact)
    ]
    for a, b in likeness.candidate_pairs([text for _, text in olds], [text for _, text in news]):
        (old, old_text), (unit, new_text) = olds[a], news[b]
        if candidates.old_version.units[old].key == candidates.new_version.units[unit].key:
            alike = likeness.likeness(old_text, new_text)
            if alike >= least:
                yield -alike, old, unit
