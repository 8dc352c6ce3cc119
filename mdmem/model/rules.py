"""Rules that several argument records share, also for names of actors. Messages name the field."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from datetime import date

from mdmem.model.errors import UsageProblem, WorkspaceProblem, field
from mdmem.startup import late

ALLOWANCES = ("append", "secret", "shrink")
"""Refusals of `check` that `allow` and MDMEM_ALLOW can override."""
LASTING_KINDS = ("fact", "decision", "preference", "lesson")
"""Kinds of what stays true: a model may suggest them, and a night takes them into memory."""
KINDS = (*LASTING_KINDS, "status", "task")
"""The kinds that help and completion name; any other word can be one too."""
TRAILER_PREFIX = "Mdmem-"
_LIKE_DAY = late.pattern(r"\d{4}-\d{1,2}-\d{1,2}")
_DAY_HINT = "Write it as 2026-11-21."


def require_range(name: str, value: float | None, low: int, high: int) -> None:
    """Refuse a number out of its range, or NaN; None passes; raises UsageProblem."""
    if value is not None and not low <= value <= high:
        shown = f"{value:g}" if isinstance(value, float) else value
        raise UsageProblem(f"{field(name)} must be between {low} and {high}, not {shown}")


def require_single_tags(tags: Iterable[str]) -> None:
    """Refuse several tags written as one. Raises UsageProblem: for the first of them."""
    for tag in tags:
        if "," in tag or len(tag.split()) > 1:
            raise UsageProblem(
                f"{tag!r} cannot be a tag", f"Give {field('tags')} once for each tag."
            )


def require_no_trailer(name: str, text: str | None) -> None:
    """Refuse a text for a commit message with a line that reads as a trailer of mdmem's."""
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
    """Refuse a word that is none of the choices, which the hint names; None passes."""
    if value is not None and value not in choices:
        raise UsageProblem(
            f"{field(name)} is {value!r}, which is not one of its choices",
            f"It takes {', '.join(choices)}.",
        )


def require_allowances(name: str, names: Iterable[str]) -> None:
    """Refuse names not in `ALLOWANCES`; `name` is their field; raises UsageProblem."""
    for unknown in sorted(set(names).difference(ALLOWANCES)):
        raise UsageProblem(
            f"invalid value for {name}: {unknown!r} (choose from {', '.join(ALLOWANCES)})"
        )


def parse_allowances(text: str) -> frozenset[str]:
    """The refusals that MDMEM_ALLOW (names joined by commas) overrides; raises UsageProblem."""
    names = frozenset(name.strip() for name in text.split(",") if name.strip())
    require_allowances("MDMEM_ALLOW", names)
    return names


_MINUTE = late.pattern(r"(?:[01]\d|2[0-3]):[0-5]\d")


def is_minute(text: str) -> bool:
    """True for a time of day, HH:MM."""
    return _MINUTE.fullmatch(text) is not None


def is_iso_day(text: str) -> bool:
    """True for an ISO date."""
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def require_possible_day(text: str | None, argument: str) -> None:
    """Refuse an impossible ISO date; words are read later, when the current day is known."""
    if text is not None and _LIKE_DAY.fullmatch(text.strip()):
        parse_day(text.strip(), argument)


def parse_day(text: str, argument: str) -> date:
    """The day of an ISO date in a field. Raises UsageProblem: it is none."""
    try:
        return date.fromisoformat(text)
    except ValueError as problem:
        raise UsageProblem(f"{field(argument)}: {text!r} is not a date", _DAY_HINT) from problem


# Names of actors.

RESERVED_ACTORS = ("digest", "dream", "sync", "web")
"""Actors of mdmem's own, which nobody else may use."""
BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800")
"""Invisible letters, marks and symbols; variation selectors are recognized by name."""


def fold_actor(name: str) -> str:
    """The form in which names are compared: folded, with single spaces, without invisible marks."""
    return " ".join(unicodedata.normalize("NFKC", _visible(name).casefold()).split())


def _visible(name: str) -> str:
    if name.isascii() and name.isprintable():
        return name
    return "".join(filter(_is_visible, unicodedata.normalize("NFKC", name)))


def _is_visible(character: str) -> bool:
    if character.isspace():
        return True
    is_control = unicodedata.category(character).startswith("C")
    return (
        not is_control
        and character not in BLANK
        and "VARIATION SELECTOR" not in unicodedata.name(character, "")
    )


def is_person(actor: str, people: Iterable[str]) -> bool:
    """True if a list of persons names an actor."""
    return fold_actor(actor) in map(fold_actor, people)


_MOST_NAME = 60
_AROUND_NAMES = str.maketrans("", "", "()<>")
"""Characters that tell where a name ends, and frames and tags."""


def author_name(name: str) -> str:
    """The name of a commit's author, which anybody may choose, as answers print it."""
    return " ".join(_visible(name).translate(_AROUND_NAMES).split())[:_MOST_NAME].rstrip()


def require_unreserved(actor: str) -> None:
    """Refuse an actor of mdmem's own. Raises WorkspaceProblem: `reserved-actor`."""
    if fold_actor(actor) in RESERVED_ACTORS:
        names = f"{', '.join(RESERVED_ACTORS[:-1])} and {RESERVED_ACTORS[-1]}"
        raise WorkspaceProblem(
            "reserved-actor", f"{actor!r} is reserved for mdmem", f"Use a name other than {names}."
        )
