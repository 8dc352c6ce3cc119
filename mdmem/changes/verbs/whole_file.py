"""Edits of a whole file of any name, as an agent's file tool makes them."""

from __future__ import annotations

from mdmem.changes.verbs import EditedText, Verb
from mdmem.editors import whole_file
from mdmem.folder import layout
from mdmem.model import FileKind, FilePath
from mdmem.model.writes import WholeFileEdit
from mdmem.text.document import Document
from mdmem.workspace import Workspace


def _edit(
    workspace: Workspace, edit: WholeFileEdit, path: FilePath, document: Document | None
) -> EditedText:
    return EditedText(
        result=whole_file.edit(document, edit, is_log=workspace.kind_of(path) is FileKind.DAILY)
    )


VERB = Verb(
    file=lambda workspace, edit: layout.parse_any_path(edit.path),
    edit=_edit,
    new_texts=whole_file.new_texts,
)
