"""The guard: texts from a session, without what it was given. Pure.

It removes blocks, drops repeats of given entries or memory, and finds the lines that a compaction's
summary asks to keep: the list under its line `Memory:`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

from mdmem import secrets
from mdmem.editors import sameness
from mdmem.model import FactId
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.facts import normalise, parse_text, shortened, split_key
from mdmem.transcripts import tags


@dataclass(frozen=True, slots=True)
class GuardedTexts:
    """The new texts in order, and the number dropped."""

    kept: tuple[str, ...]
    dropped: int


def strip_blocks(text: str) -> str:
    """A text without the blocks that a session was given; one not closed goes on to the end."""
    has_tag = tags.MEMORY_TAG in text.casefold()
    return tags.strip_blocks(text, frozenset({tags.MEMORY_TAG})) if has_tag else text


def text_id(text: str) -> FactId:
    """The id of a text as a fact."""
    return parse_text(text).id


_parsed = lru_cache(maxsize=1024)(parse_text)


def restates(text: str, entry: str) -> bool:
    """True if a text says what an entry says, in nearly the same words."""
    claim, current = _parsed(text), _parsed(entry)
    if claim.id == current.id:
        return True
    if claim.key is not None and current.key is not None:
        if normalise(claim.key) != normalise(current.key):
            return False
        value = split_key(claim.text, claim.key)[1]
        return normalise(value) == normalise(split_key(current.text, current.key)[1])
    return sameness.resemble(claim.text, current.text)


def drop_given(
    texts: Iterable[tuple[str, Iterable[str]]],
    given_ids: Collection[str],
) -> GuardedTexts:
    """The texts that are neither given nor current; each with its nearest entries."""
    kept: list[str] = []
    dropped = 0
    for text, entries in texts:
        if text_id(text) in given_ids or any(restates(text, entry) for entry in entries):
            dropped += 1
        else:
            kept.append(text)
    return GuardedTexts(tuple(kept), dropped)


# The summary of a compaction

MOST_LINES, MOST_CHARACTERS = 20, 300
"""The maximum of lines kept of a summary, and of characters in each."""
_HEADING = late.pattern(
    r"(?im)^[ \t]*(?:#{1,6}[ \t]+)?(?:\d+[.)][ \t]+)?[*_`]{0,3}Memory(?::[*_`]{0,3}|[*_`]{0,3}:)"
    r"[ \t]*(?:none\b.*|nothing\b.*)?$"
)
_ITEM = late.pattern(r"[ \t]*(?:[-*+\u2022]|\d+[.)])[ \t]+(.*)")
_NOTHING = late.pattern(
    r"(?i)\W*(?:\[\w+\]\s*)?" r"(?:text|none|nothing|n/a|nothing (?:new|to (?:keep|add)))\W*"
)


def memory_lines(summary: str) -> tuple[str, ...]:
    """The items of the last list under a line `Memory:`, but those that hold a secret."""
    # Secrets are looked for in the whole text, since one may go over several lines.
    redacted = secrets.redact(summary, strict=True)
    headings = list(_HEADING.finditer(redacted))
    if not headings:
        return ()
    listed = redacted[headings[-1].end() :]
    items = (item for item in _items(listed) if secrets.REDACTED not in item)
    lines = (shortened(" ".join(item.split()), MOST_CHARACTERS) for item in items)
    telling = (line for line in lines if line and not _NOTHING.fullmatch(line))
    return tuple(dict.fromkeys(telling))[:MOST_LINES]


def _items(text: str) -> Iterator[str]:
    item: str | None = None
    for line in text.split("\n"):
        match = _ITEM.fullmatch(line.rstrip())
        if match:
            if item is not None:
                yield item
            item = match[1]
        elif line.strip() and item is not None and line[0] in " \t":
            item = f"{item} {line}"
        elif line.strip():
            break
    if item is not None:
        yield item
