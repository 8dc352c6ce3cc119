"""The paths that git ignores."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from mdmem.folder.layout import is_markdown
from mdmem.model import FilePath
from mdmem.repo.runner import run


def ignored(folder: Path, paths: Iterable[FilePath]) -> set[FilePath]:
    """The given paths that git ignores and does not track. Raises RepositoryProblem."""
    # With `./` in front, because a name that begins with a colon would be a pathspec.
    text = "".join(f"./{path}\0" for path in paths)
    result = run(folder, ["check-ignore", "-z", "--stdin"], os.fsencode(text))
    if result.status not in (0, 1):
        raise result.failure("check-ignore")
    return {
        FilePath(os.fsdecode(path).removeprefix("./"))
        for path in result.output.split(b"\0")
        if path
    }


def ignored_paths(folder: Path) -> set[str]:
    """All that git ignores below a folder; folders with a slash. Raises RepositoryProblem."""
    return _list_files(folder, "--others", "--ignored", "--directory")


def markdown_not_ignored(folder: Path) -> set[str]:
    """The Markdown files below a folder that git would track. Raises RepositoryProblem."""
    return {path for path in _list_files(folder, "--cached", "--others") if is_markdown(path)}


def _list_files(folder: Path, *which: str) -> set[str]:
    result = run(folder, ["ls-files", "-z", "--exclude-standard", *which])
    if result.status != 0:
        raise result.failure("ls-files")
    return {os.fsdecode(path) for path in result.output.split(b"\0") if path}
