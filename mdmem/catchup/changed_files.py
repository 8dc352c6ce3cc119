"""Read the files changed since an index was made; to build one from nothing, by two processes."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING

from mdmem.catchup import pages
from mdmem.folder import listing
from mdmem.folder.layout import log_day
from mdmem.model import FilePath
from mdmem.search.indexer import FileEntries, FileFields, FileTexts, SearchIndex
from mdmem.search.snapshot import Snapshot, SnapshotFile, is_long, stamp_bytes
from mdmem.trail import Trail
from mdmem.workspace import Progress, Workspace

if TYPE_CHECKING:
    from mdmem.catchup.page_worker import PageWorker

_MUCH_BYTES = 300_000
"""Of fewer bytes most are read before a second process has started."""
_CHUNK_BYTES = 65_536
"""The least bytes of files and of their paths that a process takes at once."""
_PART_DOCUMENTS = 20_000
"""Documents after which a first build can be searched."""


class ChangedFiles:
    """The files that an index has not seen as they are.

    Args:
        workspace: the workspace.
        seen: what the index has seen.
        stamps: the files of the workspace with their stamps.
        trail: the trail, brought up to HEAD.
        since: the number of the commit up to which the index agrees with it.
        worker: a process that reads files too, where all are to be read.
        chunks: the files that it has not been asked for, a few at a time.
    """

    def __init__(
        self,
        workspace: Workspace,
        seen: Snapshot,
        stamps: Mapping[str, str],
        trail: Trail,
        since: int,
        worker: PageWorker | None = None,
        chunks: deque[list[FilePath]] | None = None,
    ) -> None:
        self._workspace, self._trail, self._since, self._worker = workspace, trail, since, worker
        self._commit = trail.head
        self._before = before = dict(seen.files)
        self._touched = pages.touched_paths(trail, since)
        if seen.commit != self._commit:
            self._touched |= {FilePath(path) for path, file in before.items() if file.uncommitted}
        due = [
            path
            for path, stamp in stamps.items()
            if path in self._touched or path not in before or before[path].stamp.text != stamp
        ]
        self._missing = {FilePath(path) for path in (*before, *self._touched) if path not in stamps}
        self._emptied = sorted(path for path in self._missing if trail.live_occurrences(path))
        self._total = len(due) + len(self._emptied)
        self._seen: dict[str, SnapshotFile] = {
            path: before[path] for path in stamps if path in before
        }
        self._chunks = in_chunks(workspace, due, stamps) if chunks is None else chunks
        self._part = (
            _PART_DOCUMENTS if not before and is_long(stamps[path] for path in due) else None
        )

    @cached_property
    def _reader(self) -> pages.PageReader:
        """Made for the first file that is read here: it asks git about all of them."""
        return pages.PageReader(self._workspace, self._trail, self._total)

    def update(self, index: SearchIndex, settings: str, progress: Progress | None) -> None:
        """Bring an index up to them; `settings` are those that it depends on, as a digest."""
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

    def _read(self) -> Iterator[FileEntries | FileFields | FileTexts]:
        if self._worker is not None:
            for answer in self._worker.read(self._chunks, self._trail, self._total):
                if answer is None:
                    yield from self._read_chunk()
                else:
                    snapshot_file, fields = answer
                    self._seen[fields.path] = snapshot_file
                    yield fields
        while self._chunks:
            yield from self._read_chunk()
        if self._worker is not None:
            # the disk has nothing to do while the engine takes in the last documents
            self._trail.settle()
        for path in self._emptied:
            yield self._reader.entries_of_removed_file(path)

    def _read_chunk(self) -> Iterator[FileEntries]:
        """Read some files here; those removed since the survey are left to the next one."""
        for path in self._chunks.popleft():
            with suppress(FileNotFoundError, NotADirectoryError):
                file = listing.ListedFile(
                    self._workspace.root, path, (self._workspace.root / path).lstat()
                )
                self._seen[path], page = self._reader.read(
                    file, self._before.get(path) if path not in self._touched else None
                )
                if page is not None:
                    yield page


def is_much(stamps: Iterable[str]) -> bool:
    """True if two processes read files with these stamps faster than one."""
    return (os.cpu_count() or 1) > 1 and sum(map(stamp_bytes, stamps)) >= _MUCH_BYTES


def in_chunks(
    workspace: Workspace, paths: Iterable[str], stamps: Mapping[str, str]
) -> deque[list[FilePath]]:
    """Paths of files, a few at a time: first those that are no logs, then logs, newest first."""

    def newest_first(path: str) -> tuple[int, str]:
        return -(log_day(path, workspace.daily) or date.max).toordinal(), path

    return deque(_chunks(sorted(paths, key=newest_first), stamps))


def _chunks(paths: Iterable[str], stamps: Mapping[str, str]) -> Iterator[list[FilePath]]:
    chunk: list[FilePath] = []
    size = 0
    for path in paths:
        chunk.append(FilePath(path))
        size += stamp_bytes(stamps[path]) + len(os.fsencode(path))
        if size >= _CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
