"""Runs whose digest asks a model, and that are killed. As a program: `killed_model_step.py
WORKSPACE STEPS` carries out what is due, and kills itself before one more step than these; steps
count from the first answer on that is kept. It prints the number of steps where it was not killed.
"""

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from killed_write import is_step

from mdmem.llm import asking
from mdmem.memory import Memory
from mdmem.workspace import open_at


def _main(folder: Path, steps: int) -> None:
    done = 0
    has_answer = False

    def count(event: str, arguments: Sequence[Any]) -> None:
        nonlocal done, has_answer
        has_answer = (
            has_answer
            or (event == "os.mkdir" and str(arguments[0]).endswith(asking.FOLDER_NAME))
            or folder_is_there
        )
        if has_answer and is_step(event, arguments):
            done += 1
            if done > steps:
                os.kill(os.getpid(), signal.SIGKILL)

    folder_is_there = (open_at(folder, os.environ).state / asking.FOLDER_NAME).exists()
    sys.addaudithook(count)
    with closing(Memory(open_at(folder, os.environ))) as memory:
        assert not memory.pipelines.run().failed
    print(done, flush=True)
    os._exit(0)


if __name__ == "__main__":
    _main(Path(sys.argv[1]), int(sys.argv[2]))
