"""git's lock files, and which of them a dead process left behind.

A lock is stale when it is older than two seconds, no process has it open, and no git process in the
repository started before its time stamp: git closes `index.lock` while hooks run, and a git child
can outlive the program that started it and still finish.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from mdmem.startup import late
from mdmem.startup.records import dataclass

_MIN_AGE_SECONDS = 2.0
_PROCESSES = Path("/proc")
_NAMED = late.pattern(r"(/[^'\"«»„“\n]*\.lock)")
_START_FIELD = 19
"""The start time in `/proc/PID/stat`, counted after the name's bracket (proc(5), field 22)."""


def lock_named_in(error_text: str) -> Path | None:
    match = _NAMED.search(error_text)
    return Path(match[1]) if match else None


def is_stale(lock: Path, folders: tuple[Path, ...]) -> bool:
    try:
        status = lock.stat()
        if (
            time.time() - status.st_mtime < _MIN_AGE_SECONDS
            or status.st_uid != os.geteuid()
            or not (_PROCESSES / "self" / "stat").exists()
        ):
            return False
        repository_folders = _repository_folders(folders)
    except OSError:
        return False
    return not any(
        _has_open(process, status) or _is_older_git(process, status.st_mtime, repository_folders)
        for process in _processes(status.st_uid)
    )


def _repository_folders(folders: tuple[Path, ...]) -> tuple[Path, ...]:
    """A repository's folders with main and linked work trees, which share locks of branches."""
    main = [folder.parent for folder in folders if folder.name == ".git"]
    files = [file for folder in folders for file in folder.glob("worktrees/*/gitdir")]
    linked = [(file.parent / os.fsdecode(file.read_bytes())).parent for file in files]
    return tuple(Path(os.path.realpath(folder)) for folder in (*folders, *main, *linked))


def _processes(owner: int) -> Iterator[Path]:
    for process in _PROCESSES.iterdir():
        if process.name.isdigit():
            try:
                if process.stat().st_uid == owner:
                    yield process
            except FileNotFoundError:
                continue


def _has_open(process: Path, lock: os.stat_result) -> bool:
    try:
        return any(_is_same(descriptor, lock) for descriptor in (process / "fd").iterdir())
    except OSError:
        return False


def _is_same(descriptor: Path, file: os.stat_result) -> bool:
    try:
        return os.path.samestat(descriptor.stat(), file)
    except OSError:
        return False


def _is_older_git(process: Path, changed_at: float, folders: tuple[Path, ...]) -> bool:
    try:
        if (
            not (process / "comm").read_text(errors="replace").startswith("git")
            or _start_time(process) > changed_at + 1
        ):
            return False
        here = (process / "cwd").readlink()
        words = (process / "cmdline").read_bytes().split(b"\0")
        words += [
            entry
            for entry in (process / "environ").read_bytes().split(b"\0")
            if entry.startswith(b"GIT_")
        ]
    except (FileNotFoundError, ProcessLookupError):
        return False  # it has ended meanwhile
    except OSError:
        return True
    # A folder may be a word of its own (--git-dir DIR) or follow an equals sign (--git-dir=DIR,
    # GIT_DIR=DIR), relative to git's folder.
    names = {os.fsdecode(part) for word in words for part in (word, word.partition(b"=")[2])}
    return any(
        Path(os.path.realpath(here / name)).is_relative_to(folder)
        for name in (str(here), *names)
        for folder in folders
    )


def _start_time(process: Path) -> float:
    ticks = int(
        (process / "stat").read_text(errors="replace").rpartition(")")[2].split()[_START_FIELD]
    )
    booted = next(
        (
            line
            for line in (_PROCESSES / "stat").read_text().splitlines()
            if line.startswith("btime ")
        ),
        "btime 0",
    )
    return float(booted.split()[1]) + ticks / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that has a lock file open, and the seconds it has run."""

    process: int
    seconds: float


def holder(lock: Path) -> Holder | None:
    """The oldest other process with a lock file open; None where the system knows none."""
    if not (_PROCESSES / "self" / "stat").exists():
        return None
    oldest: Holder | None = None
    try:
        file = lock.stat()
        for process in _processes(file.st_uid):
            if process.name != str(os.getpid()) and _has_open(process, file):
                holder = Holder(int(process.name), max(0.0, time.time() - _start_time(process)))
                oldest = holder if oldest is None or holder.seconds > oldest.seconds else oldest
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        return oldest
    return oldest
