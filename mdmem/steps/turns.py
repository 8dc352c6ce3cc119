"""Turns: one pipeline of a workspace works at a time, then reads what hooks reported meanwhile."""

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
"""Set for what a run or hook starts: no pipeline digests itself, or waits for its parent."""
LOCK_NAME = "run.lock"
"""Held by the running pipeline, and by others who write cursors."""
_REPORTED_NAME = "reported"
"""The state folder's folder of transcripts that hooks reported during a run."""


def in_turn(
    state: Path,
    work: Callable[[], T],
    look_again: Callable[[tuple[str, ...]], bool],
    reported: Collection[str] = (),
) -> T:
    """Work while no other pipeline of the workspace runs, then read transcripts reported meanwhile.

    `look_again` returns False where it could not read them, which leaves them to the next one.
    `reported` are a hook's transcripts, left to whoever is at work.
    Raises: RepositoryProblem (`running`).
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(_turn(state))
        except RepositoryProblem:
            if not reported:
                raise
            _report(state, reported)
            # The other one may have looked for the last time before that.
            stack.enter_context(_turn(state))
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
    """Hold the lock of the pipelines. Raises: RepositoryProblem (`running`)."""
    with ExitStack() as stack:
        try:
            stack.enter_context(files.lock(state / LOCK_NAME, 0))
        except RepositoryProblem as problem:
            message = "another digest or run of this workspace is at work"
            hint = "It reads what is new; the next run reads anything that arrives meanwhile."
            raise RepositoryProblem("running", message, hint) from problem
        yield


def _report(state: Path, transcripts: Collection[str]) -> None:
    """Each call writes a file of its own, atomically."""
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
    """Read reports until none is left, or that fails (False). Unread reports stay."""
    while reports := _reports(state):
        paths = b"\0".join(report.read_bytes() for report in reports).split(b"\0")
        if not look_again(tuple(dict.fromkeys(map(os.fsdecode, filter(None, paths))))):
            return False
        for report in reports:
            report.unlink()
    return True
