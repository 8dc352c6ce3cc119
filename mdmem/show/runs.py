"""Results of `run`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mdmem.model.runs import NOTHING_TO_DO, PASSING, UNCHANGED, RunResult, StepResult
from mdmem.show.formatting import one_line
from mdmem.steps.run_log import record_json
from mdmem.wording import number_of


def run_json(result: RunResult) -> dict[str, Any]:
    """A run as an object, its steps with their figures."""
    return {"steps": [_step_json(step) for step in result.steps]}


def _step_json(step: StepResult) -> dict[str, Any]:
    left = [{"session": left.session, "why": left.why} for left in step.left]
    return {**record_json(step.record), "left": left, "message": step.message, "hint": step.hint}


def run_text(result: RunResult, only_failures: bool) -> str:
    """The steps, a line each with what could not be read below; or only those that have failed."""
    return "\n".join(one_line(line) for step in result.steps if step.record.failed or not only_failures for line in _lines(step))


def _lines(step: StepResult) -> Iterator[str]:
    record = step.record
    if step.message:
        yield f"{record.step}: {record.outcome}: {step.message}{f' ({step.hint})' if step.hint else ''}"
    elif record.outcome == NOTHING_TO_DO:
        yield f"{record.step}: nothing to do"
    elif record.outcome == UNCHANGED:
        yield f"{record.step}: nothing new"
    elif record.step == "dream":
        trouble = f", {record.outcome}" if record.outcome in PASSING else ""
        yield f"{record.step}: {number_of(record.entries, 'change')}, {record.proposed} proposed{trouble} ({record.run})"
    else:
        entries, sessions = number_of(record.entries, "entry", "entries"), number_of(record.sessions, "session")
        trouble = f", {record.outcome}" if record.outcome in PASSING else ""
        yield f"{record.step}: {entries} of {sessions}, {number_of(record.messages, 'message')}{trouble} ({record.run})"
    yield from (f"  skipped: {left.session}: {left.why}" for left in step.left)
