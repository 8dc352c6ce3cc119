"""What git's hooks need: a commit judged, its refusal recorded, and whether hooks may be installed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from mdmem import check, events, hookfiles, layout, repo
from mdmem.model import FilePath, Problem
from mdmem.repo import Repository
from mdmem.startup.records import replace
from mdmem.workspace import Workspace, is_marked, open_in, was_used


def staged_problems(folder: Path, environment: Mapping[str, str]) -> tuple[Problem, ...]:
    """What is wrong with the staged changes of memory files, in every workspace of the repository that `folder` is in.

    Paths are from the root of the work tree.

    Args:
        folder: anywhere in the work tree.
        environment: a hook's, which may name the index that is being committed (`GIT_INDEX_FILE`).
    """
    repository, index_file = repo.discover(folder), environment.get("GIT_INDEX_FILE")
    problems: list[Problem] = []
    changes = repository.staged(index_file)
    workspaces = _workspaces(repository, {(repository.root / staged.path).parent for staged in changes}, index_file)
    for staged in changes:
        workspace = workspaces.get((repository.root / staged.path).parent)
        if workspace is None:
            continue
        path = FilePath(staged.path.removeprefix(workspace.repository.prefix))
        renamed = str(staged.renamed_from) if staged.renamed_from else None
        found = check.check(path, staged.before, staged.after, workspace.kind_of(path), workspace.settings, renamed)
        problems += [replace(p, path=staged.path) for p in found]
    return tuple(problems)


def staged_problems_of_workspace(folder: Path, environment: Mapping[str, str]) -> tuple[Problem, ...]:
    """The same, with paths from the workspace that `folder` is in, wherever it is in one."""
    repository = repo.discover(folder)
    here = repository.root / repository.prefix
    workspace = _workspaces(repository, {here}, environment.get("GIT_INDEX_FILE")).get(here)
    problems = staged_problems(folder, environment)
    start = workspace.repository.prefix if workspace else ""
    return tuple(replace(problem, path=os.path.relpath(problem.path, start or ".")) for problem in problems)


def record_refusal(folder: Path, environment: Mapping[str, str], refused: Sequence[Problem], seconds: float) -> None:
    """Add to the events of each workspace that its commit was refused.

    Args:
        folder: anywhere in the work tree.
        environment: the hook's, as for `staged_problems`.
        refused: what stood in the way; paths as `staged_problems` gives them.
        seconds: how long it took to find out.
    """
    repository = repo.discover(folder)
    folders = [(repository.root / problem.path).parent for problem in refused]
    workspaces = _workspaces(repository, set(folders), environment.get("GIT_INDEX_FILE"))
    codes: dict[Path, str] = {}
    for place, problem in zip(folders, refused, strict=True):
        if place in workspaces:
            codes.setdefault(workspaces[place].state, problem.code)
    for state, code in codes.items():
        events.record_event(state, events.Event("pre-commit", round(seconds * 1000, 1), events.Outcome.REFUSED, code))


def _workspaces(repository: Repository, folders: Iterable[Path], index_file: str | None) -> dict[Path, Workspace]:
    """The workspace of each folder of the work tree that lies in one.

    That what marks a workspace is gone from the disk does not end it: its state folder still tells of it, or git does.
    """
    above = {folder: _places(repository, folder) for folder in folders}
    found = {folder: next((place for place in above[folder] if is_marked(place.folder) or was_used(place)), None) for folder in above}
    lost = [folder for folder, place in found.items() if place is None]
    held = (
        repository.known_to_git([mark for folder in lost for place in above[folder] for mark in _marks(place)], index_file)
        if lost
        else set()
    )
    found |= {folder: next((place for place in above[folder] if not held.isdisjoint(_marks(place))), None) for folder in lost}
    opened = {place: open_in(place) for place in set(found.values()) if place}
    return {folder: opened[place] for folder, place in found.items() if place}


def _places(repository: Repository, folder: Path) -> list[Repository]:
    """The repository as it is seen from a folder and from each above it."""
    return [repository.at_folder(place) for place in (folder, *folder.parents) if place.is_relative_to(repository.root)]


def _marks(place: Repository) -> list[FilePath]:
    return [FilePath(f"{place.prefix}{name}") for name in layout.WORKSPACE_MARKS]


def require_hooks_free(workspace: Workspace) -> None:
    """Refuse where git looks for hooks elsewhere.

    Raises:
        RepositoryProblem: `hooks-managed`, with the lines to add by hand.
    """
    elsewhere = workspace.repository.setting("core.hooksPath")
    if elsewhere is not None:
        raise hookfiles.managed_hooks_problem(
            f"core.hooksPath is set ({elsewhere}), so hooks are managed elsewhere", "Add there", sys.executable
        )
