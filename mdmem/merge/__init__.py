"""Have git merge memory files by section and fact, and make its merges again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mdmem.model import FileKind

if TYPE_CHECKING:
    from mdmem.editors.merge3.merging import MergeResult


def merge_by_section(
    base: bytes, ours: bytes, theirs: bytes, kind: FileKind = FileKind.EVERGREEN
) -> MergeResult:
    """Three versions of a file merged by section and fact, as git's merge driver does it."""
    # twenty modules, which a write needs only where two edits met
    from mdmem.editors.merge3.merging import merge3  # noqa: PLC0415

    return merge3(base, ours, theirs, kind)
