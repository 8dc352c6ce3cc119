"""Replay the commits of the mainline into the trail."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from mdmem.document import parse_bytes
from mdmem.editors import frontmatter
from mdmem.errors import PathProblem
from mdmem.history.file_changes import FileChange, Page
from mdmem.history.replay import build_step, confirmed_facts
from mdmem.history.sources import line_origins
from mdmem.model import CommitId, FileKind, FilePath
from mdmem.model.trail import Commit, MainlineCommit, Origin
from mdmem.repo import first_parent
from mdmem.repo.first_parent import ChangedFile, CommitChanges
from mdmem.startup import late
from mdmem.trail import Trail
from mdmem.workspace import Progress, Workspace

if TYPE_CHECKING:
    from mdmem.catchup import combined_lines
else:
    combined_lines = late.module("mdmem.catchup.combined_lines")

_FEWEST_COMMITS, _MOST_COMMITS = 50, 500
"""The bounds of a batch, which is replayed in one transaction. The less its commits change, the larger the next one is."""
_BATCH_BYTES = 8_000_000
"""The bytes of files that a batch should read, roughly."""
_PAGES_KEPT = 200


def replay_new_commits(
    workspace: Workspace, trail: Trail, head: CommitId | None, boundary: CommitId | None = None, progress: Progress | None = None
) -> None:
    """Add the commits of HEAD's mainline that the trail has not; the caller holds the trail's lock.

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
        with trail.writing():
            trail.cut(0)
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
    pages = _CommitPages(workspace, adopted)
    ids = _new_commits(workspace, trail, head, boundary)
    commits = first_parent.iterate_commits(workspace.repository, ids, boundary)
    done, batch_size = 0, _FEWEST_COMMITS
    while batch := list(islice(commits, batch_size)):
        if (began := _adopt_renamed(workspace, trail, batch, pages)) is not None:
            with trail.writing():  # one transaction: a trail never ends in the midst of a past that is not memory's yet
                trail.cut(began - 1)
                _replay_up_to(workspace, trail, head, boundary, progress, pages.adopted)
            return
        size = pages.fetch([change for commit in batch for change in commit.changes])
        batch_size = min(_MOST_COMMITS, max(_FEWEST_COMMITS, len(batch) * _BATCH_BYTES // max(1, size)))
        first = trail.newest_commit.number + 1 if trail.newest_commit else 1
        with trail.writing():
            for number, commit in enumerate(batch, first):
                _replay(workspace, trail, number, commit, pages)
        done += len(batch)
        if progress:
            progress(done, len(ids))


def _adopt_renamed(workspace: Workspace, trail: Trail, batch: Sequence[CommitChanges], pages: _CommitPages) -> int | None:
    """Let the files that these commits rename into memory count from their beginning.

    Returns:
        The number of the first commit in the trail that touched one of them, where there is any.
    """
    renamed = []
    for commit in reversed(batch):  # a file may have had several names before
        for change in commit.changes:
            is_rename = change.path != change.before_path and change.before and change.after
            if is_rename and pages.is_memory(change.path) and not pages.is_memory(change.before_path):
                pages.adopted[change.before_path] = commit.commit.id
                renamed.append(change.before_path)
    if not renamed:
        return None
    first = first_parent.first_touch(workspace.repository, renamed, batch[-1].commit.id)
    began = trail.commit_with_id(first) if first else None
    return began.number if began else None


def _new_commits(workspace: Workspace, trail: Trail, head: CommitId, boundary: CommitId | None) -> list[CommitId]:
    """The mainline commits that the trail has not, oldest first; the trail is cut back to its last commit that is still on the mainline."""
    repository = workspace.repository
    if (
        boundary is not None
        and trail.newest_commit is None
        and (newer := first_parent.commits_between(repository, boundary, head)) is not None
    ):
        return [boundary, *newer]
    new_commits = first_parent.commits_between(repository, trail.newest_commit.commit if trail.newest_commit else None, head)
    if new_commits is not None:
        return new_commits
    mainline = first_parent.commits_between(repository, None, head) or []
    numbers = {commit: number for number, commit in enumerate(mainline, 1)}
    fork = next((each.number for each in reversed(trail.commits_after()) if numbers.get(each.commit) == each.number), 0)
    with trail.writing():
        trail.cut(fork)
        # Where the commit that renamed a file into memory is gone, the earlier past of that file is no longer memory's.
        while strange := [began for path, began in trail.live_paths().items() if not workspace.kind_of(path).is_memory]:
            fork = min(strange) - 1
            trail.cut(fork)
    return mainline[fork:]


def _replay(workspace: Workspace, trail: Trail, number: int, changed: CommitChanges, pages: _CommitPages) -> None:
    is_merge = len(changed.parents) > 1
    commit = MainlineCommit(
        number=number,
        commit=changed.commit.id,
        time=changed.commit.time,
        author=changed.commit.author,
        email=changed.commit.email,
        message=changed.commit.message,
        merge=is_merge,
        committed=changed.committed if changed.committed < changed.commit.time else None,
    )
    changes = [change for change in map(pages.change, changed.changes) if change is not None]
    side_commits = list(first_parent.side_commits(workspace.repository, changed)) if is_merge else []
    merged_origins: Mapping[FilePath, Mapping[str, Origin]] = line_origins(side_commits).lines if side_commits else {}
    combined = combined_lines.combined_origins(workspace, changed, changes, merged_origins, trail) if side_commits else {}
    stating = [side_commit for side_commit, _ in side_commits]
    changes += _confirmed_files(trail, commit, stating, pages, {change.path for change in changes})
    step = build_step(
        commit,
        changes,
        trail,
        stating,
        merged_origins,
        combined,
        is_log=lambda path: workspace.kind_of(path) is FileKind.DAILY,
        page_at=pages.at_commit,
        brought_by=lambda commit: first_parent.commits_brought_by(workspace.repository, commit),
    )
    trail.append(commit, step)
    pages.adopted = {path: commit_id for path, commit_id in pages.adopted.items() if commit_id != commit.commit}


def _confirmed_files(
    trail: Trail, commit: MainlineCommit, side_commits: Sequence[Commit], pages: _CommitPages, changed: Collection[FilePath]
) -> list[FileChange]:
    """The files that a commit leaves as they are, with facts that it confirms."""
    facts = confirmed_facts((*side_commits, commit), trail)
    live = [each.entry.path for fact in facts for each in trail.occurrences_of(fact) if each.ended is None]
    unchanged = [(path, pages.at_commit(commit.commit, path)) for path in dict.fromkeys(live) if path not in changed]
    return [FileChange(path, path, page, page) for path, page in unchanged]


class _CommitPages:
    """The memory files of commits, each version parsed once while it is kept.

    `adopted`: paths outside of memory, each with the commit that renames its file into memory; up to that commit it counts as memory.
    """

    def __init__(self, workspace: Workspace, adopted: Mapping[FilePath, CommitId]) -> None:
        self._workspace = workspace
        self.adopted = dict(adopted)
        self._pages: OrderedDict[tuple[str, FilePath], Page | None] = OrderedDict()
        self._contents: dict[str, bytes] = {}
        self._memory_paths: dict[FilePath, bool] = {}

    def fetch(self, changes: Sequence[ChangedFile]) -> int:
        """Read all blobs that some changes need at once, and return how many bytes they have."""
        versions = {(change.before, change.before_path) for change in changes} | {(change.after, change.path) for change in changes}
        blobs = sorted({blob for blob, path in versions if blob and self.is_memory(path) and (blob, path) not in self._pages})
        self._contents = self._workspace.repository.contents(blobs)
        return sum(map(len, self._contents.values()))

    def change(self, changed: ChangedFile) -> FileChange | None:
        """A change of a memory file with both pages; None if it is of another file."""
        before = self._page(changed.before, changed.before_path)
        after = self._page(changed.after, changed.path)
        if before is None and after is None:
            return None
        if after is None:
            return FileChange(changed.before_path, changed.before_path, before, None)
        return FileChange(changed.path, changed.before_path if before else changed.path, before, after)

    def at_commit(self, commit: CommitId, path: FilePath) -> Page | None:
        """A memory file as a commit has it; None where it has none, or none that can be indexed."""
        data = self._workspace.repository.read(commit, [path])[path]
        return None if data is None else self._parse(data, path)

    def is_memory(self, path: FilePath) -> bool:
        """True if a path is one of memory, or adopted."""
        if path not in self._memory_paths:
            self._memory_paths[path] = self._workspace.kind_of(path).is_memory
        return self._memory_paths[path] or path in self.adopted

    def _page(self, blob: str | None, path: FilePath) -> Page | None:
        """A version of a file, parsed; None where there is none, or none that can be indexed."""
        if blob is None or not self.is_memory(path):
            return None
        if (blob, path) not in self._pages:
            data = self._contents[blob] if blob in self._contents else self._workspace.repository.contents([blob])[blob]
            self._pages[blob, path] = self._parse(data, path)
            if len(self._pages) > _PAGES_KEPT:
                self._pages.popitem(last=False)
        self._pages.move_to_end((blob, path))
        return self._pages[blob, path]

    def _parse(self, data: bytes, path: FilePath) -> Page | None:
        try:
            document = parse_bytes(data)
        except PathProblem:
            return None
        return Page(document, path, frontmatter.tags(document), self._workspace.daily)
