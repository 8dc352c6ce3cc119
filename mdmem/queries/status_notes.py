"""Notes of `status`: what a person should look at that is neither a file nor a count."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from mdmem import files
from mdmem.catchup import copy_marks, trail_update
from mdmem.document import parse_bytes
from mdmem.errors import PathProblem, RepositoryProblem
from mdmem.facts import items
from mdmem.history.purged import holds_purged, parse_purged
from mdmem.model import CommitId
from mdmem.repo import merge_settings
from mdmem.trail import Trail
from mdmem.wording import verb
from mdmem.workspace import Workspace, two_curated_hint

_QUOTED = 60
_PURGES = "Mdmem-Purged: "
_EVER = datetime.fromtimestamp(0, UTC)
"""A line that is read again counts as said at any time: who logs purged words once more is told so too."""


def status_notes(workspace: Workspace) -> Iterator[str]:
    """The notes, as far as the history is read."""
    yield from filter(None, (workspace.repository.under_way(), two_curated_hint(workspace)))
    if workspace.repository.run("remote").output and merge_settings.driver_command(workspace.repository) is None:
        yield f"no merge driver is set here, so git merges memory by lines. To set it: {verb('doctor', 'fix')}"
    with trail_update.stored_trail(workspace) as trail:
        for each in copy_marks.here_again(workspace, trail):
            yield (f"forgotten, but back: {each.entry.path}, {each.entry.fact} {' '.join(each.entry.text.split())[:_QUOTED]}")
        try:
            yield from _purge_notes(workspace, trail)
        except RepositoryProblem as problem:
            yield f"cannot tell whether purged text is still there: {problem.message}"


def _purge_notes(workspace: Workspace, trail: Trail) -> Iterator[str]:
    """Notes on where text is that was purged here: never with the text."""
    purges = _purges(workspace, trail)
    if not purges:
        return
    for name in _unpurged_branches(workspace, purges[0].commit):
        yield f"{name} may still hold text that was purged here. To replace it there: git push --force-with-lease"
    words = tuple(each for purge in purges for each in parse_purged(purge.message, purge.time))
    for path, listed in workspace.memory_files().items():
        try:
            document = parse_bytes(files.read(listed.full_path) or b"")
        except PathProblem:  # status lists it as skipped
            continue
        if any(holds_purged(item.fact.text, _EVER, words) for item in items(document)):
            yield f"{path} holds text that was purged. To purge it again: {verb('forget', 'purge')} and the line"


class _Purge(NamedTuple):
    """A commit that records a purge; `time` in seconds since 1970."""

    commit: CommitId
    time: int
    message: str


def _purges(workspace: Workspace, trail: Trail) -> list[_Purge]:
    """The purges in HEAD's history, the newest first; git is asked for those that the trail has not."""
    repository, newest = workspace.repository, trail.newest_commit
    known = [_Purge(each.commit, each.time, each.message) for each in reversed(trail.commits_stating(_PURGES))]
    head = repository.head()
    if head is None or (newest is not None and newest.commit == head):
        return known
    since = [f"^{newest.commit}"] if newest is not None and repository.has(newest.commit) else []
    listed = repository.git("log", "-z", "--fixed-strings", f"--grep={_PURGES}", "--format=%H%n%ct%n%B", head, *since)
    found = [each.split("\n", 2) for each in listed.decode("utf-8", "replace").split("\0") if each]
    return [*(_Purge(CommitId(commit), int(time), message) for commit, time, message in found), *known]


def _unpurged_branches(workspace: Workspace, purge: CommitId) -> list[str]:
    """The branches of remotes, as this clone knows them, with commits that HEAD has not and without the newest purge."""
    branch = workspace.repository.branch()
    if branch is None:
        return []
    wanted = ("--format=%(refname:short)", f"--no-contains={purge}", "--no-merged=HEAD", f"refs/remotes/*/{branch}")
    return workspace.repository.git("for-each-ref", *wanted).decode("utf-8", "replace").split()
