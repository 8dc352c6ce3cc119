"""Pure functions from a document to its new text. Each result is parsed again and checked before it is returned."""

from __future__ import annotations

from mdmem.document import Document
from mdmem.model import Op, SectionPath, Supersession
from mdmem.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class EditResult:
    """The result of an edit.

    `section` is the path afterwards, `supersedes` what the edit itself states. `intermediate` is the document without the lines that have
    to go out in a commit of their own first; `kept` is what a new value took over from the line that it replaced.
    """

    text: str
    op: Op
    section: SectionPath
    supersedes: tuple[Supersession, ...] = ()
    also: bool = False
    intermediate: Document | None = None
    kept: tuple[str, ...] = ()
