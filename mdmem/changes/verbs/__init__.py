"""The verbs that write one file, a module each: its path and its new text, unwritten.

A verb is one value, `VERB`, loaded by its module's name: no command pays for another.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from itertools import accumulate
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

from mdmem.editors import EditResult
from mdmem.folder import layout
from mdmem.model import CommitId, FactId, FileKind, FilePath
from mdmem.model.errors import PathProblem, SectionProblem, field, shell_word, verb
from mdmem.model.writes import DigestDay, WriteOptions
from mdmem.startup.records import dataclass
from mdmem.text.document import Document
from mdmem.workspace import Workspace

if TYPE_CHECKING:
    from mdmem.editors.list_items import Foundations
    from mdmem.model.writes import UserEdit, WholeFileEdit
    from mdmem.past.messages import CommitNote


@dataclass(frozen=True, slots=True)
class RevertEdit:
    """`only`: its lines of these facts alone; `from_log`: remove their entries from a daily log."""

    verb = "revert"

    path: FilePath
    before: str
    after: str
    only: frozenset[FactId] | None
    reverts: CommitId
    options: WriteOptions
    from_log: bool


@dataclass(frozen=True, slots=True)
class InstructionsEdit:
    verb = "instructions"

    path: FilePath
    remove: bool
    options: WriteOptions


class EditElsewhere(Protocol):
    """An edit of another room; `home` is the module with its `VERB`."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def verb(self) -> str: ...
    @property
    def home(self) -> str: ...
    @property
    def options(self) -> WriteOptions: ...


DIGEST = "digest"
"""The actor of what a digest writes."""

FileEdit: TypeAlias = (
    "UserEdit | RevertEdit | InstructionsEdit | DigestDay | WholeFileEdit | EditElsewhere"
)


@dataclass(frozen=True, slots=True)
class EditedText:
    """`fact` is what the edit is about, `superseded` what it replaced.

    `retracts` are lines of a daily log no longer counted, `foundations` those of the items before,
    if looked up. `others` are other files' new texts.
    """

    result: EditResult
    fact: FactId | None = None
    superseded: FactId | None = None
    retracts: tuple[FactId, ...] = ()
    foundations: Foundations | None = None
    others: tuple[tuple[FilePath, str], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb that writes one file. Its functions take an edit, a record of its arguments.

    - `file` is its target path, `new_texts` what it adds; `edit` returns the new text, for a
      document that is None where there is no file.
    - `appends`: it only adds to a daily log, or removes what a digest wrote there.
    - `decides`: a person has seen what is there and decides between it and the edit.
    - `with_iso_day` and `with_entry` look up what the edit names in words.
    - `complete_note` adds what only this verb states of the added facts.
    """

    file: Callable[[Workspace, Any], FilePath]
    edit: Callable[[Workspace, Any, FilePath, Document | None], EditedText]
    new_texts: Callable[[Any], tuple[str, ...]] = lambda edit: ()
    appends: Callable[[Any], bool] = lambda edit: True
    decides: Callable[[Any], bool] = lambda edit: False
    with_iso_day: Callable[[Workspace, Any], FileEdit] = lambda workspace, edit: edit
    with_entry: Callable[[Workspace, Any], FileEdit] = lambda workspace, edit: edit
    complete_note: Callable[[CommitNote, Any, tuple[FactId, ...]], CommitNote] = (
        lambda note, edit, added: note
    )


def writer_of(edit: FileEdit) -> str | None:
    """The actor of an edit as rules judge it: a pipeline is no person, though it names no actor."""
    if pipeline := edit.options.pipeline:
        return pipeline.actor
    is_digest = isinstance(edit, DigestDay) and edit.file is None
    return DIGEST if is_digest else edit.options.actor


def verb_of(edit: FileEdit) -> Verb:
    home = getattr(edit, "home", f"changes.verbs.{edit.verb.replace('-', '_')}")
    found: Verb = import_module(f"mdmem.{home}").VERB
    return found


def target_path(workspace: Workspace, edit: FileEdit) -> FilePath:
    """Raises: PathProblem, SectionProblem (`append-only`), FactProblem (no such fact)."""
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
    """The file that a user names, else the curated one. Raises: PathProblem (`bad-path`)."""
    return workspace.curated if file is None else layout.parse_path(file)


def require_writable(workspace: Workspace, path: FilePath) -> None:
    """Raises: PathProblem (`read-only-path`; `bad-path`: it is in another repository)."""
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
            f"To make it a workspace: {verb('init')} {shell_word(folder)}",
        )


def _nested_repository(workspace: Workspace, path: FilePath) -> str | None:
    """The nearest repository around a file, other than the workspace's own."""
    folders = reversed([*accumulate(path.split("/")[:-1], "{}/{}".format)])
    return next((folder for folder in folders if (workspace.root / folder / ".git").exists()), None)
