"""Pairing the things of two versions one to one: by key, by rank, by what surrounds them."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

_MOST_HOLDERS = 50
"""Parts that more things have say nothing about which are the same."""
Old = TypeVar("Old")
New = TypeVar("New")
RankT = TypeVar("RankT")


def pair_by_key(
    old: Iterable[Old],
    new: Iterable[New],
    old_key: Callable[[Old], Hashable],
    new_key: Callable[[New], Hashable],
) -> tuple[list[tuple[Old, New]], list[Old], list[New]]:
    """Pair items with the same key, one to one and in their order; with what remains of both."""
    olds, news = list(old), list(new)
    if not olds or not news:
        return [], olds, news
    waiting: dict[Hashable, deque[tuple[int, New]]] = {}
    for index, new_item in enumerate(news):
        waiting.setdefault(new_key(new_item), deque()).append((index, new_item))
    pairs: list[tuple[Old, New]] = []
    remaining: list[Old] = []
    taken: set[int] = set()
    for old_item in olds:
        group = waiting.get(old_key(old_item))
        if group:
            index, new_item = group.popleft()
            taken.add(index)
            pairs.append((old_item, new_item))
        else:
            remaining.append(old_item)
    return pairs, remaining, [new_item for index, new_item in enumerate(news) if index not in taken]


def one_to_one(ranked: Iterable[tuple[RankT, int, int]]) -> Iterator[tuple[RankT, int, int]]:
    """The pairs, each with its rank, of which neither is in an earlier pair."""
    olds, news = set[int](), set[int]()
    for rank, old, new in ranked:
        if old not in olds and new not in news:
            olds.add(old)
            news.add(new)
            yield rank, old, new


def half_in_common(
    old: Mapping[int, Collection[Hashable]], new: Mapping[int, Collection[Hashable]]
) -> list[tuple[int, int, int]]:
    """Numbers of old and new things with half of the old one's parts in common.

    Behind the negative number of these: sorted, the pairs with most of them come first.
    """
    holders: dict[Hashable, list[int]] = {}
    for number, parts in new.items():
        for part in parts:
            holders.setdefault(part, []).append(number)
    ranked = []
    for number, parts in old.items():
        groups = (holders.get(part, []) for part in parts)
        shared = Counter(n for group in groups if len(group) <= _MOST_HOLDERS for n in group)
        ranked += [(-count, number, n) for n, count in shared.items() if 2 * count >= len(parts)]
    return sorted(ranked)


def unmatched_between(
    items: Iterable[int], matches: Mapping[int, int]
) -> dict[tuple[int, int], list[int]]:
    """Unmatched runs by the matches before and after them; -1 at an end."""
    runs: dict[tuple[int, int], list[int]] = {}
    before, run = -1, list[int]()
    for item in (*items, -1):
        if item >= 0 and item not in matches:
            run.append(item)
            continue
        behind = matches.get(item, -1)
        if run:
            runs[before, behind] = run
        before, run = behind, []
    return runs
