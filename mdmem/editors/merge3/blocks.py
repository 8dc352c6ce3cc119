"""The three-way merge of a unit that both sides have: a list item, a table, another block."""

from __future__ import annotations

from mdmem.editors.merge3.atoms import MergedText
from mdmem.editors.merge3.tables import Table, merge_tables
from mdmem.editors.merge3.values import choices, merge_items, merge_lines
from mdmem.text.scan import BlockKind


def merge_unit(
    kind: BlockKind | None, base: str | None, ours: str, theirs: str, is_guess: bool
) -> MergedText:
    """What remains of a unit. Raises TextProblem where git must merge the file."""
    if kind is BlockKind.ITEM:
        return MergedText(merge_items(base, ours, theirs, is_guess))
    return merge_blocks(base, ours, theirs)


def merge_blocks(base: str | None, ours: str, theirs: str) -> MergedText:
    """The block that holds both sides' edits; both blocks where they changed the same lines."""
    if base is not None and len(sides := choices(base, ours, theirs)) == 1:
        return MergedText(sides)
    if ours == theirs:
        return MergedText((ours,))
    if base is not None:
        o, a, b = map(Table.read, (base, ours, theirs))
        if o and a and b:
            return merge_tables(o, a, b)
    lines = (
        None
        if base is None
        else merge_lines(base.split("\n"), ours.split("\n"), theirs.split("\n"))
    )
    return MergedText(tuple(sorted((ours, theirs))) if lines is None else ("\n".join(lines),))
