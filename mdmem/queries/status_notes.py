"""Notes of `status`: what a person should look at that is neither a file nor a count."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from mdmem import files
from mdmem.catchup import copy_marks, trail_update
from mdmem.document import parse_bytes
from mdmem.errors import PathProblem
from mdmem.facts import items
from mdmem.history.purged import PurgedWords, holds_purged, parse_purged, purged_words
from mdmem.model import CommitId
from mdmem.repo import merge_settings
from mdmem.trail import Trail
from mdmem.wording import verb
from mdmem.workspace import Workspace, two_curated_hint

_QUOTED = 60
_PURGES = "Mdmem-Purged: "


def status_notes(workspace: Workspace) -> Iterator[str]:
    """The notes, as far as the history is read."""
    yield from filter(None, (workspace.repository.under_way(), two_curated_hint(workspace)))
    if workspace.repository.run("remote").output and merge_settings.driver_command(workspace.repository) is None:
        yield f"no merge driver is set here, so git merges memory by lines. To set it: {verb('doctor', 'fix')}"
    with trail_update.stored_trail(workspace) as trail:
        for each in copy_marks.here_again(workspace, trail):
            yield f"forgotten, and here again: {each.entry.path}, {each.entry.fact} {' '.join(each.entry.text.split())[:_QUOTED]}"
        yield from _purge_notes(workspace, trail)


def _purge_notes(workspace: Workspace, trail: Trail) -> Iterator[str]:
    """Notes on where text is that was purged here: never with the text."""
    commits = _purging_commits(workspace, trail)
    if not commits:
        return
    for name in _unpurged_branches(workspace, commits[0]):
        yield f"{name} may still hold text that was purged here. To replace it there: git push --force-with-lease"
    ever = datetime.fromtimestamp(0, UTC)
    purged = (*purged_words(trail), *(each for commit in commits for each in _words_of(workspace, commit)))
    for path, listed in workspace.memory_files().items():
        try:
            document = parse_bytes(files.read(listed.full_path) or b"")
        except PathProblem:
            continue
        if any(holds_purged(item.fact.text, ever, purged) for item in items(document)):
            yield f"{path} holds text that was purged. To purge it again: {verb('forget', 'purge')} and the line"


def _purging_commits(workspace: Workspace, trail: Trail) -> list[CommitId]:
    """The commits of HEAD's history that record a purge, the newest first; those that the trail has are not looked for again."""
    newest = trail.newest_commit
    known = [each.commit for each in reversed(trail.commits_stating(_PURGES))]
    since = [f"^{newest.commit}"] if newest else []
    listed = workspace.repository.run("rev-list", "--fixed-strings", f"--grep={_PURGES}", "HEAD", *since)
    return [*(CommitId(name) for name in listed.output.decode().split()), *known]


def _words_of(workspace: Workspace, commit: CommitId) -> tuple[PurgedWords, ...]:
    text = workspace.repository.run("log", "-1", "--format=%ct%n%B", commit).output.decode(errors="replace")
    seconds, _, message = text.partition("\n")
    return tuple(parse_purged(message, int(seconds or 0)))


def _unpurged_branches(workspace: Workspace, purge: CommitId) -> list[str]:
    """The branches of remotes, as this clone knows them, with commits that HEAD has not and without the newest purge."""
    branch = workspace.repository.branch()
    patterns = [f"refs/remotes/*/{branch}"] if branch else []
    if not patterns:
        return []
    listed = workspace.repository.run("for-each-ref", "--format=%(refname:short)", f"--no-contains={purge}", "--no-merged=HEAD", *patterns)
    return listed.output.decode(errors="replace").split()
