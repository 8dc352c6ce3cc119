"""One commit, by its changes to facts."""

from __future__ import annotations

from typing import Any

from mdmem.errors import HistoryProblem
from mdmem.model.history import ShowChanges
from mdmem.page.links import COMMIT
from mdmem.page.pages import Page, Query, Reader, change_row
from mdmem.show.history import changes_json

_MOST_ROWS = 200
_SHORT = 10


def commit(reader: Reader, query: Query) -> Page:
    """The changes of a commit, with its author, time and reason.

    Raises HistoryProblem (`commit-not-found`).
    """
    name = query["commit"]
    if not COMMIT.fullmatch(name):
        raise HistoryProblem("commit-not-found", f"{name[:80]!r} is not a commit", "")
    listed = reader.memory.changes(ShowChanges(commit=name, limit=_MOST_ROWS + 1))
    first = listed.changes[0] if listed.changes else None
    values: dict[str, Any] = {
        "commit": first.commit if first else name,
        "first": first,
        "rows": [change_row(change) for change in listed.changes[:_MOST_ROWS]],
        "has_more": len(listed.changes) > _MOST_ROWS,
        "proposal": reader.links.review(first.proposal) if first and first.proposal else "",
    }
    return Page(
        template="commit",
        title=f"Change {name[:_SHORT]}",
        values=values,
        data=changes_json(listed),
        tab="timeline",
        back=reader.links.commit(name),
    )
