"""What one landmark did, and the rows that this adds and changes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import islice

from mdmem.model import FactId, FilePath
from mdmem.model.trail import Entry, Fate, MainlineCommit, Mark, MergedLine, Occurrence, Revision
from mdmem.startup.records import dataclass
from mdmem.trail.revision_texts import lineage_rows, shorten
from mdmem.trail.rows import SqlRow, blob, bulk_blob, columns, join_words, last_columns, maybe_blob
from mdmem.trail.storage import Store, broken_trail


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of an occurrence, named by its row. `entry` has the lines (tags, date) of the last commit that held it."""

    number: int
    entry: Entry
    fate: Fate
    successor: FactId | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """What one landmark did.

    `gone` are rows of revisions that ended; a begun revision with the lineage 0 begins its own. A mark on an occurrence that begins
    in this very step has, for its row, the negative of its place in `begun`, counted from 1. `cleared` are numbers of landmarks whose
    marks end here. `paths` are the memory files touched. `brought` are the lines that a merge has from its side, each of a file once.
    """

    ended: tuple[Ending, ...] = ()
    begun: tuple[Occurrence, ...] = ()
    ended_revisions: tuple[int, ...] = ()
    revisions: tuple[Revision, ...] = ()
    marks: tuple[Mark, ...] = ()
    reverted_commits: tuple[int, ...] = ()
    paths: tuple[FilePath, ...] = ()
    merged_lines: tuple[MergedLine, ...] = ()


def append(store: Store, landmark: MainlineCommit, step: Step) -> None:
    """As `Versions.append`."""
    with store.writing():
        number = _add_landmark(store, landmark)
        store.run_many("INSERT OR IGNORE INTO touched VALUES (?, ?)", [(number, blob(path)) for path in step.paths])
        _bring(store, number, step.merged_lines)
        _end(store, number, step.ended)
        store.run_many("UPDATE marks SET ended = ? WHERE begun = ? AND ended IS NULL", [(number, one) for one in step.reverted_commits])
        first = _begin(store, number, step.begun)
        _revise(store, number, step.ended_revisions, step.revisions)
        _mark(store, number, step.marks, first, step.begun)


def _add_landmark(store: Store, landmark: MainlineCommit) -> int:
    before = store.rows("SELECT number, reached FROM landmarks ORDER BY number DESC LIMIT 1")
    last, reached = before[0] if before else (0, landmark.time)
    if landmark.number != last + 1:
        raise ValueError(f"landmark {landmark.number} does not follow {last}")
    said = (blob(landmark.commit), landmark.time, blob(landmark.author), blob(landmark.message), int(landmark.merge))
    store.run("INSERT INTO landmarks VALUES (?, ?, ?, ?, ?, ?, ?)", landmark.number, *said, max(reached, landmark.time))
    return landmark.number


def _bring(store: Store, landmark: int, brought: Sequence[MergedLine]) -> None:
    first = _next(store, "sides") if brought else 0
    sides = {commit: number for number, commit in enumerate(dict.fromkeys(one.commit for one in brought), first)}
    store.run_many(
        "INSERT INTO sides VALUES (?, ?, ?, ?, ?, ?)",
        [(number, landmark, blob(one.id), one.time, blob(one.author), blob(one.message)) for one, number in sides.items()],
    )
    store.run_many(
        "INSERT INTO brought VALUES (?, ?, ?, ?)",
        [(landmark, bulk_blob(one.path), bulk_blob(one.line), sides[one.commit]) for one in brought],
    )


def _end(store: Store, landmark: int, ended: Sequence[Ending]) -> None:
    changed = store.run_many(
        "UPDATE occurrences SET ended = ?, fate = ?, successor = ?, last_start = ?, last_end = ?, last_tags = ?, last_until = ?"
        " WHERE number = ? AND ended IS NULL",
        [(landmark, one.fate.value, maybe_blob(one.successor), *last_columns(one.entry), one.number) for one in ended],
    )
    if changed != len(ended):
        raise broken_trail(f"landmark {landmark} ends an occurrence that does not stand")


def _begin(store: Store, landmark: int, begun: Sequence[Occurrence]) -> int:
    """Add occurrences; the row of the first."""
    if any(one.begun != landmark for one in begun):
        raise ValueError(f"landmark {landmark} begins an occurrence of another one")
    first = _next(store, "occurrences")
    store.run_many(
        f"INSERT INTO occurrences VALUES ({', '.join('?' * 19)}{', NULL' * 7})",
        ((number, landmark, *row) for number, row in enumerate(columns(begun), first)),
    )
    return first


def _revise(store: Store, landmark: int, gone: Sequence[int], begun: Sequence[Revision]) -> None:
    if any(one.begun != landmark for one in begun):
        raise ValueError(f"landmark {landmark} begins a revision of another one")
    changed = store.run_many("UPDATE revisions SET ended = ? WHERE number = ? AND ended IS NULL", [(landmark, one) for one in gone])
    if changed != len(gone):
        raise broken_trail(f"landmark {landmark} ends a revision that does not stand")
    new: list[SqlRow] = []
    for number, one in enumerate(begun, _next(store, "revisions") if begun else 0):
        if one.lineage:
            _insert_revisions(store, new)
            new.clear()
            shorten(store, one.lineage, number, blob(one.text))
        place = bulk_blob(one.path), bytearray(join_words(one.section)), one.nth
        new.append((number, one.lineage or number, landmark, *place, int(one.unchanged_text), bulk_blob(one.text)))
    _insert_revisions(store, new)


def _insert_revisions(store: Store, rows: Sequence[SqlRow]) -> None:
    store.run_many("INSERT INTO revisions VALUES (?, ?, ?, ?, ?, ?, ?, NULL, NULL, 0, 0, ?)", rows)


def _mark(store: Store, landmark: int, marks: Sequence[Mark], first: int, begun: Sequence[Occurrence]) -> None:
    for one in marks:
        row, path = one.occurrence, None
        if row < 0:
            path = blob(begun[-row - 1].entry.path)
            row = first - row - 1
        elif row:
            ((path,),) = store.rows("SELECT path FROM occurrences WHERE number = ?", row) or [(None,)]
        if row and path is None:
            raise broken_trail(f"landmark {landmark} marks an occurrence that is not there")
        store.run(
            "INSERT INTO marks VALUES (NULL, ?, ?, ?, ?, ?, NULL, ?, ?)",
            *(one.kind.value, one.begun, blob(one.one), maybe_blob(one.other), row, landmark, path),
        )


def cut(store: Store, number: int, dropped: Iterable[tuple[MainlineCommit, Collection[FilePath]]]) -> None:
    """Take out what the landmarks after `number` did; of each of them, and the files that it changed something in, a note stays."""
    for landmark, paths in dropped:
        store.run("INSERT INTO dropped VALUES (NULL, ?, ?, ?)", blob(landmark.commit), landmark.number, join_words(tuple(sorted(paths))))
    _cut_revisions(store, number)
    store.run("DELETE FROM occurrences WHERE number > ?", _last(store, "occurrences", "begun", number))
    store.run(
        "UPDATE occurrences SET ended = NULL, fate = NULL, successor = NULL,"
        " last_start = NULL, last_end = NULL, last_tags = NULL, last_until = NULL WHERE ended > ?",
        number,
    )
    store.run("DELETE FROM marks WHERE added > ?", number)
    store.run("UPDATE marks SET ended = NULL WHERE ended > ?", number)
    store.run("DELETE FROM brought WHERE landmark > ?", number)
    store.run("DELETE FROM sides WHERE number > ?", _last(store, "sides", "landmark", number))
    store.run("DELETE FROM touched WHERE landmark > ?", number)
    store.run("DELETE FROM landmarks WHERE number > ?", number)


def _cut_revisions(store: Store, landmark: int) -> None:
    last = _last(store, "revisions", "begun", landmark)
    for (lineage,) in set(store.rows("SELECT lineage FROM revisions WHERE number > ?", last)):
        for row in islice((row for row in lineage_rows(store, lineage) if row[0] <= last), 1):
            store.run("UPDATE revisions SET next = NULL, head = 0, tail = 0, text = ? WHERE number = ?", row[-1], row[0])
    store.run("DELETE FROM revisions WHERE number > ?", last)
    store.run("UPDATE revisions SET ended = NULL WHERE ended > ?", landmark)


def _next(store: Store, table: str) -> int:
    ((number,),) = store.rows(f"SELECT coalesce(max(number), 0) + 1 FROM {table}")
    return int(number)


def _last(store: Store, table: str, column: str, landmark: int) -> int:
    """The last row that a landmark up to this one made; met from the end, where the newer rows are."""
    found = store.rows(f"SELECT number FROM {table} WHERE {column} <= ? ORDER BY number DESC LIMIT 1", landmark)
    return int(found[0][0]) if found else 0
