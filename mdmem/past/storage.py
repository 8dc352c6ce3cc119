"""The file of the trail: opened if it can be used, else replaced at the first write; deleted."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self, TypeVar

from mdmem.folder import files
from mdmem.model.errors import StorageProblem
from mdmem.past.rows import APPLICATION_ID, FILLED_INDICES, SCHEMA, TRAIL_VERSION, SqlRow, blob

Value = TypeVar("Value")
TRAIL_NAME = "versions.db"
_SUFFIXES = ("", "-wal", "-shm", "-journal")
_BUSY_SECONDS = 5.0
_MODES = ("mode=rw", "mode=ro&immutable=1")
"""Modes to open the file: shared or, where SQLite cannot create its files, unchanged by anybody."""
_UNQUOTED = frozenset(b"/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
"""Bytes that need no quoting in the path of a URI (RFC 3986)."""
_SYNCHRONOUS = "PRAGMA synchronous = NORMAL"
_BROKEN_CODES = frozenset(
    {
        sqlite3.SQLITE_ERROR,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_FORMAT,
        sqlite3.SQLITE_MISMATCH,
    }
    | {sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_SCHEMA, sqlite3.SQLITE_TOOBIG}
)
"""SQLite's codes for a damaged file; a missing table is an ordinary error."""
_NO_ACCESS_CODES = frozenset(
    {
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
    }
)
"""Its codes for a folder or a disk that is read-only, full or failing."""


class BrokenTrail(StorageProblem):
    """The file cannot be read; deleting it loses nothing."""


class Store:
    """A connection to the trail: its file, or an empty one in memory until the first write."""

    def __init__(
        self, path: Path | None, settings: str, connection: sqlite3.Connection, stored: bool
    ) -> None:
        self._path = path
        self._settings = settings
        self._connection = connection
        self._stored = stored

    @classmethod
    def open(cls, folder: Path, settings: str) -> Self:
        path = folder / TRAIL_NAME
        connection = _connect_existing(path, settings)
        return (
            cls(path, settings, connection, stored=True)
            if connection
            else cls.create(folder, settings)
        )

    @classmethod
    def open_any(cls, folder: Path) -> Self | None:
        """The trail in a folder for any settings, for reading only; None where there is no file.

        Raises:
            BrokenTrail: it cannot be used.
            StorageProblem: the disk does not give the file.
        """
        path = folder / TRAIL_NAME
        if not path.exists():
            return None
        connection = _connect_existing(path, None)
        if connection is None:
            raise broken_trail("it is damaged, or of another version")
        return cls(path, "", connection, stored=True)

    @classmethod
    def create(cls, folder: Path, settings: str) -> Self:
        return cls(folder / TRAIL_NAME, settings, _connect_new(":memory:", settings), stored=False)

    @classmethod
    def in_memory(cls) -> Self:
        return cls(None, "", _connect_new(":memory:", ""), stored=True)

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        if self._is_writing():
            yield
            return
        if not self._stored:
            self._replace_file()
        self.run("BEGIN IMMEDIATE")
        try:
            yield
            self.run("COMMIT")
        finally:
            if self._is_writing():  # SQLite itself rolls some back
                self.run("ROLLBACK")

    def stamps(self) -> tuple[object, ...] | None:
        """The stamps of its files, which any writing changes; None where it has none."""
        if self._path is None or not self._stored:
            return None
        own, log = (files.stamp(f"{self._path}{suffix}") for suffix in ("", "-wal"))
        return own, log if log and log[2] else None

    @contextmanager
    def filling(self) -> Iterator[None]:
        """Rows added to empty tables are indexed in the end: sorted, in half the time."""
        for name in FILLED_INDICES:
            self.run(f"DROP INDEX {name}")
        yield
        for name, columns in FILLED_INDICES.items():
            self.run(f"CREATE INDEX {name} ON {columns}")

    def _is_writing(self) -> bool:
        return self._connection.in_transaction

    def _replace_file(self) -> None:
        assert self._path is not None  # a trail without a file is always stored
        connection = _replace(self._path, self._settings)
        self._connection.close()
        self._connection, self._stored = connection, True

    def all(
        self, parse: Callable[[SqlRow], Value], statement: str, /, *values: object, **named: object
    ) -> tuple[Value, ...]:
        return parse_rows(parse, self.rows(statement, *values, **named))

    def rows(self, statement: str, /, *values: object, **named: object) -> list[SqlRow]:
        """All rows. `values` fill the `?` of a statement, or `named` its `:name`; never both."""
        with _translated_errors():
            return self._connection.execute(statement, named or values).fetchall()

    def each(self, statement: str, *values: object) -> Iterator[SqlRow]:
        """Rows one by one, for a caller that may not need them all."""
        with _translated_errors():
            yield from self._connection.execute(statement, values)

    def run(self, statement: str, *values: object, **named: object) -> None:
        with _translated_errors():
            self._connection.execute(statement, named or values)

    def run_many(self, statement: str, values: Iterable[Sequence[object]]) -> int:
        """Run a statement once for each of the values: the number of rows changed."""
        if not values:
            return 0
        with _translated_errors():
            return self._connection.executemany(statement, values).rowcount


def _connect_existing(path: Path, settings: str | None) -> sqlite3.Connection | None:
    """Connect to a file of this program and version for these settings (None: for any)."""
    with suppress(OSError):
        for mode in _MODES if path.is_file() else ():
            try:
                return _connect_usable(_address(path, mode), settings)
            except (sqlite3.DatabaseError, UnicodeDecodeError) as problem:
                if _code(problem) not in _BROKEN_CODES | _NO_ACCESS_CODES:
                    raise _failure(problem) from problem
                if _code(problem) in _BROKEN_CODES or _has_log(path):
                    return None
    return None


def _address(path: Path, mode: str) -> str:
    quoted = "".join(
        chr(byte) if byte in _UNQUOTED else f"%{byte:02X}" for byte in os.fsencode(path.absolute())
    )
    return f"file://{quoted}?{mode}"


def _has_log(path: Path) -> bool:
    """True if a log next to the file holds changes without which it is not whole."""
    log = path.with_name(f"{path.name}-wal")
    return log.exists() and log.stat().st_size > 0


def _connect_usable(address: str, settings: str | None) -> sqlite3.Connection | None:
    connection = _connect(address)
    usable = False
    try:
        usable = _is_usable(connection, settings)
    finally:
        if not usable:
            connection.close()
    return connection if usable else None


def _is_usable(connection: sqlite3.Connection, settings: str | None) -> bool:
    connection.execute(_SYNCHRONOUS)
    identity = [
        connection.execute(f"PRAGMA {name}").fetchone()
        for name in ("application_id", "user_version")
    ]
    if identity != [(APPLICATION_ID,), (TRAIL_VERSION,)]:
        return False
    # Read only now: a file of another program has no such table.
    filled_for = connection.execute("SELECT settings FROM about").fetchone()
    return filled_for is not None and (settings is None or filled_for == (blob(settings),))


def discard(folder: Path) -> None:
    """Delete the trail in a folder; whoever has it open can still read it. Raises OSError."""
    for suffix in _SUFFIXES:
        (folder / (TRAIL_NAME + suffix)).unlink(missing_ok=True)


def _replace(path: Path, settings: str) -> sqlite3.Connection:
    try:
        files.make_folders(path.parent, files.PRIVATE_FOLDER)
        discard(path.parent)
        path.touch(0o600)
    except OSError as problem:
        raise StorageProblem(f"{path.name} cannot be written: {problem.strerror}") from problem
    return _connect_new(_address(path, "mode=rwc"), settings)


def _connect_new(address: str, settings: str) -> sqlite3.Connection:
    with _translated_errors():
        connection = _connect(address)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(_SYNCHRONOUS)
            connection.executescript(
                f"BEGIN IMMEDIATE; {SCHEMA} INSERT INTO about VALUES (x'{blob(settings).hex()}');"
                " COMMIT"
            )
        except BaseException:
            connection.close()
            raise
        return connection


def _connect(address: str) -> sqlite3.Connection:
    return sqlite3.connect(address, timeout=_BUSY_SECONDS, isolation_level=None, uri=True)


@contextmanager
def _translated_errors() -> Iterator[None]:
    """Translate SQLite's errors about file or disk; an error in a call stays a bug."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise
    # Its message may hold names that are damaged.
    except (sqlite3.DatabaseError, UnicodeDecodeError) as problem:
        raise _failure(problem) from problem


def _failure(problem: Exception) -> StorageProblem:
    if _code(problem) in _BROKEN_CODES:
        return broken_trail(problem)
    return StorageProblem(
        f"the table of versions could not be used: {problem}",
        "Is the disk full, or another process writing it?",
    )


def broken_trail(problem: Exception | str) -> BrokenTrail:
    return BrokenTrail(
        f"the table of versions cannot be read: {problem}",
        "Try again: it is rebuilt from the commits.",
    )


def _code(problem: Exception) -> int:
    """SQLite's primary error code; none where a value does not fit its column."""
    code: int = getattr(problem, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF


def parse_rows(parse: Callable[[SqlRow], Value], rows: Iterable[SqlRow]) -> tuple[Value, ...]:
    """The values of rows. Raises BrokenTrail where a row is not what was written."""
    try:
        return tuple([parse(row) for row in rows])
    except (ValueError, TypeError, AttributeError) as problem:  # what a damaged file holds
        raise broken_trail(problem) from problem
