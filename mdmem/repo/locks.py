"""git's lock files, and which of them a dead process left behind.

A lock is dead when it is older than two seconds, no process has it open, and no git process at work in the repository started before
its time stamp: git closes `index.lock` while hooks run, and a git child can outlive the program that started it and still finish.
"""

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

_MIN_AGE_SECONDS = 2.0
_PROCESSES = Path("/proc")
_NAMED = re.compile(r"(/[^'\"«»„“\n]*\.lock)")
_START_FIELD = 19
"""Where `/proc/PID/stat` has the start, in clock ticks after the boot, counted after the name's closing bracket (proc(5), field 22)."""


def named_in(words: str) -> Path | None:
    """The lock file that git's message names."""
    match = _NAMED.search(words)
    return Path(match[1]) if match else None


def is_dead(lock: Path, folders: tuple[Path, ...]) -> bool:
    """Whether a lock file was left by a dead process; False where that cannot be told.

    Args:
        lock: the lock file.
        folders: the work tree and the git folders of the repository.
    """
    try:
        found = lock.stat()
    except OSError:
        return False
    if time.time() - found.st_mtime < _MIN_AGE_SECONDS or not (_PROCESSES / "self" / "stat").exists():
        return False
    if found.st_uid != os.geteuid():
        return False
    places = _places(folders)
    return not any(_holds(process, lock) or _is_older_git(process, found.st_mtime, places) for process in _processes(found.st_uid))


def _places(folders: tuple[Path, ...]) -> tuple[Path, ...]:
    """The folders of a repository, its main and its linked work trees among them: they share the locks of branches."""
    main = [folder.parent for folder in folders if folder.name == ".git"]
    linked = [Path(file.read_text().strip()).parent for folder in folders for file in folder.glob("worktrees/*/gitdir")]
    return (*folders, *main, *linked)


def _processes(owner: int) -> Iterator[Path]:
    """The processes of one user: nobody else's made a file that is theirs."""
    for process in _PROCESSES.iterdir():
        if process.name.isdigit():
            try:
                if process.stat().st_uid == owner:
                    yield process
            except FileNotFoundError:
                continue


def _holds(process: Path, lock: Path) -> bool:
    try:
        return any(_target(descriptor) == str(lock) for descriptor in (process / "fd").iterdir())
    except OSError:
        return False


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""


def _is_older_git(process: Path, moment: float, places: tuple[Path, ...]) -> bool:
    try:
        name = (process / "comm").read_text()
        if not name.startswith("git"):
            return False
        ticks = int((process / "stat").read_text().rpartition(")")[2].split()[_START_FIELD])
        started = _boot_time() + ticks / os.sysconf("SC_CLK_TCK")
        if started > moment + 1:
            return False
        folder = Path(_target(process / "cwd"))
        words = [(process / name).read_text(errors="replace") for name in ("cmdline", "environ")]
    except (FileNotFoundError, ProcessLookupError):
        return False  # it has ended meanwhile
    except OSError:
        return True
    return any(folder.is_relative_to(place) or any(str(place) in said for said in words) for place in places)


def _boot_time() -> float:
    for line in (_PROCESSES / "stat").read_text().splitlines():
        if line.startswith("btime "):
            return float(line.split()[1])
    return 0.0
