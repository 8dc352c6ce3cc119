"""The entries of a session in the log of a day, and what their commit says of them."""

from __future__ import annotations

from mdmem import history
from mdmem.document import Document, parse
from mdmem.editors import EditResult, daily, likeness
from mdmem.facts import find_same_item, items, parse_item, write_item
from mdmem.model import FactId, Op, SectionPath, Supersession
from mdmem.model.writes import DayEntry, DigestDay
from mdmem.startup.records import replace

ACTOR = "digest"
"""The actor of these commits, one of mdmem's own."""


def edit(document: Document, change: DigestDay) -> EditResult:
    """Put the entries that are new into a day's log; one that stands there, or is like one that does, is left out.

    Raises:
        SectionProblem: `open-block`.
    """
    start = EditResult(text=document.text, op=Op.DIGEST, section=())
    sections: list[SectionPath] = []
    supersedes: list[Supersession] = []
    texts = [item.fact.text for item in items(document)]
    for entry in change.entries:
        current = parse(start.text)
        if find_same_item(current, _item(entry)) is not None or any(likeness.resemble(entry.text, text) for text in texts):
            continue
        start = daily.insert(current, entry.minute, _item(entry))
        sections.append(start.section)
        texts.append(entry.text)
        if entry.supersedes is not None:
            supersedes.append(Supersession(entry.supersedes, entry_fact(entry)))
    first, *more = dict.fromkeys(sections) or [()]
    return replace(start, section=first, more_sections=tuple(more), supersedes=tuple(supersedes))


def complete_note(note: history.CommitNote, change: DigestDay, added: tuple[FactId, ...]) -> history.CommitNote:
    """The note of a digest's commit: the run, where each entry was said, the attributes, and how far the transcript is read."""
    entries = [(fact, entry) for entry in change.entries if (fact := entry_fact(entry)) in added]
    return replace(
        note,
        provenance=replace(note.provenance, actor=ACTOR),
        run=change.run,
        cites=tuple((fact, entry.cites) for fact, entry in entries),
        keys=tuple((fact, entry.key) for fact, entry in entries if entry.key is not None),
        contradicts=tuple((old, fact) for fact, entry in entries for old in entry.contradicts),
        reads=() if change.read is None else (change.read,),
    )


def entry_fact(entry: DayEntry) -> FactId:
    """The id of an entry as a fact."""
    return parse_item(_item(entry)).id


def _item(entry: DayEntry) -> str:
    return write_item(entry.text, kind=entry.kind)
