"""The past: what commits did to entries and sections, and the trail, a table made of that.

Commits are read by pure functions (`messages` to `replay`) and their steps kept in SQLite (`schema`
to `line`). The trail is a cache in the state folder: a file that is damaged, foreign or of another
version counts as empty and is replaced at the first write. Each call that reads costs what it
returns, however much the trail holds, except `revisions_containing`, `tips` and, where a commit
says when others had arrived, `later_than_arrived`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import ModuleType
from typing import TYPE_CHECKING

from mdmem.workspace import Progress, Say, Workspace

if TYPE_CHECKING:
    from mdmem.past.table import Trail


def fresh_trail(
    workspace: Workspace, say: Say | None = None, progress: Progress | None = None
) -> AbstractContextManager[Trail]:
    """The trail, brought up to HEAD first; in memory where it cannot be written.

    If it turns out to be damaged while it is read, it is deleted: the next call rebuilds it.
    """
    opened: AbstractContextManager[Trail] = _trail_update().updated_trail(workspace, say, progress)
    return opened


def has_trail(workspace: Workspace) -> bool:
    """True if history was read before, so that only what came since is missing."""
    with _trail_update().stored_trail(workspace) as trail:
        return trail.head is not None


def discard_trail(workspace: Workspace) -> None:
    """Delete the trail; the next call that reads it builds it again."""
    _trail_update().discard(workspace.state)


def _trail_update() -> ModuleType:
    # with SQLite and all that reads commits
    from mdmem.past import trail_update  # noqa: PLC0415

    return trail_update
