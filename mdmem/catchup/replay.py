"""Replay the commits that HEAD reaches into the trail."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import islice

from mdmem.catchup import merge_replay
from mdmem.catchup.commit_pages import CommitPages, is_log
from mdmem.catchup.copy_marks import derive, facts_to_derive
from mdmem.catchup.lines import Lines, ReadCommit
from mdmem.history.file_changes import EarlierTrail, FileChange
from mdmem.history.replay import build_step, confirmed_facts
from mdmem.model import CommitId, FilePath
from mdmem.model.trail import TrailCommit
from mdmem.repo import first_parent
from mdmem.repo.first_parent import Parents
from mdmem.trail import Step, Trail, past_of
from mdmem.workspace import Progress, Workspace

_FEWEST_COMMITS, _MOST_COMMITS = 50, 500
"""The bounds of a batch, which is replayed in one transaction. The less its commits change, the larger the next one is."""
_BATCH_BYTES = 8_000_000
"""The bytes of files that a batch should read, roughly."""


def replay_new_commits(
    workspace: Workspace, trail: Trail, head: CommitId | None, boundary: CommitId | None = None, progress: Progress | None = None
) -> None:
    """Add the commits that HEAD reaches and the trail has not; the caller holds the trail's lock.

    Args:
        workspace, trail, progress: as for `fresh_trail`.
        head: the commit to come up to.
        boundary: the commit with which history begins, all of its files new, where git cannot give what is older.

    Raises:
        StorageProblem: the disk does not take it.
    """
    if (trail.newest_commit.commit if trail.newest_commit else None) == head:
        return
    if head is None:
        _cut(workspace, trail, 0)
        return
    _replay_up_to(workspace, trail, head, boundary, progress, {})


def _replay_up_to(
    workspace: Workspace,
    trail: Trail,
    head: CommitId,
    boundary: CommitId | None,
    progress: Progress | None,
    adopted: dict[FilePath, CommitId],
) -> None:
    """Add the commits up to HEAD; from an earlier one on where a file comes into memory whose past was left out."""
    pages = CommitPages(workspace, adopted)
    new_commits = _new_commits(workspace, trail, head, boundary)
    lines = Lines(workspace.repository, trail)
    commits = lines.read(first_parent.read_history(workspace.repository, new_commits, boundary), head)
    batch_size = _FEWEST_COMMITS
    while batch := list(islice(commits, batch_size)):
        if (began := _adopt_renamed(workspace, trail, batch, pages)) is not None:
            with trail.writing():  # one transaction: a trail never ends in the midst of a past that is not memory's yet
                _cut(workspace, trail, began - 1)
                _replay_up_to(workspace, trail, head, boundary, progress, pages.adopted)
            return
        size = pages.fetch([change for commit in batch for changes in commit.changes.values() for change in changes])
        batch_size = min(_MOST_COMMITS, max(_FEWEST_COMMITS, len(batch) * _BATCH_BYTES // max(1, size)))
        with trail.writing():
            before = batch[0].commit.number - 1
            for commit in batch:
                if brought := lines.brought_by(commit.commit):
                    trail.bring(brought)
                trail.append(commit.commit, _step(workspace, trail, lines, commit, pages))
                pages.adopted = {path: name for path, name in pages.adopted.items() if name != commit.commit.commit}
            derive(workspace, trail, facts_to_derive(trail, before))
        if progress:
            progress(lines.count_read, len(new_commits))


def _adopt_renamed(workspace: Workspace, trail: Trail, batch: Sequence[ReadCommit], pages: CommitPages) -> int | None:
    """Let the files that these commits rename into memory count from their beginning.

    Returns:
        The number of the first commit in the trail that touched one of them, where there is any.
    """
    renamed = []
    for commit in reversed(batch):  # a file may have had several names before
        for change in (change for changes in commit.changes.values() for change in changes):
            is_rename = change.path != change.before_path and change.before and change.after
            if is_rename and pages.is_memory(change.path) and not pages.is_memory(change.before_path):
                pages.adopted[change.before_path] = commit.commit.commit
                renamed.append(change.before_path)
    if not renamed:
        return None
    touching = first_parent.touching_commits(workspace.repository, renamed, batch[-1].commit.commit)
    return min((commit.number for commit in map(trail.commit_with_id, touching) if commit), default=None)


def _new_commits(workspace: Workspace, trail: Trail, head: CommitId, boundary: CommitId | None) -> list[tuple[CommitId, Parents]]:
    """The commits that the trail has not, parents first; the trail is cut back to where HEAD reaches all of it."""
    repository = workspace.repository
    newest = trail.newest_commit
    known: Sequence[CommitId] = [newest.commit] if newest and not newest.missing else trail.tips()
    if newest is not None and not first_parent.reaches(repository, head, newest.commit):
        _cut_unreached(workspace, trail, head)
        known = trail.tips()
    if boundary is None:
        return first_parent.commits_reached(repository, head, known)
    return list(_after_boundary(trail, boundary, first_parent.commits_reached(repository, head, [*known, boundary])))


def _after_boundary(trail: Trail, boundary: CommitId, reached: Sequence[tuple[CommitId, Parents]]) -> Iterator[tuple[CommitId, Parents]]:
    """The commits with which history begins at a boundary: that one and what follows it; nothing is known of other pasts."""
    known = {boundary}
    if trail.commit_with_id(boundary) is None:
        yield boundary, ()
    for name, parents in reached:
        after = tuple(each for each in parents if each in known or trail.commit_with_id(each) is not None)
        if after:
            known.add(name)
            yield name, after


def _cut_unreached(workspace: Workspace, trail: Trail, head: CommitId) -> None:
    """Take out the first commit that HEAD does not reach, and all that arrived later."""
    reached = {name for name, _ in first_parent.commits_reached(workspace.repository, head)}
    last = next((each.number - 1 for each in trail.commits_after() if each.commit not in reached), None)
    with trail.writing():
        if last is not None:
            _cut(workspace, trail, last)
        # Where the commit that renamed a file into memory is gone, the earlier past of that file is no longer memory's.
        while strange := [began for path, began in trail.live_paths().items() if not workspace.kind_of(path).is_memory]:
            _cut(workspace, trail, min(strange) - 1)


def _cut(workspace: Workspace, trail: Trail, number: int) -> None:
    """Go back to a commit, copies of facts included."""
    with trail.writing():
        facts = facts_to_derive(trail, number)
        trail.cut(number)
        derive(workspace, trail, facts)


def _step(workspace: Workspace, trail: Trail, lines: Lines, read: ReadCommit, pages: CommitPages) -> Step:
    commit = read.commit
    past = past_of(trail, commit)
    brought_by = partial(first_parent.commits_brought_by, workspace.repository)
    if commit.is_merge:
        return merge_replay.merge_step(workspace, trail, lines, read, past, pages, brought_by)
    (changed_files,) = read.changes.values() if read.changes else ((),)
    changes = [change for change in map(pages.change, changed_files) if change is not None]
    changes += _confirmed_files(past, commit, pages, {change.path for change in changes})
    return build_step(commit, changes, past, is_log=partial(is_log, workspace), brought_by=brought_by)


def _confirmed_files(trail: EarlierTrail, commit: TrailCommit, pages: CommitPages, changed: Collection[FilePath]) -> list[FileChange]:
    """The files that a commit leaves as they are, with facts that it confirms."""
    facts = confirmed_facts(commit, trail)
    live = [each.entry.path for fact in facts for each in trail.occurrences_of(fact) if each.ended is None]
    unchanged = [(path, pages.at_commit(commit.commit, path)) for path in dict.fromkeys(live) if path not in changed]
    return [FileChange(path, path, page, page) for path, page in unchanged]
