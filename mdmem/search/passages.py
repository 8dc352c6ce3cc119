"""The text of an entry as a model of vectors is to see it, and the key of that text. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from mdmem.model.trail import Entry

_HEADING_CHARS = 240
_MOST_CHARS = 2000
_SHORT_CHARS = 80
"""A log entry below this is often an answer, and says little without the entry before it."""
_KEY_BYTES = 8


def passage(entries: Sequence[Entry], position: int, is_log: bool) -> str:
    """The text of one of a file's entries: headings, a short log entry's predecessor, its own."""
    entry = entries[position]
    parts = [" > ".join(entry.section)[:_HEADING_CHARS], entry.text]
    if is_log and position and len(entry.text) < _SHORT_CHARS:
        parts.insert(1, entries[position - 1].text)
    return "\n".join(filter(None, parts))[:_MOST_CHARS]


def passage_key(text: str) -> int:
    """A hash of 63 bits of a passage, as a number above 0."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_KEY_BYTES).digest()
    return int.from_bytes(digest, "big") >> 1 or 1
