"""Sets of numbers as ranges: of commits of the trail, which mostly follow each other."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

Ranges = tuple[tuple[int, int], ...]
"""Numbers from each first to each last one, ascending and not adjacent."""
LAST_NUMBER = 2**62
"""Greater than the number of every commit."""
EVERY_NUMBER: Ranges = ((1, LAST_NUMBER),)


def of_numbers(numbers: Iterable[int]) -> Ranges:
    """The ranges of some numbers."""
    ranges: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if ranges and number <= ranges[-1][1] + 1:
            ranges[-1] = ranges[-1][0], max(ranges[-1][1], number)
        else:
            ranges.append((number, number))
    return tuple(ranges)


def holds(ranges: Ranges, number: int) -> bool:
    """True if a number is in one of the ranges."""
    at = bisect_right(ranges, (number, 2**63)) - 1
    return at >= 0 and number <= ranges[at][1]


def complement(ranges: Ranges, last: int) -> Ranges:
    """The numbers from 1 up to `last` that are in no range."""
    gaps: list[tuple[int, int]] = []
    start = 1
    for first, end in ranges:
        if first > last:
            break
        if start < first:
            gaps.append((start, first - 1))
        start = end + 1
    if start <= last:
        gaps.append((start, last))
    return tuple(gaps)


def intersection(one: Ranges, other: Ranges) -> Ranges:
    """The numbers that are in both."""
    shared: list[tuple[int, int]] = []
    left = right = 0
    while left < len(one) and right < len(other):
        first, last = max(one[left][0], other[right][0]), min(one[left][1], other[right][1])
        if first <= last:
            shared.append((first, last))
        if one[left][1] < other[right][1]:
            left += 1
        else:
            right += 1
    return tuple(shared)


def union(one: Ranges, other: Ranges) -> Ranges:
    """The numbers that are in either."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted((*one, *other)):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(joined[-1][1], last)
        else:
            joined.append((first, last))
    return tuple(joined)


def as_text(ranges: Ranges) -> str | None:
    """The ranges as the trail stores them; None where there are none."""
    return " ".join(f"{first}-{last}" for first, last in ranges) or None


def parse(text: str | None) -> Ranges:
    """The ranges that `as_text` wrote."""
    pairs = (part.split("-") for part in text.split(" ")) if text else ()
    return tuple((int(first), int(last)) for first, last in pairs)
