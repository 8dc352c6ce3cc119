"""Statements of an answer that a later one of it seems to correct.

Nothing says that the one replaces the other, so both stay; but the older never comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from itertools import islice

from mdmem.editors import corrections
from mdmem.index import ranking
from mdmem.model import Status
from mdmem.model.searches import Hit
from mdmem.startup.records import replace

LOOKED_AT = 20
"""The first hits, among which statements are compared."""
_MOST_COMPARED = 12
"""Comparisons in one answer: a millisecond."""


def put_later_first(hits: Sequence[Hit], limit: int) -> tuple[Hit, ...]:
    """The first hits; a statement that a later one corrects follows that one and names it.

    The newer has to report a change (`now`, `moved`, `no longer`), and to be a correction of the
    older by `corrections`. A turn of a dialogue is no statement.
    """
    first = hits[:LOOKED_AT]
    later = _later(first)
    order: dict[int, Hit] = {}
    for number, hit in enumerate(first):
        newer = later.get(number)
        if newer is not None:
            order.setdefault(newer, first[newer])
            order[number] = replace(hit, later=first[newer].fact)
        else:
            order.setdefault(number, hit)
    return (*order.values(), *hits[LOOKED_AT:])[:limit]


def _later(hits: Sequence[Hit]) -> dict[int, int]:
    """By the number of each hit that is corrected, the number of the newest that corrects it."""
    numbers = [number for number, hit in enumerate(hits) if _is_statement(hit)]
    pairs = (
        (older, newer)
        for newer in numbers
        if corrections.reports_change(hits[newer].text)
        for older in numbers
        if _time(hits[older]) < _time(hits[newer])
        and corrections.may_correct(hits[older].text, hits[newer].text)
    )
    corrected = [
        (older, newer)
        for older, newer in islice(pairs, _MOST_COMPARED)
        if corrections.correction_likeness(hits[older].text, hits[newer].text)
    ]
    return dict(sorted(corrected, key=lambda pair: _time(hits[pair[1]])))


def _is_statement(hit: Hit) -> bool:
    return (
        hit.fact is not None
        and hit.since is not None
        and hit.status is Status.CURRENT
        and not (hit.day is not None and ranking.begins_with_a_speaker(hit.text))
    )


def _time(hit: Hit) -> tuple[date, float]:
    since = hit.since or datetime.max
    return hit.day or since.date(), since.timestamp()
