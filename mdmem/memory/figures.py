"""Figures of a workspace over weeks: its events, and the steps of its pipelines."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, datetime, tzinfo
from typing import TypeVar

from mdmem import events, stats
from mdmem.events import Event
from mdmem.folder import config
from mdmem.model.reads import ShowFigures
from mdmem.startup.records import dataclass
from mdmem.stats import ContextFigures, Figures, RunFigures, SearchFigures
from mdmem.steps import run_log
from mdmem.workspace import Workspace

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


def of_runs(workspace: Workspace, request: ShowFigures) -> RunFigures:
    """Sum up the steps of pipelines. Raises OSError (unreadable records)."""
    zone = config.zone(workspace.settings.timezone)
    steps = run_log.read_steps(workspace.state)
    return stats.run_figures(steps, datetime.now(zone).date(), zone, request.weeks)
