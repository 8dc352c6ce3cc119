"""Cues: the speaker, date and kind of answer that a question names, and an entry shows. Pure.

An entry's cues are one integer: kinds of answer in the low bits, the speaker above them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date
from functools import lru_cache
from itertools import pairwise
from zlib import crc32

from mdmem.model.trail import Entry
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.terms import STOP_WORDS, SplitText, folded, split_scripts

ASKS_CUE, TIME_CUE, AMOUNT_CUE, LINK_CUE = 1, 2, 4, 8
"""Cues of an entry: it ends in a question, holds words of time, an amount, only a link."""
_SPEAKER_SHIFT = 4

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
_ASKS_AMOUNT = late.pattern(r"(?i)\bhow (?:many|often)\b")

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
    """The cues of a question; `names` are its words as numbers (`_name`)."""

    names: frozenset[int]
    date: NamedDate | None
    answer: int

    def names_speaker(self, cues: int) -> bool:
        return cues >> _SPEAKER_SHIFT in self.names


def entry_cues(entry: Entry, words: Collection[str], is_log: bool) -> int:
    numbers, speaker = list(filter(str.isdigit, words)), _speaker(entry.text) if is_log else 0
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
        | speaker << _SPEAKER_SHIFT
    )


def is_dialogue(cues: Sequence[int]) -> bool:
    """True if speakers take turns and come again, by the cues of a file's entries in order.

    Names before a colon that stay the same, or are all different, are subjects.
    """
    speakers = [each >> _SPEAKER_SHIFT for each in cues]
    turns = sum(bool(first and second and first != second) for first, second in pairwise(speakers))
    return 2 * len(set(speakers)) <= len(speakers) <= 2 * turns


def question_cues(question: str) -> QuestionCues:
    answer = TIME_CUE * bool(_ASKS_TIME.match(question)) | AMOUNT_CUE * bool(
        _ASKS_AMOUNT.search(question)
    )
    scripts = split_scripts(question)
    words = folded(scripts.spaced)
    date = (
        _date(question) if _DIGIT.search(question) or not _MONTH_NAMES.isdisjoint(words) else None
    )
    return QuestionCues(frozenset(map(_name, _possible_names(scripts, words))), date, answer)


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
