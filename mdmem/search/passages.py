"""The text of an entry as a model of vectors is to see it, and the key of that text. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b

from mdmem.model.trail import Entry

_HEADING_CHARS = 240
_MOST_CHARS = 2000
_SHORT_CHARS = 80
"""A log entry below this is often an answer, and says little without the entry before it."""
_KEY_BYTES = 8


def passage_entries(entries: Sequence[Entry], position: int, is_log: bool) -> Sequence[Entry]:
    """The entries whose text is in a passage: one of a file's, and the one before it, if needed."""
    needs_other = is_log and position > 0 and len(entries[position].text) < _SHORT_CHARS
    return entries[position - needs_other : position + 1]


def passage(entries: Sequence[Entry], clean: Callable[[str], str] = str) -> str:
    """The text of `passage_entries`, below the headings of the last one.

    `clean` takes out what is not to be sent, before a cut can hide it.
    """
    headings = clean(" > ".join(entries[-1].section))[:_HEADING_CHARS]
    texts = filter(None, (headings, *(entry.text for entry in entries)))
    return clean("\n".join(texts))[:_MOST_CHARS]


def passage_key(text: str) -> int:
    """A hash of 63 bits of a passage, as a number above 0."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_KEY_BYTES).digest()
    return int.from_bytes(digest, "big") >> 1 or 1
