"""Pipelines, which make memory of sessions: their steps, and the schedule that calls them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, datetime, tzinfo
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from mdmem import adoption, events, stats
from mdmem.catchup import background
from mdmem.digest import digesting, overview, session_views
from mdmem.dream import dreaming, due
from mdmem.errors import MdmemError
from mdmem.events import Event, EventRecorder
from mdmem.folder import config
from mdmem.model.pipelines import (
    Digest,
    DigestResult,
    Dream,
    DreamResult,
    RunResult,
    Schedule,
    ScheduleResult,
    StepResult,
)
from mdmem.model.reads import ShowFigures, WorkspaceStatus
from mdmem.model.sessions import SessionList, SessionView, ShowSessions
from mdmem.model.writes import WriteOptions
from mdmem.schedule import placing
from mdmem.startup.records import dataclass, replace
from mdmem.stats import ContextFigures, Figures, SearchFigures
from mdmem.steps import run_log
from mdmem.steps.run_log import StepRecorder, unrecorded
from mdmem.steps.turns import BELOW_RUN, in_turn
from mdmem.workspace import Progress, Say, Workspace

if TYPE_CHECKING:
    from mdmem.stats import RunFigures


_DIGEST, _DREAM = "digest", "dream"
_Work = Callable[[StepRecorder], DigestResult | DreamResult]


def run(workspace: Workspace, say: Say, progress: Progress | None = None) -> RunResult:
    """Carry out the steps that are due; a failed one delays only, of dreams, the later ones.

    Raises RepositoryProblem (`running`: another pipeline is at work).
    """
    is_below = bool(workspace.environment.get(BELOW_RUN))
    is_digest_due = not is_below and digesting.is_due(workspace)
    if not is_digest_due and (is_below or not _has_night(workspace)):
        return RunResult((StepResult(unrecorded(_DIGEST)),))
    workspace.ensure_state()
    results: list[StepResult] = []

    def work() -> None:
        if is_digest_due:
            results.append(
                _tried(
                    workspace,
                    _DIGEST,
                    lambda step: digesting.digest_due(workspace, step, say, progress),
                )
            )
        results.extend(_dream_due_days(workspace, say))

    def look_again(transcripts: tuple[str, ...]) -> bool:
        digest_them = digesting.digest_reported(transcripts)
        results.append(
            _tried(workspace, _DIGEST, lambda step: digest_them(workspace, step, say, progress))
        )
        return not results[-1].message

    in_turn(workspace.state, work, look_again)
    return RunResult(tuple(results))


def _has_night(workspace: Workspace) -> bool:
    return workspace.settings.dream != "off" and due.is_due(workspace)


def _dream_due_days(workspace: Workspace, say: Say) -> list[StepResult]:
    results: list[StepResult] = []
    for day in due.due_days(workspace) if _has_night(workspace) else ():
        results.append(_tried(workspace, _DREAM, partial(dreaming.dream_day, workspace, day, say)))
        if results[-1].message:
            break
    return results


def _tried(workspace: Workspace, name: str, work: _Work) -> StepResult:
    recorder = StepRecorder(workspace.state, name)
    try:
        with recorder:
            result = work(recorder)
    except MdmemError as problem:
        return StepResult(record=recorder.record, message=problem.message, hint=problem.hint)
    except OSError as problem:
        where = f": {problem.filename}" if problem.filename else ""
        return StepResult(record=recorder.record, message=f"{problem.strerror or problem}{where}")
    if isinstance(result, DreamResult):
        return StepResult(
            record=recorder.record, message=result.message if recorder.record.failed else ""
        )
    message = result.model.message if result.model and recorder.record.failed else ""
    return StepResult(record=recorder.record, left=result.left, message=message)


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EventFigures:
    """The figures of events over some weeks. Each raises OSError (unreadable events)."""

    workspace: Workspace

    def of_verbs(self, request: ShowFigures) -> Figures:
        """Count the events, verb by verb."""
        return self._count(request, stats.figures)

    def of_searches(self, request: ShowFigures) -> SearchFigures:
        """Sum up the answers of searches."""
        return self._count(request, stats.search_figures)

    def of_contexts(self, request: ShowFigures) -> ContextFigures:
        """Sum up the blocks of prompts, and what the guard did."""
        return self._count(request, stats.context_figures)

    def _count(
        self,
        request: ShowFigures,
        count: Callable[[Iterable[Event], int, date, tzinfo | None, int], T],
    ) -> T:
        """Give the events to `count`; ages and weeks are by the real clock."""
        zone = config.zone(self.workspace.settings.timezone)
        log = events.read_log(self.workspace.state)
        return count(log.events, log.damaged, datetime.now(zone).date(), zone, request.weeks)


@dataclass(frozen=True, slots=True)
class Pipelines:
    """The pipelines of a workspace, and their schedule."""

    workspace: Workspace
    record_event: Callable[..., EventRecorder]
    say: Say
    progress: Progress | None

    def list_sessions(self, request: ShowSessions) -> SessionList:
        """List readable sessions, newest first. Raises UsageProblem (unknown client or day)."""
        with self.record_event("sessions"):
            return session_views.list_sessions(self.workspace, request)

    def show_session(self, request: ShowSessions, reference: str) -> SessionView:
        """Show messages of one session: the newest, or those around a line.

        Raises PathProblem, TranscriptProblem (none or several fit, or it cannot be read).
        """
        with self.record_event("sessions"):
            return session_views.show_session(self.workspace, request, reference, self.say)

    def digest(self, request: Digest) -> DigestResult:
        """Write what is new in transcripts into the logs of the days on which it was said.

        A person may run it in any workspace; an agent only where it is adopted.

        Raises:
            WorkspaceProblem: `not-adopted`.
            MdmemError: a named transcript is missing, or the workspace is not writable.
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
        """Add ended days' lasting facts to curated memory, or propose them. Raises MdmemError."""
        with self.record_event("dream", WriteOptions(dry_run=request.dry_run)) as event:
            result = dreaming.dream(self.workspace, request, self.say)
            event.done(bool(result.commits))
            event.measured(dreaming.figures(result))
        if result.commits:
            background.start_catching_up(self.workspace)
        return result

    def start_digest(self, transcript: Path, is_last: bool = False) -> bool:
        """Start a session's digest in the background, if configured; once a minute, or if last."""
        return digesting.start_digest(self.workspace, transcript, is_last)

    def run(self) -> RunResult:
        """Carry out what is due, failures in the result. Raises RepositoryProblem (`running`)."""
        with self.record_event("run") as event:
            adoption.require_adopted(self.workspace.repository, self.workspace.environment)
            result = run(self.workspace, self.say, self.progress)
            has_written = any(step.record.entries for step in result.steps)
            event.done(has_written)
            event.measured(
                {
                    "steps": len(result.steps),
                    "failed_steps": sum(step.record.failed for step in result.steps),
                }
            )
        if has_written:
            background.start_catching_up(self.workspace)
        return result

    def add_status(self, status: WorkspaceStatus) -> WorkspaceStatus:
        """The state of a workspace with that of its pipelines."""
        night = due.read_kept(self.workspace.state)
        return replace(
            status,
            pipelines=replace(
                overview.pipeline_status(self.workspace), dreamt=night.day if night else None
            ),
        )

    def figures(self, request: ShowFigures) -> RunFigures:
        """Sum up the steps of some weeks."""
        zone = config.zone(self.workspace.settings.timezone)
        return stats.run_figures(
            run_log.read_steps(self.workspace.state), datetime.now(zone).date(), zone, request.weeks
        )

    def schedule(self, request: Schedule) -> ScheduleResult:
        """Tell, start or end the calls of `run`. Raises RepositoryProblem (`cannot-schedule`)."""
        with self.record_event("schedule") as event:
            result = placing.schedule(self.workspace, request)
            event.done(result.changed)
        return result
