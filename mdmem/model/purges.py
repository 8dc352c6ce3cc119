"""What a purge would do, and what it did."""

from __future__ import annotations

from mdmem.model import CommitId
from mdmem.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class PurgePlan:
    """What a purge changes, in numbers, and what it cannot reach or has to drop, in sentences. The words are nowhere in it.

    `files` on disk, `commits` that get another id, of which `messages` (tags' included) change; `tags` that are rewritten; `refs` that
    move; `loose` objects to which nothing but a reflog leads, looked for where nothing else holds the words.
    """

    files: int
    commits: int
    messages: int
    tags: int
    refs: int
    signatures: int
    loose: int
    notices: tuple[str, ...]

    @property
    def found(self) -> bool:
        """True if there is anything to purge in what can be reached."""
        return bool(self.files or self.commits or self.tags or self.refs or self.loose)


@dataclass(frozen=True, slots=True)
class PurgeResult:
    """What a purge did; `commit` is the note that says so, None on an unborn branch. `notices`: those of the plan, and what is left."""

    plan: PurgePlan
    commit: CommitId | None
    notices: tuple[str, ...]
