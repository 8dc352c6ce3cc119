"""Calls of tantivy: failures of a damaged index or a full disk, and the memory that it takes."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import ParamSpec, TypeVar

import tantivy

from mdmem.folder import files
from mdmem.model.errors import StorageProblem
from mdmem.model.wording import verb

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
    call_writer(_add, writer, documents)


def _add(writer: tantivy.IndexWriter, documents: Iterable[tantivy.Document]) -> None:
    for document in documents:
        writer.add_document(document)
