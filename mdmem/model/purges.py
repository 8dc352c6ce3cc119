"""The answers of a purge: its plan, and its result."""

from __future__ import annotations

from mdmem.model import CommitId
from mdmem.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class PurgePlan:
    """The plan of a purge: its changes in numbers, and all that it cannot reach or has to drop in sentences, without the purged words.

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
    def has_changes(self) -> bool:
        """True if there is anything to purge in what can be reached."""
        return bool(self.files or self.commits or self.tags or self.refs or self.loose)


@dataclass(frozen=True, slots=True)
class PurgeResult:
    """The result of a purge; `commit` is its note, None on an unborn branch. `notices`: those of the plan, and of what still holds the words."""

    plan: PurgePlan
    commit: CommitId | None
    notices: tuple[str, ...]
