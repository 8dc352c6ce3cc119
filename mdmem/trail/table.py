"""The open trail: everything that can be asked of it, and the two ways in which it changes."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Self

from mdmem.model import CommitId, FactId, FilePath, SectionPath
from mdmem.model.trail import Commit, MainlineCommit, Mark, Occurrence, Origin, Revision, StatedRevert
from mdmem.trail import steps, verification
from mdmem.trail.revision_texts import lineage_rows, with_whole_text
from mdmem.trail.rows import (
    beginning,
    blob,
    decoded,
    join_words,
    parse_commit,
    parse_dropped,
    parse_mark,
    parse_occurrence,
    parse_revert,
    parse_revision,
    parse_shared_origin,
    parse_side_commit,
)
from mdmem.trail.statements import (
    CLOSING_MARKS_CONDITION,
    PAIR_MARKS_CONDITION,
    SELECT_BEGINNING_WITH,
    SELECT_COMMITS,
    SELECT_LIVE_MARKS_IN_FILE,
    SELECT_LIVE_OCCURRENCES,
    SELECT_LIVE_ORIGINS_IN_FILE,
    SELECT_MARKS,
    SELECT_NEWEST_REVISIONS_IN_FILE,
    SELECT_OCCURRENCES,
    SELECT_OVERRULED_MARKS_IN_FILE,
    SELECT_PAIR_MARKS_AT,
    SELECT_PATHS_CHANGED_BETWEEN,
    SELECT_PREDECESSORS,
    SELECT_REVERTS,
    SELECT_REVISIONS,
    SELECT_SECTION_CHANGES,
    SELECT_SIDE_COMMITS,
    SELECT_STATING_COMMITS,
    SELECT_WITH_ATTRIBUTE,
)
from mdmem.trail.steps import Step
from mdmem.trail.storage import Store, parse_rows

_NO_LIMIT = -1
_LAST_NUMBER = _LAST_TIME = 2**62
_LAST_CHARACTER = b"\xff"
"""Comes after every byte of UTF-8."""


class Trail:
    """The mainline commits with their occurrences, revisions and marks.

    Whoever is going to write opens it while holding the trail's lock: this object does not see a file that replaces its own meanwhile.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    @classmethod
    def open(cls, folder: Path, settings: str) -> Self:
        """The trail in a folder; an empty one where there is none that can be used, or where the file is for other `settings` (a digest).

        Nothing is created or deleted on disk before the first write.

        Raises:
            StorageProblem: the disk does not give the file.
        """
        return cls(Store.open(folder, settings))

    @classmethod
    def create(cls, folder: Path, settings: str) -> Self:
        """An empty trail that replaces whatever is in the folder at the first write."""
        return cls(Store.create(folder, settings))

    @classmethod
    def in_memory(cls) -> Self:
        """An empty trail without a file."""
        return cls(Store.in_memory())

    def close(self) -> None:
        """Close the file."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # Writing.

    def writing(self) -> AbstractContextManager[None]:
        """One transaction: if it fails, all stays as it was. A transaction inside another is part of that.

        Raises:
            StorageProblem: the disk does not take it, or another process is writing.
        """
        return self._store.writing()

    def settle(self) -> None:
        """Have what was committed written where it stays, as far as the disk takes it; else the last one who closes the file waits for that."""
        self._store.settle()

    def append(self, commit: MainlineCommit, step: Step) -> None:
        """Add the next mainline commit and what it did.

        Raises:
            ValueError: it is not the next one, or the step begins what belongs to another commit.
            BrokenTrail: the step continues what the trail does not have.
            StorageProblem: as `writing`.
        """
        steps.append(self._store, commit, step)

    def cut(self, number: int) -> None:
        """Go back to mainline commit `number` (0: to nothing). The commits dropped are listed until `forget_dropped`."""
        with self.writing():
            steps.cut(self._store, number, [(commit, self._paths(commit.number, commit.number)) for commit in self.commits_after(number)])

    # Commits.

    @property
    def newest_commit(self) -> MainlineCommit | None:
        """The newest mainline commit."""
        return self._commit(f"{SELECT_COMMITS} ORDER BY number DESC LIMIT 1")

    def commit_numbered(self, number: int) -> MainlineCommit | None:
        """The mainline commit with this number."""
        return self._commit(f"{SELECT_COMMITS} WHERE number = ?", number)

    def commit_with_id(self, commit: CommitId) -> MainlineCommit | None:
        """The mainline commit with this id, or with an id that begins so where only one does."""
        statement = f"{SELECT_COMMITS} WHERE id >= ? AND id < ? LIMIT 2"
        commits = self._store.all(parse_commit, statement, blob(commit), blob(commit) + b"\xff")
        return commits[0] if len(commits) == 1 else None

    def last_commit_before(self, time: int, latest: int) -> MainlineCommit | None:
        """The newest mainline commit that counts up to `time`.

        Each counts from the greatest date so far, so that what arrives late changes nothing of the days before it arrived. A date after
        `latest` cannot be right and does not count.
        """
        newest = self.newest_commit
        if newest is None or time >= latest:
            return newest
        number = newest.number
        if self._reached(number) <= latest:
            return self._commit(f"{SELECT_COMMITS} WHERE reached <= ? ORDER BY reached DESC, number DESC LIMIT 1", time)
        ((later,),) = self._store.rows("SELECT min(number) FROM landmarks WHERE dated > ? AND dated <= ?", time, latest)
        number = number if later is None else later - 1
        return None if self.counts_from(number, latest) is None else self.commit_numbered(number)

    def counts_from(self, number: int, latest: int) -> int | None:
        """The time from which on a mainline commit counts, as `last_commit_before`; None where no date up to it can be right."""
        reached = self._reached(number)
        if reached <= latest:
            return reached
        ((dated,),) = self._store.rows("SELECT max(dated) FROM landmarks WHERE number <= ? AND dated <= ?", number, latest)
        return None if dated is None else int(dated)

    def _reached(self, number: int) -> int:
        """The greatest date of the mainline commits up to a number."""
        ((reached,),) = self._store.rows("SELECT reached FROM landmarks WHERE number = ?", number) or [(_LAST_TIME,)]
        return int(reached)

    def commits_after(self, number: int = 0, limit: int | None = None) -> tuple[MainlineCommit, ...]:
        """The mainline commits after a number, oldest first."""
        statement = f"{SELECT_COMMITS} WHERE number > ? ORDER BY number LIMIT ?"
        return self._store.all(parse_commit, statement, number, _NO_LIMIT if limit is None else limit)

    def commits_stating(self, text: str) -> tuple[MainlineCommit, ...]:
        """The mainline commits whose message holds a text, oldest first. All messages are read."""
        return self._store.all(parse_commit, f"{SELECT_COMMITS} WHERE instr(message, ?) ORDER BY number", blob(text))

    def side_commit(self, commit: CommitId) -> Commit | None:
        """The side commit with this id, if a merge has a line from it."""
        return self._side_commit(f"{SELECT_SIDE_COMMITS} WHERE id = ?", blob(commit))

    def any_commit(self, commit: CommitId) -> MainlineCommit | Commit | None:
        """The commit with this id: of the mainline, or a side commit that `side_commit` gives."""
        return self.commit_with_id(commit) or self.side_commit(commit)

    def side_commit_of_line(self, number: int, path: FilePath, line: str) -> Commit | None:
        """The side commit from which a merge, mainline commit `number`, has a line (without white space around it) of a file."""
        statement = f"{SELECT_SIDE_COMMITS} WHERE number = (SELECT side FROM brought WHERE landmark = ? AND path = ? AND line = ?)"
        return self._side_commit(statement, number, blob(path), blob(line))

    def _commit(self, statement: str, *values: object) -> MainlineCommit | None:
        return next(iter(self._store.all(parse_commit, statement, *values)), None)

    def _side_commit(self, statement: str, *values: object) -> Commit | None:
        return next(iter(self._store.all(parse_side_commit, statement, *values)), None)

    # Occurrences.

    def live_occurrences(self, path: FilePath) -> tuple[Occurrence, ...]:
        """The occurrences in a file that have not ended, in the order in which they began."""
        return self._store.all(parse_occurrence, f"{SELECT_LIVE_OCCURRENCES} AND path = ? ORDER BY number", blob(path))

    def all_began_at(self, path: FilePath, number: int) -> bool:
        """True if all live occurrences in a file began with one mainline commit."""
        statement = "SELECT 1 FROM occurrences WHERE path = ? AND ended IS NULL AND begun != ? LIMIT 1"
        return not self._store.rows(statement, blob(path), number)

    def shared_origin(self, path: FilePath) -> tuple[int, Origin, int] | None:
        """The number of the commit with which all live occurrences in a file began, their origin, and how many they are.

        None where there are none, or where they differ.
        """
        origins = self._store.all(parse_shared_origin, SELECT_LIVE_ORIGINS_IN_FILE, blob(path))
        return origins[0] if len(origins) == 1 else None

    def occurrences_of(self, fact: FactId) -> tuple[Occurrence, ...]:
        """Every occurrence of a fact, live or ended, oldest first."""
        return self._store.all(parse_occurrence, f"{SELECT_OCCURRENCES} WHERE fact = ? ORDER BY number", blob(fact))

    def occurrences_with_key(self, key: str) -> tuple[Occurrence, ...]:
        """Every occurrence of facts that begin as those of a key do, bold or not, live or ended, oldest first; the caller looks closer."""
        first = beginning(key)
        return self._store.all(parse_occurrence, SELECT_BEGINNING_WITH, first, first + _LAST_CHARACTER)

    def occurrences_with_attribute(self, attribute: str) -> tuple[Occurrence, ...]:
        """Every occurrence of facts to which a digest gave an attribute as their key, live or ended, oldest first."""
        return self._store.all(parse_occurrence, SELECT_WITH_ATTRIBUTE, blob(attribute))

    def fact_occurrences(self) -> tuple[Occurrence, ...]:
        """Every occurrence of every fact, live or ended, newest first. All of them are read."""
        return self._store.all(parse_occurrence, f"{SELECT_OCCURRENCES} WHERE fact IS NOT NULL ORDER BY number DESC")

    def ids_with_prefix(self, prefix: str) -> tuple[FactId, ...]:
        """The ids of facts that begin with a prefix, in their order."""
        statement = "SELECT DISTINCT fact FROM occurrences WHERE fact >= ? AND fact < ? ORDER BY fact"
        return self._store.all(lambda row: FactId(decoded(row[0])), statement, blob(prefix), blob(prefix) + b"\xff")

    def occurrences_ended(self, after: int, upto: int) -> tuple[Occurrence, ...]:
        """The occurrences that mainline commits after `after` and up to `upto` ended, in this order."""
        statement = f"{SELECT_OCCURRENCES} WHERE ended > ? AND ended <= ? ORDER BY ended, number"
        return self._store.all(parse_occurrence, statement, after, upto)

    def predecessors_of(self, fact: FactId) -> tuple[Occurrence, ...]:
        """The occurrences that a fact replaced, by ending them or by a mark in force; oldest first."""
        return self._store.all(parse_occurrence, SELECT_PREDECESSORS, blob(fact), blob(fact))

    # Marks.

    def marks(self, path: FilePath | None = None, include_ended: bool = False) -> tuple[Mark, ...]:
        """The marks in force, oldest first; with a path those on live occurrences in that file, ended ones too where asked for."""
        if path is None:
            return self._store.all(parse_mark, f"{SELECT_MARKS} WHERE ended IS NULL ORDER BY number")
        return self._store.all(parse_mark, SELECT_LIVE_MARKS_IN_FILE, blob(path), include_ended)

    def overruled_marks(self, path: FilePath) -> tuple[Mark, ...]:
        """The marks that say of live occurrences in a file that they are over, though the file, which is edited in place, keeps them."""
        return self._store.all(parse_mark, SELECT_OVERRULED_MARKS_IN_FILE, blob(path))

    def marks_of(self, number: int, include_ended: bool = False) -> tuple[Mark, ...]:
        """The marks in force by which the occurrence in a row is no longer current, oldest first, ended ones too where asked for."""
        statement = f"{SELECT_MARKS} WHERE occurrence = ? AND (? OR ended IS NULL) AND {CLOSING_MARKS_CONDITION} ORDER BY number"
        return self._store.all(parse_mark, statement, number, include_ended)

    def marks_stated_by(self, commit: CommitId) -> tuple[Mark, ...]:
        """The marks that a commit, on the mainline or on a side, states; ended ones too, oldest first."""
        return self._store.all(parse_mark, f"{SELECT_MARKS} WHERE origin = ? ORDER BY number", blob(commit))

    def commits_with_marks_from(self, number: int) -> tuple[CommitId, ...]:
        """The commits whose marks began with a mainline commit: itself or, of a merge, its side commits. They are in the order of their marks."""
        rows = self._store.rows("SELECT origin FROM marks WHERE begun = ? GROUP BY origin ORDER BY min(number)", number)
        return tuple(CommitId(decoded(commit)) for (commit,) in rows)

    def pair_marks(self, at: int | None = None) -> tuple[Mark, ...]:
        """The marks of two facts that are in force, or were at a mainline commit; oldest first."""
        if at is None:
            return self._store.all(parse_mark, f"{SELECT_MARKS} WHERE {PAIR_MARKS_CONDITION} AND ended IS NULL ORDER BY number")
        return self._store.all(parse_mark, SELECT_PAIR_MARKS_AT, at=at)

    # Reverts.

    def reverts(self) -> tuple[StatedRevert, ...]:
        """Every revert that a commit states, in the order of history. All of them are read."""
        return self._store.all(parse_revert, SELECT_REVERTS)

    def stating_commit(self, digits: str) -> CommitId | None:
        """The commit with marks or reverts whose id begins with these digits; None where several do."""
        rows = self._store.rows(SELECT_STATING_COMMITS, first=blob(digits), end=blob(digits) + _LAST_CHARACTER)
        return CommitId(decoded(rows[0][0])) if len(rows) == 1 else None

    # Revisions.

    def live_revisions(self, path: FilePath, among: Collection[SectionPath] | None = None) -> tuple[Revision, ...]:
        """The revisions in a file that have not ended, in the order in which they began; all, or those of sections `among` these paths."""
        rows = self._store.rows(f"{SELECT_REVISIONS} WHERE path = ? AND ended IS NULL ORDER BY number", blob(path))
        if among is not None:
            sections = set(map(join_words, among))
            rows = [row for row in rows if row[4] in sections]
        return parse_rows(parse_revision, (with_whole_text(self._store, row) for row in rows))

    def revisions(self, lineage: int, limit: int | None = None, include_unchanged: bool = False) -> tuple[Revision, ...]:
        """The revisions of one section, newest first; those that changed no text only where asked for."""
        rows = (row for row in lineage_rows(self._store, lineage) if include_unchanged or not row[6])
        return parse_rows(parse_revision, islice(rows, limit))

    def live_paths(self) -> dict[FilePath, int]:
        """The files with live revisions, each with the number of the first commit that gave it one. All revisions are read."""
        rows = self._store.rows("SELECT path, min(begun) FROM revisions GROUP BY path HAVING max(ended IS NULL)")
        return {FilePath(decoded(path)): number for path, number in rows}

    def newest_revisions(self, path: FilePath | None = None) -> tuple[Revision, ...]:
        """The newest revision of each section, live or ended; with a path of each that ever was in that file."""
        if path is None:
            return self._store.all(parse_revision, f"{SELECT_REVISIONS} WHERE next IS NULL ORDER BY lineage")
        return self._store.all(parse_revision, SELECT_NEWEST_REVISIONS_IN_FILE, path=blob(path))

    def section_changes(self, path: FilePath | None, limit: int) -> tuple[tuple[MainlineCommit, Revision | None, Revision | None], ...]:
        """The newest changes of sections, newest first: the commit, the revision before and the one after (None: there is none).

        With a path those of sections that are or were in that file, under earlier names too.
        """
        changes = []
        for number, lineage, commit_number, is_end in self._store.rows(
            SELECT_SECTION_CHANGES, path=None if path is None else blob(path), limit=limit
        ):
            commit = self.commit_numbered(commit_number)
            rows = (row for row in lineage_rows(self._store, lineage) if row[0] <= number and (row[0] == number or not row[6]))
            revision, before = (*parse_rows(parse_revision, islice(rows, 2)), None)[:2]
            if commit is not None:
                changes.append((commit, revision, None) if is_end else (commit, before, revision))
        return tuple(changes)

    def revisions_containing(self, text: str) -> tuple[Revision, ...]:
        """The revisions that contain a text as it is written, oldest first. Every revision is read."""
        lineages = [lineage for (lineage,) in self._store.rows("SELECT lineage FROM revisions WHERE next IS NULL")]
        rows = [row for lineage in lineages for row in lineage_rows(self._store, lineage) if blob(text) in row[-1]]
        return parse_rows(parse_revision, sorted(rows, key=lambda row: int(row[0])))

    # For the index.

    def last_touches(self) -> dict[FilePath, int]:
        """The number of the last mainline commit that touched each file."""
        rows = self._store.rows("SELECT path, max(landmark) FROM touched GROUP BY path")
        return {FilePath(decoded(path)): number for path, number in rows}

    def paths_since(self, number: int) -> set[FilePath]:
        """The files that mainline commits after `number` touched, and those with entries that their new or ended marks concern.

        Where two facts are marked as contradicting each other, a change of one concerns the file of the other.
        """
        return self._paths(number + 1, _LAST_NUMBER)

    def _paths(self, first: int, last: int) -> set[FilePath]:
        paths = self._store.all(lambda row: FilePath(decoded(row[0])), SELECT_PATHS_CHANGED_BETWEEN, first=first, last=last)
        return set(paths)

    def dropped_commits(self) -> tuple[tuple[CommitId, int, tuple[FilePath, ...]], ...]:
        """The commits that were cut away: id, number and the files in which each changed something."""
        return self._store.all(parse_dropped, "SELECT id, number, paths FROM dropped ORDER BY row")

    def forget_dropped(self) -> None:
        """Empty the list of commits that were cut away."""
        with self.writing():
            self._store.run("DELETE FROM dropped")

    # The whole trail.

    def dump(self) -> tuple[tuple[object, ...], ...]:
        """All that the trail says, as a value that can be compared; rows are numbered by their order."""
        return verification.dump(self._store)
