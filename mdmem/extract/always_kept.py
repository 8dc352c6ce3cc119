"""Statements that are always kept: the kind of each, and whether it is stated plainly.

Other statements can be plain too (`is_stated`), but these alone are kept for their words.
"""

from __future__ import annotations

from mdmem.extract.attributes import StatedAttribute, attribute_kind
from mdmem.extract.plain import clause_starts, states_plainly
from mdmem.extract.sentences import Sentence
from mdmem.extract.vocabulary import plain_words, vocabulary
from mdmem.startup import late
from mdmem.startup.records import dataclass

_MARK = late.pattern(r"(?i)^\W*(decision|preference|lesson|fact|remember|note|todo)\s*:\s*\S")
_MARK_KINDS = {"remember": "fact", "note": "fact", "todo": "task"}
CORRECTION = "correction"


@dataclass(frozen=True, slots=True)
class Cue:
    """Why a statement is kept: its kind, the name of the rule, and whether it is stated plainly."""

    kind: str
    rule: str
    is_plain: bool


def find_cue(
    sentence: Sentence,
    tools: bool,
    attribute: StatedAttribute | None = None,
) -> Cue | None:
    """The cue of a person's sentence; None where there is none.

    Args:
        sentence: as it stands.
        tools: the session is one with tools.
        attribute: the attribute that it is about, where it is about one.
    """
    text, words = sentence.outside_quotations, vocabulary()
    if match := _MARK.match(text):
        name = match[1].casefold()
        return Cue(_MARK_KINDS.get(name, name), "mark", states_plainly(sentence, match.start()))
    if match := words.correction.search(text, sentence.pieces):
        return Cue(CORRECTION, CORRECTION, states_plainly(sentence, match.start(), begins=False))
    for pattern, kind in words.cues:
        if match := pattern.search(text, sentence.pieces):
            return Cue(kind, kind, states_plainly(sentence, match.start()))
    if tools and (match := words.tool_decision.search(text, sentence.pieces)):
        return Cue("decision", "decision", states_plainly(sentence, match.start(), begins=False))
    if attribute is not None:
        is_plain = states_plainly(sentence, attribute.start)
        return Cue(attribute_kind(attribute.key), "attribute", is_plain)
    return _find_other_language(sentence, text)


def _find_other_language(sentence: Sentence, text: str) -> Cue | None:
    """The cue of a sentence in another language than English."""
    for start in clause_starts(text):
        for pattern, kind in plain_words().cues:
            if pattern.match(text, start):
                return Cue(kind, kind, states_plainly(sentence, start))
    return None


def is_stated(sentence: Sentence) -> bool:
    """True if a sentence without a cue states plainly how things are."""
    text, words = sentence.outside_quotations, plain_words()
    starts = (start for start in clause_starts(text) if words.states.match(text, start))
    if any(states_plainly(sentence, start) for start in starts):
        return True
    match = words.states_anywhere.search(text)
    return match is not None and states_plainly(sentence, match.start(), begins=False)


def find_agent_cue(sentence: Sentence) -> Cue | None:
    """The cue of an agent's sentence: a lesson or a status."""
    kinds = (kind for pattern, kind in vocabulary().agent if pattern.search(sentence.straight))
    return next((Cue(kind, kind, False) for kind in kinds), None)
