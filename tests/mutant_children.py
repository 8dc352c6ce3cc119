"""Child processes for the mutation tests: forked, bounded in time and memory, so many at a time."""

import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kept_map import ROOT

KEPT = ROOT / ".mutants"
"""What is kept from run to run, and the logs of the children."""
MOST_BYTES = 4_000_000_000
"""The most memory of one process: an endless loop in a mutant could take all that there is."""
MOST_CPU_SECONDS = 1800
"""The most time of one process, so that an endless loop ends too where nobody is left
to stop it.
"""


@dataclass(frozen=True)
class Child:
    """A process that may run until `limit`, of the monotonic clock. `done` is called with its exit
    status, None if the time was up.
    """

    number: int
    limit: float
    done: Callable[[int | None], None]


def fork(work: Callable[[], int], log: Path) -> int:
    number = os.fork()
    if number:
        return number
    status = 70
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_SECONDS, MOST_CPU_SECONDS))
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with log.open("wb") as output, Path(os.devnull).open("rb") as nothing:
            for stream, file in ((0, nothing), (1, output), (2, output)):
                os.dup2(file.fileno(), stream)
        os.chdir(ROOT)
        status = int(work())
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def run_all(starts: Iterable[Callable[[int], Child]], jobs: int) -> None:
    """Run children, at most `jobs` at a time. Each start is called with the number of its seat,
    which no other running child has.
    """
    waiting, children = iter(starts), dict[int, Child]()
    try:
        while True:
            for seat in sorted(set(range(jobs)).difference(children)):
                if begin := next(waiting, None):
                    children[seat] = begin(seat)
            if not children:
                return
            time.sleep(
                0.01
            )  # nothing tells of the end of whichever child is first, with a time limit for each
            for seat, child in list(children.items()):
                if _has_ended(child):
                    del children[seat]
    finally:
        for child in children.values():
            os.killpg(child.number, signal.SIGKILL)


def _has_ended(child: Child) -> bool:
    ended, status = os.waitpid(child.number, os.WNOHANG)
    if ended:
        child.done(os.waitstatus_to_exitcode(status))
    elif time.monotonic() > child.limit:
        os.killpg(child.number, signal.SIGKILL)
        os.waitpid(child.number, 0)
        child.done(None)
    else:
        return False
    with suppress(ProcessLookupError):
        os.killpg(child.number, signal.SIGKILL)  # what a test has left
    return True
