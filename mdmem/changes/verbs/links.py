"""Change links to notes that were renamed, in all files at once."""

from __future__ import annotations

from mdmem.changes.verbs import EditedText, Verb
from mdmem.editors import EditResult
from mdmem.model import FilePath, Op
from mdmem.model.reads import FileNames
from mdmem.model.writes import WriteOptions
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.document import Document
from mdmem.workspace import Workspace


@dataclass(frozen=True, slots=True)
class LinksEdit:
    """`path` is one of the files with links to `renamed` notes, by their names of before."""

    verb = "links"
    home = "changes.verbs.links"

    path: FilePath
    renamed: FileNames
    options: WriteOptions


def _edit(
    workspace: Workspace, edit: LinksEdit, path: FilePath, document: Document | None
) -> EditedText:
    changed = late.module("lookup.links").with_renamed_notes(workspace, edit.renamed)
    own = changed.pop(path, document.text if document else "")
    result = EditResult(text=own, op=Op.LINKS, section=())
    return EditedText(result=result, others=tuple(changed.items()))


VERB = Verb(file=lambda workspace, edit: edit.path, edit=_edit, appends=lambda edit: False)
