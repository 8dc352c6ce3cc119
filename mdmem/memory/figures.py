"""The events of a workspace, counted by `stats`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, datetime, tzinfo
from typing import TypeVar

from mdmem import config, events
from mdmem.errors import UsageProblem
from mdmem.events import Event
from mdmem.workspace import Workspace

T = TypeVar("T")

_MAX_WEEKS = 520


def count_events(workspace: Workspace, weeks: int, count: Callable[[Iterable[Event], int, date, tzinfo | None, int], T]) -> T:
    """What `count` (of `stats`) makes of the events of the last so many weeks; ages and weeks are by the real clock.

    Raises:
        UsageProblem: the number of weeks is out of its range.
        OSError: the events cannot be read.
    """
    if not 1 <= weeks <= _MAX_WEEKS:
        raise UsageProblem(f"--weeks is {weeks}, which is not from 1 to {_MAX_WEEKS}")
    zone = config.zone(workspace.settings.timezone)
    kept = events.read_log(workspace.state)
    return count(kept.events, kept.damaged, datetime.now(zone).date(), zone, weeks)
