"""Remove client text, control characters and secrets.

Clients and memory tools put text of their own, in tags, among a person's words; it must not come
back as something said. Where the end of a block is unclear, more is removed: an open block goes on
to the end, and a second closing tag includes the text before it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from re import Match, Pattern

from mdmem.secrets import redact
from mdmem.sessions.clients import CLIENTS
from mdmem.startup import late

MEMORY_TAG = "mdmem-context"

TAGS = frozenset[str]().union(*(client.tags for client in CLIENTS)) | {
    MEMORY_TAG,
    # Memory tools
    "memory-context",
    "memory_context",
    "memories",
    "user_memories",
    "claude-mem-context",
    "supermemory-context",
    "supermemory-containers",
    "mem0-context",
    "mem0_memories",
    "hindsight_memories",
    "honcho-context",
    "honcho-memory",
    "openviking-context",
    "private",
}

_LESS = r"(?:[<\uff1c\ufe64]|&(?:amp;)*(?:lt|#0*60|#x0*3c);)"
_MORE = r"(?:[>\uff1e\ufe65]|&(?:amp;)*(?:gt|#0*62|#x0*3e);)"
_BEGINNINGS = ("<", "&", "\uff1c", "\ufe64")


@lru_cache(maxsize=8)
def _tag_pattern(names: frozenset[str]) -> Pattern[str]:
    """A tag, as it is or escaped for HTML (once or more often); it need not be ended."""
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    alternatives = "|".join(re.escape(name).replace(r"\ ", r"\s+") for name in longest_first)
    return re.compile(
        rf"(?i)(?P<less>{_LESS})\s*+(?P<closing>/?)\s*+(?P<name>{alternatives})(?![\w.:-])"
        rf"(?P<rest>[^<>&\uff1c\uff1e]*(?:{_MORE})?)"
    )


_MOST_ROUNDS = 20
"""If removals keep making new tags, what follows is dropped."""

_OPENINGS = "<\uff1c\ufe64"
_TAG = late.pattern(r"<\s*+/?\s*+(?P<name>[\w.:-]++)(?:\s++(?P<more>[\w.:-]++))?")
_OWN_BEGINNINGS = ("mdmem-", "system-", "system.", "system:")
"""Of names that could be mdmem's frames, or a host's as the system."""
_HIDDEN_CATEGORIES = ("Cc", "Cf")
_HIDDEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2065\u3164\uffa0")
_HIDDEN_RANGES = (range(0xFE00, 0xFE10), range(0xFFF0, 0xFFF9), range(0xE0000, 0xE1000))
"""Others not shown (`Default_Ignorable_Code_Point` of Unicode 15)."""


def escape_tags(text: str) -> str:
    """Escape the `<` of each tag, in every spelling: full-width letters, hidden characters."""
    if not any(opening in text for opening in _OPENINGS):
        return text
    plain, positions = _shown_characters(text)
    tags = (tag for tag in _TAG.finditer(plain) if _is_frame(tag["name"].casefold(), tag["more"]))
    starts = [positions[tag.start()] for tag in tags]
    return "&lt;".join(_parts_between(text, [(start, start + 1) for start in starts]))


def _is_frame(name: str, more: str | None) -> bool:
    if name in TAGS or name == "system" or name.startswith(_OWN_BEGINNINGS):
        return True
    return more is not None and f"{name} {more.casefold()}" in TAGS


def _shown_characters(text: str) -> tuple[str, Sequence[int]]:
    """A text in NFKC without what is not shown, and where each character was."""
    if text.isascii() and text.isprintable():
        return text, range(len(text))
    visible = ((at, each) for at, each in enumerate(text) if not _is_hidden(each))
    shown = [
        (character, at) for at, each in visible for character in unicodedata.normalize("NFKC", each)
    ]
    return "".join(character for character, _ in shown), [position for _, position in shown]


def _is_hidden(character: str) -> bool:
    if character.isascii():
        return not character.isprintable() and not character.isspace()
    if unicodedata.category(character) in _HIDDEN_CATEGORIES and not character.isspace():
        return True
    return character in _HIDDEN or any(ord(character) in each for each in _HIDDEN_RANGES)


def strip_blocks(text: str, tags: Collection[str] = TAGS) -> str:
    """A text without blocks in these tags, nested and escaped ones too."""
    for _ in range(_MOST_ROUNDS):
        spans = block_spans(text, tags)
        if not spans:
            return text
        text = "".join(_parts_between(text, spans))
    tag = _tag_pattern(frozenset(tags)).search(text)
    return text[: tag.start()] if tag else text


def block_spans(text: str, tags: Collection[str]) -> Sequence[tuple[int, int]]:
    """Start and end of each block in these tags, nested and escaped ones too."""
    if not any(beginning in text for beginning in _BEGINNINGS):
        return ()
    return list(_block_spans(text, _tag_pattern(frozenset(tags))))


def _parts_between(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[str]:
    position = 0
    for start, end in spans:
        yield text[position:start]
        position = end
    yield text[position:]


def _block_spans(text: str, pattern: Pattern[str]) -> Iterator[tuple[int, int]]:
    tags = list(pattern.finditer(text))
    position = 0
    end: int | None = None
    while position < len(tags):
        opening = tags[position]
        closing = None if opening["closing"] else _closing_position(tags, position)
        if opening["closing"]:
            # A block before it seemed to end earlier: its own text had a closing tag.
            yield opening.start() if end is None else end, opening.end()
            end, position = opening.end(), position + 1
        elif closing is None:
            yield opening.start(), len(text)
            return
        else:
            yield opening.start(), tags[closing].end()
            end, position = tags[closing].end(), closing + 1


def _closing_position(tags: list[Match[str]], position: int) -> int | None:
    opening = tags[position]
    if _closes_itself(opening):
        return position
    depth = 0
    for following in range(position, len(tags)):
        tag = tags[following]
        if _same_tag(tag, opening) and not _closes_itself(tag):
            depth += -1 if tag["closing"] else 1
            if depth == 0:
                return following
    return None


def _closes_itself(tag: Match[str]) -> bool:
    return not tag["closing"] and tag["rest"].rstrip(">\uff1e").rstrip().endswith("/")


def _same_tag(tag: Match[str], other: Match[str]) -> bool:
    is_alike = tag["less"].lower() == other["less"].lower()
    return is_alike and tag["name"].lower().split() == other["name"].lower().split()


# Text of a transcript as it may be stored

_TERMINAL_CODE = late.pattern(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])",
)
_LINE_END = late.pattern("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_CONTROL = late.pattern(
    r"[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e"
    r"\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Characters that are not shown, or change the direction; line feeds and tabs stay."""
_JOINER = late.pattern("[\u200c\u200d]")
"""Not shown either, but needed by some scripts and emoji."""
_SURROGATE = late.pattern("[\ud800-\udfff]")


def clean(text: str) -> str:
    """Remove blocks of clients and memory tools, secrets and control characters.

    Control characters go first: they could hide a tag or a secret. Allow comments are ignored,
    since their author was not asked about storing.
    """
    plain = _remove_control_characters(text)
    joined = plain if plain.isascii() else _JOINER.sub("", plain)
    without = redact(strip_blocks(joined), strict=True)
    # Joiners stay where they hide nothing.
    return (plain if without == joined else without).strip()


def _remove_control_characters(text: str) -> str:
    spaced = text.replace("\n", " ").replace("\t", " ") if text.isascii() else text
    if spaced.isprintable():
        return text
    plain = _CONTROL.sub("", _LINE_END.sub("\n", _TERMINAL_CODE.sub("", text)))
    return _SURROGATE.sub("\ufffd", plain)
