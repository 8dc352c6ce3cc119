"""A look back: the trail with the times of its commits, and notes for the user."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from mdmem.model.errors import field
from mdmem.model.history import Made
from mdmem.model.trail import Origin, TrailCommit
from mdmem.past import fresh_trail
from mdmem.past.messages import ParsedNote
from mdmem.past.notes import commit_note
from mdmem.past.table import Moments, Trail
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.workspace import Say, Workspace

if TYPE_CHECKING:
    from mdmem.repo.signatures import KnownSignatures

_MOST_ASKED = 50
"""The signatures that somebody waits for: a second."""
_WEEK_SECONDS = 7 * 24 * 60 * 60
_PROPOSAL = late.pattern(r"(?m)^Mdmem-Proposal: (\S+)$")


@dataclass(frozen=True, slots=True)
class Past:
    """A workspace with its trail; `notes` say what the clone lacks of its history."""

    workspace: Workspace
    trail: Trail
    moments: Moments
    notes: tuple[str, ...]
    signatures: KnownSignatures | None = None

    def time_of(self, number: int) -> datetime:
        """The time of a commit in the user's zone."""
        return self.workspace.local_time(self.moments.of(number))

    def made(
        self, commit: TrailCommit, note: ParsedNote | None = None, origin: Origin | None = None
    ) -> Made:
        """The author, time and reason of a change; `origin` says more of a line than its note."""
        note = note or commit_note(commit)
        stated = origin or note.provenance
        proposal = _PROPOSAL.search(commit.message)
        return Made(
            commit=commit.commit,
            time=self.time_of(commit.number),
            author=commit.author,
            source=stated.source,
            confidence=stated.confidence,
            actor=note.provenance.actor,
            session=note.provenance.session,
            op=note.op,
            reason=note.provenance.reason,
            claimed_by=(origin or note).claimed_by,
            proposed_by=note.proposed_by,
            run=note.run,
            proposal=proposal[1] if proposal else None,
            cites=origin.cites if origin else (),
            signed=self.signatures.of(commit.commit) if self.signatures else None,
        )

    def late_merge(self, commit: TrailCommit) -> Made | None:
        """The merge that brought a commit in a week or more after it was made."""
        merge = self.trail.merge_of(commit.number, commit.moment + _WEEK_SECONDS - 1)
        return self.made(merge) if merge else None

    def limit_notes(self, count: int, limit: int) -> tuple[str, ...]:
        """The notes, with one for changes that are not shown."""
        more = f"Older changes not shown (use {field('limit')} {2 * limit})"
        return (*self.notes, more) if count > limit else self.notes


@contextmanager
def look_back(workspace: Workspace, say: Say) -> Iterator[Past]:
    if workspace.settings.verify != "off":
        late.module("index.catching_up").check_signatures(workspace, _MOST_ASKED)
    with fresh_trail(workspace, say) as trail:
        yield Past(
            workspace=workspace,
            trail=trail,
            moments=trail.moments,
            notes=_notes(workspace, trail),
            signatures=workspace.known_signatures(),
        )


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
