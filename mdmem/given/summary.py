"""The lines that the summary of a compaction asks to keep: the list under its line `Memory:`. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from mdmem import secrets
from mdmem.startup import late

MOST_LINES, MOST_CHARACTERS = 20, 300
"""The most lines of a summary that are kept, and the most characters of each."""
_HEADING = late.pattern(
    r"(?im)^[ \t]*(?:#{1,6}[ \t]+)?(?:\d+[.)][ \t]+)?[*_`]{0,3}Memory(?::[*_`]{0,3}|[*_`]{0,3}:)[ \t]*(?:none\b.*|nothing\b.*)?$"
)
_ITEM = late.pattern(r"[ \t]*(?:[-*+\u2022]|\d+[.)])[ \t]+(.*)")
_NOTHING = late.pattern(r"(?i)\W*(?:\[\w+\]\s*)?(?:text|none|nothing|n/a|nothing (?:new|to (?:keep|add)))\W*")


def memory_lines(summary: str) -> tuple[str, ...]:
    """The items of the last list under a line `Memory:`, each on one line and once; those that are too long end at a word.

    An item that holds a secret is left out as a whole: what stands around a secret belongs to it.
    """
    # Secrets are looked for in the whole text, since one may go over several lines.
    redacted = secrets.redact(summary, strict=True)
    headings = list(_HEADING.finditer(redacted))
    if not headings:
        return ()
    items = (item for item in _items(redacted[headings[-1].end() :]) if secrets.REDACTED not in item)
    lines = (_cut(" ".join(item.split())) for item in items)
    return tuple(dict.fromkeys(line for line in lines if line and not _NOTHING.fullmatch(line)))[:MOST_LINES]


def _items(text: str) -> Iterator[str]:
    """The items of the list that a text begins with; an indented line goes on with the item before it."""
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


def _cut(text: str) -> str:
    if len(text) <= MOST_CHARACTERS:
        return text
    start = text[: MOST_CHARACTERS - 1]
    return f"{start.rpartition(' ')[0] or start}…"
