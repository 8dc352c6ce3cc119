"""Figures of a workspace: its events, counted by `stats`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, datetime, tzinfo
from typing import TypeVar

from mdmem import config, events
from mdmem.events import Event
from mdmem.model.reads import ShowFigures
from mdmem.workspace import Workspace

T = TypeVar("T")


def count_events(workspace: Workspace, request: ShowFigures, count: Callable[[Iterable[Event], int, date, tzinfo | None, int], T]) -> T:
    """Give the events of a workspace to `count` (of `stats`); ages and weeks are by the real clock.

    Raises:
        OSError: the events cannot be read.
    """
    zone = config.zone(workspace.settings.timezone)
    log = events.read_log(workspace.state)
    return count(log.events, log.damaged, datetime.now(zone).date(), zone, request.weeks)
