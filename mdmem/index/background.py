"""The detached catch-up and sync, started and waited for."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress

from mdmem import repo
from mdmem.folder import files
from mdmem.startup import late
from mdmem.startup.launch import fork_detached, leave_to_the_end
from mdmem.workspace import Workspace

_QUIET_SECONDS, _LONGEST_WAIT_SECONDS, _LOOK_SECONDS = 0.25, 3.0, 0.05


def wait_until_quiet(folder: str | os.PathLike[str]) -> None:
    """Wait until no name has been written in a folder for a moment, a few seconds at most."""
    ends = time.monotonic() + _LONGEST_WAIT_SECONDS
    while time.monotonic() < ends and time.time() - os.stat(folder).st_mtime < _QUIET_SECONDS:
        time.sleep(_LOOK_SECONDS)  # in the background, where nobody waits for it


def wait_unless_waited(folder: str, mark: str) -> bool:
    """Wait until the folder is quiet; False if another process waits already and will see the work.

    Args:
        folder: where names are written at each change.
        mark: a file that exists while a process waits, stamped with the latest end of the wait. If
            the folder is newer, the process was killed. (The shims check it in the same way.)
    """
    try:
        os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        if _is_newer(mark, folder):
            return False
    except OSError:  # no folder for the mark, or none that can be written
        return True
    with suppress(FileNotFoundError):
        ends = time.time() + _LONGEST_WAIT_SECONDS
        os.utime(mark, (ends, ends))
    try:
        wait_until_quiet(folder)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(mark)
    return True


def _is_newer(mark: str, folder: str) -> bool:
    try:
        return os.stat(mark).st_mtime > os.stat(folder).st_mtime
    except FileNotFoundError:
        return False


_STARTING_SECONDS = 0.1
"""The least that a process takes from its start to its first look at the files."""


class _CatchUp:
    def __init__(self) -> None:
        self.waiting: threading.Thread | None = None
        self.started = 0.0

    @property
    def has_yet_to_look(self) -> bool:
        return (
            self.waiting is not None
            and self.waiting.is_alive()
            and time.monotonic() - self.started < _STARTING_SECONDS
        )


def start_catching_up(workspace: Workspace) -> threading.Thread | None:
    """Start a detached catch-up unless one runs or waits already; never a reason to fail.

    A process that ends soon forks it at its end, which takes half of what Python's start and the
    modules would. The thread returned by another ends with the catch-up.
    """
    if leave_to_the_end(workspace.state, lambda: _fork_catch_up(workspace)):
        return None
    return start_catching_up_now(workspace)


def _fork_catch_up(workspace: Workspace) -> None:
    def catch_up() -> None:
        late.module("githooks.hooks").catch_up_in_fork(workspace.root)

    with suppress(OSError):
        if not _is_under_way(workspace) and not fork_detached(catch_up):
            _start("catch-up", workspace)


def _is_under_way(workspace: Workspace) -> bool:
    locks = (workspace.state / name for name in (files.QUEUE_LOCK, files.INDEX_LOCK))
    return any(map(files.is_locked, locks))


def start_catching_up_now(workspace: Workspace) -> threading.Thread | None:
    """The same before this process ends.

    The thread returned ends with the catch-up, so that a program that lives on keeps no dead child.
    """
    last = workspace.resources.get(_CatchUp)
    try:
        if last.has_yet_to_look or _is_under_way(workspace) or not sys.executable:
            return None
        child = _start("catch-up", workspace)
        last.started = time.monotonic()
        last.waiting = threading.Thread(
            target=_wait_for, args=(child,), name="mdmem catch-up", daemon=True
        )
        last.waiting.start()
    except (OSError, RuntimeError):  # the latter: the system has no room for a thread
        return None
    return last.waiting


def start_syncing(workspace: Workspace, when_quiet: bool = False) -> None:
    """Start a detached sync, for a process that ends soon; never a reason to fail.

    `when_quiet`: one that waits for a moment without writes, unless another waits already.
    """
    is_waiting = when_quiet and files.is_locked(workspace.state / files.SYNC_QUEUE_LOCK)
    if sys.executable and not is_waiting:
        with suppress(OSError):
            _start("sync-later" if when_quiet else "sync", workspace)


def _start(verb: str, workspace: Workspace) -> int:
    # -P: nothing is imported from the folder that the user is in.
    command = [sys.executable, "-P", "-m", "mdmem.githooks", verb, str(workspace.root)]
    null = os.devnull
    streams = [
        (os.POSIX_SPAWN_OPEN, 0, null, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, null, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    return os.posix_spawn(
        sys.executable, command, repo.environment(), file_actions=streams, setsid=True
    )


def wait_for_catch_up(workspace: Workspace, seconds: float) -> None:
    """Wait for the process that this one started last, but no longer than so many seconds."""
    waiting = workspace.resources.get(_CatchUp).waiting
    if waiting is not None:
        waiting.join(seconds)


def _wait_for(child: int) -> None:
    with suppress(ChildProcessError):  # somebody else has waited for it
        os.waitpid(child, 0)
