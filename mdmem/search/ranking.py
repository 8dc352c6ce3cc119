"""The score of a match. Every number of the ranking stands here, with its source. Pure.

The score of an entry is the BM25 (k1 = 1.2, b = 0.75) of its fields, each with a weight, times a
factor of the entry alone, times factors for its speaker, its day and its kind of answer to this
question. If the user wants it, logs lose weight with age. A hit beside a better one that says the
same counts less.

Each number is followed by its effect on the public half of LoCoMo (744 questions): R@10 and MRR@10
in percent before and after, each on top of the earlier ones. Plain BM25 with irregular forms is at
63.6 and 47.4, all of it at 82.3 and 69.0. `benchmarks/tune.py` measures them again. "Neutral" means
that neither changed by more than its error; such a number is there for questions that LoCoMo does
not ask.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from datetime import date
from functools import lru_cache
from operator import mul

from mdmem.model import FileKind, Source
from mdmem.model.searches import Factor
from mdmem.search.cues import AMOUNT_CUE, ASKS_CUE, TIME_CUE, QuestionCues
from mdmem.startup.records import dataclass

FIELD_WEIGHTS = {
    "text": 0.7,
    "around": 2.0,
    "asked": 0.8,
    "heading": 0.2,
    "grams": 0.7,
    "grams_around": 1.0,
}
"""Of the fields `schema` builds, BM25 each. `around`, what `surroundings` makes of an entry, its
neighbours and headings: 63.6 to 74.3 and 47.4 to 53.8; from 1.4 to 2.8 neutral. `asked`, the
questions of the entry before: 80.3 to 80.7 and 64.7 to 67.3. `heading`, section path and file name:
neutral from 0 to 0.7 in conversations; in documentation 1.0 costs nine points of R@10, since every
entry of a section holds the word, and 0 one point in lists. `grams` and `grams_around` are the same
for scripts without spaces (`benchmarks/other_measure.py`: + 12).
"""

OWN_FIELDS = ("text", "heading", "grams")
"""The fields that hold words of the entry itself: one that matches in none of them comes behind all
that do, and is marked `near`: R@10 82.9 to 83.0, MRR neutral, R@1000t 87.9 to 88.1 (with the
numbers of 0.1).
"""

RELATED_SHARES = {"text": 0.6, "around": 0.3, "asked": 0.3, "heading": 0.6}
"""The share of a field's weight for a related word (same family, or a synonym): 80.7 to 81.8 and
67.3 to 68.5; R@1000t + 1.2.
"""
MEMBER_SHARE = 0.5
"""The share for a thing of the kind that a question names (instrument: guitar), against that of a
synonym: R@10 and MRR neutral; R@1000t + 0.5 (0.2), of multi-hop questions + 1.9.
"""
INFLECTED_SHARE = 1.0
"""The share for a word with the beginning of one that memory does not have: neutral; other
languages need it.
"""
JOINED_WEIGHT = 1.5
"""The share for two words of the question written as one (time zone, timezone): neutral; names of
settings need it.
"""

SATURATION, LENGTH_SHARE = 1.2, 0.75
"""k1 and b of BM25, as the engine has them."""

RARITY_WEIGHT = 1.0
"""Relatives are looked for only if a word is at least this rare: neutral from 0 to 2.5; frequent
words cost most time.
"""

WEAK_WORD_WEIGHT = 0.5
"""The weight of a word that shapes a question (many, kind, often): 81.8 to 81.8 and
68.5 to 68.6.
"""

CANDIDATES, CANDIDATES_A_HIT = 100, 6
"""The best by BM25 that are ranked again by all factors: at least the first number, and the second
for each hit: neutral up to 300.
"""

REFINED_A_HIT = 3
"""The candidates for each hit that are scored anew where the engine's statistics are not those of
the entries (`term_statistics`), which takes 75 µs each.
"""

CANDIDATES_BY_AGE = 1000
"""The same, at least, if logs lose weight with age: a new entry that matches less may then come
before many old ones.
"""

SPEAKER_FACTOR = 1.7
"""The factor of an entry in a log whose speaker the question names: 74.3 to 77.4 and
53.8 to 61.2.
"""
DATE_FACTOR = 2.5
"""The factor of an entry of the date that the question names: 77.4 to 79.1 and 61.2 to 62.7."""
QUESTION_FACTOR = 0.8
"""The factor of an entry that ends in a question and seldom holds an answer: 79.1 to 79.9 and 62.7
to 63.3.
"""
ANSWER_FACTORS = {TIME_CUE: ("time", 1.5), AMOUNT_CUE: ("amount", 1.2)}
"""The factor of an entry with the kind of answer that the question asks for. Time: 79.9 to 80.3 and
63.3 to 64.7. Amounts: 81.8 to 82.0 and 68.6 to 68.7; with one index of all conversations 82.1 to
82.3 and 67.0 to 67.2.
"""
DAY_SHARE = 0.1
"""The most that good matches among the best two entries of the same day add: 82.0 to 82.1, MRR
neutral.
"""

BESIDE_FACTOR = 0.98
"""The factor of a hit for each better one beside it, if these hold every word of the query that it
holds. R@10 82.5 to 82.3, MRR neutral; neutral in all other texts too, where fewer of the first
eight hits stand beside another: 49 percent to 44. With 0.96 code loses a point of R@10.
"""
BORROWED_FACTOR = 0.8
"""The same, at most, if it holds none itself and owes its place to those beside it and to a
heading: paragraphs in Japanese 79.5 to 80.5. From 0.5 to 0.9 neutral; a low one hides what stands
as a list under the heading that was asked for.
"""
BESIDE_LINES = 4
"""Hits of one place, as in `surroundings`, are beside each other if they are at most so many lines
apart: two items of a list, two entries of a log across a heading.
"""
READ_A_HIT = 1.5
"""The most candidates that are read for each hit, where many stand beside better ones and lose
their places. Most searches read one more than they show.
"""

SCORE_DIGITS = 4
NO_DAY = 0
"""Stands for a missing day: a column with gaps takes five times as long to read."""

_FILE_FACTORS = {FileKind.BOOTSTRAP: 0.5}
"""Files that are in an agent's prompt anyway are seldom what it searches for (design; not
measured).
"""

_LEAST_TRUST = 0.85
"""The factor of an entry with confidence 0: mild, since provenance decides between equal matches
and never against a better one.
"""

_WEAKER = 0.9
"""The factor of an entry that contradicts a better founded one: enough to come second where both
match alike (two sources are 0.04 to 0.08 apart by trust alone), too little to hide it (design; not
measured).
"""


def static_factor(kind: FileKind, confidence: float | None, weaker: bool = False) -> float:
    """The part of a score that does not depend on the question; at most 1.

    Args:
        kind: the kind of its file; bootstrap files rank down.
        confidence: from 0 to 1; None for a person's pending text.
        weaker: True if it contradicts a better founded entry.
    """
    trust = Source.USER_STATED.confidence if confidence is None else confidence
    return (
        _FILE_FACTORS.get(kind, 1.0)
        * (_LEAST_TRUST + (1 - _LEAST_TRUST) * trust)
        * (_WEAKER if weaker else 1.0)
    )


def rarity(total: float, holding: int) -> float:
    """The idf of BM25 of a word that `holding` of `total` entries hold."""
    return math.log(1 + (total - holding + 0.5) / (holding + 0.5))


def saturation(times: float, length: float, average: float) -> float:
    """The part of BM25 that a term has by the times that it is in a field, and by the length of
    that (`average`: of all entries).
    """
    return (
        (SATURATION + 1)
        * times
        / (times + SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length / average))
    )


@dataclass(frozen=True, slots=True)
class Candidates:
    """The entries that match, before they are read, as four columns.

    - `matched`: the BM25 of their fields.
    - `trust`: their static factor.
    - `cues`: see `cues.entry_cues`.
    - `days`: ordinals, or NO_DAY.
    - `log_days`: the same of those in daily logs alone, NO_DAY for the others; only where logs lose
      weight with age.
    """

    matched: Sequence[float]
    trust: Sequence[float]
    cues: Sequence[int]
    days: Sequence[int]
    log_days: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Decay:
    """The decay of logs: half of their weight in each `half_life` (days), counted back from `today`
    (an ordinal).
    """

    half_life: float
    today: int


def scores(
    candidates: Candidates, question: QuestionCues, decay: Decay | None = None
) -> list[float]:
    """The scores of the candidates of one search. Factors that many share are computed once."""
    by_cues = {cues: _cue_worth(*_relevant_cues(cues, question)) for cues in set(candidates.cues)}
    own_scores = list(
        map(
            mul,
            map(mul, candidates.matched, candidates.trust),
            map(by_cues.__getitem__, candidates.cues),
        )
    )
    if question.date or decay:
        dated = list(
            zip(candidates.days, candidates.log_days if decay else candidates.days, strict=True)
        )
        by_day = {
            days: _product((*date_factors(days[0], question), *age_factors(days[1], decay)))
            for days in set(dated)
        }
        own_scores = list(map(mul, own_scores, map(by_day.__getitem__, dated)))
    return list(map(mul, own_scores, day_factors(candidates.days, own_scores)))


def _product(factors: Iterable[Factor]) -> float:
    return math.prod(factor.value for factor in factors)


def _relevant_cues(cues: int, question: QuestionCues) -> tuple[bool, int]:
    """The part of an entry's cues that matters to a question: True if its speaker is named, and the
    cues that count.
    """
    return question.names_speaker(cues), cues & (ASKS_CUE | question.answer)


@lru_cache
def _cue_worth(named: bool, shown: int) -> float:
    return _product(cue_factors(named, shown))


def cue_factors(named: bool, shown: int) -> Iterator[Factor]:
    """The factors of an entry whose speaker is named, or that shows the kind of answer
    asked for.
    """
    if named:
        yield Factor("speaker", SPEAKER_FACTOR)
    if shown & ASKS_CUE:
        yield Factor("asks", QUESTION_FACTOR)
    for kind, (name, worth) in ANSWER_FACTORS.items():
        if shown & kind:
            yield Factor(name, worth)


def date_factors(day: int, question: QuestionCues) -> Iterator[Factor]:
    """The factor of an entry of a day (an ordinal) that the question names."""
    if question.date and day and question.date.includes(date.fromordinal(day)):
        yield Factor("date", DATE_FACTOR)


def age_factors(day: int, decay: Decay | None) -> Iterator[Factor]:
    """The factor of a log's age, by its day (an ordinal); future days have age 0. Off by default:
    it lowers recall on LoCoMo.
    """
    if decay and day:
        yield Factor("age", 0.5 ** (max(0, decay.today - day) / decay.half_life))


def day_factors(days: Sequence[int], scores: Sequence[float]) -> list[float]:
    """The factor of each entry for the best two of its day, itself included; entries without a day
    get the full factor.
    """
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


def decisive(days: Sequence[int], scores: Sequence[float], count: int) -> set[int]:
    """The numbers of the best candidates, and of the best two of their days, which count for the
    factor of the day.
    """
    ordered = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)
    numbers, of_day = set(ordered[:count]), Counter[int]()
    days_of_best = {days[number] for number in numbers} - {NO_DAY}
    for number in ordered:
        if (day := days[number]) in days_of_best and of_day[day] < 2:
            numbers.add(number)
            of_day[day] += 1
    return numbers


def beside_factor(held: AbstractSet[str], beside: Collection[AbstractSet[str]]) -> float:
    """The factor of a hit for the better ones beside it, so that the hits of a result list say
    different things.

    Args:
        held: the words of the query that the hit holds in its own text.
        beside: the same of each better hit beside it.
    """
    telling = [words for words in beside if words]
    if not telling or not held <= set().union(*telling):
        return 1.0
    factor = BESIDE_FACTOR ** len(telling)
    return factor if held else min(factor, BORROWED_FACTOR)


def score_factors(
    candidates: Candidates,
    position: int,
    score: float,
    question: QuestionCues,
    decay: Decay | None = None,
    beside: float = 1.0,
) -> Iterator[Factor]:
    """The factors of one candidate's score other than 1, for an explanation; `beside` comes on top
    of its score.
    """
    cues, day = candidates.cues[position], candidates.days[position]
    of_day = (
        *date_factors(day, question),
        *(age_factors(candidates.log_days[position], decay) if decay else ()),
    )
    factors = [
        Factor("trust", candidates.trust[position]),
        *cue_factors(*_relevant_cues(cues, question)),
        *of_day,
    ]
    own_score = candidates.matched[position] * _product(factors)
    yield from (factor for factor in factors if factor.value != 1)
    yield Factor("day", round(score / own_score, SCORE_DIGITS) if own_score else 1.0)
    if beside != 1:
        yield Factor("beside", round(beside, SCORE_DIGITS))
