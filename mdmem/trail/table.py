"""The open table: all that may be asked of it, and the two ways in which it changes."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Self

from mdmem.model import CommitId, FactId, FilePath, SectionPath
from mdmem.model.trail import Commit, MainlineCommit, Mark, MarkKind, Occurrence, Revision
from mdmem.startup.records import replace
from mdmem.trail import steps
from mdmem.trail.revision_texts import lineage_rows, with_whole_text
from mdmem.trail.rows import (
    PAIR_MARKS_CONDITION,
    SELECT_COMMITS,
    SELECT_LIVE_OCCURRENCES,
    SELECT_MARKS,
    SELECT_OCCURRENCES,
    SELECT_REVISIONS,
    SELECT_SIDE_COMMITS,
    SqlRow,
    as_dropped,
    as_landmark,
    as_mark,
    as_occurrence,
    as_revision,
    as_side,
    blob,
    decoded,
    join_words,
)
from mdmem.trail.steps import Step
from mdmem.trail.storage import Store, broken_trail, parsed


class Trail:
    """Landmarks, occurrences, revisions and marks.

    Whoever is going to write opens it while holding the trail's lock: what replaces the file meanwhile is not seen by this object.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    @classmethod
    def open(cls, folder: Path, settings: str) -> Self:
        """The table in a folder, empty where there is none that can be used, or where `settings` (a digest) are not those of the file.

        Nothing is made or deleted on disk before the first write.

        Raises:
            StorageProblem: the disk does not give the file.
        """
        return cls(Store.open(folder, settings))

    @classmethod
    def create(cls, folder: Path, settings: str) -> Self:
        """An empty table that takes the place of whatever the folder holds, at the first write."""
        return cls(Store.create(folder, settings))

    @classmethod
    def in_memory(cls) -> Self:
        """An empty table that leaves nothing behind."""
        return cls(Store.in_memory())

    def close(self) -> None:
        """Let go of the file."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # Writing.

    def writing(self) -> AbstractContextManager[None]:
        """One transaction: what fails in it leaves all as it was. One inside another is part of it.

        Raises:
            StorageProblem: the disk does not take it, or another process is writing.
        """
        return self._store.writing()

    def append(self, landmark: MainlineCommit, step: Step) -> None:
        """Add the next landmark and what it did.

        Raises:
            ValueError: it is not the next one, or begins what belongs to another one.
            BrokenVersions: the step goes on from what the table does not hold.
            StorageProblem: as `writing`.
        """
        steps.append(self._store, landmark, step)

    def cut(self, number: int) -> None:
        """Go back to landmark `number` (0: to nothing). What is dropped is remembered until `forget_dropped`."""
        with self.writing():
            steps.cut(self._store, number, [(one, self._paths(one.number, one.number)) for one in self.commits_after(number)])

    # Landmarks.

    @property
    def newest_commit(self) -> MainlineCommit | None:
        """The newest landmark."""
        return self._one_landmark(f"{SELECT_COMMITS} ORDER BY number DESC LIMIT 1")

    def commit_numbered(self, number: int) -> MainlineCommit | None:
        """The landmark of a number."""
        return self._one_landmark(f"{SELECT_COMMITS} WHERE number = ?", number)

    def commit_with_id(self, commit: CommitId) -> MainlineCommit | None:
        """The landmark that is this commit."""
        return self._one_landmark(f"{SELECT_COMMITS} WHERE id = ?", blob(commit))

    def side_commit_of_line(self, number: int, path: FilePath, line: str) -> Commit | None:
        """The commit from which a merge, the landmark of a number, has a line (without white space around it) of a file."""
        asked = f"{SELECT_SIDE_COMMITS} WHERE number = (SELECT side FROM brought WHERE landmark = ? AND path = ? AND line = ?)"
        return next(iter(self._store.all(as_side, asked, number, blob(path), blob(line))), None)

    def side_commit(self, commit: CommitId) -> Commit | None:
        """The commit of this id, if a merge has a line from it."""
        return next(iter(self._store.all(as_side, f"{SELECT_SIDE_COMMITS} WHERE id = ?", blob(commit))), None)

    def last_commit_before(self, time: int) -> MainlineCommit | None:
        """The landmark with the highest number whose author time is not after `time`."""
        found = self._store.rows("SELECT number FROM landmarks WHERE reached <= ? ORDER BY reached DESC, number DESC LIMIT 1", time)
        number = found[0][0] if found else 0
        late = self._store.rows(
            "SELECT number FROM landmarks WHERE time < reached AND time <= ? AND number > ? ORDER BY number DESC LIMIT 1", time, number
        )
        return self.commit_numbered(late[0][0] if late else number)

    def commits_after(self, above: int = 0, limit: int | None = None) -> tuple[MainlineCommit, ...]:
        """The landmarks after number `above`, oldest first."""
        return self._store.all(
            as_landmark, f"{SELECT_COMMITS} WHERE number > ? ORDER BY number LIMIT ?", above, -1 if limit is None else limit
        )

    def _one_landmark(self, asked: str, *values: object) -> MainlineCommit | None:
        return next(iter(self._store.all(as_landmark, asked, *values)), None)

    # Occurrences.

    def live_occurrences(self, path: FilePath) -> tuple[Occurrence, ...]:
        """The occurrences in a file that have not ended, in the order in which they began."""
        return self._store.all(as_occurrence, f"{SELECT_LIVE_OCCURRENCES} AND path = ? ORDER BY number", blob(path))

    def last_touches(self) -> dict[FilePath, int]:
        """The last landmark that touched each file."""
        rows = self._store.rows("SELECT path, max(landmark) FROM touched GROUP BY path")
        return {FilePath(decoded(path)): landmark for path, landmark in rows}

    def all_began_at(self, path: FilePath, number: int) -> bool:
        """Whether all that stands in a file began with one landmark."""
        other = "SELECT 1 FROM occurrences WHERE path = ? AND ended IS NULL AND begun != ? LIMIT 1"
        return not self._store.rows(other, blob(path), number)

    def occurrences_of(self, fact: FactId) -> tuple[Occurrence, ...]:
        """Every occurrence of a fact, standing or not, oldest first."""
        return self._store.all(as_occurrence, f"{SELECT_OCCURRENCES} WHERE fact = ? ORDER BY number", blob(fact))

    def fact_occurrences(self) -> tuple[Occurrence, ...]:
        """Every occurrence that is a fact, standing or not, the newest first. All of them are read."""
        return self._store.all(as_occurrence, f"{SELECT_OCCURRENCES} WHERE fact IS NOT NULL ORDER BY number DESC")

    def ids_with_prefix(self, prefix: str) -> tuple[FactId, ...]:
        """The ids that begin so, in their order."""
        asked = "SELECT DISTINCT fact FROM occurrences WHERE fact >= ? AND fact < ? ORDER BY fact"
        return self._store.all(lambda row: FactId(decoded(row[0])), asked, blob(prefix), blob(prefix) + b"\xff")

    def occurrences_ended(self, above: int, upto: int) -> tuple[Occurrence, ...]:
        """The occurrences that ended after landmark `above` and not after landmark `upto`, in the order in which they ended."""
        return self._store.all(as_occurrence, f"{SELECT_OCCURRENCES} WHERE ended > ? AND ended <= ? ORDER BY ended, number", above, upto)

    def predecessors_of(self, fact: FactId) -> tuple[Occurrence, ...]:
        """The occurrences whose place a fact took, by ending them or by a mark that is in force; oldest first."""
        asked = (
            f"{SELECT_OCCURRENCES} WHERE number IN (SELECT number FROM occurrences WHERE successor = ?"
            f" UNION SELECT occurrence FROM marks WHERE other = ? AND kind = '{MarkKind.SUPERSEDED}' AND ended IS NULL) ORDER BY number"
        )
        return self._store.all(as_occurrence, asked, blob(fact), blob(fact))

    # Marks.

    def marks(self, path: FilePath | None = None, ever: bool = False) -> tuple[Mark, ...]:
        """The marks in force, oldest first; with a path those on occurrences that stand in that file, and (`ever`) those taken back."""
        if path is None:
            return self._store.all(as_mark, f"{SELECT_MARKS} WHERE ended IS NULL ORDER BY number")
        asked = (
            f"{SELECT_MARKS} WHERE path = ? AND (? OR ended IS NULL)"
            " AND (SELECT ended FROM occurrences WHERE number = occurrence) IS NULL ORDER BY number"
        )
        return self._store.all(as_mark, asked, blob(path), ever)

    def marks_of(self, number: int, ever: bool = False) -> tuple[Mark, ...]:
        """The marks in force on the occurrence with this row, oldest first, and (`ever`) those taken back."""
        return self._store.all(as_mark, f"{SELECT_MARKS} WHERE occurrence = ? AND (? OR ended IS NULL) ORDER BY number", number, ever)

    def pair_marks(self, at: int | None = None) -> tuple[Mark, ...]:
        """The marks of two facts that are in force, or were at a landmark; oldest first."""
        if at is None:
            return self._store.all(as_mark, f"{SELECT_MARKS} WHERE {PAIR_MARKS_CONDITION} AND ended IS NULL ORDER BY number")
        asked = (
            f"{SELECT_MARKS} WHERE begun <= :at AND number IN (SELECT number FROM marks WHERE {PAIR_MARKS_CONDITION} AND ended IS NULL"
            f" UNION ALL SELECT number FROM marks WHERE {PAIR_MARKS_CONDITION} AND ended > :at) ORDER BY number"
        )
        return self._store.all(as_mark, asked, at=at)

    # Revisions.

    def live_revisions(self, path: FilePath, among: Collection[SectionPath] | None = None) -> tuple[Revision, ...]:
        """The revisions in a file that have not ended, in the order in which they began; all, or those of sections `among` these paths."""
        rows = self._store.rows(f"{SELECT_REVISIONS} WHERE path = ? AND ended IS NULL ORDER BY number", blob(path))
        if among is not None:
            wanted = set(map(join_words, among))
            rows = [row for row in rows if row[4] in wanted]
        return parsed(as_revision, (with_whole_text(self._store, row) for row in rows))

    def revisions(self, lineage: int, limit: int | None = None, quiet: bool = False) -> tuple[Revision, ...]:
        """The revisions of one section, newest first; `quiet` ones only where they are asked for."""
        wanted = (row for row in lineage_rows(self._store, lineage) if quiet or not row[6])
        return parsed(as_revision, islice(wanted, limit))

    def newest_revisions(self, path: FilePath | None = None) -> tuple[Revision, ...]:
        """The newest revision of each section, ended or not; with a path of those that ever were in that file."""
        if path is None:
            return self._store.all(as_revision, f"{SELECT_REVISIONS} WHERE next IS NULL ORDER BY lineage")
        # From one lineage of the file to the next, so that the number of its revisions does not matter.
        asked = f"""
            WITH RECURSIVE found (lineage) AS (
                SELECT min(lineage) FROM revisions WHERE path = :path
                UNION ALL
                SELECT (SELECT min(lineage) FROM revisions WHERE path = :path AND lineage > found.lineage)
                FROM found WHERE lineage IS NOT NULL
            )
            {SELECT_REVISIONS} WHERE next IS NULL AND lineage IN (SELECT lineage FROM found WHERE lineage IS NOT NULL) ORDER BY lineage"""
        return self._store.all(as_revision, asked, path=blob(path))

    def section_changes(self, path: FilePath | None, limit: int) -> tuple[tuple[MainlineCommit, Revision | None, Revision | None], ...]:
        """The newest changes of sections, newest first: the landmark, the revision before and the one after (None: there was none).

        With a path those of what is or was in that file, under the names that it had before too.
        """
        rows = self._store.rows(
            """
            SELECT number, lineage, begun AS landmark, 0 FROM revisions AS one
            WHERE NOT quiet AND (:path IS NULL OR path = :path OR EXISTS (
                SELECT 1 FROM revisions AS later WHERE later.path = :path AND later.lineage = one.lineage AND later.number > one.number))
            UNION ALL
            SELECT number, lineage, ended, 1 FROM revisions WHERE next IS NULL AND ended IS NOT NULL AND (:path IS NULL OR path = :path)
            ORDER BY landmark DESC, number DESC LIMIT :limit""",
            path=None if path is None else blob(path),
            limit=limit,
        )
        found = []
        for number, lineage, at, ended in rows:
            landmark = self.commit_numbered(at)
            older = (row for row in lineage_rows(self._store, lineage) if row[0] <= number and (row[0] == number or not row[6]))
            now, before = (*parsed(as_revision, islice(older, 2)), None)[:2]
            if landmark is not None:
                found.append((landmark, now, None) if ended else (landmark, before, now))
        return tuple(found)

    def revisions_containing(self, text: str) -> tuple[Revision, ...]:
        """The revisions that hold a text as it is written, oldest first. Every revision is read."""
        wanted = blob(text)
        lineages = [lineage for (lineage,) in self._store.rows("SELECT lineage FROM revisions WHERE next IS NULL")]
        rows = [row for lineage in lineages for row in lineage_rows(self._store, lineage) if wanted in row[-1]]
        return parsed(as_revision, sorted(rows, key=lambda row: int(row[0])))

    # What the index has to catch up with.

    def paths_since(self, number: int) -> set[FilePath]:
        """The files that landmarks after `number` touched, and those where a mark that they set or took back changes something.

        What is marked as a contradiction changes with what the other of the two becomes.
        """
        return self._paths(number + 1, 2**62)

    def _paths(self, first: int, last: int) -> set[FilePath]:
        marks = "SELECT one, other, path FROM marks WHERE added BETWEEN :first AND :last OR ended BETWEEN :first AND :last"
        asked = f"""
            SELECT path FROM touched WHERE landmark BETWEEN :first AND :last
            UNION SELECT path FROM ({marks}) WHERE path IS NOT NULL
            UNION SELECT path FROM occurrences WHERE ended IS NULL AND fact IN (
                SELECT one FROM ({marks}) WHERE path IS NULL UNION SELECT other FROM ({marks}) WHERE path IS NULL)
            UNION SELECT path FROM occurrences WHERE ended IS NULL AND fact IN (
                SELECT of FROM (
                    SELECT one AS changed, other AS of FROM marks WHERE {PAIR_MARKS_CONDITION} AND ended IS NULL
                    UNION SELECT other, one FROM marks WHERE {PAIR_MARKS_CONDITION} AND ended IS NULL)
                WHERE EXISTS (
                    SELECT 1 FROM occurrences AS its WHERE its.fact = changed AND (
                        its.begun BETWEEN :first AND :last OR its.ended BETWEEN :first AND :last OR EXISTS (
                            SELECT 1 FROM marks WHERE occurrence = its.number
                            AND (added BETWEEN :first AND :last OR ended BETWEEN :first AND :last)))))"""
        return set(self._store.all(lambda row: FilePath(decoded(row[0])), asked, first=first, last=last))

    def dropped_commits(self) -> tuple[tuple[CommitId, int, tuple[FilePath, ...]], ...]:
        """The landmarks that were cut away: commit, number and the files that it changed something in."""
        return self._store.all(as_dropped, "SELECT id, number, paths FROM dropped ORDER BY row")

    def forget_dropped(self) -> None:
        """Say that what was cut away is settled."""
        with self.writing():
            self._store.run("DELETE FROM dropped")

    def verify(self) -> int:
        """Read all of it, a row at a time: the number of its landmarks.

        Raises:
            BrokenVersions: something in it is not what was written.
        """
        ((said,),) = self._store.rows("PRAGMA integrity_check(1)")
        if said != "ok":
            raise broken_trail(" ".join(said.split()))
        kinds: tuple[tuple[Callable[[SqlRow], object], str], ...] = (
            (as_landmark, SELECT_COMMITS),
            (as_occurrence, SELECT_OCCURRENCES),
            (as_mark, SELECT_MARKS),
            (as_side, SELECT_SIDE_COMMITS),
            (lambda row: (decoded(row[0]), decoded(row[1])), "SELECT path, line FROM brought"),
            (lambda row: decoded(row[0]), "SELECT path FROM touched"),
        )
        for parse, asked in kinds:
            for row in self._store.each(asked):
                parsed(parse, [row])
        for (lineage,) in self._store.rows("SELECT DISTINCT lineage FROM revisions"):
            for row in lineage_rows(self._store, lineage):
                parsed(as_revision, [row])
        self.dropped_commits()
        return self.newest_commit.number if self.newest_commit else 0

    def dump(self) -> tuple[tuple[object, ...], ...]:
        """All that the table says, as a value to be compared; rows are numbered by their order."""
        occurrences = self._store.all(as_occurrence, f"{SELECT_OCCURRENCES} ORDER BY number")
        revisions = self.revisions_containing("")
        place = {one.number: rank for rank, one in enumerate(occurrences, 1)}
        first = {one.number: rank for rank, one in enumerate(revisions, 1)}
        marks = self._store.all(as_mark, f"{SELECT_MARKS} ORDER BY number")
        return (
            self.commits_after(),
            tuple(replace(one, number=place[one.number]) for one in occurrences),
            tuple(replace(one, number=first[one.number], lineage=first[one.lineage]) for one in revisions),
            tuple(replace(one, occurrence=place.get(one.occurrence, 0)) for one in marks),
            self._store.all(tuple, "SELECT added, path FROM marks ORDER BY number"),
            self._store.all(tuple, "SELECT landmark, path FROM touched ORDER BY landmark, path"),
            self._store.all(
                tuple,
                "SELECT brought.landmark, path, line, id, time, author, message FROM brought JOIN sides ON number = side"
                " ORDER BY brought.landmark, path, line",
            ),
        )


def verify_trail(folder: Path) -> int | None:
    """Read all of the table in a folder, whichever settings it is for: the number of its landmarks; None where there is no table.

    Raises:
        BrokenVersions: it cannot be used, or what it holds is not what was written.
        StorageProblem: the disk does not give the file.
    """
    store = Store.open_any(folder)
    if store is None:
        return None
    with Trail(store) as known:
        return known.verify()
