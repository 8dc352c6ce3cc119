"""Write behind a relative date the day that it means: `yesterday (2026-11-18)`, `last week (2026-11-09 to 2026-11-15)`, `last year (2025)`.

The day of the message is where all of them count from. Vague ones (`recently`, `the other day`) stay as they are, and so do spans of time
(`over the last year`), which mean no day. A week runs from Monday to Sunday; `last Friday` is the nearest one before the day of the message,
`next Monday` the nearest one behind it.
"""

from __future__ import annotations

from datetime import date, timedelta
from re import Match

from mdmem.startup import late

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december")
_NUMBERS = {
    name: number
    for number, name in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
    )  # noqa: SIM905: as it is read
} | {"a": 1, "an": 1, "a couple of": 2, "couple of": 2}
_OF_DAY = r"(?:['’]s)?(?:\ (?:night|morning|afternoon|evening))?"
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})"
_DAY = "|".join((*_WEEKDAYS, *(name[:3] for name in _WEEKDAYS), "tues", "thur", "thurs"))
_PHRASE = late.pattern(
    rf"""(?ix)(?<![\w-])(?:
    (?P<before>the\ day\ before\ yesterday)|(?P<after>the\ day\ after\ tomorrow)|
    (?P<day>yesterday|tomorrow|last\ night|tonight|today|this\ (?:morning|afternoon|evening)){_OF_DAY}|
    (?P<which>last|next|this|this\ past|this\ coming|the\ previous)\ (?P<unit>week-?end|week|month|year|{"|".join(_MONTHS)}|(?:{_DAY})){_OF_DAY}|
    {_COUNT}\ (?P<units>day|week-?end|week|month|year)s?\ (?:ago|back|earlier)|
    in\ {_COUNT.replace("count", "ahead")}\ (?P<ahead_units>day|week|month|year)s?(?:['’]\ time)?
    )(?![\w-])(?!\ \(\d{{4}})"""
)
_HINT = late.pattern(r"(?i)yesterday|tomorrow|night|today|last|next|this|previous|ago|back|earlier|\bin (?:\d|a|[tfsone])")
_SPAN = late.pattern(r"(?i)(?:\b(?:over|during|for|in|within|of|throughout|across)\s+the|\bthe\s+whole)\s+$")


def annotate(text: str, day: date) -> str:
    """Write the day that is meant behind each relative date of a text that was said on a day. What has its day already stays."""
    if not _HINT.search(text):
        return text

    def write(match: Match[str]) -> str:
        meant = _meaning(match, day)
        return match[0] if meant is None or _is_span(match, text) else f"{match[0]} ({meant})"

    return _PHRASE.sub(write, text)


def _is_span(match: Match[str], text: str) -> bool:
    """True if a phrase means a stretch of time: `over the last year`."""
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
        return _days(day + timedelta(days={"yesterday": -1, "last night": -1, "tomorrow": 1}.get(match["day"].casefold(), 0)))
    if match["unit"]:
        return _of_unit(match["which"].casefold(), match["unit"].casefold(), day)
    if match["count"]:
        return _moved(match["units"].casefold(), -_number(match["count"]), day)
    return _moved(match["ahead_units"].casefold(), _number(match["ahead"]), day)


def _of_unit(which: str, unit: str, day: date) -> str | None:
    """The meaning of `last week`, `next Friday`, `this March`."""
    step = {"next": 1, "this coming": 1, "this": 0}.get(which, -1)
    if unit in ("week", "weekend", "week-end", "month", "year"):
        return _moved(unit, 0 if which == "this coming" else step, day)
    if unit in _MONTHS:
        return _month(unit, step, day)
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


def _moved(unit: str, count: int, day: date) -> str | None:
    """The day, week, weekend, month or year so many of them away; None where that is out of the calendar."""
    try:
        if unit == "day":
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
