"""The claim in the message of a commit that an agent makes with git: nobody knows who typed what it brings in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mdmem import repo
from mdmem.memory.guards import workspaces_of
from mdmem.memory.merge_trailers import write_trailers
from mdmem.repo import git_files
from mdmem.workspace import actor_in_shell

_MOVED_BY = frozenset({"a rebase", "a cherry-pick"})
"""Operations of git that make commits again, whoever made them first."""


def add_claim(folder: Path, message: str, environment: Mapping[str, str]) -> str | None:
    """Add `Mdmem-Claimed-By` to the message of a commit that an agent makes of memory files.

    Args:
        folder: any folder of the work tree.
        message: the file with the message, relative to the folder.
        environment: the variables of the hook; `GIT_INDEX_FILE` names what is committed.

    Returns:
        The agent; None where a person commits, no memory changes, or git makes commits again.
    """
    repository = repo.discover(folder)
    repository = repository.at_folder(repository.root)
    if git_files.operation_under_way(str(repository.git_dir)) in _MOVED_BY:
        return None
    folders = {change.path: (repository.root / change.path).parent for change in repository.staged(environment.get("GIT_INDEX_FILE"))}
    workspaces = workspaces_of(repository, set(folders.values()), environment)
    for path, its_folder in folders.items():
        workspace = workspaces.get(its_folder)
        if workspace is None:
            continue
        is_memory = workspace.kind_of(path.removeprefix(workspace.repository.prefix)).is_memory
        actor = actor_in_shell([environment.get("MDMEM_ACTOR")], workspace.settings.people, environment)
        if is_memory and actor is not None and workspace.is_agent(actor):
            agent = " ".join(actor.split())
            write_trailers(repository, folder, message, [f"Mdmem-Claimed-By: {agent}"])
            return agent
    return None
