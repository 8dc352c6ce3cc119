"""The first page: what waits, what changed today, what expires soon."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from mdmem.model import FileKind
from mdmem.model.history import ShowChanges
from mdmem.model.trends import ShowTrends
from mdmem.page import charts
from mdmem.page.pages import Page, Query, Reader
from mdmem.page.rows import change_row
from mdmem.show.history import changes_json

_BARS = 42
"""Days in the chart."""
_SOON = timedelta(days=14)
_MOST_CONFLICTS, _MOST_PROPOSALS, _MOST_ROWS = 3, 4, 14


def today(reader: Reader, query: Query) -> Page:
    """The first page: what one looks for first."""
    memory, now = reader.memory, reader.now()
    day = now.date().isoformat()
    changes = memory.changes(ShowChanges(since=day, until=day, limit=0))
    rows = [
        (change_row(change), memory.workspace.kind_of(change.path) is FileKind.DAILY)
        for change in changes.changes
    ]
    changed = [row for row, is_logged in rows if not is_logged]
    logged = [row for row, is_logged in rows if is_logged]
    trends = memory.trends(ShowTrends(_BARS))
    standing = memory.proposals.standing()
    conflicts = memory.conflicts().conflicts
    values: dict[str, Any] = {
        "today": now.date(),
        "current": trends.current,
        "notes": changes.notes,
        "chart": charts.bars_by_day(trends.days, reader.links),
        "changed": changed[:_MOST_ROWS],
        "changed_count": len(changed),
        "logged": logged[:_MOST_ROWS],
        "logged_count": len(logged),
        "conflicts": conflicts[:_MOST_CONFLICTS],
        "proposals": standing.views[:_MOST_PROPOSALS],
        "waiting": len(conflicts) + len(standing.numbered.items),
        "unsaved": memory.unsaved(),
        "expired": memory.expired().facts,
        "expiring": memory.expiring(_SOON).facts,
    }
    return Page("today", f"{now:%A} {now.day} {now:%B}", values, changes_json(changes), "today")
