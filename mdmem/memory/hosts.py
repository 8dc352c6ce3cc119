"""The workspace that an agent's host means, for its hooks and for its server alike."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from mdmem import repo
from mdmem.folder import config, trust
from mdmem.folder.trust import TextOrigin
from mdmem.model import errors
from mdmem.model.errors import RepositoryProblem, WorkspaceProblem
from mdmem.repo import Repository
from mdmem.startup.records import dataclass, replace
from mdmem.workspace import (
    adoption,
    existing_folder,
    find_workspace,
    no_workspace,
    removed_memory,
    workspaces_meant_by,
)

_UNEXPANDED = "${"
"""A value with this in it is a variable that the host did not fill in."""
_PROJECT = "CLAUDE_PROJECT_DIR"


def expanded(environment: Mapping[str, str]) -> Mapping[str, str]:
    """An environment without mdmem's variables that the host did not fill in: they are unset.

    Such a host may have started this elsewhere, as Copilot CLI does, in the plugin's folder. The
    project is where its shell was then, if it is inherited.
    """
    kept = {
        name: value
        for name, value in environment.items()
        if not (_UNEXPANDED in value and (name == _PROJECT or name.startswith("MDMEM_")))
    }
    started = environment.get("PWD") if len(kept) < len(environment) else None
    return {_PROJECT: started, **kept} if started else kept


@dataclass(frozen=True, slots=True)
class HostWorkspace:
    """The workspace that a host means; `repository` is None where none is to be served.

    `passed_over`: the nearest workspace that the user has not adopted; it counts as none.
    """

    repository: Repository | None
    passed_over: Path | None = None


def find_host_workspace(
    environment: Mapping[str, str],
    folder: str | None = None,
    named: Path | None = None,
) -> HostWorkspace:
    """The workspace: the named, else the first adopted one that the host's folders mean.

    These are MDMEM_WORKSPACE, else the project's and `folder` (by default the current one). A host
    fills in the project for MDMEM_WORKSPACE: where it only says that, the others count too. Raises
    WorkspaceProblem (none where one is named, or unreadable user settings), RepositoryProblem.
    """
    environment = expanded(environment)
    if named is not None:
        return _with_adoption(find_workspace(named, environment), environment)
    starts = [
        Path(start).resolve() for start in (environment.get(_PROJECT), folder or os.curdir) if start
    ]
    variable, is_elsewhere = environment.get("MDMEM_WORKSPACE"), False
    if variable:
        start = existing_folder(variable)
        is_elsewhere = start not in starts
        starts = [start] if is_elsewhere else [start, *starts]
    passed_over: Path | None = None
    for candidate in workspaces_meant_by(starts, environment):
        judged = _with_adoption(candidate, environment)
        if judged.repository:
            return replace(judged, passed_over=passed_over)
        passed_over = passed_over or candidate
    if is_elsewhere and passed_over is None:
        raise no_workspace(variable)
    return HostWorkspace(None, passed_over)


def _with_adoption(root: Path, environment: Mapping[str, str]) -> HostWorkspace:
    try:
        repository = repo.discover(root)
    except RepositoryProblem:
        # git's message may repeat what a stranger wrote into `.git`
        if adoption.is_named(root, environment):
            raise
        return HostWorkspace(None, root)
    if adoption.is_adopted(repository, environment) or trust.trust(TextOrigin.STRANGER).is_served:
        return HostWorkspace(repository)
    return HostWorkspace(None, root)


def require_adopted_in_shell(
    named: Path | None, added: Iterable[str], environment: Mapping[str, str]
) -> None:
    """Refuse an agent in its host's shell what no tool would give it, before anything is read.

    `added` are the folders of workspaces that are read too. Raises WorkspaceProblem (`not-adopted`,
    or as `find_workspace`).
    """
    for folder in (find_workspace(named, environment), *map(Path, added)):
        if _with_adoption(folder, environment).repository is None:
            raise not_adopted()


def require_host_workspace(
    environment: Mapping[str, str],
    named: Path | None = None,
) -> Repository:
    """The repository of the workspace, as `find_host_workspace` finds it.

    Raises WorkspaceProblem (`no-workspace`, with the line to type; `not-adopted`, without one,
    since an agent reads it; or as `find_host_workspace`).
    """
    found = find_host_workspace(environment, named=named)
    if found.repository is not None:
        return found.repository
    if found.passed_over is not None:
        raise not_adopted()
    project = expanded(environment).get(_PROJECT)
    raise removed_memory(Path(project or ".").resolve()) or WorkspaceProblem(
        "no-workspace",
        f"no workspace in {project or Path.cwd()} or above",
        (
            f"To create one: {errors.verb('init')} {errors.shell_word(project or 'DIR')}. To use"
            " one elsewhere: workspace = "
            f'"DIR" in {config.user_settings_path(environment)}'
        ),
    )


def has_host_workspace(environment: Mapping[str, str], named: Path | None = None) -> bool:
    """False if the host means no workspace to be served, which is no failure."""
    try:
        return find_host_workspace(environment, named=named).repository is not None
    except WorkspaceProblem as problem:
        return problem.code != "no-workspace"
    except RepositoryProblem:
        return True


def not_adopted() -> WorkspaceProblem:
    """The refusal for an agent's tool."""
    return WorkspaceProblem("not-adopted", "a person has to adopt this memory at a terminal")


def notice(found: HostWorkspace, environment: Mapping[str, str]) -> str:
    """The line for the user about a workspace that was passed over; empty if there is none.

    It names `init` with `found` once a day, where the memory seems to be the user's own.
    """
    if found.passed_over is None:
        return ""
    author, way = "", f": {adoption.init_command(found.passed_over)}"
    with suppress(RepositoryProblem):
        repository = repo.discover(found.passed_over)
        author = adoption.last_change(repository)
        if adoption.is_of_user(repository, environment):
            if not adoption.is_first_today(environment):
                return ""
            way = f", and others of yours: {errors.verb('init', 'found')}"
    instead = f"; {found.repository.folder} is used instead" if found.repository else ""
    return (
        f"This folder contains a memory you have not adopted{author}{instead}. To use"
        f" {'this one' if instead else 'it'}{way}"
    )
