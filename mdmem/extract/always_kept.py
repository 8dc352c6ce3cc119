"""Statements that are always kept: the kind of each, and whether it stands as the user's own word.

A statement is the user's own word where a rule says so and it is neither condition, nor quotation, nor something that was pasted.
"""

from __future__ import annotations

from mdmem.extract.pasted import is_announced
from mdmem.extract.sentences import QUOTED, Sentence
from mdmem.extract.vocabulary import vocabulary
from mdmem.startup import late
from mdmem.startup.records import dataclass

_MARK = late.pattern(r"(?i)^\W*(decision|preference|lesson|fact|remember|note|todo)\s*:\s*\S")
_MARK_KINDS = {"remember": "fact", "note": "fact", "todo": "task"}
CORRECTION = "correction"


@dataclass(frozen=True, slots=True)
class Cue:
    """The reason why a statement is kept: its kind, the name of the rule, and whether it is the user's own word."""

    kind: str
    rule: str
    own_word: bool


def find_cue(sentence: Sentence, tools: bool, pasted: bool, attribute_kind: str | None = None) -> Cue | None:
    """The cue of a person's sentence; None where there is none.

    Args:
        sentence: as it stands.
        tools: the session is one with tools.
        pasted: the sentence stands in something that was pasted.
        attribute_kind: the kind of a statement about its attribute, where it has one.
    """
    outside = sentence.outside_quotations
    words = vocabulary()
    rule = _rule(outside, sentence.pieces, tools) or (attribute_kind and (attribute_kind, "attribute", 0))
    if not rule:
        return None
    kind, name, start = rule
    is_own = not (
        pasted
        or QUOTED in outside
        or words.condition.search(outside, sentence.pieces)
        or words.reported.search(outside, sentence.pieces)
        or is_announced(outside, start)
    )
    return Cue(kind, name, is_own)


def _rule(text: str, pieces: frozenset[str], tools: bool) -> tuple[str, str, int] | None:
    """The kind that a rule gives to a text, the name of the rule, and where it applies."""
    if match := _MARK.match(text):
        name = match[1].casefold()
        return _MARK_KINDS.get(name, name), "mark", match.start()
    words = vocabulary()
    if match := words.correction.search(text, pieces):
        return CORRECTION, CORRECTION, match.start()
    for pattern, kind in words.cues:
        if match := pattern.search(text, pieces):
            return kind, kind, match.start()
    match = words.tool_decision.search(text, pieces) if tools else None
    return ("decision", "decision", match.start()) if match else None


def find_agent_cue(sentence: Sentence) -> Cue | None:
    """The cue of an agent's sentence: a lesson or a status."""
    return next((Cue(kind, kind, False) for pattern, kind in vocabulary().agent if pattern.search(sentence.straight)), None)
