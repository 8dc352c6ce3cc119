"""Pipelines, which make memory of sessions without being asked, and the schedule that calls them."""

from __future__ import annotations

from collections.abc import Callable

from mdmem.events import EventRecorder
from mdmem.model.schedules import Schedule, ScheduleResult
from mdmem.schedule import placing
from mdmem.startup.records import dataclass
from mdmem.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Pipelines:
    """The schedule of a workspace. `record_event` makes an event recorder for a verb."""

    workspace: Workspace
    record_event: Callable[[str], EventRecorder]

    def schedule(self, request: Schedule) -> ScheduleResult:
        """Say how `run` is called every five minutes, or see to it, or to the end of it.

        Raises:
            RepositoryProblem: `cannot-schedule`.
        """
        with self.record_event("schedule") as event:
            result = placing.schedule(self.workspace, request)
            event.done(result.changed)
        return result
