"""Results of `schedule`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mdmem.model.schedules import Schedule, ScheduleResult


def schedule_json(result: ScheduleResult) -> dict[str, Any]:
    """A schedule as an object."""
    return {
        "schedule": result.system,
        "files": [{"path": file.path, "text": file.text} for file in result.files],
        "timer": result.timer,
        "changed": result.changed,
        "active": result.active,
        "next": list(result.next),
        "notes": list(result.notes),
    }


def schedule_text(request: Schedule, result: ScheduleResult) -> str:
    """The texts of a schedule, each file under its path; or a line on what was done."""
    name = result.timer or "a line of your crontab"
    if request.install:
        return f"scheduled every five minutes: {name}" if result.active else f"placed {' and '.join(_paths(result))}"
    if request.uninstall:
        return f"no longer scheduled: {name}" if result.changed else "it was not scheduled"
    return "\n".join(f"# {file.path}\n{file.text}" if file.path else file.text for file in result.files).rstrip("\n")


def _paths(result: ScheduleResult) -> Sequence[str]:
    return [str(file.path) for file in result.files]


def schedule_notes(result: ScheduleResult) -> tuple[str, ...]:
    """Lines for the user: what to type next, what else to know."""
    return (*(f"next: {command}" for command in result.next), *result.notes)
