"""A look back: the trail with the times of its commits, and notes for the user."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from mdmem.lookup import dates
from mdmem.model.wording import field
from mdmem.past import fresh_trail
from mdmem.past.table import Moments, Trail
from mdmem.startup.records import dataclass
from mdmem.workspace import Say, Workspace


@dataclass(frozen=True, slots=True)
class Past:
    """A workspace with its trail; `notes` say what the clone lacks of its history."""

    workspace: Workspace
    trail: Trail
    moments: Moments
    notes: tuple[str, ...]

    def time_of(self, number: int) -> datetime:
        """The time of a commit in the user's zone."""
        return self.workspace.local_time(self.moments.of(number))

    def limit_notes(self, count: int, limit: int) -> tuple[str, ...]:
        """The notes, with one for changes that are not shown."""
        more = f"Older changes not shown (use {field('limit')} {2 * limit})"
        return (*self.notes, more) if count > limit else self.notes


@contextmanager
def look_back(workspace: Workspace, say: Say) -> Iterator[Past]:
    with fresh_trail(workspace, say) as trail:
        moments = trail.moments(dates.end_of_today(workspace))
        yield Past(workspace, trail, moments, _notes(workspace, trail))


def _notes(workspace: Workspace, trail: Trail) -> tuple[str, ...]:
    if missing_past := workspace.missing_past():
        return (missing_past,)
    first = trail.commit_numbered(1)
    if first is None or not workspace.repository.is_shallow():
        return ()
    begin = f"{workspace.local_time(first.time):%Y-%m-%d}"
    return (
        f"this clone is shallow: its history begins on {begin}. To get the rest:"
        " git fetch --unshallow",
    )
