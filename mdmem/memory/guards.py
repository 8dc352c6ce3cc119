"""Check the commit that git is about to make, record that it was refused, and refuse hooks where somebody else manages them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from mdmem import check, events, hookfiles, layout, repo, secrets
from mdmem.listing import is_marked
from mdmem.model import FileKind, FilePath, Problem
from mdmem.repo import Repository
from mdmem.repo.worktree import StagedFile
from mdmem.startup.records import replace
from mdmem.workspace import Workspace, open_in, read_committed, was_used


def staged_problems(folder: Path, environment: Mapping[str, str]) -> tuple[Problem, ...]:
    """Check the staged changes of memory files in every workspace of a repository; paths are from the root of the work tree.

    Args:
        folder: any folder of the work tree.
        environment: the variables of the process; git names the index of a commit under way in them (`GIT_INDEX_FILE`).
    """
    repository = repo.discover(folder)
    problems: list[Problem] = []
    changes = repository.staged(environment.get("GIT_INDEX_FILE"))
    workspaces = _all_workspaces_of(
        repository,
        {(repository.root / change.path).parent for change in changes},
        environment,
    )
    for change in changes:
        around = workspaces[(repository.root / change.path).parent]
        of_file = dict.fromkeys(problem for workspace in around for problem in _problems_in(workspace, change))
        problems += [replace(problem, path=secrets.redact(change.path)) for problem in of_file]
    return tuple(problems)


def _problems_in(workspace: Workspace, change: StagedFile) -> tuple[Problem, ...]:
    """The problems of a staged change in one workspace; none where the file is not its memory."""
    path = FilePath(change.path.removeprefix(workspace.repository.prefix))
    old_path = str(change.renamed_from) if change.renamed_from else None
    problems = check.check(
        *(path, change.before, change.after, _guarded_kind(workspace, path), workspace.settings, old_path),
        was_log=layout.log_day(old_path, workspace.daily) if old_path else None,
        is_note=workspace.is_note(path),
    )
    if any(problem.code == "shrink" for problem in problems) and _shrank_on_branch(workspace, path, change.after):
        problems = tuple(problem for problem in problems if problem.code != "shrink")
    return tuple(replace(problem, path=change.path) for problem in problems)


def _guarded_kind(workspace: Workspace, path: FilePath) -> FileKind:
    """The kind of a file, also where a folder on the way to it is another workspace: a mark there must not switch the guard off."""
    kind = workspace.kind_of(path)
    return layout.note_kind(path, workspace.settings.paths) if kind is FileKind.OTHER else kind


def _shrank_on_branch(workspace: Workspace, path: FilePath, after: bytes | None) -> bool:
    """True if a squash takes out no more of a file than the branch did, whose commits were checked one by one."""
    squashed = workspace.repository.squashed()
    return squashed is not None and not check.shrinks_too_much(read_committed(workspace, path, squashed), after)


def staged_problems_of_workspace(folder: Path, environment: Mapping[str, str]) -> tuple[Problem, ...]:
    """Do the same with paths from the workspace that `folder` is in; from the root of the work tree where it is in none."""
    repository = repo.discover(folder)
    here = repository.root / repository.prefix
    workspace = workspaces_of(repository, {here}, environment).get(here)
    start = workspace.repository.prefix if workspace else ""
    return tuple(replace(problem, path=os.path.relpath(problem.path, start or ".")) for problem in staged_problems(folder, environment))


def record_refusal(folder: Path, environment: Mapping[str, str], refused: Sequence[Problem], seconds: float) -> None:
    """Add to the events of each workspace that its commit was refused.

    Args:
        folder: any folder of the work tree.
        environment: the variables of the process, as for `staged_problems`.
        refused: the problems that stood in the way; paths as `staged_problems` gives them.
        seconds: how long the check took.
    """
    repository = repo.discover(folder)
    folders = [(repository.root / problem.path).parent for problem in refused]
    workspaces = workspaces_of(repository, set(folders), environment)
    codes: dict[Path, str] = {}
    for of_file, problem in zip(folders, refused, strict=True):
        if of_file in workspaces:
            codes.setdefault(workspaces[of_file].state, problem.code)
    for state, code in codes.items():
        event = events.Event(verb="pre-commit", ms=round(seconds * 1000, 1), outcome=events.Outcome.REFUSED, code=code)
        events.record_event(state, event)


def workspaces_of(repository: Repository, folders: Iterable[Path], environment: Mapping[str, str]) -> dict[Path, Workspace]:
    """The workspace of each folder of the work tree that is in one: the innermost."""
    workspaces = _all_workspaces_of(repository, folders, environment)
    return {folder: around[0] for folder, around in workspaces.items() if around}


def _all_workspaces_of(
    repository: Repository,
    folders: Iterable[Path],
    environment: Mapping[str, str],
) -> dict[Path, tuple[Workspace, ...]]:
    """The workspaces that each folder of the work tree is in, innermost first.

    A workspace whose marks were deleted from the disk is one still: its state folder tells, or git does.
    """
    views = {folder: _views(repository, folder) for folder in folders}
    is_root = {view.folder: is_marked(view.folder) or was_used(view) for around in views.values() for view in around}
    unmarked = [around for around in views.values() if not any(is_root[view.folder] for view in around)]
    if unmarked:
        marks = [mark for around in unmarked for view in around for mark in _marks(view)]
        in_git = repository.known_to_git(marks, environment.get("GIT_INDEX_FILE"))
        is_root |= {view.folder: not in_git.isdisjoint(_marks(view)) for around in unmarked for view in around}
    opened: dict[Path, Workspace] = {}
    for view in (view for around in views.values() for view in around):
        if is_root[view.folder] and view.folder not in opened:
            opened[view.folder] = open_in(view, environment)
    return {folder: tuple(opened[view.folder] for view in around if view.folder in opened) for folder, around in views.items()}


def _views(repository: Repository, folder: Path) -> list[Repository]:
    """The repository as it is seen from a folder, and from each above it in the work tree."""
    return [repository.at_folder(level) for level in (folder, *folder.parents) if level.is_relative_to(repository.root)]


def _marks(view: Repository) -> list[FilePath]:
    return [FilePath(f"{view.prefix}{name}") for name in layout.WORKSPACE_MARKS]


def require_hooks_free(workspace: Workspace) -> None:
    """Refuse to install hooks where somebody else manages them.

    Raises:
        RepositoryProblem: `hooks-managed`, with the lines to add by hand.
    """
    hooks_path = workspace.repository.setting("core.hooksPath")
    if hooks_path is not None:
        raise hookfiles.managed_hooks_problem(
            f"core.hooksPath is set ({hooks_path}), so hooks are managed elsewhere", "Add there", sys.executable
        )
