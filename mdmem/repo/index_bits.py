"""Files that git was told not to look at: `update-index --assume-unchanged`, `--skip-worktree`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from mdmem.model import FilePath
from mdmem.repo.runner import literal_pathspecs, run

ASSUME_UNCHANGED, SKIP_WORKTREE = "assume-unchanged", "skip-worktree"


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
