"""Records of the steps that pipelines carried out, in the state folder: one JSON line a step, for
`mdmem status` and `mdmem stats`.

A line has figures and names that the program gives, and nothing that was said in a session.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from mdmem import events
from mdmem.model import RUNS_NAME as RUNS_NAME
from mdmem.model.pipelines import DONE, NOTHING_TO_DO, StepRecord
from mdmem.startup.records import asdict

OLDER_RUNS_NAME = "runs.1.jsonl"
MAX_BYTES = 2_000_000
"""A file that would grow larger becomes the older one; the previous older one is dropped. With a
run every five minutes that is three weeks.
"""

_HOST_DIGITS = 8
_MOST_SECONDS = 60
_LINE_BYTES = 4096
"""A line has fewer bytes."""
_KEYS = (
    *(
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
    ),
    *("refused", "proposed", "tokens", "outcome", "surplus", "skipped", "left"),
)
"""The fields in the order of a line."""
_NAMES = {"size": "bytes"}
"""The names that fields have in a line where these are others."""


class StepRecorder:
    """Times a step, and records it at the end of the block with its figures and its outcome; an
    error passes on.

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
                    _format_line(self.record),
                    MAX_BYTES,
                )


def new_name(state: Path, step: str) -> str:
    """A name for the commits of a step that begins now: STEP/UTC-TIME-HOST, which no step of this
    workspace has had before.

    The host is that of `host_name`. Of two steps in one second the later has the next second in its
    name.
    """
    host = host_name()
    last = _last_name(state)
    seconds = (datetime.now(UTC) + timedelta(seconds=later) for later in range(_MOST_SECONDS))
    names = [f"{step}/{time:%Y%m%dT%H%M%SZ}-{host}" for time in seconds]
    return names[names.index(last) + 1] if last in names[:-1] else names[0]


def host_name() -> str:
    """A short name of this machine that does not tell which it is: 8 hex digits."""
    return sha256(platform.node().encode()).hexdigest()[:_HOST_DIGITS]


def _last_name(state: Path) -> str | None:
    """The name of the step that was recorded last; None where none was."""
    try:
        with (state / RUNS_NAME).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LINE_BYTES))
            record = _parse_line(file.read().rstrip(b"\n").rpartition(b"\n")[2])
    except OSError:
        return None
    return record.run if record else None


def unrecorded(step: str) -> StepRecord:
    """The record of a step that had nothing to do; it is not kept."""
    return StepRecord(step=step, outcome=NOTHING_TO_DO, ms=0.0, time=datetime.now(UTC))


def record_json(record: StepRecord) -> dict[str, Any]:
    """A record as a line has it."""
    values = asdict(record) | {"time": record.time.isoformat(timespec="milliseconds")}
    return {_NAMES.get(name, name): values[name] for name in _KEYS}


def read_steps(state: Path) -> tuple[StepRecord, ...]:
    """The recorded steps, oldest first. A line that is not a whole record is left out.

    Raises:
        OSError: they cannot be read.
    """
    lines = events.read_lines(state / RUNS_NAME, state / OLDER_RUNS_NAME)
    return tuple(record for record in map(_parse_line, lines) if record is not None)


def _format_line(record: StepRecord) -> bytes:
    return json.dumps(record_json(record)).encode() + b"\n"


def _parse_line(line: bytes) -> StepRecord | None:
    try:
        values = json.loads(line)
        fields = {name: values[_NAMES.get(name, name)] for name in _KEYS}
        record = StepRecord(**fields | {"time": datetime.fromisoformat(fields["time"])})
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return record if record.time.tzinfo else None
