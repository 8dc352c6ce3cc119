"""Read the files changed since an index was made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import date
from functools import cached_property

from mdmem.folder import layout
from mdmem.folder.layout import log_day
from mdmem.index import pages
from mdmem.index.indexer import FileEntries, FileFields, SearchIndex
from mdmem.index.snapshot import Snapshot, SnapshotFile, is_long
from mdmem.model import FilePath
from mdmem.past.table import Trail
from mdmem.workspace import Progress, Workspace

_PART_DOCUMENTS = 20_000
"""Documents after which a first build can be searched."""


class ChangedFiles:
    """The files that an index has not seen as they are.

    `seen` is what it has seen, `stamps` are the files now, `since` numbers the commit up to which
    it agrees with the trail.
    """

    def __init__(
        self,
        workspace: Workspace,
        seen: Snapshot,
        stamps: Mapping[str, str],
        trail: Trail,
        since: int,
    ) -> None:
        self._workspace, self._trail, self._since = workspace, trail, since
        self._commit = trail.head
        self._before = before = dict(seen.files)
        self._touched = pages.touched_paths(trail, since)
        if seen.commit != self._commit:
            self._touched |= {FilePath(path) for path, file in before.items() if file.uncommitted}
        due = [
            path
            for path, stamp in stamps.items()
            if path in self._touched
            or path not in before
            or before[path].stamp != stamp
            or before[path].skipped
        ]
        self._missing = {FilePath(path) for path in (*before, *self._touched) if path not in stamps}
        self._emptied = sorted(path for path in self._missing if trail.live_occurrences(path))
        self._total = len(due) + len(self._emptied)
        self._seen: dict[str, SnapshotFile] = {
            path: before[path] for path in stamps if path in before
        }
        self._due = sorted(map(FilePath, due), key=self._newest_first)
        self._part = (
            _PART_DOCUMENTS if not before and is_long(stamps[path] for path in due) else None
        )

    @cached_property
    def _reader(self) -> pages.PageReader:
        """Made for the first file that is read: it asks git about all of them."""
        return pages.PageReader(self._workspace, self._trail, self._total)

    def update(self, index: SearchIndex, settings: str, progress: Progress | None) -> None:
        """`settings`: a digest of those that the index depends on."""
        newest = self._trail.newest_commit.number if self._trail.newest_commit else 0
        index.update(
            self._read(),
            self._missing.difference(self._emptied),
            Snapshot(
                commit=self._commit,
                files=self._seen,
                settings=settings,
                has_pair_marks=bool(self._trail.pair_marks()),
            ),
            progress=(lambda n: progress(n, self._total)) if progress else None,
            past=pages.ended_rows(self._workspace, self._trail, self._since, newest),
            dropped={name for name, _, _ in self._trail.dropped_commits()},
            part=self._part,
        )

    def _newest_first(self, path: FilePath) -> tuple[int, str]:
        """The order of files: first those that are no logs, then logs, newest first."""
        return -(log_day(path, self._workspace.daily) or date.max).toordinal(), path

    def _read(self) -> Iterator[FileEntries | FileFields]:
        """Read the files; those removed since the survey are left to the next one."""
        for path in self._due:
            with suppress(FileNotFoundError, NotADirectoryError):
                file = layout.ListedFile(
                    self._workspace.root, path, (self._workspace.root / path).lstat()
                )
                self._seen[path], fields = self._reader.read(
                    file, self._before.get(path) if path not in self._touched else None
                )
                if fields is not None:
                    yield fields
        for path in self._emptied:
            yield self._reader.entries_of_removed_file(path)
