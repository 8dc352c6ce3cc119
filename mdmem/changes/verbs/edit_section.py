"""`edit-section`: change one section of a file."""

from __future__ import annotations

from mdmem.changes.verbs import EditedText, Verb, named_file
from mdmem.editors import EditResult, section
from mdmem.folder import files, layout
from mdmem.lookup import lookup
from mdmem.model import FilePath, Op
from mdmem.model.errors import PathProblem, SectionProblem, field, number_of, shell_word
from mdmem.model.writes import Action, EditSection, Remember
from mdmem.startup import late
from mdmem.startup.records import replace
from mdmem.text.document import Document, parse
from mdmem.workspace import Workspace


def _edit(
    workspace: Workspace, edit: EditSection, path: FilePath, document: Document | None
) -> EditedText:
    if document is None:
        require_create(workspace, edit, path)
        document = parse(layout.NEW_TASKS if path == layout.TASKS_PATH else "")
    try:
        edited = EditedText(result=section.edit(document, replace(edit, file=path)))
    except SectionProblem as problem:
        if edit.after is not None:
            raise
        raise lookup.with_suggestions(
            workspace,
            problem,
            edit.section,
            edit.file,
            lambda path: f"{field('file')} {shell_word(path)}",
        ) from problem
    renames = edit.action is Action.RENAME and edited.result.text != document.text
    if not renames or not workspace.updates_links or workspace.contents is not None:
        return edited
    return _with_links(workspace, path, document, edited.result)


def _with_links(
    workspace: Workspace, path: FilePath, document: Document, result: EditResult
) -> EditedText:
    """The edit with the links to the heading that it renames, in all files that it may change."""
    changed = late.module("lookup.links").with_links(workspace, path, document, result.text)
    if not changed:
        return EditedText(result=result)
    count = number_of(sum(number for _, number in changed.values()), "link")
    texts = {each: text for each, (text, _) in changed.items()}
    result = replace(result, text=texts.pop(path, result.text), op=Op.LINKS)
    note = f"changed {count} to it in {number_of(len(changed), 'file')}"
    return EditedText(result=result, others=tuple(texts.items()), notes=(note,))


def require_create(workspace: Workspace, edit: EditSection | Remember, path: FilePath) -> None:
    """Raises: PathProblem (`file-not-found`; `bad-path`: it would be a second curated file)."""
    if not edit.create:
        raise lookup.missing_file(workspace, path, f"To create it, use {field('create')}.")
    curated = workspace.curated
    if (
        path.casefold() == curated.casefold()
        and files.read(files.path_on_disk(workspace.root, curated)) is not None
    ):
        raise PathProblem(
            "bad-path",
            f"{path} would be a second curated file: {curated} already exists",
            f"Name {curated}.",
        )


VERB = Verb(
    file=lambda workspace, edit: named_file(workspace, edit.file),
    edit=_edit,
    new_texts=lambda edit: (edit.replacement if edit.action is Action.REPLACE else edit.text,),
    appends=lambda edit: edit.action is Action.APPEND,
)
