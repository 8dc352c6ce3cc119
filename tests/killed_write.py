"""A write that is killed after some of its steps. As a program: `killed_write.py CHANGE WORKSPACE
STEPS FOLDER...`, where the write in each folder, a copy of the workspace, is killed after so many
steps. It prints an exit status for each, 1 where the write was killed, and ends at the first 0.
"""

import os
import pickle
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from kept_state import keep_state

from mdmem.memory import carry_out
from mdmem.model.proposals import Decide, Propose
from mdmem.model.writes import Change
from mdmem.review import list_decisions, proposing
from mdmem.workspace import open_at

if TYPE_CHECKING:
    from workspaces import Desk

    Request = Propose | Decide

_MOST_STEPS = 40
_STEPS = ("os.rename", "os.remove", "os.mkdir", "os.link", "ctypes.dlsym")
"""Audit events that are a step of a write whatever their arguments. A function of the C library is
looked up to exchange two names.
"""
WRITING_GITS = {"add", "commit", "fast-import", "update-ref"}


def killed_at_every_step(
    at: "Desk", folder: Path, change: "Change | Request", now: str
) -> list[tuple["Desk", bool]]:
    """Make the change in copies of a workspace, killed before its first step, its second, and so on
    to the end; True where it was killed.
    """
    statuses = killed_after(at, folder, change, now, range(_MOST_STEPS))
    killed = len(statuses) - 1
    assert [was_killed for _, was_killed in statuses] == [True] * killed + [False]
    assert 8 < killed < _MOST_STEPS - 1, "it has more steps than are tried"
    return statuses


def killed_after(
    at: "Desk", folder: Path, change: "Change | Request", now: str, steps: Sequence[int]
) -> list[tuple["Desk", bool]]:
    """Make the change in copies of a workspace, killed after so many steps, up to the first that
    comes to its end; True where it was killed.
    """
    folder.mkdir(exist_ok=True)
    # Without -B a module that is compiled at its first import would be one step more.
    words = [word for number in steps for word in (str(number), folder / f"{number}")]
    command = [sys.executable, "-B", __file__, pickle.dumps(change).hex(), at.root, *words]
    statuses = at.world.run(folder, command, environment={"MDMEM_NOW": now}).stdout.split()
    assert set(statuses) <= {"0", "1"}
    return [
        (replace(at, root=folder / f"{number}"), status == "1")
        for number, status in zip(steps, statuses, strict=False)
    ]


def is_step(event: str, arguments: Sequence[Any]) -> bool:
    """True for an audit event that changes something on disk, or starts a git that does."""
    if event == "open":
        path, _, flags = arguments
        is_file = not isinstance(path, int) and path != os.devnull  # a number is open already
        return is_file and isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR))
    if event == "subprocess.Popen":
        return not WRITING_GITS.isdisjoint(arguments[1])
    return event in _STEPS


def _write(folder: str, change: "Change | Request", steps: int) -> NoReturn:
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
    match change:
        case Propose():
            proposing.propose(workspace, change, lambda _: None)
        case Decide():
            list_decisions.decide(workspace, change, lambda _: None)
        case _:
            carry_out(workspace, change, lambda _: None)
    os._exit(0)


def _main(change: str, original: str, *words: str) -> None:
    for steps, folder in zip(words[::2], words[1::2], strict=True):
        shutil.copytree(original, folder, symlinks=True)
        keep_state(Path(folder))
        child = os.fork()
        if not child:
            _write(folder, pickle.loads(bytes.fromhex(change)), int(steps))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(status, flush=True)
        if status == 0:
            break


if __name__ == "__main__":
    _main(*sys.argv[1:])
