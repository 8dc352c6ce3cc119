"""The three-way merge of one value: a plain value, a set, a run of lines, a block. All are symmetric in the two sides."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

from mdmem.editors.merge3.sequences import matching_items

Value = TypeVar("Value")


def choices(base: Value, ours: Value, theirs: Value) -> tuple[Value, ...]:
    """Merge a value: the changed one where one side changed it, both where the sides changed it to different ones."""
    if ours == theirs or theirs == base:
        return (ours,)
    return (theirs,) if ours == base else (ours, theirs)


def merge_sets(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> list[str]:
    """The items of the base that no side took out, in their order, and behind them the added ones, sorted."""
    in_both = {*ours} & {*theirs}
    added = ({*ours} | {*theirs}).difference(base)
    return list(dict.fromkeys((*(item for item in base if item in in_both), *sorted(added))))


def merge_lines(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> list[str] | None:
    """The lines of a block with the edits of both sides; None where both changed the same lines.

    Where both put lines in at one place, the piece that sorts first is first.
    """
    result: list[str] = []
    for chunk in _chunks(base, ours, theirs):
        merged = _merge_chunk(*chunk)
        if merged is None:
            return None
        result += merged
    return result


_Chunk = tuple[Sequence[str], Sequence[str], Sequence[str]]


def _chunks(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> list[_Chunk]:
    """The lines before, between and behind those that all three have, and these."""
    if len(base) == len(ours) == len(theirs):
        return [(base, ours, theirs)]
    in_ours, in_theirs = dict(matching_items(base, ours)), dict(matching_items(base, theirs))
    kept = [line for line in in_ours if line in in_theirs]
    points = [(-1, -1, -1), *((line, in_ours[line], in_theirs[line]) for line in kept), (len(base), len(ours), len(theirs))]
    chunks: list[_Chunk] = []
    for (o, a, b), (next_o, next_a, next_b) in pairwise(points):
        if o >= 0:
            chunks.append((base[o : o + 1],) * 3)
        chunks.append((base[o + 1 : next_o], ours[a + 1 : next_a], theirs[b + 1 : next_b]))
    return chunks


def _merge_chunk(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> list[str] | None:
    """The merge of lines that lie between lines which all three have; None where the sides contradict each other."""
    head, tail = _common_ends(ours, theirs)
    for start, end in ((0, 0), (head, 0), (0, tail), (head, tail)):
        inner = _merge_lines_apart(base, ours[start : len(ours) - end], theirs[start : len(theirs) - end])
        if inner is not None:
            return [*ours[:start], *inner, *ours[len(ours) - end :]]
    shorter, longer = sorted((ours, theirs), key=len)
    return list(longer) if len(shorter) in (head, tail) else None


def _common_ends(ours: Sequence[str], theirs: Sequence[str]) -> tuple[int, int]:
    most = min(len(ours), len(theirs))
    head = next((n for n in range(most) if ours[n] != theirs[n]), most)
    return head, next((n for n in range(most - head) if ours[-1 - n] != theirs[-1 - n]), most - head)


def _merge_lines_apart(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> list[str] | None:
    """Lines of which one side changed some and the other some others, or added more behind them."""
    sides = choices(list(base), list(ours), list(theirs))
    if len(sides) == 1:
        return sides[0]
    if len(base) == len(ours) == len(theirs):
        lines = [choices(*line) for line in zip(base, ours, theirs, strict=True)]
        return [line for (line,) in lines] if all(len(line) == 1 for line in lines) else None
    size = len(base)
    tails = [side[size:] for side in sides if side[:size] == list(base)]
    if len(tails) == 2:
        return [*base, *_join_pieces(*tails)]
    if len(tails) == 1 and size:
        changed = sides[0] if sides[0][:size] != list(base) else sides[1]
        return [*changed, *tails[0]] if len(changed) == size else None
    return None


def _join_pieces(ours: Sequence[str], theirs: Sequence[str]) -> list[str]:
    """Two pieces put in at one place: their common ends once, and between them both middles, the one that sorts first first."""
    head, tail = _common_ends(ours, theirs)
    inner = sorted((list(ours[head : len(ours) - tail]), list(theirs[head : len(theirs) - tail])))
    return [*ours[:head], *inner[0], *inner[1], *ours[len(ours) - tail :]]


def merge_blocks(base: str | None, ours: str, theirs: str) -> tuple[str, ...]:
    """The block that holds both sides' edits; both blocks where they changed the same lines."""
    if base is not None and len(sides := choices(base, ours, theirs)) == 1:
        return sides
    if ours == theirs:
        return (ours,)
    lines = None if base is None else merge_lines(base.split("\n"), ours.split("\n"), theirs.split("\n"))
    return tuple(sorted((ours, theirs))) if lines is None else ("\n".join(lines),)
