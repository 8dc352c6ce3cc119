"""The score of a match. Every number of the ranking is here, with its source. Pure.

An entry scores the weighted BM25 (k1 = 1.2, b = 0.75) of its fields, times a factor of its own,
times factors for its speaker, day and kind of answer to this question; optionally logs lose weight
with age. A hit beside a better one with the same words ranks lower.

Each number has its effect on the public half of LoCoMo (744 questions): R@10 and MRR@10 in percent
before and after, on top of earlier ones: plain BM25 with irregular forms 63.6 and 47.4, all of it
82.3 and 69.0 (`benchmarks/tune.py`). "Neutral": within the error; such numbers are for questions
that LoCoMo does not ask.

An entry's cues are one integer: kinds of answer in the low bits, the speaker above them.

What is likely is known by words alone; likeness moves what words found, and adds at most three
entries that no word found. Numbers are chosen with two models (multilingual-e5-small and
all-MiniLM-L6-v2, both of 384 dimensions) on half of the questions of `benchmarks/README.md`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date
from functools import lru_cache
from itertools import pairwise
from operator import mul
from typing import Protocol
from zlib import crc32

from mdmem.editors.corrections import may_report_change
from mdmem.model import FileKind, Source
from mdmem.model.searches import Factor
from mdmem.model.trail import Entry
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.terms import STOP_WORDS, SplitText, folded, split_scripts

ASKS_CUE, TIME_CUE, AMOUNT_CUE, LINK_CUE, CHANGE_CUE, SELF_CUE = 1, 2, 4, 8, 16, 32
"""Cues of an entry: it ends in a question, holds words of time, an amount, only a link, may report
a change, or is a person's line of a log that speaks of themselves.
"""
_SPEAKER_SHIFT = 6

_DAYS_BEFORE, _DAYS_AFTER = 1, 3
"""Days around a date in which a log may tell of it: events are written down late."""
_TITLES = frozenset(("dr", "mr", "mrs", "ms", "prof", "sir"))
_NAMES_KEPT = 1000
_LONGEST_NAME = 4
"""Maximum characters of a name in a script without spaces."""

_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_TIMES = """
    day week weekend month year morning afternoon evening night summer winter spring fall autumn
    monday tuesday wednesday thursday friday
    saturday sunday yesterday today tonight tomorrow ago last next recently just soon since later
"""
_TIME_WORDS = frozenset((*_MONTHS, *_TIMES.split(), *(f"{word}s" for word in _TIMES.split())))
_NUMBERS = """
    one two three four five six seven eight nine ten dozen couple few another first second third
    both
"""
AMOUNT_WORDS = frozenset(_NUMBERS.split())
_TIMES_AND_AMOUNTS = _TIME_WORDS | AMOUNT_WORDS

_SPEAKER = late.pattern(
    r"(?:\*\*|__)?([^\W\d_][^\s:*_]*(?: [^\s:*_]+){0,2})(?:\*\*|__)?:(?:\*\*|__)?\s"
)
_ONLY_LINK = late.pattern(r"\W*(?:\[[^\[\]]*\]\([^()\s]*\)|\[\[[^\[\]]*\]\]|<?https?://\S++)\W*+")
_LAST_BRACKET = late.pattern(r"(?<!\s)\s*+\([^()]*\)\s*$")
_SENTENCE_END = late.pattern(r"(?<=[.!?。！？؟\n])")
_MARKS = ("?", "？", "؟")

_ASKS_TIME = late.pattern(r"(?i)\W*(?:when|how long|(?:what|which) (?:day|date|month|year|time))\b")
_ASKS_AGENT = late.pattern(
    r"(?i)\b(?:did you|you (?:said|told|gave|wrote|\w+ed)"
    r"|your (?:advice|answer|explanation|opinion|(?:recommendation|suggestion)s?))\b"
)
"""Asks what the agent said."""
_FIRST_PERSON = """
    i me my mine myself we us our ours
    ich mir mich mein meine meinen meinem meiner meines wir uns unser unsere unseren
    je j moi mon ma mes nous notre nos
    yo mi mis nosotros nosotras nuestro nuestra
"""
FIRST_PERSON = frozenset(_FIRST_PERSON.split())
UNSPACED_FIRST_PERSON = ("我", "咱", "私", "僕", "俺")
PERSONS, AGENTS = ("user", "human"), ("assistant", "agent")
"""Speakers, as the clients' own notes name them."""
_ASKS_AMOUNT = late.pattern(r"(?i)\bhow (?:many|often)\b")
_ASKS_DEGREE = late.pattern(
    r"(?i)\bhow (?!(?:did|do|does|is|was|are|were|am|can|could|should|shall|must|may|has|have|had"
    r"|will|would|to|come|about|i|we|you|it|exactly|else)\b)\w|\bwie (?:viel|oft|lang|weit|alt|gro"
    r"|hoch|schwer|teuer|warm|kalt)|\bcombien\b|\bcu[aá]nt[oa]s?\b"
)
"""Asks how much, how far, how old."""

_ISO = late.pattern(r"\b(\d{4})-(\d{2})(?:-(\d{2}))?\b")
_HAN = late.pattern(r"(\d{4})年(?:\s*(\d{1,2})月(?:\s*(\d{1,2})日)?)?")
_YEAR = late.pattern(r"\b(?:19|20)\d\d\b")
_DIGIT = late.pattern(r"\d")
_MONTH_NAMES = frozenset(_MONTHS)
_MONTH = late.pattern(rf"(?i)\b({'|'.join(_MONTHS)})\b")
_VERBS_TOO = frozenset(("may", "march"))
_YEAR_AFTER = late.pattern(r",?\s+\d{4}\b")
_NTH = r"(\d{1,2})(?:st|nd|rd|th)?"


@dataclass(frozen=True, slots=True)
class NamedDate:
    """A date named in a question; parts that it leaves open are None."""

    year: int | None
    month: int | None
    day: int | None

    def includes(self, day: date) -> bool:
        if self.day is None or self.month is None:
            return (self.year in (None, day.year)) and (self.month in (None, day.month))
        try:
            exactly = date(self.year or day.year, self.month, self.day)
        except ValueError:
            return False
        return -_DAYS_BEFORE <= (day - exactly).days <= _DAYS_AFTER


@dataclass(frozen=True, slots=True)
class QuestionCues:
    """The cues of a question; `names` are its words as numbers (`_name`).

    `is_own`: it is in the first person; `person`: names of the one who asks, as speakers;
    `prefers_curated`: it is that, and asked of a search, not of an agent.
    """

    names: frozenset[int]
    date: NamedDate | None
    answer: int
    is_own: bool
    person: frozenset[int]
    prefers_curated: bool

    def names_speaker(self, cues: int) -> bool:
        return cues >> _SPEAKER_SHIFT in self.names

    def is_persons(self, cues: int) -> bool:
        """True for what the one who asks said."""
        return bool(cues & SELF_CUE) or cues >> _SPEAKER_SHIFT in self.person


def entry_cues(
    entry: Entry, words: Collection[str], is_log: bool, is_agents: bool = False, runs: str = ""
) -> int:
    """`is_agents`: an agent logged it; `runs`: its characters of scripts without spaces."""
    numbers, speaker = list(filter(str.isdigit, words)), _speaker(entry.text) if is_log else 0
    is_own = is_log and not speaker and not is_agents and speaks_of_self(words, runs)
    # Most entries have none, and then there is less to look at.
    if not numbers and _TIMES_AND_AMOUNTS.isdisjoint(words):
        time = amount = False
    else:
        time = not _TIME_WORDS.isdisjoint(words) or any(len(number) == 4 for number in numbers)
        amount = bool(numbers) or not AMOUNT_WORDS.isdisjoint(words)
    return (
        ASKS_CUE * (_asks(entry.text) and _without_bracket(entry.text).rstrip().endswith(_MARKS))
        | TIME_CUE * time
        | AMOUNT_CUE * amount
        | LINK_CUE * _is_link(entry.text)
        | CHANGE_CUE * may_report_change(entry.text, words)
        | SELF_CUE * is_own
        | speaker << _SPEAKER_SHIFT
    )


def may_correct_others(cues: int) -> bool:
    """True for a statement that may report a change; a turn of a dialogue is none."""
    return bool(cues & CHANGE_CUE) and not cues >> _SPEAKER_SHIFT


def is_dialogue(cues: Sequence[int]) -> bool:
    """True if speakers take turns and come again, by the cues of a file's entries in order.

    Names before a colon that stay the same, or are all different, are subjects.
    """
    speakers = [each >> _SPEAKER_SHIFT for each in cues]
    turns = sum(bool(first and second and first != second) for first, second in pairwise(speakers))
    return 2 * len(set(speakers)) <= len(speakers) <= 2 * turns


def speaks_of_self(words: Collection[str], runs: str = "") -> bool:
    """True with a first person; `runs`: the characters of scripts without spaces."""
    return not FIRST_PERSON.isdisjoint(words) or any(each in runs for each in UNSPACED_FIRST_PERSON)


def asks_of_self(question: str) -> bool:
    """True for a question in the first person; `US` is a country."""
    scripts = split_scripts(question.replace("US", " "))
    return speaks_of_self(folded(scripts.spaced), "".join(scripts.runs))


def question_cues(
    question: str, owner: Iterable[str] = (), *, is_typed: bool = False
) -> QuestionCues:
    """`owner`: names of the one who asks. `is_typed`: of a search."""
    answer = TIME_CUE * bool(_ASKS_TIME.match(question)) | AMOUNT_CUE * bool(
        _ASKS_AMOUNT.search(question)
    )
    scripts = split_scripts(question)
    words = folded(scripts.spaced)
    date = (
        _date(question) if _DIGIT.search(question) or not _MONTH_NAMES.isdisjoint(words) else None
    )
    is_own = asks_of_self(question)
    person = frozenset(map(_first_name, (*PERSONS, *owner)))
    names = frozenset(map(_name, _possible_names(scripts, words)))
    if is_own:
        names |= person
    if _ASKS_AGENT.search(question):
        names |= frozenset(map(_first_name, AGENTS))
    return QuestionCues(
        names=names,
        date=date,
        answer=answer,
        is_own=is_own,
        person=person,
        prefers_curated=is_own and is_typed,
    )


def kinds_asked(question: str) -> int:
    """The kinds of answer that a question asks for, as cues of entries; also how much, how far."""
    return question_cues(question).answer | AMOUNT_CUE * bool(_ASKS_DEGREE.search(question))


def is_of_kind(entry: Entry, kinds: int) -> bool:
    """True for an entry with one of these cues."""
    words = folded(split_scripts(entry.text).spaced) if kinds else ()
    return bool(kinds and kinds & entry_cues(entry, words, is_log=True))


def asking_sentences(text: str) -> str:
    if not _asks(text):
        return ""
    return "".join(
        sentence
        for sentence in _SENTENCE_END.split(_without_bracket(text))
        if sentence.endswith(_MARKS)
    )


def _asks(text: str) -> bool:
    latin, chinese, arabic = _MARKS
    return latin in text or chinese in text or arabic in text


def _without_bracket(text: str) -> str:
    """Remove brackets at the end (the caption of a photo)."""
    return _LAST_BRACKET.sub("", text) if text.rstrip().endswith(")") else text


def _name(word: str) -> int:
    return crc32(word.encode()) or 1


def _is_link(text: str) -> bool:
    return ("](" in text or "://" in text or "[[" in text) and bool(_ONLY_LINK.fullmatch(text))


def begins_with_a_speaker(text: str) -> bool:
    """True for a turn of a dialogue, as transcripts have it: `Ada: …`."""
    return bool(_speaker(text))


def _speaker(text: str) -> int:
    match = _SPEAKER.match(text) if ":" in text else None
    return _first_name(match[1]) if match else 0


@lru_cache(maxsize=_NAMES_KEPT)
def _first_name(speaker: str) -> int:
    scripts = split_scripts(speaker)
    names = [*scripts.runs, *(word for word in folded(scripts.spaced) if word not in _TITLES)]
    if len(names) > 1 and names[0] in (*PERSONS, *AGENTS):  # User Interface, of a meeting
        names = names[1:]
    return _name(names[0]) if names and len(names[0]) > 1 else 0


def _possible_names(scripts: SplitText, words: Iterable[str]) -> Iterator[str]:
    """Words that may be names: no stop words unless capitalized (Will, May)."""
    yield from (word for word in words if word not in STOP_WORDS)
    for word in scripts.spaced.split()[1:]:
        if word[0].isupper():
            yield from folded(word)
    for run in scripts.runs:
        yield from (
            run[position : position + size]
            for size in range(2, _LONGEST_NAME + 1)
            for position in range(len(run) - size + 1)
        )


def _date(question: str) -> NamedDate | None:
    if match := _ISO.search(question) or _HAN.search(question):
        year, month, day = (int(part) if part else None for part in match.groups())
        return NamedDate(year, month, day)
    year_match = _YEAR.search(question)
    year = int(year_match[0]) if year_match else None
    for match in _MONTH.finditer(question):
        name, month_name = match[0], match[0].casefold()
        day_match = re.compile(
            rf"\b{_NTH},?\s+(?:of\s+)?(?i:{month_name})\b|\b(?i:{month_name})\s+{_NTH}\b"
        ).search(question)
        if day_match or name not in _VERBS_TOO or _YEAR_AFTER.match(question, match.end()):
            day = int(day_match[1] or day_match[2]) if day_match else None
            return NamedDate(year, _MONTHS.index(month_name) + 1, day)
    return NamedDate(year, None, None) if year else None


WEIGHT = 0.3
"""The share of likeness in a score. With 0.2 a FAQ gains a third to a half of it, with 0.4
conversations lose up to 1.1 of MRR.
"""
LOCAL_WEIGHT = 0.2
"""The same of a package's model. With 0.3 LoCoMo loses 0.6 of R@10 and 0.8 of MRR, with this 0.1
and 0.3; a FAQ gains 1.5 and 1.8 instead of 3.7 and 2.2.
"""
LOCAL_OWN_WEIGHT = 0.4
"""The share of a package for a question in the first person: 56 questions about a month, hit@3
73.2 to 76.8; BEAM with the model R@10 56.8 to 57.8 and MRR 54.0 to 54.8; LoCoMo has no such ones.
"""
CLOSE_SCORES = 0.9
"""A second score above this share of the first leaves doubt."""
LIKE_RANKS = (4, 7, 10)
"""The first places that entries without a word of the question may take. Few do, so one or two in
place of three measure the same.
"""
DOUBT_RANKS = (3, 6, 9)
"""The same where words leave doubt."""
FIRST_RANKS = (1, 2, 3)
"""The same where words carry nothing."""
_QUOTES = ('"', "'", "“", "„", "«", "`")


@dataclass(frozen=True, slots=True)
class Likeness:
    """The likeness of entries to a question, by the keys of their passages.

    - `low`, `high`: what one in six, and one in a thousand entries have by chance.
    - `least`: what no entry is likely to have by chance.
    - `of_candidates`: those that have a vector. `nearest`: others above `least`, the best first.
    """

    low: float
    high: float
    least: float
    of_candidates: Mapping[int, float]
    nearest: Sequence[tuple[int, float]] = ()

    def shares(self, keys: Sequence[int]) -> list[float]:
        """Each candidate's likeness from 0 to 1; one without a vector has the median."""
        known = sorted(self.of_candidates[key] for key in keys if key in self.of_candidates)
        if not known:
            return [0.0] * len(keys)
        median = known[len(known) // 2]
        return self._as_shares([self.of_candidates.get(key, median) for key in keys])

    def share(self, likeness: float) -> float:
        """A likeness as a share of the way from `low` to the best, or to `high`."""
        return self._as_shares([likeness])[0]

    def _as_shares(self, values: Sequence[float]) -> list[float]:
        best_other = (value for _, value in self.nearest[:1])
        top = max([self.high, *self.of_candidates.values(), *best_other])
        if top <= self.low:
            return [0.0] * len(values)
        return [min(1.0, max(0.0, (value - self.low) / (top - self.low))) for value in values]


class Meaning(Protocol):
    """The likeness of entries to one question, asked for once."""

    @property
    def is_always_asked(self) -> bool:
        """False if it is asked only where words leave doubt."""
        ...

    @property
    def weight(self) -> float:
        """The share of its likeness in a score."""
        ...

    def likeness(self, keys: Sequence[int]) -> Likeness | None:
        """The likeness of candidates, and the nearest others; None: words have to do."""
        ...


def may_be_asked(question: str) -> bool:
    """False for one word, a path or an identifier, and a quoted text."""
    text = question.strip()
    return not text.startswith(_QUOTES) and (
        len(text.split()) > 1 or bool(split_scripts(text).runs)
    )


def blended(
    matched: Sequence[float], shares: Sequence[float], weight: float = WEIGHT
) -> list[float]:
    """BM25 scores with a share of likeness in them; the best of both has the best score."""
    best = max(matched, default=0.0)
    return [
        (1 - weight) * score + weight * best * share
        for score, share in zip(matched, shares, strict=True)
    ]


def places(
    shares: Sequence[float], like: Sequence[float], ranks: Sequence[int]
) -> list[tuple[int, int]]:
    """The places (from 0) that entries no word found take, each with its number, in order.

    `shares`: of the entries that words found. `like`: of the others, best first. `ranks`: the first
    place of each, from 1.
    """
    taken: list[tuple[int, int]] = []
    for number, (share, rank) in enumerate(zip(like, ranks, strict=False)):
        pushed = min(rank - 1 - len(taken), len(shares))
        if pushed == len(shares) or share > shares[pushed]:
            taken.append((pushed + len(taken), number))
    return taken


FIELD_WEIGHTS = {
    "text": 0.7,
    "around": 2.0,
    "asked": 0.8,
    "heading": 0.2,
    "parts": 0.7,
    "keys": 4.0,
    "grams": 0.7,
    "grams_around": 1.0,
}
"""BM25 per field of `schema`. `around` (neighbours and headings): 63.6 to 74.3 and 47.4 to 53.8;
from 1.4 to 2.8 neutral. `asked` (questions of the entry before): 80.3 to 80.7 and 64.7 to 67.3.
`heading` (section path and file name): neutral from 0 to 0.7 in conversations; in documentation 1.0
costs nine points of R@10, in lists 0 costs one. `grams`, `grams_around`: the same for scripts
without spaces (`benchmarks/other_measure.py`: + 12). `parts`, of identifiers: not measured.
`keys` (what questions say instead of a key): 65.0 % of 60 questions of a person are answered by the
first three hits instead of 48.3 %; with 1.0 58.3, with 6.0 70.0.
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

OWN_FIELDS = ("text", "heading", "parts", "keys", "grams")
"""Hits in none of these rank last, marked `near`: R@10 82.9 to 83.0, MRR neutral, R@1000t 87.9 to
88.1 (with the numbers of 0.1).
"""

RELATED_SHARES = {
    "text": 0.6,
    "around": 0.3,
    "asked": 0.3,
    "heading": 0.6,
    "parts": 0.0,
    "keys": 0.0,
}
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
"""A word that shapes a question (many, kind, often): 81.8 to 81.8 and 68.5 to 68.6. In a question
in the first person also a verb that says little (come, get): 56 questions about a month, hit@3 66.1
to 69.6; BEAM neutral.
"""

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
SELF_FACTOR = 1.5
"""A person's line, for a question in the first person (BEAM 1 to 10: R@10 35.5 to 56.0 and MRR
24.4 to 52.6 with the speakers named, 35.5 to 51.7 and 22.7 to 43.2 without; LoCoMo equal).
"""
CURATED_FACTOR = 2.0
"""An entry of no day, for a typed question in the first person: else lines of `User:`, which gain
2.55, hide what MEMORY.md says. 206 questions about four months: first hit 58.7 to 60.7 % (neutral
in notes and FAQs alone, where it is the factor of all).
"""
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
LIKE_OF_DAY, KIND_OF_DAY, HOURS_OF_DAY = 0.5, 0.3, 0.4
"""The worth of likeness, of the kind of answer and of the part of a day, for an entry of the days
that a question names, beside 1 for the best words there: 80 such questions, hit@3 81.3 to 82.5 %
by words, and 87.5 with a package.
"""
NEAR_DAY_SHARE = 0.5
"""The share of the worth of words for an entry of a day nearby."""
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
    if question.date or question.prefers_curated or decay:
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
    shown = cues & (ASKS_CUE | LINK_CUE | question.answer)
    if question.is_persons(cues):
        shown = shown & ~ASKS_CUE | SELF_CUE * question.is_own
    return question.names_speaker(cues), shown


@lru_cache
def _cue_worth(named: bool, shown: int) -> float:
    return _product(cue_factors(named, shown))


def cue_factors(named: bool, shown: int) -> Iterator[Factor]:
    if named:
        yield Factor("speaker", SPEAKER_FACTOR)
    if shown & SELF_CUE:
        yield Factor("self", SELF_FACTOR)
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
    if question.prefers_curated and not day:
        yield Factor("curated", CURATED_FACTOR)


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
