"""Read all of a trail: to see that it is whole, or to compare it with another one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from mdmem.model.trail import Occurrence
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


def dump(store: Store) -> tuple[tuple[object, ...], ...]:
    """All that a trail says, comparable: equal for equal commits, however they arrived."""
    commits = {each.number: each for each in store.all(parse_commit, SELECT_COMMITS)}
    names: dict[int | None, str | None] = {None: None, 0: None}
    names.update({number: each.commit for number, each in commits.items()})
    occurrences = store.all(parse_occurrence, f"{SELECT_OCCURRENCES} ORDER BY number")
    lineages = [
        lineage for (lineage,) in store.rows("SELECT lineage FROM revisions WHERE next IS NULL")
    ]
    revisions = parse_rows(
        parse_revision, [row for lineage in lineages for row in lineage_rows(store, lineage)]
    )
    marks = store.rows(
        "SELECT occurrence, kind, origin, begun, one, other, ended, added, path FROM marks"
    )
    texts = {
        each.number: (names[each.begun], each.path, each.section, each.nth) for each in revisions
    }
    lines = {each.number: _line(each, names) for each in occurrences}
    return (
        _sorted(
            (each.commit, each.moment, tuple(sorted(str(names[parent]) for parent in each.parents)))
            for each in commits.values()
            if each.is_needed
        ),
        _sorted(lines.values()),
        _sorted(
            (
                *texts[each.number],
                each.text,
                each.unchanged_text,
                names[each.ended],
                _sorted(texts[number] for number in each.previous),
            )
            for each in revisions
        ),
        _sorted(
            (
                lines.get(row),
                kind,
                origin,
                names[begun],
                one,
                other,
                names[ended],
                names[added],
                path,
            )
            for row, kind, origin, begun, one, other, ended, added, path in marks
        ),
        _sorted((each.commit, each.reverted) for each in store.all(parse_revert, SELECT_REVERTS)),
        _sorted(
            (names[number], path) for number, path in store.rows("SELECT number, path FROM touched")
        ),
        _sorted(
            (lines[row], names[at], names[ended], *end)
            for row, at, ended, *end in store.rows("SELECT * FROM ends")
        ),
        _sorted(
            (texts[row], names[at], names[ended])
            for row, at, ended in store.rows("SELECT * FROM revision_ends")
        ),
        _sorted(
            (names[added], log, new)
            for added, log, new in store.rows("SELECT added, log, curated FROM promotions")
        ),
        _sorted(
            (lines.get(row), kind, origin, names[begun], one, other, names[ended])
            for row, kind, origin, begun, one, other, ended in store.rows(
                "SELECT occurrence, kind, origin, begun, one, other, ended FROM copy_marks"
            )
        ),
    )


def _line(occurrence: Occurrence, names: Mapping[int | None, str | None]) -> tuple[object, ...]:
    return (
        names[occurrence.begun],
        occurrence.entry,
        occurrence.origin,
        occurrence.also,
        names[occurrence.ended],
        occurrence.fate,
        occurrence.successor,
        occurrence.last,
    )


def _sorted(values: Iterable[tuple[object, ...]]) -> tuple[tuple[object, ...], ...]:
    return tuple(sorted(values, key=repr))
