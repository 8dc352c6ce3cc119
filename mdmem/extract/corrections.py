"""The statement that a correction corrects, among those that the same person made shortly before."""

from __future__ import annotations

from collections.abc import Sequence

from mdmem.extract.sentences import Sentence
from mdmem.extract.vocabulary import vocabulary
from mdmem.startup import late
from mdmem.startup.records import dataclass

_SELF = late.pattern(
    r"(?i)(?:(?:actually|no|sorry|wait|oh|hm+|correction|scratch that|my mistake)\b[,.:!]? )*(?:i|we)\b(?! (?:meant|mean|changed (?:my|our) minds?)\b)"
)
"""The beginning of a correction whose speaker is its subject: `Actually, I live in Lisbon`."""
_NUMBER = late.pattern(r"(?:\d[\d.,:]*)(?:st|nd|rd|th|am|pm|%)?")


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement by its words and the attribute that it is about."""

    sentence: Sentence
    key: str | None


def find_corrected(correction: Statement, statements: Sequence[Statement]) -> tuple[int, ...]:
    """The indexes of the statements that a correction may mean, by the first rule that fits any.

    They have its key, or another number next to the same word, or all but one of its content words and the same subject.
    """
    for is_meant in (_same_key, _same_but_number, _same_but_one_word):
        meant = tuple(
            index
            for index, statement in enumerate(statements)
            if is_meant(correction, statement) and (is_meant is _same_key or not _of_different_people(correction, statement))
        )
        if meant:
            return meant
    return ()


def _same_key(correction: Statement, statement: Statement) -> bool:
    return correction.key is not None and correction.key == statement.key


def _of_different_people(correction: Statement, statement: Statement) -> bool:
    """True if one is about a relative that the other does not name, or the correction about its speaker alone and the statement about another."""
    kin = vocabulary().kin_people
    corrected_kin, stated_kin = kin.intersection(correction.sentence.folded), kin.intersection(statement.sentence.folded)
    if corrected_kin and stated_kin:
        return corrected_kin.isdisjoint(stated_kin)
    speaks_of_self = _SELF.match(correction.sentence.straight) is not None
    if not speaks_of_self or corrected_kin:
        return False
    return bool(stated_kin) or (statement.key is None and correction.key is not None)


def _same_but_one_word(correction: Statement, statement: Statement) -> bool:
    wanted = set(correction.sentence.content) - _CORRECTING
    shared = wanted.intersection(statement.sentence.content)
    # The name of an attribute alone is too little: `my brother is called Jan`, `my brother is German`.
    return len(wanted) > 1 and len(wanted) - len(shared) <= 1 and bool(shared.difference((statement.key or "").split()))


def _same_but_number(correction: Statement, statement: Statement) -> bool:
    """True if both have a number before, or behind, the same word."""
    return not _words_beside_numbers(correction.sentence).isdisjoint(_words_beside_numbers(statement.sentence))


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


_CORRECTING = frozenset(
    [
        "actually",
        "sorry",
        "meant",
        "mean",
        "make",
        "changed",
        "mind",
        "minds",
        "longer",
        "anymore",
        "correction",
        "scratch",
        "mistake",
        "instead",
        "looked",
        "wrong",
        "checked",
        "wait",
        "oops",
    ]
)
