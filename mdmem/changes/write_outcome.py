"""The outcome of a write, judged from what is on disk, what git committed, what was meant and what failed. Pure."""

from __future__ import annotations

from enum import Enum, auto

from mdmem.changes import user_hooks
from mdmem.errors import RepositoryProblem
from mdmem.startup.records import dataclass


class WriteOutcome(Enum):
    """The end of a write."""

    COMMITTED = auto()
    """The commit holds the change, in another form perhaps where a hook of the user's had a hand in it."""
    REWORDED = auto()
    """A hook of the user's put the change into other words, and git committed those."""
    MIXED = auto()
    """Somebody saved the file with the change in it before git read it: git committed their save and the change as one."""
    OVERTAKEN = auto()
    """Somebody saved over the file before git read it: git committed their save."""
    INTERRUPTED = auto()
    """Git committed it, but the process was interrupted before it could say so."""
    FAILED = auto()
    """Nothing is committed; the file holds what was written, or never did."""
    SAVED_OVER = auto()
    """Git did not commit as somebody saved over the file before git read it: it can be tried again."""
    ABANDONED = auto()
    """Somebody saved over the file, and trying again is of no use: hooks took too long, or the process was interrupted."""


@dataclass(frozen=True, slots=True)
class WriteEvidence:
    """The traces of a write once git has answered, or something has failed.

    Args:
        before: the bytes that the file held before; None where it was not there.
        after: the bytes that were written.
        has_user_hooks: whether a commit runs hooks of the user's.
        problem: what failed; None where git says that it committed.
        is_committed: whether there is a commit of the write.
        committed: what that commit holds of the file.
        on_disk: what the file holds now; looked at only where nothing is committed.
    """

    before: bytes | None
    after: bytes
    has_user_hooks: bool
    problem: BaseException | None = None
    is_committed: bool = False
    committed: bytes | None = None
    on_disk: bytes | None = None


def judge_write(evidence: WriteEvidence) -> WriteOutcome:
    """Judge how a write ended."""
    if evidence.is_committed:
        return _judge_commit(evidence)
    if isinstance(evidence.problem, OSError) or holds_write(evidence, evidence.on_disk):
        return WriteOutcome.FAILED
    if isinstance(evidence.problem, RepositoryProblem) and evidence.problem.code != "hook-timeout":
        return WriteOutcome.SAVED_OVER
    return WriteOutcome.ABANDONED


def _judge_commit(evidence: WriteEvidence) -> WriteOutcome:
    before, after, committed = evidence.before, evidence.after, evidence.committed
    if evidence.problem is not None:
        return WriteOutcome.INTERRUPTED
    if committed == after:
        return WriteOutcome.COMMITTED
    if user_hooks.contains_change(committed, before, after):
        return WriteOutcome.COMMITTED if evidence.has_user_hooks else WriteOutcome.MIXED
    return WriteOutcome.REWORDED if holds_write(evidence, committed) else WriteOutcome.OVERTAKEN


def holds_write(evidence: WriteEvidence, data: bytes | None) -> bool:
    """True if a file holds what was written, or what a hook of the user's made of that."""
    if data == evidence.after:
        return True
    if data is None or data == evidence.before or not evidence.has_user_hooks:
        return False
    return user_hooks.looks_like_work_of_hook(data, evidence.before, evidence.after)
