"""Files and folders as they are on disk, whatever they are called: what a file tool shows."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from mdmem import files, layout
from mdmem.document import decode
from mdmem.errors import PathProblem
from mdmem.startup.records import dataclass
from mdmem.workspace import Workspace

_LEVELS = 2


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """A file or a folder in a folder: its path from there, and its size in bytes."""

    path: str
    size: int
    is_folder: bool


@dataclass(frozen=True, slots=True)
class FolderView:
    """A folder: its own size in bytes, and what is in it, by name, each folder before what it holds."""

    size: int
    entries: tuple[FolderEntry, ...]


def look(workspace: Workspace, path: str) -> FolderView | str:
    """The text of a file, or what a folder holds: two levels, without hidden names, links and devices.

    Raises:
        PathProblem: `file-not-found`, `bad-path`; `unsupported-file`: it is no text.
    """
    if not path:
        return _view(workspace.root)
    file = layout.parse_any_path(path)
    if files.identity(str(workspace.root / file)) is None:
        raise PathProblem("file-not-found", f"{file} does not exist")
    full_path = files.path_on_disk(workspace.root, file, may_be_folder=True)
    if full_path.is_dir():
        return _view(full_path)
    return decode(files.read(full_path) or b"")


def _view(folder: Path) -> FolderView:
    return FolderView(folder.stat().st_size, tuple(_entries(folder, "", 1)))


def _entries(folder: Path, start: str, level: int) -> Iterator[FolderEntry]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:  # it may not be read, or is gone
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.is_symlink():
            continue
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        if stat.S_ISDIR(status.st_mode):
            yield FolderEntry(f"{start}{entry.name}", status.st_size, True)
            if level < _LEVELS:
                yield from _entries(folder / entry.name, f"{start}{entry.name}/", level + 1)
        elif stat.S_ISREG(status.st_mode):
            yield FolderEntry(f"{start}{entry.name}", status.st_size, False)
