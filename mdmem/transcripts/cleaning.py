"""Text of a transcript as it may be stored: without blocks of clients and memory tools, secrets and control characters."""

from __future__ import annotations

from mdmem.client_tags import strip_blocks
from mdmem.secrets import redact
from mdmem.startup import late

_TERMINAL_CODE = late.pattern(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
_LINE_END = late.pattern("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_CONTROL = late.pattern(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
"""Characters that are not shown, or that change the direction of text. Line feeds and tabs stay."""
_JOINER = late.pattern("[\u200c\u200d]")
"""Characters that are not shown either, but that some scripts and emoji need."""
_SURROGATE = late.pattern("[\ud800-\udfff]")


def clean(text: str) -> str:
    """A text without client and memory tags' blocks, each secret as `[REDACTED:kind]`, without control characters.

    Control characters go first: they could hide a tag or a secret from what looks for these. A comment that exempts a line from the search for
    secrets counts for nothing here: whoever wrote it was not asked whether the text is to be stored. For the same reason more is taken for a password here.
    """
    plain = remove_control_characters(text)
    joined = plain if plain.isascii() else _JOINER.sub("", plain)
    without = redact(strip_blocks(joined), strict=True)
    # Joiners stay where they hide nothing.
    return (plain if without == joined else without).strip()


def remove_control_characters(text: str) -> str:
    """A text whose characters are all shown; every line ends at a line feed."""
    if text.isprintable() or (text.isascii() and text.replace("\n", " ").replace("\t", " ").isprintable()):
        return text
    plain = _CONTROL.sub("", _LINE_END.sub("\n", _TERMINAL_CODE.sub("", text)))
    return _SURROGATE.sub("\ufffd", plain)
