"""Rows of the index -> what a search answers: one hit each statement, how it stands, in which order. Pure."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from typing import NamedTuple

from mdmem.model import Hit, Status
from mdmem.search.query import Filter
from mdmem.search.ranking import Factor
from mdmem.search.schema import Row, statement_label

_MOST_CURRENT = (Status.CURRENT, Status.SUPERSEDED, Status.EXPIRED, Status.REMOVED)


class Part(NamedTuple):
    """What one word of the query adds to a score: by being (or having for a relative) a term of a field, with the field's weight."""

    field: str
    term: str
    said: str
    score: float


class Why(NamedTuple):
    """How a score came about: the sum of its parts times its factors."""

    parts: tuple[Part, ...]
    factors: tuple[Factor, ...]


@dataclass(frozen=True, slots=True)
class Match:
    """A hit of a search, the row that it shows, and if that is wanted, how its score came about."""

    hit: Hit
    row: Row
    why: Why | None = None


def order(match: Match) -> tuple[float, int, int, str, int, float]:
    """The better score first, then what is more current, then the newer day, then path and line, then what came later."""
    hit = match.hit
    newest = math.inf if match.row.life.begun is None else match.row.life.begun
    return -hit.score, _MOST_CURRENT.index(hit.status), -(hit.day or date.min).toordinal(), hit.path, hit.start_line, -newest


def shown(rows: Iterable[Row], wanted: Filter, today: date) -> list[Row]:
    """Of what is current one occurrence of each statement, the first in the file; and every occurrence that is over."""
    over: list[Row] = []
    best: dict[str, Row] = {}
    for row in rows:
        label = statement_label(row.entry)
        if _status(row, wanted, today) is not Status.CURRENT:
            over.append(row)
        elif label not in best or row.entry.start_line < best[label].entry.start_line:
            best[label] = row
    return [*best.values(), *over]


def _status(row: Row, wanted: Filter, today: date) -> Status:
    """How an occurrence stands on that day; with `as_of` nothing is known of what came later."""
    if wanted.as_of is not None:
        return Status.CURRENT
    if row.life.status is not Status.CURRENT:
        return row.life.status
    if not row.life.standing:
        return Status.REMOVED
    return Status.EXPIRED if row.entry.until is not None and row.entry.until < today else Status.CURRENT


def hit(row: Row, score: float, wanted: Filter, today: date) -> Hit:
    """A row as a search with this filter shows it; with `as_of` it was brought in by its commit, whatever became of it."""
    entry, origin, life = row.entry, row.origin, row.life
    now = wanted.as_of is None
    brought_in = origin.commit if origin else None
    return Hit(
        path=entry.path,
        start_line=entry.start_line,
        end_line=entry.end_line,
        section=entry.section,
        kind=entry.kind,
        day=entry.day,
        text=entry.text,
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
        since=datetime.fromtimestamp(origin.time, wanted.zone).astimezone(wanted.zone) if origin else None,
    )
