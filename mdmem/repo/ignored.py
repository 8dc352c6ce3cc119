"""The paths that git ignores."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from mdmem.errors import RepositoryProblem
from mdmem.model import FilePath
from mdmem.repo.runner import run


def ignored(folder: Path, paths: Iterable[FilePath]) -> set[FilePath]:
    """The paths, of those given in a workspace, that git's ignore rules match and that git does not track.

    Raises:
        RepositoryProblem: git failed.
    """
    # With `./` in front, because a name that begins with a colon would be a pathspec.
    text = "".join(f"./{path}\0" for path in paths)
    result = run(folder, ["check-ignore", "-z", "--stdin"], os.fsencode(text))
    if result.status not in (0, 1):
        raise RepositoryProblem("git-failed", f"git check-ignore: {result.error_text}")
    return {FilePath(os.fsdecode(path).removeprefix("./")) for path in result.output.split(b"\0") if path}
