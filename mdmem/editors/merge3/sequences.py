"""Common items of two sequences, and one order of two. Linear except for sorting."""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import Any, TypeVar

_MOST_COMPARED = 10_000
"""Maximum pairs compared where no item is unique on each side."""
ItemT = TypeVar("ItemT", bound=Hashable)


def matching_items(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Pairs of positions with the same item, both ascending.

    Common ends first, then the longest ascending run of unique items, recursively (patience diff).
    """
    pairs: list[tuple[int, int]] = []
    ranges = [(0, len(left), 0, len(right))]
    while ranges:
        a, a_end, b, b_end = ranges.pop()
        while a < a_end and b < b_end and left[a] == right[b]:
            pairs.append((a, b))
            a, b = a + 1, b + 1
        while a < a_end and b < b_end and left[a_end - 1] == right[b_end - 1]:
            a_end, b_end = a_end - 1, b_end - 1
            pairs.append((a_end, b_end))
        if a == a_end or b == b_end or (a + 1 == a_end and b + 1 == b_end):
            continue
        anchors = _unique_pairs(left, right, (a, a_end, b, b_end)) or _longest_run(
            left, right, (a, a_end, b, b_end)
        )
        pairs += anchors
        ends = [*anchors, (a_end, b_end)] if anchors else []
        starts = [(a, b), *((x + 1, y + 1) for x, y in anchors)]
        ranges += [
            (x, x_end, y, y_end) for (x, y), (x_end, y_end) in zip(starts, ends, strict=False)
        ]
    return sorted(pairs)


def slid_down(
    pairs: Sequence[tuple[int, int]], left: Sequence[Hashable], right: Sequence[Hashable]
) -> list[tuple[int, int]]:
    """Pairs of equal items with each insertion and removal as far down as equal items allow.

    So an insertion has one place, whatever else was changed.
    """
    down = _insertions_slid_down(pairs, right)
    turned = _insertions_slid_down([(b, a) for a, b in down], left)
    return [(a, b) for b, a in turned]


def _insertions_slid_down(
    pairs: Sequence[tuple[int, int]], right: Sequence[Hashable]
) -> list[tuple[int, int]]:
    slid = list(pairs)
    for number in reversed(range(len(slid))):
        for at in range(number, len(slid)):
            before = slid[at - 1] if at else (-1, -1)
            (a, b), first = slid[at], before[1] + 1
            if a != before[0] + 1 or b == first or right[first] != right[b]:
                break
            slid[at] = (a, first)
    return slid


def _unique_pairs(
    left: Sequence[Hashable], right: Sequence[Hashable], within: tuple[int, int, int, int]
) -> list[tuple[int, int]]:
    a, a_end, b, b_end = within
    in_left, in_right = Counter(left[a:a_end]), Counter(right[b:b_end])
    at = {item: n for n, item in enumerate(right[b:b_end], b) if in_right[item] == 1}
    pairs = [
        (n, at[item])
        for n, item in enumerate(left[a:a_end], a)
        if in_left[item] == 1 and item in at
    ]
    return [pairs[n] for n in _ascending([y for _, y in pairs])]


def _longest_run(
    left: Sequence[Hashable], right: Sequence[Hashable], within: tuple[int, int, int, int]
) -> list[tuple[int, int]]:
    """The longest common run; empty where finding it would take long."""
    a, a_end, b, b_end = within
    if (a_end - a) * (b_end - b) > _MOST_COMPARED:
        return []
    run = difflib.SequenceMatcher(
        None, left[a:a_end], right[b:b_end], autojunk=False
    ).find_longest_match()
    return [(a + run.a + n, b + run.b + n) for n in range(run.size)]


def _ascending(numbers: Sequence[int]) -> list[int]:
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


def merge_order(
    base: Sequence[ItemT],
    sides: tuple[Sequence[ItemT], Sequence[ItemT]],
    key: Callable[[ItemT], Any],
) -> list[ItemT]:
    """One order of all items of two sides.

    Shared items are in the order of the side that changed it; where both did, of the one that sorts
    first (`key`). Others follow the item that they followed, with their neighbours; pieces at one
    place are sorted.
    """
    if sides[0] == sides[1]:
        return list(sides[0])
    in_both = set(sides[0]) & set(sides[1])
    shared = _shared_order(
        base, [[item for item in side if item in in_both] for side in sides], key
    )
    pieces: dict[ItemT | None, list[list[ItemT]]] = {}
    for side in sides:
        for anchor, piece in _pieces(side, in_both):
            pieces.setdefault(anchor, []).append(piece)
    result: list[ItemT] = []
    for anchor in (None, *shared):
        if anchor is not None:
            result.append(anchor)
        for piece in sorted(
            pieces.get(anchor, ()), key=lambda piece: [key(item) for item in piece]
        ):
            result += piece
    return result


def _pieces(
    side: Iterable[ItemT], in_both: Collection[ItemT]
) -> list[tuple[ItemT | None, list[ItemT]]]:
    pieces: list[tuple[ItemT | None, list[ItemT]]] = []
    anchor: ItemT | None = None
    is_behind_anchor = True
    for item in side:
        if item in in_both:
            anchor, is_behind_anchor = item, True
        elif is_behind_anchor:
            pieces.append((anchor, [item]))
            is_behind_anchor = False
        else:
            pieces[-1][1].append(item)
    return pieces


def _shared_order(
    base: Sequence[ItemT], orders: list[list[ItemT]], key: Callable[[ItemT], Any]
) -> list[ItemT]:
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
    base: Sequence[ItemT],
    sides: tuple[Sequence[ItemT], Sequence[ItemT]],
    keys: tuple[Callable[[ItemT], Any], Callable[[ItemT], Any]],
) -> list[ItemT]:
    """One order of a set that each side added to: the base's, then added items by their places.

    A place is the list of the keys of items added before it by its side that are greater than all
    between them and it, and than its own, and its own; of two places the greater one. So each
    side's order is kept where both added nothing in common.
    """
    in_base = set(base)
    remaining = set(sides[0]) | set(sides[1])
    added = [[item for item in side if item not in in_base] for side in sides]
    key_of: dict[ItemT, Any] = {}
    for side, key in zip(added, keys, strict=True):
        for item in side:
            key_of[item] = max(key_of[item], key(item)) if item in key_of else key(item)
    above: dict[ItemT, list[ItemT | None]] = {}
    for side in added:
        stack: list[ItemT] = []
        for item in side:
            while stack and key_of[stack[-1]] <= key_of[item]:
                stack.pop()
            above.setdefault(item, []).append(stack[-1] if stack else None)
            stack.append(item)
    return [item for item in base if item in remaining] + _by_places(above, key_of)


def _by_places(above: dict[ItemT, list[ItemT | None]], key_of: dict[ItemT, Any]) -> list[ItemT]:
    parent: dict[ItemT, ItemT | None] = {}

    def place(item: ItemT | None) -> list[Any]:
        steps = []
        while item is not None:
            steps.append(key_of[item])
            item = parent[item]
        return steps[::-1]

    below: dict[ItemT | None, list[ItemT]] = {}
    for item in sorted(above, key=lambda item: key_of[item], reverse=True):
        candidates = list(dict.fromkeys(above[item]))
        parent[item] = candidates[0] if len(candidates) == 1 else max(candidates, key=place)
        below.setdefault(parent[item], []).append(item)
    order: list[ItemT] = []
    waiting = list(below.get(None, ()))
    while waiting:
        order.append(waiting.pop())
        waiting += below.get(order[-1], ())
    return order
