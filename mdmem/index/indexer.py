"""The index on disk: opened, updated, searched. It can be deleted at any time.

The folder holds the documents and the snapshot of the workspace, `seen.json`. A crash leaves an
index that is behind, never a wrong one: an update marks changing paths as never indexed, commits
the documents, then writes the snapshot. Without a readable snapshot of this version the documents
are ignored.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any, TypeVar

import tantivy

from mdmem.folder import files
from mdmem.folder.budget import LEFT_OUT
from mdmem.index import gate, labels, schema
from mdmem.index.engine import BrokenIndex, add_documents, call_engine, call_writer, writing
from mdmem.index.query import Filter, IndexQuery
from mdmem.index.results import Match
from mdmem.index.schema import IndexRow, Lifetime
from mdmem.index.searcher import IndexSearcher
from mdmem.index.snapshot import (
    EMPTY_SNAPSHOT,
    NEVER_INDEXED,
    PART_SNAPSHOT,
    SNAPSHOT_NAME,
    Snapshot,
    read_snapshot,
    stamps_digest,
    write_snapshot,
)
from mdmem.model import CommitId, FactId, FileKind, FilePath
from mdmem.model.searches import Hit, TagCount
from mdmem.model.trail import Entry, Origin
from mdmem.startup.records import dataclass, replace
from mdmem.text.word_forms import ENGLISH, most_used

T = TypeVar("T")

_DOCUMENTS_NAME = "documents"
ADDED_AT_ONCE = 256
"""Documents in a batch; waking the idle writer's thread takes longer than making a document."""


@dataclass(frozen=True, slots=True)
class FileEntries:
    """The entries of one file; the sequences are parallel to `entries`.

    Args:
        lifetimes: empty for a person's new text.
        about: words of the front matter that name the file; for its first entry.
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
        return [replace(rows[0], about=self.about), *rows[1:]] if rows and self.about else rows


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


class SearchIndex:
    """Open it again under the lock before an update: another process may have indexed since."""

    def __init__(
        self,
        folder: Path | None,
        index: tantivy.Index | None,
        seen: Snapshot,
        language: str | None,
        finder: IndexSearcher | None = None,
    ) -> None:
        self._folder = folder
        self._language = language or ENGLISH
        self._index = index
        self._finder = finder or (
            IndexSearcher(call_engine(index.searcher), self._language, seen.is_fresh)
            if index
            else None
        )
        self.seen: Snapshot = seen

    @classmethod
    def open(cls, folder: Path, language: str | None = None) -> SearchIndex:
        """Open the index in a folder; a broken or old one counts as empty.

        Nothing is created or deleted before `update`. `language` (default: English) is that of
        files whose words do not say; with another one the caller has to rebuild the index. Raises
        OSError: the folder cannot be read.
        """
        seen = read_snapshot(folder)
        if seen is None:
            return cls.create(folder, language)
        try:
            return cls(
                folder, call_engine(schema.open_documents, folder / _DOCUMENTS_NAME), seen, language
            )
        except BrokenIndex:
            return cls.create(folder, language)

    @classmethod
    def create(cls, folder: Path, language: str | None = None) -> SearchIndex:
        """An empty index that replaces the contents of the folder at the first update."""
        return cls(folder, None, EMPTY_SNAPSHOT, language)

    @classmethod
    def in_memory(cls, language: str | None = None) -> SearchIndex:
        return cls(None, schema.prepare(tantivy.Index(schema.schema())), EMPTY_SNAPSHOT, language)

    @property
    def finder(self) -> IndexSearcher | None:
        """The searcher of its documents; None without any."""
        return self._finder

    def found_by(self, finder: IndexSearcher) -> SearchIndex:
        """The index with another searcher, for reading alone."""
        return SearchIndex(self._folder, self._index, self.seen, finder.language, finder)

    @property
    def count(self) -> int:
        """The number of entries that are current or expired."""
        return self._finder.count if self._finder else 0

    def search(self, request: IndexQuery) -> tuple[Match, ...]:
        return self._finder.search(request) if self._finder else ()

    def occurrences(
        self, statements: Mapping[int, str], passing_filter: Filter, today: date
    ) -> list[IndexRow]:
        return self._finder.occurrences(statements, passing_filter, today) if self._finder else []

    def with_words(self, text: str, today: date, limit: int) -> list[IndexRow]:
        return self._finder.with_words(text, today, limit) if self._finder else []

    def entries(self, passing_filter: Filter, today: date | None = None) -> tuple[Hit, ...]:
        return self._finder.entries(passing_filter, today) if self._finder else ()

    def newest(
        self, passing_filter: Filter, today: date, limit: int | None = None, offset: int = 0
    ) -> tuple[tuple[Match, ...], int]:
        if self._finder is None:
            return (), 0
        return self._finder.newest(passing_filter, today, limit, offset)

    def tags(self, passing_filter: Filter, today: date) -> tuple[TagCount, ...]:
        return self._finder.tags(passing_filter, today) if self._finder else ()

    def carries(self, prompt: str, hits: Sequence[Hit]) -> bool:
        """True if memory carries a prompt, by its first hits; raises BrokenIndex."""
        if self._finder is None:
            return False
        lexicon = self._finder.lexicon
        words = gate.prompt_words(prompt, lexicon)
        return gate.is_carried(prompt, words, hits, lexicon.total, lexicon.languages)

    def stands_alone(self, prompt: str, hits: Sequence[Hit]) -> bool:
        if self._finder is None:
            return False
        lexicon = self._finder.lexicon
        return gate.stands_alone(gate.prompt_words(prompt, lexicon), hits, lexicon.languages)

    def lines_for_task(
        self, prompt: str, things: Sequence[str], hits: Sequence[Hit]
    ) -> tuple[Hit, ...]:
        if self._finder is None:
            return ()
        return gate.lines_for_task(prompt, things, hits, self._finder.lexicon.languages)

    def holds(self, passing_filter: Filter) -> bool:
        return self._finder is not None and self._finder.holds(passing_filter)

    def rows(self, path: str) -> list[IndexRow] | None:
        return self._finder.rows(path) if self._finder else []

    def with_overlay(self, paths: Collection[str], pages: Iterable[FileEntries]) -> SearchIndex:
        """A copy that also finds changed files as they are now, for current entries only.

        `paths`: files that differ from the snapshot, or are gone. This object stays as it is, for
        other threads.
        """
        assert self._finder is not None  # an index without documents is to be updated
        finder = self._finder.with_overlay(paths, ((page.path, page.rows) for page in pages))
        return SearchIndex(self._folder, self._index, self.seen, self._language, finder)

    def update(
        self,
        changed: Iterable[FileEntries | FileFields],
        removed: Collection[str],
        seen: Snapshot,
        progress: Callable[[int], None] | None = None,
        past: Iterable[tuple[CommitId, tuple[IndexRow, ...]]] = (),
        dropped: Collection[CommitId] = (),
        part: int | None = None,
    ) -> None:
        """Update the index to a new state of the workspace. The caller holds the lock.

        Args:
            changed: files whose entries are replaced; iterated once, to save memory.
            past: rows by the commit that ended them, replacing its former ones; iterated once.
            part: on a full build, documents after which search works already.

        Raises StorageProblem, OSError: the disk is full, or another process is writing; the next
        update completes it.
        """
        if self._index is None:
            self._start_anew()
        files, ends = none_if_empty(changed), none_if_empty(past)
        if files or ends or removed or dropped:
            self._change(files or (), removed, progress, ends or (), dropped, part)
        self._remember(replace(seen, is_fresh=self.seen.is_fresh))

    def _start_anew(self) -> None:
        assert self._folder is not None  # only an index in a folder can be missing
        (self._folder / SNAPSHOT_NAME).unlink(missing_ok=True)
        self._index = schema.new_documents(self._folder / _DOCUMENTS_NAME, schema.schema())
        self.seen = EMPTY_SNAPSHOT

    def _change(
        self,
        changed: Iterable[FileEntries | FileFields],
        removed: Collection[str],
        progress: Callable[[int], None] | None,
        past: Iterable[tuple[CommitId, tuple[IndexRow, ...]]],
        dropped: Collection[CommitId],
        part: int | None,
    ) -> None:
        assert self._index is not None
        touched = set(removed)
        is_fresh = self.seen.is_fresh and not call_engine(self._index.searcher).num_docs
        spoken = dict[str, str]()

        def usual(path: FilePath) -> str:
            """The language of what is no longer in a file: that of most of what is."""
            if path not in spoken:
                rows = self.rows(path) or []
                spoken[path] = most_used([row.language for row in rows], self._language)
            return spoken[path]

        documents_folder = self._folder and self._folder / _DOCUMENTS_NAME
        with writing(self._index, documents_folder) as writer:

            def replaced(label: str) -> None:
                call_writer(writer.delete_documents_by_term, "label", label)

            def new() -> Iterator[tantivy.Document]:
                for number, file in enumerate(changed, 1):
                    touched.add(file.path)
                    replaced(labels.file_label(file.path))
                    documents = self._documents(file)
                    spoken[file.path] = schema.main_language(documents, self._language)
                    yield from map(schema.as_document, documents)
                    if progress:
                        progress(number)
                for commit, rows in past:
                    replaced(labels.as_label("gone", commit))
                    yield from _past_documents(commit, rows, usual)

            for path in removed:
                replaced(labels.file_label(path))
            for commit in dropped:
                replaced(labels.as_label("gone", commit))
            documents = new()
            added = 0
            while batch := list(islice(documents, ADDED_AT_ONCE)):
                add_documents(writer, batch)
                added += len(batch)
                if part is not None and added >= part:
                    part = None
                    call_writer(writer.commit)
                    self._remember(PART_SNAPSHOT)
            self._forget_stamps(touched, is_fresh)
            call_writer(writer.commit)
        self._finder = IndexSearcher(self._index.searcher(), self._language, is_fresh)
        self.seen = replace(self.seen, is_fresh=is_fresh)

    def _forget_stamps(self, paths: Iterable[str], is_fresh: bool) -> None:
        """Note files as never indexed, for a process killed before it notes what they are now."""
        if self._folder is None or self.seen.is_part or not (self._folder / SNAPSHOT_NAME).exists():
            return
        never_indexed = {**self.seen.files, **dict.fromkeys(paths, NEVER_INDEXED)}
        self._remember(replace(self.seen, files=never_indexed, is_fresh=is_fresh), durably=True)

    def _documents(self, file: FileEntries | FileFields) -> list[dict[str, Any]]:
        made = file_fields(file, self._language) if isinstance(file, FileEntries) else file
        return made.documents

    def _remember(self, seen: Snapshot, durably: bool = False) -> None:
        seen = replace(
            seen,
            stamps=stamps_digest({path: file.stamp.text for path, file in seen.files.items()}),
            has_left_out=any(file.skipped == LEFT_OUT for file in seen.files.values()),
        )
        if self._folder is not None:
            write_snapshot(self._folder, seen, durably)
        self.seen = seen


def none_if_empty(values: Iterable[T]) -> Iterator[T] | None:
    rest = iter(values)
    return next((chain([first], rest) for first in rest), None)


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
            now = folder, language, files.stamp(f"{folder}/{SNAPSHOT_NAME}")
            if self._index is None or self._opened_as != now:
                self._index, self._opened_as = SearchIndex.open(folder, language), now
                self.overlaid = None
            return self._index
