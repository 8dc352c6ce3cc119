"""Vectors by the text they are of, on disk: a table of rows, and rows of eight bits a dimension.
Entries without one are embedded: newest first, in batches, one process at a time.

The row is written before the table names it, so a process killed at any byte loses at most what it
was writing. The folder can be deleted at any time.
"""

from __future__ import annotations

import json
import os
import sqlite3
import struct
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path
from typing import Any

from mdmem.folder import files
from mdmem.index.catching_up import index_unchecked
from mdmem.index.indexed import passage, passage_entries, passage_key, passages
from mdmem.index.indexer import SearchIndex
from mdmem.index.searcher import Address
from mdmem.llm.requests import BAD_ANSWER, ModelFailure
from mdmem.model import FileKind, FilePath
from mdmem.model.errors import PathProblem, RepositoryProblem
from mdmem.model.reads import VectorStatus
from mdmem.model.trail import Entry
from mdmem.sessions.tags import block_spans
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.document import Document, with_line_end
from mdmem.text.facts import entries
from mdmem.vectors.source import (
    PRIVATE_TAGS,
    Embedder,
    EmbeddingModel,
    Vector,
    embedding_model,
    open_source,
    shown_name,
    without_secrets,
)
from mdmem.workspace import Workspace

FOLDER_NAME = "vectors"
TABLE_NAME, ROWS_NAME = "rows.db", "rows.i8"
SCALE_BYTES = 4
"""A float of four bytes in front of each row: a dimension is its byte times this."""
_MOST_BYTE = 127
_QUESTIONS_KEPT = 200
_AT_ONCE = 500
"""Values in one statement of SQLite; older ones take no more than 999."""
_OTHERS = late.pattern(r"[^A-Za-z0-9.]+")
_SCHEMA = """
    CREATE TABLE IF NOT EXISTS texts (key INTEGER PRIMARY KEY, row INTEGER UNIQUE, day INTEGER);
    CREATE INDEX IF NOT EXISTS days ON texts (day, row);
    CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value INTEGER);
    CREATE TABLE IF NOT EXISTS questions (hash TEXT PRIMARY KEY, vector BLOB);
"""


@dataclass(frozen=True, slots=True)
class EmbeddedText:
    """A text by its key (`search.entry_words`), with its vector.

    `day`: the ordinal of its daily log; a later one than any for curated files.
    """

    key: int
    day: int
    vector: Vector


def store_folder(state: Path, model: EmbeddingModel) -> Path:
    """The folder of a model's vectors: another name or prefix has another."""
    digest = sha256(json.dumps([model.name, *model.prefixes]).encode()).hexdigest()[:12]
    return state / FOLDER_NAME / f"{_OTHERS.sub('-', model.name)[:40]}-{digest}"


class VectorStore:
    """The vectors of one model. Its methods raise sqlite3.Error and OSError."""

    def __init__(self, folder: Path) -> None:
        """Open the store in a folder, which is made if it is missing; close it after use."""
        self.folder = folder
        files.make_folders(folder, files.PRIVATE_FOLDER)
        self._table = sqlite3.connect(folder / TABLE_NAME, timeout=10, check_same_thread=False)
        try:
            self._table.execute("PRAGMA secure_delete = ON")
            self._table.executescript(_SCHEMA)
        except sqlite3.Error:
            self._table.close()
            raise

    def close(self) -> None:
        self._table.close()

    @property
    def dimensions(self) -> int | None:
        """The numbers in each vector; None while there are none."""
        found = self._table.execute("SELECT value FROM about WHERE name = 'dimensions'").fetchone()
        return found[0] if found else None

    @property
    def count(self) -> int:
        return int(self._table.execute("SELECT count(row) FROM texts").fetchone()[0])

    @property
    def whole_rows(self) -> int:
        """The number of rows in the file: fewer than the table names, if somebody has cut it."""
        dimensions = self.dimensions
        if dimensions is not None:
            with suppress(FileNotFoundError):
                return (self.folder / ROWS_NAME).stat().st_size // (SCALE_BYTES + dimensions)
        return 0

    def missing(self, keys: Sequence[int]) -> list[int]:
        """Those texts that are neither embedded nor skipped, in their order."""
        known = self.rows(keys)
        return [key for key in keys if key not in known]

    def skip(self, keys: Iterable[int]) -> None:
        with self._table:
            self._table.executemany(
                "INSERT OR IGNORE INTO texts VALUES (?, NULL, 0)", [(key,) for key in keys]
            )

    def rows(self, keys: Iterable[int]) -> dict[int, int | None]:
        """The numbers of the rows of those texts that are known; None for a skipped one."""
        return dict(self._among("SELECT key, row FROM texts WHERE key IN", list(keys)))

    def keys(self, rows: Sequence[int]) -> dict[int, int]:
        return dict(self._among("SELECT row, key FROM texts WHERE row IN", rows))

    def _among(self, statement: str, values: Sequence[int]) -> Iterator[tuple[int, Any]]:
        for start in range(0, len(values), _AT_ONCE):
            some = values[start : start + _AT_ONCE]
            marks = ",".join("?" * len(some))
            yield from self._table.execute(f"{statement} ({marks})", some)

    def newest_rows(self, most: int) -> list[int]:
        """The rows of the curated texts and the newest logs, up to a number, in order."""
        newest = "SELECT row FROM texts WHERE row >= 0 AND row < ? ORDER BY day DESC, row DESC"
        values = (self.whole_rows, most)
        return sorted(row for (row,) in self._table.execute(f"{newest} LIMIT ?", values))

    def drop_lost_rows(self) -> None:
        with self._table:
            self._table.execute("DELETE FROM texts WHERE row >= ?", (self.whole_rows,))

    def add(self, embedded: Sequence[EmbeddedText]) -> None:
        """Add vectors of texts that have none. Raises ModelFailure: another length than before."""
        if not embedded:
            return
        with self._table:
            self._table.execute("BEGIN IMMEDIATE")
            dimensions = self.dimensions
            if dimensions is None:
                dimensions = len(embedded[0].vector)
                self._table.execute("INSERT INTO about VALUES ('dimensions', ?)", (dimensions,))
            if any(len(each.vector) != dimensions for each in embedded):
                raise ModelFailure(
                    BAD_ANSWER, f"the model's vectors had {dimensions} numbers before"
                )
            known = self.rows(each.key for each in embedded)
            added = {each.key: each for each in embedded if each.key not in known}
            last = self._table.execute("SELECT max(row) FROM texts").fetchone()[0]
            first = 0 if last is None else last + 1
            self._write(first, dimensions, [each.vector for each in added.values()])
            self._table.executemany(
                "INSERT INTO texts VALUES (?, ?, ?)",
                [
                    (each.key, first + number, each.day)
                    for number, each in enumerate(added.values())
                ],
            )

    def _write(self, first: int, dimensions: int, vectors: Iterable[Vector]) -> None:
        descriptor = os.open(self.folder / ROWS_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "r+b") as file:
            file.seek(first * (SCALE_BYTES + dimensions))
            file.write(b"".join(map(packed, vectors)))
            file.flush()
            os.fsync(file.fileno())

    def keep_only(self, keys: Collection[int]) -> None:
        """Take out all other texts, and all questions, and put a new file in place of the table.

        A process that still has the old one sees by its inode that it must not write.
        """
        held = [key for (key,) in self._table.execute("SELECT key FROM texts")]
        self.remove([key for key in held if key not in keys])
        with self._table:
            self._table.execute("DELETE FROM questions")
        new = self.folder / f"{TABLE_NAME}.new"
        new.unlink(missing_ok=True)
        self._table.execute("VACUUM INTO ?", (str(new),))
        new.replace(self.folder / TABLE_NAME)

    def remove(self, keys: Collection[int]) -> None:
        """Take out texts with their rows, of which no byte is left."""
        dimensions, rows = self.dimensions, self.rows(keys)
        if dimensions is None or not rows:
            return
        with self._table:
            self._table.executemany("DELETE FROM texts WHERE key = ?", [(key,) for key in rows])
        size = SCALE_BYTES + dimensions
        with (self.folder / ROWS_NAME).open("r+b") as file:
            for row in [row for row in rows.values() if row is not None]:
                file.seek(row * size)
                file.write(bytes(size))
            file.flush()
            os.fsync(file.fileno())

    def question(self, text: str) -> Vector | None:
        found = self._table.execute(
            "SELECT vector FROM questions WHERE hash = ?", (_hash(text),)
        ).fetchone()
        return array("f", found[0]) if found else None

    def keep_question(self, text: str, vector: Vector) -> None:
        oldest = "SELECT rowid FROM questions ORDER BY rowid DESC LIMIT -1 OFFSET ?"
        with self._table:
            self._table.execute(
                "INSERT OR REPLACE INTO questions VALUES (?, ?)", (_hash(text), vector.tobytes())
            )
            self._table.execute(
                f"DELETE FROM questions WHERE rowid IN ({oldest})", (_QUESTIONS_KEPT,)
            )


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def packed(vector: Vector) -> bytes:
    """A vector of unit length as a row: the scale, then a byte for each dimension."""
    scale = max(max(vector), -min(vector)) / _MOST_BYTE
    return (
        struct.pack("<f", scale)
        + array("b", [round(number / scale) for number in vector]).tobytes()
    )


@contextmanager
def opened_store(folder: Path) -> Iterator[VectorStore]:
    """The store in a folder, for the time of a block; a damaged one is replaced by an empty one."""
    try:
        store = VectorStore(folder)
    except sqlite3.DatabaseError:
        files.remove_tree(folder)
        store = VectorStore(folder)
    try:
        yield store
    finally:
        store.close()


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
        return VectorStatus(0, len(keys), shown_name(model))
    with opened_store(folder) as store:
        return VectorStatus(store.count, len(store.missing(keys)), shown_name(model))


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
        document = workspace.parse(path, data)
    except PathProblem:  # the next catch-up takes it out of the index
        return {}
    read = entries(document, path, daily=workspace.daily, nested=True)
    listed, is_private = list(chain.from_iterable(map(passages, read))), _private_entries(document)
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
