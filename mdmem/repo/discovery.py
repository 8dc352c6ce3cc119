"""Find the repository that a folder is in, or create one."""

from __future__ import annotations

import os
from pathlib import Path

from mdmem import files
from mdmem.errors import RepositoryProblem
from mdmem.repo import git_files
from mdmem.repo.runner import run
from mdmem.repo.worktree import Repository, path_below
from mdmem.wording import verb


def discover(folder: Path) -> Repository:
    """Find the repository whose work tree holds `folder`.

    Raises:
        RepositoryProblem: `not-a-repository`, `broken-repository`, `bare-repository`.
    """
    real_path = os.path.realpath(folder)
    if simple := git_files.find_repository(real_path):
        top, git_folder = simple
        return Repository(
            folder=folder,
            root=Path(top),
            git_dir=Path(git_folder),
            common_dir=Path(git_folder),
            prefix=path_below(top, real_path),
            is_simple=True,
        )
    result = run(folder, ["rev-parse", "--absolute-git-dir", "--git-common-dir", "--show-prefix", "--show-toplevel"])
    if result.status:
        if run(folder, ["rev-parse", "--absolute-git-dir"]).status == 0:
            raise RepositoryProblem(
                "bare-repository", f"{folder} is in a repository without a work tree", "Clone it and work in the clone."
            )
        if _exists_above(folder.resolve(), ".git"):
            raise RepositoryProblem(
                "broken-repository", f"git cannot read the repository here: {result.error_text}", "For details: git fsck"
            )
        raise RepositoryProblem("not-a-repository", f"{folder} is not in a git repository", f"To create one: {verb('init')}")
    git_dir, common, prefix, root = result.output.decode("utf-8", "surrogateescape").removesuffix("\n").split("\n", 3)
    return Repository(
        folder=folder,
        root=Path(root),
        git_dir=Path(git_dir),
        common_dir=(folder / common).resolve(),
        prefix=prefix,
        is_simple=False,
    )


def create(folder: Path) -> Repository:
    """Create a repository in `folder`, on the branch that the user's settings name, else `main`."""
    configured = run(folder, ["config", "--get", "init.defaultBranch"])
    branch = [] if configured.status == 0 else ["-b", "main"]
    result = run(folder, ["init", "-q", *branch])
    if result.status:
        raise RepositoryProblem("git-failed", f"git init: {result.error_text}")
    repository = discover(folder)
    files.sync_all(repository.git_dir)  # git does not, and a repository whose HEAD is lost in a power cut is none
    return repository


def _exists_above(folder: Path, name: str) -> bool:
    return any((parent / name).exists() for parent in (folder, *folder.parents))
