"""Rows of the index to hits: one for each statement, with its status, in order. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from datetime import date, datetime, tzinfo
from functools import lru_cache

from mdmem.entries import shown_text
from mdmem.model import FileKind, Status
from mdmem.model.searches import Explanation, Factor, Hit
from mdmem.search import ranking
from mdmem.search.query import Filter
from mdmem.search.schema import NEVER, IndexRow, statement_number
from mdmem.startup.records import dataclass

_MOMENTS_KEPT = 1024
_MOST_CURRENT = (Status.CURRENT, Status.SUPERSEDED, Status.EXPIRED, Status.REMOVED)


@dataclass(frozen=True, slots=True)
class Match:
    """A hit, the row behind it, and on request the explanation of its score."""

    hit: Hit
    row: IndexRow
    explanation: Explanation | None = None


def static_factors(row: IndexRow, factors: Iterable[Factor]) -> Iterator[Factor]:
    """The factors of a row's score, its static factor (`trust`) split into file, confidence and contradiction."""
    for factor in factors:
        if factor.name != "trust":
            yield factor
            continue
        by_file = Factor("file", ranking.static_factor(row.kind, 1.0))
        by_confidence = Factor("confidence", ranking.static_factor(FileKind.EVERGREEN, row.origin.confidence if row.origin else None))
        by_contradiction = Factor("contradicted", ranking.static_factor(FileKind.EVERGREEN, 1.0, row.lifetime.weaker))
        yield from (part for part in (by_file, by_confidence, by_contradiction) if part.value != 1)


def rank_key(match: Match) -> tuple[bool, float, int, int, str, int, float]:
    """Sort those near a match last, then by score, then the more current, then the newer day, then path and line, then the later begun."""
    hit = match.hit
    status = _MOST_CURRENT.index(hit.status)
    return hit.near, -hit.score, status, -(hit.day or date.min).toordinal(), hit.path, hit.start_line, -_newness(match.row)


def position_key(row: IndexRow) -> tuple[str, int, float, str, str]:
    """Sort by path and line; at one line the later begun first, then by text and the last commit that held it."""
    entry = row.entry
    return entry.path, entry.start_line, -_newness(row), entry.text, row.last or ""


def age(day: int, seconds: int | None, begun: int, zone: tzinfo | None, today: date) -> tuple[int, float, int]:
    """A sort key by which the newer entry comes first: by its day, the time of its commit, the number of the commit from which on it is live.

    Args:
        day: its own, as an ordinal, or NO_DAY: it has that of its commit then, or `today` while it is in none.
        seconds: the time of its commit; None while it is in none.
        begun: see `schema.document_fields`.
        zone: the user's.
        today: the user's day.
    """
    if not day:
        day = (today if seconds is None else _moment(seconds, zone)).toordinal()
    return -day, -math.inf if seconds is None else -seconds, -begun


def row_age(row: IndexRow, zone: tzinfo | None, today: date) -> tuple[int, float, int]:
    """The `age` of a row."""
    day, begun = row.entry.day.toordinal() if row.entry.day else ranking.NO_DAY, row.lifetime.begun
    return age(day, row.origin.time if row.origin else None, NEVER if begun is None else begun, zone, today)


def _newness(row: IndexRow) -> float:
    return math.inf if row.lifetime.begun is None else row.lifetime.begun


def visible_rows(rows: Iterable[IndexRow], passing_filter: Filter, today: date) -> list[IndexRow]:
    """One occurrence of each current statement, the first in its file, and every occurrence that is no longer current."""
    past_rows: list[IndexRow] = []
    best: dict[int, IndexRow] = {}
    for row in rows:
        label = statement_number(row.entry)
        if _status(row, passing_filter, today) is not Status.CURRENT:
            past_rows.append(row)
        elif label not in best or row.entry.start_line < best[label].entry.start_line:
            best[label] = row
    return [*best.values(), *past_rows]


def _status(row: IndexRow, passing_filter: Filter, today: date) -> Status:
    """The status of an occurrence on a day; with `as_of`, later events do not count."""
    if passing_filter.as_of is not None:
        return Status.CURRENT
    if row.lifetime.status is not Status.CURRENT:
        return row.lifetime.status
    if not row.lifetime.is_live:
        return Status.REMOVED
    return Status.EXPIRED if row.entry.until is not None and row.entry.until < today else Status.CURRENT


def make_hit(row: IndexRow, score: float, wanted: Filter, today: date, near: bool = False) -> Hit:
    """The hit of a row for a search with this filter; with `as_of` its commit is the one that brought it in, whatever came later."""
    entry, origin, life = row.entry, row.origin, row.lifetime
    now = wanted.as_of is None
    brought_in = origin.commit if origin else None
    return Hit(
        path=entry.path,
        start_line=entry.start_line,
        end_line=entry.end_line,
        section=entry.section,
        kind=entry.kind,
        day=entry.day,
        text=shown_text(entry),
        score=score,
        fact=entry.fact,
        key=entry.key,
        tags=entry.tags,
        source=origin.source if origin else None,
        confidence=origin.confidence if origin else None,
        status=_status(row, wanted, today),
        until=entry.until,
        commit=(row.last or brought_in) if now else brought_in,
        uncommitted=row.uncommitted,
        superseded_by=life.superseded_by if now else None,
        contradicts=life.contradicts if now else (),
        since=_moment(origin.time, wanted.zone) if origin else None,
        near=near,
        explanation=None,
        cites=origin.cites if origin else (),
        attribute=origin.attribute if origin else None,
    )


@lru_cache(maxsize=_MOMENTS_KEPT)
def _moment(seconds: int, zone: tzinfo | None) -> datetime:
    """A time stamp as a time with its offset; cached, since most rows of an answer share a few commits."""
    return datetime.fromtimestamp(seconds, zone).astimezone(zone)
