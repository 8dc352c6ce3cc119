"""Add mdmem's instructions to agents to a file, or remove them."""

from __future__ import annotations

from mdmem.changes.verbs import EditedText, InstructionsEdit, Verb
from mdmem.editors import instructions
from mdmem.folder import installed
from mdmem.model import FilePath
from mdmem.text.document import Document, parse
from mdmem.workspace import Workspace


def _edit(
    workspace: Workspace, edit: InstructionsEdit, path: FilePath, document: Document | None
) -> EditedText:
    start = document or parse("")
    if edit.remove:
        return EditedText(result=instructions.take_out(start))
    return EditedText(result=instructions.put_in(start, installed.template("agents.md")))


VERB = Verb(file=lambda workspace, edit: edit.path, edit=_edit, appends=lambda edit: False)
