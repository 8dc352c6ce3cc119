"""The transcripts that are due: those that the settings name."""

from __future__ import annotations

from mdmem.errors import WorkspaceProblem
from mdmem.transcripts.files import TranscriptFile, find_files, require_sources, searched_folders
from mdmem.workspace import Workspace


def due_files(workspace: Workspace) -> list[TranscriptFile]:
    """The transcripts that the settings name; none where they switch digests off.

    Raises:
        WorkspaceProblem: `no-sessions`: they name none, or there are none.
    """
    environment = workspace.environment
    if workspace.settings.digest == "off":
        return []
    sources = require_sources(workspace.settings, environment)
    files = list(find_files(sources, environment))
    if not files:
        folders = ", ".join(searched_folders(sources, environment))
        raise WorkspaceProblem("no-sessions", f"no transcripts in {folders}", "Name other clients, or globs, in the setting sessions.")
    return files
