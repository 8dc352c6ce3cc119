"""Steps of pipelines: one runs at a time, and each leaves a record.

Records are JSON lines for `mdmem status` and `mdmem stats`. They have figures and the program's own
names, and nothing that was said in a session.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from mdmem import events
from mdmem.folder import files
from mdmem.folder.machine import host_name
from mdmem.model import RUNS_NAME as RUNS_NAME
from mdmem.model.errors import RepositoryProblem
from mdmem.model.pipelines import DONE, NOTHING_TO_DO, StepFigures, StepRecord
from mdmem.startup.records import asdict

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
    (state / _REPORTED_NAME).mkdir(files.PRIVATE_FOLDER, exist_ok=True)
    new = state / files.temporary_name()
    files.write_durably(new, b"\0".join(map(os.fsencode, transcripts)), 0o600)
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
        transcripts = tuple(dict.fromkeys(map(os.fsdecode, filter(None, paths))))
        if transcripts and not look_again(transcripts):
            return False
        for report in reports:
            report.unlink()
    return True


# Records.

OLDER_RUNS_NAME = "runs.1.jsonl"
MAX_BYTES = 2_000_000
"""A larger file becomes the older one, replacing it: three weeks at a run per 5 minutes."""

_MOST_SECONDS = 60
_LINE_BYTES = 4096


class StepRecorder:
    """Times a step, and records it with figures and outcome when the block ends.

    `with StepRecorder(state, "digest") as step: step.run = …; step.figures.size += …`
    """

    def __init__(self, state: Path, step: str, keep: bool = True) -> None:
        self.record = StepRecord(step=step, outcome=DONE, ms=0.0, time=datetime.now(UTC))
        self._state = state
        self._keep = keep
        self._started = time.monotonic()

    def __enter__(self) -> StepRecord:
        return self.record

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.record.ms = round((time.monotonic() - self._started) * 1000, 1)
        self.record.time = datetime.now(UTC)
        if problem is not None:
            self.record.outcome = events.outcome_of(problem)[1]
        if self._keep:
            with suppress(OSError):  # the work is done, or has failed for another reason
                events.append_line(
                    self._state / RUNS_NAME,
                    self._state / OLDER_RUNS_NAME,
                    json.dumps(record_json(self.record)).encode() + b"\n",
                    MAX_BYTES,
                )


def new_name(state: Path, step: str) -> str:
    """A new unique name for a step's commits: STEP/UTC-TIME-HOST (see `machine`).

    Of two steps in one second the later has the next second in its name.
    """
    host = host_name()
    last = _last_name(state)
    seconds = (datetime.now(UTC) + timedelta(seconds=later) for later in range(_MOST_SECONDS))
    names = [f"{step}/{time:%Y%m%dT%H%M%SZ}-{host}" for time in seconds]
    return names[names.index(last) + 1] if last in names[:-1] else names[0]


def _last_name(state: Path) -> str | None:
    try:
        with (state / RUNS_NAME).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LINE_BYTES))
            record = _parse_line(file.read().rstrip(b"\n").rpartition(b"\n")[2])
    except OSError:
        return None
    return record.run if record else None


def unrecorded(step: str) -> StepRecord:
    """The record of a step that had nothing to do; it is not stored."""
    return StepRecord(step=step, outcome=NOTHING_TO_DO, ms=0.0, time=datetime.now(UTC))


def record_json(record: StepRecord) -> dict[str, Any]:
    return {
        "time": record.time.isoformat(timespec="milliseconds"),
        "run": record.run,
        "step": record.step,
        "ms": record.ms,
        "outcome": record.outcome,
        **figure_values(record.figures),
    }


def figure_values(figures: StepFigures) -> dict[str, int]:
    """Figures by their names in lines of runs and events."""
    values = asdict(figures)
    return {"bytes": values.pop("size"), **values}


def read_steps(state: Path) -> tuple[StepRecord, ...]:
    """The recorded steps, oldest first, without incomplete lines. Raises: OSError."""
    lines = events.read_lines(state / RUNS_NAME, state / OLDER_RUNS_NAME)
    return tuple(record for record in map(_parse_line, lines) if record is not None)


def _parse_line(line: bytes) -> StepRecord | None:
    try:
        values = json.loads(line)
        values["size"] = values["bytes"]
        figures = StepFigures(**{name: values[name] for name in StepFigures.__match_args__})
        record = StepRecord(
            step=values["step"],
            outcome=values["outcome"],
            ms=values["ms"],
            time=datetime.fromisoformat(values["time"]),
            run=values["run"],
            figures=figures,
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return record if record.time.tzinfo else None
