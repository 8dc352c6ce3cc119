"""Find the hits that answer a prompt: its own, those with the talk before it, lines for a task."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mdmem.model import FileKind
from mdmem.model.searches import Hit
from mdmem.search.gate import is_question
from mdmem.search.indexer import SearchIndex
from mdmem.text.follow_ups import is_follow_up, made_things

_CURATED_KINDS = (FileKind.EVERGREEN, FileKind.PROFILE)
_MOST_CURATED = 8
"""Curated hits that are read for a task."""


def carried_hits(
    prompt: str,
    talk: Sequence[str],
    index: SearchIndex,
    ask: Callable[[str], tuple[Hit, ...]],
    kind_of: Callable[[Hit], FileKind],
    ask_meaning: Callable[[str], tuple[Hit, ...]] | None = None,
) -> tuple[tuple[Hit, ...], bool]:
    """The hits for a prompt, and whether memory carries it.

    A full question is asked alone first, others with the talk; most prompts cost one search.

    Args:
        talk: the messages that may explain the prompt, in their order.
        index: whose gate decides.
        ask: search for a text.
        kind_of: the kind of a hit's file.
        ask_meaning: search with vectors too, for a text that memory carries by its words.
    """
    together = "\n".join((*talk, prompt))
    is_full = not talk or (is_question(prompt) and not is_follow_up(prompt))
    first, second = (prompt, together) if is_full else (together, prompt)
    hits = ask(first)
    if index.carries(first, hits):
        return (ask_meaning(first) if ask_meaning else hits), True
    if talk and (is_full or index.stands_alone(prompt, hits)):
        other_hits = ask(second)
        if index.carries(second, other_hits):
            return (ask_meaning(second) if ask_meaning else other_hits), True
    curated = [hit for hit in hits if not hit.near and kind_of(hit) in _CURATED_KINDS]
    lines = index.lines_for_task(prompt, made_things(prompt), curated[:_MOST_CURATED])
    corrections = {line.later for line in lines} - {None}
    return tuple(hit for hit in hits if hit in lines or hit.fact in corrections), bool(lines)
