"""Work that is killed before one of its steps, in a process of its own."""

import os
import shutil
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from kept_state import keep_state
from workspaces import Desk

from mdmem.folder import files
from mdmem.model.writes import Change

_MOST_STEPS = 40
_STEPS = {"os.rename", "os.remove", "os.mkdir", "os.link", "mdmem.exchange"}
"""Audit events that are a step of a write whatever their arguments."""
_WRITING_GITS = {
    *("add", "commit", "commit-tree", "config", "fast-import", "fetch", "index-pack"),
    *("merge-tree", "prune", "push", "read-tree", "reflog", "repack", "stash", "update-index"),
    *("update-ref", "write-tree"),
}
DONE = "done"


def killed_at_every_step(
    at: Desk, folder: Path, change: Change, now: str
) -> list[tuple[Desk, bool]]:
    """Make the change in copies of a workspace, killed before its first step, its second, and so on
    to the end; True where it was killed.
    """

    def make(copy: Desk) -> None:
        os.environ["MDMEM_NOW"] = now
        copy.apply(change)

    statuses = killed_after(at, folder, make, range(_MOST_STEPS))
    killed = len(statuses) - 1
    assert [was_killed for _, was_killed in statuses] == [True] * killed + [False]
    assert 8 < killed < _MOST_STEPS - 1, "it has more steps than are tried"
    return statuses


def killed_after(
    at: Desk, folder: Path, act: Callable[[Desk], object], steps: Sequence[int]
) -> list[tuple[Desk, bool]]:
    """Act in copies of a workspace, killed after so many steps, up to the first that comes to its
    end; True where it was killed.
    """
    folder.mkdir(exist_ok=True)
    copies: list[tuple[Desk, bool]] = []
    for number in steps:
        copy = copied(at, folder / f"{number}")
        copies.append((copy, is_killed(lambda each=copy: act(each), number)))
        if not copies[-1][1]:
            break
    return copies


def copied(at: Desk, folder: Path, whole: Path | None = None) -> Desk:
    """A copy of a workspace, or of a `whole` folder that it is in."""
    shutil.copytree(whole or at.root, folder, symlinks=True)
    keep_state(folder)
    return replace(at, root=folder / at.root.relative_to(whole or at.root))


def is_killed(act: Callable[[], object], steps: int, since: Path | None = None) -> bool:
    return steps_of(act, steps, since)[-1] != DONE


def steps_of(
    act: Callable[[], object], steps: int = sys.maxsize, since: Path | None = None
) -> list[str]:
    """Act in a process that is killed before one more step than these. The names of its steps, of
    which the last is the one that it was killed before, or `DONE`.

    `since`: steps count from the moment on at which that folder is made.
    """
    reader, writer = os.pipe()
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        child = os.fork()  # Python warns where a model answers in a thread
    if not child:
        _act(act, steps, since, writer)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as lines:
        names = lines.read().splitlines()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == (0 if names[-1:] == [DONE] else -signal.SIGKILL), names
    return names


def _act(act: Callable[[], object], steps: int, since: Path | None, names: int) -> NoReturn:
    """Act, note each step, and die before one more than these."""
    done = 0
    counts = since is None or since.exists()

    def count(event: str, arguments: Sequence[Any]) -> None:
        nonlocal counts, done
        counts = counts or (event == "os.mkdir" and Path(arguments[0]).name == since.name)
        if counts and (name := _step(event, arguments)):
            os.write(names, f"{name}\n".encode())
            done += 1
            if done > steps:
                os.kill(os.getpid(), signal.SIGKILL)

    rename = files._rename

    def audited(old: Path, new: Path, flags: int) -> bool:
        sys.audit("mdmem.exchange")
        return rename(old, new, flags)

    files._rename = audited  # the system's exchange is no event of its own
    sys.dont_write_bytecode = True  # a module that is imported would be one step more
    sys.addaudithook(count)
    status = 1
    try:
        act()
        os.write(names, f"{DONE}\n".encode())
        status = 0
    finally:
        if status:
            traceback.print_exc()
        os._exit(status)


def _step(event: str, arguments: Sequence[Any]) -> str | None:
    """The name of an audit event that changes something on disk, or starts a git that does."""
    if event == "subprocess.Popen":
        verbs = _WRITING_GITS.intersection(arguments[1])
        return f"git {min(verbs)}" if verbs else None
    if event == "open":
        path, _, flags = arguments
        if isinstance(path, int) or path == os.devnull:  # a number is open already
            return None
        if not (isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR)):
            return None
    elif event not in _STEPS:
        return None
    paths = (Path(os.fsdecode(path)).name for path in arguments[:2] if isinstance(path, str | Path))
    return " ".join((event.removeprefix("os.").removeprefix("mdmem."), *paths))
