"""Steps: all that one mainline commit did, and the rows that this adds and changes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import ExitStack
from itertools import islice

from mdmem.model import CommitId, FactId, FilePath
from mdmem.model.trail import Entry, Fate, MainlineCommit, Mark, MergedLine, Occurrence, Revision, StatedRevert
from mdmem.startup.records import dataclass
from mdmem.trail.revision_texts import lineage_rows, shorten
from mdmem.trail.rows import SqlRow, blob, bulk_blob, join_words, last_columns, maybe_blob, occurrence_rows
from mdmem.trail.storage import Store, broken_trail

_MANY_OCCURRENCES = 1000
"""From so many on in a first commit, indexing them in the end saves more than making the indices anew takes."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of the occurrence in row `number`. `entry` has the lines, tags and date of the last commit that had it."""

    number: int
    entry: Entry
    fate: Fate
    successor: FactId | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """All that one mainline commit did.

    `ended_revisions` are rows; a revision with the lineage 0 begins its own. A mark on an occurrence that begins in this very step has, for
    its row, the negative of its position in `begun`, counted from 1. `reverts` are those that it states, in their order; `reverted_commits`
    have marks that end here. `paths` are the memory files touched. `merged_lines` are those that a merge has from side commits, each of a file once.
    """

    ended: tuple[Ending, ...] = ()
    begun: tuple[Occurrence, ...] = ()
    ended_revisions: tuple[int, ...] = ()
    revisions: tuple[Revision, ...] = ()
    marks: tuple[Mark, ...] = ()
    reverts: tuple[StatedRevert, ...] = ()
    reverted_commits: tuple[CommitId, ...] = ()
    paths: tuple[FilePath, ...] = ()
    merged_lines: tuple[MergedLine, ...] = ()


def append(store: Store, commit: MainlineCommit, step: Step) -> None:
    """Add a commit and what it did, as `Trail.append`."""
    number = commit.number
    with ExitStack() as contexts:
        contexts.enter_context(store.writing())
        if number == 1 and len(step.begun) >= _MANY_OCCURRENCES:
            contexts.enter_context(store.filling())
        _add_commit(store, commit)
        store.run_many("INSERT OR IGNORE INTO touched VALUES (?, ?)", [(number, blob(path)) for path in step.paths])
        _add_merged_lines(store, number, step.merged_lines)
        _end_occurrences(store, number, step.ended)
        _add_reverts(store, number, step.reverts)
        store.run_many(
            "UPDATE marks SET ended = ? WHERE origin = ? AND ended IS NULL", [(number, blob(commit)) for commit in step.reverted_commits]
        )
        first = _begin_occurrences(store, number, step.begun)
        _end_revisions(store, number, step.ended_revisions)
        _begin_revisions(store, number, step.revisions)
        _add_marks(store, number, step.marks, first, step.begun)


def _add_commit(store: Store, commit: MainlineCommit) -> None:
    newest = store.rows("SELECT number, reached FROM landmarks ORDER BY number DESC LIMIT 1")
    dated = commit.time if commit.committed is None else min(commit.time, commit.committed)
    last, reached = newest[0] if newest else (0, dated)
    if commit.number != last + 1:
        raise ValueError(f"commit {commit.number} does not follow {last}")
    columns = (blob(commit.commit), commit.time, blob(commit.author), blob(commit.message), int(commit.merge))
    store.run("INSERT INTO landmarks VALUES (?, ?, ?, ?, ?, ?, ?, ?)", commit.number, dated, max(reached, dated), *columns)


def _add_merged_lines(store: Store, number: int, lines: Sequence[MergedLine]) -> None:
    first = _next_row(store, "sides") if lines else 0
    side_rows = {commit: row for row, commit in enumerate(dict.fromkeys(line.commit for line in lines), first)}
    store.run_many(
        "INSERT INTO sides VALUES (?, ?, ?, ?, ?, ?)",
        [(row, number, blob(commit.id), commit.time, blob(commit.author), blob(commit.message)) for commit, row in side_rows.items()],
    )
    store.run_many(
        "INSERT INTO brought VALUES (?, ?, ?, ?)",
        [(number, bulk_blob(line.path), bulk_blob(line.line), side_rows[line.commit]) for line in lines],
    )


def _add_reverts(store: Store, number: int, reverts: Sequence[StatedRevert]) -> None:
    store.run_many("INSERT INTO reverts VALUES (NULL, ?, ?, ?)", [(number, blob(each.commit), blob(each.reverted)) for each in reverts])


def _end_occurrences(store: Store, number: int, endings: Sequence[Ending]) -> None:
    changed = store.run_many(
        "UPDATE occurrences SET ended = ?, fate = ?, successor = ?, last_start = ?, last_end = ?, last_tags = ?, last_until = ?"
        " WHERE number = ? AND ended IS NULL",
        [(number, each.fate.value, maybe_blob(each.successor), *last_columns(each.entry), each.number) for each in endings],
    )
    if changed != len(endings):
        raise broken_trail(f"commit {number} ends an occurrence that is not live")


def _begin_occurrences(store: Store, number: int, begun: Sequence[Occurrence]) -> int:
    """Add occurrences; the row of the first."""
    if any(occurrence.begun != number for occurrence in begun):
        raise ValueError(f"commit {number} begins an occurrence of another one")
    first = _next_row(store, "occurrences")
    store.run_many(f"INSERT INTO occurrences VALUES ({', '.join('?' * 24)}{', NULL' * 7})", occurrence_rows(begun, number, first))
    return first


def _end_revisions(store: Store, number: int, rows: Sequence[int]) -> None:
    changed = store.run_many("UPDATE revisions SET ended = ? WHERE number = ? AND ended IS NULL", [(number, row) for row in rows])
    if changed != len(rows):
        raise broken_trail(f"commit {number} ends a revision that is not live")


def _begin_revisions(store: Store, number: int, begun: Sequence[Revision]) -> None:
    if any(revision.begun != number for revision in begun):
        raise ValueError(f"commit {number} begins a revision of another one")
    waiting: list[SqlRow] = []
    for row, revision in enumerate(begun, _next_row(store, "revisions") if begun else 0):
        if revision.lineage:
            _insert_revisions(store, waiting)
            waiting.clear()
            shorten(store, revision.lineage, row, blob(revision.text))
        location = bulk_blob(revision.path), bytearray(join_words(revision.section)), revision.nth
        unchanged = int(revision.unchanged_text)
        waiting.append((row, revision.lineage or row, number, *location, unchanged, bulk_blob(revision.text)))
    _insert_revisions(store, waiting)


def _insert_revisions(store: Store, rows: Sequence[SqlRow]) -> None:
    store.run_many("INSERT INTO revisions VALUES (?, ?, ?, ?, ?, ?, ?, NULL, NULL, 0, 0, ?)", rows)


def _add_marks(store: Store, number: int, marks: Sequence[Mark], first: int, begun: Sequence[Occurrence]) -> None:
    """Add marks; `first` is the row of the first occurrence of those that began in the same step."""
    for mark in marks:
        row, path = mark.occurrence, None
        if row < 0:
            path = blob(begun[-row - 1].entry.path)
            row = first - row - 1
        elif row:
            ((path,),) = store.rows("SELECT path FROM occurrences WHERE number = ?", row) or [(None,)]
        if row and path is None:
            raise broken_trail(f"commit {number} marks an occurrence that is not there")
        store.run(
            "INSERT INTO marks VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(mark.kind.value, blob(mark.commit), mark.begun, blob(mark.fact), maybe_blob(mark.other), row, mark.ended, number, path),
        )


def cut(store: Store, number: int, dropped_commits: Iterable[tuple[MainlineCommit, Collection[FilePath]]]) -> None:
    """Take out what the mainline commits after `number` did; each is noted with the files in which it changed something."""
    for commit, paths in dropped_commits:
        store.run("INSERT INTO dropped VALUES (NULL, ?, ?, ?)", blob(commit.commit), commit.number, join_words(tuple(sorted(paths))))
    _cut_revisions(store, number)
    store.run("DELETE FROM occurrences WHERE number > ?", _last_row(store, "occurrences", "begun", number))
    store.run(
        "UPDATE occurrences SET ended = NULL, fate = NULL, successor = NULL,"
        " last_start = NULL, last_end = NULL, last_tags = NULL, last_until = NULL WHERE ended > ?",
        number,
    )
    store.run("DELETE FROM marks WHERE added > ?", number)
    store.run("UPDATE marks SET ended = NULL WHERE ended > ?", number)
    store.run("DELETE FROM reverts WHERE number > ?", _last_row(store, "reverts", "landmark", number))
    store.run("DELETE FROM brought WHERE landmark > ?", number)
    store.run("DELETE FROM sides WHERE number > ?", _last_row(store, "sides", "landmark", number))
    store.run("DELETE FROM touched WHERE landmark > ?", number)
    store.run("DELETE FROM landmarks WHERE number > ?", number)


def _cut_revisions(store: Store, number: int) -> None:
    last = _last_row(store, "revisions", "begun", number)
    for (lineage,) in set(store.rows("SELECT lineage FROM revisions WHERE number > ?", last)):
        for row in islice((row for row in lineage_rows(store, lineage) if row[0] <= last), 1):
            store.run("UPDATE revisions SET next = NULL, head = 0, tail = 0, text = ? WHERE number = ?", row[-1], row[0])
    store.run("DELETE FROM revisions WHERE number > ?", last)
    store.run("UPDATE revisions SET ended = NULL WHERE ended > ?", number)


def _next_row(store: Store, table: str) -> int:
    ((row,),) = store.rows(f"SELECT coalesce(max(number), 0) + 1 FROM {table}")
    return int(row)


def _last_row(store: Store, table: str, column: str, number: int) -> int:
    """The last row that a mainline commit up to `number` added; looked for from the end, where the newer rows are."""
    rows = store.rows(f"SELECT number FROM {table} WHERE {column} <= ? ORDER BY number DESC LIMIT 1", number)
    return int(rows[0][0]) if rows else 0
