"""Vectors by the text they are of, on disk: a table of rows, and rows of eight bits a dimension.

The row is written before the table names it, so a process killed at any byte loses at most what it
was writing. The folder can be deleted at any time.
"""

from __future__ import annotations

import json
import os
import sqlite3
import struct
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from mdmem.folder import files
from mdmem.llm.endpoints import BAD_ANSWER, ModelFailure
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.vectors.source import EmbeddingModel, Vector

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
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
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
