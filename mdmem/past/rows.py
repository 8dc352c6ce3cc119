"""Rows of the trail, to and from values.

Paths and texts are UTF-8 bytes, lone surrogates included, several words in one column JSON. Row
numbers grow with time and are never used twice, except those of rows that were cut away.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import date
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any

from mdmem.model import CommitId, FactId, FilePath, Source, trail
from mdmem.model.trail import (
    Entry,
    FactSpan,
    Fate,
    Mark,
    MarkKind,
    Occurrence,
    Origin,
    Revision,
    RevisionOutline,
    StatedRevert,
    TrailCommit,
    plain_first_line,
)
from mdmem.past.schema import WHILE_LIVE_COLUMNS
from mdmem.text.facts import normalise_key

SqlRow = tuple["Any", ...]
_NO_END: SqlRow = (None,) * 8
_KEY_CHARACTERS = 100
"""The part of a fact's text in which its key is looked for."""
_KEY_BYTES = 24
"""The bytes that are stored of it, to find the facts of a key."""


def blob(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def bulk_blob(text: str) -> bytearray:
    """Bytes for storing many: for `bytes` sqlite3 looks for adapters, which takes as long again."""
    return bytearray(text, "utf-8", "surrogatepass")


def decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def maybe_blob(text: str | None) -> bytes | None:
    return None if text is None else blob(text)


def _maybe_bulk_blob(text: str | None) -> bytearray | None:
    return None if text is None else bulk_blob(text)


def _maybe_text(data: bytes | None) -> str | None:
    return None if data is None else decoded(data)


@lru_cache(4096)
def _path(data: bytes) -> FilePath:
    return FilePath(decoded(data))


@lru_cache(4096)
def join_words(words: tuple[str, ...]) -> bytes:
    # `json.dumps` makes an encoder each time.
    return blob(f"[{','.join(map(encode_basestring, words))}]")


@lru_cache(4096)
def _words(data: bytes) -> tuple[str, ...]:
    return tuple(json.loads(decoded(data)))


def _day(day: date | None) -> str | None:
    return None if day is None else day.isoformat()


@lru_cache(4096)
def _date(text: str | None) -> date | None:
    return None if text is None else date.fromisoformat(text)


def occurrence_rows(begun: Sequence[Occurrence], number: int, first: int) -> Iterator[SqlRow]:
    origin, path, day, day_column, section, tags = None, None, None, None, None, None
    for row, occurrence in enumerate(begun, first):
        entry = occurrence.entry
        text, fact, kind, key = entry.text, entry.fact, entry.kind, entry.key
        until, first_line = entry.until, entry.first_line
        if occurrence.origin is not origin:
            origin = occurrence.origin
            (
                commit,
                time,
                source,
                confidence,
                author,
                actor,
                session,
                claimed_by,
                cites,
                attribute,
            ) = _origin_columns(origin)
        if entry.path is not path:
            path, path_column = entry.path, bulk_blob(entry.path)
        if entry.day is not day:
            day, day_column = entry.day, _day(entry.day)
        if entry.section is not section:
            section, section_column = entry.section, bytearray(join_words(entry.section))
        if entry.tags is not tags:
            tags, tags_column = entry.tags, bytearray(join_words(entry.tags))
        yield (  # one flat tuple: to join several takes longer than to make them
            row,
            occurrence.begun,
            number,
            0,
            path_column,
            entry.start_line,
            entry.end_line,
            section_column,
            day_column,
            bulk_blob(text),
            None if kind is None else bulk_blob(kind),
            None if key is None else bulk_blob(key),
            tags_column,
            None if until is None else _day(until),
            None if fact is None else bulk_blob(fact),
            None if first_line == plain_first_line(text) else bulk_blob(first_line),
            commit,
            time,
            source,
            confidence,
            author,
            actor,
            session,
            claimed_by,
            cites,
            attribute,
            1 if occurrence.also else 0,
            None if fact is None else beginning(text),
        )


def _origin_columns(origin: Origin) -> SqlRow:
    return (
        bulk_blob(origin.commit),
        origin.time,
        origin.source.value,
        origin.confidence,
        bulk_blob(origin.author),
        _maybe_bulk_blob(origin.actor),
        _maybe_bulk_blob(origin.session),
        _maybe_bulk_blob(origin.claimed_by),
        bulk_blob("\n".join(origin.cites)) if origin.cites else None,
        _maybe_bulk_blob(origin.attribute),
    )


def beginning(text: str) -> bytes:
    """The first bytes of a fact's text, or of a key, in the form in which keys are compared."""
    return blob(normalise_key(text[:_KEY_CHARACTERS]))[:_KEY_BYTES]


def last_columns(entry: Entry) -> SqlRow:
    """The columns with lines, tags and date as the last commit that had an occurrence has them."""
    return (entry.start_line, entry.end_line, join_words(entry.tags), _day(entry.until))


@lru_cache(4096)
def _origin(
    commit: bytes,
    time: int,
    source: str,
    confidence: float,
    author: bytes,
    actor: bytes | None,
    session: bytes | None,
    claimed_by: bytes | None,
    cites: bytes | None,
    attribute: bytes | None,
) -> Origin:
    return Origin(
        commit=CommitId(decoded(commit)),
        time=time,
        source=Source(source),
        confidence=float(confidence),
        author=decoded(author),
        actor=_maybe_text(actor),
        session=_maybe_text(session),
        claimed_by=_maybe_text(claimed_by),
        cites=tuple(decoded(cites).split("\n")) if cites else (),
        attribute=_maybe_text(attribute),
    )


def commit_row(commit: TrailCommit) -> SqlRow:
    return (
        commit.number,
        blob(commit.commit),
        commit.time,
        commit.committed,
        commit.moment,
        blob(commit.author),
        blob(commit.email),
        blob(commit.message),
        join_numbers(commit.parents),
        trail.as_text(commit.missing),
        int(commit.is_needed),
        commit.brought,
        int(commit.by_agent),
    )


def parse_commit(row: SqlRow) -> TrailCommit:
    (
        number,
        commit,
        time,
        author,
        message,
        email,
        committed,
        moment,
        parents,
        missing,
        needed,
        brought,
        by_agent,
    ) = row
    return TrailCommit(
        number=number,
        commit=CommitId(decoded(commit)),
        time=time,
        author=decoded(author),
        message=decoded(message),
        email=decoded(email),
        committed=committed,
        moment=moment,
        parents=parse_numbers(parents),
        missing=trail.parse(missing),
        is_needed=bool(needed),
        brought=brought,
        by_agent=bool(by_agent),
    )


def join_numbers(numbers: Sequence[int]) -> str | None:
    return " ".join(map(str, numbers)) or None


def parse_numbers(text: str | None) -> tuple[int, ...]:
    if not text:
        return ()
    return tuple(map(int, text.split(" "))) if " " in text else (int(text),)


def parse_occurrence(row: SqlRow) -> Occurrence:
    """A row of `SELECT_LIVE_OCCURRENCES` or `SELECT_OCCURRENCES`."""
    (
        number,
        begun,
        path,
        start,
        end,
        section,
        day,
        text,
        kind,
        key,
        tags,
        until,
        fact,
        first_line,
        *origin,
        also,
    ) = row[:WHILE_LIVE_COLUMNS]
    ended, fate, successor, last_start, last_end, last_tags, last_until, last = (
        row[WHILE_LIVE_COLUMNS:] or _NO_END
    )
    if ended is not None:
        start, end, tags, until = last_start, last_end, last_tags, last_until
    text = decoded(text)
    entry = Entry(
        path=_path(path),
        start_line=start,
        end_line=end,
        section=_words(section),
        day=_date(day),
        text=text,
        kind=_maybe_text(kind),
        key=_maybe_text(key),
        tags=_words(tags),
        until=_date(until),
        fact=None if fact is None else FactId(decoded(fact)),
        first_line=plain_first_line(text) if first_line is None else decoded(first_line),
    )
    return Occurrence(
        entry=entry,
        begun=begun,
        origin=_origin(*origin),
        also=bool(also),
        ended=ended,
        fate=None if fate is None else Fate(fate),
        successor=None if successor is None else FactId(decoded(successor)),
        last=None if last is None else CommitId(decoded(last)),
        number=number,
    )


def parse_span(row: SqlRow, begun: int, ended: int | None) -> FactSpan:
    _, fact, path, kind, source, until, _, _ = row
    return FactSpan(
        fact=FactId(decoded(fact)),
        path=_path(path),
        kind=_maybe_text(kind),
        source=Source(source),
        until=_date(until),
        begun=begun,
        ended=ended,
    )


def parse_revision(row: SqlRow) -> Revision:
    number, lineage, begun, _, path, section, nth, quiet, previous, ended, _, _, _, text = row
    return Revision(
        lineage=lineage,
        begun=begun,
        path=FilePath(decoded(path)),
        section=_words(section),
        nth=nth,
        text=decoded(text),
        unchanged_text=bool(quiet),
        ended=ended,
        number=number,
        previous=parse_numbers(previous),
    )


def parse_outline(row: SqlRow) -> RevisionOutline:
    number, lineage, begun, ended, quiet, previous = row
    return RevisionOutline(number, lineage, begun, ended, bool(quiet), parse_numbers(previous))


def mark_row(mark: Mark, occurrence: int, number: int, path: bytes | None) -> SqlRow:
    return (
        mark.kind.value,
        blob(mark.commit),
        mark.begun,
        blob(mark.fact),
        maybe_blob(mark.other),
        occurrence,
        mark.ended,
        number,
        path,
    )


def copy_mark_row(mark: Mark, path: bytes) -> SqlRow:
    return (
        blob(mark.fact),
        mark.occurrence,
        mark.begun,
        mark.kind.value,
        blob(mark.commit),
        blob(mark.other or ""),
        mark.ended,
        path,
    )


def parse_mark(row: SqlRow) -> Mark:
    kind, origin, begun, fact, other, occurrence, ended = row
    return Mark(
        kind=MarkKind(kind),
        commit=CommitId(decoded(origin)),
        begun=begun,
        fact=FactId(decoded(fact)),
        other=None if other is None else FactId(decoded(other)),
        occurrence=occurrence,
        ended=ended,
    )


def parse_revert(row: SqlRow) -> StatedRevert:
    commit, reverted = row
    return StatedRevert(CommitId(decoded(commit)), CommitId(decoded(reverted)))


def parse_dropped(row: SqlRow) -> tuple[CommitId, int, tuple[FilePath, ...]]:
    """Commit, number and files of a commit that was cut away."""
    commit, number, paths = row
    return CommitId(decoded(commit)), number, tuple(FilePath(path) for path in _words(paths))
