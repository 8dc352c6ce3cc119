"""Embed the entries that have no vector yet: newest first, in batches, one process at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, suppress
from itertools import islice

from mdmem.folder import files
from mdmem.index.catching_up import index_unchecked
from mdmem.index.entry_words import passage, passage_entries, passage_key
from mdmem.index.indexer import SearchIndex
from mdmem.index.searcher import Address
from mdmem.llm.endpoints import ModelFailure
from mdmem.model import FileKind, FilePath
from mdmem.model.errors import PathProblem, RepositoryProblem
from mdmem.model.reads import VectorStatus
from mdmem.model.trail import Entry
from mdmem.sessions.tags import block_spans
from mdmem.startup.records import dataclass
from mdmem.text.document import Document, parse_bytes, with_line_end
from mdmem.text.facts import entries
from mdmem.vectors.source import (
    PRIVATE_TAGS,
    Embedder,
    embedding_model,
    open_source,
    without_secrets,
)
from mdmem.vectors.store import (
    FOLDER_NAME,
    TABLE_NAME,
    EmbeddedText,
    VectorStore,
    opened_store,
    store_folder,
)
from mdmem.workspace import Workspace

BATCH = 64
FILL_LOCK = "vectors-fill.lock"
_LOCK_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class _Passage:
    """A text to send; empty if it is not to be sent."""

    key: int
    day: int
    text: str


def fill_store(workspace: Workspace) -> None:
    """Embed what the index has without a vector, unless another process does.

    A failure of the model ends it. Raises WorkspaceProblem (`no-model`), OSError.
    """
    model = embedding_model(workspace.settings, workspace.environment)
    folder = store_folder(workspace.state, model)
    with suppress(RepositoryProblem, ModelFailure), files.lock(workspace.state / FILL_LOCK, 0):
        embedder = Embedder(workspace.state, open_source(model), workspace.settings, workspace.now)
        with closing(embedder), opened_store(folder) as store, suppress(sqlite3.OperationalError):
            store.drop_lost_rows()
            _fill(workspace, store, embedder)


def vector_status(workspace: Workspace, index: SearchIndex) -> VectorStatus:
    """The number of entries with and without a vector. Raises WorkspaceProblem (`no-model`)."""
    model = embedding_model(workspace.settings, workspace.environment)
    passages = index.finder.passages(workspace.now().date())
    keys = list({key for key, _, _ in passages})
    folder = store_folder(workspace.state, model)
    if not (folder / TABLE_NAME).exists():
        return VectorStatus(0, len(keys), model.name)
    with opened_store(folder) as store:
        return VectorStatus(store.count, len(store.missing(keys)), model.name)


def keep_passages(
    workspace: Workspace, index: SearchIndex, is_kept: Callable[[str, Sequence[Entry]], bool]
) -> None:
    """Take out of all stores what is no current passage, or one that is not to be kept.

    The caller holds the lock of vectors. `is_kept` judges a passage with the entries in it. Raises
    sqlite3.Error, OSError.
    """
    listed = index.finder.passages(workspace.now().date())
    keys = {
        key
        for path in {index.finder.path_at(address) for _, _, address in listed}
        for key, text, held in index.finder.passages_of(path)
        if is_kept(text, held)
    }
    _keep_only(workspace, keys)


def drop_unknown(workspace: Workspace, index: SearchIndex) -> None:
    """Take out of all stores what no entry has, current or past. Raises sqlite3.Error, OSError."""
    with files.lock(workspace.state / files.VECTORS_LOCK, _LOCK_SECONDS):
        _keep_only(workspace, index.finder.passage_keys())


def _keep_only(workspace: Workspace, keys: Collection[int]) -> None:
    for folder in (workspace.state / FOLDER_NAME).glob("*"):
        with opened_store(folder) as store:
            store.keep_only(keys)


def _fill(workspace: Workspace, store: VectorStore, embedder: Embedder) -> None:
    table = str(store.folder / TABLE_NAME)
    ours, index = files.identity(table), None
    waiting: Iterator[_Passage] = iter(())
    while files.identity(table) == ours:  # another one: a purge has removed this store
        if (now := index_unchecked(workspace)) is not index:
            index, waiting = now, _waiting(workspace, now, store)
        batch = list(islice(waiting, BATCH))
        if not batch:
            return
        sent = [each for each in batch if each.text]
        vectors = embedder.passages([each.text for each in sent]) if sent else ()
        with files.lock(workspace.state / files.VECTORS_LOCK, _LOCK_SECONDS):
            if files.identity(table) != ours:
                return
            store.skip(each.key for each in batch if not each.text)
            store.add(
                [
                    EmbeddedText(key=each.key, day=each.day, vector=vector)
                    for each, vector in zip(sent, vectors, strict=True)
                ]
            )


def _waiting(workspace: Workspace, index: SearchIndex, store: VectorStore) -> Iterator[_Passage]:
    listed: dict[int, tuple[int, Address]] = {}
    for key, day, address in index.finder.passages(workspace.now().date()):
        known = listed.get(key)
        listed[key] = (day, address) if known is None else (max(day, known[0]), known[1])
    of_files: dict[FilePath, dict[int, str]] = {}
    for key in store.missing(list(listed)):
        day, address = listed[key]
        path = index.finder.path_at(address)
        if path not in of_files:
            if len(of_files) >= BATCH:
                of_files.clear()
            of_files[path] = _sent_texts(workspace, path)
        if key in of_files[path]:
            yield _Passage(key, day, of_files[path][key])


def _sent_texts(workspace: Workspace, path: FilePath) -> dict[int, str]:
    """By key: a file's passages as they are sent, without secrets; private ones are empty.

    They are read from the file as it is now: its lines in the index may be those of before.
    """
    try:
        data = files.read(files.path_on_disk(workspace.root, path)) or b""
        document = parse_bytes(data)
    except PathProblem:  # the next catch-up takes it out of the index
        return {}
    listed, is_private = entries(document, path, daily=workspace.daily), _private_entries(document)
    is_log = workspace.kind_of(path) is FileKind.DAILY
    texts = {}
    for position, entry in enumerate(listed):
        held = passage_entries(listed, position, is_log)
        public = [each for each in held if not is_private(each)]
        texts[passage_key(passage(held))] = (
            passage(public, without_secrets) if entry in public else ""
        )
    return texts


def _private_entries(document: Document) -> Callable[[Entry], bool]:
    """A check of a file's entries: True if one, or a heading above, is in a `<private>` block."""
    text = with_line_end(document.text, "\n")
    lines = {
        line
        for start, end in block_spans(text, PRIVATE_TAGS)
        for line in range(text.count("\n", 0, start) + 1, text.count("\n", 0, end) + 2)
    }
    headings = {section.path for section in document.sections if section.start + 1 in lines}

    def is_private(entry: Entry) -> bool:
        above = (entry.section[:depth] for depth in range(1, len(entry.section) + 1))
        return not (
            lines.isdisjoint(range(entry.start_line, entry.end_line + 1))
            and headings.isdisjoint(above)
        )

    return is_private
