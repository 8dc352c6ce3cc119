"""Two and three sequences compared: which items they have in common, and one order of two. Linear but for sorting."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import Any, TypeVar

Item_ = TypeVar("Item_", bound=Hashable)


def matching_items(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Pairs of positions at which two sequences have the same item, both ascending.

    Common ends first; between them the longest ascending run of items that stand once on each side, and what follows on from these.
    """
    shorter = min(len(left), len(right))
    head = 0
    while head < shorter and left[head] == right[head]:
        head += 1
    tail = 0
    while tail < shorter - head and left[-1 - tail] == right[-1 - tail]:
        tail += 1
    left_end, right_end = len(left) - tail, len(right) - tail
    pairs = [(n, n) for n in range(head)]
    a, b = head, head
    for x, y in [*_unique_pairs(left, right, head, left_end, right_end), (left_end, right_end)]:
        back = 0
        while x - back > a and y - back > b and left[x - back - 1] == right[y - back - 1]:
            back += 1
        while a < x - back and b < y - back and left[a] == right[b]:
            pairs.append((a, b))
            a, b = a + 1, b + 1
        pairs += [(x - n, y - n) for n in range(back, 0, -1)]
        if x < left_end:
            pairs.append((x, y))
        a, b = x + 1, y + 1
    return pairs + [(left_end + n, right_end + n) for n in range(tail)]


def _unique_pairs(left: Sequence[Hashable], right: Sequence[Hashable], start: int, left_end: int, right_end: int) -> list[tuple[int, int]]:
    """The longest ascending run of pairs of items that stand once in each range."""
    in_left, in_right = Counter(left[start:left_end]), Counter(right[start:right_end])
    at = {item: n for n, item in enumerate(right[start:right_end], start) if in_right[item] == 1}
    pairs = [(n, at[item]) for n, item in enumerate(left[start:left_end], start) if in_left[item] == 1 and item in at]
    return [pairs[n] for n in _ascending([y for _, y in pairs])]


def _ascending(numbers: Sequence[int]) -> list[int]:
    """The positions of a longest ascending run of different numbers."""
    ends: list[int] = []
    last: list[int] = []
    previous: list[int] = []
    for n, number in enumerate(numbers):
        at = bisect_left(ends, number)
        previous.append(last[at - 1] if at else -1)
        if at == len(ends):
            ends.append(number)
            last.append(n)
        else:
            ends[at], last[at] = number, n
    run = []
    n = last[-1] if last else -1
    while n >= 0:
        run.append(n)
        n = previous[n]
    return run[::-1]


def merge_order(base: Sequence[Item_], sides: tuple[Sequence[Item_], Sequence[Item_]], key: Callable[[Item_], Any]) -> list[Item_]:
    """One order of all items of two sides.

    Items of both sides stand in the order of the side that changed it; where both did, in the one that sorts first (`key`). An item of
    one side stays behind the one that it stood behind, in one piece with its neighbours; of two pieces at one place the one that
    sorts first is first.
    """
    if sides[0] == sides[1]:
        return list(sides[0])
    in_both = set(sides[0]) & set(sides[1])
    shared = _shared_order(base, [[item for item in side if item in in_both] for side in sides], key)
    pieces: dict[Item_ | None, list[list[Item_]]] = {}
    for side in sides:
        for anchor, piece in _pieces(side, in_both):
            pieces.setdefault(anchor, []).append(piece)
    result: list[Item_] = []
    for anchor in (None, *shared):
        if anchor is not None:
            result.append(anchor)
        for piece in sorted(pieces.get(anchor, ()), key=lambda piece: [key(item) for item in piece]):
            result += piece
    return result


def _pieces(side: Iterable[Item_], in_both: Collection[Item_]) -> list[tuple[Item_ | None, list[Item_]]]:
    """The runs of items that one side alone has, each with the shared item before it."""
    pieces: list[tuple[Item_ | None, list[Item_]]] = [(None, [])]
    for item in side:
        if item in in_both:
            pieces.append((item, []))
        else:
            pieces[-1][1].append(item)
    return [(anchor, piece) for anchor, piece in pieces if piece]


def _shared_order(base: Sequence[Item_], orders: list[list[Item_]], key: Callable[[Item_], Any]) -> list[Item_]:
    ours, theirs = orders
    if ours == theirs:
        return ours
    old, shared = set(base), set(ours)
    before = [item for item in base if item in shared]
    is_kept = [[item for item in order if item in old] == before for order in orders]
    if is_kept == [True, False]:
        return theirs
    if is_kept == [False, True]:
        return ours
    return min(orders, key=lambda order: [key(item) for item in order])


def merge_set_order(
    base: Sequence[Item_], sides: tuple[Sequence[Item_], Sequence[Item_]], keys: tuple[Callable[[Item_], Any], Callable[[Item_], Any]]
) -> list[Item_]:
    """One order of a set that each side added to: what the base has as it stands there, then the added items by their places.

    The place of an item is the list of the keys of those added before it by its side that are greater than all between them and it, and
    than its own, and its own; if both sides have it, the greater one. So each side's order is kept.
    """
    in_base = set(base)
    standing = set(sides[0]) | set(sides[1])
    added = [[item for item in side if item not in in_base] for side in sides]
    key_of: dict[Item_, Any] = {}
    for side, key in zip(added, keys, strict=True):
        for item in side:
            key_of[item] = max(key_of[item], key(item)) if item in key_of else key(item)
    above: dict[Item_, list[Item_ | None]] = {}
    for side in added:
        stack: list[Item_] = []
        for item in side:
            while stack and key_of[stack[-1]] <= key_of[item]:
                stack.pop()
            above.setdefault(item, []).append(stack[-1] if stack else None)
            stack.append(item)
    return [item for item in base if item in standing] + _by_places(above, key_of)


def _by_places(above: dict[Item_, list[Item_ | None]], key_of: dict[Item_, Any]) -> list[Item_]:
    """Items in the order of their places: behind the one `above` them whose place is the greater one, by their keys."""
    parent: dict[Item_, Item_ | None] = {}

    def place(item: Item_ | None) -> list[Any]:
        steps = []
        while item is not None:
            steps.append(key_of[item])
            item = parent[item]
        return steps[::-1]

    below: dict[Item_ | None, list[Item_]] = {}
    for item in sorted(above, key=lambda item: key_of[item], reverse=True):
        candidates = list(dict.fromkeys(above[item]))
        parent[item] = candidates[0] if len(candidates) == 1 else max(candidates, key=place)
        below.setdefault(parent[item], []).append(item)
    order: list[Item_] = []
    waiting = list(below.get(None, ()))
    while waiting:
        order.append(waiting.pop())
        waiting += below.get(order[-1], ())
    return order
