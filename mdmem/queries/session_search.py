"""Search memory, and behind it the messages of sessions."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

from mdmem.folder import config
from mdmem.index.schema import BrokenIndex
from mdmem.index.session_messages import MessageQuery, fresh_messages
from mdmem.lookup import dates
from mdmem.model.searches import Search, SearchResult
from mdmem.queries import search
from mdmem.startup.records import replace
from mdmem.workspace import Progress, Say, Workspace


def search_sessions_too(
    workspace: Workspace, request: Search, say: Say, progress: Progress | None = None
) -> SearchResult:
    """The best entries, and as many of the best messages of transcripts."""
    fresh = fresh_messages(workspace, say, progress)
    result = search.search(workspace, request, say, progress)
    query = _message_query(workspace, request)
    try:
        messages = fresh.index.search(query)
    except BrokenIndex:
        fresh = fresh_messages(workspace, say, progress, full=True)
        messages = fresh.index.search(query)
    return replace(
        result,
        messages=messages,
        stale=result.stale or fresh.stale,
        notes=(*result.notes, *fresh.notes),
    )


def _message_query(workspace: Workspace, request: Search) -> MessageQuery:
    zone = config.zone(workspace.settings.timezone)
    first, last = dates.days_asked(workspace, request.since, request.until)
    if request.recent_days:
        recent = workspace.now().date() - timedelta(days=request.recent_days - 1)
        first = max(first or recent, recent)

    def start_of(day: date) -> int:
        return int(datetime.combine(day, time.min, tzinfo=zone).timestamp())

    return MessageQuery(
        query=request.query,
        limit=request.limit,
        since=None if first is None else start_of(first),
        until=None if last is None else start_of(last + timedelta(days=1)),
        zone=zone,
    )
