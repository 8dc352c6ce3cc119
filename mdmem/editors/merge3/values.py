"""Symmetric three-way merges of one value: plain, a set, lines, a list item."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from mdmem.editors.list_items import BLOCK_ID, ItemParts
from mdmem.editors.merge3.atoms import AtomKind, merge_atoms
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.text.facts import MARKER, TASK_BOX, before_marks, before_tags, normalise, split_until

Value = TypeVar("Value")


def choices(base: Value | None, ours: Value, theirs: Value) -> tuple[Value, ...]:
    """Merge a value (base None: a new one): the changed one, or both where the sides differ."""
    if ours == theirs or theirs == base:
        return (ours,)
    return (theirs,) if ours == base else (ours, theirs)


def merge_sets(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> list[str]:
    in_both = {*ours} & {*theirs}
    added = ({*ours} | {*theirs}).difference(base)
    return list(dict.fromkeys((*(item for item in base if item in in_both), *sorted(added))))


class MergedLines(NamedTuple):
    """`pairs`: different lines in one place, each of one side; `kept`: as in `MergedText`."""

    lines: list[str]
    pairs: tuple[tuple[str, str], ...]
    kept: tuple[str, ...]


def merge_lines(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> MergedLines:
    """Lines with both sides' edits; insertions at one place are sorted."""
    merged = merge_atoms((base, ours, theirs), _LINE_KIND)
    atoms = [triple.atoms for triple in merged]
    return MergedLines(
        lines=[line for lines in atoms for line in lines],
        pairs=tuple((lines[0], lines[1]) for lines in atoms if len(lines) == 2),
        kept=tuple(triple.atoms[0] for triple in merged if triple.is_kept),
    )


_LINE_KIND = AtomKind(names=(lambda line: line,), combine=choices, may_move=False)


_COMMENT = late.pattern(r"(?s)\s*<!--.*?-->")


@dataclass(frozen=True, slots=True)
class ItemText:
    """The pieces of a list item; with tags before `comments`, joined, they are the item."""

    marker: str
    kind: str
    box: str
    words: str
    until: str
    tags: str
    comments: str
    block_id: str
    beneath: str

    @classmethod
    def read(cls, item: str) -> ItemText:
        parts = ItemParts.read(item)
        marker = MARKER.match(parts.start)
        start = marker.end() if marker else 0
        head = parts.head
        marks = before_marks(head)
        end, tags = before_tags(head, marks)
        if not tags or not head[:end].strip():
            end = marks
        words = len(split_until(head[:end])[0])
        box = TASK_BOX.match(head[:words])
        block = BLOCK_ID.search(head, marks)
        block_start = block.start() if block else len(head)
        return cls(
            marker=parts.start[:start],
            kind=parts.start[start:],
            box=box[0] if box else "",
            words=head[box.end() if box else 0 : words],
            until=head[words:end],
            tags=head[end:marks],
            comments=head[marks:block_start],
            block_id=head[block_start:],
            beneath=parts.beneath,
        )

    def __str__(self) -> str:
        return "".join(
            (
                self.marker,
                self.kind,
                self.box,
                self.words,
                self.until,
                self.tags,
                self.comments,
                self.block_id,
                self.beneath,
            )
        )


def merge_items(
    base: str | None, ours: str, theirs: str, is_guess: bool = False
) -> tuple[str, ...]:
    """The item with both sides' edits, or both items, sorted, where they disagree.

    Args:
        base: None where both added the same words.
        is_guess: they may be different items, so words are not combined.
    """
    if ours == theirs:
        return (ours,)
    if base is not None and len(sides := choices(base, ours, theirs)) == 1:
        return sides
    both = tuple(sorted((ours, theirs)))
    a, b = ItemText.read(ours), ItemText.read(theirs)
    o = ItemText.read(base) if base is not None else None
    if a.words != b.words and (
        not any(_is_ticked(o, side) for side in (a, b))
        if is_guess and o
        else is_guess or (base is None and normalise(a.words) != normalise(b.words))
    ):
        return both
    marker = choices(o.marker, a.marker, b.marker) if o else (a.marker, b.marker)
    box = choices(o.box, a.box, b.box) if o else (a.box, b.box)
    single = [choices(x, y, z) for x, y, z in _plain_parts(o, a, b)]
    beneath = merge_lines(*((part.beneath if part else "").split("\n") for part in (o, a, b)))
    comments = _merge_comments(o.comments if o else "", a.comments, b.comments)
    if beneath.pairs or comments is None or any(len(part) > 1 for part in single):
        return both
    (words,), (kind,), (until,), (block_id,) = single
    tags = _merge_tags(o.tags if o else "", a.tags, b.tags)
    item = ItemText(
        marker=min(marker),
        kind=kind,
        box=max(box),
        words=words,
        until=until,
        tags=tags,
        comments=comments,
        block_id=block_id,
        beneath="\n".join(beneath.lines),
    )
    return (str(item),)


def _is_ticked(old: ItemText, item: ItemText) -> bool:
    return replace(item, marker=old.marker, box=old.box) == old


def _plain_parts(o: ItemText | None, a: ItemText, b: ItemText) -> list[tuple[str, str, str]]:
    words = (o.words, a.words, b.words) if o else (max(a.words, b.words), a.words, b.words)
    return [
        words,
        (o.kind if o else "", a.kind, b.kind),
        (o.until if o else "", a.until, b.until),
        (o.block_id if o else "", a.block_id, b.block_id),
    ]


def _merge_tags(base: str, ours: str, theirs: str) -> str:
    sides = choices(base, ours, theirs)
    if len(sides) == 1:
        return sides[0]
    return "".join(
        f" {tag}" for tag in merge_sets(*(text.split() for text in (base, ours, theirs)))
    )


def _merge_comments(base: str, ours: str, theirs: str) -> str | None:
    sides = choices(base, ours, theirs)
    if len(sides) == 1:
        return sides[0]
    if not all(side.strip() for side in sides):
        return None
    return "".join(
        f" {comment}"
        for comment in merge_sets(
            *([c.strip() for c in _COMMENT.findall(text)] for text in (base, ours, theirs))
        )
    )
