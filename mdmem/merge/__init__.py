"""Have git merge memory files by section and fact, and make its merges again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mdmem.errors import PathProblem
from mdmem.model import FactId, FileKind
from mdmem.text.document import parse_bytes
from mdmem.text.facts import items

if TYPE_CHECKING:
    from mdmem.editors.merge3.merging import MergeResult


def merge_by_section(
    base: bytes, ours: bytes, theirs: bytes, kind: FileKind = FileKind.EVERGREEN
) -> MergeResult:
    """Three versions of a file merged by section and fact, as git's merge driver does it."""
    # twenty modules, which a write needs only where two edits met
    from mdmem.editors.merge3.merging import merge3  # noqa: PLC0415

    return merge3(base, ours, theirs, kind)


def ids_in(data: bytes) -> frozenset[FactId]:
    """The ids of a text's facts, and of parts of its blocks, that notes on a merge may name."""
    from mdmem.editors.merge3.merging import ids_of_atoms  # noqa: PLC0415

    try:
        document = parse_bytes(data)
    except PathProblem:
        return frozenset()
    return ids_of_atoms(document) | {item.fact.id for item in items(document)}
