"""Add mdmem's instructions to agents to a file of the workspace, or remove them."""

from __future__ import annotations

from pathlib import Path

from mdmem import repo
from mdmem.changes.apply import apply_all
from mdmem.changes.commit_notes import complete_options, with_provenance
from mdmem.changes.recover import lock_workspace, recover
from mdmem.changes.verbs import InstructionsEdit
from mdmem.editors import instructions
from mdmem.folder import files, layout
from mdmem.model import CommitId, FileKind, FilePath, Op, Provenance
from mdmem.model.errors import PathProblem, RepositoryProblem
from mdmem.model.writes import WriteOptions, WriteResult
from mdmem.past.messages import CommitNote, compose_message
from mdmem.repo import commits
from mdmem.repo.runner import literal_pathspecs
from mdmem.startup.records import replace
from mdmem.text.document import Document, parse_bytes
from mdmem.text.facts import INSTRUCTIONS_BEGIN
from mdmem.workspace import Say, Workspace


def require_possible(root: Path, name: str, remove: bool) -> None:
    """Refuse what `set_instructions` would, before there is a workspace. Raises: MdmemError."""
    path = layout.parse_path(name)
    _require_no_memory(path, layout.kind_of(path, root.name))
    document = _read(root, path)
    if document is not None and not remove:
        instructions.put_in(document, "")
    elif document is not None:
        instructions.take_out(document)


def set_instructions(workspace: Workspace, name: str, remove: bool, say: Say) -> WriteResult:
    """Remove the file as well if it was made for the instructions.

    Raises: MdmemError: unsuitable file, broken delimiters, or git refused; nothing is changed.
    """
    path = layout.parse_path(name)
    _require_no_memory(path, FileKind.OTHER if workspace.is_note(path) else workspace.kind_of(path))
    options = complete_options(workspace, WriteOptions())
    if remove:
        document = _read(workspace.root, path)
        if document is None or instructions.find_instructions(document) is None:
            return WriteResult(changed=False, path=path, section=(), etag=None, commit=None)
        if not instructions.take_out(document).text:
            with lock_workspace(workspace, say):
                recover(workspace, say)
                if (commit := _remove_file(workspace, path, options)) is not None:
                    return WriteResult(
                        changed=True, path=path, section=(), etag=None, commit=commit
                    )
    (result,) = apply_all(workspace, [InstructionsEdit(path, remove, options)], options, say)
    return replace(
        result, notes=tuple(note for note in result.notes if not note.startswith("not-memory"))
    )


def files_with_instructions(workspace: Workspace) -> list[str]:
    names = [name for name in layout.BOOTSTRAP_NAMES if (workspace.root / name).is_file()]
    return [
        name
        for name in names
        if INSTRUCTIONS_BEGIN
        in (workspace.root / name).read_text(encoding="utf-8", errors="replace")
    ]


def _require_no_memory(path: FilePath, kind: FileKind) -> None:
    if kind in (FileKind.DAILY, FileKind.EVERGREEN, FileKind.PROFILE):
        hint = f"Name a file that an agent's host reads, such as {layout.BOOTSTRAP_NAMES[0]}."
        raise PathProblem("bad-path", f"{path} is memory, and takes no instructions", hint)


def _read(root: Path, path: FilePath) -> Document | None:
    data = files.read(files.path_on_disk(root, path))
    return None if data is None else parse_bytes(data)


def _remove_file(workspace: Workspace, path: FilePath, options: WriteOptions) -> CommitId | None:
    repository, full_path = workspace.repository, files.path_on_disk(workspace.root, path)
    document, state = _read(workspace.root, path), repository.state(path)
    if (
        document is None
        or instructions.take_out(document).text
        or state.pending
        or not _was_made_for_it(workspace, path)
    ):
        return None
    repository.require_ready(workspace.settings.allow_detached, state.branch, state.settled)
    workspace.require_permitted(options.actor, [(path, document.text.encode(), None)])
    note = CommitNote(op=Op.INIT, path=path, section=(), provenance=Provenance())
    order = commits.CommitOrder(
        paths=(path,),
        message=compose_message(with_provenance(workspace, note, options), (document.text, "")),
        date=repo.raw_date(workspace.now()),
        hook_timeout=workspace.settings.hook_timeout,
        identity=workspace.identity(),
    )
    aside = full_path.parent / files.temporary_name()
    full_path.rename(aside)
    try:
        if files.read(aside) != document.text.encode():
            raise RepositoryProblem("busy", f"{path} was saved by another program", "Try again.")
        files.sync(full_path.parent)
        commit = commits.commit(repository, order).id
    except BaseException:
        if not full_path.exists():
            aside.rename(full_path)
        raise
    files.remove(aside)
    return commit


def _was_made_for_it(workspace: Workspace, path: FilePath) -> bool:
    trailer = "--format=%(trailers:key=Mdmem-Op,valueonly)"
    (pathspec,) = literal_pathspecs([path])
    return (
        workspace.repository.git("log", "-1", "--diff-filter=A", trailer, "--", pathspec).strip()
        == Op.INIT.value.encode()
    )
