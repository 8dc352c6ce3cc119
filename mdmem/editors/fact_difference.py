"""The facts that an edit took out and brought in, and which of them superseded which."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from mdmem.editors import likeness
from mdmem.model import FactId, SectionPath, Supersession
from mdmem.startup.records import dataclass
from mdmem.text.document import Document
from mdmem.text.facts import Item, find_held_key, holds_key, items, normalise, split_key

_MIN_LIKENESS, _MIN_LIKENESS_IN_PLACE = 0.4, 0.2
"""Minimum `likeness` of a fact to its successor: among several facts, and in exactly its place. Of
random pairs of lines of a day 0.3% reach the first and 3% the second.
"""


@dataclass(frozen=True, slots=True)
class FactDifference:
    removed: tuple[Item, ...] = ()
    added: tuple[Item, ...] = ()
    supersedes: tuple[Supersession, ...] = ()


@dataclass(frozen=True, slots=True)
class _SectionDifference:
    before: Sequence[Item]
    after: Sequence[Item]
    removed: Sequence[Item]
    added: Sequence[Item]


_Pair = tuple[Item, Item]


def fact_difference(
    before: Document | None, after: Document, within: Collection[SectionPath] | None = None
) -> FactDifference:
    """Compare the facts of two versions of a file, section by section.

    A move between sections is a removal and an addition. In a section a removed fact is superseded
    by the added one with its key, else by the one in its place or most like it, if like enough
    (`likeness`), one to one. Kind, tags and `until` make no other fact. `within` is by default the
    sections whose text changed.
    """
    if within is None:
        within = changed_paths(before, after)
    return items_difference(
        _items_by_section(before, within) if before else {}, _items_by_section(after, within)
    )


def items_difference(
    old: Mapping[SectionPath, Sequence[Item]], new: Mapping[SectionPath, Sequence[Item]]
) -> FactDifference:
    differences = [
        _compare(old.get(path, []), new.get(path, [])) for path in dict.fromkeys((*old, *new))
    ]
    removed = tuple(item for difference in differences for item in difference.removed)
    added = tuple(item for difference in differences for item in difference.added)
    moved = {item.fact.id for item in removed} & {item.fact.id for item in added}
    pairs = [
        pair
        for difference in differences
        if difference.removed and difference.added
        for pair in _match(difference, moved)
    ]
    return FactDifference(
        removed,
        added,
        tuple(Supersession(item.fact.id, successor.fact.id) for item, successor in pairs),
    )


def changed_paths(before: Document | None, after: Document) -> set[SectionPath]:
    old, new = _texts_by_section(before) if before else {}, _texts_by_section(after)
    return {path for path in (*old, *new) if old.get(path) != new.get(path)}


def _texts_by_section(document: Document) -> dict[SectionPath, list[str]]:
    texts: dict[SectionPath, list[str]] = {}
    for path, start, end in _own_texts(document):
        texts.setdefault(path, []).append(document.slice(start, end))
    return texts


def _own_texts(document: Document) -> Iterator[tuple[SectionPath, int, int]]:
    yield (), 0, document.preamble_end
    for section in document.sections:
        yield section.path, section.body, section.end


def _items_by_section(
    document: Document, within: Collection[SectionPath]
) -> dict[SectionPath, list[Item]]:
    by_section: dict[SectionPath, list[Item]] = {}
    for path, start, end in _own_texts(document):
        if path in within:
            for item in items(document, start, end):
                by_section.setdefault(path, []).append(item)
    return by_section


def _compare(before: Sequence[Item], after: Sequence[Item]) -> _SectionDifference:
    return _SectionDifference(
        before, after, removed=_missing_in(after, before), added=_missing_in(before, after)
    )


def _missing_in(version: Iterable[Item], candidates: Iterable[Item]) -> list[Item]:
    unmatched = Counter(item.fact.id for item in version)
    missing = []
    for item in candidates:
        if unmatched[item.fact.id]:
            unmatched[item.fact.id] -= 1
        else:
            missing.append(item)
    return missing


# Which item superseded which, in one section: by key, by place, by likeness.


def _match(difference: _SectionDifference, moved: Collection[FactId]) -> list[_Pair]:
    removed = [item for item in difference.removed if item.fact.id not in moved]
    added = [item for item in difference.added if item.fact.id not in moved]
    pairs = _match_by_key(removed, added)
    removed, added = _unmatched(removed, added, pairs)
    if not removed or not added:
        return pairs
    successors = {item.start: successor.fact.id for item, successor in pairs}
    pairs += _match_in_place(
        _by_gap(difference.before, removed, successors), _by_gap(difference.after, added, {})
    )
    removed, added = _unmatched(removed, added, pairs)
    return pairs + (_match_by_likeness(removed, added) if removed and added else [])


def _unmatched(
    removed: Iterable[Item], added: Iterable[Item], pairs: Sequence[_Pair]
) -> tuple[list[Item], list[Item]]:
    old, new = {item.start for item, _ in pairs}, {successor.start for _, successor in pairs}
    return [item for item in removed if item.start not in old], [
        item for item in added if item.start not in new
    ]


def _match_by_key(removed: Sequence[Item], added: Sequence[Item]) -> list[_Pair]:
    keys = {normalise(item.fact.key) for item in added if item.fact.key}
    old, new = _holders(removed, keys), _holders(added, keys)
    return [
        (old[key][0], new[key][0]) for key in sorted(keys) if len(old[key]) == len(new[key]) == 1
    ]


def _holders(candidates: Iterable[Item], keys: Collection[str]) -> dict[str, list[Item]]:
    holders: dict[str, list[Item]] = {key: [] for key in keys}
    for item in candidates:
        own = item.fact.key
        key = normalise(own) if own else find_held_key(item.fact.text, keys)
        if key in holders:
            holders[key].append(item)
    return holders


_Neighbour = tuple[str, int]
"""A fact's id and number in the section; an empty id is the section's beginning or end."""
_Gap = tuple[_Neighbour, _Neighbour]


def _match_in_place(
    removed: Mapping[_Gap, Sequence[Item]], added: Mapping[_Gap, Sequence[Item]]
) -> list[_Pair]:
    """Pair a gap's only removed and added items if of one key, or a little alike and not of two."""
    pairs = [
        (removed[gap][0], added[gap][0])
        for gap in removed
        if len(removed[gap]) == len(added.get(gap, ())) == 1
    ]
    return [
        pair
        for pair in pairs
        if _same_key(*pair) or (not _two_keys(*pair) and _likeness(*pair) >= _MIN_LIKENESS_IN_PLACE)
    ]


def _by_gap(
    section: Sequence[Item], selected: Iterable[Item], successors: Mapping[int, FactId]
) -> dict[_Gap, list[Item]]:
    """Items by the gap that they fill; a superseded neighbour has its successor's id."""
    selected_lines = {item.start for item in selected}
    counts: defaultdict[str, int] = defaultdict(int)
    gaps: dict[_Gap, list[Item]] = {}
    above: _Neighbour = ("", 0)
    filling: list[Item] = []
    for item in section:
        if item.start in selected_lines:
            filling.append(item)
            continue
        fact = successors.get(item.start, item.fact.id)
        counts[fact] += 1
        below = (fact, counts[fact])
        if filling:
            gaps[above, below] = filling
        above, filling = below, []
    if filling:
        gaps[above, ("", 0)] = filling
    return gaps


def _match_by_likeness(removed: Sequence[Item], added: Sequence[Item]) -> list[_Pair]:
    ranked = []
    for a, b in likeness.candidate_pairs(
        [item.fact.text for item in removed], [item.fact.text for item in added]
    ):
        old, new = removed[a], added[b]
        if not _same_key(old, new) and (old.fact.key or new.fact.key):
            continue
        alike = _likeness(old, new)
        if alike >= _MIN_LIKENESS:
            ranked.append((-alike, abs(a - b), a, b))
    matched_old: set[int] = set()
    matched_new: set[int] = set()
    pairs = []
    for _, _, a, b in sorted(ranked):
        if a not in matched_old and b not in matched_new:
            matched_old.add(a)
            matched_new.add(b)
            pairs.append((removed[a], added[b]))
    return sorted(pairs, key=lambda pair: pair[1].start)


def _same_key(old: Item, new: Item) -> bool:
    key = old.fact.key or new.fact.key
    return key is not None and holds_key(old.fact, key) and holds_key(new.fact, key)


def _two_keys(old: Item, new: Item) -> bool:
    return old.fact.key is not None and new.fact.key is not None and not _same_key(old, new)


def _likeness(old: Item, new: Item) -> float:
    key = old.fact.key or new.fact.key
    if key is not None and _same_key(old, new):
        return likeness.likeness(split_key(old.fact.text, key)[1], split_key(new.fact.text, key)[1])
    return likeness.likeness(old.fact.text, new.fact.text)
