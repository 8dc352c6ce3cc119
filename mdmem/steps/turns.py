"""Turns: of two pipelines of a workspace one works, and looks once more at what hooks report
meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

from mdmem.errors import RepositoryProblem
from mdmem.folder import files

T = TypeVar("T")

BELOW_RUN = "MDMEM_RUN"
"""The variable that is set for what a run or a hook starts: no pipeline eats its own words, and a
digest so started leaves its transcript to whoever is at work.
"""
LOCK_NAME = "run.lock"
"""Held by the pipeline that is at work, and by whoever else writes the cursors."""
_REPORTED_NAME = "reported"
"""The folder in the state folder with the transcripts that hooks reported while another was at
work.
"""


def in_turn(
    state: Path,
    work: Callable[[], T],
    look_again: Callable[[tuple[str, ...]], bool],
    reported: Collection[str] = (),
) -> T:
    """Do some work while no other pipeline of the workspace is at work; then look at the
    transcripts that hooks reported meanwhile.

    Args:
        state: the state folder, which is there.
        work: what is to be done.
        look_again: reads the transcripts that were reported; False where it could not, and they are
        left to the next one.
        reported: the transcripts of a hook, for whoever is at work now.

    Raises:
        RepositoryProblem: `running`: another one is at work.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(_turn(state))
        except RepositoryProblem:
            if not reported:
                raise
            _report(state, reported)
            stack.enter_context(
                _turn(state)
            )  # the other one may have looked for the last time before
        result = work()
        has_looked = _look(state, look_again)
    while has_looked and _reports(state):  # between the last look and the end of the turn
        try:
            with _turn(state):
                has_looked = _look(state, look_again)
        except RepositoryProblem as problem:
            if problem.code != "running":
                raise
            break
    return result


@contextmanager
def _turn(state: Path) -> Iterator[None]:
    """Hold the lock of the pipelines.

    Raises:
        RepositoryProblem: `running`.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(files.lock(state / LOCK_NAME, 0))
        except RepositoryProblem as problem:
            message = "another digest or run of this workspace is at work"
            hint = "It reads what is new; the next run reads anything that arrives meanwhile."
            raise RepositoryProblem("running", message, hint) from problem
        yield


def _report(state: Path, transcripts: Collection[str]) -> None:
    """Leave transcripts for whoever is at work: each call as a file of its own, which is there as a
    whole or not at all.
    """
    (state / _REPORTED_NAME).mkdir(exist_ok=True)
    new = state / files.temporary_name()
    new.write_bytes(b"\0".join(map(os.fsencode, transcripts)))
    new.rename(state / _REPORTED_NAME / os.urandom(8).hex())


def _reports(state: Path) -> list[Path]:
    try:
        return list((state / _REPORTED_NAME).iterdir())
    except FileNotFoundError:
        return []


def _look(state: Path, look_again: Callable[[tuple[str, ...]], bool]) -> bool:
    """Look at what was reported, until there is no more or that fails (False). A report stays until
    it was looked at.
    """
    while reports := _reports(state):
        paths = b"\0".join(report.read_bytes() for report in reports).split(b"\0")
        if not look_again(tuple(dict.fromkeys(map(os.fsdecode, filter(None, paths))))):
            return False
        for report in reports:
            report.unlink()
    return True
