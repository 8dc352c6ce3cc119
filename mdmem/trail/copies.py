"""The marks of copies: derived from what commits state, so that each line of a log shares the fate of its fact (`history.copies`)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from mdmem.model import FactId
from mdmem.model.trail import Mark
from mdmem.trail.rows import blob, decoded, parse_mark
from mdmem.trail.statements import SELECT_COPY_MARKS, SELECT_FACTS_CHANGED_AFTER
from mdmem.trail.storage import Store

_HAS_ENDS = """
SELECT EXISTS (SELECT 1 FROM occurrences WHERE ended IS NOT NULL) OR EXISTS (SELECT 1 FROM marks) OR EXISTS (SELECT 1 FROM promotions)
OR EXISTS (SELECT 1 FROM copy_marks) OR EXISTS (SELECT 1 FROM occurrences WHERE attribute IS NOT NULL)"""
_SELECT_WITH_COPIES = f"""
WITH changed (fact) AS ({SELECT_FACTS_CHANGED_AFTER})
SELECT fact FROM changed WHERE EXISTS (SELECT 1 FROM occurrences AS log WHERE log.fact = changed.fact AND log.day IS NOT NULL) AND (
    EXISTS (SELECT 1 FROM occurrences AS other WHERE other.fact = changed.fact AND other.fate IN ('superseded', 'removed'))
    OR EXISTS (SELECT 1 FROM occurrences AS other JOIN marks ON marks.occurrence = other.number WHERE other.fact = changed.fact))
UNION SELECT log FROM promotions WHERE log IN (SELECT fact FROM changed)
UNION SELECT one FROM copy_marks WHERE one IN (SELECT fact FROM changed) OR other IN (SELECT fact FROM changed)"""
_SELECT_KEYED = f"""
WITH changed (fact) AS ({SELECT_FACTS_CHANGED_AFTER})
SELECT DISTINCT text FROM occurrences WHERE fact IN (SELECT fact FROM changed) AND instr(text, ': ')"""
_SELECT_ATTRIBUTED = f"""
WITH changed (fact) AS ({SELECT_FACTS_CHANGED_AFTER})
SELECT DISTINCT fact FROM occurrences WHERE attribute IS NOT NULL AND fact IN (SELECT fact FROM changed)"""


def changed_facts(store: Store, after: int) -> tuple[set[FactId], tuple[str, ...]]:
    """The facts whose copies may have another fate by what commits after a number did, and the texts that may have a key before a value.

    Of the texts, the values may be facts of logs with that key as their attribute.
    """
    if not store.rows(_HAS_ENDS)[0][0]:
        return set(), ()
    values = {"after": after, "row": last_row(store, after)}
    facts = {FactId(decoded(fact)) for (fact,) in store.rows(_SELECT_WITH_COPIES, **values)}
    texts: tuple[str, ...] = ()
    if store.rows("SELECT 1 FROM occurrences WHERE attribute IS NOT NULL LIMIT 1"):
        facts |= {FactId(decoded(fact)) for (fact,) in store.rows(_SELECT_ATTRIBUTED, **values)}
        texts = tuple(decoded(text) for (text,) in store.rows(_SELECT_KEYED, **values))
    return facts, texts


def last_row(store: Store, number: int) -> int:
    """The row of the last occurrence that commits up to a number added."""
    rows = store.rows("SELECT number FROM occurrences WHERE added <= ? ORDER BY number DESC LIMIT 1", number)
    return int(rows[0][0]) if rows else 0


def copy_marks(store: Store, fact: FactId) -> tuple[Mark, ...]:
    """The marks of copies of a fact."""
    return store.all(parse_mark, f"{SELECT_COPY_MARKS} WHERE one = ? ORDER BY occurrence, begun, kind, other", blob(fact))


def set_copy_marks(store: Store, fact: FactId, marks: Sequence[Mark], number: int) -> None:
    """Put marks in the place of those that copies of a fact had, as of the commit up to which the trail is."""
    before = copy_marks(store, fact)
    if set(before) == set(marks):
        return
    store.run("DELETE FROM copy_marks WHERE one = ?", blob(fact))
    changed = {mark.occurrence for mark in {*before, *marks} if (mark in before) != (mark in marks)}
    places = {row: store.rows("SELECT path, ended FROM occurrences WHERE number = ?", row) for row in {*changed, *_rows(marks)}}
    for mark in marks:
        ((path, _),) = places[mark.occurrence]
        store.run(
            "INSERT OR REPLACE INTO copy_marks VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            *(blob(mark.fact), mark.occurrence, mark.begun, mark.kind.value, blob(mark.commit), blob(mark.other or ""), mark.ended, path),
        )
    for path, ended in (place for row in changed for place in places[row]):
        store.run("INSERT OR IGNORE INTO copies_changed VALUES (?, ?)", number, path)
        if ended is not None:
            store.run("INSERT OR IGNORE INTO reopened VALUES (?)", ended)


def _rows(marks: Collection[Mark]) -> set[int]:
    return {mark.occurrence for mark in marks}


def cut(store: Store, number: int, last: int) -> None:
    """Take out what commits after `number` brought; the occurrences after the row `last` are gone. Whoever cuts derives the rest anew."""
    store.run("DELETE FROM promotions WHERE added > ?", number)
    store.run("DELETE FROM copies_changed WHERE number > ?", number)
    store.run("DELETE FROM copy_marks WHERE occurrence > ?", last)
