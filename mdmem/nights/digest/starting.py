"""Start the digest of one session in a process of its own, for the hooks of agents' hosts."""

from __future__ import annotations

import os
import sys
import time
from hashlib import sha256
from pathlib import Path

from mdmem import repo
from mdmem.nights.steps import BELOW_RUN
from mdmem.sessions.files import find_files
from mdmem.workspace import Workspace

_STARTED_NAME = "digest-started"
"""The state folder's folder with a file per transcript, timed by its digest's start."""
_SECONDS = 60.0
"""The minimum between two digests of one session."""
_NAME_DIGITS = 16


def start_digest(workspace: Workspace, transcript: Path, is_last: bool = False) -> bool:
    """Start a detached digest of a configured transcript; return True if started.

    It never fails, and runs at most once a minute, except for an ended session (`is_last`), which
    nothing would digest later.
    """
    settings = workspace.settings
    if settings.digest == "off" or not settings.sessions or not sys.executable:
        return False
    if workspace.environment.get(BELOW_RUN):  # no pipeline digests its own session
        return False
    try:
        workspace.ensure_state()
        started = (
            workspace.state
            / _STARTED_NAME
            / sha256(os.fsencode(transcript)).hexdigest()[:_NAME_DIGITS]
        )
        if (not is_last and _is_recent(started)) or not _is_named(workspace, transcript):
            return False
        _note_start(started)
        # -P: nothing is imported from the folder that the user is in. What mdmem starts is silent
        # towards the host's hooks.
        command = [
            sys.executable,
            "-P",
            "-m",
            "mdmem",
            "-C",
            str(workspace.root),
            "digest",
            "--no-model",
            "--json",
            str(transcript),
        ]
        null = os.devnull
        streams = [
            (os.POSIX_SPAWN_OPEN, 0, null, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, null, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ]
        os.posix_spawn(
            sys.executable,
            command,
            repo.environment({"MDMEM_CONTEXT": "off", BELOW_RUN: "1"}),
            file_actions=streams,
            setsid=True,
        )
    except OSError:
        return False
    return True


def _is_recent(started: Path) -> bool:
    try:
        return 0 <= time.time() - started.stat().st_mtime < _SECONDS
    except OSError:
        return False


def _note_start(started: Path) -> None:
    if started.parent.is_file():  # as an earlier version kept it
        started.parent.unlink()
    started.parent.mkdir(mode=0o700, exist_ok=True)
    for path in started.parent.iterdir():
        if not _is_recent(path):
            path.unlink(missing_ok=True)
    started.touch(mode=0o600)


def _is_named(workspace: Workspace, transcript: Path) -> bool:
    path = os.path.realpath(transcript)
    return any(
        file.path == path for file in find_files(workspace.settings.sessions, workspace.environment)
    )
