"""The trail, the table of what history tells, for whoever reads it.

What opens it (SQLite, the reading of commits) is loaded here when a trail is asked for, since most
writes need none.
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
    """The trail, brought up to HEAD first; one in memory where it cannot be written.

    A trail that turns out to be damaged while it is read is deleted, so that the next call rebuilds
    it.
    """
    trail: AbstractContextManager[Trail] = _owner().updated_trail(workspace, say, progress)
    return trail


def discard_trail(workspace: Workspace) -> None:
    """Delete the trail; the next call that reads it builds it again."""
    _owner().discard(workspace.state)


def _owner() -> ModuleType:
    # with SQLite and all that reads commits
    from mdmem.catchup import trail_update  # noqa: PLC0415

    return trail_update
