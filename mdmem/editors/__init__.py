"""Pure functions from a document to its new text, which is parsed again and checked."""

from __future__ import annotations

from mdmem.model import FactId, Op, SectionPath, Supersession
from mdmem.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class EditResult:
    """The result of an edit.

    `section` is the path afterwards. `contradicts`: current values of a key beside a new one.
    `confirms`: facts with better provenance now. `kept`: taken over from the replaced line.
    """

    text: str
    op: Op
    section: SectionPath
    supersedes: tuple[Supersession, ...] = ()
    also: bool = False
    contradicts: tuple[FactId, ...] = ()
    confirms: tuple[FactId, ...] = ()
    kept: tuple[str, ...] = ()
    more_sections: tuple[SectionPath, ...] = ()
