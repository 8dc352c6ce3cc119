"""Figures of a workspace over weeks: its events, and the steps of its pipelines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime, tzinfo
from pathlib import Path
from typing import TypeVar

from mdmem import events, repo
from mdmem.events import Event
from mdmem.folder import config, layout
from mdmem.health import stats
from mdmem.health.stats import ContextFigures, Figures, RunFigures, SearchFigures
from mdmem.model.history import ShowTrends
from mdmem.model.pipelines import StepRecord
from mdmem.model.reads import ShowFigures
from mdmem.nights import steps
from mdmem.startup.records import dataclass, replace
from mdmem.workspace import Workspace, open_in, was_used

T = TypeVar("T")
E = TypeVar("E", Event, StepRecord)


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
        zone, now = config.zone(self.workspace.settings.timezone), self.workspace.now()
        log = events.read_log(self.workspace.state)
        return count(_not_later(log.events, now), log.damaged, now.date(), zone, request.weeks)


def _not_later(records: Iterable[E], now: datetime) -> Iterator[E]:
    """Events have the real time: what is later than MDMEM_NOW counts as now."""
    return (each if each.time <= now else replace(each, time=now) for each in records)


def used_workspace(folder: Path, environment: Mapping[str, str]) -> Workspace | None:
    """The workspace in a folder, if mdmem was used there. Raises WorkspaceProblem."""
    repository = repo.discover(folder)
    if not (layout.is_marked(folder) and was_used(repository, environment)):
        return None
    return open_in(repository, environment)


def days_of(workspace: Workspace, request: ShowFigures) -> ShowTrends:
    """The days of the last weeks, the one under way up to today."""
    return ShowTrends(days=7 * (request.weeks - 1) + workspace.now().isoweekday())


def of_runs(workspace: Workspace, request: ShowFigures) -> RunFigures:
    """Sum up the steps of pipelines. Raises OSError (unreadable records)."""
    zone, now = config.zone(workspace.settings.timezone), workspace.now()
    records = _not_later(steps.read_steps(workspace.state), now)
    return stats.run_figures(records, now.date(), zone, request.weeks)
