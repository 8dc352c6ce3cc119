"""The table of versions: what each commit made of the entries and sections of memory, kept in SQLite in the state folder.

It is a cache, filled from the commits: a file that is damaged, foreign or of another version counts as empty and is replaced at the
first write. Each reading call costs what it returns, whatever the table holds, except `containing`.

Paths and texts are stored as UTF-8 bytes, lone surrogates included, and several words in one column as JSON. Of the revisions of a
lineage only the newest is stored whole; an older one is what differs from the next (its first `head` and last `tail` bytes are the
next one's), so that a long section that changes often costs what changes. Row numbers grow with time and are never used twice, except
those of rows that were cut away.
"""

import contextlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from functools import lru_cache
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from mdmem.errors import StorageProblem
from mdmem.model import (
    CommitId,
    Entry,
    FactId,
    Fate,
    FilePath,
    Landmark,
    Mark,
    MarkKind,
    Occurrence,
    Origin,
    Revision,
    Source,
)
from mdmem.records import dataclass, replace

T = TypeVar("T")
Row = tuple[Any, ...]

VERSIONS_NAME = "versions.db"
VERSION = 1
"""Of the table; a file of another version counts as empty."""
_APPLICATION = 0x6D646D76
"""Tells the file from other programs' (`PRAGMA application_id`)."""
_BESIDE = ("", "-wal", "-shm", "-journal")
"""What SQLite appends to the name of a file for those that belong to it."""
_BUSY_SECONDS = 5.0
_WAYS = ("mode=rw", "mode=ro&immutable=1")
"""To open it: with the files beside it by which SQLite shares it, and, where these cannot be made, as a file that nobody changes."""
_SYNCHRONOUS = "PRAGMA synchronous = NORMAL"
_CHUNK = 4096
_NOT_SOUND = frozenset(
    {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_MISMATCH}
    | {sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_SCHEMA, sqlite3.SQLITE_TOOBIG}
)
"""SQLite's codes for a file that is not what was written; a missing table is a plain error."""
_NOT_ALLOWED = frozenset({sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR})
"""Its codes where the folder or the disk is read-only, full or failing."""

# `reached` is the latest time up to a landmark. A landmark that is older than that is late, and those are few: this is what makes
# `latest` quick without a row ever changing. `added` is the landmark that brought a mark in: one that went along with a moved
# occurrence has an older `begun`.
_SCHEMA = f"""
CREATE TABLE about (settings BLOB);
CREATE TABLE landmarks (number INTEGER PRIMARY KEY, id BLOB, time INTEGER, author BLOB, message BLOB, reached INTEGER);
CREATE INDEX landmarks_id ON landmarks (id);
CREATE INDEX landmarks_reached ON landmarks (reached);
CREATE INDEX landmarks_late ON landmarks (number, time) WHERE time < reached;
CREATE TABLE touched (landmark INTEGER, path BLOB, PRIMARY KEY (landmark, path)) WITHOUT ROWID;
CREATE TABLE occurrences (
    number INTEGER PRIMARY KEY, begun INTEGER,
    path BLOB, start_line INTEGER, end_line INTEGER, section BLOB, day TEXT, text BLOB, kind BLOB, key BLOB, tags BLOB, until TEXT,
    fact BLOB, first_line BLOB,
    origin BLOB, origin_time INTEGER, source TEXT, confidence REAL, also INTEGER,
    ended INTEGER, fate TEXT, successor BLOB, last_start INTEGER, last_end INTEGER, last_tags BLOB, last_until TEXT
);
CREATE INDEX occurrences_standing ON occurrences (path) WHERE ended IS NULL;
CREATE INDEX occurrences_ended ON occurrences (ended) WHERE ended IS NOT NULL;
CREATE INDEX occurrences_fact ON occurrences (fact) WHERE fact IS NOT NULL;
CREATE INDEX occurrences_successor ON occurrences (successor) WHERE successor IS NOT NULL;
CREATE TABLE revisions (
    number INTEGER PRIMARY KEY, lineage INTEGER, begun INTEGER, path BLOB, section BLOB, nth INTEGER, quiet INTEGER, ended INTEGER,
    next INTEGER, head INTEGER, tail INTEGER, text BLOB
);
CREATE INDEX revisions_standing ON revisions (path) WHERE ended IS NULL;
CREATE INDEX revisions_ended ON revisions (ended) WHERE ended IS NOT NULL;
CREATE INDEX revisions_lineage ON revisions (lineage);
CREATE INDEX revisions_newest ON revisions (lineage) WHERE next IS NULL;
CREATE INDEX revisions_path ON revisions (path, lineage);
CREATE TABLE marks (
    number INTEGER PRIMARY KEY, kind TEXT, begun INTEGER, one BLOB, other BLOB, occurrence INTEGER, ended INTEGER,
    added INTEGER, path BLOB
);
CREATE INDEX marks_kind ON marks (kind) WHERE ended IS NULL;
CREATE INDEX marks_begun ON marks (begun) WHERE ended IS NULL;
CREATE INDEX marks_path ON marks (path) WHERE ended IS NULL;
CREATE INDEX marks_occurrence ON marks (occurrence) WHERE ended IS NULL;
CREATE INDEX marks_other ON marks (other) WHERE ended IS NULL;
CREATE INDEX marks_added ON marks (added);
CREATE INDEX marks_ended ON marks (ended) WHERE ended IS NOT NULL;
CREATE TABLE dropped (row INTEGER PRIMARY KEY, id BLOB, number INTEGER, paths BLOB);
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {VERSION};
"""
_LANDMARKS = "SELECT number, id, time, author, message FROM landmarks"
_OCCURRENCES = "SELECT *, (SELECT id FROM landmarks WHERE landmarks.number = occurrences.ended - 1) FROM occurrences"
_REVISIONS = "SELECT * FROM revisions"
_MARKS = "SELECT kind, begun, one, other, occurrence, ended FROM marks"
_PAIRS = f"kind IN ('{MarkKind.CONTRADICTS}', '{MarkKind.RESOLVED}')"


class BrokenVersions(StorageProblem):
    """The file cannot be read; deleting it loses nothing."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of an occurrence, named by its row. `entry` has the lines (tags, date) of the last commit that held it."""

    number: int
    entry: Entry
    fate: Fate
    successor: FactId | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """What one landmark did.

    `gone` are rows of revisions that ended; a begun revision with the lineage 0 begins its own. A mark on an occurrence that begins
    in this very step has, for its row, the negative of its place in `begun`, counted from 1. `cleared` are numbers of landmarks whose
    marks end here. `paths` are the memory files touched.
    """

    ended: tuple[Ending, ...] = ()
    begun: tuple[Occurrence, ...] = ()
    gone: tuple[int, ...] = ()
    revisions: tuple[Revision, ...] = ()
    marks: tuple[Mark, ...] = ()
    cleared: tuple[int, ...] = ()
    paths: tuple[FilePath, ...] = ()


class Versions:
    """Landmarks, occurrences, revisions and marks.

    Whoever is going to write opens it while holding the trail's lock: what replaces the file meanwhile is not seen by this object.
    """

    def __init__(self, place: Path | None, settings: str, connection: sqlite3.Connection, stored: bool) -> None:
        self._place = place
        self._settings = settings
        self._connection = connection
        self._stored = stored

    @classmethod
    def open(cls, folder: Path, settings: str) -> Self:
        """The table in a folder, empty where there is none that can be used, or where `settings` (a digest) are not those of the file.

        Nothing is made or deleted on disk before the first write.

        Raises:
            StorageProblem: the disk does not give the file.
        """
        place = folder / VERSIONS_NAME
        found = _found(place, settings)
        return cls(place, settings, found, stored=True) if found else cls.anew(folder, settings)

    @classmethod
    def anew(cls, folder: Path, settings: str) -> Self:
        """An empty table that takes the place of whatever the folder holds, at the first write."""
        return cls(folder / VERSIONS_NAME, settings, _empty(":memory:", settings), stored=False)

    @classmethod
    def in_memory(cls) -> Self:
        """An empty table that leaves nothing behind."""
        return cls(None, "", _empty(":memory:", ""), stored=True)

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # Writing.

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction: what fails in it leaves all as it was. One inside another is part of it.

        Raises:
            StorageProblem: the disk does not take it, or another process is writing.
        """
        if self._is_writing():
            yield
            return
        if not self._stored:
            self._start_anew()
        self._run("BEGIN IMMEDIATE")
        try:
            yield
            self._run("COMMIT")
        finally:
            if self._is_writing():  # SQLite itself gives some of them up
                self._run("ROLLBACK")

    def _is_writing(self) -> bool:
        return self._connection.in_transaction

    def _start_anew(self) -> None:
        assert self._place is not None  # only a table in a folder can be missing
        connection = _replaced(self._place, self._settings)
        self._connection.close()
        self._connection, self._stored = connection, True

    def append(self, landmark: Landmark, step: Step) -> None:
        """Add the next landmark and what it did.

        Raises:
            ValueError: it is not the next one, or begins what belongs to another one.
            BrokenVersions: the step goes on from what the table does not hold.
            StorageProblem: as `writing`.
        """
        with self.writing():
            number = self._add_landmark(landmark)
            self._run_many("INSERT OR IGNORE INTO touched VALUES (?, ?)", ((number, _blob(path)) for path in step.paths))
            self._end(number, step.ended)
            self._run_many("UPDATE marks SET ended = ? WHERE begun = ? AND ended IS NULL", ((number, one) for one in step.cleared))
            first = self._begin(number, step.begun)
            self._revise(number, step.gone, step.revisions)
            self._mark(number, step.marks, first, step.begun)

    def _add_landmark(self, landmark: Landmark) -> int:
        before = self._rows("SELECT number, reached FROM landmarks ORDER BY number DESC LIMIT 1")
        last, reached = before[0] if before else (0, landmark.time)
        if landmark.number != last + 1:
            raise ValueError(f"landmark {landmark.number} does not follow {last}")
        texts = (_blob(landmark.commit), landmark.time, _blob(landmark.author), _blob(landmark.message))
        self._run("INSERT INTO landmarks VALUES (?, ?, ?, ?, ?, ?)", landmark.number, *texts, max(reached, landmark.time))
        return landmark.number

    def _end(self, landmark: int, ended: Sequence[Ending]) -> None:
        changed = self._run_many(
            "UPDATE occurrences SET ended = ?, fate = ?, successor = ?, last_start = ?, last_end = ?, last_tags = ?, last_until = ?"
            " WHERE number = ? AND ended IS NULL",
            ((landmark, *_end_columns(one), one.number) for one in ended),
        )
        if changed != len(ended):
            raise _broken(f"landmark {landmark} ends an occurrence that does not stand")

    def _begin(self, landmark: int, begun: Sequence[Occurrence]) -> int:
        """Add occurrences; the row of the first."""
        if any(one.begun != landmark for one in begun):
            raise ValueError(f"landmark {landmark} begins an occurrence of another one")
        first = self._next("occurrences")
        self._run_many(
            f"INSERT INTO occurrences VALUES ({', '.join('?' * 19)}{', NULL' * 7})",
            ((first + place, landmark, *_columns(one)) for place, one in enumerate(begun)),
        )
        return first

    def _revise(self, landmark: int, gone: Sequence[int], begun: Sequence[Revision]) -> None:
        if any(one.begun != landmark for one in begun):
            raise ValueError(f"landmark {landmark} begins a revision of another one")
        changed = self._run_many("UPDATE revisions SET ended = ? WHERE number = ? AND ended IS NULL", ((landmark, one) for one in gone))
        if changed != len(gone):
            raise _broken(f"landmark {landmark} ends a revision that does not stand")
        for number, one in enumerate(begun, self._next("revisions")):
            text = _blob(one.text)
            if one.lineage:
                self._shorten(one.lineage, number, text)
            self._run(
                "INSERT INTO revisions VALUES (?, ?, ?, ?, ?, ?, ?, NULL, NULL, 0, 0, ?)",
                *(number, one.lineage or number, landmark, _blob(one.path), _joined(one.section), one.nth, one.quiet, text),
            )

    def _shorten(self, lineage: int, number: int, text: bytes) -> None:
        """Keep of the newest revision of a lineage only what differs from the one that now comes, `number`."""
        newest = self._rows("SELECT number, text FROM revisions WHERE lineage = ? AND next IS NULL", lineage)
        if len(newest) != 1:
            raise _broken(f"there is no lineage {lineage}")
        ((older, whole),) = newest
        head, tail = _shared(whole, text)
        middle = whole[head : len(whole) - tail]
        self._run("UPDATE revisions SET next = ?, head = ?, tail = ?, text = ? WHERE number = ?", number, head, tail, middle, older)

    def _mark(self, landmark: int, marks: Sequence[Mark], first: int, begun: Sequence[Occurrence]) -> None:
        for one in marks:
            row, path = one.occurrence, None
            if row < 0:
                path = _blob(begun[-row - 1].entry.path)
                row = first - row - 1
            elif row:
                ((path,),) = self._rows("SELECT path FROM occurrences WHERE number = ?", row) or [(None,)]
            if row and path is None:
                raise _broken(f"landmark {landmark} marks an occurrence that is not there")
            self._run(
                "INSERT INTO marks VALUES (NULL, ?, ?, ?, ?, ?, NULL, ?, ?)",
                *(one.kind.value, one.begun, _blob(one.one), _maybe(one.other), row, landmark, path),
            )

    def cut(self, number: int) -> None:
        """Go back to landmark `number` (0: to nothing). What is dropped is remembered until `forget_dropped`."""
        with self.writing():
            for landmark in self.landmarks(number):
                paths = sorted(self._paths(landmark.number, landmark.number))
                values = (_blob(landmark.commit), landmark.number, _joined(paths))
                self._run("INSERT INTO dropped VALUES (NULL, ?, ?, ?)", *values)
            self._cut_revisions(number)
            self._run("DELETE FROM occurrences WHERE number > ?", self._last("occurrences", "begun", number))
            self._run(
                "UPDATE occurrences SET ended = NULL, fate = NULL, successor = NULL,"
                " last_start = NULL, last_end = NULL, last_tags = NULL, last_until = NULL WHERE ended > ?",
                number,
            )
            self._run("DELETE FROM marks WHERE added > ?", number)
            self._run("UPDATE marks SET ended = NULL WHERE ended > ?", number)
            self._run("DELETE FROM touched WHERE landmark > ?", number)
            self._run("DELETE FROM landmarks WHERE number > ?", number)

    def _cut_revisions(self, landmark: int) -> None:
        last = self._last("revisions", "begun", landmark)
        for (lineage,) in set(self._rows("SELECT lineage FROM revisions WHERE number > ?", last)):
            for row in islice((row for row in self._lineage(lineage) if row[0] <= last), 1):
                self._run("UPDATE revisions SET next = NULL, head = 0, tail = 0, text = ? WHERE number = ?", row[-1], row[0])
        self._run("DELETE FROM revisions WHERE number > ?", last)
        self._run("UPDATE revisions SET ended = NULL WHERE ended > ?", landmark)

    def _next(self, table: str) -> int:
        ((number,),) = self._rows(f"SELECT coalesce(max(number), 0) + 1 FROM {table}")
        return int(number)

    def _last(self, table: str, column: str, landmark: int) -> int:
        """The last row that a landmark up to this one made; met from the end, where the newer rows are."""
        found = self._rows(f"SELECT number FROM {table} WHERE {column} <= ? ORDER BY number DESC LIMIT 1", landmark)
        return int(found[0][0]) if found else 0

    # Landmarks.

    @property
    def head(self) -> Landmark | None:
        """The newest landmark."""
        return self._one_landmark(f"{_LANDMARKS} ORDER BY number DESC LIMIT 1")

    def landmark(self, number: int) -> Landmark | None:
        """The landmark of a number."""
        return self._one_landmark(f"{_LANDMARKS} WHERE number = ?", number)

    def landmark_of(self, commit: CommitId) -> Landmark | None:
        """The landmark that is this commit."""
        return self._one_landmark(f"{_LANDMARKS} WHERE id = ?", _blob(commit))

    def latest(self, time: int) -> Landmark | None:
        """The landmark with the highest number whose author time is not after `time`."""
        found = self._rows("SELECT number FROM landmarks WHERE reached <= ? ORDER BY reached DESC, number DESC LIMIT 1", time)
        number = found[0][0] if found else 0
        late = self._rows(
            "SELECT number FROM landmarks WHERE time < reached AND time <= ? AND number > ? ORDER BY number DESC LIMIT 1", time, number
        )
        return self.landmark(late[0][0] if late else number)

    def landmarks(self, above: int = 0, limit: int | None = None) -> tuple[Landmark, ...]:
        """The landmarks after number `above`, oldest first."""
        return self._all(_landmark, f"{_LANDMARKS} WHERE number > ? ORDER BY number LIMIT ?", above, -1 if limit is None else limit)

    def _one_landmark(self, asked: str, *values: object) -> Landmark | None:
        return next(iter(self._all(_landmark, asked, *values)), None)

    # Occurrences.

    def standing(self, path: FilePath) -> tuple[Occurrence, ...]:
        """The occurrences in a file that have not ended, in the order in which they began."""
        return self._all(_occurrence, f"{_OCCURRENCES} WHERE path = ? AND ended IS NULL ORDER BY number", _blob(path))

    def having(self, fact: FactId) -> tuple[Occurrence, ...]:
        """Every occurrence of a fact, standing or not, oldest first."""
        return self._all(_occurrence, f"{_OCCURRENCES} WHERE fact = ? ORDER BY number", _blob(fact))

    def facts(self) -> tuple[Occurrence, ...]:
        """Every occurrence that is a fact, standing or not, the newest first. All of them are read."""
        return self._all(_occurrence, f"{_OCCURRENCES} WHERE fact IS NOT NULL ORDER BY number DESC")

    def with_prefix(self, prefix: str) -> tuple[FactId, ...]:
        """The ids that begin so, in their order."""
        asked = "SELECT DISTINCT fact FROM occurrences WHERE fact >= ? AND fact < ? ORDER BY fact"
        return self._all(lambda row: FactId(_text(row[0])), asked, _blob(prefix), _blob(prefix) + b"\xff")

    def ended(self, above: int, upto: int) -> tuple[Occurrence, ...]:
        """The occurrences that ended after landmark `above` and not after landmark `upto`, in the order in which they ended."""
        return self._all(_occurrence, f"{_OCCURRENCES} WHERE ended > ? AND ended <= ? ORDER BY ended, number", above, upto)

    def succeeded_by(self, fact: FactId) -> tuple[Occurrence, ...]:
        """The occurrences whose place a fact took, by ending them or by a mark that is in force; oldest first."""
        asked = (
            f"{_OCCURRENCES} WHERE number IN (SELECT number FROM occurrences WHERE successor = ?"
            f" UNION SELECT occurrence FROM marks WHERE other = ? AND kind = '{MarkKind.SUPERSEDED}' AND ended IS NULL) ORDER BY number"
        )
        return self._all(_occurrence, asked, _blob(fact), _blob(fact))

    # Marks.

    def marks(self, path: FilePath | None = None) -> tuple[Mark, ...]:
        """The marks in force, oldest first; with a path those on occurrences that stand in that file."""
        if path is None:
            return self._all(_mark, f"{_MARKS} WHERE ended IS NULL ORDER BY number")
        asked = (
            f"{_MARKS} WHERE path = ? AND ended IS NULL"
            " AND (SELECT ended FROM occurrences WHERE number = occurrence) IS NULL ORDER BY number"
        )
        return self._all(_mark, asked, _blob(path))

    def marks_of(self, number: int) -> tuple[Mark, ...]:
        """The marks in force on the occurrence with this row."""
        return self._all(_mark, f"{_MARKS} WHERE occurrence = ? AND ended IS NULL ORDER BY number", number)

    def pairs(self) -> tuple[Mark, ...]:
        """The marks in force that are of two facts, oldest first."""
        return self._all(_mark, f"{_MARKS} WHERE {_PAIRS} AND ended IS NULL ORDER BY number")

    # Revisions.

    def sections(self, path: FilePath) -> tuple[Revision, ...]:
        """The revisions in a file that have not ended, in the order in which they began."""
        rows = self._rows(f"{_REVISIONS} WHERE path = ? AND ended IS NULL ORDER BY number", _blob(path))
        return _parsed(_revision, map(self._whole, rows))

    def revisions(self, lineage: int, limit: int | None = None, quiet: bool = False) -> tuple[Revision, ...]:
        """The revisions of one section, newest first; `quiet` ones only where they are asked for."""
        wanted = (row for row in self._lineage(lineage) if quiet or not row[6])
        return _parsed(_revision, islice(wanted, limit))

    def lineages(self, path: FilePath | None = None) -> tuple[Revision, ...]:
        """The newest revision of each section, ended or not; with a path of those that ever were in that file."""
        if path is None:
            return self._all(_revision, f"{_REVISIONS} WHERE next IS NULL ORDER BY lineage")
        # From one lineage of the file to the next, so that the number of its revisions does not matter.
        asked = f"""
            WITH RECURSIVE found (lineage) AS (
                SELECT min(lineage) FROM revisions WHERE path = ?1
                UNION ALL
                SELECT (SELECT min(lineage) FROM revisions WHERE path = ?1 AND lineage > found.lineage) FROM found WHERE lineage IS NOT NULL
            )
            {_REVISIONS} WHERE next IS NULL AND lineage IN (SELECT lineage FROM found WHERE lineage IS NOT NULL) ORDER BY lineage"""
        return self._all(_revision, asked, _blob(path))

    def changes(self, path: FilePath | None, limit: int) -> tuple[tuple[Landmark, Revision | None, Revision | None], ...]:
        """The newest changes of sections, newest first: the landmark, the revision before and the one after (None: there was none).

        With a path those of what is or was in that file, under the names that it had before too.
        """
        rows = self._rows(
            """
            SELECT number, lineage, begun AS landmark, 0 FROM revisions AS one WHERE NOT quiet AND (?1 IS NULL OR path = ?1 OR EXISTS (
                SELECT 1 FROM revisions AS later WHERE later.path = ?1 AND later.lineage = one.lineage AND later.number > one.number))
            UNION ALL
            SELECT number, lineage, ended, 1 FROM revisions WHERE next IS NULL AND ended IS NOT NULL AND (?1 IS NULL OR path = ?1)
            ORDER BY landmark DESC, number DESC LIMIT ?2""",
            None if path is None else _blob(path),
            limit,
        )
        found = []
        for number, lineage, at, ended in rows:
            landmark = self.landmark(at)
            older = (row for row in self._lineage(lineage) if row[0] <= number and (row[0] == number or not row[6]))
            now, before = (*_parsed(_revision, islice(older, 2)), None)[:2]
            if landmark is not None:
                found.append((landmark, now, None) if ended else (landmark, before, now))
        return tuple(found)

    def containing(self, text: str) -> tuple[Revision, ...]:
        """The revisions that hold a text as it is written, oldest first. Every revision is read."""
        wanted = _blob(text)
        lineages = [lineage for (lineage,) in self._rows("SELECT lineage FROM revisions WHERE next IS NULL")]
        rows = [row for lineage in lineages for row in self._lineage(lineage) if wanted in row[-1]]
        return _parsed(_revision, sorted(rows, key=lambda row: int(row[0])))

    def _lineage(self, lineage: int) -> Iterator[Row]:
        """The rows of a lineage with their whole texts, newest first."""
        newer, text = None, b""
        for row in self._each(f"{_REVISIONS} WHERE lineage = ? ORDER BY number DESC", lineage):
            text = _told(row, newer, text)
            newer = row[0]
            yield (*row[:-1], text)

    def _whole(self, row: Row) -> Row:
        """A row with its whole text; every revision that stands is the newest of its lineage, unless sections were joined."""
        return row if row[8] is None else next(one for one in self._lineage(row[1]) if one[0] == row[0])

    # What the index has to catch up with.

    def paths_since(self, number: int) -> set[FilePath]:
        """The files that landmarks after `number` touched, and those where a mark that they set or took back changes something.

        What is marked as a contradiction changes with what the other of the two becomes.
        """
        return self._paths(number + 1, 2**62)

    def _paths(self, first: int, last: int) -> set[FilePath]:
        marks = "SELECT one, other, path FROM marks WHERE added BETWEEN ?1 AND ?2 OR ended BETWEEN ?1 AND ?2"
        asked = f"""
            SELECT path FROM touched WHERE landmark BETWEEN ?1 AND ?2
            UNION SELECT path FROM ({marks}) WHERE path IS NOT NULL
            UNION SELECT path FROM occurrences WHERE ended IS NULL AND fact IN (
                SELECT one FROM ({marks}) WHERE path IS NULL UNION SELECT other FROM ({marks}) WHERE path IS NULL)
            UNION SELECT path FROM occurrences WHERE ended IS NULL AND fact IN (
                SELECT of FROM (
                    SELECT one AS changed, other AS of FROM marks WHERE {_PAIRS} AND ended IS NULL
                    UNION SELECT other, one FROM marks WHERE {_PAIRS} AND ended IS NULL)
                WHERE EXISTS (
                    SELECT 1 FROM occurrences AS its WHERE its.fact = changed AND (
                        its.begun BETWEEN ?1 AND ?2 OR its.ended BETWEEN ?1 AND ?2 OR EXISTS (
                            SELECT 1 FROM marks WHERE occurrence = its.number AND (added BETWEEN ?1 AND ?2 OR ended BETWEEN ?1 AND ?2)))))"""
        return set(self._all(lambda row: FilePath(_text(row[0])), asked, first, last))

    def dropped(self) -> tuple[tuple[CommitId, int, tuple[FilePath, ...]], ...]:
        """The landmarks that were cut away: commit, number and the files that it changed something in."""
        return self._all(_dropped, "SELECT id, number, paths FROM dropped ORDER BY row")

    def forget_dropped(self) -> None:
        """Say that what was cut away is settled."""
        with self.writing():
            self._run("DELETE FROM dropped")

    def verify(self) -> int:
        """Read all of it, a row at a time: the number of its landmarks.

        Raises:
            BrokenVersions: something in it is not what was written.
        """
        ((said,),) = self._rows("PRAGMA integrity_check(1)")
        if said != "ok":
            raise _broken(" ".join(said.split()))
        kinds: tuple[tuple[Callable[[Row], object], str], ...] = (
            (_landmark, _LANDMARKS),
            (_occurrence, _OCCURRENCES),
            (_mark, _MARKS),
            (lambda row: _text(row[0]), "SELECT path FROM touched"),
        )
        for parse, asked in kinds:
            for row in self._each(asked):
                _parsed(parse, [row])
        for (lineage,) in self._rows("SELECT DISTINCT lineage FROM revisions"):
            for row in self._lineage(lineage):
                _parsed(_revision, [row])
        self.dropped()
        return self.head.number if self.head else 0

    def dump(self) -> tuple[tuple[object, ...], ...]:
        """All that the table says, as a value to be compared; rows are numbered by their order."""
        occurrences = self._all(_occurrence, f"{_OCCURRENCES} ORDER BY number")
        revisions = self.containing("")
        place = {one.number: rank for rank, one in enumerate(occurrences, 1)}
        first = {one.number: rank for rank, one in enumerate(revisions, 1)}
        marks = self._all(_mark, f"{_MARKS} ORDER BY number")
        return (
            self.landmarks(),
            tuple(replace(one, number=place[one.number]) for one in occurrences),
            tuple(replace(one, number=first[one.number], lineage=first[one.lineage]) for one in revisions),
            tuple(replace(one, occurrence=place.get(one.occurrence, 0)) for one in marks),
            self._all(tuple, "SELECT added, path FROM marks ORDER BY number"),
            self._all(tuple, "SELECT landmark, path FROM touched ORDER BY landmark, path"),
        )

    # SQLite.

    def _all(self, parse: Callable[[Row], T], asked: str, *values: object) -> tuple[T, ...]:
        return _parsed(parse, self._rows(asked, *values))

    def _rows(self, asked: str, *values: object) -> list[Row]:
        with _failing():
            return self._connection.execute(asked, values).fetchall()

    def _each(self, asked: str, *values: object) -> Iterator[Row]:
        """Rows one by one, for a caller that may not want them all."""
        with _failing():
            yield from self._connection.execute(asked, values)

    def _run(self, asked: str, *values: object) -> None:
        with _failing():
            self._connection.execute(asked, values)

    def _run_many(self, asked: str, values: Iterable[Sequence[object]]) -> int:
        """The number of rows changed."""
        with _failing():
            return self._connection.executemany(asked, values).rowcount


def _found(place: Path, settings: str | None) -> sqlite3.Connection | None:
    """The file, if it is one of ours, of this version and with these settings (None: with any)."""
    with contextlib.suppress(OSError):
        for how in _WAYS if place.is_file() else ():
            try:
                return _opened(f"{place.absolute().as_uri()}?{how}", settings)
            except (sqlite3.DatabaseError, UnicodeDecodeError) as problem:
                if _code(problem) not in _NOT_SOUND | _NOT_ALLOWED:
                    raise _failure(problem) from problem
                if _code(problem) in _NOT_SOUND or _has_log(place):
                    return None
    return None


def _has_log(place: Path) -> bool:
    """Whether changes lie beside the file, without which it is not whole."""
    log = place.with_name(f"{place.name}-wal")
    return log.exists() and log.stat().st_size > 0


def _opened(address: str, settings: str | None) -> sqlite3.Connection | None:
    """A connection to a table that can be used; None for any other."""
    with contextlib.ExitStack() as stack:
        connection = stack.enter_context(contextlib.closing(_connection(address)))
        if not _is_usable(connection, settings):
            return None
        stack.pop_all()
        return connection


def _is_usable(connection: sqlite3.Connection, settings: str | None) -> bool:
    connection.execute(_SYNCHRONOUS)
    found = [connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")]
    if found != [(_APPLICATION,), (VERSION,)]:
        return False
    # Only where the table is ours does it say for which settings it was filled.
    filled_for = connection.execute("SELECT settings FROM about").fetchone()
    return filled_for is not None and (settings is None or filled_for == (_blob(settings),))


def verify(folder: Path) -> int | None:
    """Read all of the table in a folder, whichever settings it is for: the number of its landmarks; None where there is no table.

    Raises:
        BrokenVersions: it cannot be used, or what it holds is not what was written.
        StorageProblem: the disk does not give the file.
    """
    place = folder / VERSIONS_NAME
    if not place.exists():
        return None
    found = _found(place, None)
    if found is None:
        raise _broken("it is damaged, or of another version")
    with Versions(place, "", found, stored=True) as known:
        return known.verify()


def discard(folder: Path) -> None:
    """Delete the table in a folder; whoever has it open goes on reading it.

    Raises:
        OSError: the folder cannot be written.
    """
    for suffix in _BESIDE:
        (folder / (VERSIONS_NAME + suffix)).unlink(missing_ok=True)


def _replaced(place: Path, settings: str) -> sqlite3.Connection:
    """An empty table in the place of whatever is there."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        discard(place.parent)
    except OSError as problem:
        raise StorageProblem(f"{place.name} cannot be written: {problem.strerror}") from problem
    return _empty(f"{place.absolute().as_uri()}?mode=rwc", settings)


def _empty(address: str, settings: str) -> sqlite3.Connection:
    """A connection to a new table."""
    with _failing():
        connection = _connection(address)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(_SYNCHRONOUS)
            connection.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} INSERT INTO about VALUES (x'{_blob(settings).hex()}'); COMMIT")
        except sqlite3.Error:
            connection.close()
            raise
        return connection


def _connection(address: str) -> sqlite3.Connection:
    return sqlite3.connect(address, timeout=_BUSY_SECONDS, isolation_level=None, uri=True)


@contextlib.contextmanager
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
        return _broken(problem)
    return StorageProblem(f"the table of versions could not be used: {problem}", "Is the disk full, or another process writing it?")


def _broken(problem: Exception | str) -> BrokenVersions:
    return BrokenVersions(f"the table of versions cannot be read: {problem}", "Try again: it is built anew from the commits.")


def _code(problem: Exception) -> int:
    """SQLite's primary code; the module itself raises without one where a value is not what its column says."""
    code: int = getattr(problem, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF


# Values and columns.


def _blob(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _maybe(text: str | None) -> bytes | None:
    return None if text is None else _blob(text)


def _maybe_text(data: bytes | None) -> str | None:
    return None if data is None else _text(data)


_as_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _joined(words: Sequence[str]) -> bytes:
    return _blob(_as_json(list(words)))


@lru_cache(4096)
def _words(data: bytes) -> tuple[str, ...]:
    return tuple(json.loads(_text(data)))


def _day(day: date | None) -> str | None:
    return None if day is None else day.isoformat()


@lru_cache(4096)
def _date(text: str | None) -> date | None:
    return None if text is None else date.fromisoformat(text)


def _columns(one: Occurrence) -> Row:
    entry, origin = one.entry, one.origin
    return (
        *(_blob(entry.path), entry.start_line, entry.end_line, _joined(entry.section), _day(entry.day), _blob(entry.text)),
        *(_maybe(entry.kind), _maybe(entry.key), _joined(entry.tags), _day(entry.until), _maybe(entry.fact), _blob(entry.first_line)),
        *(_blob(origin.commit), origin.time, origin.source.value, origin.confidence, one.also),
    )


def _end_columns(one: Ending) -> Row:
    entry = one.entry
    return (one.fate.value, _maybe(one.successor), entry.start_line, entry.end_line, _joined(entry.tags), _day(entry.until))


def _parsed(parse: Callable[[Row], T], rows: Iterable[Row]) -> tuple[T, ...]:
    try:
        return tuple([parse(row) for row in rows])
    except (ValueError, TypeError, AttributeError) as problem:  # what a damaged file holds
        raise _broken(problem) from problem


def _landmark(row: Row) -> Landmark:
    number, commit, time, author, message = row
    return Landmark(number, CommitId(_text(commit)), time, _text(author), _text(message))


def _occurrence(row: Row) -> Occurrence:
    number, begun, path, start, end, section, day, text, kind, key, tags, until, fact, first_line, *rest = row
    commit, time, source, confidence, also, ended, fate, successor, last_start, last_end, last_tags, last_until, last = rest
    if ended is not None:
        start, end, tags, until = last_start, last_end, last_tags, last_until
    named = None if fact is None else FactId(_text(fact))
    words = (_words(section), _date(day), _text(text), _maybe_text(kind), _maybe_text(key), _words(tags), _date(until))
    return Occurrence(
        Entry(FilePath(_text(path)), start, end, *words, named, _text(first_line)),
        begun,
        Origin(CommitId(_text(commit)), time, Source(source), float(confidence)),
        bool(also),
        ended,
        None if fate is None else Fate(fate),
        None if successor is None else FactId(_text(successor)),
        None if last is None else CommitId(_text(last)),
        number,
    )


def _revision(row: Row) -> Revision:
    number, lineage, begun, path, section, nth, quiet, ended, _, _, _, text = row
    return Revision(lineage, begun, FilePath(_text(path)), _words(section), nth, _text(text), bool(quiet), ended, number)


def _mark(row: Row) -> Mark:
    kind, begun, one, other, occurrence, ended = row
    return Mark(MarkKind(kind), begun, FactId(_text(one)), None if other is None else FactId(_text(other)), occurrence, ended)


def _dropped(row: Row) -> tuple[CommitId, int, tuple[FilePath, ...]]:
    commit, number, paths = row
    return CommitId(_text(commit)), number, tuple(FilePath(path) for path in _words(paths))


# Texts of revisions.


def _told(row: Row, newer: int | None, text: bytes) -> bytes:
    """The whole text of a row, from that of the next revision of its lineage, `newer`."""
    *_, following, head, tail, own = row
    if following != newer or head + tail > len(text) or not isinstance(own, bytes):
        raise _broken(f"revision {row[0]} has lost its text")
    return text[:head] + own + text[len(text) - tail :]


def _shared(old: bytes, new: bytes) -> tuple[int, int]:
    """How many bytes two texts share at their beginning, and how many of the rest at their end."""
    head = _common(old, new)
    return head, _common(old[head:][::-1], new[head:][::-1])


def _common(one: bytes, other: bytes) -> int:
    """How many bytes two texts share at their beginning: by large pieces, then by halves."""
    most, start, size = min(len(one), len(other)), 0, _CHUNK
    while size:
        while start + size <= most and one[start : start + size] == other[start : start + size]:
            start += size
        size //= 2
    return start
