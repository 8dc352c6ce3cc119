"""git's lock files, and which of them a dead process left behind.

A lock is dead when it is older than two seconds, no process has it open, and no git process at work in the repository started before
its time stamp: git closes `index.lock` while hooks run, and a git child can outlive the program that started it and still finish.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from mdmem.startup.records import dataclass

_MIN_AGE_SECONDS = 2.0
_PROCESSES = Path("/proc")
_NAMED = re.compile(r"(/[^'\"«»„“\n]*\.lock)")
_START_FIELD = 19
"""Where `/proc/PID/stat` has the start, in clock ticks after the boot, counted after the name's closing bracket (proc(5), field 22)."""


def lock_named_in(words: str) -> Path | None:
    """The lock file that git's message names."""
    match = _NAMED.search(words)
    return Path(match[1]) if match else None


def is_stale(lock: Path, folders: tuple[Path, ...]) -> bool:
    """Whether a lock file was left by a dead process; False where that cannot be told.

    Args:
        lock: the lock file.
        folders: the work tree and the git folders of the repository.
    """
    try:
        found = lock.stat()
        if time.time() - found.st_mtime < _MIN_AGE_SECONDS or found.st_uid != os.geteuid() or not (_PROCESSES / "self" / "stat").exists():
            return False
        places = _places(folders)
    except OSError:
        return False
    return not any(_holds(process, found) or _is_older_git(process, found.st_mtime, places) for process in _processes(found.st_uid))


def _places(folders: tuple[Path, ...]) -> tuple[Path, ...]:
    """The folders of a repository, its main and its linked work trees among them: they share the locks of branches."""
    main = [folder.parent for folder in folders if folder.name == ".git"]
    files = [file for folder in folders for file in folder.glob("worktrees/*/gitdir")]
    linked = [(file.parent / os.fsdecode(file.read_bytes().rstrip(b"\n"))).parent for file in files]
    return tuple(Path(os.path.realpath(place)) for place in (*folders, *main, *linked))


def _processes(owner: int) -> Iterator[Path]:
    """The processes of one user: nobody else's made a file that is theirs."""
    for process in _PROCESSES.iterdir():
        if process.name.isdigit():
            try:
                if process.stat().st_uid == owner:
                    yield process
            except FileNotFoundError:
                continue


def _holds(process: Path, lock: os.stat_result) -> bool:
    """Whether a process has a file open, by whatever name."""
    try:
        return any(_is_same(descriptor, lock) for descriptor in (process / "fd").iterdir())
    except OSError:
        return False


def _is_same(descriptor: Path, file: os.stat_result) -> bool:
    try:
        return os.path.samestat(descriptor.stat(), file)
    except OSError:
        return False


def _is_older_git(process: Path, moment: float, places: tuple[Path, ...]) -> bool:
    try:
        if not (process / "comm").read_text(errors="replace").startswith("git") or _started(process) > moment + 1:
            return False
        here = (process / "cwd").readlink()
        words = (process / "cmdline").read_bytes().split(b"\0")
        words += [entry for entry in (process / "environ").read_bytes().split(b"\0") if entry.startswith(b"GIT_")]
    except (FileNotFoundError, ProcessLookupError):
        return False  # it has ended meanwhile
    except OSError:
        return True
    # A folder may be a word of its own (--git-dir DIR) or stand after a sign (--git-dir=DIR, GIT_DIR=DIR), relative to where git is.
    named = {os.fsdecode(part) for word in words for part in (word, word.partition(b"=")[2])}
    return any(Path(os.path.realpath(here / name)).is_relative_to(place) for name in (str(here), *named) for place in places)


def _started(process: Path) -> float:
    """When a process started, in seconds since 1970."""
    ticks = int((process / "stat").read_text(errors="replace").rpartition(")")[2].split()[_START_FIELD])
    booted = next((line for line in (_PROCESSES / "stat").read_text().splitlines() if line.startswith("btime ")), "btime 0")
    return float(booted.split()[1]) + ticks / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that has a lock file open, and for how many seconds it has run."""

    process: int
    seconds: float


def holder(lock: Path) -> Holder | None:
    """The process other than this one that has a lock file open, of several the oldest; None where the system tells of none."""
    if not (_PROCESSES / "self" / "stat").exists():
        return None
    oldest: Holder | None = None
    try:
        file = lock.stat()
        for process in _processes(file.st_uid):
            if process.name != str(os.getpid()) and _holds(process, file):
                found = Holder(int(process.name), max(0.0, time.time() - _started(process)))
                oldest = found if oldest is None or found.seconds > oldest.seconds else oldest
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        return oldest
    return oldest
