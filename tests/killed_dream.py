"""A night that is killed. As a program: `killed_dream.py WORKSPACE STEP…` dreams, once for each
step, by a process that is killed before that step unless it is done by then; before every other one
the state is deleted. It prints whether each was killed.
"""

import os
import shutil
import signal
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from killed_write import is_step

from mdmem.memory import Memory
from mdmem.model.pipelines import Dream
from mdmem.workspace import open_at


def _dream_killed(folder: Path, steps: int) -> None:
    done = 0

    def count(event: str, arguments: Sequence[Any]) -> None:
        nonlocal done
        if is_step(event, arguments):
            done += 1
            if done > steps:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    with closing(Memory(open_at(folder, os.environ))) as memory:
        memory.pipelines.dream(Dream())
    os._exit(0)


def _main(folder: Path, steps: Sequence[int]) -> None:
    state = open_at(folder, os.environ).state
    for number, step in enumerate(steps):
        if number % 2 and state.exists():
            shutil.rmtree(
                state, ignore_errors=True
            )  # a catch-up in the background may still write into it
        child = os.fork()
        if not child:
            _dream_killed(folder, step)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status in (0, -signal.SIGKILL), f"the night exited {status}"
        print("killed" if status else "done", flush=True)


if __name__ == "__main__":
    _main(Path(sys.argv[1]), [int(step) for step in sys.argv[2:]])
