"""Pipelines, which make memory of sessions: what they read, each step of them, and the schedule that calls them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from mdmem import adoption, config, stats
from mdmem.catchup import background
from mdmem.digest import digesting, overview, session_views, starting
from mdmem.dream import dreaming, due
from mdmem.events import EventRecorder
from mdmem.memory import running
from mdmem.model.digests import Digest, DigestResult
from mdmem.model.dreams import Dream, DreamResult
from mdmem.model.reads import ShowFigures, WorkspaceStatus
from mdmem.model.runs import RunResult
from mdmem.model.schedules import Schedule, ScheduleResult
from mdmem.model.session_lists import SessionList, SessionView, ShowSessions
from mdmem.model.writes import WriteOptions
from mdmem.schedule import placing
from mdmem.startup.records import dataclass, replace
from mdmem.steps import run_log
from mdmem.workspace import Progress, Say, Workspace

if TYPE_CHECKING:
    from mdmem.stats import RunFigures


@dataclass(frozen=True, slots=True)
class Pipelines:
    """The pipelines of a workspace, and their schedule. `record_event` makes an event recorder for a verb."""

    workspace: Workspace
    record_event: Callable[..., EventRecorder]
    say: Say
    progress: Progress | None

    def list_sessions(self, request: ShowSessions) -> SessionList:
        """List the sessions whose transcripts may be read, the newest first.

        Raises:
            UsageProblem: there is no such client, or no such day.
        """
        with self.record_event("sessions"):
            return session_views.list_sessions(self.workspace, request)

    def show_session(self, request: ShowSessions, reference: str) -> SessionView:
        """Show messages of one session: the newest, or those around a line.

        Raises:
            PathProblem, TranscriptProblem: there is no such session, several fit, or its transcript cannot be read.
        """
        with self.record_event("sessions"):
            return session_views.show_session(self.workspace, request, reference, self.say)

    def digest(self, request: Digest) -> DigestResult:
        """Write what is new in transcripts into the logs of the days on which it was said.

        A person who types it has it done in any workspace; an agent only where it is adopted.

        Raises:
            WorkspaceProblem: `not-adopted`.
            MdmemError: a transcript that was named is not there, or the workspace cannot be written.
        """
        workspace = self.workspace
        with self.record_event("digest", WriteOptions(dry_run=request.dry_run)) as event:
            if workspace.is_agent(workspace.actor):
                adoption.require_adopted(workspace.repository, workspace.environment)
            result = digesting.digest(self.workspace, request, self.say, self.progress)
            event.done(bool(result.commits))
            event.measured(digesting.figures(result))
        if result.commits:
            background.start_catching_up(self.workspace)
        return result

    def dream(self, request: Dream) -> DreamResult:
        """Take what lasts of ended days into curated memory, or propose it.

        Raises:
            MdmemError: a day has not ended, or memory cannot be written.
        """
        with self.record_event("dream", WriteOptions(dry_run=request.dry_run)) as event:
            result = dreaming.dream(self.workspace, request, self.say)
            event.done(bool(result.commits))
            event.measured(dreaming.figures(result))
        if result.commits:
            background.start_catching_up(self.workspace)
        return result

    def start_digest(self, transcript: Path, is_last: bool = False) -> bool:
        """Start a digest of a session in the background, where the user's own settings have it read; at most once a minute, or if it is the last."""
        return starting.start_digest(self.workspace, transcript, is_last)

    def run(self) -> RunResult:
        """Carry out what is due. A step that fails is in the result.

        Raises:
            WorkspaceProblem: `not-adopted`.
            RepositoryProblem: `running`: another pipeline is at work.
        """
        with self.record_event("run") as event:
            adoption.require_adopted(self.workspace.repository, self.workspace.environment)
            result = running.run(self.workspace, self.say, self.progress)
            has_written = any(step.record.entries for step in result.steps)
            event.done(has_written)
            event.measured({"steps": len(result.steps), "failed_steps": sum(step.record.failed for step in result.steps)})
        if has_written:
            background.start_catching_up(self.workspace)
        return result

    def add_status(self, status: WorkspaceStatus) -> WorkspaceStatus:
        """The state of a workspace with that of its pipelines."""
        night = due.read_kept(self.workspace.state)
        return replace(status, pipelines=replace(overview.pipeline_status(self.workspace), dreamt=night.day if night else None))

    def figures(self, request: ShowFigures) -> RunFigures:
        """Sum up the steps of some weeks."""
        zone = config.zone(self.workspace.settings.timezone)
        return stats.run_figures(run_log.read_steps(self.workspace.state), datetime.now(zone).date(), zone, request.weeks)

    def schedule(self, request: Schedule) -> ScheduleResult:
        """Say how `run` is called every five minutes, or see to it, or to the end of it.

        Raises:
            RepositoryProblem: `cannot-schedule`.
        """
        with self.record_event("schedule") as event:
            result = placing.schedule(self.workspace, request)
            event.done(result.changed)
        return result
