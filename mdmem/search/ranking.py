"""What a match is worth. Every number of the ranking stands here, with where it comes from. Pure.

The score of an entry is the BM25 (k1 = 1.2, b = 0.75) of its fields, each with a weight, times a factor that the entry has whatever
the question is, times what its speaker, its day and the kind of its answer are worth for this question. Where the user wants it, logs lose weight with age.

Behind each number stands what it brought on the public half of LoCoMo (744 questions): R@10 and MRR@10 in percent before and after, each on
top of those before it. Plain BM25 with irregular forms is at 63.6 and 47.4, all of it at 82.9 and 68.9. `benchmarks/tune.py` measures
them again. What is called neutral changed neither by more than its error, and is there for what LoCoMo does not ask.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from functools import lru_cache
from operator import mul

from mdmem.model import FileKind, Source
from mdmem.model.searches import Factor
from mdmem.search.cues import AMOUNT_CUE, ASKS_CUE, TIME_CUE, QuestionCues
from mdmem.startup.records import dataclass

FIELD_WEIGHTS = {"text": 1.0, "around": 2.0, "asked": 0.8, "heading": 1.5, "grams": 1.0}
"""Of the fields `schema` builds. `around`, the entry and its neighbours: 63.6 to 74.4 and 47.4 to 53.6. `asked`, the questions of the entry
before: 80.9 to 81.1 and 64.8 to 67.5. `heading`, section path and file name: neutral from 0 to 2; curated files are found by it.
`grams` are the words of scripts without spaces."""

RELATED_SHARES = {"text": 0.6, "around": 0.3, "asked": 0.3, "heading": 0.6}
"""Of a field's weight, what a word of the same family or of like meaning is worth in it: 81.1 to 82.4 and 67.5 to 68.6; R@1000t + 1.3."""
MEMBER_SHARE = 0.5
"""What a word for one thing of the kind that a question names (an instrument: the guitar) is worth beside one of like meaning: R@10 and
MRR neutral; R@1000t + 0.5 (0.2), of multi-hop questions + 1.9."""
INFLECTED_SHARE = 1.0
"""The same of a word that begins like one that memory does not have: neutral; other languages need it."""
JOINED_WEIGHT = 1.5
"""The same of two words of the question written as one (time zone, timezone): neutral; names of settings need it."""

RARITY_WEIGHT = 1.0
"""Only for a word of at least this rarity are its relatives looked for: neutral from 0 to 2.5; the most frequent words cost most time."""

WEAK_WORD_WEIGHT = 0.5
"""The weight of a word that says how a question is put (many, kind, often): 82.4 to 82.4 and 68.6 to 68.9."""

CANDIDATES, CANDIDATES_A_HIT = 100, 6
"""At least so many of the best by BM25, and so many for each hit that is wanted, are ranked again by everything else: neutral up to 300."""

CANDIDATES_BY_AGE = 1000
"""At least so many of them where logs lose weight with age: a new entry that matches less may then come before many old ones."""

SPEAKER_FACTOR = 1.7
"""The factor of an entry in a log whose speaker the question names: 74.5 to 78.1 and 53.6 to 61.1."""
DATE_FACTOR = 2.5
"""The factor of an entry of a date that the question names: 78.1 to 79.4 and 61.1 to 62.5."""
QUESTION_FACTOR = 0.8
"""The factor of an entry that ends in a question and so seldom holds an answer: 79.4 to 80.4 and 62.5 to 63.3."""
ANSWER_FACTORS = {TIME_CUE: ("time", 1.5), AMOUNT_CUE: ("amount", 1.2)}
"""The factor of an entry that shows the kind of answer which the question asks for. Time: 80.4 to 80.9 and 63.3 to 64.8. Amounts: 82.4 to
82.5 and 68.9 to 69.0; with one index of all conversations 82.1 to 82.3 and 67.0 to 67.2."""
DAY_SHARE = 0.1
"""What it adds, at most, that the best two entries of the same day match well: 82.5 to 82.7, MRR neutral."""

SCORE_DIGITS = 4
NO_DAY = 0
"""In place of the ordinal of a day: a column of the index with gaps takes five times as long to read."""

_FILE_FACTORS = {FileKind.BOOTSTRAP: 0.5}
"""What stands in an agent's prompt already is seldom what it searches for (design; not measured)."""

_LEAST_TRUST = 0.85
"""The factor of an entry in which there is no confidence at all: mild, as provenance decides between what matches alike and never
against a better match."""

_WEAKER = 0.9
"""The factor of an entry that contradicts a better founded one: enough to come second where both match alike (two sources side by side
are 0.04 to 0.08 apart by trust alone), too little to hide it (design; not measured)."""


def static_factor(kind: FileKind, confidence: float | None, weaker: bool = False) -> float:
    """The part of a score that does not depend on the question; at most 1.

    Args:
        kind: of the file. Bootstrap files rank down.
        confidence: from 0 to 1; None where no commit is known, which is a person's own pending text.
        weaker: whether it contradicts something that is better founded.
    """
    trust = Source.USER_STATED.confidence if confidence is None else confidence
    return _FILE_FACTORS.get(kind, 1.0) * (_LEAST_TRUST + (1 - _LEAST_TRUST) * trust) * (_WEAKER if weaker else 1.0)


def rarity(total: int, holding: int) -> float:
    """How much a word says that so many of all entries hold (the idf of BM25)."""
    return math.log(1 + (total - holding + 0.5) / (holding + 0.5))


@dataclass(frozen=True, slots=True)
class Candidates:
    """What is known of the entries that match before they are read, each a place in four columns.

    - `matched`: the BM25 of their fields.
    - `trust`: their own factor.
    - `cues`: as `cues.cues` has them.
    - `days`: ordinals; NO_DAY where there is none.
    """

    matched: Sequence[float]
    trust: Sequence[float]
    cues: Sequence[int]
    days: Sequence[int]


@dataclass(frozen=True, slots=True)
class Decay:
    """How logs lose weight: half of it in each `half_life` (days), counted back from `today` (an ordinal)."""

    half_life: float
    today: int


def scores(found: Candidates, asked: QuestionCues, decay: Decay | None = None) -> list[float]:
    """The scores of the candidates of one search. What many have in common is worked out once: this is done for hundreds."""
    by_cues = {cues: _cue_worth(*_told_by(cues, asked)) for cues in set(found.cues)}
    alone = list(map(mul, map(mul, found.matched, found.trust), map(by_cues.__getitem__, found.cues)))
    if asked.date or decay:
        by_day = {day: _product((*date_factors(day, asked), *age_factors(day, decay))) for day in set(found.days)}
        alone = list(map(mul, alone, map(by_day.__getitem__, found.days)))
    return list(map(mul, alone, day_factors(found.days, alone)))


def _product(factors: Iterable[Factor]) -> float:
    return math.prod(factor.value for factor in factors)


def _told_by(cues: int, asked: QuestionCues) -> tuple[bool, int]:
    """Of the cues of an entry, what matters to a question: whether its speaker is named, and what it shows."""
    return asked.names_speaker(cues), cues & (ASKS_CUE | asked.answer)


@lru_cache
def _cue_worth(named: bool, shown: int) -> float:
    return _product(cue_factors(named, shown))


def cue_factors(named: bool, shown: int) -> Iterator[Factor]:
    """What an entry is worth whose speaker is named, or that shows what is asked for."""
    if named:
        yield Factor("speaker", SPEAKER_FACTOR)
    if shown & ASKS_CUE:
        yield Factor("asks", QUESTION_FACTOR)
    for kind, (name, worth) in ANSWER_FACTORS.items():
        if shown & kind:
            yield Factor(name, worth)


def date_factors(day: int, asked: QuestionCues) -> Iterator[Factor]:
    """What an entry of a day (an ordinal) is worth."""
    if asked.date and day and asked.date.includes(date.fromordinal(day)):
        yield Factor("date", DATE_FACTOR)


def age_factors(day: int, decay: Decay | None) -> Iterator[Factor]:
    """What a log of a day (an ordinal) is worth for its age; a day to come has none. Off by default: with LoCoMo it lowers the recall."""
    if decay and day:
        yield Factor("age", 0.5 ** (max(0, decay.today - day) / decay.half_life))


def day_factors(days: Sequence[int], scores: Sequence[float]) -> list[float]:
    """What each entry is worth for the best two of its day, itself among them; what has no day lacks nothing."""
    first: dict[int, float] = {}
    second: dict[int, float] = {}
    for day, score in zip(days, scores, strict=True):
        if day not in first:
            first[day] = score
        elif score > first[day]:
            first[day], second[day] = score, first[day]
        elif score > second.get(day, 0.0):
            second[day] = score
    first.pop(NO_DAY, None)
    best = first | {day: first[day] + score for day, score in second.items() if day != NO_DAY}
    most = best[NO_DAY] = max(best.values(), default=0.0) or 1.0
    share = DAY_SHARE / most
    return [1 + share * best[day] for day in days]


def score_factors(found: Candidates, at: int, score: float, asked: QuestionCues, decay: Decay | None = None) -> Iterator[Factor]:
    """Every factor of the score of one candidate, for a person to read."""
    cues, day = found.cues[at], found.days[at]
    of_day = *date_factors(day, asked), *age_factors(day, decay)
    factors = [Factor("trust", found.trust[at]), *cue_factors(*_told_by(cues, asked)), *of_day]
    alone = found.matched[at] * _product(factors)
    yield from (factor for factor in factors if factor.value != 1)
    yield Factor("day", round(score / alone, SCORE_DIGITS) if alone else 1.0)
