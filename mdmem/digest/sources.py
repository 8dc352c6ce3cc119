"""The transcripts of a digest: those that were named, or those that the settings name."""

from __future__ import annotations

from pathlib import Path

from mdmem.errors import PathProblem, WorkspaceProblem
from mdmem.startup import late
from mdmem.transcripts.clients import require_sources
from mdmem.transcripts.files import find_files, searched_folders
from mdmem.transcripts.reading import CLIENTS
from mdmem.workspace import Workspace

_SESSION_CHARACTERS = 6
"""A session is named by so many characters of its id or more."""
_BEFORE_ID = late.pattern(r"[-_T](?=[0-9a-f])")


def named_transcripts(workspace: Workspace, name: str) -> list[Path]:
    """The transcript at a path, or the one whose file is named after a session that begins so.

    Raises:
        PathProblem: `file-not-found`: there is none.
    """
    if Path(name).is_file():
        return [Path(name)]
    if len(name) >= _SESSION_CHARACTERS:
        sources = workspace.settings.sessions or CLIENTS
        paths = [Path(file.path) for file in find_files(sources, workspace.environment) if _is_of(Path(file.path), name)]
        if paths:
            return paths
    raise PathProblem(
        "file-not-found", f"there is no transcript {name}", "Name its file, or the first six characters of the session or more."
    )


def _is_of(path: Path, session: str) -> bool:
    """True if a file is named after a session that begins so."""
    return any(path.stem[at:].startswith(session) for at in (0, *(match.end() for match in _BEFORE_ID.finditer(path.stem))))


def due_transcripts(workspace: Workspace) -> list[Path]:
    """The transcripts that the settings name; none where they switch digests off.

    Raises:
        WorkspaceProblem: `no-sessions`: they name none, or there are none.
    """
    environment = workspace.environment
    if workspace.settings.digest == "off":
        return []
    sources = require_sources(workspace.settings, environment)
    paths = [Path(file.path) for file in find_files(sources, environment)]
    if not paths:
        folders = ", ".join(searched_folders(sources, environment))
        raise WorkspaceProblem(
            "no-sessions", f"there are no transcripts in {folders}", "Name other clients, or globs, in the setting sessions."
        )
    return paths
