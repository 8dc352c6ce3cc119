"""Dates and times as users write them: in ISO form, and in words of many languages."""

from __future__ import annotations

from calendar import monthrange
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime, time, timedelta
from itertools import permutations

from mdmem.folder import config
from mdmem.model.errors import DateProblem, UsageProblem, field
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.workspace import Workspace

_MONTH = late.pattern(r"^(\d{4})(?:-(\d{2}))?$")
_WEEK = late.pattern(r"^(\d{4})-W(\d{2})$")
_LIKE_ISO = late.pattern(r"^\d{4}-(?:\d{1,2}(?:-|$)|W)")
_COUNTED = late.pattern(r"(?<![\d'’])\d{1,3}(?!\d)")
_LANGUAGES = [
    "en",
    "de",
    "fr",
    "es",
    "it",
    "pt",
    "nl",
    "sv",
    "pl",
    "ru",
    "tr",
    "ar",
    "hi",
    "zh",
    "ja",
    "ko",
]
"""All that dateparser knows would take seconds to try."""
_LEADING_WORD = late.pattern(r"(?i)^(?:last|past|in|since)\s+(?=[^\W\d]+$)")
_BEFORE_DEADLINE = late.pattern(r"(?i)^(?:until|till|by|through)\s+")
_AMBIGUOUS = late.pattern(r"(?<![\d:])(\d{1,4})[./](\d{1,4})(?:[./](\d{1,4}))?(?!\d)")
_LONE_NUMBER = late.pattern(r"(?i)^\W*(?:the\s+)?\d{1,3}(?:st|nd|rd|th)?\W*$")
_SHORT_NUMBER = late.pattern(r"(?<![\d:'’])\d{2}(?![\d:])")
_LEAP_YEAR, _MONTHS = 2024, 12
_HINT = "Write it as 2026-11-21, 2026-11, or in words such as yesterday or last March."
_FUTURE_HINT = "Write it as 2026-11-21, 2026-11, or in words such as tomorrow or next friday."
_ISO_HINT = "Write it as 2026-11-21."
_FIRST_LONG_YEAR = 1000
"""Of a smaller number it is not sure that it is the year."""
_DAYS_OF_WEEK, _MOST_OF_MONTH = 7, 31
_DAY_HINT = "Give one day, e.g. 2026-11-21 or yesterday."


@dataclass(frozen=True, slots=True)
class DateSpan:
    """The days that a text means, both inclusive; `moment` if it means a time of day."""

    first: date
    last: date
    moment: datetime | None = None


def days_asked(
    workspace: Workspace, since: str | None, until: str | None
) -> tuple[date | None, date | None]:
    """The first of the days that `since` means, the last of `until`; raises UsageProblem."""
    return (
        None if since is None else _required_span(workspace, since, "since").first,
        None if until is None else _required_span(workspace, until, "until").last,
    )


def past_day(workspace: Workspace, text: str, argument: str) -> date:
    """The one day of a text, of words a past one; raises UsageProblem, DateProblem."""
    span = _required_span(workspace, text, argument, _DAY_HINT)
    if span.first != span.last:
        days = (span.last - span.first).days + 1
        period = "week" if days == _DAYS_OF_WEEK else "month" if days <= _MOST_OF_MONTH else "year"
        message = f"{text[:80]!r} is a {period}; {field(argument)} takes a single day"
        raise UsageProblem(message, _DAY_HINT)
    return span.first


def last_day_to_come(workspace: Workspace, text: str, argument: str) -> date:
    """The last day of a text, of words a future one; raises UsageProblem, DateProblem."""
    words = _BEFORE_DEADLINE.sub("", text.strip())
    span = parse_iso(workspace, words, argument, _FUTURE_HINT) or parse_words(
        workspace, words, argument
    )
    if span is not None and span.last < workspace.now().date() and not _LIKE_ISO.match(words):
        span = parse_words(workspace, words, argument, "future")
    return _require(span, text, argument, _FUTURE_HINT).last


def understood(words: str | None, day: date | None) -> date | None:
    """The day that words mean, for the answer to name; None if they are that date already."""
    return None if day is None or words is None or words.strip() == day.isoformat() else day


def _required_span(workspace: Workspace, text: str, argument: str, hint: str = _HINT) -> DateSpan:
    span = parse_iso(workspace, text, argument, hint) or parse_words(workspace, text, argument)
    return _require(span, text, argument, hint)


def _require(span: DateSpan | None, text: str, argument: str, hint: str = _HINT) -> DateSpan:
    if span is None:
        raise UsageProblem(f"{field(argument)}: {text[:80]!r} is not a date", hint)
    return span


def end_of_span(workspace: Workspace, span: DateSpan) -> tuple[int, date]:
    """The last second of a span, in seconds since 1970, and its day."""
    end = span.moment or datetime.combine(
        span.last, time(23, 59, 59), config.zone(workspace.settings.timezone)
    )
    return int(seconds_of(end)), span.last


def seconds_of(moment: datetime) -> float:
    """A moment in seconds since 1970; in the first and the last year of all by UTC."""
    is_inside = MINYEAR < moment.year < MAXYEAR
    return (moment if is_inside else moment.replace(tzinfo=UTC)).timestamp()


def parse_iso(workspace: Workspace, text: str, argument: str, hint: str = _HINT) -> DateSpan | None:
    """The days of an ISO date, week, month, year or moment, else None; raises UsageProblem."""
    trimmed = text.strip()
    try:
        if match := _MONTH.match(trimmed):
            return (
                _month(int(match[1]), int(match[2]))
                if match[2]
                else DateSpan(date(int(match[1]), 1, 1), date(int(match[1]), 12, 31))
            )
        if match := _WEEK.match(trimmed):
            monday, sunday = (
                date.fromisocalendar(int(match[1]), int(match[2]), day) for day in (1, 7)
            )
            return DateSpan(monday, sunday)
        if not _LIKE_ISO.match(trimmed):
            return None
        if len(trimmed) == len("2026-11-21"):
            day = date.fromisoformat(trimmed)
            return DateSpan(day, day)
        moment = datetime.fromisoformat(trimmed)
    except ValueError as problem:
        message = f"{field(argument)}: {text[:80]!r} is not a date"
        raise UsageProblem(message, hint) from problem
    zone = config.zone(workspace.settings.timezone)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=zone)
    day = moment.astimezone(zone).date()
    return DateSpan(day, day, moment)


def parse_words(
    workspace: Workspace, text: str, argument: str, direction: str = "past"
) -> DateSpan | None:
    """The days that words mean (`yesterday`, `last March`, `2 weeks ago`), or None.

    Without `last` or `next`: the nearest in `direction`, `past` or `future`. Raises DateProblem
    (`ambiguous-date`: digits with slashes or dots). A number that is no day of its month (`32
    June`) is not taken for a year, and one alone (`2`, `the 3rd`) is no date.
    """
    if _LONE_NUMBER.match(text):
        return None
    # 130 ms, only for days in words
    from dateparser.date import DateDataParser  # noqa: PLC0415

    if digits := _AMBIGUOUS.search(text):
        parts = [int(part) for part in digits.groups() if part]
        if not _could_be_a_day(parts):
            return None
        raise _digits_problem(workspace, text, argument, parts)
    now = workspace.now()
    settings = {
        "RELATIVE_BASE": now.replace(tzinfo=None),
        "PREFER_DATES_FROM": direction,
        "RETURN_TIME_AS_PERIOD": True,
    }
    reader = DateDataParser(languages=_LANGUAGES, settings=settings)
    words = text.strip()
    answer = reader.get_date_data(words)
    if answer.date_obj is None and _LEADING_WORD.match(words):
        answer = reader.get_date_data(_LEADING_WORD.sub("", words))
    numbers = map(int, _SHORT_NUMBER.findall(words))
    if answer.date_obj is not None and answer.date_obj.year % 100 in numbers:
        # 32 June has no day, but 12 May 25 and 13 years ago have one.
        reader = DateDataParser(
            languages=_LANGUAGES, settings={**settings, "REQUIRE_PARTS": ["day"]}
        )
        answer = reader.get_date_data(words)
    if answer.date_obj is None:
        return None
    day = answer.date_obj.date()
    # A number (`2 weeks ago`) means a day, a name (`last week`, `March`) the whole period.
    match "day" if _COUNTED.search(words) and answer.period != "time" else answer.period:
        case "time":
            return DateSpan(
                day, day, answer.date_obj.replace(tzinfo=answer.date_obj.tzinfo or now.tzinfo)
            )
        case "week":
            monday = day - timedelta(days=day.weekday())
            return DateSpan(monday, monday + timedelta(days=6))
        case "month":
            return _month(day.year, day.month)
        case "year":
            return DateSpan(date(day.year, 1, 1), date(day.year, 12, 31))
        case _:
            return DateSpan(day, day)


def _digits_problem(
    workspace: Workspace, text: str, argument: str, numbers: list[int]
) -> DateProblem:
    """The refusal of digits with slashes or dots: the date that they mean is not guessed."""
    given = f"{field(argument)}: {text.strip()[:80]!r}"
    year = max(numbers)
    rest = [number for number in numbers if number != year]
    if len(numbers) == 2:
        year, rest = workspace.now().year, numbers
    readings = {
        f"{year}-{month:02}-{day:02}"
        for month, day in permutations(rest, 2)
        if 1 <= month <= _MONTHS and 1 <= day <= monthrange(year, month)[1]
    }
    if year < _FIRST_LONG_YEAR or len(readings) > 1:
        return DateProblem("ambiguous-date", f"{given} could be two dates", _ISO_HINT)
    hint = f"Write it as {readings.pop()}." if readings else _ISO_HINT
    return DateProblem("ambiguous-date", f"{given} is not in the form YYYY-MM-DD", hint)


def _could_be_a_day(numbers: list[int]) -> bool:
    return any(
        1 <= month <= _MONTHS and 1 <= day <= monthrange(_LEAP_YEAR, month)[1]
        for month, day in permutations(numbers, 2)
    )


def _month(year: int, month: int) -> DateSpan:
    return DateSpan(date(year, month, 1), date(year, month, monthrange(year, month)[1]))
