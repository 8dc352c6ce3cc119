"""Read all of a trail: to see that it is whole, or to compare it with another one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mdmem.startup.records import replace
from mdmem.trail.revision_texts import lineage_rows
from mdmem.trail.rows import (
    SqlRow,
    decoded,
    parse_commit,
    parse_dropped,
    parse_mark,
    parse_occurrence,
    parse_revert,
    parse_revision,
    parse_side_commit,
)
from mdmem.trail.statements import SELECT_COMMITS, SELECT_MARKS, SELECT_OCCURRENCES, SELECT_REVERTS, SELECT_SIDE_COMMITS
from mdmem.trail.storage import Store, broken_trail, parse_rows

_SELECT_DROPPED = "SELECT id, number, paths FROM dropped"


def verify_trail(folder: Path) -> int | None:
    """Read all of the trail in a folder, whatever settings it is for: the number of its commits; None where there is no trail.

    Raises:
        BrokenTrail: it cannot be used, or what it holds is not what was written.
        StorageProblem: the disk does not give the file.
    """
    store = Store.open_any(folder)
    if store is None:
        return None
    try:
        return _verify(store)
    finally:
        store.close()


def _verify(store: Store) -> int:
    ((report,),) = store.rows("PRAGMA integrity_check(1)")
    if report != "ok":
        raise broken_trail(" ".join(report.split()))
    rows_of: tuple[tuple[Callable[[SqlRow], object], str], ...] = (
        (parse_commit, SELECT_COMMITS),
        (parse_occurrence, SELECT_OCCURRENCES),
        (parse_mark, SELECT_MARKS),
        (parse_revert, SELECT_REVERTS),
        (parse_side_commit, SELECT_SIDE_COMMITS),
        (lambda row: (decoded(row[0]), decoded(row[1])), "SELECT path, line FROM brought"),
        (lambda row: decoded(row[0]), "SELECT path FROM touched"),
        (parse_dropped, _SELECT_DROPPED),
    )
    for parse, statement in rows_of:
        for row in store.each(statement):
            parse_rows(parse, [row])
    for (lineage,) in store.rows("SELECT DISTINCT lineage FROM revisions"):
        for row in lineage_rows(store, lineage):
            parse_rows(parse_revision, [row])
    ((count,),) = store.rows("SELECT coalesce(max(number), 0) FROM landmarks")
    return int(count)


def dump(store: Store) -> tuple[tuple[object, ...], ...]:
    """All that a trail says, as a value that can be compared; rows are numbered by their order."""
    occurrences = store.all(parse_occurrence, f"{SELECT_OCCURRENCES} ORDER BY number")
    lineages = [lineage for (lineage,) in store.rows("SELECT lineage FROM revisions WHERE next IS NULL")]
    rows = [row for lineage in lineages for row in lineage_rows(store, lineage)]
    revisions = parse_rows(parse_revision, sorted(rows, key=lambda row: int(row[0])))
    occurrence_ranks = {occurrence.number: rank for rank, occurrence in enumerate(occurrences, 1)}
    revision_ranks = {revision.number: rank for rank, revision in enumerate(revisions, 1)}
    marks = store.all(parse_mark, f"{SELECT_MARKS} ORDER BY number")
    return (
        store.all(parse_commit, f"{SELECT_COMMITS} ORDER BY number"),
        tuple(replace(each, number=occurrence_ranks[each.number]) for each in occurrences),
        tuple(replace(each, number=revision_ranks[each.number], lineage=revision_ranks[each.lineage]) for each in revisions),
        tuple(replace(mark, occurrence=occurrence_ranks.get(mark.occurrence, 0)) for mark in marks),
        store.all(tuple, "SELECT added, path FROM marks ORDER BY number"),
        store.all(parse_revert, SELECT_REVERTS),
        store.all(tuple, "SELECT landmark, path FROM touched ORDER BY landmark, path"),
        store.all(
            tuple,
            "SELECT brought.landmark, path, line, id, time, author, message FROM brought JOIN sides ON number = side"
            " ORDER BY brought.landmark, path, line",
        ),
    )
