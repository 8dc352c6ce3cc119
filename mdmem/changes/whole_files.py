"""Carry out changes of whole files: an edit as every other edit, a move by `moves`."""

from __future__ import annotations

from mdmem import files, layout
from mdmem.changes.apply import apply_all
from mdmem.changes.moves import move
from mdmem.editors.whole_file import first_line_of, missing
from mdmem.errors import PathProblem
from mdmem.model import FilePath
from mdmem.model.whole_files import CreateFile, MovePath, ReplaceText, WholeFileEdit
from mdmem.model.writes import WriteResult
from mdmem.startup.records import replace
from mdmem.workspace import Say, Workspace

_LINES_AROUND = 2


def apply(workspace: Workspace, change: WholeFileEdit | MovePath, say: Say) -> WriteResult:
    """Carry out a change of a whole file.

    Raises:
        MdmemError: it was refused or failed; files, git index and HEAD are as they were.
    """
    if isinstance(change, MovePath):
        return move(workspace, change, say)
    path = layout.parse_any_path(change.path)
    layout.require_no_host_file(path)
    if isinstance(change, CreateFile):
        layout.require_no_mark(path)
    _require_kind(workspace, path, change)
    (result,) = apply_all(workspace, [change], change.options, say)
    return replace(result, excerpt=_excerpt(workspace, path, change, result)) if isinstance(change, ReplaceText) else result


def _require_kind(workspace: Workspace, path: FilePath, change: WholeFileEdit) -> None:
    """Refuse a folder, and to edit what is not there.

    Raises:
        PathProblem: `file-exists`, `is-folder`, `file-not-found`.
    """
    full_path = workspace.root / path
    is_new = isinstance(change, CreateFile)
    if not is_new and files.identity(str(full_path)) is None:
        raise missing(path)
    if full_path.is_dir() and not full_path.is_symlink():
        raise PathProblem("file-exists" if is_new else "is-folder", f"{path} is a folder")


def _excerpt(workspace: Workspace, path: FilePath, change: ReplaceText, result: WriteResult) -> tuple[tuple[int, str], ...]:
    """The lines around the words that were replaced, as they were committed, each with its number."""
    after = before = files.read(workspace.root / path)
    if result.commit is not None:
        repository = workspace.repository
        before, after = repository.blobs([f"{commit}:{repository.prefix}{path}" for commit in (f"{result.commit}^", result.commit)])
    line = first_line_of((before or b"").decode("utf-8", "replace"), change.text)
    lines = (after or b"").decode("utf-8", "replace").split("\n")
    return tuple(enumerate(lines, 1))[max(0, line - _LINES_AROUND) : line + _LINES_AROUND + 1]
