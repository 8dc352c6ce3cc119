"""Add the day that a relative date means: `yesterday (2026-11-18)`, `last year (2025)`.

All count from the message's day. Vague ones (`recently`) and spans (`over the last year`) stay. A
week begins on Monday; `last` and `next Friday` are the nearest ones; `on Friday` is judged by its
clause, or stays. English only.
"""

from __future__ import annotations

from datetime import date, timedelta
from re import Match

from mdmem.startup import late
from mdmem.words import en

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
    on\ (?P<weekday>{"|".join(_WEEKDAYS)})(?!['’s]){_OF_DAY}
    )(?![\w-])"""
_PHRASE = late.pattern(rf"(?ix){_WORDS}(?!\ \(\d{{4}})")
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
_SPAN = late.pattern(
    r"(?i)(?:\b(?:over|during|for|in|within|of|throughout|across)\s+the|\bthe\s+whole)\s+$",
)
_CLAUSE_END = late.pattern(r"[.!?;\n]\s|[.!?;\n]$")
_PAST, _FUTURE = late.pattern(rf"(?i){en.PAST}"), late.pattern(rf"(?i){en.FUTURE}")
_TO_COME, _REPEATED = late.pattern(rf"(?i){en.TO_COME}"), late.pattern(rf"(?i){en.REPEATED}")


def annotate(text: str, day: date) -> str:
    lowered = text.lower()
    if not any(hint in lowered for hint in _HINTS):
        may_hold_other = "in " in lowered or "day" in lowered
        if not may_hold_other or not _OTHER_HINT.search(text):
            return text

    def write(match: Match[str]) -> str:
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

    return _DATED.sub(write, annotate(text, day))


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
        return _moved(match["ahead_units"].casefold(), _number(match["ahead"]), day)
    if match["from_now"]:
        return _moved(match["from_now_units"].casefold(), _number(match["from_now"]), day)
    return None


def _of_weekday(match: Match[str], day: date) -> str | None:
    text = match.string
    start = max((end.end() for end in _CLAUSE_END.finditer(text, 0, match.start())), default=0)
    end = _CLAUSE_END.search(text, match.end())
    clause = text[start : end.start() if end else len(text)].replace("\u2019", "'")
    future = _FUTURE.search(clause) is not None
    past = _PAST.search(clause) is not None and not _TO_COME.search(clause)
    weekday = _WEEKDAYS.index(match["weekday"].casefold())
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
