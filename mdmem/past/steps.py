"""Steps: all that one commit did, and the rows that this adds and changes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import ExitStack
from itertools import islice

from mdmem.model import CommitId, FactId, FilePath
from mdmem.model.trail import (
    Entry,
    Fate,
    Mark,
    Occurrence,
    Ranges,
    Revision,
    StatedRevert,
    TrailCommit,
    complement,
    intersection,
    union,
)
from mdmem.past import ends
from mdmem.past.ends import OCCURRENCE_ENDS, REVISION_ENDS, last_row, lineage_rows, shorten
from mdmem.past.rows import (
    SqlRow,
    blob,
    bulk_blob,
    commit_row,
    join_numbers,
    join_words,
    last_columns,
    mark_row,
    maybe_blob,
    occurrence_rows,
)
from mdmem.past.storage import Store, broken_trail
from mdmem.startup.records import dataclass, replace

_MANY_OCCURRENCES = 1000
"""A first commit with more occurrences saves time by making the indices anew."""


DAY_SECONDS = 24 * 60 * 60


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of the occurrence in row `number`; `entry` is as the last commit had it.

    `by` is the number of the commit that is told as the end; None: the step's own.
    """

    number: int
    entry: Entry
    fate: Fate
    successor: FactId | None = None
    by: int | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """All that one commit did.

    `ended_revisions` are rows; a revision with lineage 0 begins its own. A mark on an occurrence
    that begins in this step has the negative of its position in `begun`, from 1, as its row.
    `reverts` are in the stated order; the marks of `reverted_commits` end here. `paths` are the
    memory files touched. `restored` and `restored_revisions` are rows that a side of a merge had
    ended and the merge has.
    """

    ended: tuple[Ending, ...] = ()
    begun: tuple[Occurrence, ...] = ()
    ended_revisions: tuple[int, ...] = ()
    revisions: tuple[Revision, ...] = ()
    marks: tuple[Mark, ...] = ()
    reverts: tuple[StatedRevert, ...] = ()
    reverted_commits: tuple[CommitId, ...] = ()
    paths: tuple[FilePath, ...] = ()
    restored: tuple[int, ...] = ()
    restored_revisions: tuple[int, ...] = ()
    joined_revisions: tuple[tuple[int, int], ...] = ()
    """Revisions that go on in others, with the commits that brought these in."""
    ended_otherwise: tuple[Ending, ...] = ()
    """New ends of occurrences that had ended already."""
    promotions: tuple[tuple[FactId, FactId], ...] = ()
    """Facts of logs taken into curated files, with the facts that they became there."""


def append(store: Store, commit: TrailCommit, step: Step) -> None:
    number = commit.number
    with ExitStack() as contexts:
        contexts.enter_context(store.writing())
        if number == 1 and len(step.begun) >= _MANY_OCCURRENCES:
            contexts.enter_context(store.filling())
        _add_commit(store, commit)
        has_lines = bool(commit.missing) or commit.is_merge
        store.run_many(
            "INSERT OR IGNORE INTO touched VALUES (?, ?)",
            [(number, blob(path)) for path in step.paths],
        )
        _end_occurrences(store, number, step, has_lines=has_lines)
        store.run_many(
            "INSERT INTO reverts VALUES (NULL, ?, ?, ?)",
            [(number, blob(each.commit), blob(each.reverted)) for each in step.reverts],
        )
        store.run_many(
            "UPDATE marks SET ended = ? WHERE origin = ? AND ended IS NULL",
            [(number, blob(commit)) for commit in step.reverted_commits],
        )
        first = _begin_occurrences(store, commit, step.begun)
        _end_revisions(store, number, step, has_lines=has_lines)
        _begin_revisions(store, number, step.revisions)
        _add_marks(store, number, step.marks, first, step.begun)
        store.run_many(
            "INSERT OR IGNORE INTO promotions VALUES (?, ?, ?)",
            [(blob(log), number, blob(new)) for log, new in step.promotions],
        )


def _add_commit(store: Store, commit: TrailCommit) -> None:
    ((last,),) = store.rows("SELECT coalesce(max(number), 0) FROM commits")
    if commit.number != last + 1:
        raise ValueError(f"commit {commit.number} does not follow {last}")
    store.run(
        "INSERT INTO commits VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", *commit_row(commit)
    )


def bring(store: Store, commits: Iterable[TrailCommit]) -> None:
    for each in commits:
        store.run(
            "UPDATE commits SET time = :time, committed = :committed, moment = :moment,"
            " author = :author, email = :email, brought = :brought WHERE number = :number",
            time=each.time,
            committed=each.committed,
            moment=each.moment,
            author=blob(each.author),
            email=blob(each.email),
            brought=each.brought,
            number=each.number,
        )
        author = blob(f"{each.author} <{each.email}>")
        store.run(
            "UPDATE occurrences SET origin_time = ?, author = ? WHERE origin = ?",
            each.time,
            author,
            blob(each.commit),
        )
        store.run(
            "INSERT OR IGNORE INTO touched SELECT ?, path FROM touched WHERE number = ?",
            each.brought,
            each.number,
        )
        store.run("INSERT OR IGNORE INTO reopened VALUES (?)", each.number)


def with_past(commit: TrailCommit, parents: Sequence[TrailCommit]) -> TrailCommit:
    """A commit with its moment, parents (in an order independent of who merged), and gaps.

    A clock more than a day behind a parent's moment is wrong: the moment is then the parent's.
    """
    parents = sorted(parents, key=lambda parent: (parent.moment, parent.commit))
    latest = max((parent.moment for parent in parents), default=commit.committed)
    is_wrong = commit.committed < latest - DAY_SECONDS
    return replace(
        commit,
        parents=tuple(parent.number for parent in parents),
        missing=missing_below(commit.number, parents),
        moment=(
            latest
            if is_wrong
            else (
                commit.committed
                if commit.brought is not None
                else min(commit.time, commit.committed)
            )
        ),
    )


def missing_below(number: int, parents: Sequence[TrailCommit]) -> Ranges:
    """The numbers below `number` that none of some commits reaches."""
    missing = complement((), number - 1)
    for parent in parents:
        since = ((parent.number + 1, number - 1),) if parent.number < number - 1 else ()
        missing = intersection(missing, union(parent.missing, since))
    return missing


def _end_occurrences(store: Store, number: int, step: Step, *, has_lines: bool) -> None:
    own = [each for each in step.ended if each.by is None]
    changed = store.run_many(
        "UPDATE occurrences SET ended = ?, fate = ?, successor = ?, last_start = ?, last_end = ?,"
        " last_tags = ?, last_until = ? WHERE number = ? AND ended IS NULL AND NOT contested",
        [(*_end_columns(number, each), each.number) for each in own],
    )
    contested = [each for each in step.ended if each.by is not None]
    if changed != len(own):
        ended = {
            row
            for (row,) in store.rows(
                "SELECT number FROM occurrences WHERE ended = ? AND NOT contested", number
            )
        }
        contested += [each for each in own if each.number not in ended]
        if len({each.number for each in own}) < len(own):
            raise broken_trail(f"commit {number} ends an occurrence twice")
    if (
        contested
        and not has_lines
        and not _are_contested(store, "occurrences", [each.number for each in contested])
    ):
        raise broken_trail(f"commit {number} ends an occurrence that is not live")
    OCCURRENCE_ENDS.add(
        store, number, [(each.number, _end_columns(number, each)) for each in contested]
    )
    OCCURRENCE_ENDS.add(
        store, number, [(each.number, _end_columns(number, each)) for each in step.ended_otherwise]
    )
    OCCURRENCE_ENDS.add(store, number, [(row, (None,) * 7) for row in step.restored])


def _end_columns(number: int, ending: Ending) -> SqlRow:
    by = number if ending.by is None else ending.by
    return by, ending.fate.value, maybe_blob(ending.successor), *last_columns(ending.entry)


def _are_contested(store: Store, table: str, rows: Sequence[int]) -> bool:
    return all(
        store.rows(f"SELECT 1 FROM {table} WHERE number = ? AND contested", row) for row in rows
    )


def _begin_occurrences(store: Store, commit: TrailCommit, begun: Sequence[Occurrence]) -> int:
    """Add occurrences, backdating those that a merge put together; the row of the first."""
    number = commit.number
    if any(
        occurrence.begun != number and not (commit.is_merge and commit.reaches(occurrence.begun))
        for occurrence in begun
    ):
        raise ValueError(f"commit {number} begins an occurrence of another one")
    first = _next_row(store, "occurrences")
    store.run_many(
        f"INSERT INTO occurrences VALUES ({', '.join('?' * 28)}{', NULL' * 7})",
        occurrence_rows(begun, number, first),
    )
    return first


def _end_revisions(store: Store, number: int, step: Step, *, has_lines: bool) -> None:
    rows = step.ended_revisions
    changed = store.run_many(
        "UPDATE revisions SET ended = ? WHERE number = ? AND ended IS NULL AND NOT contested",
        [(number, row) for row in rows],
    )
    if changed != len(rows):
        ended = {
            row
            for (row,) in store.rows(
                "SELECT number FROM revisions WHERE ended = ? AND NOT contested", number
            )
        }
        contested = [row for row in rows if row not in ended]
        if not has_lines and not _are_contested(store, "revisions", contested):
            raise broken_trail(f"commit {number} ends a revision that is not live")
        REVISION_ENDS.add(store, number, [(row, (number,)) for row in contested])
    REVISION_ENDS.add(store, number, [(row, (None,)) for row in step.restored_revisions])
    REVISION_ENDS.add(store, number, [(row, (by,)) for row, by in step.joined_revisions])


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
        unchanged, previous = int(revision.unchanged_text), join_numbers(revision.previous)
        waiting.append(
            (
                row,
                revision.lineage or row,
                number,
                *location,
                unchanged,
                previous,
                bulk_blob(revision.text),
            )
        )
    _insert_revisions(store, waiting)


def _insert_revisions(store: Store, rows: Sequence[SqlRow]) -> None:
    store.run_many(
        "INSERT INTO revisions VALUES (?, ?, ?, 0, ?, ?, ?, ?, ?, NULL, NULL, 0, 0, ?)", rows
    )


def _add_marks(
    store: Store, number: int, marks: Sequence[Mark], first: int, begun: Sequence[Occurrence]
) -> None:
    for mark in marks:
        row, path = mark.occurrence, None
        if row < 0:
            path = blob(begun[-row - 1].entry.path)
            row = first - row - 1
        elif row:
            ((path,),) = store.rows("SELECT path FROM occurrences WHERE number = ?", row) or [
                (None,)
            ]
        if row and path is None:
            raise broken_trail(f"commit {number} marks an occurrence that is not there")
        store.run(
            "INSERT INTO marks VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *mark_row(mark, row, number, path),
        )


def cut(
    store: Store, number: int, dropped_commits: Iterable[tuple[TrailCommit, Collection[FilePath]]]
) -> None:
    """Remove what the commits after `number` did; note each with the files that it changed."""
    for commit, paths in dropped_commits:
        store.run(
            "INSERT INTO dropped VALUES (NULL, ?, ?, ?)",
            blob(commit.commit),
            commit.number,
            join_words(tuple(sorted(paths))),
        )
    _cut_revisions(store, number)
    last = last_row(store, "occurrences", "added", number)
    store.run("DELETE FROM occurrences WHERE number > ?", last)
    OCCURRENCE_ENDS.cut(store, number, last)
    ends.cut(store, number, last)
    store.run("DELETE FROM marks WHERE added > ?", number)
    store.run("UPDATE marks SET ended = NULL WHERE ended > ?", number)
    store.run("DELETE FROM reverts WHERE number > ?", last_row(store, "reverts", "added", number))
    store.run("DELETE FROM touched WHERE number > ?", number)
    store.run("DELETE FROM commits WHERE number > ?", number)


def _cut_revisions(store: Store, number: int) -> None:
    last = last_row(store, "revisions", "begun", number)
    for (lineage,) in set(store.rows("SELECT lineage FROM revisions WHERE number > ?", last)):
        for row in islice((row for row in lineage_rows(store, lineage) if row[0] <= last), 1):
            store.run(
                "UPDATE revisions SET next = NULL, head = 0, tail = 0, text = ? WHERE number = ?",
                row[-1],
                row[0],
            )
    store.run("DELETE FROM revisions WHERE number > ?", last)
    REVISION_ENDS.cut(store, number, last)


def _next_row(store: Store, table: str) -> int:
    ((row,),) = store.rows(f"SELECT coalesce(max(number), 0) + 1 FROM {table}")
    return int(row)
