"""The score of a match. Every number of the ranking is here, with its source. Pure.

An entry scores the weighted BM25 (k1 = 1.2, b = 0.75) of its fields, times a factor of its own,
times factors for its speaker, day and kind of answer to this question; optionally logs lose weight
with age. A hit beside a better one with the same words ranks lower.

Each number has its effect on the public half of LoCoMo (744 questions): R@10 and MRR@10 in percent
before and after, on top of earlier ones: plain BM25 with irregular forms 63.6 and 47.4, all of it
82.3 and 69.0 (`benchmarks/tune.py`). "Neutral": within the error; such numbers are for questions
that LoCoMo does not ask.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from datetime import date
from functools import lru_cache
from operator import mul

from mdmem.index.cues import AMOUNT_CUE, ASKS_CUE, LINK_CUE, TIME_CUE, QuestionCues
from mdmem.model import FileKind, Source
from mdmem.model.searches import Factor
from mdmem.startup.records import dataclass

FIELD_WEIGHTS = {
    "text": 0.7,
    "around": 2.0,
    "asked": 0.8,
    "heading": 0.2,
    "grams": 0.7,
    "grams_around": 1.0,
}
"""BM25 per field of `schema`. `around` (neighbours and headings): 63.6 to 74.3 and 47.4 to 53.8;
from 1.4 to 2.8 neutral. `asked` (questions of the entry before): 80.3 to 80.7 and 64.7 to 67.3.
`heading` (section path and file name): neutral from 0 to 0.7 in conversations; in documentation 1.0
costs nine points of R@10, in lists 0 costs one. `grams`, `grams_around`: the same for scripts
without spaces (`benchmarks/other_measure.py`: + 12).
"""

REACH = 2
"""Neighbours on each side in `around`. With one LoCoMo loses three points of R@10."""
LEAST_COPIES, DIALOGUE_COPIES, ENTRIES_A_COPY = 4, 2, 24
"""Minimum copies of an entry's own words beside its neighbours' in `around`, the same in dialogues,
and entries of its place a copy. 4 instead of 2: `paragraphs` + 2.0, changelogs + 2.0, `cloze-*` + 1
to 3, `documentation` - 2.5; LoCoMo - 0.7, hence 2 in dialogues. 16 to 32 entries: neutral.
"""
LONGEST_PLACE, ALONE_COPIES = 256, 3
"""Longer places have no neighbours: in a meeting of 800 turns that is worth four points of R@10.
Copies without neighbours: statements in many words count nearly as much (meetings + 0.5).
"""
FEWEST_JUDGED, CERTAINTY = 24, 1.5
"""Files of at least so many entries have no neighbours, if those share no more rare words than
chance gives them, by so many standard deviations. Shuffled lists: R@10 + 0 to + 4.4, MRR + 1.3.
"""

OWN_FIELDS = ("text", "heading", "grams")
"""Hits in none of these rank last, marked `near`: R@10 82.9 to 83.0, MRR neutral, R@1000t 87.9 to
88.1 (with the numbers of 0.1).
"""

RELATED_SHARES = {"text": 0.6, "around": 0.3, "asked": 0.3, "heading": 0.6}
"""A related word (family or synonym): 80.7 to 81.8 and 67.3 to 68.5; R@1000t + 1.2."""
MEMBER_SHARE = 0.5
"""A thing of a named kind (instrument: guitar): neutral; R@1000t + 0.5 (0.2), multi-hop + 1.9."""
INFLECTED_SHARE = 1.0
"""A word beginning like one that memory lacks: neutral; other languages need it."""
JOINED_WEIGHT = 1.5
"""Two words written as one (time zone, timezone): neutral; names of settings need it."""

SATURATION, LENGTH_SHARE = 1.2, 0.75
"""k1 and b of BM25, as in the engine."""

RARITY_WEIGHT = 1.0
"""Only words this rare have relatives: neutral from 0 to 2.5; frequent words cost most time."""

WEAK_WORD_WEIGHT = 0.5
"""A word that shapes a question (many, kind, often): 81.8 to 81.8 and 68.5 to 68.6."""

CANDIDATES, CANDIDATES_A_HIT = 100, 6
"""The best by BM25 that are ranked again: a minimum, and per hit; neutral up to 300."""

REFINED_A_HIT = 3
"""Candidates per hit rescored where the engine's statistics are stale (`overlay`), 75 µs each."""

CANDIDATES_BY_AGE = 1000
"""The minimum if logs lose weight with age: a new entry may pass many old ones."""

SPEAKER_FACTOR = 1.7
"""A log entry whose speaker the question names: 74.3 to 77.4 and 53.8 to 61.2."""
DATE_FACTOR = 2.5
"""An entry of the date that the question names: 77.4 to 79.1 and 61.2 to 62.7."""
QUESTION_FACTOR = 0.8
"""A closing question seldom holds an answer: 79.1 to 79.9 and 62.7 to 63.3."""
LINK_FACTOR = 0.5
"""An entry that is only a link. Documentation with a list of links: R@10 68.8 to 71.3 and MRR 22.7
to 38.3; 0.3 is worth as much.
"""
ANSWER_FACTORS = {TIME_CUE: ("time", 1.5), AMOUNT_CUE: ("amount", 1.2)}
"""The kind of answer asked for. Time: 79.9 to 80.3 and 63.3 to 64.7. Amounts: 81.8 to 82.0 and 68.6
to 68.7; with one index of all conversations 82.1 to 82.3 and 67.0 to 67.2.
"""
DAY_SHARE = 0.1
"""The maximum that good matches among a day's best two add: 82.0 to 82.1, MRR neutral."""

BESIDE_FACTOR = 0.98
"""For each better hit beside it that has all its query words: R@10 82.5 to 82.3, MRR neutral, as in
other texts, with 44 instead of 49 % of the first eight adjacent. 0.96 costs code a point of R@10.
"""
BORROWED_FACTOR = 0.8
"""The minimum for a hit without own words, found by neighbours and heading: Japanese 79.5 to 80.5.
From 0.5 to 0.9 neutral; a low one hides lists under the heading that was asked for.
"""
BESIDE_LINES = 4
"""Maximum distance of adjacent hits: two items of a list, two log entries across a heading."""
READ_A_HIT = 1.5
"""Maximum candidates read per hit, where adjacent ones lose places; mostly one more is read."""

SCORE_DIGITS = 4
NO_DAY = 0
"""A column with gaps takes five times as long to read."""

_FILE_FACTORS = {FileKind.BOOTSTRAP: 0.5}
"""Bootstrap files are in an agent's prompt anyway (design; not measured)."""

_LEAST_TRUST = 0.85
"""The factor for confidence 0: mild, so that provenance only decides between equal matches."""

_WEAKER = 0.9
"""Contradicts a better founded entry: second where both match alike (trust alone differs by 0.04 to
0.08), but not hidden (design; not measured).
"""


def static_factor(kind: FileKind, confidence: float | None, weaker: bool = False) -> float:
    """Independent of the question, at most 1. `confidence`: None for a person's pending text."""
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
    """BM25's part of a term by its frequency and the field's length (`average`: of all entries)."""
    return (
        (SATURATION + 1)
        * times
        / (times + SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length / average))
    )


@dataclass(frozen=True, slots=True)
class Candidates:
    """The matching entries, before they are read, as columns.

    `matched` is the BM25, `trust` the static factor, `cues` as in `cues.entry_cues`, `days`
    ordinals or NO_DAY; `log_days` is set for daily logs, only where they lose weight with age.
    """

    matched: Sequence[float]
    trust: Sequence[float]
    cues: Sequence[int]
    days: Sequence[int]
    log_days: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Decay:
    """Logs lose half of their weight per `half_life` (days) before `today` (an ordinal)."""

    half_life: float
    today: int


def scores(
    candidates: Candidates, question: QuestionCues, decay: Decay | None = None
) -> list[float]:
    """Factors that many candidates share are computed once."""
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
    return question.names_speaker(cues), cues & (ASKS_CUE | LINK_CUE | question.answer)


@lru_cache
def _cue_worth(named: bool, shown: int) -> float:
    return _product(cue_factors(named, shown))


def cue_factors(named: bool, shown: int) -> Iterator[Factor]:
    if named:
        yield Factor("speaker", SPEAKER_FACTOR)
    if shown & ASKS_CUE:
        yield Factor("asks", QUESTION_FACTOR)
    if shown & LINK_CUE:
        yield Factor("link", LINK_FACTOR)
    for kind, (name, worth) in ANSWER_FACTORS.items():
        if shown & kind:
            yield Factor(name, worth)


def date_factors(day: int, question: QuestionCues) -> Iterator[Factor]:
    if question.date and day and question.date.includes(date.fromordinal(day)):
        yield Factor("date", DATE_FACTOR)


def age_factors(day: int, decay: Decay | None) -> Iterator[Factor]:
    """The factor of a log's age by its day; off by default, since it lowers recall on LoCoMo."""
    if decay and day:
        yield Factor("age", 0.5 ** (max(0, decay.today - day) / decay.half_life))


def day_factors(days: Sequence[int], scores: Sequence[float]) -> list[float]:
    """Each entry's factor for the best two of its day; without a day it is the full one."""
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
    """The best candidates, and the best two of their days, which the factor of the day needs."""
    ordered = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)
    numbers, of_day = set(ordered[:count]), Counter[int]()
    days_of_best = {days[number] for number in numbers} - {NO_DAY}
    for number in ordered:
        if (day := days[number]) in days_of_best and of_day[day] < 2:
            numbers.add(number)
            of_day[day] += 1
    return numbers


def beside_factor(held: AbstractSet[str], beside: Collection[AbstractSet[str]]) -> float:
    """The factor of a hit for better ones beside it, so that results differ.

    `held`: the query's words in its own text; `beside`: the same of each better hit beside it.
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
