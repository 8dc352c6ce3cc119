"""The index of entries, and the snapshot of the workspace that it is of."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any

import tantivy

from mdmem.folder import files
from mdmem.index import indexed, schema
from mdmem.index.schema import (
    IndexRow,
    Lifetime,
    StoredIndex,
    add_documents,
    call_engine,
    call_writer,
    none_if_empty,
    prepared,
)
from mdmem.index.searcher import IndexSearcher
from mdmem.index.snapshot import (
    INDEX_VERSION,
    NEVER_INDEXED,
    PART_SNAPSHOT,
    SEEN_NAME,
    Snapshot,
    SnapshotFile,
)
from mdmem.model import CommitId, FactId, FileKind, FilePath
from mdmem.model.trail import Entry, Origin
from mdmem.startup.records import dataclass, replace
from mdmem.text.facts import is_field
from mdmem.text.terms import most_used

_PART_DOCUMENTS = 20_000
"""Documents of the newest files that can be searched before history is read."""


@dataclass(frozen=True, slots=True)
class FileEntries:
    """The entries of one file; the sequences are parallel to `entries`.

    Args:
        lifetimes: empty for a person's new text.
        about: words of the front matter that name the file; for its first entry but a field.
        copied: facts of it that other lines say too.
        uncommitted_removals: rows of HEAD that an edit removed, and past ones.
    """

    path: FilePath
    entries: tuple[Entry, ...]
    origins: tuple[Origin | None, ...]
    uncommitted: tuple[bool, ...]
    kind: FileKind
    lifetimes: tuple[Lifetime, ...] = ()
    uncommitted_removals: tuple[IndexRow, ...] = ()
    about: str = ""
    copied: frozenset[FactId] = frozenset()

    @property
    def rows(self) -> list[IndexRow]:
        lifetimes = self.lifetimes or (Lifetime(),) * len(self.entries)
        parallel = zip(self.entries, self.origins, self.uncommitted, lifetimes, strict=True)
        rows = [
            IndexRow(
                entry=entry,
                origin=origin,
                uncommitted=uncommitted,
                kind=self.kind,
                lifetime=lifetime,
                copied=origin is None or bool(lifetime.promoted) or entry.fact in self.copied,
            )
            for entry, origin, uncommitted, lifetime in parallel
        ]
        if self.about and rows:
            first = next((n for n, row in enumerate(rows) if not is_field(row.entry)), 0)
            rows[first] = replace(rows[first], about=self.about)
        return rows


@dataclass(frozen=True, slots=True)
class FileFields:
    """The field values of the documents of one file."""

    path: FilePath
    documents: list[dict[str, Any]]


def file_fields(file: FileEntries, language: str) -> FileFields:
    current = list(schema.document_fields(file.path, file.rows, language))
    removals = schema.in_file_order(file.uncommitted_removals)
    usual = schema.main_language(current, language)
    return FileFields(file.path, [*current, *schema.document_fields(file.path, removals, usual)])


class SearchIndex(StoredIndex[Snapshot]):
    """The index of entries; `finder` searches it as it was when opened or last updated."""

    version = (INDEX_VERSION,)
    seen_type, file_type, never_seen = Snapshot, SnapshotFile, NEVER_INDEXED
    fields = staticmethod(schema.schema)

    def __init__(
        self,
        folder: Path | None,
        documents: tantivy.Index | None,
        seen: Snapshot,
        language: str | None,
        finder: IndexSearcher | None = None,
    ) -> None:
        super().__init__(folder, documents, seen, language)
        self.finder = finder or self._searcher(documents or _no_documents())

    def _searcher(self, documents: tantivy.Index) -> IndexSearcher:
        searcher = call_engine(documents.searcher)
        return IndexSearcher(searcher, self._language, self.seen.is_fresh)

    def found_by(self, finder: IndexSearcher) -> SearchIndex:
        """The index with another searcher, for reading alone."""
        return SearchIndex(self._folder, self._documents, self.seen, finder.language, finder)

    def update(
        self,
        changed: Iterable[FileEntries | FileFields],
        removed: Collection[str],
        seen: Snapshot,
        progress: Callable[[int], None] | None = None,
        past: Iterable[tuple[CommitId, tuple[IndexRow, ...]]] = (),
        dropped: Collection[CommitId] = (),
    ) -> None:
        """Update the index to a new state of the workspace. The caller holds the lock.

        Args:
            changed: files whose entries are replaced; iterated once, to save memory.
            past: rows by the commit that ended them, replacing its former ones; iterated once.

        Raises StorageProblem, OSError: the disk is full, or another process is writing; the next
        update completes it.
        """
        documents = self._started()
        files, ends = none_if_empty(changed), none_if_empty(past)
        if files or ends or removed or dropped or self.seen.is_part:
            is_new = self.seen.is_part or not call_engine(documents.searcher).num_docs
            self.seen = replace(self.seen, is_fresh=self.seen.is_fresh and is_new)
            self._change(files or (), removed, progress, ends or (), dropped, is_new)
            self.finder = self._searcher(documents)
        self._remember(replace(seen, is_fresh=self.seen.is_fresh))

    def begin(self, files: Iterable[FileFields]) -> None:
        """Make files searchable in a new index; the first update replaces them all.

        The caller holds the lock. Raises as `update`.
        """
        with self._writing(()) as writer:
            documents = (map(schema.as_document, file.documents) for file in files)
            add_documents(writer, islice(chain.from_iterable(documents), _PART_DOCUMENTS))
        self._remember(PART_SNAPSHOT)
        self.finder = self._searcher(self._started())

    def _change(
        self,
        changed: Iterable[FileEntries | FileFields],
        removed: Collection[str],
        progress: Callable[[int], None] | None,
        past: Iterable[tuple[CommitId, tuple[IndexRow, ...]]],
        dropped: Collection[CommitId],
        is_new: bool,
    ) -> None:
        touched = set(removed)
        spoken = dict[str, str]()

        def usual(path: FilePath) -> str:
            """The language of what is no longer in a file: that of most of what is."""
            if path not in spoken:
                rows = self.finder.rows(path) or []
                spoken[path] = most_used([row.language for row in rows], self._language)
            return spoken[path]

        with self._writing(touched) as writer:
            if is_new:
                call_writer(writer.delete_all_documents)

            def replaced(label: str) -> None:
                if not is_new:
                    call_writer(writer.delete_documents_by_term, "label", label)

            def new() -> Iterator[tantivy.Document]:
                for number, file in enumerate(changed, 1):
                    touched.add(file.path)
                    replaced(indexed.file_label(file.path))
                    documents = self._fields(file)
                    spoken[file.path] = schema.main_language(documents, self._language)
                    yield from map(schema.as_document, documents)
                    if progress:
                        progress(number)
                for commit, rows in past:
                    replaced(indexed.as_label("gone", commit))
                    yield from _past_documents(commit, rows, usual)

            for path in removed:
                replaced(indexed.file_label(path))
            for commit in dropped:
                replaced(indexed.as_label("gone", commit))
            add_documents(writer, new())

    def _fields(self, file: FileEntries | FileFields) -> list[dict[str, Any]]:
        made = file_fields(file, self._language) if isinstance(file, FileEntries) else file
        return made.documents


@cache
def _no_documents() -> tantivy.Index:
    return prepared(tantivy.Index(schema.schema()))


def _past_documents(
    commit: CommitId, rows: Iterable[IndexRow], usual: Callable[[FilePath], str]
) -> Iterator[tantivy.Document]:
    for path, together in groupby(schema.in_file_order(rows), key=lambda row: row.entry.path):
        fields = schema.document_fields(path, list(together), usual(path), commit)
        yield from map(schema.as_document, fields)


class KeptIndex:
    """The index of a folder, kept between calls; each looks whether it was updated."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        """Held while a field is used; what a method returns never changes."""
        self.overlaid: tuple[SearchIndex, str, SearchIndex] | None = None
        """The index with files of this digest laid over it; dropped with the index."""
        self._opened_as: tuple[object, ...] | None = None
        self._index: SearchIndex | None = None

    def index(self, folder: Path, language: str | None) -> SearchIndex:
        with self.lock:
            # Each update gives this file's name to a new file, after all else.
            now = folder, language, files.stamp(f"{folder}/{SEEN_NAME}")
            if self._index is None or self._opened_as != now:
                self._index, self._opened_as = SearchIndex.open(folder, language), now
                self.overlaid = None
            return self._index
