"""The work of digests, as their commits tell it: the entries in a log, and the lines that were read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from mdmem.history.notes import parse_message
from mdmem.model import CommitId, FilePath, Op
from mdmem.startup import late
from mdmem.workspace import Say, Workspace

if TYPE_CHECKING:
    from mdmem.catchup import trail_update
else:
    trail_update = late.module("mdmem.catchup.trail_update")


def count_by_session(workspace: Workspace, path: FilePath, say: Say) -> Counter[str]:
    """Count the entries of a log that digests wrote into it, by the session in which they were said, as CLIENT/SESSION."""
    with trail_update.fresh_trail(workspace, say) as trail:

        @cache
        def session_of(commit: CommitId) -> str | None:
            stating = trail.commit_with_id(commit) or trail.side_commit(commit)
            note = parse_message(stating.message) if stating else None
            return note.provenance.session if note and note.op == Op.DIGEST else None

        sessions = [session_of(each.origin.commit) for each in trail.live_occurrences(path) if each.entry.fact is not None]
    return Counter(session for session in sessions if session is not None)


def lines_read(workspace: Workspace) -> Iterator[tuple[str, str]]:
    """The last lines that digests read of sessions, as CLIENT/SESSION#LINE, each with its hash; of all commits that led to HEAD, merged ones too."""
    repository = workspace.repository
    if repository.head() is None:
        return
    command = ("log", "-z", "--no-show-signature", "--no-color", "--encoding=UTF-8", "--format=%B", "--grep=^Mdmem-Read: ", "HEAD")
    for message in repository.git(*command).decode("utf-8", "replace").split("\0"):
        yield from parse_message(message).reads
