"""The clients whose transcripts may be read: those that the user's own settings name, and the projects that count."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mdmem import config
from mdmem.config import Settings
from mdmem.errors import WorkspaceProblem
from mdmem.transcripts import reading


def require_sources(settings: Settings, environment: Mapping[str, str]) -> tuple[str, ...]:
    """The clients and globs that the setting `sessions` names.

    Raises:
        WorkspaceProblem: `no-sessions`: it names none.
    """
    if not settings.sessions:
        message = "no transcript source configured"
        raise WorkspaceProblem("no-sessions", message, settings_hint(environment))
    return settings.sessions


def settings_hint(environment: Mapping[str, str]) -> str:
    """The line to put into the user's own settings, and their file."""
    own_settings = config.user_settings_path(environment) or Path("config.toml")
    return f'Put sessions = ["claude"] into {own_settings}; the clients are {", ".join(reading.CLIENTS)}.'


class Scope:
    """The sessions that count, by the folder that they work in: those of one work tree, or all."""

    def __init__(self, scope: str, root: Path) -> None:
        self.is_all = scope == "all"
        """True if all sessions count."""
        self._root = root
        self._answers: dict[str, bool] = {}

    def includes(self, project: str | None) -> bool:
        """True if the sessions of a project count."""
        if self.is_all or project is None:
            return self.is_all
        if project not in self._answers:
            self._answers[project] = _lies_in(project, self._root)
        return self._answers[project]


def _lies_in(project: str, root: Path) -> bool:
    """True if a folder, as a transcript names it, lies in another one."""
    try:
        return Path(project).is_absolute() and Path(project).resolve().is_relative_to(root)
    except (ValueError, OSError, RuntimeError):  # no path at all, or a circle of links
        return False
