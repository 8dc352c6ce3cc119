"""`init` for existing workspaces: find them below the home folder, adopt or leave them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from mdmem import adoption, repo
from mdmem.errors import RepositoryProblem
from mdmem.folder import config
from mdmem.folder.listing import is_marked
from mdmem.model.reads import FoundWorkspace
from mdmem.repo import Repository
from mdmem.workspace import Progress, actor_in_shell, require_person

_HIDDEN = (".openclaw",)
"""Hidden folders in which hosts keep workspaces; others are not searched."""
_SKIPPED = ("node_modules", "site-packages", "__pycache__")
_MOST_DEPTH = 8
"""Folders further below the home are not searched."""


def find_unadopted(
    environment: Mapping[str, str],
    progress: Progress | None,
) -> Iterator[FoundWorkspace]:
    """The workspaces below the home that mdmem made commits in and the user has not adopted."""
    home = config.home(environment)
    seen: set[tuple[Path, str]] = set()
    for folder in _folders(Path(os.path.realpath(home)), progress) if home else ():
        repository = _repository(folder) if is_marked(folder) else None
        if repository is None or adoption.is_adopted(repository, environment):
            continue
        key = repository.common_dir, repository.prefix
        if key not in seen and adoption.has_mdmem_commits(repository):
            seen.add(key)
            yield FoundWorkspace(
                path=str(folder),
                own=adoption.is_of_user(repository, environment),
                last_change=adoption.last_author(repository),
            )


def _repository(folder: Path) -> Repository | None:
    """The repository of a workspace; None where git does not serve this user."""
    try:
        return repo.discover(folder)
    except RepositoryProblem:
        return None


def _folders(top: Path, progress: Progress | None) -> Iterator[Path]:
    device, waiting, count = top.stat().st_dev, [(top, 0)], 0
    while waiting:
        folder, depth = waiting.pop()
        count += 1
        if progress is not None:
            progress(count, count + len(waiting))
        yield folder
        with suppress(OSError), os.scandir(folder) as entries:
            waiting += [
                (Path(entry.path), depth + 1)
                for entry in entries
                if depth < _MOST_DEPTH
                and entry.is_dir(follow_symlinks=False)
                and _is_searched(entry.name)
                and entry.stat(follow_symlinks=False).st_dev == device
            ]


def _is_searched(name: str) -> bool:
    return name in _HIDDEN if name.startswith(".") else name not in _SKIPPED


def adopt_found(
    workspaces: Sequence[FoundWorkspace],
    environment: Mapping[str, str],
) -> None:
    """Adopt workspaces that were found."""
    _require_person(environment)
    for workspace in workspaces:
        adoption.adopt(repo.discover(Path(workspace.path)), environment)


def leave(folder: Path, environment: Mapping[str, str]) -> bool:
    """Take a workspace off the user's list; False if it was not there."""
    _require_person(environment)
    return adoption.leave(repo.discover(folder.resolve()), environment)


def _require_person(environment: Mapping[str, str]) -> None:
    people = config.own_list("people", environment)
    actor = actor_in_shell([environment.get("MDMEM_ACTOR")], people, environment)
    require_person(actor, people, "adopt")
