"""Which paths git is told to ignore."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from mdmem.errors import RepositoryProblem
from mdmem.model import FilePath
from mdmem.repo.runner import run


def ignored(folder: Path, paths: Iterable[FilePath]) -> set[FilePath]:
    """Those of a workspace's paths that git's ignore rules name and git does not have all the same.

    Raises:
        RepositoryProblem: git failed.
    """
    # Not as they are: a name that begins with a colon would mean something.
    asked = "".join(f"./{path}\0" for path in paths)
    done = run(folder, ["check-ignore", "-z", "--stdin"], os.fsencode(asked))
    if done.status not in (0, 1):
        raise RepositoryProblem("git-failed", f"git check-ignore: {done.words}")
    return {FilePath(os.fsdecode(path).removeprefix("./")) for path in done.output.split(b"\0") if path}
