"""`remember`: add a fact to a curated file."""

from __future__ import annotations

from mdmem.changes.verbs import EditedText, Verb, foundations, named_file
from mdmem.changes.verbs.edit_section import require_create
from mdmem.editors import facts as fact_editor
from mdmem.folder import layout
from mdmem.lookup import dates, lookup
from mdmem.model import FactId, FileKind, FilePath
from mdmem.model.errors import field, verb
from mdmem.model.rules import is_iso_day
from mdmem.model.writes import Remember
from mdmem.past.messages import CommitNote
from mdmem.startup.records import replace
from mdmem.text.document import Document, address_of, parse
from mdmem.text.fact_names import items_matching
from mdmem.text.facts import TASK_BOX, items
from mdmem.workspace import Workspace


def _with_iso_day(workspace: Workspace, edit: Remember) -> Remember:
    """Resolve a future day. Raises: UsageProblem (no day), DateProblem (`ambiguous-date`)."""
    if edit.until is None or is_iso_day(edit.until):
        return edit
    return replace(edit, until=dates.last_day_to_come(workspace, edit.until, "until").isoformat())


def _with_entry(workspace: Workspace, edit: Remember) -> Remember:
    """Raises: FactProblem (`fact-not-found`, `fact-ambiguous`)."""
    if edit.entry is None:
        return edit
    lines = lookup.current_locations(
        workspace, lookup.locate_fact(workspace, edit.entry, (FileKind.DAILY,))
    )
    fact = lookup.meant_location(
        workspace, lines, edit.entry, lambda fact: f"{verb('remember', 'entry')} {fact}"
    ).item.fact
    return replace(
        edit,
        entry=fact.id,
        text=edit.text or fact.text,
        kind=edit.kind or fact.kind,
        tags=edit.tags or fact.tags,
    )


def _at_home(workspace: Workspace, edit: Remember) -> Remember:
    """Put a successor into the note and section of the fact it supersedes, unless the request names
    a file or a section; it is a task if that is one.
    """
    name = edit.options.supersedes
    if name is None or edit.file is not None or edit.section is not None:
        return edit
    places = lookup.locate_fact(workspace, name, lookup.EDITABLE)
    if not places:
        if _is_current(workspace, name):
            return edit
        return replace(edit, file=lookup.file_of_nested(workspace, name, None))
    if len(places) != 1 or places[0].path == workspace.curated:
        return edit
    (place,) = places
    section = place.document.section_at(place.item.start)
    address, nth = (section and address_of(place.document, section)) or (None, None)
    if not address or nth or layout.within(place.path, workspace.settings.extra_paths):
        return edit
    box = TASK_BOX.match(place.item.fact.text)
    text = f"{box[0]}{edit.text}" if box and not edit.key else edit.text
    return replace(edit, file=place.path, section=address, text=text)


def _edit(
    workspace: Workspace, edit: Remember, path: FilePath, document: Document | None
) -> EditedText:
    if document is None:
        require_create(workspace, edit, path)
        document = parse("")
    edit = replace(edit, file=path)
    similar = fact_editor.similar_items(document, edit)
    if edit.key and not similar and (problem := lookup.field_problem(workspace, edit.key, path)):
        raise problem
    # In a proposal a value replaces another whatever the sources: a person is to decide.
    needs_foundations = (
        similar
        and workspace.contents is None
        and fact_editor.needs_foundations(
            edit, similar, foundations.own_foundation(workspace, edit.options)
        )
    )
    item_foundations = (
        foundations.find_foundations(workspace, path, document, similar, edit.options)
        if needs_foundations
        else None
    )
    name = edit.options.supersedes
    is_nested = bool(
        name
        and not items_matching(items(document), name)
        and not _is_current(workspace, name)
        and fact_editor.nested_named(document, name, edit.section)
    )
    result, fact = fact_editor.remember(
        document, edit, workspace.now().date(), similar, item_foundations, is_nested or not name
    )
    if is_nested:
        around = result.supersedes[0].old if result.supersedes else fact
        return EditedText(result=result, fact=fact, superseded=around)
    return EditedText(result=result, fact=fact, foundations=item_foundations)


def _is_current(workspace: Workspace, name: str) -> bool:
    """True if a fact of memory, be it in a log, is meant. Raises FactProblem (`fact-ambiguous`: a
    nested item has these words too).
    """
    found = lookup.locate_fact(workspace, name, tuple(FileKind))
    current = lookup.current_locations(workspace, found) if found else []
    lookup.require_none_nested(
        workspace, name, current, lambda meant: f"{field('supersedes')} {meant}"
    )
    return bool(current)


def _complete_note(note: CommitNote, edit: Remember, added: tuple[FactId, ...]) -> CommitNote:
    return (
        replace(note, promotes=((FactId(edit.entry), added[-1]),)) if edit.entry and added else note
    )


VERB = Verb(
    file=lambda workspace, edit: named_file(workspace, edit.file),
    edit=_edit,
    new_texts=lambda edit: (edit.key or "", edit.text),
    appends=lambda edit: False,
    with_iso_day=_with_iso_day,
    with_entry=lambda workspace, edit: _with_entry(workspace, _at_home(workspace, edit)),
    complete_note=_complete_note,
)
