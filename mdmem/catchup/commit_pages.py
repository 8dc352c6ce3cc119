"""The memory files of commits that are replayed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence

from mdmem.document import parse_bytes
from mdmem.editors import frontmatter
from mdmem.errors import PathProblem
from mdmem.history.file_changes import FileChange, Page
from mdmem.model import CommitId, FileKind, FilePath
from mdmem.repo.first_parent import ChangedFile
from mdmem.workspace import Workspace

_PAGES_KEPT = 200


def is_log(workspace: Workspace, path: FilePath) -> bool:
    """True for a day's log."""
    return workspace.kind_of(path) is FileKind.DAILY


class CommitPages:
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
        before = self.page(changed.before, changed.before_path)
        after = self.page(changed.after, changed.path)
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

    def page(self, blob: str | None, path: FilePath) -> Page | None:
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
