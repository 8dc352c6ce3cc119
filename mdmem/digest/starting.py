"""Start the digest of one session in a process of its own, for the hooks of an agent's host."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from mdmem import repo
from mdmem.digest.turns import BELOW_RUN
from mdmem.transcripts.files import find_files
from mdmem.workspace import Workspace

_STARTED_NAME = "digest-started"
"""The file in the state folder whose time is that of the last start."""
_SECONDS = 60.0
"""A digest is started no more often than this."""


def start_digest(workspace: Workspace, transcript: Path) -> bool:
    """Start a detached digest of a transcript, where the user's own settings name it, and at most once a minute. It is never a reason to fail.

    Returns:
        True if one was started.
    """
    settings = workspace.settings
    if settings.digest == "off" or not settings.sessions or not sys.executable:
        return False
    if workspace.environment.get(BELOW_RUN):  # the session of what a run has started: no pipeline eats its own words
        return False
    try:
        if not _is_time(workspace) or not _is_named(workspace, transcript):
            return False
        workspace.ensure_state()
        (workspace.state / _STARTED_NAME).touch(mode=0o600)
        # -P: nothing is imported from the folder that the user is in. What mdmem starts is silent towards the host's hooks.
        command = [sys.executable, "-P", "-m", "mdmem", "-C", str(workspace.root), "digest", "--no-model", "--json", str(transcript)]
        null = os.devnull
        streams = [
            (os.POSIX_SPAWN_OPEN, 0, null, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, null, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ]
        os.posix_spawn(
            sys.executable, command, repo.environment({"MDMEM_CONTEXT": "off", BELOW_RUN: "1"}), file_actions=streams, setsid=True
        )
    except OSError:
        return False
    return True


def _is_time(workspace: Workspace) -> bool:
    try:
        started = (workspace.state / _STARTED_NAME).stat().st_mtime
    except FileNotFoundError:
        return True
    return not 0 <= time.time() - started < _SECONDS


def _is_named(workspace: Workspace, transcript: Path) -> bool:
    """True if the settings name the transcript, by its client or by a glob."""
    path = os.path.realpath(transcript)
    return any(file.path == path for file in find_files(workspace.settings.sessions, workspace.environment))
