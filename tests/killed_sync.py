"""A sync that is killed at some of its steps. As a program: `killed_sync.py FOLDER [STEP COPY]...`,
where FOLDER holds the clone `bo` and its remote. The sync in each copy of it is killed before so
many steps. Prints a line for each: the name of that step, or `done`. Without any step it syncs in
FOLDER itself, and prints the names of all steps.
"""

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kept_state import keep_state
from killed_write import WRITING_GITS, is_step

from mdmem.folder import files
from mdmem.index import background
from mdmem.memory import Memory
from mdmem.model.pipelines import Sync

if TYPE_CHECKING:
    from conftest import World

_WRITING_GITS = WRITING_GITS | {
    *("commit-tree", "config", "fetch", "merge-tree", "push"),
    *("read-tree", "update-index", "write-tree"),
}
DONE = "done"


def steps_of(world: "World", folder: Path) -> list[str]:
    """Sync in a copy, and list the names of the steps."""
    shutil.copytree(folder, copy := folder.with_name("whole"), symlinks=True)
    keep_state(copy)
    return world.run(folder, [sys.executable, "-B", __file__, copy]).stdout.splitlines()


def killed_before(world: "World", folder: Path, step: int, name: str) -> tuple[Path, str]:
    """Sync in a copy, killed before a step; the clone there, and the name of the step."""
    copy = folder.with_name(name)
    command = [sys.executable, "-B", __file__, folder, str(step), copy]
    return copy / "bo", world.run(folder, command).stdout.strip()


def _name(event: str, arguments: Sequence[Any]) -> str | None:
    """The name of an audit event that is a step."""
    if event == "mdmem.exchange":
        return "exchange"
    if event == "subprocess.Popen":
        words = [word for word in arguments[1] if isinstance(word, str)]
        verbs = _WRITING_GITS.intersection(words)
        return f"git {min(verbs)}" if verbs else None
    if event == "ctypes.dlsym" or not is_step(event, arguments):
        return None
    paths = (Path(os.fsdecode(path)).name for path in arguments[:2] if isinstance(path, str | Path))
    return " ".join((event.removeprefix("os."), *paths))


def _sync(folder: Path, step: int | None) -> None:
    """Sync, and die before so many steps; print the name of that one, or of all."""
    names: list[str] = []

    def count(event: str, arguments: Sequence[Any]) -> None:
        if name := _name(event, arguments):
            names.append(name)
            if len(names) == (step or 0) + 1 and step is not None:
                os.write(1, f"{name}\n".encode())
                os._exit(0)

    rename = files._rename

    def audited(old: Path, new: Path, flags: int) -> bool:
        sys.audit("mdmem.exchange")
        return rename(old, new, flags)

    files._rename = audited  # the system's exchange is no event of its own
    background.start_catching_up = lambda workspace: None
    os.chdir(folder)
    memory = Memory.open(folder, os.environ)
    sys.addaudithook(count)
    memory.sync(Sync())
    os.write(1, "".join(f"{name}\n" for name in ([DONE] if step is not None else names)).encode())
    os._exit(0)


def _main(original: str, *words: str) -> None:
    if not words:
        _sync(Path(original, "bo"), None)
    for step, copy in zip(words[::2], words[1::2], strict=True):
        shutil.copytree(original, copy, symlinks=True)
        keep_state(Path(copy))
        _sync(Path(copy, "bo"), int(step))


if __name__ == "__main__":
    _main(*sys.argv[1:])
