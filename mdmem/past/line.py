"""The trail as one commit knew it: what the commits of its past did, and nothing else."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from operator import itemgetter
from typing import TypeAlias

from mdmem.model import CommitId, FactId, FilePath, SectionPath
from mdmem.model.trail import (
    CLOSING_MARKS,
    Fate,
    Mark,
    MarkKind,
    Occurrence,
    Ranges,
    Revision,
    StatedRevert,
    TrailCommit,
    holds,
    union,
)
from mdmem.past.rows import (
    END_COLUMNS,
    ENDED_AFTER_CONDITION,
    SELECT_CITING,
    SELECT_LAST_REVISION,
    SELECT_MARKS,
    SELECT_REVISIONS,
    SELECT_REVISIONS_IN_FILE_OF_LINE,
    SELECT_ROWS_OF_LINES,
    WHILE_LIVE_COLUMNS,
    SqlRow,
    blob,
    decoded,
    id_column,
    join_words,
    parse_mark,
    parse_occurrence,
    parse_revert,
    parse_revision,
)
from mdmem.past.steps import outcome_of, with_whole_text
from mdmem.past.storage import Store, parse_rows
from mdmem.past.table import Trail, in_sections

_parsed = lru_cache(8192)(parse_occurrence)
"""Sides of a merge have most of a file in common, and so do successive merges."""
_CONTESTED, _SECTION, _REVISION_END = 3, 5, 9
"""Columns of a revision."""


class LineTrail:
    """A trail without the commits `missing`: it answers as `Trail`, where one is replayed."""

    def __init__(self, trail: Trail, missing: Ranges) -> None:
        self._trail = trail
        self._store: Store = trail.store
        self._missing = missing
        self._low = missing[0][0]

    # Occurrences.

    def live_occurrences(
        self, path: FilePath, among: Collection[SectionPath] | None = None
    ) -> tuple[Occurrence, ...]:
        return parse_rows(_parsed, self._live_rows(path, among))

    def live_numbers(self, path: FilePath, among: Collection[SectionPath]) -> frozenset[int]:
        return frozenset(row[0] for row in self._live_rows(path, among))

    def _live_rows(self, path: FilePath, among: Collection[SectionPath] | None) -> Iterator[SqlRow]:
        condition, sections = in_sections(among)
        rows = []
        for which in (
            "ended IS NULL AND contested < ?",
            "ended >= ? AND contested < ?",
            "contested >= ? AND contested",
        ):
            values = [self._low] * which.count("?")
            rows += self._store.rows(
                f"{SELECT_ROWS_OF_LINES} WHERE path = ? {condition} AND {which}",
                blob(path),
                *sections,
                *values,
            )
        rows.sort(key=itemgetter(0))
        return (
            row[:WHILE_LIVE_COLUMNS]
            for row in self._as_known(rows)
            if len(row) == WHILE_LIVE_COLUMNS
        )

    def occurrences_of(self, fact: FactId, nested: bool = False) -> tuple[Occurrence, ...]:
        rows = self._store.rows(
            f"{SELECT_ROWS_OF_LINES} WHERE {id_column(nested)} = ? ORDER BY number", blob(fact)
        )
        return parse_rows(parse_occurrence, self._as_known(rows))

    def logged_facts_citing(self, cited: str) -> tuple[FactId, ...]:
        rows = self._store.rows(SELECT_CITING, blob(f"\n{cited}\n"))
        return tuple(
            sorted(
                {FactId(decoded(fact)) for fact, added in rows if not holds(self._missing, added)}
            )
        )

    def occurrences_ended(self, after: int, upto: int) -> tuple[Occurrence, ...]:
        among = (
            "number IN (SELECT number FROM occurrences WHERE ended > ? AND ended <= ? UNION SELECT"
            " occurrence FROM ends WHERE ended > ? AND ended <= ?)"
        )
        rows = self._store.rows(
            f"{SELECT_ROWS_OF_LINES} WHERE {among} ORDER BY number", after, upto, after, upto
        )
        return tuple(
            each
            for each in parse_rows(parse_occurrence, self._as_known(rows))
            if each.ended and after < each.ended <= upto
        )

    def order(self, number: int) -> tuple[int, CommitId]:
        return self._trail.order(number)

    def replaced_after(self, path: FilePath, time: int) -> tuple[Occurrence, ...]:
        rows = self._store.rows(
            f"{SELECT_ROWS_OF_LINES} WHERE {ENDED_AFTER_CONDITION} ORDER BY number",
            path=blob(path),
            time=time,
        )
        return tuple(
            each
            for each in parse_rows(parse_occurrence, self._as_known(rows))
            if each.fate is Fate.SUPERSEDED
        )

    def _as_known(self, rows: Iterable[SqlRow]) -> Iterator[SqlRow]:
        """Rows of `SELECT_ROWS_OF_LINES` known on this line, with their ends there."""
        for *row, added, contested in rows:
            if holds(self._missing, added):
                continue
            live = tuple(row[:WHILE_LIVE_COLUMNS])
            if contested >= self._low:
                outcome = self._outcome("ends", "occurrence", END_COLUMNS, row[0])
                yield live if outcome is None else (*live, *outcome, None)
            elif row[WHILE_LIVE_COLUMNS] is None or holds(self._missing, row[WHILE_LIVE_COLUMNS]):
                yield live
            else:
                yield tuple(row)

    def _outcome(self, table: str, of: str, columns: str, row: int) -> SqlRow | None:
        ends = self._store.rows(f"SELECT at, {columns} FROM {table} WHERE {of} = ?", row)
        return outcome_of(self._store, [end for end in ends if not holds(self._missing, end[0])])

    # Revisions.

    def live_revisions(
        self, path: FilePath, among: Collection[SectionPath] | None = None
    ) -> tuple[Revision, ...]:
        rows = self._store.rows(SELECT_REVISIONS_IN_FILE_OF_LINE, path=blob(path), low=self._low)
        sections = None if among is None else set(map(join_words, among))
        known = (
            row
            for row in rows
            if (sections is None or row[_SECTION] in sections) and self._is_live(row)
        )
        live = ((*row[:_REVISION_END], None, *row[_REVISION_END + 1 :]) for row in known)
        return parse_rows(parse_revision, (with_whole_text(self._store, row) for row in live))

    def _is_live(self, row: SqlRow) -> bool:
        if holds(self._missing, row[2]):
            return False
        if row[_CONTESTED] >= self._low:
            return self._outcome("revision_ends", "revision", "ended", row[0]) is None
        return row[_REVISION_END] is None or holds(self._missing, row[_REVISION_END])

    def last_revision(self, path: FilePath, section: SectionPath, nth: int) -> Revision | None:
        rows = self._store.rows(SELECT_LAST_REVISION, blob(path), join_words(section), nth)
        row = next((row for row in rows if not holds(self._missing, row[2])), None)
        if row is None or any(
            map(self._is_live, self._store.rows(f"{SELECT_REVISIONS} WHERE lineage = ?", row[1]))
        ):
            return None
        return parse_revision(with_whole_text(self._store, row))

    # Marks.

    def _marks(
        self, condition: str, *values: object, include_ended: bool = False
    ) -> tuple[Mark, ...]:
        rows = self._store.rows(
            f"{SELECT_MARKS.replace(' FROM', ', added FROM')} WHERE {condition} ORDER BY number",
            *values,
        )
        known = []
        for *row, added in rows:
            if holds(self._missing, added):
                continue
            if row[-1] is not None and holds(self._missing, row[-1]):
                row[-1] = None
            if include_ended or row[-1] is None:
                known.append(tuple(row))
        return parse_rows(parse_mark, known)

    def marks(self, path: FilePath) -> tuple[Mark, ...]:
        live = {each.number for each in self.live_occurrences(path)}
        return tuple(
            mark
            for mark in self._marks("path = ?", blob(path))
            if mark.kind in CLOSING_MARKS and mark.occurrence in live
        )

    def overruled_marks(self, path: FilePath) -> tuple[Mark, ...]:
        marks = [
            mark for mark in self._marks("path = ?", blob(path)) if mark.kind is MarkKind.OVERRULED
        ]
        live = {each.number for each in self.live_occurrences(path)} if marks else set()
        return tuple(mark for mark in marks if mark.occurrence in live)

    def stated_marks_of(self, number: int) -> tuple[Mark, ...]:
        return tuple(
            mark for mark in self._marks("occurrence = ?", number) if mark.kind in CLOSING_MARKS
        )

    def marks_stated_by(self, commit: CommitId) -> tuple[Mark, ...]:
        return self._marks("origin = ?", blob(commit), include_ended=True)

    def commits_with_marks_from(self, number: int) -> tuple[CommitId, ...]:
        return () if holds(self._missing, number) else self._trail.commits_with_marks_from(number)

    # Reverts and commits.

    def reverts(self) -> tuple[StatedRevert, ...]:
        rows = self._store.rows("SELECT origin, reverted, added FROM reverts ORDER BY number")
        return parse_rows(
            parse_revert, (row[:-1] for row in rows if not holds(self._missing, row[-1]))
        )

    def stating_commit(self, digits: str) -> CommitId | None:
        return self._trail.stating_commit(digits)

    def commit_with_id(self, commit: CommitId) -> TrailCommit | None:
        """The only commit of this line whose id is, or begins with, this one."""
        found = self._trail.commit_with_id(commit)
        return found if found and not holds(self._missing, found.number) else None


EarlierTrail: TypeAlias = Trail | LineTrail
"""The trail of a commit's past, on which it is replayed."""


def past_of(trail: Trail, commit: TrailCommit) -> EarlierTrail:
    """The trail of the past of the commit that comes next."""
    return LineTrail(trail, commit.missing) if commit.missing else trail


def side_of(trail: Trail, merge: TrailCommit, parent: TrailCommit) -> EarlierTrail:
    """The trail of one side of the merge that comes next: of a parent and its past."""
    later = ((parent.number + 1, merge.number - 1),) if parent.number < merge.number - 1 else ()
    missing = union(parent.missing, later)
    return LineTrail(trail, missing) if missing else trail
