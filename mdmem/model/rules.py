"""Rules that several argument records share: ranges, days, what can be allowed. Messages name the
field.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date

from mdmem.errors import UsageProblem
from mdmem.startup import late
from mdmem.wording import field

ALLOWANCES = ("append", "secret", "shrink")
"""The refusals of `check` that can be let through, by the names that `allow` and MDMEM_ALLOW give
them.
"""
TRAILER_PREFIX = "Mdmem-"
_LIKE_DAY = late.pattern(r"\d{4}-\d{1,2}-\d{1,2}")
_DAY_HINT = "Write it as 2026-11-21."


def require_range(name: str, value: float | None, low: int, high: int) -> None:
    """Refuse a number out of its range; None is in it.

    Raises:
        UsageProblem: it is out of its range, or no number.
    """
    if value is not None and not low <= value <= high:
        shown = f"{value:g}" if isinstance(value, float) else value
        raise UsageProblem(f"{field(name)} is {shown}, which is not from {low} to {high}")


def require_single_tags(tags: Iterable[str]) -> None:
    """Refuse what holds several tags in the place of one.

    Raises:
        UsageProblem: for the first one that does.
    """
    for tag in tags:
        if "," in tag or len(tag.split()) > 1:
            raise UsageProblem(
                f"{tag!r} cannot be a tag", f"Give {field('tags')} once for each label."
            )


def require_no_trailer(name: str, text: str | None) -> None:
    """Refuse a text for a commit message with a line that reads as a trailer of mdmem's.

    Raises:
        UsageProblem: it has one.
    """
    if text and has_trailer(text):
        raise UsageProblem(
            f"{field(name)} has a line that begins with {TRAILER_PREFIX}, which is reserved for"
            " mdmem's commits"
        )


def has_trailer(text: str) -> bool:
    """True if a line of a text begins as a trailer of mdmem's does."""
    return TRAILER_PREFIX in text and any(
        line.lstrip().startswith(TRAILER_PREFIX) for line in text.splitlines()
    )


def require_choice(name: str, value: str | None, choices: Sequence[str]) -> None:
    """Refuse a word that is none of the choices; None is no choice.

    Raises:
        UsageProblem: it is none; the hint names them.
    """
    if value is not None and value not in choices:
        raise UsageProblem(
            f"{field(name)} is {value!r}, which is not one of its choices",
            f"It takes {', '.join(choices)}.",
        )


def require_allowances(name: str, names: Iterable[str]) -> None:
    """Refuse names that are none of `ALLOWANCES`; `name` is the field that has them, or what stands
    for it.

    Raises:
        UsageProblem: the first of them.
    """
    for unknown in sorted(set(names).difference(ALLOWANCES)):
        raise UsageProblem(
            f"{name} is {unknown!r}, which cannot be allowed", f"It takes {', '.join(ALLOWANCES)}."
        )


def parse_allowances(text: str) -> frozenset[str]:
    """The refusals that `text`, of MDMEM_ALLOW (names joined by commas), lets through.

    Raises:
        UsageProblem: it names one that cannot be let through, or that does not exist.
    """
    names = frozenset(name.strip() for name in text.split(",") if name.strip())
    require_allowances("MDMEM_ALLOW", names)
    return names


def is_iso_day(text: str) -> bool:
    """True for an ISO date."""
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def require_possible_day(text: str | None) -> None:
    """Refuse what is written as an ISO date and is none; words are read later, when it is known
    which day it is.

    Raises:
        UsageProblem: there is no such day.
    """
    if text is not None and _LIKE_DAY.fullmatch(text.strip()):
        parse_day(text.strip())


def parse_day(text: str) -> date:
    """The day of an ISO date.

    Raises:
        UsageProblem: it is none.
    """
    try:
        return date.fromisoformat(text)
    except ValueError as problem:
        raise UsageProblem(f"{text!r} is not a date", _DAY_HINT) from problem
