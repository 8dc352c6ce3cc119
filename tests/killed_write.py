"""A write that is killed before each of its steps. As a program: `killed_write.py CHANGE FOLDER...`, where the write in the first folder is killed
before its first step, in the second before its second, and so on. It prints an exit status for each: 1 where the write was killed.
"""

import os
import pickle
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from mdmem.changes import APPLIERS
from mdmem.model.writes import Change
from mdmem.workspace import open_at

if TYPE_CHECKING:
    from workspaces import Desk

_MOST_STEPS = 40
_STEPS = ("os.rename", "os.remove", "os.mkdir", "os.link", "ctypes.dlsym")
"""Audit events that are a step of a write whatever their arguments. A function of the C library is looked up to exchange two names."""


def killed_at_every_step(at: "Desk", folder: Path, change: Change, now: str) -> list[tuple["Desk", bool]]:
    """Make the change in copies of a workspace, killed before its first step, its second, and so on to the end; True where it was killed."""
    copies = [folder / f"{steps}" for steps in range(_MOST_STEPS)]
    for copy in copies:
        shutil.copytree(at.root, copy, symlinks=True)
    # Without -B a module that is compiled at its first import would be one step more.
    command = [sys.executable, "-B", __file__, pickle.dumps(change).hex(), *copies]
    statuses = at.world.run(folder, command, environment={"MDMEM_NOW": now}).stdout.split()
    killed = statuses.count("1")
    assert statuses == ["1"] * killed + ["0"] * (_MOST_STEPS - killed)
    assert 8 < killed < _MOST_STEPS - 1, "it has more steps than are tried"
    return [(replace(at, root=copy), status == "1") for copy, status in zip(copies, statuses, strict=True)][: killed + 1]


def is_step(event: str, arguments: Sequence[Any]) -> bool:
    """True for an audit event that changes something on disk, or starts a git that does."""
    if event == "open":
        path, _, flags = arguments
        is_file = not isinstance(path, int) and path != os.devnull  # a number is open already
        return is_file and isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR))
    if event == "subprocess.Popen":
        return not {"add", "commit"}.isdisjoint(arguments[1])
    return event in _STEPS


def _write(folder: str, change: Change, steps: int) -> NoReturn:
    """Make the change and die before one more step than these."""
    done = 0

    def count(event: str, arguments: Sequence[Any]) -> None:
        nonlocal done
        if is_step(event, arguments):
            done += 1
            if done > steps:
                os._exit(1)

    workspace = open_at(Path(folder), os.environ)
    sys.addaudithook(count)
    APPLIERS[type(change)].apply(workspace, change, lambda _: None)
    os._exit(0)


def _main(change: str, *folders: str) -> None:
    for steps, folder in enumerate(folders):
        child = os.fork()
        if not child:
            _write(folder, pickle.loads(bytes.fromhex(change)), steps)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    _main(*sys.argv[1:])
