"""Pure functions from a document to the text that it becomes. Each result is parsed again and checked before it leaves."""

from __future__ import annotations

from mdmem.document import Document
from mdmem.model import Op, SectionPath, Supersession
from mdmem.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class EditResult:
    """What an edit makes of a document. `section` is the path afterwards; `supersedes` what the edit itself knows of.

    `cleared` is the document on the way, without what has to go out in a commit of its own before.
    """

    text: str
    op: Op
    section: SectionPath
    supersedes: tuple[Supersession, ...] = ()
    also: bool = False
    intermediate: Document | None = None
