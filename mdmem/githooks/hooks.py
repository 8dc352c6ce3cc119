"""The work of git's hooks.

git runs them at the top of the work tree. For mdmem's own commits (`MDMEM_COMMIT=1`) they do
nothing.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import NoReturn

from mdmem import repo
from mdmem.folder import trust
from mdmem.folder.hook_files import HOOKS, MERGING, SENDS_ALL
from mdmem.index import background
from mdmem.model import Problem
from mdmem.model.errors import MdmemError, UsageProblem, printable, report, typed
from mdmem.model.rules import parse_allowances
from mdmem.startup.launch import launch
from mdmem.workspace import Workspace, open_at, used_workspaces

_INDEX, _VECTORS = "mdmem.index.catching_up", "mdmem.vectors.store"
_MAX_DESCRIPTORS = 65_536
_NICENESS = 10  # nice(2) of background work, which yields to a waiting person or agent


def run(at_end: Callable[[], None] | None = None) -> NoReturn:
    launch(main, at_end)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one hook, catch-up of the index or sync, and return the exit status.

    Raises ImportError if a part of mdmem is missing; the shim then lets the commit pass.
    """
    words = tuple(sys.argv[1:] if arguments is None else arguments)
    if os.environ.get("MDMEM_COMMIT") == "1" and words and words[0] in HOOKS:
        return 0
    return _pre_commit() if words[:1] == ("pre-commit",) else report(lambda: _run(words))


def _run(words: tuple[str, ...]) -> int:
    match words:
        case ("catch-up", folder):
            _end_with(Path(folder))
            workspace = open_at(Path(folder), os.environ)
            if _start_sync(workspace):
                _note_sending(workspace.repository.git_dir, True)
            os.nice(_NICENESS)
            os.chdir("/")  # so that the caller's folder is not kept busy
            catch_up([Path(folder)])
        case ("sync" | "sync-later" as verb, folder):
            # Not nice: writes wait for it while it puts files in place.
            _end_with(Path(folder))
            os.chdir("/")
            memory = import_module("mdmem.memory").Memory.open(Path(folder), os.environ)
            is_later = verb == "sync-later"
            memory.sync_if_due(only_unsent=is_later, when_quiet=is_later)
        case ("prepare-commit-msg", message, *_):
            # The pre-commit framework calls it for each commit.
            if any(Path(message).with_name(name).exists() for name in MERGING):
                import_module("mdmem.memory.commit_hooks").add_merge_trailers(
                    Path.cwd(), message, os.environ
                )
            if os.environ.get("MDMEM_ACTOR") or trust.host_of(os.environ):
                import_module("mdmem.memory.commit_hooks").add_claim(
                    Path.cwd(), message, os.environ
                )
        case (hook, *_) if hook in HOOKS:
            _detach()
            _end_with(Path.cwd())
            roots = used_workspaces(Path.cwd(), os.environ)
            sending = [_start_sync(open_at(root, os.environ)) for root in roots]
            git_dir = os.environ.get("GIT_DIR") or ".git"
            _note_sending(Path(git_dir), any(sending))
            os.nice(_NICENESS)
            if background.wait_unless_waited(git_dir, f"{git_dir}/mdmem/waiting"):
                catch_up(used_workspaces(Path.cwd(), os.environ))
        case _:
            raise UsageProblem(
                f"mdmem.githooks takes {', '.join(HOOKS)} catch-up, sync or sync-later FOLDER"
            )
    return 0


def catch_up_in_fork(folder: Path) -> None:
    """Catch up in a process that a command has forked at its end, as one started for it would."""
    variables = repo.environment()
    os.environ.clear()
    os.environ.update(variables)
    main(("catch-up", str(folder)))


def catch_up(folders: Iterable[Path]) -> None:
    """Bring the indexes of workspaces up to date, and their vectors where these are on.

    Raises MdmemError (the first problem, after all of them have had their turn).
    """
    problems: list[MdmemError] = []
    for folder in folders:
        try:
            workspace = open_at(folder, os.environ)
            is_done = import_module(_INDEX).catch_up_workspace(workspace)
            if is_done and workspace.settings.vectors != "off":
                import_module(_VECTORS).fill_store(workspace)
        except MdmemError as problem:
            problems.append(problem)
    if problems:
        raise problems[0]


def _start_sync(workspace: Workspace) -> bool:
    """Start a sync if the settings want one after each write; True if it sends other files too."""
    if workspace.settings.sync != "auto":
        return False
    background.start_syncing(workspace, when_quiet=True)
    return workspace.settings.sync_files == "all"


def _note_sending(git_dir: Path, sends_all: bool) -> None:
    """Leave word for the shims, which start nothing else after a commit without Markdown."""
    note = git_dir / "mdmem" / SENDS_ALL
    with suppress(OSError):
        if sends_all:
            note.touch()
        else:
            note.unlink(missing_ok=True)


def _pre_commit() -> int:
    """Raises ImportError if a part of mdmem is missing: the commit is not checked then."""
    missing: list[ImportError] = []

    def checked() -> int:
        try:
            return _check_staged()
        except ImportError as problem:
            missing.append(problem)
            return 0

    status = report(checked)
    if missing:
        raise missing[0]
    return status


def _check_staged() -> int:
    started = time.monotonic()
    allow = parse_allowances(os.environ.get("MDMEM_ALLOW", ""))
    commit_hooks = import_module("mdmem.memory.commit_hooks")
    problems = commit_hooks.staged_problems(Path.cwd(), os.environ)
    refused = import_module("mdmem.text.check").refusals(problems, allow)
    for problem in problems:
        _print_problem(problem, problem in refused)
    if refused:
        commit_hooks.record_refusal(Path.cwd(), os.environ, refused, time.monotonic() - started)
    return 1 if refused else 0


def _print_problem(problem: Problem, refused: bool) -> None:
    label = "" if refused else "allowed: " if problem.level == "error" else "warning: "
    print(
        printable(
            f"mdmem: {problem.path}:{problem.line}: {label}{typed(problem.message)}", keep=""
        ),
        file=sys.stderr,
    )
    if problem.hint and (refused or problem.level != "error"):
        print(printable(f"hint: {typed(problem.hint)}", keep=""), file=sys.stderr)


def _end_with(folder: Path) -> None:
    """End this process within a second or two once a folder is gone: its work is for nobody."""

    def look(number: int, frame: FrameType | None) -> None:
        if not folder.exists():
            sys.exit(1)

    signal.signal(signal.SIGALRM, look)
    signal.siginterrupt(signal.SIGALRM, False)
    signal.setitimer(signal.ITIMER_REAL, 1, 1)


def _detach() -> None:
    """Leave git's session, and close its files, such as a lock of the caller."""
    if sys.platform != "win32" and os.getpgrp() != os.getpid():
        os.setsid()
    os.closerange(3, _MAX_DESCRIPTORS)
