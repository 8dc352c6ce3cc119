"""The texts of a section's revisions, of which only the newest is stored whole.

An older one is what differs from the next (its first `head` and last `tail` bytes are the next one's), so that a long section that
changes often costs what changes.
"""

from __future__ import annotations

from collections.abc import Iterator

from mdmem.trail.rows import SELECT_REVISIONS, SqlRow
from mdmem.trail.storage import Store, broken_trail

_CHUNK = 4096


def lineage_rows(store: Store, lineage: int) -> Iterator[SqlRow]:
    """The rows of a lineage with their whole texts, newest first."""
    newer, text = None, b""
    for row in store.each(f"{SELECT_REVISIONS} WHERE lineage = ? ORDER BY number DESC", lineage):
        text = _told(row, newer, text)
        newer = row[0]
        yield (*row[:-1], text)


def with_whole_text(store: Store, row: SqlRow) -> SqlRow:
    """A row with its whole text; every revision that stands is the newest of its lineage, unless sections were joined."""
    return row if row[8] is None else next(one for one in lineage_rows(store, row[1]) if one[0] == row[0])


def shorten(store: Store, lineage: int, number: int, text: bytes) -> None:
    """Keep of the newest revision of a lineage only what differs from the one that now comes, `number`."""
    newest = store.rows("SELECT number, text FROM revisions WHERE lineage = ? AND next IS NULL", lineage)
    if len(newest) != 1:
        raise broken_trail(f"there is no lineage {lineage}")
    ((older, before),) = newest
    head, tail = _shared(before, text)
    middle = before[head : len(before) - tail]
    store.run("UPDATE revisions SET next = ?, head = ?, tail = ?, text = ? WHERE number = ?", number, head, tail, middle, older)


def _told(row: SqlRow, newer: int | None, text: bytes) -> bytes:
    """The whole text of a row, from that of the next revision of its lineage, `newer`."""
    *_, following, head, tail, own = row
    if following != newer or head + tail > len(text) or not isinstance(own, bytes):
        raise broken_trail(f"revision {row[0]} has lost its text")
    return text[:head] + own + text[len(text) - tail :]


def _shared(old: bytes, new: bytes) -> tuple[int, int]:
    """How many bytes two texts share at their beginning, and how many of the rest at their end."""
    head = _common(old, new)
    return head, _common(old[head:][::-1], new[head:][::-1])


def _common(one: bytes, other: bytes) -> int:
    """How many bytes two texts share at their beginning: by large pieces, then by halves."""
    most, start, size = min(len(one), len(other)), 0, _CHUNK
    while size:
        while start + size <= most and one[start : start + size] == other[start : start + size]:
            start += size
        size //= 2
    return start
