"""Steps: all that one commit did, and the rows that this adds and changes; ends among them.

Of a section's revisions only the newest is stored whole, so that a long section that changes often
costs what changes. Ends are contested where several lines of history had a say.
A row has its one end or, of several (or if a merge keeps what a side had ended), the outcome.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import cache
from itertools import islice
from pathlib import Path

from mdmem.model import CommitId, FactId, FilePath, trail
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
    holds,
    intersection,
    union,
)
from mdmem.past import clocks
from mdmem.past.rows import (
    END_COLUMNS,
    SELECT_COMMITS,
    SELECT_COPY_MARKS,
    SELECT_EVERY_MARK,
    SELECT_FACTS_CHANGED_AFTER,
    SELECT_OCCURRENCES,
    SELECT_REVERTS,
    SELECT_REVISIONS,
    SqlRow,
    blob,
    bulk_blob,
    commit_row,
    copy_mark_row,
    decoded,
    join_numbers,
    join_words,
    last_columns,
    mark_row,
    maybe_blob,
    occurrence_rows,
    parse_commit,
    parse_dropped,
    parse_mark,
    parse_occurrence,
    parse_revert,
    parse_revision,
)
from mdmem.past.storage import Store, broken_trail, parse_rows
from mdmem.startup.records import dataclass, replace
from mdmem.text.document import common_ends

_HAS_ENDS = """
SELECT EXISTS (SELECT 1 FROM occurrences WHERE ended IS NOT NULL)
OR EXISTS (SELECT 1 FROM marks) OR EXISTS (SELECT 1 FROM promotions)
OR EXISTS (SELECT 1 FROM copy_marks)
OR EXISTS (SELECT 1 FROM occurrences WHERE attribute IS NOT NULL)"""
_SELECT_WITH_COPIES = f"""
WITH changed (fact) AS ({SELECT_FACTS_CHANGED_AFTER})
SELECT fact FROM changed WHERE EXISTS (
    SELECT 1 FROM occurrences AS log WHERE log.fact = changed.fact AND log.day IS NOT NULL) AND (
    EXISTS (SELECT 1 FROM occurrences AS other WHERE other.fact = changed.fact
        AND other.fate IN ('superseded', 'removed'))
    OR EXISTS (SELECT 1 FROM occurrences AS other JOIN marks ON marks.occurrence = other.number
        WHERE other.fact = changed.fact))
UNION SELECT log FROM promotions WHERE log IN (SELECT fact FROM changed)
UNION SELECT one FROM copy_marks WHERE one IN (SELECT fact FROM changed)
    OR other IN (SELECT fact FROM changed)"""
_SELECT_KEYED = f"""
WITH changed (fact) AS ({SELECT_FACTS_CHANGED_AFTER})
SELECT DISTINCT text FROM occurrences WHERE fact IN (SELECT fact FROM changed)
    AND instr(text, ': ')"""
_SELECT_ATTRIBUTED = f"""
WITH changed (fact) AS ({SELECT_FACTS_CHANGED_AFTER})
SELECT DISTINCT fact FROM occurrences WHERE attribute IS NOT NULL
    AND fact IN (SELECT fact FROM changed)"""


def changed_facts(store: Store, after: int) -> tuple[set[FactId], tuple[str, ...]]:
    """The facts whose copies may have another fate since a commit, and texts with possible keys.

    Of these texts, the values may be facts of logs with that key as their attribute.
    """
    if not store.rows(_HAS_ENDS)[0][0]:
        return set(), ()
    values = {"after": after, "row": last_row(store, "occurrences", "added", after)}
    facts = {FactId(decoded(fact)) for (fact,) in store.rows(_SELECT_WITH_COPIES, **values)}
    texts: tuple[str, ...] = ()
    if store.rows("SELECT 1 FROM occurrences WHERE attribute IS NOT NULL LIMIT 1"):
        facts |= {FactId(decoded(fact)) for (fact,) in store.rows(_SELECT_ATTRIBUTED, **values)}
        texts = tuple(decoded(text) for (text,) in store.rows(_SELECT_KEYED, **values))
    return facts, texts


def last_row(store: Store, table: str, column: str, number: int) -> int:
    """The last row that a commit up to `number` added; rows are in the order of their commits."""
    ((last,),) = store.rows(f"SELECT coalesce(max(number), 0) FROM {table}")
    at_or_after = f"SELECT number, {column} FROM {table} WHERE number >= ? ORDER BY number LIMIT 1"
    found, end, middle = 0, int(last), int(last)
    while found < end:
        ((row, added),) = store.rows(at_or_after, middle)
        if added <= number:
            found = int(row)
        else:
            end = middle - 1
        middle = (found + end + 1) // 2
    return found


def copy_marks(store: Store, fact: FactId) -> tuple[Mark, ...]:
    return store.all(
        parse_mark,
        f"{SELECT_COPY_MARKS} WHERE one = ? ORDER BY occurrence, begun, kind, other",
        blob(fact),
    )


def set_copy_marks(store: Store, fact: FactId, marks: Sequence[Mark], number: int) -> None:
    before = copy_marks(store, fact)
    if set(before) == set(marks):
        return
    store.run("DELETE FROM copy_marks WHERE one = ?", blob(fact))
    changed = {mark.occurrence for mark in {*before, *marks} if (mark in before) != (mark in marks)}
    places = {
        row: store.rows("SELECT path, ended FROM occurrences WHERE number = ?", row)
        for row in {*changed, *(mark.occurrence for mark in marks)}
    }
    for mark in marks:
        ((path, _),) = places[mark.occurrence]
        store.run(
            "INSERT OR REPLACE INTO copy_marks VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            *copy_mark_row(mark, path),
        )
    for path, ended in (place for row in changed for place in places[row]):
        store.run("INSERT OR IGNORE INTO copies_changed VALUES (?, ?)", number, path)
        if ended is not None:
            store.run("INSERT OR IGNORE INTO reopened VALUES (?)", ended)


def cut_ends(store: Store, number: int, last: int) -> None:
    """Remove what commits after `number` and rows after `last` brought; not the derived."""
    store.run("DELETE FROM promotions WHERE added > ?", number)
    store.run("DELETE FROM copies_changed WHERE number > ?", number)
    store.run("DELETE FROM copy_marks WHERE occurrence > ?", last)


_NEXT = 10
"""The column of a revision with the row of the next one."""


def lineage_rows(store: Store, lineage: int) -> Iterator[SqlRow]:
    """The rows of a lineage with their whole texts, newest first."""
    next_number, text = None, b""
    for row in store.each(f"{SELECT_REVISIONS} WHERE lineage = ? ORDER BY number DESC", lineage):
        text = _whole_text(row, next_number, text)
        next_number = row[0]
        yield (*row[:-1], text)


def with_whole_text(store: Store, row: SqlRow) -> SqlRow:
    """A row with its whole text: stored whole for a live revision, unless sections were joined."""
    return (
        row
        if row[_NEXT] is None
        else next(whole for whole in lineage_rows(store, row[1]) if whole[0] == row[0])
    )


def shorten(store: Store, lineage: int, number: int, text: bytes) -> None:
    """Reduce a lineage's newest revision to its difference from the next one, with this `text`."""
    newest = store.rows(
        "SELECT number, text FROM revisions WHERE lineage = ? AND next IS NULL", lineage
    )
    if len(newest) != 1:
        raise broken_trail(f"no lineage {lineage}")
    ((newest_number, before),) = newest
    head, tail = common_ends(before, text)
    middle = before[head : len(before) - tail]
    store.run(
        "UPDATE revisions SET next = ?, head = ?, tail = ?, text = ? WHERE number = ?",
        number,
        head,
        tail,
        middle,
        newest_number,
    )


def _whole_text(row: SqlRow, next_number: int | None, text: bytes) -> bytes:
    *_, following, head, tail, own = row
    if following != next_number or head + tail > len(text) or not isinstance(own, bytes):
        raise broken_trail(f"revision {row[0]} has lost its text")
    return text[:head] + own + text[len(text) - tail :]


_NOTHING: SqlRow = (None,) * 7


@dataclass(frozen=True, slots=True)
class EndsTable:
    """A table of rows that end, and the one of their ends; `columns` tell of an end."""

    rows: str
    ends: str
    row: str
    columns: str

    @property
    def _width(self) -> int:
        return self.columns.count(",") + 1

    def add(self, store: Store, number: int, ends: Iterable[tuple[int, SqlRow]]) -> None:
        """Add a commit's ends to rows that others end too; all None: the row stays after all."""
        for row, end in ends:
            found = store.rows(
                f"SELECT contested, {self.columns} FROM {self.rows} WHERE number = ?", row
            )
            if not found:
                raise broken_trail(
                    f"commit {number} ends row {row} of {self.rows}, which is not there"
                )
            contested, *before = found[0]
            if not contested and before[0] is not None:
                self._insert(store, row, before[0], tuple(before))
            self._insert(store, row, number, end)
            self._store_outcome(store, row)

    def _insert(self, store: Store, row: int, at: int, end: SqlRow) -> None:
        places = ", ".join("?" * (self._width + 2))
        store.run(f"INSERT OR REPLACE INTO {self.ends} VALUES ({places})", row, at, *end)

    def _store_outcome(self, store: Store, row: int) -> None:
        all_ends = store.rows(
            f"SELECT at, {self.columns} FROM {self.ends} WHERE {self.row} = ?", row
        )
        outcome = outcome_of(store, all_ends) or _NOTHING[: self._width]
        places = ", ".join(f"{name.strip()} = ?" for name in self.columns.split(","))
        last = max((end[0] for end in all_ends), default=0)
        store.run(
            f"UPDATE {self.rows} SET contested = ?, {places} WHERE number = ?", last, *outcome, row
        )

    def cut(self, store: Store, number: int, last: int) -> None:
        """Take out what commits after `number` ended; the rows after `last` are gone."""
        store.run(f"DELETE FROM {self.ends} WHERE {self.row} > ?", last)
        rows = [
            row
            for (row,) in store.rows(
                f"SELECT DISTINCT {self.row} FROM {self.ends} WHERE at > ?", number
            )
        ]
        for row in rows:
            ended = f"SELECT ended FROM {self.ends} WHERE {self.row} = ? AND ended <= ?"
            store.run(f"INSERT OR IGNORE INTO reopened {ended}", row, number)
        store.run(f"DELETE FROM {self.ends} WHERE at > ?", number)
        for row in rows:
            self._store_outcome(store, row)
        nothing = ", ".join(f"{name.strip()} = NULL" for name in self.columns.split(","))
        store.run(f"UPDATE {self.rows} SET {nothing} WHERE ended > ? AND NOT contested", number)


_OCCURRENCE_ENDS = EndsTable(rows="occurrences", ends="ends", row="occurrence", columns=END_COLUMNS)
_REVISION_ENDS = EndsTable(rows="revisions", ends="revision_ends", row="revision", columns="ended")


def outcome_of(store: Store, ends: Sequence[SqlRow]) -> SqlRow | None:
    """The end that counts of several (commit, then columns); None where the row is live.

    What a commit tells replaces all that its past tells. Of ends that do not know of each other the
    earlier counts, and where one of them names a successor, that is the successor.
    """
    missing = _missing(store)
    newest = [
        end
        for end in ends
        if not any(end[0] < other[0] and not holds(missing(other[0]), end[0]) for other in ends)
    ]
    counting = [end[1:] for end in newest if end[1] is not None]
    if not counting:
        return None
    times = {
        number: (int(moment), decoded(name))
        for number in {end[0] for end in counting}
        for moment, name in store.rows("SELECT moment, id FROM commits WHERE number = ?", number)
    }
    first, *others = sorted(counting, key=lambda end: times.get(end[0], (0, b"")))
    replaced = next(
        (
            end
            for end in others
            if len(end) > 1 and end[1] == Fate.SUPERSEDED and end[2] is not None
        ),
        None,
    )
    if replaced is not None and first[1] == Fate.REMOVED:
        return (first[0], *replaced[1:3], *first[3:])
    return first


def _missing(store: Store) -> Callable[[int], Ranges]:
    @cache
    def of(number: int) -> Ranges:
        ((text,),) = store.rows("SELECT missing FROM commits WHERE number = ?", number) or [(None,)]
        return trail.parse_ranges(text)

    return of


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


_MANY_OCCURRENCES = 1000
"""A first commit with more occurrences saves time by making the indices anew."""


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
    logs: frozenset[FilePath] = frozenset()
    """The logs among the files of what began."""


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
        _count_facts(store, number, step)
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
            each.moment,
            author,
            blob(each.commit),
        )
        store.run(
            "INSERT OR IGNORE INTO touched SELECT ?, path FROM touched WHERE number = ?",
            each.brought,
            each.number,
        )
        store.run("INSERT OR IGNORE INTO reopened VALUES (?)", each.number)


def with_past(
    commit: TrailCommit, parents: Sequence[TrailCommit], moment: int | None = None
) -> TrailCommit:
    """A commit with its moment (given, or by dates), parents in one order for all, and gaps."""
    parents = sorted(parents, key=lambda parent: (parent.moment, parent.commit))
    by_dates = clocks.moment_of(commit, [parent.moment for parent in parents])
    return replace(
        commit,
        parents=tuple(parent.number for parent in parents),
        missing=missing_below(commit.number, parents),
        moment=by_dates if moment is None else min(moment, by_dates),
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
    _OCCURRENCE_ENDS.add(
        store, number, [(each.number, _end_columns(number, each)) for each in contested]
    )
    _OCCURRENCE_ENDS.add(
        store, number, [(each.number, _end_columns(number, each)) for each in step.ended_otherwise]
    )
    _OCCURRENCE_ENDS.add(store, number, [(row, (None,) * 7) for row in step.restored])


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
        f"INSERT INTO occurrences VALUES ({', '.join('?' * 29)}{', NULL' * 7})",
        occurrence_rows(begun, number, first),
    )
    return first


def _count_facts(store: Store, number: int, step: Step) -> None:
    facts = [each for each in step.begun if each.entry.fact is not None]
    counts = Counter(
        (
            each.begun,
            "" if each.entry.path in step.logs else each.entry.path,
            each.entry.kind or "",
            each.origin.source,
        )
        for each in facts
    )
    store.run_many(
        "INSERT INTO fact_counts VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET facts = facts + excluded.facts",
        [
            (begun, blob(path), blob(kind), source, count)
            for (begun, path, kind, source), count in counts.items()
        ],
    )
    if number == 1:  # nothing to be looked for
        named = Counter(each.entry.fact for each in facts)
        store.run_many(
            "INSERT OR IGNORE INTO repeated_facts VALUES (?)",
            [(blob(fact),) for fact, count in named.items() if fact and count > 1],
        )
        return
    again = "SELECT 1 FROM occurrences WHERE fact = ? LIMIT 1 OFFSET 1"
    store.run_many(
        f"INSERT OR IGNORE INTO repeated_facts SELECT ? WHERE EXISTS ({again})",
        [(blob(fact), blob(fact)) for fact in {each.entry.fact for each in facts} if fact],
    )


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
        _REVISION_ENDS.add(store, number, [(row, (number,)) for row in contested])
    _REVISION_ENDS.add(store, number, [(row, (None,)) for row in step.restored_revisions])
    _REVISION_ENDS.add(store, number, [(row, (by,)) for row, by in step.joined_revisions])


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
    _uncount_facts(store, number, last)
    store.run("DELETE FROM occurrences WHERE number > ?", last)
    _OCCURRENCE_ENDS.cut(store, number, last)
    cut_ends(store, number, last)
    store.run("DELETE FROM marks WHERE added > ?", number)
    store.run("UPDATE marks SET ended = NULL WHERE ended > ?", number)
    store.run("DELETE FROM reverts WHERE number > ?", last_row(store, "reverts", "added", number))
    store.run("DELETE FROM touched WHERE number > ?", number)
    store.run("DELETE FROM commits WHERE number > ?", number)


def _uncount_facts(store: Store, number: int, last: int) -> None:
    """Take out what commits after `number` added, in rows after `last`.

    A fact that is then in one place stays among those of several, which is slower to read alone.
    """
    store.run("DELETE FROM fact_counts WHERE number > ?", number)
    backdated = store.rows(
        "SELECT begun, path, ifnull(kind, x''), source, count(*) FROM occurrences"
        " WHERE number > ? AND begun <= ? AND begun <> added AND fact IS NOT NULL"
        " GROUP BY begun, path, kind, source",
        last,
        number,
    )
    for begun, path, kind, source, count in backdated:
        changed = store.run_many(
            "UPDATE fact_counts SET facts = facts - ? WHERE number = ? AND path = ? AND kind = ?"
            " AND source = ?",
            [(count, begun, path, kind, source)],
        )
        if not changed:
            store.run_many(
                "UPDATE fact_counts SET facts = facts - ? WHERE number = ? AND path = x''"
                " AND kind = ? AND source = ?",
                [(count, begun, kind, source)],
            )


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
    _REVISION_ENDS.cut(store, number, last)


def _next_row(store: Store, table: str) -> int:
    ((row,),) = store.rows(f"SELECT coalesce(max(number), 0) + 1 FROM {table}")
    return int(row)
