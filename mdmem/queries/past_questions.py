"""Readings of a question about a fact's past: a date, the first, the one before, all. Pure.

English in full; of others `first`, `before`, `since when`, `how often` and the months.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from datetime import date
from enum import Enum, auto
from re import Match

from mdmem.sessions import sentences
from mdmem.startup import late
from mdmem.startup.records import dataclass


class Asked(Enum):
    ALL = auto()
    BEFORE_VERSION = auto()
    AFTER_VERSION = auto()
    HELD = auto()
    HELD_BEFORE = auto()
    HELD_AFTER = auto()
    FIRST = auto()
    NTH = auto()
    BEGUN = auto()
    PREVIOUS = auto()
    LAST = auto()


@dataclass(frozen=True, slots=True)
class CalendarSpan:
    """Days of a year, or of any (None). `to_next`: it ends in the next year."""

    year: int | None
    first: tuple[int, int]
    last: tuple[int, int]
    to_next: bool = False

    def in_year(self, year: int) -> tuple[date, date]:
        return _day(year, *self.first), _day(year + self.to_next, *self.last)

    def has(self, day: date) -> bool:
        years = [self.year] if self.year else [day.year - self.to_next, day.year]
        return any(first <= day <= last for first, last in map(self.in_year, years))


@dataclass(frozen=True, slots=True)
class PastQuestion:
    """One reading of a question.

    `cue`: its words for that, which mean nothing in facts that have them too (`first name`).
    `words` name another version; `span` the days; `number` counts from 1.
    """

    asked: Asked
    cue: str
    words: str = ""
    span: CalendarSpan | None = None
    number: int = 0


def _day(year: int, month: int, day: int) -> date:
    return date(year, month, min(day, monthrange(year, month)[1]))


_MONTH_NAMES = """
january januar janvier enero gennaio janeiro januari
february februar février febrero febbraio fevereiro februari
march märz mars marzo março maart|april avril abril aprile|may mai mayo maggio maio mei
june juni juin junio giugno junho
july juli juillet julio luglio julho|august août agosto augustus
september septembre septiembre settembre setembro
october oktober octobre octubre ottobre outubro|november novembre noviembre novembro
december dezember décembre diciembre dicembre dezembro
"""
_MONTHS = {
    name: number
    for number, names in enumerate(_MONTH_NAMES.replace("\n", "|").strip("|").split("|"), 1)
    for name in names.split()
}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_SEASONS = {
    "spring": (3, 5),
    "summer": (6, 8),
    "autumn": (9, 11),
    "fall": (9, 11),
    "winter": (12, 2),
}
_NTH = r"(\d{1,2})(?:st|nd|rd|th|\.|er)?"
_SPANS = (
    ("range", late.pattern(r"(\d{4}-\d\d-\d\d) to (\d{4}-\d\d-\d\d)")),
    ("day", late.pattern(r"\b(\d{4})-(\d\d)-(\d\d)\b")),
    ("day", late.pattern(r"(\d{4})年\s*(\d{1,2})月\s*(\d{1,2})日")),
    ("month", late.pattern(r"\b(\d{4})-(\d\d)\b|(\d{4})年\s*(\d{1,2})月")),
    (
        "named",
        late.pattern(rf"(?i)\b{_NTH}\s+(?:of\s+|de\s+)?({_MONTH})\b,?(?:\s+(?:de\s+)?(\d{{4}}))?"),
    ),
    (
        "american",
        late.pattern(
            rf"(?i)\b({_MONTH})\s+(?:the\s+)?(\d{{1,2}})(?:st|nd|rd|th)?(?!\d),?(?:\s+(\d{{4}}))?"
        ),
    ),
    ("season", late.pattern(rf"(?i)\b({'|'.join(_SEASONS)})\b(?:\W+(?:of\s+)?\(?(\d{{4}}))?")),
    (
        "quarter",
        late.pattern(
            r"(?i)\bq([1-4])\b(?:\W+(\d{4}))?|\b(first|second|third|fourth)"
            r" quarter\b(?:\W+(?:of\s+)?(\d{4}))?"
        ),
    ),
    ("month name", late.pattern(rf"\b((?i:{_MONTH}))\b(?:\W+(?:of\s+|de\s+)?\(?(\d{{4}}))?")),
    (
        "part",
        late.pattern(
            r"(?i)\b(early|late|mid|beginning of|start of|end of|middle of)[ -]+(\d{4})\b"
        ),
    ),
    ("year", late.pattern(r"\b((?:19|20)\d\d)\b")),
)
"""More exact dates first: the first pattern that is found counts."""
_ORDINALS = {
    "first": 1,
    "second": 2,
    "third": 3,
    "fourth": 4,
    "fifth": 5,
    "2nd": 2,
    "3rd": 3,
    "4th": 4,
    "5th": 5,
}
_PARTS = {
    "early": (1, 4),
    "beginning of": (1, 2),
    "start of": (1, 1),
    "mid": (5, 8),
    "middle of": (5, 8),
    "late": (9, 12),
    "end of": (11, 12),
}
_VERBS_TOO = frozenset(("may", "march", "mars", "mei", "mai"))
"""Not months without a capital or a year."""

_BEFORE_DATE = late.pattern(
    r"(?i)\b(?:before|prior to|until|till|up to|vor|bis|antes de|avant)\s+(?:the\s+|dem\s+)?$"
)
_AFTER_DATE = late.pattern(r"(?i)\b(?:after|nach|después de|après)\s+(?:the\s+|dem\s+)?$")

_ALL = late.pattern(
    r"(?i)\b(?:how (?:often|many times)|over time|over the years|history of|timeline|in"
    r" (?:which|what) order|all (?:the )?(?:versions|values|changes)|evolv\w+"
    r"|how (?:did|has|have|had)"
    r" .{1,60}\b(?:changed?|developed?|moved?)|ever|(?:any|some)(?:thing|where|one|body)"
    r" (?:else|other than)|\w+ history"
    r"|wie oft|cuántas veces|combien de fois|quante volte|quantas vezes|сколько раз|как"
    r" часто)\b|多少次|几次|何回"
)
_BEFORE_VERSION = late.pattern(
    r"(?i)\b(?:before|prior to|between .+ and|predecessors? of|replaced by|followed by|superseded"
    r" by|preceded|vor|bevor|antes de|avant|prima di|до)\s+(.+)"
    r"|(?<!\S)(\S+)['’]s? predecessor"
    r"|(?:what|which|who)\b.{0,40}\bdid\s+(.{1,60}?)\s+(?:replace|follow|supersede)"
    r"|(?m:^)(.+?)(?:之前|の前)"
)
_AFTER_VERSION = late.pattern(
    r"(?i)\b(?:after|replaced|followed|superseded|instead of|in place of|took over from|successors?"
    r" of|succeeded|nach|después de|après|dopo|после)\s+(?!by\b)(.+)"
    r"|(?<!\S)(\S+)['’]s? successor|(?m:^)(.+?)(?:之后|の後)"
)
_FIRST = late.pattern(
    r"(?i)\b(?:first|original\w*|initial\w*|oldest|earliest|in the beginning|to begin"
    r" with|(?:begin|began|start|started) (?:out|with|off)"
    r"|zuerst|anfangs|ursprünglich\w*|erste[rsnm]?|anfänglich\w*|al"
    r" principio|primer[oa]?|inicial\w*|au début|premi(?:er|ère)|à l'origine|all'inizio"
    r"|prim[oa]|primeir[oa]|сначала|изначально|перв\w+)\b|最初|一开始|最早|原来|当初|はじめ"
)
_ASKS_DAY = late.pattern(
    r"(?i)\W*(?:when|since|how long|(?:on |in )?(?:what|which)"
    r" (?:day|date|month|year)|wann|seit|cuándo|quand|quando|когда)\b"
)
"""Asks for a day, and names the version by words: `When did we first use Zed?`"""
_NUMBERED = late.pattern(
    r"(?i)\b(second|third|fourth|fifth|2nd|3rd|4th|5th)\b(?! (?:to last|quarter|half|floor|grade))"
)
_BEGUN = late.pattern(
    r"(?i)\b(?:since when|how long|when did|when was|when were|when has|from when|as of when|until"
    r" when|seit wann|ab wann|desde cuándo|depuis quand|da quando"
    r"|с каких пор|с какого)\b|从什么时候|什么时候开始|いつから"
)
_PREVIOUS = late.pattern(
    r"(?i)\b(?:previous\w*|former\w*|prior|earlier|used? to|before|old|preceding|in the"
    r" past|once|back then|until recently"
    r"|vorher\w*|früher\w*|ehemal\w*|alte[rsnm]?|bisherig\w*|zuvor|antes|anterior\w*|antigu\w+"
    r"|auparavant|avant|précédent\w*|ancien\w*|prima|precedente"
    r"|раньше|прежн\w+|прошл\w+)\b|以前|之前|前の|昔|السابق\w*"
)
_LAST = late.pattern(
    r"(?i)\b(?:latest|newest|most recent(?:ly)?|current(?:ly)?|now|at present|today|these"
    r" days|zuletzt|aktuell\w*|jetzt|actual\w*)\b|现在|今"
)


def read_question(question: str, today: date) -> tuple[PastQuestion, ...]:
    """The readings, most telling first; none if not about the past. Dates count from today."""
    return tuple(_readings(question, today))


def _readings(question: str, today: date) -> Iterator[PastQuestion]:
    if match := _ALL.search(question):
        yield PastQuestion(asked=Asked.ALL, cue=match[0])
    for asked, pattern in (
        (Asked.BEFORE_VERSION, _BEFORE_VERSION),
        (Asked.AFTER_VERSION, _AFTER_VERSION),
    ):
        if match := pattern.search(question):
            words = next(group for group in match.groups() if group)
            yield PastQuestion(asked=asked, cue="", words=words)
    yield from _dated(sentences.annotate_dates(question, today))
    if match := _FIRST.search(question):
        yield PastQuestion(
            asked=Asked.FIRST, cue=match[0], words=question if _ASKS_DAY.match(question) else ""
        )
    if match := _NUMBERED.search(question):
        yield PastQuestion(asked=Asked.NTH, cue=match[0], number=_ORDINALS[match[1].casefold()])
    if match := _BEGUN.search(question):
        yield PastQuestion(
            asked=Asked.BEGUN,
            cue=match[0],
            words=question[: match.start()] + question[match.end() :],
        )
    if match := _PREVIOUS.search(question):
        yield PastQuestion(asked=Asked.PREVIOUS, cue=match[0])
    if match := _LAST.search(question):
        yield PastQuestion(asked=Asked.LAST, cue=match[0])


def _dated(question: str) -> Iterator[PastQuestion]:
    for name, pattern in _SPANS:
        for match in pattern.finditer(question):
            span = _span(name, match)
            if span is not None:
                before = question[: match.start()].removesuffix("(")
                asked = (
                    Asked.HELD_BEFORE
                    if _BEFORE_DATE.search(before)
                    else Asked.HELD_AFTER
                    if _AFTER_DATE.search(before)
                    else Asked.HELD
                )
                yield PastQuestion(asked=asked, cue=match[0], span=span)
                return


def _span(name: str, match: Match[str]) -> CalendarSpan | None:
    groups = [group for group in match.groups() if group is not None]
    match name:
        case "range":
            (year, *first), (last_year, *last) = (map(int, group.split("-")) for group in groups)
            return CalendarSpan(
                year, (first[0], first[1]), (last[0], last[1]), to_next=last_year > year
            )
        case "day":
            return _one_day(*map(int, groups))
        case "month":
            return _months(int(groups[0]), int(groups[1]), int(groups[1]))
        case "named" | "american":
            day, month = (groups[0], groups[1]) if name == "named" else (groups[1], groups[0])
            return _one_day(
                int(groups[2]) if len(groups) > 2 else None, _MONTHS[month.casefold()], int(day)
            )
        case "season":
            return _months(
                int(groups[1]) if len(groups) > 1 else None, *_SEASONS[groups[0].casefold()]
            )
        case "quarter":
            quarter = int(groups[0]) if groups[0].isdigit() else _ORDINALS[groups[0].casefold()]
            return _months(
                int(groups[1]) if len(groups) > 1 else None, quarter * 3 - 2, quarter * 3
            )
        case "month name":
            month = _MONTHS[groups[0].casefold()]
            return (
                None
                if groups[0] in _VERBS_TOO and len(groups) < 2
                else _months(int(groups[1]) if len(groups) > 1 else None, month, month)
            )
        case "part":
            return _months(int(groups[1]), *_PARTS[groups[0].casefold()])
        case _:
            return _months(int(groups[0]), 1, 12)


def _months(year: int | None, first: int, last: int) -> CalendarSpan | None:
    return (
        CalendarSpan(year, (first, 1), (last, 31), to_next=last < first)
        if 0 < first <= 12 and 0 < last <= 12
        else None
    )


def _one_day(year: int | None, month: int, day: int) -> CalendarSpan | None:
    return (
        CalendarSpan(year, (month, day), (month, day))
        if 0 < month <= 12 and 0 < day <= 31
        else None
    )
