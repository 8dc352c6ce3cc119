"""Pipelines, which make memory of sessions: their steps, and the schedule that calls them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from mdmem.events import EventRecorder
from mdmem.model.pipelines import (
    Digest,
    DigestResult,
    Dream,
    DreamResult,
    Import,
    RunResult,
    Schedule,
    ScheduleResult,
)
from mdmem.model.reads import ShowFigures, WorkspaceStatus
from mdmem.model.sessions import SessionList, SessionView, ShownMessage, ShowSessions
from mdmem.model.writes import WriteOptions
from mdmem.startup.late import module
from mdmem.startup.records import dataclass, replace
from mdmem.workspace import Progress, Say, Workspace

if TYPE_CHECKING:
    from mdmem.health.stats import RunFigures
    from mdmem.model.pipelines import SyncResult


@dataclass(frozen=True, slots=True)
class Pipelines:
    """The pipelines of a workspace, and their schedule."""

    workspace: Workspace
    record_event: Callable[..., EventRecorder]
    say: Say
    progress: Progress | None
    sync: Callable[[bool], SyncResult | None]
    """Sync if it is due; True: only with commits to push."""

    def list_sessions(self, request: ShowSessions) -> SessionList:
        """List readable sessions, newest first. Raises UsageProblem (unknown client or day)."""
        with self.record_event("sessions"):
            return module("nights.digest.session_views").list_sessions(self.workspace, request)

    def show_session(self, request: ShowSessions, reference: str) -> SessionView:
        """Show messages of one session: the newest, or those around a line.

        Raises PathProblem, TranscriptProblem (none or several fit, or it cannot be read).
        """
        with self.record_event("sessions"):
            return module("nights.digest.session_views").show_session(
                self.workspace, request, reference, self.say
            )

    def cited_messages(self, request: ShowSessions, reference: str) -> tuple[ShownMessage, ...]:
        """Show the cited lines of a session and a few around; none if its transcript is gone.

        Raises TranscriptProblem (several sessions fit, or it cannot be read).
        """
        return module("nights.digest.session_views").cited_messages(
            self.workspace, request, reference, self.say
        )

    def digest(self, request: Digest) -> DigestResult:
        """Write what is new in transcripts into the logs of the days on which it was said.

        Raises WorkspaceProblem (`not-adopted`: an agent asks), MdmemError (a named transcript is
        missing, or the workspace is not writable).
        """
        workspace = self.workspace
        with self.record_event("digest", WriteOptions(dry_run=request.dry_run)) as event:
            if workspace.is_agent(workspace.actor):
                module("workspace.adoption").require_adopted(
                    workspace.repository, workspace.environment
                )
            digesting = module("nights.digest.digesting")
            result: DigestResult = digesting.digest(workspace, request, self.say, self.progress)
            event.done(bool(result.commits))
            event.measured(module("nights.steps").figure_values(result.figures))
        if result.commits:
            module("index.background").start_catching_up(self.workspace)
        return result

    def import_memory(self, request: Import) -> DigestResult:
        """Take in what another tool has kept. Raises WorkspaceProblem (an agent), MdmemError."""
        with self.record_event("import", WriteOptions(dry_run=request.dry_run)) as event:
            result: DigestResult = module("nights.imports.importing").import_memory(
                self.workspace, request, self.say
            )
            event.done(bool(result.commits))
        if result.commits:
            module("index.background").start_catching_up(self.workspace)
        return result

    def dream(self, request: Dream) -> DreamResult:
        """Add past days' lasting facts to curated memory, or propose them. Raises MdmemError."""
        with self.record_event("dream", WriteOptions(dry_run=request.dry_run)) as event:
            if request.apply and not request.dry_run:
                self.workspace.require_writer(self.workspace.actor)
            dreaming = module("nights.dream.dreaming")
            result: DreamResult = dreaming.dream(self.workspace, request, self.say)
            event.done(bool(result.commits))
            event.measured(module("nights.steps").figure_values(result.figures))
        if result.commits:
            module("index.background").start_catching_up(self.workspace)
        return result

    def start_digest(self, transcript: Path, is_last: bool = False) -> bool:
        """Start a session's digest in the background, if configured; once a minute, or if last."""
        return module("nights.digest.starting").start_digest(self.workspace, transcript, is_last)

    def run(self) -> RunResult:
        """Carry out what is due, failures in the result. Raises RepositoryProblem (`running`)."""
        with self.record_event("run") as event:
            module("workspace.adoption").require_adopted(
                self.workspace.repository, self.workspace.environment
            )
            result: RunResult = module("memory.running").run(
                self.workspace, self.sync, self.say, self.progress
            )
            has_written = any(step.record.figures.entries for step in result.steps)
            event.done(has_written)
            event.measured(
                {
                    "steps": len(result.steps),
                    "failed_steps": sum(step.record.failed for step in result.steps),
                }
            )
        if has_written:
            module("index.background").start_catching_up(self.workspace)
        return result

    def add_status(self, status: WorkspaceStatus) -> WorkspaceStatus:
        """The state of a workspace with that of its pipelines."""
        due = module("nights.dream.due")
        night = due.read_kept(self.workspace.state)
        return replace(
            status,
            pipelines=replace(
                module("nights.digest.overview").pipeline_status(self.workspace),
                dreamt=night.day if night else None,
                open_days=due.unread_days(self.workspace),
            ),
        )

    def figures(self, request: ShowFigures) -> RunFigures:
        """Sum up the steps of some weeks."""
        return module("memory.figures").of_runs(self.workspace, request)

    def schedule(self, request: Schedule) -> ScheduleResult:
        """Tell, start or end the calls of `run`. Raises RepositoryProblem (`cannot-schedule`)."""
        with self.record_event("schedule") as event:
            result = module("health.schedule").schedule(self.workspace, request)
            event.done(result.changed)
        return result
