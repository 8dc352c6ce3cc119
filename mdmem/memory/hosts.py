"""The workspace that an agent's host means, for its hooks and for its server alike."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from mdmem import config, wording
from mdmem.errors import WorkspaceProblem
from mdmem.listing import is_marked
from mdmem.workspace import find_workspace

_UNEXPANDED = "${"
"""A value with this in it is a variable that the host did not fill in."""
_PROJECT = "CLAUDE_PROJECT_DIR"


def expanded(environment: Mapping[str, str]) -> Mapping[str, str]:
    """An environment without the variables for mdmem that the host did not fill in: they count as unset."""
    return {
        name: value for name, value in environment.items() if not (_UNEXPANDED in value and (name == _PROJECT or name.startswith("MDMEM_")))
    }


def find_host_workspace(environment: Mapping[str, str], folder: str | None = None) -> Path | None:
    """The folder of the workspace: MDMEM_WORKSPACE, else that of the project, else of `folder`, else the user's own setting.

    A host fills in the folder of the project for MDMEM_WORKSPACE, whether or not memory is there: where it only says that, it counts as
    the project. `folder` is the current one by default. None where there is no workspace.

    Raises:
        WorkspaceProblem: the one that is named is no workspace, or the user's own settings cannot be read.
    """
    environment = expanded(environment)
    starts = [Path(start).resolve() for start in (environment.get(_PROJECT), folder or os.curdir) if start]
    if named := environment.get("MDMEM_WORKSPACE"):
        start = Path(named).resolve()
        if start not in starts:
            return find_workspace(start, environment)
        starts.insert(0, start)
    for start in starts:
        for candidate in (start, *start.parents):
            if is_marked(candidate):
                return candidate
    own = config.own_workspace(environment)
    return find_workspace(own, environment) if own else None


def require_host_workspace(environment: Mapping[str, str]) -> Path:
    """The folder of the workspace, as `find_host_workspace` finds it.

    Raises:
        WorkspaceProblem: `no-workspace`, with the line to type; or as `find_host_workspace`.
    """
    root = find_host_workspace(environment)
    if root is None:
        project = expanded(environment).get(_PROJECT)
        raise WorkspaceProblem(
            "no-workspace",
            f"there is no workspace in {project or Path.cwd()} or above",
            f'{wording.verb("init")} {project or "DIR"} makes one; workspace = "DIR" in {config.user_settings_path(environment)} names '
            "one that is elsewhere.",
        )
    return root
