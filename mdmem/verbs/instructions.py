"""Put mdmem's instructions to agents into a file, or take them out."""

from __future__ import annotations

from mdmem import packaged_files
from mdmem.document import Document, parse
from mdmem.editors import instructions
from mdmem.model import FilePath
from mdmem.verbs import EditedText, InstructionsEdit, Verb
from mdmem.workspace import Workspace


def _edit(workspace: Workspace, edit: InstructionsEdit, path: FilePath, document: Document | None) -> EditedText:
    start = document or parse("")
    if edit.remove:
        return EditedText(result=instructions.take_out(start))
    return EditedText(result=instructions.put_in(start, packaged_files.template("agents.md")))


VERB = Verb(file=lambda workspace, edit: edit.path, edit=_edit, appends=lambda edit: False)
