"""The texts of a section's revisions, of which only the newest is stored whole.

Of an older one only what differs from the next is stored (its first `head` and last `tail` bytes are those of the next), so that a long
section that changes often costs what changes.
"""

from __future__ import annotations

from collections.abc import Iterator

from mdmem.trail.rows import SqlRow
from mdmem.trail.statements import SELECT_REVISIONS
from mdmem.trail.storage import Store, broken_trail

_CHUNK = 4096
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
    """A row with its whole text. A live revision is the newest of its lineage, whose text is stored whole, unless sections were joined."""
    return row if row[_NEXT] is None else next(whole for whole in lineage_rows(store, row[1]) if whole[0] == row[0])


def shorten(store: Store, lineage: int, number: int, text: bytes) -> None:
    """Reduce the newest revision of a lineage to what differs from the next one, `number`, which has this text."""
    newest = store.rows("SELECT number, text FROM revisions WHERE lineage = ? AND next IS NULL", lineage)
    if len(newest) != 1:
        raise broken_trail(f"no lineage {lineage}")
    ((newest_number, before),) = newest
    head, tail = _shared_ends(before, text)
    middle = before[head : len(before) - tail]
    store.run("UPDATE revisions SET next = ?, head = ?, tail = ?, text = ? WHERE number = ?", number, head, tail, middle, newest_number)


def _whole_text(row: SqlRow, next_number: int | None, text: bytes) -> bytes:
    """The whole text of a row, from the text of the next revision of its lineage."""
    *_, following, head, tail, own = row
    if following != next_number or head + tail > len(text) or not isinstance(own, bytes):
        raise broken_trail(f"revision {row[0]} has lost its text")
    return text[:head] + own + text[len(text) - tail :]


def _shared_ends(old: bytes, new: bytes) -> tuple[int, int]:
    """Count the bytes that two texts share at their beginning, and those of the rest that they share at their end."""
    head = _shared_start(old, new)
    return head, _shared_start(old[head:][::-1], new[head:][::-1])


def _shared_start(left: bytes, right: bytes) -> int:
    """Count the bytes that two texts share at their beginning: by large chunks, then by halves."""
    most, start, size = min(len(left), len(right)), 0, _CHUNK
    while size:
        while start + size <= most and left[start : start + size] == right[start : start + size]:
            start += size
        size //= 2
    return start
