"""Rows of the index -> what a search answers: one hit each statement, how it stands, in which order. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from datetime import date, datetime, tzinfo
from functools import lru_cache

from mdmem.model import FileKind, Status
from mdmem.model.searches import Explanation, Factor, Hit
from mdmem.search import ranking
from mdmem.search.query import Filter
from mdmem.search.schema import IndexRow, statement_number
from mdmem.startup.records import dataclass

_MOMENTS_KEPT = 1024
_MOST_CURRENT = (Status.CURRENT, Status.SUPERSEDED, Status.EXPIRED, Status.REMOVED)


@dataclass(frozen=True, slots=True)
class Match:
    """A hit of a search, the row that it shows, and if that is wanted, how its score came about."""

    hit: Hit
    row: IndexRow
    explanation: Explanation | None = None


def static_factors(row: IndexRow, factors: Iterable[Factor]) -> Iterator[Factor]:
    """The factors of the score of a row, with what it is worth whatever is asked (`trust`) told apart: file, confidence, contradiction."""
    for factor in factors:
        if factor.name != "trust":
            yield factor
            continue
        own = Factor("file", ranking.static_factor(row.kind, 1.0))
        sure = Factor("confidence", ranking.static_factor(FileKind.EVERGREEN, row.origin.confidence if row.origin else None))
        weaker = Factor("contradicted", ranking.static_factor(FileKind.EVERGREEN, 1.0, row.lifetime.weaker))
        yield from (one for one in (own, sure, weaker) if one.value != 1)


def rank_key(match: Match) -> tuple[float, int, int, str, int, float]:
    """The better score first, then what is more current, then the newer day, then path and line, then what came later."""
    hit = match.hit
    status = _MOST_CURRENT.index(hit.status)
    return -hit.score, status, -(hit.day or date.min).toordinal(), hit.path, hit.start_line, -_newness(match.row)


def position_key(row: IndexRow) -> tuple[str, int, float, str, str]:
    """By path and line; of what stood in one place what came later first, then by its words and the last commit that held it."""
    entry = row.entry
    return entry.path, entry.start_line, -_newness(row), entry.text, row.last or ""


def _newness(row: IndexRow) -> float:
    return math.inf if row.lifetime.begun is None else row.lifetime.begun


def visible_rows(rows: Iterable[IndexRow], wanted: Filter, today: date) -> list[IndexRow]:
    """Of what is current one occurrence of each statement, the first in the file; and every occurrence that is over."""
    over: list[IndexRow] = []
    best: dict[int, IndexRow] = {}
    for row in rows:
        label = statement_number(row.entry)
        if _status(row, wanted, today) is not Status.CURRENT:
            over.append(row)
        elif label not in best or row.entry.start_line < best[label].entry.start_line:
            best[label] = row
    return [*best.values(), *over]


def _status(row: IndexRow, wanted: Filter, today: date) -> Status:
    """How an occurrence stands on that day; with `as_of` nothing is known of what came later."""
    if wanted.as_of is not None:
        return Status.CURRENT
    if row.lifetime.status is not Status.CURRENT:
        return row.lifetime.status
    if not row.lifetime.is_live:
        return Status.REMOVED
    return Status.EXPIRED if row.entry.until is not None and row.entry.until < today else Status.CURRENT


def make_hit(row: IndexRow, score: float, wanted: Filter, today: date) -> Hit:
    """A row as a search with this filter shows it; with `as_of` it was brought in by its commit, whatever became of it."""
    entry, origin, life = row.entry, row.origin, row.lifetime
    now = wanted.as_of is None
    brought_in = origin.commit if origin else None
    return Hit(  # by position, which takes half the time
        entry.path,
        entry.start_line,
        entry.end_line,
        entry.section,
        entry.kind,
        entry.day,
        entry.text,
        score,
        entry.fact,
        entry.key,
        entry.tags,
        origin.source if origin else None,
        origin.confidence if origin else None,
        _status(row, wanted, today),
        entry.until,
        (row.last or brought_in) if now else brought_in,
        row.uncommitted,
        life.superseded_by if now else None,
        life.contradicts if now else (),
        _moment(origin.time, wanted.zone) if origin else None,
        None,
    )


@lru_cache(maxsize=_MOMENTS_KEPT)
def _moment(seconds: int, zone: tzinfo | None) -> datetime:
    """A time since 1970, with its offset. Most rows of one answer share a few commits."""
    return datetime.fromtimestamp(seconds, zone).astimezone(zone)
