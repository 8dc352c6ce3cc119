"""Current statements that a new one may correct, connected by nothing but their words.

`likeness` compares a removed line with the one added for it. A new entry may concern none of many
lines, so more is required: the fewer words they share, the more alike they must be, and less where
a word reports a change (`now`, `moved`, `no longer`). Numbers, times and names count little.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from enum import Enum, auto
from functools import lru_cache

from mdmem.editors.likeness import (
    ContentWord,
    change_marks,
    change_verbs_like,
    content_words,
    kinship,
    likeness,
)
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.terms import folded

_LEAST = 0.3
_ONE_WORD, _SECOND_WORD, _THIRD_WORD = 0.75, 0.35, 0.1
"""Required likeness with one shared topic word, and how much less with a second and third."""
_REPORTED, _ENDED = 0.45, 0.2
"""Reductions where the new one reports a change, or an end."""
_APART = 0.5
"""The increase where they differ in their subject and in the rest. All these by a regression over
tests/data/like: 88 of 100 corrections find their target, 1 of 100 look-alikes finds any.
"""

_CHANGE_WORD_TEXT = """
    now today currently meanwhile instead anymore longer again back since moved moves moving
    switched switching changed changes replaced
    replaces extended upgraded lowered raised increased reduced cut pushed postponed slipped
    cancelled canceled stopped stop quit ended
    dropped sold started starting correction actually update updated rewrote reassigned reopened
    arrived finished done retired gone
    got gave took joined left renamed delayed temporarily no not never any don't doesn't these
    henceforth became becomes switch
    jetzt nun ab kunftig umgezogen gewechselt statt mehr nicht kein keine seit neu wieder
    ahora ya pasa cambio desde maintenant desormais plus dorenavant ora adesso agora
"""
_CHANGE_WORDS = frozenset(_CHANGE_WORD_TEXT.split())
"""Folded words that report a change and say nothing of its subject."""
_MAYBE_CHANGE_WORDS = frozenset(_CHANGE_WORD_TEXT.replace("'t", "").split())
"""The same as the index splits them."""
_CHANGE = late.pattern(
    r"(?i)\b(?:no longer|any ?more|from now on|as of|now|not)\b|现在|不再|变更|変更|nicht mehr"
)
_ENDING = late.pattern(
    r"(?i)\b(?:no longer|(?:not|never|n't)\b.{0,60}\bany ?(?:more|longer)|anymore|stopped|quit|gave"
    r" up|given up|cancell?ed"
    r"|nicht mehr|kein\w*\b.{0,40}\bmehr|aufgehört|ya no|dejó"
    r" de|ne\b.{0,30}\bplus)\b|不再|もう.{0,12}ない"
)
_ADDITION = late.pattern(
    r"(?i)\b(?:too|also|as well|another|additionally|besides|auch|ebenfalls|también|aussi|anche)\b"
)
_COPULA = late.pattern(
    r"(?i)\b(?:is|are|was|were|has|have|had|will|ist|sind|hat|war|es|son|est|sont|ha|è|é)\b|:"
)
"""The end of a plain statement's subject."""
_COMMON_WORD_TEXT = """
    use uses using used make makes take takes
    monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays
    fridays saturdays sundays
    weekday weekdays weekend weekends january february march april may june july august september
    october november december
    day days night nights morning mornings noon afternoon evening evenings week weeks month months
    year years hour hours minute minutes
    once twice daily weekly monthly yearly time times yesterday tomorrow tonight today last next
    euro euros dollar dollars percent degrees
    uhr first second third
"""
_COMMON_WORDS = frozenset(_COMMON_WORD_TEXT.split())
"""Plain verbs, times and units, which like numbers are in many statements."""
_NUMBER_WORD_TEXT = """
    two three four five six seven eight nine ten eleven twelve thirteen fifteen twenty thirty half
    zwei drei vier fünf
"""
_NUMBER_WORDS = frozenset(_NUMBER_WORD_TEXT.split())
_DIGITS = late.pattern(r"\d+")
_UNIT = late.pattern(r"\d[\w.,:]{0,30}\s+([^\W\d_]+)")

_FIRST_UNSPACED = "\u0e00"
_BEGINNING = 4
_ID_DIGITS = 3
"""A number with so many digits is a name: bug 4312."""
_MIN_WEIGHT = 4.0
"""So that short words (CI, dog) count."""
_LEAD_FACTOR = 1.5
_VALUE_SHARE, _SHARED_NAME, _CHANGED_NAME, _SHARED_ID = 0.25, 0.6, 0.25, 1.5
"""Weights of numbers, common words and names, and of numbers that are names."""
_MIN_STEM, _MAX_ENDING, _MIN_SHARED = 5, 5, 0.58
_SAME_KIND = 0.5
"""Of two verbs for the same kind of change; a higher kinship means forms of one word."""


class _Sort(Enum):
    TOPIC = auto()
    NAME = auto()
    NUMBER = auto()
    COMMON = auto()
    CHANGE = auto()


_SUBJECTS = (_Sort.TOPIC, _Sort.NAME)


@dataclass(frozen=True, slots=True)
class _Reading:
    """The content words of a statement and their sorts. `is_unspaced`: mostly without spaces."""

    text: str
    words: tuple[ContentWord, ...]
    sorts: tuple[_Sort, ...]
    is_unspaced: bool
    beginnings: frozenset[str]

    @property
    def lead(self) -> int | None:
        return next((number for number, sort in enumerate(self.sorts) if sort in _SUBJECTS), None)

    def own_words(self, matched: Collection[int], start: int, end: int) -> list[int]:
        return [
            number
            for number in range(start, end)
            if number not in matched and self.sorts[number] is not _Sort.CHANGE
        ]

    def weight(self, number: int, shared: bool) -> float:
        word = self.words[number]
        match self.sorts[number]:
            case _Sort.CHANGE:
                return max(word.weight, _MIN_WEIGHT) if shared else 0.0
            case _Sort.NUMBER:
                return word.weight * (_SHARED_ID if shared and _is_id(word) else _VALUE_SHARE)
            case _Sort.COMMON:
                return word.weight * _VALUE_SHARE
            case _Sort.NAME:
                return max(word.weight, _MIN_WEIGHT) * (_SHARED_NAME if shared else _CHANGED_NAME)
            case _Sort.TOPIC:
                return max(word.weight, _MIN_WEIGHT) if word.weight > 1 else word.weight


def _is_id(word: ContentWord) -> bool:
    return sum(character.isdigit() for character in word.text) >= _ID_DIGITS


@lru_cache(maxsize=1024)
def _read(statement: str) -> _Reading:
    words = content_words(statement)
    units = {unit.casefold() for unit in _UNIT.findall(statement)}
    unspaced = sum(word.text[0] >= _FIRST_UNSPACED for word in words)
    return _Reading(
        text=statement,
        words=words,
        sorts=tuple(_sort(word, word.text in units) for word in words),
        is_unspaced=unspaced * 2 > len(words),
        beginnings=frozenset(word.text[:_BEGINNING] for word in words),
    )


def _sort(word: ContentWord, is_unit: bool) -> _Sort:
    if word.number or word.text in _NUMBER_WORDS:
        return _Sort.NUMBER
    if word.text in _CHANGE_WORDS:
        return _Sort.CHANGE
    if is_unit or word.text in _COMMON_WORDS:
        return _Sort.COMMON
    return _Sort.NAME if word.name else _Sort.TOPIC


def ends_something(statement: str) -> bool:
    """True if a statement says that something ended without naming a successor: `stopped`."""
    return _ENDING.search(statement) is not None


def may_report_change(statement: str, words: Collection[str]) -> bool:
    """False only if it does not `reports_change`, in a tenth of the time; `words` are folded."""
    if not _MAYBE_CHANGE_WORDS.isdisjoint(words):
        return True
    return ("as" in words or not statement.isascii()) and _CHANGE.search(statement) is not None


def reports_change(statement: str) -> bool:
    return may_report_change(statement, folded(statement)) and (
        _CHANGE.search(statement) is not None or _Sort.CHANGE in _read(statement).sorts
    )


def may_correct(current: str, new: str) -> bool:
    """True if a word begins alike in both, so that a comparison is worth its time."""
    return not _read(current).beginnings.isdisjoint(_read(new).beginnings)


def correction_likeness(current: str, new: str) -> float:
    """The likeness to a current statement: 0.3 to 1, or 0 where it concerns something else."""
    before, after = _read(current), _read(new)
    if not before.words or not after.words or _ADDITION.search(new):
        return 0.0
    if after.is_unspaced:
        share = likeness(current, new)
        return share if share >= _LEAST else 0.0
    comparison = _Comparison(before, after)
    share = comparison.share()
    return share if share >= max(_LEAST, comparison.least_share()) else 0.0


def are_parallel(current: str, new: str) -> bool:
    """True if two statements say the same of different things, and the new one tells no change."""
    return not reports_change(new) and _Comparison(_read(current), _read(new)).differ_in_subject()


def words_to_search(new: str) -> str:
    """Words to search for: who has `moved` somewhere may have `lived` elsewhere."""
    words = _read(new).words
    return " ".join((new, *(change_verbs_like(words[0].text) if words else ())))


class _Comparison:
    def __init__(self, old: _Reading, new: _Reading) -> None:
        self._old, self._new = old, new
        self._matches = _match(old.words, new.words)
        self._matched_new = {there: here for here, (there, _) in self._matches.items()}
        self._changes_alike = self._matches.get(0) == (0, _SAME_KIND)
        """Both begin with verbs for one kind of change: `lives in`, `moved to`."""
        self._topics = sum(
            share > _SAME_KIND and self._is_topic(here, there)
            for here, (there, share) in self._matches.items()
        )

    def _is_topic(self, here: int, there: int) -> bool:
        return (
            self._old.sorts[here] in _SUBJECTS and self._new.sorts[there] in _SUBJECTS
        ) or _is_id(self._old.words[here])

    def share(self) -> float:
        old, new = self._old, self._new
        shared = rest = 0.0
        leads = old.lead, new.lead
        for here, (there, kin) in self._matches.items():
            share = 1.0 if self._changes_alike and here == 0 else kin
            weight = old.weight(here, shared=True) + new.weight(there, shared=True)
            if (here, there) == leads or (self._changes_alike and here == 0):
                weight *= _LEAD_FACTOR
            shared += share * weight
            rest += (1 - share) * weight
        rest += math.fsum(
            old.weight(number, shared=False)
            for number in range(len(old.words))
            if number not in self._matches
        )
        rest += math.fsum(
            new.weight(number, shared=False)
            for number in range(len(new.words))
            if number not in self._matched_new
        )
        return shared / (shared + rest) if shared else 0.0

    def least_share(self) -> float:
        if not self._topics and not self._changes_alike:
            return math.inf
        new = self._new
        least = (
            _ONE_WORD
            - _SECOND_WORD * (self._topics > 1)
            - _THIRD_WORD * (self._topics > 2)
            + _APART * self.differ_in_subject()
        )
        if reports_change(new.text):
            least -= _REPORTED
        return least - _ENDED * ends_something(new.text)

    def differ_in_subject(self) -> bool:
        between = list(self._own_words())
        places = [(here, there) for here, there in between if here and there]
        if len(places) < 2 or self._changes_alike:
            return len(between) == 1 and not self._changes_alike
        here, there = places[0]
        begin_alike = self._old.lead in self._matches and self._new.lead in self._matched_new
        return not (
            begin_alike
            and (_is_behind_subject(self._old, here[0]) or _is_behind_subject(self._new, there[0]))
        )

    def _own_words(self) -> Iterator[tuple[list[int], list[int]]]:
        here_from = there_from = 0
        same = {
            here: match for here, match in self._matches.items() if self._is_same(here, match[0])
        }
        aligned = [(here, there) for here, (there, kin) in sorted(same.items()) if kin > _SAME_KIND]
        matched_new = {there for there, _ in same.values()}
        for here, there in [*aligned, (len(self._old.words), len(self._new.words))]:
            if there >= there_from:
                yield (
                    self._old.own_words(same, here_from, here),
                    self._new.own_words(matched_new, there_from, there),
                )
                here_from, there_from = here + 1, there + 1

    def _is_same(self, here: int, there: int) -> bool:
        """False for two names of things that are counted: node10, node11."""
        old, new = self._old.words[here].text, self._new.words[there].text
        return _DIGITS.findall(old) == _DIGITS.findall(new)


def _is_behind_subject(reading: _Reading, number: int) -> bool:
    copula = _COPULA.search(reading.text)
    at = reading.text.casefold().find(reading.words[number].text[:_MIN_STEM])
    return copula is not None and copula.start() < at


def _match(
    left: Sequence[ContentWord], right: Sequence[ContentWord]
) -> dict[int, tuple[int, float]]:
    beginning_with: dict[str, list[int]] = defaultdict(list)
    for there, word in enumerate(right):
        for beginning in (word.text[0], *change_marks(word.text)):
            beginning_with[beginning].append(there)
    pairs = [
        (-kin, here, there)
        for here, word in enumerate(left)
        for there in {
            each
            for beginning in (word.text[0], *change_marks(word.text))
            for each in beginning_with.get(beginning, ())
        }
        if (kin := _kinship(word.text, right[there].text))
    ]
    matches: dict[int, tuple[int, float]] = {}
    matched: set[int] = set()
    for kin, here, there in sorted(pairs):
        if here not in matches and there not in matched:
            matches[here] = there, -kin
            matched.add(there)
    return matches


def _kinship(left: str, right: str) -> float:
    """Wider than between versions of one line: `subscribed` and `subscription` are kin."""
    if left == right:
        return 1.0
    if left[0] != right[0]:
        return kinship(left, right)
    shorter, longer = sorted((left, right), key=len)
    if longer in (f"{shorter}s", f"{shorter}es") and len(shorter) > 2:
        return 0.95
    shared = next(
        (at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), len(shorter)
    )
    if (
        shared >= _MIN_STEM
        and len(longer) - shared <= _MAX_ENDING
        and shared / len(longer) >= _MIN_SHARED
    ):
        return max(kinship(left, right), 2 * shared / (len(left) + len(right)))
    return kinship(left, right)
