"""Days and moments as the user writes them."""

import re
from datetime import date, datetime, time

from mdmem import config
from mdmem.errors import UsageProblem
from mdmem.memory.workspace import Workspace

_LIKE_A_DATE = re.compile(r"^\s*\d{4}-\d{1,2}(?:-|\s*$)|^\s*\d{4}\s*$|^\s*\d{1,2}[./]\d{1,2}[./]\d{2,4}")


def day(text: str | None, name: str) -> date | None:
    """An ISO date; `name` is the option that gave it.

    Raises:
        UsageProblem: it is none.
    """
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError as problem:
        raise UsageProblem(f"{name} is {text!r}, which is not a date", "Write it as 2026-11-21.") from problem


def end_of(workspace: Workspace, text: str) -> tuple[int, date] | None:
    """The last second of a day, or the second of a moment, in seconds since 1970, and its day; None for what looks like no date.

    Raises:
        UsageProblem: it looks like a date and is none.
    """
    zone = config.zone(workspace.settings.timezone)
    said = text.strip()
    try:
        if len(said) == len("2026-11-21"):
            wanted = date.fromisoformat(said)
            return int(datetime.combine(wanted, time(23, 59, 59), zone).timestamp()), wanted
        moment = datetime.fromisoformat(said)
    except ValueError as problem:
        if _LIKE_A_DATE.match(said):
            raise UsageProblem(f"{text!r} is not a date", "Write it as 2026-11-21 or 2026-11-21T14:05.") from problem
        return None
    if said.isdigit():
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=zone)
    return int(moment.timestamp()), moment.astimezone(zone).date()
