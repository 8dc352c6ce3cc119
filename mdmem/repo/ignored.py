"""Files that git passes over: ignored ones, and those it was told not to look at.

The index has a bit for each way to tell it: `update-index --assume-unchanged`, `--skip-worktree`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from mdmem.folder.layout import is_markdown
from mdmem.model import FilePath
from mdmem.repo.runner import literal_pathspecs, run

ASSUME_UNCHANGED, SKIP_WORKTREE = "assume-unchanged", "skip-worktree"


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


def read_bits(folder: Path, paths: Sequence[FilePath] = ()) -> Mapping[FilePath, tuple[str, ...]]:
    """The index bits of the files below a folder, or of `paths` only; none without bits."""
    listed = run(folder, ["ls-files", "-v", "-z", "--", *(literal_pathspecs(paths) or ["."])])
    lines = (line.partition(b" ") for line in listed.output.split(b"\0") if line)
    bits = {FilePath(os.fsdecode(path)): _bits_of(tag.decode()) for tag, _, path in lines}
    return {path: names for path, names in bits.items() if names}


def _bits_of(tag: str) -> tuple[str, ...]:
    """The bits by a tag of `git ls-files -v`: lower case is assume-unchanged, S skip-worktree."""
    return (
        *([ASSUME_UNCHANGED] if tag.islower() else []),
        *([SKIP_WORKTREE] if tag.upper() == "S" else []),
    )
