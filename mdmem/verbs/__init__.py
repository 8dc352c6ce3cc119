"""The verbs that write one file, a module each: which file, and what becomes of its text. Nothing
is written here.

A verb is one value, `VERB`, that is loaded by the name of its module: no command pays for another.
It knows neither doors nor git.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias

from mdmem.editors import EditResult
from mdmem.errors import PathProblem, SectionProblem
from mdmem.folder import layout
from mdmem.model import CommitId, FactId, FileKind, FilePath
from mdmem.model.writes import WriteOptions
from mdmem.startup.records import dataclass, replace
from mdmem.text.document import Document
from mdmem.verbs.superseding import without_superseded
from mdmem.wording import field, verb
from mdmem.workspace import Workspace

if TYPE_CHECKING:
    from mdmem.editors.list_items import Foundations
    from mdmem.history import CommitNote
    from mdmem.model.writes import DigestDay, EditSection, Forget, Log, Remember, WholeFileEdit
    from mdmem.proposals.parts import Part


@dataclass(frozen=True, slots=True)
class RevertEdit:
    """Take one change of a file back: what it made (`after`) of what was there (`before`), or only
    of the lines of these facts.

    `from_log`: the entries of these facts go out of a day's log.
    """

    path: FilePath
    before: str
    after: str
    only: frozenset[FactId] | None
    reverts: CommitId
    options: WriteOptions
    from_log: bool


@dataclass(frozen=True, slots=True)
class InstructionsEdit:
    """Put mdmem's instructions to agents into a file, or take them out."""

    path: FilePath
    remove: bool
    options: WriteOptions


@dataclass(frozen=True, slots=True)
class PartTaking:
    """A part of a proposal to be taken onto memory.

    `text` is a person's own wording; `anyway`: it is to be taken whatever has come in its place.
    """

    proposal: str
    part: Part
    text: str | None = None
    anyway: bool = False


@dataclass(frozen=True, slots=True)
class AcceptEdit:
    """Put a part of a proposal onto a file."""

    taking: PartTaking
    options: WriteOptions


FileEdit: TypeAlias = (
    "EditSection | Log | Remember | Forget | RevertEdit | InstructionsEdit | AcceptEdit | DigestDay"
    " | WholeFileEdit"
)

_MODULES = {
    "EditSection": "edit_section",
    "Log": "log",
    "Remember": "remember",
    "Forget": "forget",
    "RevertEdit": "revert",
    "InstructionsEdit": "instructions",
    "AcceptEdit": "accept",
    "DigestDay": "digest_day",
    "CreateFile": "whole_file",
    "ReplaceText": "whole_file",
    "InsertText": "whole_file",
}
"""The module of each record of arguments."""


@dataclass(frozen=True, slots=True)
class EditedText:
    """A file as an edit leaves it.

    `fact` is the one that the edit is about, `superseded` the one that went out for it, `retracts`
    are lines of a day's log that count no more. `foundations`: those of the items before the edit,
    where it had to know them.
    """

    result: EditResult
    fact: FactId | None = None
    superseded: FactId | None = None
    retracts: tuple[FactId, ...] = ()
    foundations: Foundations | None = None


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb that writes one file. Its functions take an edit, a record of its arguments.

    - `file(workspace, edit)`: the file that it goes to. `new_texts(edit)`: the texts that it brings
      in.
    - `edit(workspace, edit, path, document)`: the file afterwards; the document is None where there
      is no such file.
    - `appends(edit)`: True if it only adds to a day's log, or takes out what a digest wrote there.
    - `with_iso_day(workspace, edit)`, `with_entry(workspace, edit)`: the edit with what it names in
      words looked up.
    - `complete_note(note, edit, added)`: the commit's note with what only this verb states, of the
      facts that were added.
    """

    file: Callable[[Workspace, Any], FilePath]
    edit: Callable[[Workspace, Any, FilePath, Document | None], EditedText]
    new_texts: Callable[[Any], tuple[str, ...]] = lambda edit: ()
    appends: Callable[[Any], bool] = lambda edit: True
    with_iso_day: Callable[[Workspace, Any], FileEdit] = lambda workspace, edit: edit
    with_entry: Callable[[Workspace, Any], FileEdit] = lambda workspace, edit: edit
    complete_note: Callable[[CommitNote, Any, tuple[FactId, ...]], CommitNote] = (
        lambda note, edit, added: note
    )


def verb_of(edit: FileEdit) -> Verb:
    """The verb of an edit."""
    found: Verb = import_module(f"mdmem.verbs.{_MODULES[type(edit).__name__]}").VERB
    return found


def target_path(workspace: Workspace, edit: FileEdit) -> FilePath:
    """The file that an edit goes to.

    Raises:
        PathProblem: no file of the workspace that may be written. SectionProblem: `append-only`.
        FactProblem: no such fact.
    """
    verb_ = verb_of(edit)
    path = verb_.file(workspace, edit)
    require_writable(workspace, path)
    if workspace.kind_of(path) is FileKind.DAILY and not verb_.appends(edit):
        raise SectionProblem(
            "append-only",
            f"{path} is a daily log: entries can only be added",
            f"Log a new entry; {field('supersedes')} ID says which one it replaces.",
        )
    return path


def named_file(workspace: Workspace, file: str | None) -> FilePath:
    """The file that a user names, else the curated one.

    Raises:
        PathProblem: `bad-path`.
    """
    return workspace.curated if file is None else layout.parse_path(file)


def require_writable(workspace: Workspace, path: FilePath) -> None:
    """Refuse a path below `extra_paths`, or in another repository.

    Raises:
        PathProblem: `read-only-path`, `bad-path`.
    """
    if layout.within(path, workspace.settings.extra_paths):
        raise PathProblem(
            "read-only-path",
            f"{path} is under extra_paths, which are read-only",
            "Use the workspace that it belongs to.",
        )
    if folder := _nested_repository(workspace, path):
        raise PathProblem(
            "bad-path",
            f"{path} is in another repository, {folder}",
            f"To make it a workspace: {verb('init')} {folder}",
        )


def _nested_repository(workspace: Workspace, path: FilePath) -> str | None:
    """The folder on the way to a file that is a repository of its own."""
    folders = accumulate(path.split("/")[:-1], "{}/{}".format)
    return next((folder for folder in folders if (workspace.root / folder / ".git").exists()), None)


def edit_text(
    workspace: Workspace, edit: FileEdit, path: FilePath, document: Document | None
) -> EditedText:
    """Carry out an edit on a document, which is None where there is no such file.

    The item that `supersedes` names goes out of a file that is edited in place.

    Raises:
        MdmemError: it cannot be done.
    """
    edited = verb_of(edit).edit(workspace, edit, path, document)
    if (
        document is None
        or edit.options.supersedes is None
        or workspace.kind_of(path) is FileKind.DAILY
    ):
        return edited
    result, superseded = without_superseded(
        workspace, path, document, edited.result, edit.options.supersedes, successor=edited.fact
    )
    return replace(edited, result=result, superseded=superseded)
