"""HEAD's first-parent line replayed, commit by commit, into the table of versions."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from mdmem import history
from mdmem.document import parse_bytes
from mdmem.errors import PathProblem
from mdmem.history.file_changes import FileChange, Page
from mdmem.history.replay import build_step
from mdmem.model import CommitId, FilePath
from mdmem.model.trail import MainlineCommit, Origin
from mdmem.repo import first_parent
from mdmem.repo.first_parent import ChangedFile, CommitChanges
from mdmem.startup import late
from mdmem.trail import Trail
from mdmem.workspace import Progress, Workspace

if TYPE_CHECKING:
    from mdmem.editors import frontmatter
else:
    frontmatter = late.module("mdmem.editors.frontmatter")


_COMMITS_AT_ONCE, _MOST_AT_ONCE = 50, 500
_BYTES_AT_ONCE = 8_000_000
"""Of files, that are read together: where a commit changes little, more commits are."""
_PAGES_KEPT = 200


def replay_new_commits(workspace: Workspace, known: Trail, head: CommitId | None, progress: Progress | None = None) -> None:
    """Replay into the table what HEAD has and it has not; the caller holds the trail's lock.

    Raises:
        StorageProblem: the disk does not take it.
    """
    if (known.newest_commit.commit if known.newest_commit else None) == head:
        return
    if head is None:
        with known.writing():
            known.cut(0)
        return
    pages = _CommitPages(workspace)
    ids = _newer(workspace, known, head)
    commits = first_parent.iterate_commits(workspace.repository, ids)
    done, at_once = 0, _COMMITS_AT_ONCE
    while some := list(islice(commits, at_once)):
        size = pages.fetch([change for commit in some for change in commit.changes])
        at_once = min(_MOST_AT_ONCE, max(_COMMITS_AT_ONCE, len(some) * _BYTES_AT_ONCE // max(1, size)))
        first = known.newest_commit.number + 1 if known.newest_commit else 1
        with known.writing():
            for number, commit in enumerate(some, first):
                _replay(workspace, known, number, commit, pages)
        done += len(some)
        if progress:
            progress(done, len(ids))


def _newer(workspace: Workspace, known: Trail, head: CommitId) -> list[CommitId]:
    """The commits that HEAD has and the table has not, oldest first; the table is cut back to the last that is on the line still."""
    repository = workspace.repository
    newer = first_parent.commits_between(repository, known.newest_commit.commit if known.newest_commit else None, head)
    if newer is not None:
        return newer
    every = first_parent.commits_between(repository, None, head) or []
    places = {commit: place for place, commit in enumerate(every, 1)}
    fork = next((one.number for one in reversed(known.commits_after()) if places.get(one.commit) == one.number), 0)
    with known.writing():
        known.cut(fork)
    return every[fork:]


def _replay(workspace: Workspace, known: Trail, number: int, commit: CommitChanges, pages: _CommitPages) -> None:
    said = commit.commit
    merge = len(commit.parents) > 1
    landmark = MainlineCommit(number, said.id, said.time, said.author, said.message, merge)
    changes = [change for change in map(pages.change, commit.changes) if change is not None]
    side = list(first_parent.side_commits(workspace.repository, commit)) if merge else []
    brought: Mapping[FilePath, Mapping[str, Origin]] = history.line_origins(side).lines if side else {}
    known.append(landmark, build_step(landmark, changes, known, [one for one, _ in side], brought))


class _CommitPages:
    """The memory files of commits, parsed; each version of a file once."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._kept: OrderedDict[tuple[str, FilePath], Page | None] = OrderedDict()
        self._read: dict[str, bytes] = {}
        self._memory: dict[FilePath, bool] = {}

    def fetch(self, changes: Sequence[ChangedFile]) -> int:
        """Read what these changes need, in one go: how many bytes that is."""
        wanted = {(change.before, change.before_path) for change in changes} | {(change.after, change.path) for change in changes}
        blobs = sorted({blob for blob, path in wanted if blob and self._is_memory(path) and (blob, path) not in self._kept})
        self._read = self._workspace.repository.contents(blobs)
        return sum(map(len, self._read.values()))

    def change(self, changed: ChangedFile) -> FileChange | None:
        """A change of a memory file with both pages; None where no memory file is concerned."""
        before = self._page(changed.before, changed.before_path)
        after = self._page(changed.after, changed.path)
        if before is None and after is None:
            return None
        if after is None:
            return FileChange(changed.before_path, changed.before_path, before, None)
        return FileChange(changed.path, changed.before_path if before else changed.path, before, after)

    def _is_memory(self, path: FilePath) -> bool:
        if path not in self._memory:
            self._memory[path] = self._workspace.kind_of(path).is_memory
        return self._memory[path]

    def _page(self, blob: str | None, path: FilePath) -> Page | None:
        """A version of a file; None where there is none, or none that can be indexed."""
        if blob is None or not self._is_memory(path):
            return None
        if (blob, path) not in self._kept:
            data = self._read[blob] if blob in self._read else self._workspace.repository.contents([blob])[blob]
            self._kept[blob, path] = self._parsed(data, path)
            if len(self._kept) > _PAGES_KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end((blob, path))
        return self._kept[blob, path]

    def _parsed(self, data: bytes, path: FilePath) -> Page | None:
        try:
            document = parse_bytes(data)
        except PathProblem:
            return None
        return Page(document, path, frontmatter.tags(document))
