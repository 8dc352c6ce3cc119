"""Read a model's answer, and check each fact and change that it suggests; each number, date, name
and address of a text must be in its lines. Pure.

A relative date of a line counts as the day that it means. Anything that cannot be judged (other
words for a number, another form of a name) is not grounded: leaving out a fact costs less than
adding one that nobody stated.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from mdmem import secrets
from mdmem.llm.plain_words import is_plain
from mdmem.llm.requests import (
    CONSOLIDATE,
    EXTRACT,
    MOST_CHARACTERS,
    OPENING,
    PLACEHOLDERS,
    ConsolidateData,
    DayFact,
    MemoryEntry,
    RequestLine,
)
from mdmem.model import FactId
from mdmem.model.rules import LASTING_KINDS
from mdmem.sessions import sentences
from mdmem.sessions.sentences import annotate_dates
from mdmem.sessions.tags import strip_blocks
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.languages import attribute_named
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
        self._text = "\n".join(annotate_dates(line.text, line.day) for line in lines)
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


_TAG = late.pattern(r"<[/!?]?[A-Za-z][^<>]*>|&(?:amp;)*(?:lt|#0*60|#x0*3c);|\{\{|\}\}|\[REDACTED:")
_LETTER = late.pattern(r"\w")
_RUN_OF_WORDS = 6  # so many words in the order of the instructions are copied from them


class _RefusedItemError(Exception):
    """An item is not accepted; the message says why."""


def _require_text(value: Any) -> str:
    """The text of a suggestion, on one line. Raises _RefusedItemError if it may not be written."""
    if not isinstance(value, str) or not is_said(value):
        raise _RefusedItemError("no text")
    text = " ".join(value.split())
    if len(text) > MOST_CHARACTERS:
        raise _RefusedItemError("a text that is too long")
    if not text.isprintable():
        raise _RefusedItemError("control characters")
    if secrets.find(text, strict=True):
        raise _RefusedItemError("a secret")
    if _TAG.search(text) or strip_blocks(text) != text:
        raise _RefusedItemError("a tag")
    if (
        OPENING.partition("/")[0] in text
        or any(each in text for each in PLACEHOLDERS)
        or _repeats_instructions(text)
    ):
        raise _RefusedItemError("words of the instructions")
    return text


def _repeats_instructions(text: str) -> bool:
    words, instructions = (
        text.casefold().split(),
        f" {' '.join(f'{EXTRACT} {CONSOLIDATE}'.casefold().split())} ",
    )
    return any(
        f" {' '.join(words[at : at + _RUN_OF_WORDS])} " in instructions
        for at in range(len(words) - _RUN_OF_WORDS + 1)
    )


def is_said(text: str) -> bool:
    return _LETTER.search(text) is not None


_MOST_ITEMS = 200  # of a list that are checked
_MOST_BEGINNINGS = 2_000  # braces of a text at which an object is looked for
_BEGINNING = late.pattern(r"[{\[]")
_DECODER = json.JSONDecoder()


class UnreadableAnswerError(Exception):
    """The answer has no such object; the message says why, for the model to read."""


@dataclass(frozen=True, slots=True)
class AnswerItems:
    """The list in an answer, as JSON; `is_cut`: the answer ended in the middle of it."""

    items: tuple[Any, ...]
    is_cut: bool = False


def read_answer(text: str, list_name: str) -> AnswerItems:
    """The last object that has the list, preferably not empty; of a cut one the whole items.

    Raises UnreadableAnswerError.
    """
    if not text.strip():
        raise UnreadableAnswerError("it is empty")
    lists = [value for value in _lists(text, list_name) if value is not None]
    if lists:
        return AnswerItems(tuple(([each for each in lists if each] or lists)[-1][:_MOST_ITEMS]))
    if items := _items_of_cut(text, list_name):
        return AnswerItems(tuple(items[:_MOST_ITEMS]), is_cut=True)
    raise UnreadableAnswerError(_complaint(text, list_name))


def _lists(text: str, list_name: str) -> Iterator[list[Any] | None]:
    end = 0
    for count, match in enumerate(_BEGINNING.finditer(text)):
        if count > _MOST_BEGINNINGS:
            return
        if match.start() < end:
            continue
        try:
            value, end = _DECODER.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        yield _list_of(value, list_name)


def _list_of(value: Any, list_name: str) -> list[Any] | None:
    # a list of objects alone is accepted too
    inner = value.get(list_name) if isinstance(value, dict) else value
    if not isinstance(inner, list):
        return None
    return (
        inner
        if isinstance(value, dict) or (inner and all(isinstance(item, dict) for item in inner))
        else None
    )


def _items_of_cut(text: str, list_name: str) -> list[Any]:
    starts = list(re.finditer(rf'"{list_name}"\s*:\s*\[', text))
    if not starts:
        return []
    items: list[Any] = []
    position = starts[-1].end()
    while (match := re.compile(r"[\s,]*(?=\{)").match(text, position)) is not None:
        try:
            item, position = _DECODER.raw_decode(text, match.end())
        except (ValueError, RecursionError):
            break
        items.append(item)
    return items


def _complaint(text: str, list_name: str) -> str:
    start = text.find("{")
    if start < 0:
        return "it contains no JSON object"
    try:
        _DECODER.raw_decode(text, start)
    except ValueError as problem:
        return str(problem)
    except RecursionError:
        return "it is nested too deeply"
    return f'the object has no list "{list_name}"'


# speakers; OTHER is another person in a chat of several
USER, OTHER, AGENT = "user", "other", "agent"
_MOST_LINES = 10  # that one fact may name
_MOST_LINES_APART = 40  # lines of a transcript between the first and the last of them


@dataclass(frozen=True, slots=True)
class SuggestedFact:
    """A checked fact; `lines` say it, in their order, and `by_person`: persons alone say all."""

    lines: tuple[int, ...]
    kind: str
    key: str | None
    text: str
    by_person: bool


@dataclass(frozen=True, slots=True)
class CheckedFacts:
    facts: tuple[SuggestedFact, ...]
    refused: tuple[str, ...]


def check_facts(items: Sequence[Any], lines: Sequence[RequestLine]) -> CheckedFacts:
    by_number: dict[int, list[RequestLine]] = {}
    for line in lines:
        by_number.setdefault(line.number, []).append(line)
    facts: list[SuggestedFact] = []
    refused: list[str] = []
    for item in items:
        try:
            facts.append(_checked(item, by_number))
        except _RefusedItemError as problem:
            refused.append(str(problem))
    return CheckedFacts(tuple(dict.fromkeys(facts)), tuple(refused))


def _checked(item: Any, by_number: Mapping[int, Sequence[RequestLine]]) -> SuggestedFact:
    if not isinstance(item, dict):
        raise _RefusedItemError("not an object")
    numbers = _line_numbers(item.get("lines"), by_number)
    cited = [line for number in numbers for line in by_number[number]]
    kind, text, quote = item.get("kind"), _require_text(item.get("text")), item.get("quote")
    if not isinstance(kind, str) or kind.strip().casefold() not in LASTING_KINDS:
        raise _RefusedItemError("unknown kind")
    by_person = _is_grounded(text, quote, [line for line in cited if line.who != AGENT])
    if not by_person:
        _require_grounded(text, quote, cited)
    key = item.get("key")
    return SuggestedFact(
        lines=numbers,
        kind=kind.strip().casefold(),
        key=attribute_named(key) if isinstance(key, str) else None,
        text=text,
        by_person=by_person,
    )


def _line_numbers(value: Any, sent: Collection[int]) -> tuple[int, ...]:
    if (
        not isinstance(value, list)
        or not value
        or not all(isinstance(number, int) and not isinstance(number, bool) for number in value)
    ):
        raise _RefusedItemError("no lines")
    numbers = tuple(sorted(set(value)))
    if any(number not in sent for number in numbers):
        raise _RefusedItemError("a line that was not sent")
    if len(numbers) > _MOST_LINES or numbers[-1] - numbers[0] > _MOST_LINES_APART:
        raise _RefusedItemError("too many lines")
    return numbers


def _is_grounded(text: str, quote: Any, lines: Sequence[RequestLine]) -> bool:
    try:
        _require_grounded(text, quote, lines)
    except _RefusedItemError:
        return False
    return True


def _require_grounded(text: str, quote: Any, lines: Sequence[RequestLine]) -> None:
    if (
        not isinstance(quote, str)
        or not is_said(quote)
        or not any(_folded(quote) in _folded(line.text) for line in lines)
    ):
        raise _RefusedItemError("a quote that is not there")
    if ungrounded := Ground(SaidLine(line.text, line.day) for line in lines).ungrounded(text):
        raise _RefusedItemError(f"not in the lines: {ungrounded}")


def _folded(text: str) -> str:
    return " ".join(text.split())


class ChangeOp(StrEnum):
    ADD = "ADD"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    NONE = "NONE"


Sent = TypeVar("Sent")
_ON_ENTRY = (ChangeOp.UPDATE, ChangeOp.DELETE)  # change a current entry


@dataclass(frozen=True, slots=True)
class SuggestedChange:
    """A checked change. `why` is its reason; `text`, `why` may be empty if nothing is written."""

    op: ChangeOp
    fact: FactId
    old: FactId | None
    section: str | None
    key: str | None
    text: str
    why: str


@dataclass(frozen=True, slots=True)
class CheckedChanges:
    """The accepted changes of an answer, at most one a fact, and why others are not."""

    changes: tuple[SuggestedChange, ...]
    refused: tuple[str, ...]


def check_changes(items: Sequence[Any], data: ConsolidateData) -> CheckedChanges:
    facts = {fact.id: fact for fact in data.facts}
    memory = {entry.id: entry for entry in data.memory}
    changes: dict[FactId, SuggestedChange] = {}
    refused: list[str] = []
    for item in items:
        try:
            change = _checked_consolidation(item, facts, memory)
            if change.fact in changes:
                raise _RefusedItemError("a second change of one fact")
        except _RefusedItemError as problem:
            refused.append(str(problem))
        else:
            changes[change.fact] = change
    return CheckedChanges(tuple(changes.values()), tuple(refused))


def _checked_consolidation(
    item: Any, facts: Mapping[FactId, DayFact], memory: Mapping[FactId, MemoryEntry]
) -> SuggestedChange:
    if not isinstance(item, dict):
        raise _RefusedItemError("not an object")
    op = next((each for each in ChangeOp if each == item.get("op")), None)
    if op is None:
        raise _RefusedItemError("unknown op")
    fact, old = (
        _find_sent(item.get("fact"), facts),
        _find_sent(item["old"], memory) if item.get("old") is not None else None,
    )
    if fact is None or (old is None and op in _ON_ENTRY):
        raise _RefusedItemError("an id is missing")
    if op is ChangeOp.ADD:
        old = None
    is_written = op in (ChangeOp.ADD, ChangeOp.UPDATE)
    text = _require_text(item.get("text")) if is_written else ""
    texts = [each.text for each in (fact, old) if each is not None]
    if ungrounded := (
        Ground(SaidLine(each, fact.day) for each in texts).ungrounded(text) if is_written else ""
    ):
        raise _RefusedItemError(f"not in the fact: {ungrounded}")
    keys = [each.key for each in (fact, old) if each is not None and each.key is not None]
    return SuggestedChange(
        op=op,
        fact=fact.id,
        old=old.id if old else None,
        section=_one_of(
            item.get("section"), [entry.section for entry in memory.values()], "section"
        ),
        key=_one_of(item.get("key"), keys, "key"),
        text=text,
        why=_require_text(item["why"]) if item.get("why") else "",
    )


def _find_sent(value: Any, sent: Mapping[FactId, Sent]) -> Sent | None:
    if value is None:
        return None
    if not isinstance(value, str) or value not in sent:
        raise _RefusedItemError("an id that was not sent")
    return sent[FactId(value)]


def _one_of(value: Any, allowed: Sequence[str], name: str) -> str | None:
    if value is None or value == "":
        return None
    if value not in allowed:
        raise _RefusedItemError(f"a {name} that was not sent")
    return str(value)
