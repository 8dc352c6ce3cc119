"""Read all of a trail, to see that it is whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mdmem.trail.ends import lineage_rows
from mdmem.trail.rows import (
    SqlRow,
    decoded,
    parse_commit,
    parse_dropped,
    parse_mark,
    parse_occurrence,
    parse_revert,
    parse_revision,
)
from mdmem.trail.schema import SELECT_COMMITS, SELECT_EVERY_MARK, SELECT_OCCURRENCES, SELECT_REVERTS
from mdmem.trail.storage import Store, broken_trail, parse_rows


def verify_trail(folder: Path) -> int | None:
    """Read all of a folder's trail, for any settings; its number of commits, None without one.

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
        (parse_mark, SELECT_EVERY_MARK),
        (parse_revert, SELECT_REVERTS),
        (lambda row: decoded(row[0]), "SELECT path FROM touched"),
        (parse_dropped, "SELECT id, number, paths FROM dropped"),
    )
    for parse, statement in rows_of:
        for row in store.each(statement):
            parse_rows(parse, [row])
    for (lineage,) in store.rows("SELECT DISTINCT lineage FROM revisions"):
        for row in lineage_rows(store, lineage):
            parse_rows(parse_revision, [row])
    ((count,),) = store.rows("SELECT coalesce(max(number), 0) FROM commits")
    return int(count)
