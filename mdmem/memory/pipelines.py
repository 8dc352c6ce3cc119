"""Pipelines, which make memory of sessions without being asked, and the schedule that calls them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from mdmem import config
from mdmem.events import EventRecorder
from mdmem.model.reads import ShowFigures, WorkspaceStatus
from mdmem.model.runs import RunResult
from mdmem.model.schedules import Schedule, ScheduleResult
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.workspace import Progress, Say, Workspace

if TYPE_CHECKING:
    from mdmem import stats
    from mdmem.catchup import background
    from mdmem.digest import overview, running, runs
    from mdmem.schedule import placing
    from mdmem.stats import RunFigures
else:
    background = late.module("mdmem.catchup.background")
    overview = late.module("mdmem.digest.overview")
    running = late.module("mdmem.digest.running")
    runs = late.module("mdmem.digest.runs")
    placing = late.module("mdmem.schedule.placing")
    stats = late.module("mdmem.stats")


@dataclass(frozen=True, slots=True)
class Pipelines:
    """The pipelines of a workspace, and their schedule. `record_event` makes an event recorder for a verb."""

    workspace: Workspace
    record_event: Callable[[str], EventRecorder]
    say: Say
    progress: Progress | None

    def run(self) -> RunResult:
        """Carry out what is due. A step that fails is in the result.

        Raises:
            RepositoryProblem: `running`: another run or digest is at work.
        """
        with self.record_event("run") as event:
            result = running.run(self.workspace, self.say, self.progress)
            has_written = any(step.record.entries for step in result.steps)
            event.done(has_written)
            event.measured({"steps": len(result.steps), "failed_steps": sum(step.record.failed for step in result.steps)})
        if has_written:
            background.start_catching_up(self.workspace)
        return result

    def add_status(self, status: WorkspaceStatus) -> WorkspaceStatus:
        """The state of a workspace with that of its pipelines."""
        return replace(status, pipelines=overview.pipeline_status(self.workspace))

    def figures(self, request: ShowFigures) -> RunFigures:
        """Sum up the steps of some weeks."""
        zone = config.zone(self.workspace.settings.timezone)
        return stats.run_figures(runs.read_steps(self.workspace.state), datetime.now(zone).date(), zone, request.weeks)

    def schedule(self, request: Schedule) -> ScheduleResult:
        """Say how `run` is called every five minutes, or see to it, or to the end of it.

        Raises:
            RepositoryProblem: `cannot-schedule`.
        """
        with self.record_event("schedule") as event:
            result = placing.schedule(self.workspace, request)
            event.done(result.changed)
        return result
