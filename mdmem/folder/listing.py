"""List the Markdown files of a workspace, with what stat says of each."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import TypeVar

from mdmem.folder import layout
from mdmem.model import FilePath
from mdmem.startup.records import dataclass

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A Markdown file of a workspace with its stat (links not followed)."""

    root: Path
    path: FilePath
    status: os.stat_result

    @property
    def full_path(self) -> Path:
        return self.root / self.path


def markdown_paths(
    root: Path,
    folders: Iterable[str],
    read_status: Callable[[os.stat_result], T],
) -> dict[str, T]:
    """List the Markdown files directly in a workspace and all below its `folders`, in no order.

    One of `folders` may be a file too; one outside the workspace keeps the path that names it.
    Symbolic links (except on the way to a folder outside), git's own folders and other repositories
    below a folder of the workspace are skipped.

    `read_status`: what to keep of a file's status; all of it would take longer than reading.
    """
    listed: dict[str, T] = {}
    for folder, deep in (("", False), *((folder, True) for folder in folders)):
        prefix = "" if folder == "." else folder.rstrip("/")
        if not _leaves_by_link(root, prefix):
            _scan(root / folder, prefix, deep, read_status, listed)
    return listed


def _leaves_by_link(root: Path, folder: str) -> bool:
    if folder.startswith("/") or ".." in folder.split("/"):
        return False
    return root.is_symlink() or any((root / each).is_symlink() for each in _folders_down_to(folder))


def _folders_down_to(folder: str) -> Iterable[str]:
    return accumulate(folder.split("/"), "{}/{}".format) if folder else ()


def _scan(
    top: Path,
    prefix: str,
    deep: bool,
    read_status: Callable[[os.stat_result], T],
    listed: dict[str, T],
) -> None:
    if prefix and layout.is_markdown(prefix) and top.is_file():
        listed[prefix] = read_status(top.lstat())
        return
    folders = [(str(top), f"{prefix}/" if prefix else "")]
    whole = None if layout.is_outside(prefix) else folders[0][0]
    while folders:
        folder, start = folders.pop()
        try:
            # Names are looked up from the open folder: by their whole paths it takes a fifth
            # longer.
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue
        try:
            if whole not in (None, folder) and os.access(".git", os.F_OK, dir_fd=descriptor):
                continue
            with os.scandir(descriptor) as entries:
                for entry in entries:
                    name = entry.name
                    if layout.is_markdown(name) and entry.is_file(follow_symlinks=False):
                        try:
                            listed[start + name] = read_status(entry.stat(follow_symlinks=False))
                        except FileNotFoundError:
                            continue
                    elif deep and name != ".git" and entry.is_dir(follow_symlinks=False):
                        folders.append((f"{folder}/{name}", f"{start}{name}/"))
        finally:
            os.close(descriptor)


def is_marked(folder: Path) -> bool:
    return any((folder / name).is_file() for name in layout.WORKSPACE_MARKS)


def is_foreign(folder: Path) -> bool:
    """True for a folder that is another workspace, or another work tree."""
    return (folder / ".git").exists() or is_marked(folder)


def lies_elsewhere(root: Path, path: str) -> bool:
    """True if a folder on the way from a workspace to a file is another workspace or work tree."""
    return any(is_foreign(root / folder) for folder in _folders_down_to(path.rpartition("/")[0]))


def note_paths(
    root: Path,
    folders: Iterable[tuple[str, bool]],
    skipped: Collection[str],
    read_status: Callable[[os.stat_result], T],
) -> dict[str, T]:
    """List the Markdown files in folders with a person's notes, without hidden folders and links.

    Args:
        folders: each with True if the folders below it are listed too.
        skipped: paths of files, and of folders with a slash at their end.
        read_status: see `markdown_paths`.
    """
    listed: dict[str, T] = {}
    for folder, deep in folders:
        if not _leaves_by_link(root, folder) and not any(
            _is_left_out(root, each, skipped) for each in _folders_down_to(folder)
        ):
            _scan_notes(root, folder, deep, skipped, read_status=read_status, listed=listed)
    return listed


def _is_left_out(root: Path, folder: str, skipped: Collection[str]) -> bool:
    return (
        folder.rpartition("/")[2].startswith(".")
        or f"{folder}/" in skipped
        or is_foreign(root / folder)
    )


def _scan_notes(
    root: Path,
    top: str,
    deep: bool,
    skipped: Collection[str],
    read_status: Callable[[os.stat_result], T],
    listed: dict[str, T],
) -> None:
    folders = [top]
    while folders:
        folder = folders.pop()
        start = f"{folder}/" if folder else ""
        full_path = f"{root}/{folder}" if folder else str(root)
        with (
            suppress(FileNotFoundError, NotADirectoryError, PermissionError),
            os.scandir(full_path) as entries,
        ):
            for entry in entries:
                path = start + entry.name
                if layout.is_markdown(entry.name) and entry.is_file(follow_symlinks=False):
                    if path not in skipped:
                        with suppress(FileNotFoundError):
                            listed[path] = read_status(entry.stat(follow_symlinks=False))
                elif (
                    deep
                    and entry.is_dir(follow_symlinks=False)
                    and not _is_left_out(root, path, skipped)
                ):
                    folders.append(path)
