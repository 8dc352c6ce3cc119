"""Bring the index and the trail up to date, before a query or in the background.

SQLite and git's history are loaded when the trail is asked for.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import ModuleType
from typing import TYPE_CHECKING

from mdmem.workspace import Progress, Say, Workspace

if TYPE_CHECKING:
    from mdmem.trail import Trail


def fresh_trail(
    workspace: Workspace, say: Say | None = None, progress: Progress | None = None
) -> AbstractContextManager[Trail]:
    """The trail, brought up to HEAD first; in memory where it cannot be written.

    If it turns out to be damaged while it is read, it is deleted: the next call rebuilds it.
    """
    opened: AbstractContextManager[Trail] = _trail_update().updated_trail(workspace, say, progress)
    return opened


def discard_trail(workspace: Workspace) -> None:
    """Delete the trail; the next call that reads it builds it again."""
    _trail_update().discard(workspace.state)


def _trail_update() -> ModuleType:
    # with SQLite and all that reads commits
    from mdmem.catchup import trail_update  # noqa: PLC0415

    return trail_update
