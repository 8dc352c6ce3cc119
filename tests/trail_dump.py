"""All that a trail says, as one value, to compare trails."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mdmem.model.trail import Occurrence
from mdmem.past.rows import (
    SELECT_COMMITS,
    SELECT_OCCURRENCES,
    SELECT_REVERTS,
    parse_commit,
    parse_occurrence,
    parse_revert,
    parse_revision,
)
from mdmem.past.steps import lineage_rows
from mdmem.past.storage import parse_rows
from mdmem.past.table import Trail


def dump(trail: Trail) -> tuple[tuple[object, ...], ...]:
    """All that a trail says, comparable: equal for equal commits, however they arrived."""
    store = trail._store
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
