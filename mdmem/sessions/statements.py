"""Statements that are always kept: kind, attribute and correction.

The attribute (`employer`, `favourite tea`) is the key in curated memory; equal keys are taken for
values of one attribute. So only current facts of the user have one: no condition, wish or doubt.
"""

from __future__ import annotations

from collections.abc import Sequence

from mdmem.sessions.plain import (
    STATES,
    STATES_ANYWHERE,
    clause_starts,
    is_announced,
    is_on_a_topic,
    states_plainly,
)
from mdmem.sessions.sentences import (
    FIRST_PERSON,
    REPORTED,
    Sentence,
    WordedPattern,
    any_pattern,
    pattern_of,
    worded_of,
)
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.languages import FAVOURITE, SAME_KEYS, rows_of, words_of

MANY_VALUED = words_of("MANY_VALUED")
FORGET_REQUEST = pattern_of("FORGET_REQUESTS")
CORRECTION = "correction"
_MARK = late.pattern(r"(?i)^\W*(decision|preference|lesson|fact|remember|note|todo)\s*:\s*\S")
_MARK_KINDS = {"remember": "fact", "note": "fact", "todo": "task"}
KEPT_ANYWHERE = tuple(
    (WordedPattern.of(words, patterns), kind)
    for words, patterns, kind in rows_of("KEPT_ANYWHERE")  # the first that matches decides
)
_KEPT_CLAUSES = tuple((any_pattern((row[0],)), row[1]) for row in rows_of("KEPT_CLAUSES"))
TOOL_DECISION, CORRECTS = worded_of("TOOL_DECISIONS"), worded_of("CORRECTIONS")
_KEEP_REQUEST = worded_of("KEEP_REQUESTS")
_PASSING = pattern_of("PASSING")
_LESSON, _STATUS = pattern_of("LESSONS"), pattern_of("STATUSES")
_ROWS = rows_of("ATTRIBUTES")
ATTRIBUTES = tuple((WordedPattern.of(words, (pattern,)), key) for words, pattern, key in _ROWS)
_ATTRIBUTE_WORDS = frozenset(word for words, _, _ in _ROWS for word in words.split())
_NOT_SO, _NOT_SO_BEFORE = pattern_of("NOT_SO"), pattern_of("NOT_SO_BEFORE")
_LIKINGS = frozenset({"allergy", "diet"})


@dataclass(frozen=True, slots=True)
class StatedAttribute:
    """The attribute that a statement is about, its value, and where the statement begins.

    `name`: the attribute in the speaker's word for it, `manager` for `boss`.
    """

    key: str
    name: str
    value: str
    start: int


def stated_attribute(sentence: Sentence, tools: bool = False) -> StatedAttribute | None:
    if _ATTRIBUTE_WORDS.isdisjoint(sentence.pieces) or FIRST_PERSON.isdisjoint(sentence.folded):
        return None
    if sentence.is_question:
        return None
    text = sentence.outside_quotations
    for pattern, key in ATTRIBUTES:
        match = pattern.search(text, sentence.pieces)
        if match is None:
            continue
        if (tools and match.groupdict().get("moved")) or _NOT_SO.search(text):
            return None
        if REPORTED.search(text, sentence.pieces):
            return None
        if _NOT_SO_BEFORE.search(text, 0, match.start()) or is_announced(text, match.start()):
            return None
        if is_on_a_topic(text, match.start()):
            return None
        named = (match.groupdict().get("key") or "").casefold()
        return StatedAttribute(
            key=key.format(key=SAME_KEYS.get(named, named)),
            name=key.format(key=named),
            value=match["value"],
            start=match.start(),
        )
    return None


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
    text = sentence.outside_quotations
    if match := _MARK.match(text):
        name = match[1].casefold()
        return Cue(_MARK_KINDS.get(name, name), "mark", states_plainly(sentence, match.start()))
    if match := CORRECTS.search(text, sentence.pieces):
        asked = _KEEP_REQUEST.search(text, sentence.pieces)
        is_plain = states_plainly(sentence, match.start(), begins=False) or (
            asked is not None and states_plainly(sentence, asked.start())
        )
        return Cue(CORRECTION, CORRECTION, is_plain)
    kept = [
        Cue(kind, kind, states_plainly(sentence, match.start()))
        for pattern, kind in KEPT_ANYWHERE
        if (match := pattern.search(text, sentence.pieces))
    ]
    if kept:
        return next((cue for cue in kept if cue.is_plain), kept[0])
    if tools and (match := TOOL_DECISION.search(text, sentence.pieces)):
        return Cue("decision", "decision", states_plainly(sentence, match.start(), begins=False))
    if attribute is not None:
        is_liking = attribute.key in _LIKINGS or attribute.key.startswith(FAVOURITE)
        is_plain = states_plainly(sentence, attribute.start)
        return Cue("preference" if is_liking else "fact", "attribute", is_plain)
    for start in clause_starts(text):
        for clause, kind in _KEPT_CLAUSES:
            if clause.match(text, start):
                return Cue(kind, kind, states_plainly(sentence, start))
    return None


def is_stated(sentence: Sentence) -> bool:
    """True if a sentence without a cue states plainly how things are."""
    text = sentence.outside_quotations
    if _PASSING.search(text):
        return False
    starts = (start for start in clause_starts(text) if STATES.match(text, start))
    if any(states_plainly(sentence, start) for start in starts):
        return True
    match = STATES_ANYWHERE.search(text)
    return match is not None and states_plainly(sentence, match.start(), begins=False)


def find_agent_cue(sentence: Sentence) -> Cue | None:
    for pattern, kind in ((_LESSON, "lesson"), (_STATUS, "status")):
        if pattern.search(sentence.straight):
            return Cue(kind, kind, False)
    return None


# Corrections

_KIN_PEOPLE = words_of("PEOPLE") | {f"{name}'s" for name in words_of("PEOPLE")}
_CORRECTING = words_of("CORRECTING")
_SELF = late.pattern(
    r"(?i)(?:(?:actually|no|sorry|wait|oh|hm+|correction|scratch that|my mistake)\b[,.:!]? )*"
    r"(?:i|we)\b(?! (?:meant|mean|changed (?:my|our) minds?)\b)"
)
"""Begins a correction of the speaker: `Actually, I live in Lisbon`."""
_NUMBER = late.pattern(r"(?:\d[\d.,:]*)(?:st|nd|rd|th|am|pm|%)?")


@dataclass(frozen=True, slots=True)
class Statement:
    sentence: Sentence
    key: str | None


def find_corrected(correction: Statement, statements: Sequence[Statement]) -> tuple[int, ...]:
    """The indexes of the statements that a correction may mean, by the first rule that fits."""
    for is_meant in (_same_key, _same_but_number, _same_but_one_word):
        meant = tuple(at for at, each in enumerate(statements) if is_meant(correction, each))
        if meant:
            return meant
    return ()


def _same_key(correction: Statement, statement: Statement) -> bool:
    return correction.key is not None and correction.key == statement.key


def _of_different_people(correction: Statement, statement: Statement) -> bool:
    corrected_kin = _KIN_PEOPLE.intersection(correction.sentence.folded)
    stated_kin = _KIN_PEOPLE.intersection(statement.sentence.folded)
    if corrected_kin and stated_kin:
        return corrected_kin.isdisjoint(stated_kin)
    speaks_of_self = _SELF.match(correction.sentence.straight) is not None
    if not speaks_of_self or corrected_kin:
        return False
    return bool(stated_kin) or (statement.key is None and correction.key is not None)


def _same_but_one_word(correction: Statement, statement: Statement) -> bool:
    if _of_different_people(correction, statement):
        return False
    wanted = set(correction.sentence.content) - _CORRECTING
    shared = wanted.intersection(statement.sentence.content)
    # The name of an attribute alone is too little: `my brother is called Jan`, `my brother is
    # German`.
    is_more_than_key = bool(shared.difference((statement.key or "").split()))
    return len(wanted) > 1 and len(wanted) - len(shared) <= 1 and is_more_than_key


def _same_but_number(correction: Statement, statement: Statement) -> bool:
    if _of_different_people(correction, statement):
        return False
    corrected = _words_beside_numbers(correction.sentence)
    return not corrected.isdisjoint(_words_beside_numbers(statement.sentence))


def _words_beside_numbers(sentence: Sentence) -> set[tuple[str, str]]:
    folded = [word.casefold() for word in sentence.words]
    neighbours = set()
    for at, word in enumerate(folded):
        if _NUMBER.fullmatch(word):
            if at + 1 < len(folded) and not folded[at + 1].isdigit():
                neighbours.add(("before", folded[at + 1]))
            if at and folded[at - 1] in sentence.content:
                neighbours.add(("behind", folded[at - 1]))
    return neighbours
