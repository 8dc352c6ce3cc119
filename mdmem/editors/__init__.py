"""Pure functions from a document to its new text. Each result is parsed again and checked before it
is returned.
"""

from __future__ import annotations

from mdmem.model import FactId, Op, SectionPath, Supersession
from mdmem.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class EditResult:
    """The result of an edit.

    `section` is the path afterwards, `supersedes` what the edit itself states. `contradicts` are
    current values of a key that stay beside a new one, `confirms` are facts that are better founded
    now, and `kept` is what a new value took over from the line that it replaced. `more_sections`
    are the other sections that the edit added to.
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
