"""The sentences of a message without pasted text, how much they say, and the days that they mean.

Words of all languages count, whatever the setting `language`: pasted text may be in any of them.

Relative dates count from the message's day, in English only. Vague ones (`recently`) and spans
(`over the last year`) stay. A week begins on Monday; `last` and `next Friday` are the nearest ones;
`on Friday` is judged by its clause, or stays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import date, timedelta
from math import log
from re import Match, Pattern
from typing import Self

from mdmem import secrets
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.languages import LANGUAGES, alternatives, rows_of, words_of
from mdmem.words import de, en

_WEEKDAYS, _MONTHS = en.WEEKDAYS.split(), en.MONTHS.split()
_DAYS_AWAY = {"yesterday": -1, "last night": -1, "tomorrow": 1}
_SEASONS = {"spring": 5, "summer": 8, "autumn": 11, "fall": 11}
"""The last month of each, north of the equator. Winter is in two years."""
_NUMBERS = (
    {name: number for number, name in enumerate(en.NUMERALS.split())}
    | {"thirty": 30, "forty": 40, "fifty": 50}
    | dict.fromkeys(("a", "an"), 1)
    | dict.fromkeys(("a couple of", "couple of", "a pair of"), 2)
)
_OF_DAY = r"(?>(?:['’]s)?)(?>(?:\ (?:night|morning|afternoon|evening))?)"
_COUNTS = "|".join(sorted(_NUMBERS, key=len, reverse=True)).replace(" ", "[ ]")
_COUNT = rf"(?P<count>\d{{1,3}}|{_COUNTS})"
_DAY = "|".join((*_WEEKDAYS, *(name[:3] for name in _WEEKDAYS), "tues", "thur", "thurs"))
_WORDS = rf"""(?<![\w-])(?:
    (?P<before>the\ (?:day\ before\ yesterday|night\ before\ last))|
    (?P<after>the\ day\ after\ tomorrow)|
    (?P<day>yesterday|tomorrow|last\ night|tonight|today|
      this\ (?:morning|afternoon|evening)){_OF_DAY}|
    the\ (?P<second>week-?end|week|month|year)\ (?P<side>before\ last|after\ next)|
    (?P<which>last|next|this|this\ past|(?:this\ )?coming|the\ previous)[ ]
      (?P<unit>week-?end|week|month|year|{"|".join((*_SEASONS, *_MONTHS))}|(?:{_DAY})){_OF_DAY}|
    {_COUNT}\ (?P<units>day|night|evening|week-?end|week|fortnight|month|year|decade)s?[ ]
      (?:ago|back|earlier)|
    in\ {_COUNT.replace("count", "ahead")}[ ]
      (?P<ahead_units>day|week|fortnight|month|year)s?(?>(?:['’]s?\ time)?)|
    {_COUNT.replace("count", "from_now")}[ ]
      (?P<from_now_units>day|week|fortnight|month|year)s?\ from\ (?:now(?!\ on\b)|today)|
    (?P<week_on>a\ week\ )?on\ (?P<weekday>{"|".join(_WEEKDAYS)})(?!['’s])
      (?P<week>\ week)?{_OF_DAY}
    )(?![\w-])"""
_MONTH = rf"(?:{'|'.join(_MONTHS)})"
_DATE_BEHIND = (
    rf"(?!,?\ (?:the\ )?(?:\d{{1,2}}(?:(?:st|nd|rd|th)\b|(?=\ {_MONTH}\b))|{_MONTH}\ \d|\d{{4}}-)"
    r"|\ \(\d{4})"
)
_PHRASE = late.pattern(rf"(?ix){_WORDS}{_DATE_BEHIND}")
_DATED = late.pattern(
    rf"(?ix)(?:\b(?P<preposition>{en.BEFORE_DATE})\ )?(?:{_WORDS})\ "
    r"\((?P<date>\d{4}(?:-\d\d){0,2})(?:\ to\ (?P<last>\d{4}-\d\d-\d\d))?\)"
)
_HINTS = (
    "yesterday",
    "tomorrow",
    "night",
    "today",
    "last",
    "next",
    "this",
    "previous",
    "coming",
    "ago",
    "back",
    "earlier",
    "from now",
)
_OTHER_HINT = late.pattern(r"(?i)\bin (?:\d|a|[tfsone])|on \w{3,6}day")
_FROM_THERE = late.pattern(
    r"(?i)(?<!s a )\b(?:day|week|fortnight|month|year)s?\s+(?:from|after|before)\s+$"
)
_SPAN = late.pattern(
    r"(?i)(?:\b(?:over|during|for|in|within|of|throughout|across)\s+the|\bthe\s+whole)\s+$",
)
_CLAUSE_END = late.pattern(r"[.!?;\n]\s|[.!?;\n]$")
_PAST, _FUTURE = late.pattern(rf"(?i){en.PAST}"), late.pattern(rf"(?i){en.FUTURE}")
_PERFECT, _PRESENT = late.pattern(rf"(?i){en.PERFECT}"), late.pattern(r"(?i)\b(?:is|are|am)\b")
_ARRANGED = late.pattern(rf"(?i){en.ARRANGED}")
_TO_COME, _REPEATED = late.pattern(rf"(?i){en.TO_COME}"), late.pattern(rf"(?i){en.REPEATED}")
_HABITUAL = late.pattern(rf"(?i){en.HABITUAL}")


def annotate_dates(text: str, day: date) -> str:
    lowered = text.lower()
    if not any(hint in lowered for hint in _HINTS):
        may_hold_other = "in " in lowered or "day" in lowered
        if not may_hold_other or not _OTHER_HINT.search(text):
            return text

    def write(match: Match[str]) -> str:
        if _FROM_THERE.search(text, 0, match.start()):  # `three weeks from this Saturday`
            return match[0]
        meant = _meaning(match, day)
        if match["weekday"]:
            meant = _of_weekday(match, day)
        return match[0] if meant is None or _is_span(match, text) else f"{match[0]} ({meant})"

    return _PHRASE.sub(write, text)


def with_dates(text: str, day: date) -> str:
    def write(match: Match[str]) -> str:
        first, last = match["date"], match["last"]
        preposition = (match["preposition"] or "").casefold()
        if preposition:
            return f"{match['preposition']} {last or first}"
        if last:
            return f"{first} to {last}"
        return f"{'on' if len(first) > len('2026-01') else 'in'} {first}"

    return _DATED.sub(write, annotate_dates(text, day))


def _is_span(match: Match[str], text: str) -> bool:
    return (
        match["unit"] is not None
        and (match["which"] or "").casefold() in ("last", "next")
        and _SPAN.search(text, 0, match.start()) is not None
    )


def _meaning(match: Match[str], day: date) -> str | None:
    if match["before"]:
        return _days(day - timedelta(days=2))
    if match["after"]:
        return _days(day + timedelta(days=2))
    if match["day"]:
        return _days(day + timedelta(days=_DAYS_AWAY.get(match["day"].casefold(), 0)))
    if match["second"]:
        return _moved(
            match["second"].casefold(),
            -2 if match["side"].casefold().startswith("before") else 2,
            day,
        )
    if match["unit"]:
        return _of_unit(match["which"].casefold(), match["unit"].casefold(), day)
    if match["count"]:
        return _moved(match["units"].casefold(), -_number(match["count"]), day)
    if match["ahead"]:
        return (
            None
            if _tells_of_past(_clause(match)) or _HABITUAL.search(_clause(match))
            else _moved(match["ahead_units"].casefold(), _number(match["ahead"]), day)
        )
    if match["from_now"]:
        return _moved(match["from_now_units"].casefold(), _number(match["from_now"]), day)
    return None


def _clause(match: Match[str]) -> str:
    text = match.string
    start = max((end.end() for end in _CLAUSE_END.finditer(text, 0, match.start())), default=0)
    end = _CLAUSE_END.search(text, match.end())
    return text[start : end.start() if end else len(text)].replace("\u2019", "'")


def _tells_of_past(clause: str) -> bool:
    """True for `it has not rained in ten years`, which lie behind."""
    if _TO_COME.search(clause):
        return False
    is_to_come = _FUTURE.search(clause) or _ARRANGED.search(clause) or _PRESENT.search(clause)
    return bool(_PERFECT.search(clause) or (_PAST.search(clause) and not is_to_come))


def _of_weekday(match: Match[str], day: date) -> str | None:
    weekday = _WEEKDAYS.index(match["weekday"].casefold())
    if match["week"] or match["week_on"]:  # on a Monday, `Monday week` may be either
        ahead = (weekday - day.weekday()) % 7
        return _days(day + timedelta(days=ahead + 7)) if ahead else None
    clause = _clause(match)
    future = _FUTURE.search(clause) is not None
    is_to_come = _TO_COME.search(clause) or _ARRANGED.search(clause)
    past = _PAST.search(clause) is not None and not is_to_come
    if past is future or weekday == day.weekday() or _REPEATED.search(clause):
        return None
    return _of_unit("last" if past else "next", match["weekday"].casefold(), day)


def _of_unit(which: str, unit: str, day: date) -> str | None:
    step = {"next": 1, "this coming": 1, "coming": 1, "this": 0}.get(which, -1)
    if unit in ("week", "weekend", "week-end", "month", "year"):
        return _moved(unit, 0 if which.endswith("coming") else step, day)
    if unit in _MONTHS:
        return _month(unit, step, day)
    if unit in _SEASONS:
        return _season(unit, step, day)
    weekday = next(number for number, name in enumerate(_WEEKDAYS) if name.startswith(unit[:3]))
    if step > 0:
        return _days(day + timedelta(days=(weekday - day.weekday() - 1) % 7 + 1))
    if step < 0:
        return _days(day - timedelta(days=(day.weekday() - weekday - 1) % 7 + 1))
    return _days(day + timedelta(days=weekday - day.weekday()))


def _month(name: str, step: int, day: date) -> str:
    number = _MONTHS.index(name) + 1
    if step > 0:
        year = day.year if number > day.month else day.year + 1
    elif step < 0:
        year = day.year if number < day.month else day.year - 1
    else:
        year = day.year
    return f"{year:04}-{number:02}"


def _season(name: str, step: int, day: date) -> str:
    ended = day.month > _SEASONS[name]
    if step > 0:
        return f"{day.year + ended:04}"
    return f"{day.year:04}" if step == 0 or ended else f"{day.year - 1:04}"


def _moved(unit: str, count: int, day: date) -> str | None:
    try:
        if unit == "fortnight":
            unit, count = "week", count * 2
        elif unit == "decade":
            unit, count = "year", count * 10
        if unit in ("day", "night", "evening"):
            return _days(day + timedelta(days=count))
        if unit == "week":
            monday = day - timedelta(days=day.weekday()) + timedelta(weeks=count)
            return _days(monday, monday + timedelta(days=6))
        if unit in ("weekend", "week-end"):
            saturday = day - timedelta(days=day.weekday()) + timedelta(days=5, weeks=count)
            return _days(saturday, saturday + timedelta(days=1))
        if unit == "month":
            months = day.year * 12 + day.month - 1 + count
            return f"{date(months // 12, months % 12 + 1, 1):%Y-%m}"
        return f"{date(day.year + count, 1, 1).year:04}"
    except (OverflowError, ValueError):
        return None


def _days(first: date, last: date | None = None) -> str:
    return first.isoformat() if last is None else f"{first.isoformat()} to {last.isoformat()}"


def _number(words: str) -> int:
    return int(words) if words.isdigit() else _NUMBERS[words.casefold()]


@dataclass(frozen=True, slots=True)
class WordedPattern:
    """A pattern, and words one of which is in every text that it matches."""

    words: frozenset[str]
    pattern: Pattern[str]

    @classmethod
    def of(cls, words: str, patterns: tuple[str, ...]) -> Self:
        return cls(frozenset(words.split()), any_pattern(patterns))

    def search(self, text: str, words: frozenset[str]) -> Match[str] | None:
        """Search a text with these words (see `Sentence.pieces`)."""
        return None if self.words.isdisjoint(words) else self.pattern.search(text)


def any_pattern(patterns: tuple[str, ...]) -> Pattern[str]:
    return late.pattern("(?i)" + "|".join(f"(?:{pattern})" for pattern in patterns))


def pattern_of(name: str) -> Pattern[str]:
    return any_pattern(rows_of(name))


def worded_of(name: str) -> WordedPattern:
    tables = [getattr(each, name) for each in LANGUAGES]
    patterns = tuple(pattern for _, patterns in tables for pattern in patterns)
    return WordedPattern.of(" ".join(words for words, _ in tables), patterns)


ACKNOWLEDGEMENTS = words_of("ACKNOWLEDGEMENTS")
STOP_WORDS = words_of("STOP_WORDS")
FIRST_PERSON, SECOND_PERSON = words_of("FIRST_PERSON"), words_of("SECOND_PERSON")
TIME_WORDS = words_of("TIME_WORDS")
NUMBERS = words_of("NUMBERS")
KIN = words_of("KIN")
REPORTED = worded_of("REPORTED")
OWN = pattern_of("OWN")
_HAPPENINGS, _WISHES = words_of("HAPPENINGS"), words_of("WISHES")
_REQUIREMENTS = words_of("REQUIREMENTS")
_REMARK, _REFUSAL = pattern_of("REMARKS"), pattern_of("REFUSALS")
_NARRATION, _GREETING = pattern_of("NARRATION"), pattern_of("GREETING")
_NAMING, _REASON, _CAPTION = pattern_of("NAMING"), pattern_of("REASONS"), pattern_of("CAPTION")
OPENERS = late.pattern(rf"(?i)\W*(?:(?:{alternatives('OPENERS')})\W*)*")
_REMEMBERING = late.pattern(
    r"(?i)\W*(?:(?:please|pls|and|also|hey|hi|ok)\W+)*" rf"(?:{alternatives('REMEMBERING')})"
)

FENCE = late.pattern(r"(?ms)^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)")
_PASTED_LINE = late.pattern(r"""(?x)^\s*(?:
    (?:[-*+]\s+)*>|[$%\#]\s|\.\.\.\s|at\s[\w$.<>]+\(|File\s\".*\",\sline\s\d|Traceback\s\(
    |[{}\[\]][\s,]*$|\"[\w-]+\":\s
    |(?:diff\s--git|index\s[0-9a-f]{7}|@@\s|\+\+\+\s|---\s\S|[+-](?:\s{2,}|[\w(\"'{/]))
    |\d{4}-\d\d-\d\d[T\s]\d\d:\d\d:\d\d|(?:INFO|DEBUG|WARN(?:ING)?|ERROR|FATAL)\b
    |\|.*\|\s*$|<[/!?a-zA-Z][^>]*>
    |(?:import|from|def|class|function|const|let|var|return|public|private)\s.*[:;{)]\s*$
    )""")
_MARK_LINE = late.pattern(r"^\s*(?:[-*+\u2022]|\d+[.)])\s+")
_END = late.pattern(
    r"(?<=[.!?…。！？])[\"'”’)\]]*"
    r"(?:\s+|(?=[\U0001F300-\U0001FAFF])|(?<=[。！？]))"  # full stops of Chinese and Japanese
    r"|(?<=\s[:;][)(])\s+"  # `sounds good :) I play the viola`
)
_NUMERO = late.pattern(r"(?i)(?:^|[\s(])no\.$")
_ABBREVIATION = late.pattern(
    r"(?i)(?:^|[\s(])" r"(?:mr|mrs|ms|dr|prof|st|vs|etc|e\.g|i\.e|approx|jr|sr|inc|ltd|[a-z])\.$"
)
_ORDINAL = late.pattern(
    rf"(?i)(?:(?P<led>\b(?:{'|'.join(de.BEFORE_ORDINALS.split())})\s+)|\b)\d{{1,2}}\.$"
)
_MONTH_NEXT = late.pattern(rf"(?i)(?:{'|'.join(de.MONTHS.split())})\b")
_QUOTATION = late.pattern(
    r"\"[^\"]*(?:\"|\Z)|(?<!\w)'[^']*'(?!\w)|`[^`]*`|«[^»]*»|„[^\"]*\"|" r"「[^」]*」|『[^』]*』",
)
_QUOTES = late.pattern("[\"'`«„「『]")
QUOTED = '""'
"""Replaces a quotation."""
_STRAIGHT = {ord("\u2019"): "'", ord("\u2018"): "'", ord("\u201c"): '"', ord("\u201d"): '"'}
_WORD = late.pattern(r"[^\W_]+(?:'[^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with cached forms.

    `straight`: with straight quotes; `words`: as written; `folded`: unique, lower case; `pieces`:
    these without apostrophes; `content`: significant words, folded, in order.
    """

    text: str
    straight: str
    words: tuple[str, ...]
    folded: frozenset[str]
    pieces: frozenset[str]
    content: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Self:
        plain = text if text.isascii() else text.translate(_STRAIGHT)
        words = tuple(_WORD.findall(plain))
        folded = " ".join(words).casefold().split(" ") if words else []
        pieces = folded_words = frozenset(folded)
        if "'" in plain:
            pieces = frozenset(piece for word in folded_words for piece in word.split("'"))
        telling = [word for word in folded if word not in STOP_WORDS]
        content = tuple([word for word in telling if len(word) > 1 or word.isdigit()])
        return cls(
            text=text,
            straight=plain,
            words=words,
            folded=folded_words,
            pieces=pieces,
            content=content,
        )

    @property
    def outside_quotations(self) -> str:
        has_quotes = _QUOTES.search(self.straight) is not None
        return _QUOTATION.sub(QUOTED, self.straight) if has_quotes else self.straight

    @property
    def is_question(self) -> bool:
        """True if its last mark is a question mark, and it does not ask to remember a fact."""
        return ends_as_question(self.text) and _REMEMBERING.match(self.straight) is None


def ends_as_question(text: str) -> bool:
    return text.rstrip("\"'”’)] \t").endswith(("?", "？"))  # the question mark of Chinese


def is_pasted_line(line: str) -> bool:
    return _PASTED_LINE.match(line) is not None


def is_list_item(line: str) -> bool:
    return _MARK_LINE.match(line) is not None


def strip_pasted(text: str) -> str:
    lines = FENCE.sub("\n", text).split("\n")
    return "\n".join(line for line in lines if not is_pasted_line(line))


def sentences(text: str) -> tuple[Sentence, ...]:
    """The sentences of a text. A line break ends a sentence; so does the end of a list item."""
    return tuple(map(Sentence.of, _sentences(text)))


def sentences_with(text: str, parts: Collection[str]) -> tuple[Sentence, ...]:
    return tuple(Sentence.of(each) for each in _sentences(text) if has_part(each, parts))


def has_part(text: str, parts: Collection[str]) -> bool:
    """True if a text holds, in lower case, one of these parts."""
    lowered = text.lower()
    return any(part in lowered for part in parts)


def _sentences(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        rest = _MARK_LINE.sub("", " ".join(line.split()))
        start = 0
        for match in _END.finditer(rest):
            sentence = rest[start : match.end()].strip()
            if not sentence or _ABBREVIATION.search(sentence):
                continue
            if _NUMERO.search(sentence) and rest[match.end() :].lstrip()[:1].isdigit():
                continue
            ordinal = _ORDINAL.search(sentence)
            if ordinal and (ordinal["led"] or _MONTH_NEXT.match(rest, match.end())):
                continue
            yield " ".join(sentence.split())
            start = match.end()
        if rest[start:].strip():
            yield " ".join(rest[start:].split())


def without_openers(text: str) -> str:
    match = OPENERS.match(text)
    return text[match.end() :] if match else text


# Noise: what says nothing worth keeping, whoever says it.

REDACTED = secrets.REDACTED
_MIN_CONTENT_WORDS = 4
"""A shorter message without a number, name or time says next to nothing."""
_MOST_OF_REMARK = 4
_MOST_OF_NARRATION = 220
_COMMAND = late.pattern(r"\s*/[\w:-]+(?:\s|$)")
_DIGIT = late.pattern("[0-9]")
_CLOCK = late.pattern(r"\b\d{1,2}(?::\d\d| ?(?:am|pm))\b")


def is_command(text: str) -> bool:
    """True if a message is a command to its client: `/model`."""
    return _COMMAND.match(text) is not None


def _names(sentence: Sentence) -> list[str]:
    words = (
        word
        for word in sentence.words[1:]
        if word[0].isupper() and word.casefold().removesuffix("'s") not in TIME_WORDS
    )
    return [word for word in words if word != "I" and not word.startswith("I'")]


def _has_number(sentence: Sentence) -> bool:
    return not NUMBERS.isdisjoint(sentence.folded) or _has_digit(sentence.text)


def _has_digit(text: str) -> bool:
    return _DIGIT.search(text) is not None if text.isascii() else any(map(str.isdigit, text))


def _has_time(sentence: Sentence) -> bool:
    return (
        not TIME_WORDS.isdisjoint(sentence.folded)
        or any(word.endswith("'s") and word[:-2] in TIME_WORDS for word in sentence.folded)
        or _CLOCK.search(sentence.text) is not None
    )


def is_acknowledgement(sentence: Sentence) -> bool:
    """True if a sentence holds no word but those of an acknowledgement, or no word at all."""
    return sentence.folded <= ACKNOWLEDGEMENTS


def _is_about_you(sentence: Sentence) -> bool:
    is_about_other = not SECOND_PERSON.isdisjoint(sentence.folded)
    return is_about_other and FIRST_PERSON.isdisjoint(sentence.folded)


def _is_remark(sentence: Sentence) -> bool:
    return (
        len(sentence.content) < _MOST_OF_REMARK
        and FIRST_PERSON.isdisjoint(sentence.folded)
        and _REQUIREMENTS.isdisjoint(sentence.folded)
        and _REMARK.match(sentence.straight) is not None
        and not (_has_number(sentence) or _has_time(sentence) or _names(sentence))
    )


def is_noise(sentence: Sentence) -> bool:
    return (
        sentence.is_question
        or REDACTED in sentence.text
        or is_acknowledgement(sentence)
        or _is_remark(sentence)
        or _REFUSAL.match(sentence.straight) is not None
        or (_is_about_you(sentence) and not _says_more(sentence))
    )


def _says_more(sentence: Sentence) -> bool:
    is_rule = OWN.match(without_openers(sentence.straight)) is not None
    return is_rule or _has_number(sentence) or _has_time(sentence)


def is_slight(statements: Sequence[Sentence]) -> bool:
    """True if a message says next to nothing: few content words, no number, name or time."""
    if len({word for each in statements for word in each.content}) >= _MIN_CONTENT_WORDS:
        return False
    return not any(_has_number(each) or _has_time(each) or _names(each) for each in statements)


def is_narration(sentence: Sentence) -> bool:
    """True if an agent only says what it does next."""
    is_short = len(sentence.text) < _MOST_OF_NARRATION
    return is_short and _NARRATION.match(sentence.straight) is not None


# Weights: how likely does somebody ask later for what a message says that no rule keeps? They were
# fitted on conversations in which the lines that answer later questions are known.

ENTRY = 2.0
"""Minimum weight of an entry."""
PERMISSIVE = 1.0
"""The same where a session has nothing else."""
ONLY_QUESTIONS = -4.0
_I, _HAPPENING, _WISH = 1.0, 1.2, 0.5
_TIME, _NUMBER, _NAME, _RELATIVE, _NAMED = 1.4, 0.5, 0.7, 0.8, 0.4
_ANSWER, _CAPTIONED, _REASONED = 0.6, 0.9, 0.2
_LENGTH = 0.45
_GREETING_FIRST = _QUESTION_LAST = -0.3
_ABOUT_YOU, _SLIGHT = -1.5, -2.5
_MOST_NAMES = 2
_TITLE = late.pattern(r"[\"“][^\"”]{3,60}[\"”]")


def weigh(spoken: Sequence[Sentence], statements: Sequence[Sentence], answers: bool) -> float:
    """The weight of a message; `statements`: its sentences but for noise; `answers`: a question."""
    if not statements:
        return ONLY_QUESTIONS
    text = " ".join(each.straight for each in statements)
    words = frozenset[str]().union(*(each.folded for each in statements))
    content = {word for each in statements for word in each.content}
    features = (
        (_I, not FIRST_PERSON.isdisjoint(words)),
        (_HAPPENING, not _HAPPENINGS.isdisjoint(words)),
        (_WISH, not _WISHES.isdisjoint(words)),
        (_TIME, any(map(_has_time, statements))),
        (_NUMBER, any(map(_has_number, statements))),
        (_RELATIVE, not KIN.isdisjoint(words)),
        (_NAMED, _NAMING.search(text) is not None),
        (_ANSWER, answers),
        (_CAPTIONED, _CAPTION.search(text) is not None),
        (_REASONED, _REASON.search(text) is not None),
        (_GREETING_FIRST, _GREETING.match(spoken[0].straight) is not None),
        (_QUESTION_LAST, spoken[-1].is_question),
        (_ABOUT_YOU, all(map(_is_about_you, statements))),
        (_SLIGHT, len(content) < _MIN_CONTENT_WORDS),
    )
    names = {name for each in statements for name in _names(each)}
    named = min(len(names) + len(_TITLE.findall(text)), _MOST_NAMES)
    weight = sum(weight for weight, holds in features if holds)
    return weight + _NAME * named + _LENGTH * log(1 + len(content))
