"""Names of actors: how they are compared, and which mdmem keeps for its own work."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from mdmem.errors import WorkspaceProblem

RESERVED_ACTORS = ("digest", "dream", "sync", "web")
"""The actors of what mdmem does by itself; nobody else may be called so."""
BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800")
"""Characters that show nothing, though they count as letters, marks or symbols; variation selectors
are left out by their names.
"""


def fold_actor(name: str) -> str:
    """The form in which names are compared: case and compatible forms folded, single spaces,
    without what cannot be seen.
    """
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
    """Refuse the name of an actor of mdmem's own.

    Raises:
        WorkspaceProblem: `reserved-actor`.
    """
    if fold_actor(actor) in RESERVED_ACTORS:
        names = f"{', '.join(RESERVED_ACTORS[:-1])} and {RESERVED_ACTORS[-1]}"
        raise WorkspaceProblem(
            "reserved-actor", f"{actor!r} is reserved for mdmem", f"Use a name other than {names}."
        )
