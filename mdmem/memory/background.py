"""The detached catch-up, started."""

from __future__ import annotations

import os
import sys

from mdmem import files, repo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mdmem.memory.workspace import Workspace


def start_catching_up(workspace: Workspace) -> int | None:
    """Start a detached process that brings the index up to date, unless one runs or waits already. It is never a reason to fail.

    Returns:
        Its process id, None where none was started.
    """
    # -P: nothing is imported from the folder that the user is in.
    command = [sys.executable, "-P", "-m", "mdmem.githooks", "catch-up", str(workspace.root)]
    null = os.devnull
    streams = [(os.POSIX_SPAWN_OPEN, 0, null, os.O_RDONLY, 0), (os.POSIX_SPAWN_OPEN, 1, null, os.O_WRONLY, 0), (os.POSIX_SPAWN_DUP2, 1, 2)]
    try:
        if any(files.is_locked(workspace.state / name) for name in (files.QUEUE_LOCK, files.INDEX_LOCK)) or not sys.executable:
            return None
        return os.posix_spawn(sys.executable, command, repo.environment(), file_actions=streams, setsid=True)
    except OSError:
        return None
