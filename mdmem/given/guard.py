"""The guard: drop texts that only repeat what a session was given, or what memory holds. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from mdmem.facts import normalise, parse_text, split_key
from mdmem.model import FactId
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.transcripts import tags

if TYPE_CHECKING:
    from mdmem.editors import likeness
else:
    likeness = late.module("mdmem.editors.likeness")

_OWN_TAGS = frozenset({tags.MEMORY_TAG})


@dataclass(frozen=True, slots=True)
class GuardedTexts:
    """The texts that are new, in their order, and how many were dropped."""

    kept: tuple[str, ...]
    dropped: int


def strip_blocks(text: str) -> str:
    """A text without the blocks that a session was given. A block that is not closed goes on to the end of the text."""
    return tags.strip_blocks(text, _OWN_TAGS) if tags.MEMORY_TAG in text.casefold() else text


def text_id(text: str) -> FactId:
    """The id that a text has as a fact."""
    return parse_text(text).id


_parsed = lru_cache(maxsize=1024)(parse_text)


def restates(text: str, entry: str) -> bool:
    """True if a text says what an entry says, in nearly the same words: with the same numbers, names and negation, and the value of its key."""
    claim, current = _parsed(text), _parsed(entry)
    if claim.id == current.id:
        return True
    if claim.key is not None and current.key is not None:
        if normalise(claim.key) != normalise(current.key):
            return False
        return normalise(split_key(claim.text, claim.key)[1]) == normalise(split_key(current.text, current.key)[1])
    return likeness.resemble(claim.text, current.text)


def drop_given(texts: Iterable[tuple[str, Iterable[str]]], given_ids: Collection[str]) -> GuardedTexts:
    """The texts that are neither given nor current.

    Args:
        texts: each with the entries of memory that are nearest to it.
        given_ids: the ids of the entries that a session was given.
    """
    kept: list[str] = []
    dropped = 0
    for text, entries in texts:
        if text_id(text) in given_ids or any(restates(text, entry) for entry in entries):
            dropped += 1
        else:
            kept.append(text)
    return GuardedTexts(tuple(kept), dropped)
