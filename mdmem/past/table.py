"""The open trail: everything that can be asked of it, and the two ways in which it changes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from heapq import heapify, heappop, heappush
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Self

from mdmem.model import CommitId, FactId, FilePath, SectionPath
from mdmem.model.trail import (
    LAST_NUMBER,
    FactCount,
    FactSpan,
    Fate,
    Mark,
    MarkKind,
    Occurrence,
    Ranges,
    Revision,
    RevisionOutline,
    StatedRevert,
    TrailCommit,
    complement,
    holds,
    of_numbers,
)
from mdmem.past import clocks, steps
from mdmem.past.rows import (
    CLOSING_MARKS_CONDITION,
    ENDED_AFTER_CONDITION,
    GOES_ON_IN_ANOTHER_LINEAGE,
    HAS_LATER_MERGE,
    OLDEST_MARK_FIRST,
    PAIR_MARKS_CONDITION,
    SELECT_BEGINNING_WITH,
    SELECT_CHANGE_STATES,
    SELECT_CITING,
    SELECT_CLOSINGS,
    SELECT_COMMITS,
    SELECT_COPIED,
    SELECT_COPIED_IN_FILE,
    SELECT_ENDED_FACTS,
    SELECT_ENDED_LIVES,
    SELECT_ENTRY_BY_MDMEM,
    SELECT_EVERY_MARK,
    SELECT_FACT_SPANS,
    SELECT_LARGE_COMMITS,
    SELECT_LAST_REVISION,
    SELECT_LATER_PARENTS,
    SELECT_LINEAGES_THAT_MAY_HOLD,
    SELECT_LIVE_MARKS_IN_FILE,
    SELECT_LIVE_OCCURRENCES,
    SELECT_LIVE_SECTIONS,
    SELECT_LIVING_COUNTS,
    SELECT_MARKS,
    SELECT_NEWEST_REVISIONS_IN_FILE,
    SELECT_OCCURRENCES,
    SELECT_OVERRULED_MARKS_IN_FILE,
    SELECT_PATHS_CHANGED_BETWEEN,
    SELECT_PREDECESSORS,
    SELECT_REPLACED_ROWS,
    SELECT_REVERTS,
    SELECT_REVISION_OUTLINES,
    SELECT_REVISIONS,
    SELECT_SECTION_CHANGES,
    SELECT_SECTIONS_WITH_FACTS,
    SELECT_STATING_COMMITS,
    SELECT_TAKEN_OUT_AND_LIVE,
    SELECT_VERSIONS,
    SqlRow,
    beginning,
    blob,
    decoded,
    id_column,
    join_words,
    parse_commit,
    parse_count,
    parse_dropped,
    parse_mark,
    parse_numbers,
    parse_occurrence,
    parse_outline,
    parse_revert,
    parse_revision,
    parse_span,
)
from mdmem.past.steps import Step, last_row, lineage_rows, with_whole_text
from mdmem.past.storage import BrokenTrail, Store, broken_trail, parse_rows
from mdmem.startup.records import replace

_NO_LIMIT, _LAST_MOMENT = -1, 1 << 62
_ARRIVED = blob(clocks.ARRIVED)
_MOST_NAMED = 500
"""Files named in a statement; older versions of SQLite take 999 values."""
_SECTION, _QUIET, _PREVIOUS = 5, 7, 8
"""Columns of a revision."""
_LAST_CHARACTER = b"\xff"
"""Comes after every byte of UTF-8."""


_ENDED_BETWEEN = (
    "SELECT DISTINCT ended FROM occurrences WHERE ended > ? AND ended <= ? UNION SELECT ended FROM"
    " ends WHERE occurrence IN (SELECT occurrence FROM ends WHERE at > ? AND at <= ?)"
)


def _reversed(name: bytes) -> bytes:
    return bytes(255 - byte for byte in name)


def _missing_commit(number: int) -> BrokenTrail:
    return broken_trail(f"commit {number} is not there")


def _only(rows: Sequence[SqlRow], number: int) -> SqlRow:
    if not rows:
        raise _missing_commit(number)
    return rows[0]


class Moments:
    """When the commits of a trail count as made, in seconds since 1970 (`clocks`)."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def of(self, number: int) -> int:
        rows = self._store.rows("SELECT moment FROM commits WHERE number = ?", number)
        return int(_only(rows, number)[0])

    def first(self) -> int | None:
        """The moment of the earliest commit; None where there is none."""
        ((moment,),) = self._store.rows("SELECT min(moment) FROM commits WHERE needed")
        return None if moment is None else int(moment)

    def newest_before(self, commit: TrailCommit, time: float) -> int:
        """The latest moment of a commit and its past that is no later than a time; 0: none is."""
        moments = "SELECT number, moment FROM commits WHERE moment <= ? ORDER BY moment DESC"
        rows = self._store.each(moments, time)
        return next((moment for number, moment in rows if commit.reaches(number)), 0)

    def newest(
        self, limit: int | None, since: float | None = None, before: float | None = None
    ) -> dict[int, int]:
        """The newest commits (from a time, before one): up to `limit`, and ties of the last."""
        end = _LAST_MOMENT if before is None else before
        newest = "SELECT moment FROM commits WHERE moment < ? ORDER BY moment DESC LIMIT ?"
        ((first,),) = self._store.rows(
            f"SELECT min(moment) FROM ({newest})", end, _NO_LIMIT if limit is None else limit
        )
        start = max(each for each in (first or 0, since) if each is not None)
        span = "SELECT number, moment FROM commits WHERE moment >= ? AND moment < ?"
        return dict(self._store.rows(span, start, end))

    def upto(self, time: float) -> Ranges:
        """The commits that count up to a time."""
        ((last,),) = self._store.rows("SELECT coalesce(max(number), 0) FROM commits")
        later = self._store.rows("SELECT number FROM commits WHERE moment > ?", time)
        return complement(of_numbers(number for (number,) in later), int(last))


def in_sections(among: Collection[SectionPath] | None) -> tuple[str, list[bytes]]:
    if among is None:
        return "", []
    sections = sorted(map(join_words, among))
    return f"AND section IN ({', '.join('?' * len(sections))})", sections


def was_live(each: Occurrence | Mark, known: Ranges) -> bool:
    """True if an occurrence or a mark had begun and not ended where only some commits are known."""
    return holds(known, each.begun) and (each.ended is None or not holds(known, each.ended))


class Trail:
    """The commits that HEAD reaches, with their occurrences, revisions and marks.

    A writer opens it while holding the trail's lock: it does not see its file replaced meanwhile.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._just_begun: dict[FilePath, list[Occurrence]] = {}
        """By file, those of a first commit, until they are read or another commit comes."""

    @classmethod
    def open(cls, folder: Path, settings: str) -> Self:
        """The trail in a folder; empty where unusable or for other `settings` (a digest).

        Nothing on disk changes before the first write. Raises StorageProblem if it cannot be read.
        """
        return cls(Store.open(folder, settings))

    @classmethod
    def create(cls, folder: Path, settings: str) -> Self:
        """An empty trail that replaces whatever is in the folder at the first write."""
        return cls(Store.create(folder, settings))

    @classmethod
    def in_memory(cls) -> Self:
        return cls(Store.in_memory())

    @property
    def store(self) -> Store:
        return self._store

    def close(self) -> None:
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # Writing.

    def writing(self) -> AbstractContextManager[None]:
        """One transaction, all or nothing; one inside another is part of that.

        Raises StorageProblem (the disk does not take it, or another process is writing).
        """
        return self._store.writing()

    def append(self, commit: TrailCommit, step: Step) -> None:
        """Add the next commit and what it did.

        Raises:
            ValueError: it is not the next one, or begins what belongs to another commit.
            BrokenTrail: the step continues what the trail does not have.
            StorageProblem: as `writing`.
        """
        steps.append(self._store, commit, step)
        self._just_begun.clear()
        for row, each in enumerate(step.begun if commit.number == 1 else (), 1):
            self._just_begun.setdefault(each.entry.path, []).append(replace(each, number=row))

    def bring(self, commits: Sequence[TrailCommit]) -> None:
        """Give proposed commits the time and author of the merges that brought them."""
        with self.writing():
            steps.bring(self._store, commits)

    def cut(self, number: int) -> None:
        """Go back to commit `number` (0: to nothing), or before what a later one brought.

        The commits dropped are listed until `forget_dropped`.
        """
        while rows := self._store.rows(
            "SELECT number FROM commits WHERE brought > ? AND +number <= ?", number, number
        ):
            number = min(row for (row,) in rows) - 1
        if number and self._store.rows(
            "SELECT 1 FROM commits WHERE number > ? AND instr(message, ?)", number, _ARRIVED
        ):
            kept = self.commits_after()[:number]
            settled = clocks.settle(kept).moments
            dated = [each.number for each in kept if each.moment < settled[each.number]]
            if dated:
                self.cut(dated[0] - 1)
                return
        self._just_begun.clear()
        with self.writing():
            steps.cut(
                self._store,
                number,
                [
                    (commit, self.paths_changed(commit.number, commit.number))
                    for commit in self.commits_after(number)
                ],
            )

    # Commits.

    @property
    def newest_commit(self) -> TrailCommit | None:
        return self._commit(f"{SELECT_COMMITS} ORDER BY number DESC LIMIT 1")

    @property
    def head(self) -> CommitId | None:
        """The id of the newest commit: HEAD's, where the trail is up to date."""
        newest = self.newest_commit
        return newest.commit if newest else None

    def commit_numbered(self, number: int) -> TrailCommit | None:
        return self._commit(f"{SELECT_COMMITS} WHERE number = ?", number)

    def commit_with_id(self, commit: CommitId) -> TrailCommit | None:
        """The commit with this id, or with an id that begins so where only one does."""
        statement = f"{SELECT_COMMITS} WHERE id >= ? AND id < ? LIMIT 2"
        commits = self._store.all(
            parse_commit, statement, blob(commit), blob(commit) + _LAST_CHARACTER
        )
        return commits[0] if len(commits) == 1 else None

    @property
    def moments(self) -> Moments:
        return Moments(self._store)

    def later_than_arrived(self) -> dict[CommitId, int]:
        """The commits that count as made later than they had arrived, with their moments now."""
        moments = clocks.settle(commits := self.commits_after()).moments
        return {
            each.commit: moments[each.number]
            for each in commits
            if moments[each.number] < each.moment
        }

    def order(self, number: int) -> tuple[int, CommitId]:
        """The place of a commit among others: its moment, then its id."""
        moment, name = _only(
            self._store.rows("SELECT moment, id FROM commits WHERE number = ?", number), number
        )
        return int(moment), CommitId(decoded(name))

    def newest_first(self) -> list[int]:
        """Commits, children before parents, else the later first, else by id, however they came."""
        rows = self._store.rows("SELECT number, moment, id, parents FROM commits WHERE needed")
        commits = {
            number: (-moment, _reversed(name), parse_numbers(parents))
            for number, moment, name, parents in rows
        }
        children = Counter(parent for _, _, parents in commits.values() for parent in parents)
        waiting = [(*commits[number][:2], number) for number in commits if not children[number]]
        heapify(waiting)
        order: list[int] = []
        while waiting:
            *_, number = heappop(waiting)
            order.append(number)
            for parent in commits[number][2]:
                children[parent] -= 1
                if not children[parent]:
                    heappush(waiting, (*commits[parent][:2], parent))
        return order

    def ranks(self, numbers: Collection[int]) -> dict[int, int]:
        """The places of some commits among all, the oldest first."""
        if not self._store.rows("SELECT 1 FROM commits WHERE missing IS NOT NULL LIMIT 1"):
            return {number: number for number in numbers}
        order = self.newest_first()
        return {number: len(order) - at for at, number in enumerate(order)}

    def proposed_commits(self) -> tuple[TrailCommit, ...]:
        """The commits that proposed what they changed, oldest first."""
        return self._store.all(
            parse_commit, f"{SELECT_COMMITS} WHERE brought IS NOT NULL ORDER BY number"
        )

    def merge_of(self, number: int, after: int) -> TrailCommit | None:
        """The merge that first brought a commit to a line without it, after a time."""
        if not self._store.rows(HAS_LATER_MERGE, number):
            return None
        reaching, merges = {number}, list[tuple[int, bytes, int]]()
        for later, moment, name, text in self._store.each(SELECT_LATER_PARENTS, number):
            with_it = [parent in reaching for parent in parse_numbers(text)]
            if any(with_it):
                reaching.add(later)
                merges += [] if all(with_it) else [(moment, name, later)]
                if merges and merges[-1][0] <= after:
                    return None
        return self.commit_numbered(min(merges)[-1]) if merges else None

    def last_commit_upto(self, time: int) -> TrailCommit | None:
        """The last commit up to a time."""
        return self._commit(
            f"{SELECT_COMMITS} WHERE moment <= ? ORDER BY moment DESC, id DESC LIMIT 1", time
        )

    def heads_within(self, numbers: Ranges) -> tuple[TrailCommit, ...]:
        """The newest commits whose whole past is among `numbers`; the newest last."""
        if not numbers:
            return ()
        first_gap = numbers[0][1] + 1 if numbers[0][0] == 1 else 1
        heads: dict[int, TrailCommit] = {}
        whole: set[int] = set()
        parents: set[int] = set()
        for commit in self.commits_after():
            is_whole = commit.number < first_gap or (
                holds(numbers, commit.number) and whole.issuperset(commit.parents)
            )
            if is_whole:
                whole.add(commit.number)
                parents.update(commit.parents if commit.is_needed else ())
                heads[commit.number] = commit
        found = [
            commit for number, commit in heads.items() if commit.is_needed and number not in parents
        ]
        return tuple(sorted(found, key=lambda commit: (commit.moment, commit.commit)))

    def tips(self) -> tuple[CommitId, ...]:
        rows = self._store.rows("SELECT number, id, parents FROM commits")
        parents = {parent for _, _, of_one in rows for parent in parse_numbers(of_one)}
        return tuple(CommitId(decoded(name)) for number, name, _ in rows if number not in parents)

    def commits_after(self, number: int = 0) -> tuple[TrailCommit, ...]:
        """The commits after a number, oldest first."""
        return self._store.all(
            parse_commit, f"{SELECT_COMMITS} WHERE number > ? ORDER BY number", number
        )

    def commits_stating(self, text: str) -> tuple[TrailCommit, ...]:
        """The commits whose message holds a text, oldest first. All messages are read."""
        return self._store.all(
            parse_commit, f"{SELECT_COMMITS} WHERE instr(message, ?) ORDER BY number", blob(text)
        )

    def _commit(self, statement: str, *values: object) -> TrailCommit | None:
        return next(iter(self._store.all(parse_commit, statement, *values)), None)

    # Occurrences.

    def live_occurrences(
        self, path: FilePath, among: Collection[SectionPath] | None = None
    ) -> tuple[Occurrence, ...]:
        """The live occurrences in a file as they arrived; all, or in sections `among` these."""
        condition, values = in_sections(among)
        statement = f"{SELECT_LIVE_OCCURRENCES} AND path = ? {condition} ORDER BY number"
        return self._store.all(parse_occurrence, statement, blob(path), *values)

    def live_numbers(self, path: FilePath, among: Collection[SectionPath]) -> frozenset[int]:
        condition, values = in_sections(among)
        rows = self._store.rows(
            f"SELECT number FROM occurrences WHERE path = ? AND ended IS NULL {condition}",
            blob(path),
            *values,
        )
        return frozenset(row for (row,) in rows)

    def take_live_occurrences(self, path: FilePath) -> tuple[Occurrence, ...]:
        """The same; those of a first commit, just read, are not read again, and kept no longer."""
        return tuple(self._just_begun.pop(path, ())) or self.live_occurrences(path)

    def all_began_at(self, path: FilePath, number: int) -> bool:
        statement = (
            "SELECT 1 FROM occurrences WHERE path = ? AND ended IS NULL AND begun != ? LIMIT 1"
        )
        return not self._store.rows(statement, blob(path), number)

    def occurrences_of(self, fact: FactId, nested: bool = False) -> tuple[Occurrence, ...]:
        """Every occurrence of a fact, or of a nested item, live or ended, as they arrived."""
        statement = f"{SELECT_OCCURRENCES} WHERE {id_column(nested)} = ? ORDER BY number"
        return self._store.all(parse_occurrence, statement, blob(fact))

    def occurrences_in(self, path: FilePath) -> tuple[Occurrence, ...]:
        """Every occurrence in a file, live or ended, in the order in which they arrived."""
        halves = (
            f"{SELECT_OCCURRENCES} WHERE path = :path AND ended IS {which}"
            for which in ("NULL", "NOT NULL")
        )
        return self._store.all(
            parse_occurrence, f"{' UNION ALL '.join(halves)} ORDER BY number", path=blob(path)
        )

    def contested_in(self, path: FilePath) -> tuple[Occurrence, ...]:
        """The occurrences in a file that several ended, or ended as another commit tells."""
        return self._store.all(
            parse_occurrence,
            f"{SELECT_OCCURRENCES} WHERE path = ? AND contested ORDER BY number",
            blob(path),
        )

    def occurrences_with_key(self, key: str) -> tuple[Occurrence, ...]:
        """Occurrences that begin like a key's, bold or not, oldest first; a superset.

        Of facts, and of nested items.
        """
        first = beginning(key)
        return self._store.all(
            parse_occurrence, SELECT_BEGINNING_WITH, first, first + _LAST_CHARACTER
        )

    def fact_occurrences(self) -> tuple[Occurrence, ...]:
        """Every occurrence of every fact, live or ended, newest first. All of them are read."""
        return self._store.all(
            parse_occurrence, f"{SELECT_OCCURRENCES} WHERE fact IS NOT NULL ORDER BY number DESC"
        )

    def fact_counts(
        self, is_log: Callable[[FilePath], bool], since: int = 0
    ) -> Iterator[FactCount]:
        """The facts that `fact_spans` leaves out, counted; `is_log` as it was for their steps.

        Those that ended before `since` are in `ended_lives`.
        """
        place = cache(lambda path: b"" if is_log(FilePath(decoded(path))) else path)
        for path, *key, ended, count in self._store.rows(SELECT_ENDED_FACTS, since=since):
            yield parse_count((place(path), *key), ended, count)
        living: Counter[SqlRow] = Counter()
        for path, *key, count in self._store.rows(SELECT_LIVING_COUNTS):
            living[(path and place(path), *key)] += count
        for row, count in living.items():
            if count:
                yield parse_count(row, None, count)

    def ended_lives(self, before: int) -> Iterator[tuple[FilePath, int, int]]:
        """File, hours and number of counted facts that ended before a moment, as commits tell it.

        Thousands of them are few rows.
        """
        for path, hours, count in self._store.rows(SELECT_ENDED_LIVES, before=before):
            yield FilePath(decoded(path)), hours, count

    def fact_spans(self) -> Iterator[FactSpan]:
        """The spans of the facts that need a look at each of their places.

        Those that were in several, have a day of end or were ended by a mark; `fact_counts` has the
        others.
        """
        closings: dict[int, list[tuple[int, int | None]]] = defaultdict(list)
        for number, begun, ended in self._store.rows(SELECT_CLOSINGS):
            closings[number].append((begun, ended))
        for row in self._store.rows(SELECT_FACT_SPANS):
            *_, begun, ended = row
            for closed, opened in closings.get(row[0], ()):
                yield parse_span(row, begun, closed)
                begun = opened
                if begun is None:
                    break
            if begun is not None:
                yield parse_span(row, begun, ended)

    def logged_facts_citing(self, cited: str) -> tuple[FactId, ...]:
        return tuple(
            sorted(
                {
                    FactId(decoded(fact))
                    for fact, _ in self._store.rows(SELECT_CITING, blob(f"\n{cited}\n"))
                }
            )
        )

    def ids_with_prefix(self, prefix: str, nested: bool = False) -> tuple[FactId, ...]:
        """The ids of facts, or of nested items, that begin with a prefix, in their order."""
        of = id_column(nested)
        statement = f"SELECT DISTINCT {of} FROM occurrences WHERE {of} >= ? AND {of} < ? ORDER BY 1"
        return self._store.all(
            lambda row: FactId(decoded(row[0])),
            statement,
            blob(prefix),
            blob(prefix) + _LAST_CHARACTER,
        )

    def occurrences_begun(
        self,
        after: int,
        upto: int = LAST_NUMBER,
        is_wanted: Callable[[FilePath], bool] | None = None,
    ) -> tuple[Occurrence, ...]:
        """The occurrences that began with commits after `after` and up to `upto`, live or ended.

        They are in the order in which they arrived. `is_wanted`: the others are left out, unless
        too many files are wanted to name them all.
        """
        condition = (
            "number IN (SELECT number FROM occurrences WHERE number > ? AND number <= ?"
            " AND begun > ? UNION SELECT number FROM occurrences"
            " WHERE begun > ? AND begun <= ? AND begun <> added)"
        )
        before, last = (
            last_row(self._store, "occurrences", "added", number) for number in (after, upto)
        )
        values: list[int | bytes] = [before, last, after, after, upto]
        if is_wanted:
            rows = self._store.rows(
                f"SELECT DISTINCT path FROM occurrences WHERE {condition}", *values
            )
            paths = [path for (path,) in rows if is_wanted(FilePath(decoded(path)))]
            if len(paths) <= _MOST_NAMED:
                condition += f" AND path IN ({', '.join('?' * len(paths))})"
                values += paths
        statement = f"{SELECT_OCCURRENCES} WHERE {condition} ORDER BY number"
        return self._store.all(parse_occurrence, statement, *values)

    def begun_with(
        self, number: int, most: int, is_wanted: Callable[[FilePath], bool]
    ) -> Iterator[tuple[Occurrence, ...]]:
        """The occurrences that began with a commit, in one part.

        Where the commit added more than `most`, in one part for each wanted file, in their order,
        read as it is asked for. (Those that a merge put together began before the merge.)
        """
        before, last = (
            last_row(self._store, "occurrences", "added", each) for each in (number - 1, number)
        )
        if last - before <= most:
            statement = (
                f"{SELECT_OCCURRENCES} WHERE number > ? AND number <= ? AND begun = ?"
                f" UNION ALL {SELECT_OCCURRENCES} WHERE begun = ? AND begun <> added"
                " AND number > ?"
            )
            yield self._store.all(
                parse_occurrence, statement, *(before, last, number, number, last)
            )
            return
        paths = (
            "SELECT path FROM touched WHERE number = ? UNION"
            " SELECT path FROM occurrences WHERE begun = ? AND begun <> added"
        )
        in_file = f"{SELECT_OCCURRENCES} WHERE path = ? AND ended IS"
        statement = f"{in_file} NULL AND begun = ? UNION ALL {in_file} NOT NULL AND begun = ?"
        names = [FilePath(decoded(path)) for (path,) in self._store.rows(paths, number, number)]
        for path in filter(is_wanted, sorted(names)):
            yield self._store.all(parse_occurrence, statement, *((blob(path), number) * 2))

    def occurrences_ended(self, after: int, upto: int = LAST_NUMBER) -> tuple[Occurrence, ...]:
        """The occurrences that commits after `after` and up to `upto` ended, in this order."""
        statement = f"{SELECT_OCCURRENCES} WHERE ended > ? AND ended <= ? ORDER BY ended, number"
        return self._store.all(parse_occurrence, statement, after, upto)

    def change_states(self, after: int, upto: int) -> dict[int, tuple[SqlRow, ...]]:
        """A value for each commit after `after` and up to `upto`, that tells what it changed.

        While it is equal, so are the facts that the commit added, replaced and removed.
        """
        states: dict[int, tuple[SqlRow, ...]] = {}
        row, last = (
            last_row(self._store, "occurrences", "added", number) for number in (after, upto)
        )
        for number, *state in self._store.rows(
            SELECT_CHANGE_STATES, after=after, upto=upto, row=row, last_row=last
        ):
            states[number] = (*states.get(number, ()), tuple(state))
        return states

    def large_commits(self, after: int, upto: int, most: int) -> list[int]:
        """The commits after `after` and up to `upto` that only added facts, more than `most`."""
        rows = self._store.rows(SELECT_LARGE_COMMITS, after=after, upto=upto, most=most)
        return [number for (number,) in rows]

    def facts_begun_with(self, number: int) -> dict[FilePath | None, int]:
        """The number of facts that began with a commit in each file; None: in logs."""
        statement = "SELECT path, sum(facts) FROM fact_counts WHERE number = ? GROUP BY path"
        return {
            FilePath(decoded(path)) if path else None: count
            for path, count in self._store.rows(statement, number)
        }

    def ended_groups(self, after: int, upto: int) -> tuple[tuple[int, tuple[Occurrence, ...]], ...]:
        """The commits whose ends changed after commit `after`, with all that they ended."""
        plain = {
            number
            for (number,) in self._store.rows(_ENDED_BETWEEN, after, upto, after, upto)
            if number is not None
        }
        reopened = {number for (number,) in self._store.rows("SELECT number FROM reopened")}
        statement = f"{SELECT_OCCURRENCES} WHERE ended = ? ORDER BY number"
        return tuple(
            (number, self._store.all(parse_occurrence, statement, number))
            for number in sorted(plain | reopened)
        )

    def replaced_after(self, path: FilePath, time: int) -> tuple[Occurrence, ...]:
        statement = f"{SELECT_OCCURRENCES} WHERE {ENDED_AFTER_CONDITION} ORDER BY number"
        ended = self._store.all(parse_occurrence, statement, path=blob(path), time=time)
        return tuple(each for each in ended if each.fate is Fate.SUPERSEDED)

    def replaced_by_several(self, sides: Sequence[Ranges]) -> tuple[Occurrence, ...]:
        counts = Counter(row for numbers in sides for row in self._replaced_rows(numbers))
        rows = sorted(row for row, count in counts.items() if count > 1)
        return tuple(
            each
            for row in rows
            for each in self._store.all(
                parse_occurrence, f"{SELECT_OCCURRENCES} WHERE number = ?", row
            )
        )

    def _replaced_rows(self, numbers: Ranges) -> set[int]:
        return {
            row
            for first, last in numbers
            for (row,) in self._store.rows(SELECT_REPLACED_ROWS, first=first, last=last)
        }

    def predecessors_of(self, fact: FactId) -> tuple[Occurrence, ...]:
        """The occurrences that a fact replaced, by ending or marking them; oldest first."""
        return self._store.all(parse_occurrence, SELECT_PREDECESSORS, blob(fact), blob(fact))

    # Marks.

    def marks(self, path: FilePath | None = None, include_ended: bool = False) -> tuple[Mark, ...]:
        """The marks in force, oldest first; with a path, those on its live occurrences."""
        if path is None:
            return self._store.all(
                parse_mark, f"{SELECT_EVERY_MARK} WHERE ended IS NULL ORDER BY number"
            )
        return self._store.all(parse_mark, SELECT_LIVE_MARKS_IN_FILE, blob(path), include_ended)

    def overruled_marks(self, path: FilePath) -> tuple[Mark, ...]:
        """The marks that end live occurrences which the file, edited in place, keeps."""
        return self._store.all(parse_mark, SELECT_OVERRULED_MARKS_IN_FILE, blob(path))

    def marks_of(self, number: int, include_ended: bool = False) -> tuple[Mark, ...]:
        """The marks by which an occurrence is no longer current, oldest first."""
        condition = f"occurrence = ? AND (? OR ended IS NULL) AND {CLOSING_MARKS_CONDITION}"
        return self._store.all(
            parse_mark,
            f"{SELECT_EVERY_MARK} WHERE {condition} {OLDEST_MARK_FIRST}",
            number,
            include_ended,
        )

    def stated_marks_of(self, number: int, include_ended: bool = False) -> tuple[Mark, ...]:
        """Those of the marks of an occurrence that commits state, oldest first."""
        condition = f"occurrence = ? AND (? OR ended IS NULL) AND {CLOSING_MARKS_CONDITION}"
        statement = f"{SELECT_MARKS} WHERE {condition} {OLDEST_MARK_FIRST}"
        return self._store.all(parse_mark, statement, number, include_ended)

    def marks_stated_by(self, commit: CommitId) -> tuple[Mark, ...]:
        """The marks that a commit states; ended ones too, oldest first."""
        return self._store.all(
            parse_mark, f"{SELECT_MARKS} WHERE origin = ? ORDER BY number", blob(commit)
        )

    def commits_with_marks_from(self, number: int) -> tuple[CommitId, ...]:
        """The commits whose marks began with a commit, in the order of their marks."""
        rows = self._store.rows(
            "SELECT origin FROM marks WHERE begun = ? GROUP BY origin ORDER BY min(number)", number
        )
        return tuple(CommitId(decoded(commit)) for (commit,) in rows)

    def pair_marks(self, known: Ranges | None = None) -> tuple[Mark, ...]:
        """The marks of two facts in force, now or when some commits were known; oldest first."""
        if known is None:
            return self._store.all(
                parse_mark,
                f"{SELECT_MARKS} WHERE {PAIR_MARKS_CONDITION} AND ended IS NULL ORDER BY begun,"
                " number",
            )
        marks = self._store.all(
            parse_mark, f"{SELECT_MARKS} WHERE {PAIR_MARKS_CONDITION} ORDER BY begun, number"
        )
        return tuple(mark for mark in marks if was_live(mark, known))

    # Copies.

    def facts_here_again(self) -> tuple[FactId, ...]:
        """The facts in a file that were removed from one, or by a side of a merge; a superset."""
        return self._store.all(lambda row: FactId(decoded(row[0])), SELECT_TAKEN_OUT_AND_LIVE)

    def copied_facts(self, path: FilePath | None = None) -> frozenset[FactId]:
        rows = (
            self._store.rows(SELECT_COPIED)
            if path is None
            else self._store.rows(SELECT_COPIED_IN_FILE, blob(path))
        )
        return frozenset(FactId(decoded(fact)) for (fact,) in rows)

    def contested_ends_of(self, number: int) -> tuple[Occurrence, ...]:
        """A live occurrence as sides of a merge had ended it."""
        (live,) = self._store.all(
            parse_occurrence, f"{SELECT_OCCURRENCES} WHERE number = ?", number
        )
        rows = self._store.rows(
            "SELECT ended, fate FROM ends WHERE occurrence = ? AND ended IS NOT NULL", number
        )
        return tuple(
            replace(live, ended=ended, fate=Fate(fate))
            for ended, fate in rows
            if live.ended is None
        )

    def promoted_in(self, path: FilePath) -> dict[int, FactId]:
        """The curated facts that replace lines of a log, by the rows of these."""
        statement = (
            "SELECT occurrence, other FROM copy_marks WHERE path = ? AND kind = ? AND ended IS NULL"
        )
        return {
            row: FactId(decoded(other))
            for row, other in self._store.rows(statement, blob(path), MarkKind.PROMOTED.value)
        }

    def promoted_to(self, fact: FactId) -> tuple[Occurrence, ...]:
        rows = "SELECT occurrence FROM copy_marks WHERE other = ? AND kind = ? AND ended IS NULL"
        statement = f"{SELECT_OCCURRENCES} WHERE number IN ({rows}) ORDER BY number"
        return self._store.all(parse_occurrence, statement, blob(fact), MarkKind.PROMOTED.value)

    def promotions_of(self, fact: FactId) -> tuple[tuple[int, FactId], ...]:
        """The commits that took a log's fact into a curated file, with what it became there."""
        rows = self._store.rows(
            "SELECT added, curated FROM promotions WHERE log = ? ORDER BY added, curated",
            blob(fact),
        )
        return tuple((number, FactId(decoded(curated))) for number, curated in rows)

    def facts_with_copies(self, after: int) -> tuple[set[FactId], tuple[str, ...]]:
        """The facts whose copies may have changed fate, and texts; see `ends.changed_facts`."""
        return steps.changed_facts(self._store, after)

    def set_copy_marks(self, fact: FactId, marks: Sequence[Mark]) -> None:
        """Replace the marks of a fact's copies. They are derived, never stated by a commit."""
        newest = self.newest_commit
        steps.set_copy_marks(self._store, fact, marks, newest.number if newest else 0)

    # Reverts.

    def reverts_of(self, commit: CommitId) -> tuple[CommitId, ...]:
        rows = self._store.rows(
            "SELECT origin FROM reverts WHERE reverted = ? ORDER BY number", blob(commit)
        )
        return tuple(CommitId(decoded(origin)) for (origin,) in rows)

    def reverts(self) -> tuple[StatedRevert, ...]:
        """Every revert that a commit states, in the order of history. All of them are read."""
        return self._store.all(parse_revert, SELECT_REVERTS)

    def stating_commit(self, digits: str) -> CommitId | None:
        """The only commit with marks or reverts whose id begins with these digits."""
        rows = self._store.rows(
            SELECT_STATING_COMMITS, first=blob(digits), end=blob(digits) + _LAST_CHARACTER
        )
        return CommitId(decoded(rows[0][0])) if len(rows) == 1 else None

    # Revisions.

    def live_revisions(
        self, path: FilePath, among: Collection[SectionPath] | None = None
    ) -> tuple[Revision, ...]:
        """The live revisions in a file, oldest first; all, or of sections `among` these."""
        rows = self._store.rows(
            f"{SELECT_REVISIONS} WHERE path = ? AND ended IS NULL ORDER BY number", blob(path)
        )
        if among is not None:
            sections = set(map(join_words, among))
            rows = [row for row in rows if row[_SECTION] in sections]
        return parse_rows(parse_revision, (with_whole_text(self._store, row) for row in rows))

    def last_revision(self, path: FilePath, section: SectionPath, nth: int) -> Revision | None:
        """The newest revision under a path of a section that no longer exists, under any path."""
        rows = self._store.rows(
            f"{SELECT_LAST_REVISION} LIMIT 1", blob(path), join_words(section), nth
        )
        if not rows or self._store.rows(
            "SELECT 1 FROM revisions WHERE lineage = ? AND ended IS NULL LIMIT 1", rows[0][1]
        ):
            return None
        return parse_rows(parse_revision, [with_whole_text(self._store, rows[0])])[0]

    def revisions(
        self, lineage: int, limit: int | None = None, include_unchanged: bool = False
    ) -> tuple[Revision, ...]:
        """The revisions of a section, newest first; without a change of text if asked for."""
        rows = (
            row
            for row in lineage_rows(self._store, lineage)
            if include_unchanged or not row[_QUIET]
        )
        return parse_rows(parse_revision, islice(rows, limit))

    def live_paths(self) -> dict[FilePath, int]:
        """The files with live revisions, and the first commit of each. Reads all revisions."""
        rows = self._store.rows(
            "SELECT path, min(begun) FROM revisions GROUP BY path HAVING max(ended IS NULL)"
        )
        return {FilePath(decoded(path)): number for path, number in rows}

    def files_with_facts(self) -> set[FilePath]:
        """The files that ever had facts, but for logs."""
        paths = self._store.rows("SELECT DISTINCT path FROM fact_counts WHERE path <> x''")
        return {FilePath(decoded(path)) for (path,) in paths}

    def versions_of_sections(self, path: FilePath) -> dict[int, list[int]]:
        """The commits that changed the text of each live section with facts of a file, by lineage.

        Its revisions are read without their text.
        """
        with_facts = set(self._store.rows(SELECT_SECTIONS_WITH_FACTS, blob(path)))
        return {
            lineage: [number for (number,) in self._store.rows(SELECT_VERSIONS, lineage)]
            for lineage, section in self._store.rows(SELECT_LIVE_SECTIONS, blob(path))
            if (section,) in with_facts
        }

    def newest_revisions(self, path: FilePath | None = None) -> tuple[Revision, ...]:
        """The newest revision of each section, live or ended; or of those ever in a file."""
        if path is None:
            return self._store.all(
                parse_revision, f"{SELECT_REVISIONS} WHERE next IS NULL ORDER BY lineage"
            )
        return self._store.all(parse_revision, SELECT_NEWEST_REVISIONS_IN_FILE, path=blob(path))

    def section_changes(
        self, path: FilePath | None, limit: int
    ) -> tuple[tuple[TrailCommit, Revision | None, Revision | None], ...]:
        """The newest changes of sections, newest first: commit, revision before and after.

        With a path those of sections that are or were in that file, under earlier names too.
        """
        rows = self._store.rows(SELECT_SECTION_CHANGES, path=None if path is None else blob(path))
        ranks = self.ranks({row[2] for row in rows})
        # Which number an ended row has depends on the clone, its place does not.
        rows.sort(key=lambda row: (-ranks[row[2]], row[3], row[4:] if row[3] else -row[0], -row[0]))
        changes: list[tuple[TrailCommit, Revision | None, Revision | None]] = []
        for number, lineage, commit_number, is_end, *place in rows:
            if is_end and self._store.rows(GOES_ON_IN_ANOTHER_LINEAGE, commit_number, *place):
                continue  # a merge has joined it with that of another side
            if len(changes) == limit:
                break
            commit = self.commit_numbered(commit_number)
            of_lineage = {row[0]: row for row in lineage_rows(self._store, lineage)}
            revision = parse_revision(of_lineage[number])
            if commit is not None:
                changes.append(
                    (commit, revision, None)
                    if is_end
                    else (commit, self._before(revision, of_lineage), revision)
                )
        return tuple(changes)

    def _before(self, revision: Revision, rows: Mapping[int, SqlRow]) -> Revision | None:
        before = [parse_revision(rows[number]) for number in revision.previous if number in rows]
        gone = {each.ended for each in before} - {None, revision.begun}
        if gone - {begun for _, _, begun, *_ in rows.values()}:
            return None  # the section was removed, and is back
        return next(
            (each for each in reversed(before) if each.text != revision.text),
            before[-1] if before else None,
        )

    def section_past(self, newest: Revision) -> tuple[Revision, ...]:
        """All revisions of a section, and of those that were joined with it, as they arrived."""
        outlines = self.section_outline(newest)
        rows = [
            row
            for lineage in {each.lineage for each in outlines}
            for row in lineage_rows(self._store, lineage)
        ]
        return parse_rows(parse_revision, sorted(rows, key=lambda row: int(row[0])))

    def section_outline(self, newest: Revision) -> tuple[RevisionOutline, ...]:
        """The same without texts, whose reading takes most of the time."""
        lineages, waiting, past = set[int](), [newest.lineage], dict[int, RevisionOutline]()
        while waiting:
            lineage = waiting.pop()
            if lineage in lineages:
                continue
            lineages.add(lineage)
            of_lineage = self._store.all(parse_outline, SELECT_REVISION_OUTLINES, lineage)
            past |= {each.number: each for each in of_lineage}
            before = {number for each in of_lineage for number in each.previous} - past.keys()
            for number in before:
                waiting += [
                    each
                    for (each,) in self._store.rows(
                        "SELECT lineage FROM revisions WHERE number = ?", number
                    )
                ]
        return tuple(past[number] for number in sorted(past))

    def with_texts(self, revisions: Iterable[RevisionOutline]) -> dict[int, Revision]:
        """Revisions by number; newer ones of the same section are read too."""
        wanted: dict[int, set[int]] = {}
        for each in revisions:
            wanted.setdefault(each.lineage, set()).add(each.number)
        rows = []
        for lineage, numbers in wanted.items():
            of_lineage = lineage_rows(self._store, lineage)
            while numbers and (row := next(of_lineage, None)) is not None:
                if row[0] in numbers:
                    numbers.discard(row[0])
                    rows.append(row)
        return {each.number: each for each in parse_rows(parse_revision, rows)}

    def came_with(self, revision: Revision) -> int:
        """The commit with which a section last came into its file."""
        past = {each.number: each for each in self.section_past(revision)}
        while before := [
            past[number]
            for number in revision.previous
            if number in past and past[number].ended == revision.begun
        ]:
            revision = before[0]
        return revision.begun

    def ends_of_revision(self, revision: Revision) -> tuple[int, ...]:
        """The commits that ended a revision, each on its side."""
        rows = self._store.rows(
            "SELECT ended FROM revision_ends WHERE revision = ? AND ended IS NOT NULL",
            revision.number,
        )
        return tuple(number for (number,) in rows) or (
            () if revision.ended is None else (revision.ended,)
        )

    def revisions_containing(self, text: str) -> tuple[Revision, ...]:
        """The revisions that contain a text, oldest first."""
        data = blob(text)
        lineages = self._store.rows(SELECT_LINEAGES_THAT_MAY_HOLD, text=data)
        rows = [
            row
            for (lineage,) in lineages
            for row in lineage_rows(self._store, lineage)
            if data in row[-1]
        ]
        return parse_rows(parse_revision, sorted(rows, key=lambda row: int(row[0])))

    # For merges and for the index.

    def touched_by(self, numbers: Ranges) -> frozenset[FilePath]:
        statement = "SELECT DISTINCT path FROM touched WHERE number BETWEEN ? AND ?"
        rows = (row for first, last in numbers for row in self._store.rows(statement, first, last))
        return frozenset(FilePath(decoded(path)) for (path,) in rows)

    def touched_since(self, moment: int) -> frozenset[FilePath]:
        """The files that commits of this Unix time or later touched."""
        rows = self._store.rows(
            "SELECT DISTINCT path FROM commits JOIN touched USING (number) WHERE moment >= ?",
            moment,
        )
        return frozenset(FilePath(decoded(path)) for (path,) in rows)

    def has_entry_by_mdmem(self, path: FilePath, moment: int, numbers: Ranges) -> bool:
        """True if a current entry began with one of these commits of mdmem, at a time or later.

        Commits that adopted or saved what a person wrote do not count.
        """
        return any(
            self._store.rows(SELECT_ENTRY_BY_MDMEM, blob(path), moment, first, last)
            for first, last in numbers
        )

    def last_touches(self) -> dict[FilePath, int]:
        rows = self._store.rows("SELECT path, max(number) FROM touched GROUP BY path")
        return {FilePath(decoded(path)): number for path, number in rows}

    def paths_since(self, number: int) -> set[FilePath]:
        """The files that commits after `number` touched, or whose entries their marks concern.

        A change of one of two contradicting facts concerns the file of the other.
        """
        return self.paths_changed(number + 1, LAST_NUMBER)

    def paths_changed(self, first: int, last: int) -> set[FilePath]:
        """The same of the commits from `first` to `last`."""
        paths = self._store.all(
            lambda row: FilePath(decoded(row[0])),
            SELECT_PATHS_CHANGED_BETWEEN,
            first=first,
            last=last,
        )
        return set(paths)

    def dropped_commits(self) -> tuple[tuple[CommitId, int, tuple[FilePath, ...]], ...]:
        """The commits that were cut away: id, number and the files changed by each."""
        return self._store.all(parse_dropped, "SELECT id, number, paths FROM dropped ORDER BY row")

    def forget_dropped(self) -> None:
        with self.writing():
            self._store.run("DELETE FROM dropped")
            self._store.run("DELETE FROM reopened")
