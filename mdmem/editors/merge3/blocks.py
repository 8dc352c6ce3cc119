"""The three-way merge of a unit that both sides have: a list item, a table, another block."""

from __future__ import annotations

from collections.abc import Iterator

from mdmem.editors.merge3.atoms import MergedText
from mdmem.editors.merge3.sentences import (
    Prose,
    Quote,
    merge_prose,
    merge_quotes,
    read_sentences,
)
from mdmem.editors.merge3.tables import Table, merge_tables
from mdmem.editors.merge3.values import choices, merge_items, merge_lines
from mdmem.editors.merge3.versions import Unit
from mdmem.errors import TextProblem
from mdmem.text.document import fold_space
from mdmem.text.scan import BlockKind


def merge_unit(
    kind: BlockKind | None, base: str | None, ours: str, theirs: str, is_guess: bool
) -> MergedText:
    """The unit that holds both sides' edits, or both units, each with the rest of both.

    `is_guess`: whether they are one unit is one. Raises TextProblem where git must merge the file.
    """
    if kind is BlockKind.ITEM:
        return MergedText(merge_items(base, ours, theirs, is_guess))
    if ours == theirs:
        return MergedText((ours,))
    if base is None:
        return MergedText(tuple(sorted((ours, theirs))))
    if len(sides := choices(base, ours, theirs)) == 1:
        return MergedText(sides)
    return _merge_as(kind, base, ours, theirs) or _merge_lines(base, ours, theirs)


def atoms_of(unit: Unit) -> Iterator[tuple[str, int]]:
    """The parts of a unit that a merge may name, and the line of each in it.

    An item, rows, sentences, a title, lines.
    """
    if unit.fact:
        yield unit.fact.text, 0
        return
    yield unit.words, 0
    if unit.table:
        yield from ((" | ".join(row.words), line) for line, row in enumerate(unit.table.rows, 2))
    else:
        quote = Quote.read(unit.text) if unit.kind is BlockKind.QUOTE else None
        text, line, start = (
            (quote.prose.text, int(quote.head is not None), 0) if quote else (unit.text, 0, 0)
        )
        yield fold_space(text), line
        for sentence, end in read_sentences(text):
            before = text[start:end]
            blank = before[: len(before) - len(before.lstrip())]
            yield sentence, line + text.count("\n", 0, start) + blank.count("\n")
            start = end
        yield from (
            (words, number) for number, words in enumerate(unit.text.split("\n")) if words.strip()
        )
        if quote and quote.head:
            yield quote.head[2], 0


def _merge_as(kind: BlockKind | None, base: str, ours: str, theirs: str) -> MergedText | None:
    """A table, a quote or a paragraph merged by its parts; None for another block."""
    match kind:
        case BlockKind.PARAGRAPH:
            o, a, b = (Table.read(text) for text in (base, ours, theirs))
            if o and a and b:
                return merge_tables(o, a, b)
            p, q, r = (Prose.read(text) for text in (base, ours, theirs))
            if p and q and r and not (o or a or b):
                return merge_prose(p, q, r)
        case BlockKind.QUOTE:
            x, y, z = (Quote.read(text) for text in (base, ours, theirs))
            if x and y and z:
                return merge_quotes(x, y, z)
    return None


def _merge_lines(base: str, ours: str, theirs: str) -> MergedText:
    """The block with both sides' lines; both blocks where they changed the same ones.

    Raises TextProblem where equal lines make it a guess which are which: a merge of the result with
    a side would be another one.
    """
    versions = [text.split("\n") for text in (base, ours, theirs)]
    merged = merge_lines(versions[0], versions[1], versions[2])
    if merged.pairs:
        return MergedText(tuple(sorted((ours, theirs))), merged.pairs)
    if any(len(set(lines[1:-1])) < len(lines[1:-1]) for lines in versions):  # all but the fence
        for side in versions[1:]:
            if merge_lines(versions[0], merged.lines, side).lines != merged.lines:
                raise TextProblem("bad-text", "equal lines of a block make its merge a guess")
    return MergedText(("\n".join(merged.lines),), kept=merged.kept)
