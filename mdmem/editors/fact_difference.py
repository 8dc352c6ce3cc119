"""The facts that an edit took out and brought in, and which of them superseded which."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from mdmem.editors import likeness
from mdmem.editors.pairs import one_to_one, pair_by_key, unmatched_between
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
    sections = [
        _Section(old.get(path, []), new.get(path, [])) for path in dict.fromkeys((*old, *new))
    ]
    removed = tuple(item for section in sections for item in section.removed)
    added = tuple(item for section in sections for item in section.added)
    moved = {item.fact.id for item in removed} & {item.fact.id for item in added}
    pairs = [pair for section in sections for pair in section.successors(moved)]
    return FactDifference(
        removed,
        added,
        tuple(Supersession(item.fact.id, successor.fact.id) for item, successor in pairs),
    )


def successors(before: Sequence[Item], after: Sequence[Item], is_stated: bool) -> list[_Pair]:
    """Pair what one place lost with what superseded it there; `is_stated`: the only ones did."""
    place = _Section(before, after)
    if is_stated and len(place.removed) == len(place.added) == 1:
        return [(place.removed[0], place.added[0])]
    return place.successors(())


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


class _Section:
    """The facts of a section before and after, and which of them superseded which."""

    def __init__(self, before: Sequence[Item], after: Sequence[Item]) -> None:
        self._before, self._after = before, after
        self._kept, self.removed, self.added = pair_by_key(before, after, _fact_id, _fact_id)

    def successors(self, moved: Collection[FactId]) -> list[_Pair]:
        """By key, by place, by likeness."""
        removed, added = (
            [item for item in items if item.fact.id not in moved]
            for items in (self.removed, self.added)
        )
        pairs: list[_Pair] = []
        for match in (_match_by_key, self._match_in_place, _match_by_likeness):
            if not removed or not added:
                break
            pairs += match(removed, added, pairs)
            removed = _without(removed, (old for old, _ in pairs))
            added = _without(added, (new for _, new in pairs))
        return pairs

    def _match_in_place(
        self, removed: Sequence[Item], added: Sequence[Item], pairs: Sequence[_Pair]
    ) -> list[_Pair]:
        """A gap's only removed and added items if of one key, or a little alike and not of two."""
        matches = {old.start: new.start for old, new in (*self._kept, *pairs)}
        ours = unmatched_between((item.start for item in self._before), matches)
        theirs = unmatched_between(
            (item.start for item in self._after), {new: new for new in matches.values()}
        )
        alone = {
            lines[0]: theirs[gap][0]
            for gap, lines in ours.items()
            if len(lines) == len(theirs.get(gap, ())) == 1
        }
        at = {item.start: item for item in added}
        found = [(old, at[alone[old.start]]) for old in removed if alone.get(old.start) in at]
        return [
            pair
            for pair in found
            if _same_key(*pair)
            or (not _two_keys(*pair) and _likeness(*pair) >= _MIN_LIKENESS_IN_PLACE)
        ]


def _fact_id(item: Item) -> FactId:
    return item.fact.id


def _without(items: Iterable[Item], others: Iterable[Item]) -> list[Item]:
    lines = {item.start for item in others}
    return [item for item in items if item.start not in lines]


def _match_by_key(
    removed: Sequence[Item], added: Sequence[Item], _: Sequence[_Pair]
) -> list[_Pair]:
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


def _match_by_likeness(
    removed: Sequence[Item], added: Sequence[Item], _: Sequence[_Pair]
) -> list[_Pair]:
    ranked = []
    for a, b in likeness.candidate_pairs(
        [item.fact.text for item in removed], [item.fact.text for item in added]
    ):
        old, new = removed[a], added[b]
        if not _same_key(old, new) and (old.fact.key or new.fact.key):
            continue
        alike = _likeness(old, new)
        if alike >= _MIN_LIKENESS:
            ranked.append(((-alike, abs(a - b)), a, b))
    pairs = [(removed[a], added[b]) for _, a, b in one_to_one(sorted(ranked))]
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
