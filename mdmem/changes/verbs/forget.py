"""`forget`: remove a fact from a curated file, or retract a line of a daily log."""

from __future__ import annotations

from mdmem.changes.verbs import EditedText, Verb
from mdmem.editors import EditResult
from mdmem.editors import facts as fact_editor
from mdmem.folder import layout
from mdmem.lookup import lookup
from mdmem.model import FileKind, FilePath, Op
from mdmem.model.writes import Forget
from mdmem.startup.records import replace
from mdmem.text.document import Document
from mdmem.workspace import Workspace


def _file(workspace: Workspace, edit: Forget) -> FilePath:
    return (
        lookup.file_of_fact(workspace, edit) if edit.file is None else layout.parse_path(edit.file)
    )


def _edit(
    workspace: Workspace, edit: Forget, path: FilePath, document: Document | None
) -> EditedText:
    if document is None:
        raise lookup.missing_file(workspace, path)
    locations = [
        lookup.FactLocation(path, document, item)
        for item in fact_editor.items_named(document, edit.fact, edit.section, path)
    ]
    if workspace.kind_of(path) is not FileKind.DAILY:
        if not locations and (
            nested := fact_editor.forget_nested(document, edit.fact, edit.section)
        ):
            return EditedText(result=nested)
        location = lookup.require_one_location(
            workspace, locations, edit.fact, lookup.forget_command
        )
        return EditedText(result=fact_editor.forget(document, location.item))
    # A line of a daily log stays, but is retracted.
    item = lookup.meant_location(
        workspace, lookup.current_locations(workspace, locations), edit.fact, lookup.forget_command
    ).item
    return EditedText(
        result=EditResult(text=document.text, op=Op.RETRACT, section=document.path_at(item.start)),
        retracts=(item.fact.id,),
    )


def _with_entry(workspace: Workspace, edit: Forget) -> Forget:
    """The curated fact that a night made of a log's line, where the words are the log's alone."""
    curated = lookup.promoted_fact(workspace, edit) if edit.file is None else None
    return edit if curated is None else replace(edit, fact=curated)


VERB = Verb(
    file=_file,
    edit=_edit,
    with_entry=_with_entry,
    complete_note=lambda note, edit, added: replace(note, only=edit.is_of_copy),
)
