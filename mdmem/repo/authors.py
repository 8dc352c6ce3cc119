"""The authors of a folder's commits, and the addresses that are the user's own."""

from __future__ import annotations

import os
from collections.abc import Sequence

from mdmem.errors import RepositoryProblem, printable
from mdmem.repo.runner import run
from mdmem.repo.worktree import Repository

_SECONDS = 2.0
"""The time limit for reading history, since the user waits for one line."""
_MOST_COMMITS = 50
_MOST_NAME = 60


def last_author(repository: Repository, paths: Sequence[str]) -> str:
    """The author of the last commit that changed some paths of a folder; empty if there is none, or git cannot tell."""
    names = _log(repository, ["-1", "--format=%an"], paths)
    return printable(names[0], keep="")[:_MOST_NAME] if names else ""


def change_addresses(repository: Repository, paths: Sequence[str]) -> frozenset[str] | None:
    """The authors' addresses of the newest commits that changed some paths of a folder; None if git cannot tell."""
    return _addresses(repository, [], paths)


def mdmem_addresses(repository: Repository) -> frozenset[str] | None:
    """The authors' addresses of the newest commits that mdmem made in a folder; None if git cannot tell."""
    of_mdmem = ["--extended-regexp", "--grep=^Mdmem-Op: "]
    return _addresses(repository, of_mdmem, ["."] if repository.prefix else [])


def global_addresses(repository: Repository) -> frozenset[str]:
    """The addresses that the user's own settings of git name, as opposed to a repository's."""
    words = ["config", "--global", "--includes", "--get-all", "user.email"]
    named = run(repository.folder, words).output.decode("utf-8", "replace").split("\n")
    named.append(os.environ.get("GIT_AUTHOR_EMAIL", ""))
    return frozenset(address.strip().casefold() for address in named if address.strip())


def _addresses(
    repository: Repository,
    options: Sequence[str],
    paths: Sequence[str],
) -> frozenset[str] | None:
    words = [f"-{_MOST_COMMITS}", "--format=%ae", *options]
    addresses = _log(repository, words, paths)
    return None if addresses is None else frozenset(map(str.casefold, addresses))


def _log(repository: Repository, options: Sequence[str], paths: Sequence[str]) -> list[str] | None:
    """The lines of `git log`; None if it fails (an object is missing) or takes too long."""
    if repository.head() is None:
        return []
    try:
        words = ["log", *options, "HEAD", "--", *(f":(literal){path}" for path in paths)]
        result = run(repository.folder, words, seconds=_SECONDS)
    except RepositoryProblem as problem:
        if problem.code != "git-timeout":
            raise
        return None
    return result.output.decode("utf-8", "replace").splitlines() if result.status == 0 else None
