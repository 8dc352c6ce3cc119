"""The file that the table is in: opened where it can be used, made anew at the first write where not, discarded."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self, TypeVar

from mdmem.errors import StorageProblem
from mdmem.trail.rows import APPLICATION_ID, SCHEMA, TRAIL_VERSION, SqlRow, blob

T = TypeVar("T")
TRAIL_NAME = "versions.db"
_BESIDE = ("", "-wal", "-shm", "-journal")
"""What SQLite appends to the name of a file for those that belong to it."""
_BUSY_SECONDS = 5.0
_WAYS = ("mode=rw", "mode=ro&immutable=1")
"""To open it: with the files beside it by which SQLite shares it, and, where these cannot be made, as a file that nobody changes."""
_PLAIN = frozenset(b"/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
"""What stands in a URI as it is (RFC 3986)."""
_SYNCHRONOUS = "PRAGMA synchronous = NORMAL"
_NOT_SOUND = frozenset(
    {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_MISMATCH}
    | {sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_SCHEMA, sqlite3.SQLITE_TOOBIG}
)
"""SQLite's codes for a file that is not what was written; a missing table is a plain error."""
_NOT_ALLOWED = frozenset({sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR})
"""Its codes where the folder or the disk is read-only, full or failing."""


class BrokenTrail(StorageProblem):
    """The file cannot be read; deleting it loses nothing."""


class Store:
    """A connection to the table: to its file, or to an empty one in memory until the first write makes that file anew."""

    def __init__(self, place: Path | None, settings: str, connection: sqlite3.Connection, stored: bool) -> None:
        self._place = place
        self._settings = settings
        self._connection = connection
        self._stored = stored

    @classmethod
    def open(cls, folder: Path, settings: str) -> Self:
        """The table in a folder, if it can be used and is for these settings; else an empty one, as `anew`."""
        place = folder / TRAIL_NAME
        found = _found(place, settings)
        return cls(place, settings, found, stored=True) if found else cls.create(folder, settings)

    @classmethod
    def open_any(cls, folder: Path) -> Self | None:
        """To be read only: the table in a folder whichever settings it is for; None where there is no file.

        Raises:
            BrokenVersions: it cannot be used.
            StorageProblem: the disk does not give the file.
        """
        place = folder / TRAIL_NAME
        if not place.exists():
            return None
        found = _found(place, None)
        if found is None:
            raise broken_trail("it is damaged, or of another version")
        return cls(place, "", found, stored=True)

    @classmethod
    def create(cls, folder: Path, settings: str) -> Self:
        """An empty table that takes the place of whatever the folder holds, at the first write."""
        return cls(folder / TRAIL_NAME, settings, _empty(":memory:", settings), stored=False)

    @classmethod
    def in_memory(cls) -> Self:
        """An empty table that is in no folder."""
        return cls(None, "", _empty(":memory:", ""), stored=True)

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """As `Versions.writing`."""
        if self._is_writing():
            yield
            return
        if not self._stored:
            self._start_anew()
        self.run("BEGIN IMMEDIATE")
        try:
            yield
            self.run("COMMIT")
        finally:
            if self._is_writing():  # SQLite itself gives some of them up
                self.run("ROLLBACK")

    def _is_writing(self) -> bool:
        return self._connection.in_transaction

    def _start_anew(self) -> None:
        assert self._place is not None  # only a table in a folder can be missing
        connection = _replaced(self._place, self._settings)
        self._connection.close()
        self._connection, self._stored = connection, True

    def all(self, parse: Callable[[SqlRow], T], asked: str, /, *values: object, **named: object) -> tuple[T, ...]:
        """Values, one a row."""
        return parsed(parse, self.rows(asked, *values, **named))

    def rows(self, asked: str, /, *values: object, **named: object) -> list[SqlRow]:
        """All rows at once. `values` fill the `?` of a statement in their order, `named` its `:name`; never both."""
        with _failing():
            return self._connection.execute(asked, named or values).fetchall()

    def each(self, asked: str, *values: object) -> Iterator[SqlRow]:
        """Rows one by one, for a caller that may not want them all."""
        with _failing():
            yield from self._connection.execute(asked, values)

    def run(self, asked: str, *values: object) -> None:
        """Carry out what gives no rows."""
        with _failing():
            self._connection.execute(asked, values)

    def run_many(self, asked: str, values: Iterable[Sequence[object]]) -> int:
        """Carry it out with each of the values, none of them if there are none: the number of rows changed."""
        if not values:
            return 0
        with _failing():
            return self._connection.executemany(asked, values).rowcount


def _found(place: Path, settings: str | None) -> sqlite3.Connection | None:
    """The file, if it is one of ours, of this version and with these settings (None: with any)."""
    with suppress(OSError):
        for how in _WAYS if place.is_file() else ():
            try:
                return _opened(_address(place, how), settings)
            except (sqlite3.DatabaseError, UnicodeDecodeError) as problem:
                if _code(problem) not in _NOT_SOUND | _NOT_ALLOWED:
                    raise _failure(problem) from problem
                if _code(problem) in _NOT_SOUND or _has_log(place):
                    return None
    return None


def _address(place: Path, how: str) -> str:
    """A file as SQLite takes it with a way to open it: a URI."""
    path = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in os.fsencode(place.absolute()))
    return f"file://{path}?{how}"


def _has_log(place: Path) -> bool:
    """Whether changes lie beside the file, without which it is not whole."""
    log = place.with_name(f"{place.name}-wal")
    return log.exists() and log.stat().st_size > 0


def _opened(address: str, settings: str | None) -> sqlite3.Connection | None:
    """A connection to a table that can be used; None for any other."""
    connection = _connection(address)
    usable = False
    try:
        usable = _is_usable(connection, settings)
    finally:
        if not usable:
            connection.close()
    return connection if usable else None


def _is_usable(connection: sqlite3.Connection, settings: str | None) -> bool:
    connection.execute(_SYNCHRONOUS)
    found = [connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")]
    if found != [(APPLICATION_ID,), (TRAIL_VERSION,)]:
        return False
    # Only where the table is ours does it say for which settings it was filled.
    filled_for = connection.execute("SELECT settings FROM about").fetchone()
    return filled_for is not None and (settings is None or filled_for == (blob(settings),))


def discard(folder: Path) -> None:
    """Delete the table in a folder; whoever has it open goes on reading it.

    Raises:
        OSError: the folder cannot be written.
    """
    for suffix in _BESIDE:
        (folder / (TRAIL_NAME + suffix)).unlink(missing_ok=True)


def _replaced(place: Path, settings: str) -> sqlite3.Connection:
    """An empty table in the place of whatever is there."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        discard(place.parent)
    except OSError as problem:
        raise StorageProblem(f"{place.name} cannot be written: {problem.strerror}") from problem
    return _empty(_address(place, "mode=rwc"), settings)


def _empty(address: str, settings: str) -> sqlite3.Connection:
    """A connection to a new table."""
    with _failing():
        connection = _connection(address)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(_SYNCHRONOUS)
            connection.executescript(f"BEGIN IMMEDIATE; {SCHEMA} INSERT INTO about VALUES (x'{blob(settings).hex()}'); COMMIT")
        except BaseException:
            connection.close()
            raise
        return connection


def _connection(address: str) -> sqlite3.Connection:
    return sqlite3.connect(address, timeout=_BUSY_SECONDS, isolation_level=None, uri=True)


@contextmanager
def _failing() -> Iterator[None]:
    """Turns what SQLite says of the file or the disk into our own words; a wrong call stays a bug."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise
    except (sqlite3.DatabaseError, UnicodeDecodeError) as problem:  # its message may hold names that are damaged
        raise _failure(problem) from problem


def _failure(problem: Exception) -> StorageProblem:
    if _code(problem) in _NOT_SOUND:
        return broken_trail(problem)
    return StorageProblem(f"the table of versions could not be used: {problem}", "Is the disk full, or another process writing it?")


def broken_trail(problem: Exception | str) -> BrokenTrail:
    """What to raise where the table does not hold what was written."""
    return BrokenTrail(f"the table of versions cannot be read: {problem}", "Try again: it is built anew from the commits.")


def _code(problem: Exception) -> int:
    """SQLite's primary code; the module itself raises without one where a value is not what its column says."""
    code: int = getattr(problem, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF


def parsed(parse: Callable[[SqlRow], T], rows: Iterable[SqlRow]) -> tuple[T, ...]:
    """The values of rows.

    Raises:
        BrokenVersions: a row holds what cannot be one.
    """
    try:
        return tuple([parse(row) for row in rows])
    except (ValueError, TypeError, AttributeError) as problem:  # what a damaged file holds
        raise broken_trail(problem) from problem
