"""Trailers for the message of a merge: contradictions, and what was kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from mdmem.folder import layout
from mdmem.merge import ids_in, merge_by_section
from mdmem.merge.again import MergedFile
from mdmem.model import FileKind, FilePath
from mdmem.repo import Repository
from mdmem.workspace import Workspace, workspaces_of


def merge_trailers(
    repository: Repository,
    merged: Iterable[MergedFile],
    text_of: Callable[[FilePath], bytes | None],
    environment: Mapping[str, str],
) -> tuple[str, ...]:
    """The trailers for files that both sides changed; only of facts that are in the result.

    `repository` is seen from its root, `text_of` gives a file's text in the result.
    """
    files = list(merged)
    workspaces = workspaces_of(
        repository, {(repository.root / file.path).parent for file in files}, environment
    )
    trailers: list[str] = []
    for file in files:
        workspace = workspaces.get((repository.root / file.path).parent)
        kind = merged_kind(workspace, file.path) if workspace else None
        if kind is not None:
            trailers += _trailers_of_file(file, kind, text_of(file.path) or b"")
    return tuple(dict.fromkeys(trailers))


def merged_kind(workspace: Workspace, path: FilePath) -> FileKind | None:
    """The kind of a memory file by its path from the root; None for one not merged by section."""
    inner = FilePath(path.removeprefix(workspace.repository.prefix))
    kind = workspace.kind_of(inner)
    is_merged = (
        kind.is_memory
        and kind is not FileKind.BOOTSTRAP
        and not layout.within(inner, workspace.settings.extra_paths)
    )
    return kind if is_merged else None


def _trailers_of_file(file: MergedFile, kind: FileKind, result: bytes) -> Iterator[str]:
    """The trailers for one file; values of one key contradict each other without any."""
    notes = merge_by_section(file.base, file.ours, file.theirs, kind).notes
    standing = ids_in(result) if notes.contradictions or notes.kept else frozenset()
    for first, second, key in notes.contradictions:
        if key is None and {first, second} <= standing:
            yield f"Mdmem-Contradicts: {first} {second}"
    for fact in notes.kept:
        if fact in standing:
            yield f"Mdmem-Kept: {fact}"
