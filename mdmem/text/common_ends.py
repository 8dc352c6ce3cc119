"""The common beginning and end of two sequences: of lines, words, entries or bytes. Pure."""

from __future__ import annotations

from collections.abc import Sequence

_CHUNK = 1024


def common_ends(old: Sequence[object], new: Sequence[object]) -> tuple[int, int]:
    """Count the items in the common beginning of two sequences, and in the rest's common end."""
    most = min(len(old), len(new))
    start = _common_start(old, new, most)
    return start, _common_start(old[::-1], new[::-1], most - start)


def _common_start(old: Sequence[object], new: Sequence[object], most: int) -> int:
    """Count the common first items, up to `most`: by large chunks, then by halves."""
    start, size = 0, _CHUNK
    while size:
        while start + size <= most and old[start : start + size] == new[start : start + size]:
            start += size
        size //= 2
    return start
