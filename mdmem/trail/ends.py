"""The ends of occurrences and revisions where several lines of history had a say.

What one commit ended has its end in its own row. Where several did, or a merge has something stand
that a side had ended, all of that is kept, and the row has the outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

from mdmem.model.ranges import Ranges, holds, parse
from mdmem.model.trail import Fate
from mdmem.startup.records import dataclass
from mdmem.trail.rows import SqlRow, decoded
from mdmem.trail.statements import END_COLUMNS
from mdmem.trail.storage import Store, broken_trail

_NOTHING: SqlRow = (None,) * 7


@dataclass(frozen=True, slots=True)
class EndsTable:
    """A table of rows that end, and the one of their ends; `columns` are those that tell of an end."""

    rows: str
    ends: str
    row: str
    columns: str

    @property
    def _width(self) -> int:
        return self.columns.count(",") + 1

    def add(self, store: Store, number: int, ends: Iterable[tuple[int, SqlRow]]) -> None:
        """Add ends that commit `number` tells of to rows that others ended or will end; all None: the row stands after all."""
        for row, end in ends:
            found = store.rows(f"SELECT contested, {self.columns} FROM {self.rows} WHERE number = ?", row)
            if not found:
                raise broken_trail(f"commit {number} ends row {row} of {self.rows}, which is not there")
            contested, *before = found[0]
            if not contested and before[0] is not None:
                self._insert(store, row, before[0], tuple(before))
            self._insert(store, row, number, end)
            self._settle(store, row)

    def _insert(self, store: Store, row: int, at: int, end: SqlRow) -> None:
        places = ", ".join("?" * (self._width + 2))
        store.run(f"INSERT OR REPLACE INTO {self.ends} VALUES ({places})", row, at, *end)

    def _settle(self, store: Store, row: int) -> None:
        """Write the outcome of all ends into a row."""
        all_ends = store.rows(f"SELECT at, {self.columns} FROM {self.ends} WHERE {self.row} = ?", row)
        outcome = outcome_of(store, all_ends) or _NOTHING[: self._width]
        places = ", ".join(f"{name.strip()} = ?" for name in self.columns.split(","))
        last = max((end[0] for end in all_ends), default=0)
        store.run(f"UPDATE {self.rows} SET contested = ?, {places} WHERE number = ?", last, *outcome, row)

    def cut(self, store: Store, number: int, last: int) -> None:
        """Take out what commits after `number` ended; the rows after `last` are gone."""
        store.run(f"DELETE FROM {self.ends} WHERE {self.row} > ?", last)
        rows = [row for (row,) in store.rows(f"SELECT DISTINCT {self.row} FROM {self.ends} WHERE at > ?", number)]
        for row in rows:
            ended = f"SELECT ended FROM {self.ends} WHERE {self.row} = ? AND ended <= ?"
            store.run(f"INSERT OR IGNORE INTO reopened {ended}", row, number)
        store.run(f"DELETE FROM {self.ends} WHERE at > ?", number)
        for row in rows:
            self._settle(store, row)
        nothing = ", ".join(f"{name.strip()} = NULL" for name in self.columns.split(","))
        store.run(f"UPDATE {self.rows} SET {nothing} WHERE ended > ? AND NOT contested", number)


OCCURRENCE_ENDS = EndsTable(rows="occurrences", ends="ends", row="occurrence", columns=END_COLUMNS)
REVISION_ENDS = EndsTable(rows="revisions", ends="revision_ends", row="revision", columns="ended")


def outcome_of(store: Store, ends: Sequence[SqlRow]) -> SqlRow | None:
    """The end that counts of several (the commit that tells of each, then its columns); None where the row is live.

    What a commit tells replaces all that its past tells. Of ends that do not know of each other the
    earlier counts, and where one of them names a successor, that is the successor.
    """
    missing = _missing(store)
    newest = [end for end in ends if not any(_is_past(end[0], other[0], missing) for other in ends)]
    counting = [end[1:] for end in newest if end[1] is not None]
    if not counting:
        return None
    times = dict(_times(store, {end[0] for end in counting}))
    first, *others = sorted(counting, key=lambda end: times.get(end[0], (0, b"")))
    replaced = next((end for end in others if len(end) > 1 and end[1] == Fate.SUPERSEDED and end[2] is not None), None)
    if replaced is not None and first[1] == Fate.REMOVED:
        return (first[0], *replaced[1:3], *first[3:])
    return first


def _is_past(number: int, other: int, missing: Callable[[int], Ranges]) -> bool:
    """True if a commit is in the past of another one."""
    return number < other and not holds(missing(other), number)


def _missing(store: Store) -> Callable[[int], Ranges]:
    @cache
    def of(number: int) -> Ranges:
        ((text,),) = store.rows("SELECT missing FROM commits WHERE number = ?", number) or [(None,)]
        return parse(text)

    return of


def _times(store: Store, numbers: Iterable[int]) -> Iterator[tuple[int, tuple[int, str]]]:
    for number in numbers:
        for moment, name in store.rows("SELECT moment, id FROM commits WHERE number = ?", number):
            yield number, (int(moment), decoded(name))
