"""Files and folders as they are on disk: those a file tool shows, and Markdown not in memory."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from mdmem.folder import files, layout
from mdmem.folder.layout import is_foreign
from mdmem.model import FileKind, FilePath
from mdmem.model.errors import PathProblem
from mdmem.repo import worktree
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.document import decode
from mdmem.workspace import Workspace

_NAMED = 3
_DAILY_NOTE = late.pattern(r"((?:.*/)?)\d{4}-\d{2}-\d{2}\.md")


def other_markdown(workspace: Workspace, memory: Container[str] = ()) -> tuple[FilePath, ...]:
    """Markdown files that the setting `paths` could add; raises RepositoryProblem.

    `memory`: paths that are known to be memory.
    """
    kept: dict[str, bool] = {}

    def is_own(folder: str) -> bool:
        if folder not in kept:
            above, _, name = folder.rpartition("/")
            kept[folder] = (
                not name.startswith(".")
                and not is_foreign(workspace.root / folder)
                and (not above or is_own(above))
            )
        return kept[folder]

    paths = sorted(map(FilePath, worktree.markdown_not_ignored(workspace.root)))
    others = (
        path
        for path in paths
        if path not in memory
        and not path.startswith(".")
        and workspace.kind_of(path) is FileKind.OTHER
        and not workspace.left_out(path)
    )
    return tuple(
        path
        for path in others
        if ("/" not in path or is_own(path.rpartition("/")[0]))
        and (workspace.root / path).is_file()
    )


def other_markdown_note(workspace: Workspace) -> str | None:
    paths = other_markdown(workspace)
    if not paths:
        return None
    more = len(paths) - _NAMED
    names = ", ".join([*paths[:_NAMED], *([f"{more:,} more"] if more > 0 else [])])
    glob = "**/*.md" if any("/" in path for path in paths) else "*.md"
    files, them = (
        ("1 other Markdown file is", "it")
        if len(paths) == 1
        else (f"{len(paths):,} other Markdown files are", "them")
    )
    globs = ", ".join(f'"{each}"' for each in dict.fromkeys((*workspace.settings.paths, glob)))
    setting = "" if workspace.settings.daily else _daily_setting(paths)
    return (
        f"{files} not searched ({names}). To include {them}:"
        f" paths = [{globs}] in mdmem.toml{setting}"
    )


def _daily_setting(paths: Iterable[FilePath]) -> str:
    """The setting that makes `log` write where most of some files are daily notes, if so."""
    folders = Counter(match[1] for path in paths if (match := _DAILY_NOTE.fullmatch(path)))
    return "".join(
        f'; to have log write there: daily = "{folder}%Y-%m-%d.md"'
        for folder, _ in folders.most_common(1)
    )


_LEVELS = 2


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """A file or a folder in a folder: its path from there, and its size in bytes."""

    path: str
    size: int
    is_folder: bool


@dataclass(frozen=True, slots=True)
class FolderView:
    """A folder: its size in bytes and its content by name, folders before what they hold."""

    size: int
    entries: tuple[FolderEntry, ...]


def look(workspace: Workspace, path: str) -> FolderView | str:
    """The text of a file, or two visible levels of a folder; raises PathProblem."""
    if not path:
        return _view(workspace, workspace.root, "")
    file, own = layout.parse_any_path(path), workspace.contents
    if files.identity(str(workspace.root / file)) is None:
        if proposed := _proposed_entries(workspace, f"{file}/"):
            return FolderView(0, tuple(proposed))
        if own is None or own.read(file) is None:
            raise PathProblem("file-not-found", f"{file} does not exist")
    full_path = files.path_on_disk(workspace.root, file, may_be_folder=True)
    if full_path.is_dir():
        return _view(workspace, full_path, f"{file}/")
    return decode((files.read(full_path) if own is None else own.read(file)) or b"")


def _view(workspace: Workspace, folder: Path, start: str) -> FolderView:
    try:
        entries = tuple(_entries(folder, "", 1))
    except OSError as problem:
        raise PathProblem(
            "bad-path", f"{start.rstrip('/') or '.'}: {problem.strerror}"
        ) from problem
    proposed = _proposed_entries(workspace, start)
    ordered = sorted((*entries, *proposed), key=lambda entry: entry.path.split("/"))
    return FolderView(folder.stat().st_size, tuple(ordered) if proposed else entries)


def _proposed_entries(workspace: Workspace, start: str) -> list[FolderEntry]:
    """The files below a folder that memory as it is seen has, and the disk has not."""
    if (own := workspace.contents) is None:
        return []
    new = [
        path
        for path in own.paths()
        if path.startswith(start)
        and path.removeprefix(start).count("/") < _LEVELS
        and files.identity(str(workspace.root / path)) is None
    ]
    return [
        FolderEntry(path.removeprefix(start), len(own.read(path) or b""), is_folder=False)
        for path in sorted(new)
    ]


def _entries(folder: Path, start: str, level: int) -> Iterator[FolderEntry]:
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.name.startswith(".") or entry.is_symlink():
            continue
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        if stat.S_ISDIR(status.st_mode):
            yield FolderEntry(f"{start}{entry.name}", status.st_size, True)
            if level < _LEVELS:
                with suppress(OSError):  # it may not be read, or is gone
                    yield from _entries(folder / entry.name, f"{start}{entry.name}/", level + 1)
        elif stat.S_ISREG(status.st_mode):
            yield FolderEntry(f"{start}{entry.name}", status.st_size, False)
