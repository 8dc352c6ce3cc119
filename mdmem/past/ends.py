"""Parts of the trail's tables: marks of copies, texts of revisions, ends; and a check of them all.

Of a section's revisions only the newest is stored whole, so that a long section that changes often
costs what changes. Ends are contested where several lines of history had a say.
A row has its one end or, of several (or if a merge keeps what a side had ended), the outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from mdmem.model import FactId, trail
from mdmem.model.trail import Fate, Mark, Ranges, holds
from mdmem.past.rows import (
    SqlRow,
    blob,
    copy_mark_row,
    decoded,
    parse_commit,
    parse_dropped,
    parse_mark,
    parse_occurrence,
    parse_revert,
    parse_revision,
)
from mdmem.past.schema import (
    END_COLUMNS,
    SELECT_COMMITS,
    SELECT_COPY_MARKS,
    SELECT_EVERY_MARK,
    SELECT_FACTS_CHANGED_AFTER,
    SELECT_OCCURRENCES,
    SELECT_REVERTS,
    SELECT_REVISIONS,
)
from mdmem.past.storage import Store, broken_trail, parse_rows
from mdmem.startup.records import dataclass
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
    """The last row that a commit up to `number` added; searched from the end."""
    rows = store.rows(
        f"SELECT number FROM {table} WHERE {column} <= ? ORDER BY number DESC LIMIT 1", number
    )
    return int(rows[0][0]) if rows else 0


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


def cut(store: Store, number: int, last: int) -> None:
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


OCCURRENCE_ENDS = EndsTable(rows="occurrences", ends="ends", row="occurrence", columns=END_COLUMNS)
REVISION_ENDS = EndsTable(rows="revisions", ends="revision_ends", row="revision", columns="ended")


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
        return trail.parse(text)

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
