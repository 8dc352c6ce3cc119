"""Names of actors: how they are compared, and which mdmem keeps for its own work."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from mdmem.errors import WorkspaceProblem

RESERVED_ACTORS = ("digest", "dream", "sync", "web")
"""Actors of mdmem's own, which nobody else may use."""
BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800")
"""Invisible letters, marks and symbols; variation selectors are recognized by name."""


def fold_actor(name: str) -> str:
    """The form in which names are compared: folded, with single spaces, without invisible marks."""
    if not (name.isascii() and name.isprintable()):
        name = "".join(filter(_is_visible, unicodedata.normalize("NFKC", name)))
    return " ".join(unicodedata.normalize("NFKC", name.casefold()).split())


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


def require_unreserved(actor: str) -> None:
    """Refuse an actor of mdmem's own. Raises WorkspaceProblem: `reserved-actor`."""
    if fold_actor(actor) in RESERVED_ACTORS:
        names = f"{', '.join(RESERVED_ACTORS[:-1])} and {RESERVED_ACTORS[-1]}"
        raise WorkspaceProblem(
            "reserved-actor", f"{actor!r} is reserved for mdmem", f"Use a name other than {names}."
        )
