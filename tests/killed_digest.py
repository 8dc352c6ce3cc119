"""Digests that are killed. As a program: `killed_digest.py WORKSPACE TRANSCRIPTS KILLS SEED` has
growing transcripts digested, each time by a process that is killed before one of its steps, drawn
by lot; now and then the state is deleted. It prints the steps after which each was killed.

TRANSCRIPTS is a folder with the whole sessions; they grow, line by line, beside them in `growing`.
Every other process is told their names, and the others (`run`) find them by the user's settings.
"""

import os
import random
import shutil
import signal
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

from killed_write import is_step

from mdmem.memory import Memory
from mdmem.model.pipelines import Digest
from mdmem.workspace import open_at

_MOST_STEPS = 45
GROWING = "growing"


def _digest(folder: Path, transcripts: Sequence[Path], by_run: bool) -> None:
    with closing(Memory(open_at(folder, os.environ))) as memory:
        if by_run:
            assert not [step.message for step in memory.pipelines.run().steps if step.message]
        else:
            memory.pipelines.digest(Digest(sessions=tuple(map(str, transcripts))))


def _digest_killed(folder: Path, transcripts: Sequence[Path], steps: int, by_run: bool) -> NoReturn:
    """Digest and be killed before one more step than these."""
    done = 0

    def count(event: str, arguments: Sequence[Any]) -> None:
        nonlocal done
        if is_step(event, arguments):
            done += 1
            if done > steps:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    _digest(folder, transcripts, by_run)
    os._exit(0)


def _is_killed(folder: Path, transcripts: Sequence[Path], steps: int, by_run: bool) -> bool:
    child = os.fork()
    if not child:
        _digest_killed(folder, transcripts, steps, by_run)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, -signal.SIGKILL), f"the digest exited {status}"
    return status != 0


def rest(sessions: Path) -> dict[Path, list[bytes]]:
    """The growing transcripts with the lines that they do not have yet."""
    growing = sessions / GROWING
    growing.mkdir(exist_ok=True)
    lines = {
        growing / path.name: path.read_bytes().splitlines(keepends=True)
        for path in sorted(sessions.glob("*.jsonl"))
    }
    return {
        path: each[len(path.read_bytes().splitlines()) :] if path.exists() else each
        for path, each in lines.items()
    }


def grow(path: Path, lines: Sequence[bytes]) -> None:
    with path.open("ab") as file:
        file.writelines(lines)


def _main(folder: Path, sessions: Path, kills: int, lots: random.Random) -> None:
    state = open_at(folder, os.environ).state
    left = rest(sessions)
    is_growing = any(left.values())
    while kills:
        if is_growing:
            path = lots.choice([path for path, lines in left.items() if lines])
            count = lots.randint(1, 2)
            grow(path, left[path][:count])
            del left[path][:count]
        while not lots.randrange(3) and state.exists():
            shutil.rmtree(
                state, ignore_errors=True
            )  # a catch-up in the background may still write into it
        steps = lots.randrange(_MOST_STEPS)
        transcripts = sorted(path for path in left if path.exists())
        if is_killed := _is_killed(folder, transcripts, steps, by_run=bool(lots.randrange(2))):
            kills -= 1
            print(steps, flush=True)
        is_growing = any(left.values()) and (not is_killed or not lots.randrange(4))


if __name__ == "__main__":
    _main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), random.Random(sys.argv[4]))
