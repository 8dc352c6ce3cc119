"""Judge whether each number, date, name and address of a text is in its lines. Pure.

A relative date of a line counts as the day that it means. Anything that cannot be judged (other
words for a number, another form of a name) is not grounded: leaving out a fact costs less than
adding one that nobody stated.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from datetime import date
from functools import cached_property
from typing import NamedTuple

from mdmem.llm.plain_words import is_plain
from mdmem.sessions import sentences
from mdmem.sessions.relative_dates import annotate
from mdmem.startup import late
from mdmem.text.terms import STOP_WORDS, folded, stem
from mdmem.words import en

_COMMON_WORDS = (
    sentences.STOP_WORDS
    | sentences.TIME_WORDS
    | sentences.KIN
    | sentences.FIRST_PERSON
    | sentences.SECOND_PERSON
    | sentences.NUMBERS
)
_MONTHS, _WEEKDAYS = en.MONTHS.split(), en.WEEKDAYS.split()
_MONTH = "|".join(
    sorted((*_MONTHS, *(name[:3] for name in _MONTHS), "sept"), key=len, reverse=True)
)
_ORDINAL = r"(?:st|nd|rd|th)"
_DATE = late.pattern(rf"""(?ix)(?<![\w-])(?:
    (?P<year>\d{{4}})-(?P<month>\d\d)(?:-(?P<day>\d\d))?|
    (?:the\ )?(?P<day_before>\d{{1,2}}){_ORDINAL}?(?:\ of)?\ (?P<name_behind>{_MONTH})\b\.?
        (?:,?\ (?P<year_behind>\d{{4}}))?|
    (?P<name>{_MONTH})\b\.?\ (?P<day_behind>\d{{1,2}}){_ORDINAL}?(?!\d)
        (?:,?\ (?P<year_last>\d{{4}}))?|
    (?P<name_alone>{_MONTH})\b\.?,?\ (?:of\ )?(?P<year_alone>\d{{4}})|
    the\ (?P<day_alone>\d{{1,2}}){_ORDINAL}
    )(?![\w-])""")
_NUMBER = late.pattern(
    r"(?P<sign>(?<![\w)\].,-])[-\u2212](?=[$€£¥]?\d))?[$€£¥]?(?P<digits>\d+(?:[.,:/]\d+)*)"
)
_THOUSANDS = late.pattern(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_UNITS = frozenset("$€£¥%°‰")
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_NUMBER_WORDS = {name: number for number, name in enumerate(en.NUMERALS.split())} | {
    name: number * 10 for number, name in enumerate(_TENS.split(), 2)
}
_AMOUNTS = """
    hundred hundreds thousand thousands million millions billion billions dozen dozens half double
    triple twice thrice third fourth fifth sixth
    seventh eighth ninth tenth quarter
"""
_OTHER_NUMBER_WORDS = frozenset(_AMOUNTS.split())
_ADDRESS = late.pattern(
    r"""(?x)[A-Za-z][\w+.-]{0,30}://[^\s"'<>]+|"""
    r"""(?<![^\s@"'<>(),;:])[^\s@"'<>(),;:]+@[^\s@"'<>(),;:]+|(?<![\w/])@\w[\w.-]*|"""
    r"""(?<!\w)(?:~|\.{1,2})?/[\w.~-][^\s"'<>,;]*|"""
    r"""(?<![\w.-])[\w.-]+(?:(?:/[\w.-]+)+\.[A-Za-z]\w*|(?:/[\w.-]+){2,})|"""
    r"""\b[A-Za-z]:\\[^\s"'<>]+|"""
    r"""\b[\w-]{1,99}(?:\.[\w-]{1,99}){0,9}\.[A-Za-z][\w-]+(?:/[^\s"'<>,;]*)?"""
)
_WORD = late.pattern(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_SENTENCE_START = late.pattern(r"(?:^|[.!?:;…]\s)[\s\"'“‘(\[*_-]*\Z")
_PLACE_OF_NAME = late.pattern(
    r"\b(?i:at|by|for|from|in|into|near|of|on|onto|than|through|to|via|with|"
    r"named|called|join|joins|joined|met|use|uses|used|using|bei|namens|"
    r"(?:dr|mr|mrs|ms|prof)\.?)\s+(?=(?P<word>[^\W\d_]+))"
)
_FEWEST_SHARED = 1 / 4  # share of a text's content words that must be in its lines


class PartialDate(NamedTuple):
    year: int | None
    month: int | None
    day: int | None

    def is_said_by(self, other: PartialDate) -> bool:
        return all(mine is None or mine == theirs for mine, theirs in zip(self, other, strict=True))


class SaidLine(NamedTuple):
    text: str
    day: date


class Ground:
    def __init__(self, lines: Iterable[SaidLine]) -> None:
        self._text = "\n".join(annotate(line.text, line.day) for line in lines)
        self._folded = _normalized(self._text).casefold()

    def ungrounded(self, text: str) -> str:
        """The first part of a text that the lines do not hold; empty if they hold all."""
        parts = (self._addresses, self._dates, self._numbers, self._names, self._other_words)
        return next((word for find in parts for word in find(_normalized(text))), "")

    @cached_property
    def _held_dates(self) -> frozenset[PartialDate]:
        return frozenset(_dates(self._text)[0])

    @cached_property
    def _held_numbers(self) -> frozenset[str]:
        years = {str(each.year) for each in self._held_dates if each.year is not None}
        days = {
            str(each.day) for each in self._held_dates if each.day is not None and each.year is None
        }
        return frozenset(_numbers(_dates(self._text)[1])) | years | days

    @cached_property
    def _words(self) -> frozenset[str]:
        words = set(_folded_words(self._folded))
        for each in self._held_dates:
            if each.month is not None:
                words.update((_MONTHS[each.month - 1], _MONTHS[each.month - 1][:3]))
            if each.year and each.month and each.day:
                words.add(_weekday(each))
        return frozenset(words)

    @cached_property
    def _stems(self) -> frozenset[str]:
        return frozenset(stem(word) for word in folded(self._folded)) | frozenset(
            map(stem, self._words)
        )

    def _holds_word(self, word: str) -> bool:
        name = word.removesuffix("'s")
        return name in self._words or word in self._words or stem(name) in self._stems

    def _addresses(self, text: str) -> Iterator[str]:
        for match in _ADDRESS.finditer(text):
            address = match[0].rstrip(".,:;!?)]}/").casefold()
            if not re.search(rf"(?<![\w.@-]){re.escape(address)}(?!/?[\w@-]|\.\w)", self._folded):
                yield match[0]

    def _dates(self, text: str) -> Iterator[str]:
        for each in _dates(text)[0]:
            if not any(each.is_said_by(held) for held in self._held_dates):
                yield "-".join(str(part) for part in each if part is not None)

    def _numbers(self, text: str) -> Iterator[str]:
        yield from (
            number for number in _numbers(_dates(text)[1]) if number not in self._held_numbers
        )
        yield from (unit for unit in text if unit in _UNITS and unit not in self._text)

    def _names(self, text: str) -> Iterator[str]:
        for match in _WORD.finditer(text):
            word = match[0]
            lowered = word.casefold()
            if word.upper() == word.lower():
                if not _holds_unspaced(self._folded, lowered):
                    yield word
            elif (
                word != lowered
                and word != "I"
                and not word.startswith("I'")
                and not self._holds_word(lowered)
            ):
                is_opener = (
                    word[1:].islower()
                    and (is_plain(lowered) or lowered in _NUMBER_WORDS)
                    and _SENTENCE_START.search(text[: match.start()])
                )
                if not is_opener and not _is_month_of_date(lowered, text, match.start()):
                    yield word
        for match in _PLACE_OF_NAME.finditer(text):
            lowered = match["word"].casefold()
            if (
                lowered not in STOP_WORDS
                and lowered not in _COMMON_WORDS
                and not is_plain(lowered)
                and not self._holds_word(lowered)
            ):
                yield match["word"]

    def _other_words(self, text: str) -> Iterator[str]:
        # the whole text if it has hardly a word of its lines
        content = [word for word in _folded_words(text.casefold()) if word not in STOP_WORDS]
        if content and sum(map(self._holds_word, content)) < _FEWEST_SHARED * len(content):
            yield text


def _normalized(text: str) -> str:
    return unicodedata.normalize("NFKC", text).replace("\u2019", "'").replace("\u2018", "'")


def _folded_words(folded_text: str) -> Iterator[str]:
    for match in _WORD.finditer(folded_text):
        yield match[0]
        yield from (part for part in match[0].split("'")[:-1] if part)


def _dates(text: str) -> tuple[list[PartialDate], str]:
    dates: list[PartialDate] = []
    for match in _DATE.finditer(text):
        name = match["name_behind"] or match["name"] or match["name_alone"]
        year = match["year"] or match["year_behind"] or match["year_last"] or match["year_alone"]
        day = match["day"] or match["day_before"] or match["day_behind"] or match["day_alone"]
        month = _month(name) if name else int(match["month"]) if match["month"] else None
        dates.append(PartialDate(int(year) if year else None, month, int(day) if day else None))
    return dates, _DATE.sub(" ", text)


def _month(name: str) -> int:
    return next(
        number for number, month in enumerate(_MONTHS, 1) if month.startswith(name.casefold()[:3])
    )


def _weekday(each: PartialDate) -> str:
    try:
        return _WEEKDAYS[date(each.year or 1, each.month or 1, each.day or 1).weekday()]
    except ValueError:
        return ""


def _is_month_of_date(word: str, text: str, position: int) -> bool:
    return word[:3] in {name[:3] for name in _MONTHS} and any(
        match.start() <= position < match.end()
        for match in _DATE.finditer(text)
        if match["name"] or match["name_behind"] or match["name_alone"]
    )


def _numbers(text: str) -> Iterator[str]:
    """Numbers in digits or words, normalized: 200,000 is 200000, 09:30 is 9:30."""
    for match in _NUMBER.finditer(text):
        digits = match["digits"]
        if _THOUSANDS.fullmatch(digits):
            digits = digits.replace(",", "")
        yield (
            ("-" if match["sign"] else "")
            + re.sub(r"\d+", lambda part: part[0].lstrip("0") or "0", digits)
            if "." not in digits
            else digits
        )
    words = re.findall(r"[a-z]+", text.casefold())
    ten = 0
    for word in words:
        value = _NUMBER_WORDS.get(word)
        if ten and value is not None and 0 < value < 10:
            yield str(ten + value)
        else:
            yield from (str(ten),) if ten else ()
            if value is not None and value < 20 and word not in ("one", "zero"):
                yield str(value)
        ten = value if value is not None and value >= 20 else 0
        if word in _OTHER_NUMBER_WORDS:
            yield word.removesuffix("s") if word != "twice" else word
    if ten:
        yield str(ten)


def _holds_unspaced(folded_text: str, word: str) -> bool:
    # in a script without capitals each pair of characters of the word must be in the text
    pairs = [word[at : at + 2] for at in range(len(word) - 1)] or [word]
    return all(pair in folded_text for pair in pairs)
