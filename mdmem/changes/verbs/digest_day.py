"""Session entries in the log of a day, and the note of their commit."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import lru_cache
from pathlib import PurePosixPath

from mdmem.changes.verbs import DIGEST, EditedText, Verb
from mdmem.editors import EditResult, daily, sameness
from mdmem.editors import facts as fact_editor
from mdmem.model import FactId, FilePath, Op, SectionPath, Supersession
from mdmem.model.rules import is_iso_day
from mdmem.model.writes import DayEntry, DigestDay
from mdmem.past.messages import CommitNote
from mdmem.startup.records import replace
from mdmem.text.document import Document, Section, is_blank
from mdmem.text.facts import items, parse_item, write_item
from mdmem.workspace import Workspace


def edit(document: Document, change: DigestDay) -> EditResult:
    """Add new entries to a daily log, without repeats. Raises: SectionProblem (`open-block`)."""
    entries: dict[str, list[str]] = {}
    supersedes: list[Supersession] = []
    facts = {item.fact.id: item.fact.text for item in items(document)}
    statements = sameness.StatementIndex(facts.values())
    for entry in change.entries:
        fact = entry_fact(entry)
        corrects = entry.supersedes is not None or bool(entry.contradicts)
        if fact in facts or (not corrects and statements.holds_like(entry.text)):
            continue
        entries.setdefault(entry.minute, []).append(_item(entry))
        facts[fact] = entry.text
        statements.add(entry.text)
        if entry.supersedes is not None:
            supersedes.append(Supersession(entry.supersedes, fact))
    if not entries:
        return EditResult(text=document.text, op=Op.DIGEST, section=())
    is_place: Callable[[Section], bool] = (
        (lambda section: is_iso_day(section.title)) if change.file else daily.is_minute
    )
    return replace(daily.insert(document, entries, is_place), supersedes=tuple(supersedes))


def take_out(document: Document, facts: Collection[FactId]) -> EditResult:
    """Headings of minutes left empty go too. Raises: SectionProblem (`body-escapes-section`)."""
    sections: list[SectionPath] = []
    text = document.text
    for fact in facts:
        current = document.reparse(text)
        item = next((each for each in items(current) if each.fact.id == fact), None)
        if item is not None:
            result = fact_editor.forget(current, item)
            sections.append(result.section)
            text = _without_heading(current.reparse(result.text), current.path_at(item.start))
    return EditResult(text=text, op=Op.REVERT, section=sections[0] if sections else ())


def _without_heading(document: Document, path: SectionPath) -> str:
    section = next((each for each in document.sections if each.path == path), None)
    if (
        section is None
        or not daily.is_minute(section)
        or document.slice(section.body, section.tree_end).strip()
    ):
        return document.text
    start = section.start
    while (
        section.tree_end == len(document.lines)
        and start > document.front
        and is_blank(document.lines[start - 1])
    ):
        start -= 1
    return (
        document.bom
        + document.slice(0, start)
        + document.slice(section.tree_end, len(document.lines))
    )


def _complete_note(note: CommitNote, change: DigestDay, added: tuple[FactId, ...]) -> CommitNote:
    entries = [(fact, entry) for entry in change.entries if (fact := entry_fact(entry)) in added]
    session, *more_sessions = dict.fromkeys(entry.session for _, entry in entries)
    return replace(
        note,
        provenance=replace(note.provenance, actor=DIGEST, session=session),
        more_sessions=tuple(more_sessions),
        run=change.run,
        cites=tuple((fact, entry.cites) for fact, entry in entries),
        keys=tuple((fact, entry.key) for fact, entry in entries if entry.key is not None),
        senders=tuple((fact, entry.sender) for fact, entry in entries if entry.sender is not None),
        contradicts=tuple((old, fact) for fact, entry in entries for old in entry.contradicts),
        reads=change.reads,
    )


@lru_cache(maxsize=1024)
def entry_fact(entry: DayEntry) -> FactId:
    return parse_item(_item(entry)).id


def _item(entry: DayEntry) -> str:
    return write_item(entry.text, kind=entry.kind)


def _edit(
    workspace: Workspace, change: DigestDay, path: FilePath, document: Document | None
) -> EditedText:
    if document is None:
        title = f"# {PurePosixPath(path).stem}\n"
        text = title if change.file else workspace.new_log(path, change.day)
        document = workspace.parse(path, text)
    return EditedText(result=edit(document, change))


VERB = Verb(
    file=lambda workspace, edit: edit.file or workspace.log_path(edit.day),
    edit=_edit,
    new_texts=lambda edit: tuple(entry.text for entry in edit.entries),
    complete_note=_complete_note,
)
