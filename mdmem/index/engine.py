"""Calls of tantivy (failures of a damaged index or a full disk, its memory), and an index's life.

An index can be deleted at any time. A crash leaves one that is behind, never a wrong one: an update
marks changing files as never seen, commits the documents, then writes `seen.json`. Without a
readable one of this version the documents are ignored.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Generic, ParamSpec, Self, TypeVar

import tantivy

from mdmem.folder import files
from mdmem.index.snapshot import SEEN_NAME, SeenFiles, read_seen, write_seen
from mdmem.model.errors import StorageProblem, verb
from mdmem.startup.records import replace
from mdmem.text.terms import ENGLISH

TERMS = "terms"
"""The analyzer of terms that are made here, separated by spaces."""
_DOCUMENTS_NAME = "documents"
_ADDED_AT_ONCE = 256
"""Documents in a batch; waking the idle writer's thread takes longer than making a document."""

HEAP_BYTES = 100_000_000
"""Memory before a writer starts a segment, which costs each search 30 µs. Allocated as needed."""
_MOST_ARENAS = 2
_M_ARENA_MAX = -8
"""Option of mallopt(3), from `malloc.h`."""


@cache
def _libc() -> ctypes.CDLL | None:
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    return libc if hasattr(libc, "malloc_trim") and hasattr(libc, "mallopt") else None


def _limit_arenas() -> None:
    """Have threads that are started from now on share a few heaps; to be called before they are.

    glibc keeps a heap for each thread: 150 MB after 50 updates, and 40 MB with this and
    `_release_free_memory`.
    """
    if libc := _libc():
        libc.mallopt(_M_ARENA_MAX, _MOST_ARENAS)


def _release_free_memory() -> None:
    """Give the system back what is free; takes half a millisecond."""
    if libc := _libc():
        libc.malloc_trim(0)


P = ParamSpec("P")
T = TypeVar("T")


class BrokenIndex(StorageProblem):
    """The index cannot be read; it can be deleted and rebuilt without loss."""


def engine_failures() -> tuple[type[BaseException], ...]:
    """ValueError, and Rust panics of tantivy, whose class is missing before the first one."""
    return (
        ValueError,
        *(kind for kind in BaseException.__subclasses__() if kind.__name__ == "PanicException"),
    )


def call_engine(action: Callable[P, T], *args: P.args, **keywords: P.kwargs) -> T:
    """Call an action of the engine; raises BrokenIndex where it fails."""
    try:
        return action(*args, **keywords)
    except engine_failures() as problem:
        raise BrokenIndex(
            f"the index could not be read: {problem}", f"To rebuild it: {verb('reindex', 'full')}"
        ) from problem


def call_writer(action: Callable[P, T], *args: P.args, **keywords: P.kwargs) -> T:
    """Call an action of a writer; raises StorageProblem where it fails."""
    try:
        return action(*args, **keywords)
    except engine_failures() as problem:
        hint = (
            "Is the disk full, or another process writing it? If not, rebuild it:"
            f" {verb('reindex', 'full')}"
        )
        raise StorageProblem(f"the index could not be written: {problem}", hint) from problem


@contextmanager
def writing(index: tantivy.Index, folder: Path | None) -> Iterator[tantivy.IndexWriter]:
    """A writer for the caller to commit; afterwards searchers see what it did.

    In `folder` (None: in memory) the files that the engine makes become the user's alone.
    """
    _limit_arenas()
    writer = call_writer(index.writer, HEAP_BYTES, 1)
    try:
        yield writer
    finally:
        # Without this wait, a writer leaves the segments of its merges behind for good.
        call_writer(writer.wait_merging_threads)
        _release_free_memory()
        if folder is not None:
            files.make_private(folder)
    call_writer(index.reload)


def add_documents(writer: tantivy.IndexWriter, documents: Iterable[tantivy.Document]) -> None:
    """Add documents; raises StorageProblem where that fails."""
    rest = iter(documents)
    while batch := list(islice(rest, _ADDED_AT_ONCE)):
        call_writer(_add, writer, batch)


def _add(writer: tantivy.IndexWriter, documents: Iterable[tantivy.Document]) -> None:
    for document in documents:
        writer.add_document(document)


S = TypeVar("S", bound=SeenFiles)


class StoredIndex(Generic[S]):
    """Documents, in a folder or in memory, and what they were made from.

    Open it again under the lock before an update: another process may have indexed since.
    """

    version: Sequence[object]
    """Other indexes are rebuilt."""
    seen_type: type[S]
    file_type: Callable[..., object]
    fields: Callable[[], tantivy.Schema]
    never_seen: object
    """A file unlike any, so that it is indexed again or removed."""

    def __init__(
        self, folder: Path | None, documents: tantivy.Index | None, seen: S, language: str | None
    ) -> None:
        self._folder = folder
        self._documents = documents
        self._language = language or ENGLISH
        self.seen = seen

    @classmethod
    def open(cls, folder: Path, language: str | None = None) -> Self:
        """Open the index in a folder; a broken or old one counts as empty.

        Nothing is created or deleted before `update`. `language` (default: English) is that of
        files whose words do not say; with another one the caller has to rebuild the index. Raises
        OSError: the folder cannot be read.
        """
        seen = read_seen(folder, cls.version, cls.seen_type, cls.file_type)
        if seen is None:
            return cls.create(folder, language)
        try:
            documents = call_engine(tantivy.Index.open, str(folder / _DOCUMENTS_NAME))
            return cls(folder, prepared(documents), seen, language)
        except BrokenIndex:
            return cls.create(folder, language)

    @classmethod
    def create(cls, folder: Path, language: str | None = None) -> Self:
        """An empty index that replaces the contents of the folder at the first update."""
        return cls(folder, None, cls.seen_type(), language)

    @classmethod
    def in_memory(cls, language: str | None = None) -> Self:
        return cls(None, prepared(tantivy.Index(cls.fields())), cls.seen_type(), language)

    def _started(self) -> tantivy.Index:
        """The documents; where there are none, their folder is emptied and begun."""
        if self._documents is None:
            assert self._folder is not None  # only an index in a folder can be missing
            (self._folder / SEEN_NAME).unlink(missing_ok=True)
            folder = self._folder / _DOCUMENTS_NAME
            if folder.exists():
                files.remove_tree(folder)
            files.make_folders(folder, files.PRIVATE_FOLDER)
            self._documents = prepared(call_writer(tantivy.Index, self.fields(), str(folder)))
        return self._documents

    @contextmanager
    def _writing(self, changing: Collection[str]) -> Iterator[tantivy.IndexWriter]:
        """A writer, whose work is committed once the files that are changing count as never seen.

        The caller may add to them. Afterwards searchers see what it did.
        """
        with writing(self._started(), self._folder and self._folder / _DOCUMENTS_NAME) as writer:
            yield writer
            if self._folder is not None and (self._folder / SEEN_NAME).exists():
                never_seen = dict.fromkeys(changing, self.never_seen)
                seen = replace(self.seen, files={**self.seen.files, **never_seen})
                self._remember(seen, durably=True)
            call_writer(writer.commit)

    def _remember(self, seen: S, durably: bool = False) -> None:
        self.seen = seen.summed_up()
        if self._folder is not None:
            write_seen(self._folder, self.version, self.seen, durably)


def prepared(index: tantivy.Index) -> tantivy.Index:
    """Register the analyzer, and reload on request only (no thread watches the folder)."""
    index.register_tokenizer(
        TERMS, tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
    )
    index.config_reader("manual")
    return index


def none_if_empty(values: Iterable[T]) -> Iterator[T] | None:
    rest = iter(values)
    return next((chain([first], rest) for first in rest), None)
