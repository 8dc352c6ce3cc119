"""The statement that a correction corrects, among those that the same person made shortly before."""

from __future__ import annotations

from collections.abc import Sequence

from mdmem.extract.sentences import Sentence
from mdmem.startup import late
from mdmem.startup.records import dataclass

_NUMBER = late.pattern(r"(?:\d[\d.,:]*)(?:st|nd|rd|th|am|pm|%)?")


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement by its words and the attribute that it is about."""

    sentence: Sentence
    key: str | None


def find_corrected(correction: Statement, statements: Sequence[Statement]) -> tuple[int, ...]:
    """The places in `statements` of those that a correction may mean: of its key, else with all but one of its content words, or with another
    number where it has one.
    """
    for is_meant in (_same_key, _same_but_number, _same_but_one_word):
        meant = tuple(place for place, statement in enumerate(statements) if is_meant(correction, statement))
        if meant:
            return meant
    return ()


def _same_key(correction: Statement, statement: Statement) -> bool:
    return correction.key is not None and correction.key == statement.key


def _same_but_one_word(correction: Statement, statement: Statement) -> bool:
    wanted = set(correction.sentence.content) - _CORRECTING
    return len(wanted) > 1 and len(wanted.difference(statement.sentence.content)) <= 1


def _same_but_number(correction: Statement, statement: Statement) -> bool:
    """True if a number of the one stands where the other has another: before or behind the same word."""
    return not _number_places(correction.sentence).isdisjoint(_number_places(statement.sentence))


def _number_places(sentence: Sentence) -> set[tuple[str, str]]:
    folded = [word.casefold() for word in sentence.words]
    places = set()
    for at, word in enumerate(folded):
        if _NUMBER.fullmatch(word):
            if at + 1 < len(folded) and not folded[at + 1].isdigit():
                places.add(("before", folded[at + 1]))
            if at and folded[at - 1] in sentence.content:
                places.add(("behind", folded[at - 1]))
    return places


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
