"""Have git merge memory files by section and fact, and make its merges again."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from mdmem.model import FactId, FileKind
from mdmem.model.errors import PathProblem
from mdmem.text.document import Document, parse_bytes
from mdmem.text.facts import items

if TYPE_CHECKING:
    from mdmem.editors.merge3.merging import MergeResult, NamedAtom


def merge_by_section(
    base: bytes, ours: bytes, theirs: bytes, kind: FileKind = FileKind.EVERGREEN
) -> MergeResult:
    result: MergeResult = _merging().merge3(base, ours, theirs, kind)
    return result


def atoms_in(document: Document) -> tuple[NamedAtom, ...]:
    """The facts of a text and the parts of its blocks, by the ids that notes on a merge give."""
    return tuple(_merging().named_atoms(document))


def _merging() -> ModuleType:
    # twenty modules, which a write needs only where two edits met
    from mdmem.editors.merge3 import merging  # noqa: PLC0415

    return merging


def ids_in(data: bytes) -> frozenset[FactId]:
    """The ids of facts and of parts of blocks."""
    try:
        document = parse_bytes(data)
    except PathProblem:
        return frozenset()
    return frozenset(atom.id for atom in atoms_in(document)) | facts_in(data)


def facts_in(data: bytes) -> frozenset[FactId]:
    try:
        return frozenset(item.fact.id for item in items(parse_bytes(data)))
    except PathProblem:
        return frozenset()
