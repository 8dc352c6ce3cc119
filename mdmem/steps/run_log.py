"""Records of pipeline steps, one JSON line each, for `mdmem status` and `mdmem stats`.

A line has figures and the program's own names, and nothing that was said in a session.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from mdmem import events
from mdmem.folder.machine import host_name
from mdmem.model import RUNS_NAME as RUNS_NAME
from mdmem.model.pipelines import DONE, NOTHING_TO_DO, StepRecord
from mdmem.startup.records import asdict

OLDER_RUNS_NAME = "runs.1.jsonl"
MAX_BYTES = 2_000_000
"""A larger file becomes the older one, replacing it: three weeks at a run per 5 minutes."""

_MOST_SECONDS = 60
_LINE_BYTES = 4096
_KEYS = (
    "time",
    "run",
    "step",
    "ms",
    "sessions",
    "size",
    "messages",
    "noise",
    "by_rule",
    "by_model",
    "entries",
    "doubled",
    "redacted",
    "refused",
    "proposed",
    "tokens",
    "outcome",
    "surplus",
    "skipped",
    "left",
)
_NAMES = {"size": "bytes"}
"""Names of fields in a line, where different."""


class StepRecorder:
    """Times a step, and records it with figures and outcome when the block ends.

    `with StepRecorder(state, "digest") as step: step.run = …; step.figures = …; step.outcome = …`
    """

    def __init__(self, state: Path, step: str, keep: bool = True) -> None:
        self.run: str | None = None
        self.outcome = DONE
        self.figures: Mapping[str, int] = {}
        self.record = unrecorded(step)
        """The record, from the end of the block on."""
        self._state = state
        self._step = step
        self._keep = keep
        self._started = time.monotonic()

    def __enter__(self) -> Self:
        self._started = time.monotonic()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        ms = round((time.monotonic() - self._started) * 1000, 1)
        outcome = self.outcome if problem is None else events.outcome_of(problem)[1]
        self.record = StepRecord(
            step=self._step,
            outcome=outcome,
            ms=ms,
            time=datetime.now(UTC),
            run=self.run,
            **self.figures,
        )
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
    """A record as a line has it."""
    values = asdict(record) | {"time": record.time.isoformat(timespec="milliseconds")}
    return {_NAMES.get(name, name): values[name] for name in _KEYS}


def read_steps(state: Path) -> tuple[StepRecord, ...]:
    """The recorded steps, oldest first, without incomplete lines. Raises: OSError."""
    lines = events.read_lines(state / RUNS_NAME, state / OLDER_RUNS_NAME)
    return tuple(record for record in map(_parse_line, lines) if record is not None)


def _parse_line(line: bytes) -> StepRecord | None:
    try:
        values = json.loads(line)
        fields = {name: values[_NAMES.get(name, name)] for name in _KEYS}
        record = StepRecord(**fields | {"time": datetime.fromisoformat(fields["time"])})
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return record if record.time.tzinfo else None
