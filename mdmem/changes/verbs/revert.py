"""Revert one change of a file; `revert` makes such edits of commits, facts or runs."""

from __future__ import annotations

from mdmem.changes.verbs import EditedText, RevertEdit, Verb, digest_day
from mdmem.editors import EditResult
from mdmem.editors.merge3 import inverse_patch
from mdmem.model import FilePath
from mdmem.model.errors import SectionProblem
from mdmem.startup.records import replace
from mdmem.text.document import Document, parse
from mdmem.workspace import Workspace

_SHOWN_LINES = 5


def undone(edit: RevertEdit, document: Document) -> EditResult:
    """A document without a change. Raises: SectionProblem (`revert-conflict`)."""
    if edit.from_log:
        return digest_day.take_out(document, sorted(edit.only or ()))
    return inverse_patch.undo(document, edit.after, edit.before, edit.only)


def _edit(
    workspace: Workspace, edit: RevertEdit, path: FilePath, document: Document | None
) -> EditedText:
    try:
        return EditedText(result=undone(edit, document or parse("")))
    except SectionProblem as problem:
        details = problem.details
        hint = (
            f"{problem.marked_hint}\nNow: {_quote(details['now'])}\nBefore that commit:"
            f" {_quote(details['then'])}"
        )
        raise SectionProblem(
            problem.code, f"{edit.path}: {problem.message}", hint, path=edit.path, **details
        ) from problem


def _quote(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return (
        "\n      ".join(lines[:_SHOWN_LINES] + (["…"] if len(lines) > _SHOWN_LINES else []))
        or "(nothing)"
    )


VERB = Verb(
    file=lambda workspace, edit: edit.path,
    edit=_edit,
    appends=lambda edit: edit.from_log,
    complete_note=lambda note, edit, added: replace(note, reverts=(edit.reverts,)),
)
