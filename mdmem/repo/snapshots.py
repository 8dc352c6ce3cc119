"""A commit on its own: a repository elsewhere that borrows another one's objects."""

from __future__ import annotations

from pathlib import Path

from mdmem.errors import RepositoryProblem
from mdmem.model import CommitId
from mdmem.repo.discovery import discover
from mdmem.repo.runner import run
from mdmem.repo.worktree import Repository

_ON_DISK = ("*.[mM][dD]", ".gitattributes", ".gitignore")
"""Patterns of the files that are checked out."""
_SETTINGS = ("user.name", "user.email", "core.autocrlf", "core.eol")
"""Settings of a repository that say who the user is, and what its files are on disk."""
_SECONDS = 600.0


def create_snapshot(source: Repository, commit: CommitId, folder: Path) -> Repository:
    """Create a repository in `folder` with a commit and its past, and none of the rest.

    It has no other branch, no remote and no hook. Markdown alone is on disk, as committed. It lasts
    as long as the objects of `source`.
    """
    kind = source.git("rev-parse", "--show-object-format").decode().strip()
    _git(folder.parent, "init", "-q", "--template=", f"--object-format={kind}", str(folder))
    git_dir = folder / ".git"
    for name in ("objects/info", "info"):
        (git_dir / name).mkdir(exist_ok=True)
    (git_dir / "objects/info/alternates").write_bytes(bytes(source.common_dir / "objects") + b"\n")
    shallow = source.common_dir / "shallow"
    if shallow.exists():
        (git_dir / "shallow").write_bytes(shallow.read_bytes())
    for name in _SETTINGS:
        if (value := source.setting(name)) is not None:
            _git(folder, "config", name, value)
    (git_dir / "info/sparse-checkout").write_text("\n".join(_ON_DISK) + "\n", encoding="utf-8")
    _git(folder, "update-ref", "HEAD", commit)
    _git(folder, "-c", "core.sparseCheckout=true", "read-tree", "-mu", "HEAD")
    return discover(folder)


def _git(folder: Path, *arguments: str) -> None:
    result = run(folder, arguments, seconds=_SECONDS)
    if result.status:
        raise RepositoryProblem("git-failed", f"git {arguments[0]}: {result.error_text}")
