"""Texts that a model suggests, as far as they can be judged by themselves. Pure."""

from __future__ import annotations

from typing import Any

from mdmem import secrets
from mdmem.llm.instructions import CONSOLIDATE, EXTRACT, MOST_CHARACTERS, OPENING, PLACEHOLDERS
from mdmem.startup import late
from mdmem.transcripts.tags import strip_blocks

_TAG = late.pattern(r"<[/!?]?[A-Za-z][^<>]*>|&(?:amp;)*(?:lt|#0*60|#x0*3c);|\{\{|\}\}|\[REDACTED:")
_WORD = late.pattern(r"\w")
_RUN_OF_WORDS = 6
"""So many words in the order of the instructions are theirs."""


class RefusedItemError(Exception):
    """An item of an answer is not taken; the message says why."""


def require_text(value: Any) -> str:
    """The text of a suggestion, on one line.

    Raises:
        RefusedItemError: it may not be written, whatever it is about.
    """
    if not isinstance(value, str) or not is_said(value):
        raise RefusedItemError("no text")
    text = " ".join(value.split())
    if len(text) > MOST_CHARACTERS:
        raise RefusedItemError("a text that is too long")
    if not text.isprintable():
        raise RefusedItemError("control characters")
    if secrets.find(text, strict=True):
        raise RefusedItemError("a secret")
    if _TAG.search(text) or strip_blocks(text) != text:
        raise RefusedItemError("a tag")
    if OPENING.partition("/")[0] in text or any(each in text for each in PLACEHOLDERS) or _repeats_instructions(text):
        raise RefusedItemError("words of the instructions")
    return text


def _repeats_instructions(text: str) -> bool:
    words, instructions = text.casefold().split(), f" {' '.join(f'{EXTRACT} {CONSOLIDATE}'.casefold().split())} "
    return any(f" {' '.join(words[at : at + _RUN_OF_WORDS])} " in instructions for at in range(len(words) - _RUN_OF_WORDS + 1))


def is_said(text: str) -> bool:
    """True if a text has a word in it."""
    return _WORD.search(text) is not None
