"""What the table holds: its schema, and its rows to and from values.

Paths and texts are stored as UTF-8 bytes, lone surrogates included, and several words in one column as JSON. Row numbers grow with time
and are never used twice, except those of rows that were cut away.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import date
from functools import lru_cache
from typing import Any

from mdmem.model import CommitId, FactId, FilePath, Source
from mdmem.model.trail import Commit, Entry, Fate, MainlineCommit, Mark, MarkKind, Occurrence, Origin, Revision

SqlRow = tuple["Any", ...]

TRAIL_VERSION = 3
"""Of the table; a file of another version counts as empty."""
APPLICATION_ID = 0x6D646D76
"""Tells the file from other programs' (`PRAGMA application_id`)."""

# `reached` is the latest time up to a landmark. A landmark that is older than that is late, and those are few: this is what makes
# `latest` quick without a row ever changing. `added` is the landmark that brought a mark in: one that went along with a moved
# occurrence has an older `begun`. `sides` are the commits beside the line of which merges have lines, and `brought` are these lines.
SCHEMA = f"""
CREATE TABLE about (settings BLOB);
CREATE TABLE landmarks (
    number INTEGER PRIMARY KEY, id BLOB, time INTEGER, author BLOB, message BLOB, merge INTEGER, reached INTEGER
);
CREATE INDEX landmarks_id ON landmarks (id);
CREATE INDEX landmarks_reached ON landmarks (reached);
CREATE INDEX landmarks_late ON landmarks (number, time) WHERE time < reached;
CREATE TABLE sides (number INTEGER PRIMARY KEY, landmark INTEGER, id BLOB, time INTEGER, author BLOB, message BLOB);
CREATE INDEX sides_id ON sides (id);
CREATE TABLE brought (landmark INTEGER, path BLOB, line BLOB, side INTEGER, PRIMARY KEY (landmark, path, line)) WITHOUT ROWID;
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
CREATE INDEX marks_path ON marks (path);
CREATE INDEX marks_occurrence ON marks (occurrence);
CREATE INDEX marks_other ON marks (other) WHERE ended IS NULL;
CREATE INDEX marks_added ON marks (added);
CREATE INDEX marks_ended ON marks (ended) WHERE ended IS NOT NULL;
CREATE TABLE dropped (row INTEGER PRIMARY KEY, id BLOB, number INTEGER, paths BLOB);
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {TRAIL_VERSION};
"""
SELECT_COMMITS = "SELECT number, id, time, author, message, merge FROM landmarks"
SELECT_SIDE_COMMITS = "SELECT id, time, author, message FROM sides"
_WHILE_IT_STANDS = (
    "number, begun, path, start_line, end_line, section, day, text, kind, key, tags, until, fact, first_line,"
    " origin, origin_time, source, confidence, also"
)
SELECT_LIVE_OCCURRENCES = f"SELECT {_WHILE_IT_STANDS} FROM occurrences WHERE ended IS NULL"
SELECT_OCCURRENCES = (
    f"SELECT {_WHILE_IT_STANDS}, ended, fate, successor, last_start, last_end, last_tags, last_until,"
    " (SELECT id FROM landmarks WHERE landmarks.number = occurrences.ended - 1) FROM occurrences"
)
SELECT_REVISIONS = "SELECT * FROM revisions"
_COLUMNS = _WHILE_IT_STANDS.count(",") + 1
_NO_END: SqlRow = (None,) * 8
SELECT_MARKS = "SELECT kind, begun, one, other, occurrence, ended FROM marks"
PAIR_MARKS_CONDITION = f"kind IN ('{MarkKind.CONTRADICTS}', '{MarkKind.RESOLVED}')"


def blob(text: str) -> bytes:
    """A text as the table keeps it."""
    return text.encode("utf-8", "surrogatepass")


def bulk_blob(text: str) -> bytearray:
    """The same for one of many: to bytes SQLite's module looks for adapters each time, which takes as long as to store them."""
    return bytearray(text, "utf-8", "surrogatepass")


def decoded(data: bytes) -> str:
    """The text that `blob` kept."""
    return data.decode("utf-8", "surrogatepass")


def maybe_blob(text: str | None) -> bytes | None:
    """A text that may be missing."""
    return None if text is None else blob(text)


def _maybe_bulk(text: str | None) -> bytearray | None:
    return None if text is None else bulk_blob(text)


def _maybe_text(data: bytes | None) -> str | None:
    return None if data is None else decoded(data)


@lru_cache(4096)
def _path(data: bytes) -> FilePath:
    """One object for all that stands in a file."""
    return FilePath(decoded(data))


@lru_cache(4096)
def join_words(words: tuple[str, ...]) -> bytes:
    """Several words in one column."""
    return blob(json.dumps(words, ensure_ascii=False, separators=(",", ":")))


@lru_cache(4096)
def _words(data: bytes) -> tuple[str, ...]:
    return tuple(json.loads(decoded(data)))


def _day(day: date | None) -> str | None:
    return None if day is None else day.isoformat()


@lru_cache(4096)
def _date(text: str | None) -> date | None:
    return None if text is None else date.fromisoformat(text)


def columns(begun: Iterable[Occurrence]) -> Iterator[SqlRow]:
    """Occurrences that begin, without their rows' numbers and their landmark; what many have in common is made once."""
    origin, path, day, date_of_it = None, None, None, None
    for one in begun:
        entry = one.entry
        if one.origin is not origin:
            origin = one.origin
            brought = (bulk_blob(origin.commit), origin.time, origin.source.value, origin.confidence)
        if entry.path is not path:
            path, where = entry.path, bulk_blob(entry.path)
        if entry.day is not day:
            day, date_of_it = entry.day, _day(entry.day)
        if entry.kind is None and entry.key is None and entry.until is None:
            more: SqlRow = (None, None, bytearray(join_words(entry.tags)), None)
        else:
            more = (_maybe_bulk(entry.kind), _maybe_bulk(entry.key), bytearray(join_words(entry.tags)), _day(entry.until))
        yield (
            *(where, entry.start_line, entry.end_line, bytearray(join_words(entry.section)), date_of_it, bulk_blob(entry.text)),
            *(*more, _maybe_bulk(entry.fact), bulk_blob(entry.first_line), *brought, int(one.also)),
        )


def last_columns(entry: Entry) -> SqlRow:
    """Lines, tags and date as the last commit that held an occurrence has them."""
    return (entry.start_line, entry.end_line, join_words(entry.tags), _day(entry.until))


@lru_cache(4096)
def _origin(commit: bytes, time: int, source: str, confidence: float) -> Origin:
    """One object for all that a commit brought in."""
    return Origin(CommitId(decoded(commit)), time, Source(source), float(confidence))


def as_landmark(row: SqlRow) -> MainlineCommit:
    """From a row of `LANDMARKS`."""
    number, commit, time, author, message, merge = row
    return MainlineCommit(number, CommitId(decoded(commit)), time, decoded(author), decoded(message), bool(merge))


def as_side(row: SqlRow) -> Commit:
    """From a row of `SIDES`."""
    commit, time, author, message = row
    return Commit(CommitId(decoded(commit)), time, decoded(author), decoded(message))


def as_occurrence(row: SqlRow) -> Occurrence:
    """From a row of `STANDING` or `OCCURRENCES`."""
    number, begun, path, start, end, section, day, text, kind, key, tags, until, fact, first_line, *origin, also = row[:_COLUMNS]
    ended, fate, successor, last_start, last_end, last_tags, last_until, last = row[_COLUMNS:] or _NO_END
    if ended is not None:
        start, end, tags, until = last_start, last_end, last_tags, last_until
    named = None if fact is None else FactId(decoded(fact))
    words = (_words(section), _date(day), decoded(text), _maybe_text(kind), _maybe_text(key), _words(tags), _date(until))
    return Occurrence(
        Entry(_path(path), start, end, *words, named, decoded(first_line)),
        begun,
        _origin(*origin),
        bool(also),
        ended,
        None if fate is None else Fate(fate),
        None if successor is None else FactId(decoded(successor)),
        None if last is None else CommitId(decoded(last)),
        number,
    )


def as_revision(row: SqlRow) -> Revision:
    """From a row of `REVISIONS` with its whole text."""
    number, lineage, begun, path, section, nth, quiet, ended, _, _, _, text = row
    return Revision(lineage, begun, FilePath(decoded(path)), _words(section), nth, decoded(text), bool(quiet), ended, number)


def as_mark(row: SqlRow) -> Mark:
    """From a row of `MARKS`."""
    kind, begun, one, other, occurrence, ended = row
    return Mark(MarkKind(kind), begun, FactId(decoded(one)), None if other is None else FactId(decoded(other)), occurrence, ended)


def as_dropped(row: SqlRow) -> tuple[CommitId, int, tuple[FilePath, ...]]:
    """Commit, number and files of a landmark that was cut away."""
    commit, number, paths = row
    return CommitId(decoded(commit)), number, tuple(FilePath(path) for path in _words(paths))
