"""Checks of git and the repository: version, settings, identity, locks, objects, hooks."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from mdmem import config, files, hookfiles
from mdmem.doctor.inspection import DAY_SECONDS, Finding, Inspection, Level
from mdmem.errors import RepositoryProblem
from mdmem.model import SETTINGS_NAME
from mdmem.repo import locks
from mdmem.repo.runner import run
from mdmem.wording import verb

_OLDEST_GIT = (2, 36)
"""The first with `core.fsync`, which makes a commit survive a power cut."""
_FSCK_SECONDS = 120.0
_GIT_LOCKS = ("*.lock", "refs/**/*.lock", "objects/*.lock", "objects/info/**/*.lock")
_VERSION = re.compile(r"(\d+)\.(\d+)")


def check_git(case: Inspection) -> Iterator[Finding]:
    """Whether git is there, and new enough."""
    said = case.repository.git("--version").decode("utf-8", "replace").strip()
    match = _VERSION.search(said)
    if match and (int(match[1]), int(match[2])) < _OLDEST_GIT:
        oldest = ".".join(map(str, _OLDEST_GIT))
        yield Finding(
            check="git",
            level=Level.WARNING,
            message=f"{said} cannot make a commit survive a power cut",
            hint=f"Install git {oldest} or newer.",
        )
    else:
        yield Finding(check="git", level=Level.OK, message=said)


def check_settings(case: Inspection) -> Iterator[Finding]:
    """Whether the settings can be read, and what they name is there."""
    root, own = case.workspace.root, config.user_settings_path(case.workspace.environment)
    settings = config.load(root, case.repository.root, case.workspace.environment)
    present = [str(place) for place in (root / SETTINGS_NAME, own) if place is not None and place.exists()]
    yield Finding(check="settings", level=Level.OK, message=f"from {' and '.join(present)}" if present else "all at their defaults")
    for path in settings.extra_paths:
        if not (root / path).exists():
            yield Finding(check="settings", level=Level.WARNING, message=f"extra_paths names {path}, which is not there")
    if case.workspace.environment.get("MDMEM_NOW"):
        moment = config.now(settings, case.workspace.environment).isoformat(timespec="seconds")
        yield Finding(check="settings", level=Level.NOTE, message=f"MDMEM_NOW is set: {moment} is the time that is written")


def check_identity(case: Inspection) -> Iterator[Finding]:
    """Whether it is known who commits."""
    own = case.workspace.identity()
    yield Finding(
        check="identity",
        level=Level.OK,
        message=f"commits are by {own.name} <{own.email}>, by the settings" if own else "git knows who commits",
    )


def check_repository(case: Inspection) -> Iterator[Finding]:
    """Whether git could take a commit now."""
    repository, branch = case.repository, case.repository.branch()
    try:
        repository.require_ready(case.workspace.settings.allow_detached, branch)
    except RepositoryProblem as problem:
        if problem.code not in ("repository-busy", "detached-head"):
            raise
        yield Finding(check="repository", level=Level.WARNING, message=f"{problem.message}; nothing can be written now", hint=problem.hint)
    else:
        yield Finding(
            check="repository", level=Level.OK, message=f"on {branch}" if branch else "HEAD is detached, which allow_detached allows"
        )
    if repository.head() is None:
        yield Finding(check="repository", level=Level.NOTE, message="there is no commit yet")
    if repository.is_shallow():
        yield Finding(
            check="repository",
            level=Level.NOTE,
            message="the clone is shallow: what memory used to say ends where it is cut off",
            hint="git fetch --unshallow",
        )


def check_locks(case: Inspection) -> Iterator[Finding]:
    """Locks that a dead process left, and who holds mdmem's own."""
    repository = case.repository
    folders = (repository.root, repository.git_dir, repository.common_dir)
    left = sorted({lock for folder in folders[1:] for pattern in _GIT_LOCKS for lock in folder.glob(pattern)})
    for lock in left:
        yield from _git_lock(case, lock, folders)
    if not left:
        yield Finding(check="locks", level=Level.OK, message="git holds no lock")
    for lock in sorted(case.workspace.state.glob("*lock")):
        if files.is_locked(lock):
            holder = locks.holder(lock)
            who = f": {holder.process}, which has run for {_age(holder.seconds)}" if holder else ""
            yield Finding(check="locks", level=Level.NOTE, message=f"{lock.name} of mdmem is held by another process{who}")


def _git_lock(case: Inspection, lock: Path, folders: tuple[Path, ...]) -> Iterator[Finding]:
    try:
        age = _age(time.time() - lock.stat().st_mtime)
    except FileNotFoundError:  # let go of meanwhile
        return
    if not locks.is_stale(lock, folders):
        hint = "If it stays, and no git is at work here, remove it."
        yield Finding(check="locks", level=Level.WARNING, message=f"git's {lock} is {age} old, and may be in use", hint=hint)
        return
    fixed = case.fix and _removed(case, lock, folders)
    hint = "" if fixed else f"{verb('doctor', 'fix')} removes it."
    message = f"git's {lock} was left {age} ago by a process that is gone{'; it is removed' if fixed else ''}"
    yield Finding(check="locks", level=Level.WARNING, message=message, fixed=fixed, hint=hint)


def _removed(case: Inspection, lock: Path, folders: tuple[Path, ...]) -> bool:
    """Remove a lock of git's if it is dead still, now that no mdmem is at work."""
    with case.locked():
        dead = locks.is_stale(lock, folders)
        if dead:
            lock.unlink()
        return dead


def _age(seconds: float) -> str:
    for unit, size in (("days", DAY_SECONDS), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{int(seconds / size)} {unit}"
    return f"{max(int(seconds), 0)} seconds"


def check_fsck(case: Inspection) -> Iterator[Finding]:
    """Whether every object is there."""
    try:
        done = run(case.workspace.root, ["fsck", "--connectivity-only", "--no-dangling", "--no-progress"], seconds=_FSCK_SECONDS)
    except RepositoryProblem as problem:
        if problem.code != "git-timeout":
            raise
        yield Finding(
            check="fsck", level=Level.NOTE, message=f"not done within {_FSCK_SECONDS:g} seconds", hint="git fsck takes the time it needs."
        )
        return
    if done.status:
        said = "; ".join([*done.output.decode("utf-8", "replace").splitlines(), *done.error_text.splitlines()][:3])
        yield Finding(
            check="fsck",
            level=Level.ERROR,
            message=f"the repository is damaged: {said}",
            hint="git fsck says more; another clone may have what is missing.",
        )
    else:
        yield Finding(check="fsck", level=Level.OK, message="every object that a commit needs is there")


def check_hooks(case: Inspection) -> Iterator[Finding]:
    """Whether git's hooks are installed."""
    folder, elsewhere = case.repository.hooks_dir, case.repository.setting("core.hooksPath")
    wrong = ", ".join(f"{name} is {how}" for name, how in hookfiles.hook_states(folder).items() if how != "installed")
    if not wrong:
        yield Finding(check="hooks", level=Level.OK, message="all are installed")
    elif elsewhere is not None:
        hint = f"{verb('hooks install')} prints the lines to add there."
        yield Finding(check="hooks", level=Level.WARNING, message=f"core.hooksPath is set ({elsewhere}), and there {wrong}", hint=hint)
    elif case.fix:
        yield from _installed(folder, wrong)
    else:
        yield Finding(
            check="hooks", level=Level.WARNING, message=wrong, hint=f"{verb('hooks install')}; a hook that is there is kept and runs first."
        )


def _installed(folder: Path, wrong: str) -> Iterator[Finding]:
    try:
        hookfiles.install(folder, sys.executable)
    except RepositoryProblem as problem:
        yield Finding(check="hooks", level=Level.WARNING, message=problem.message, hint=problem.hint)
    else:
        yield Finding(check="hooks", level=Level.WARNING, message=f"installed ({wrong})", fixed=True)
