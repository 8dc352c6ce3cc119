"""Names of facts: a text, an id or the beginning of one."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from mdmem.errors import FactProblem
from mdmem.facts import Item, head_fact, item_text, normalise, parse_item, parse_text, write_item
from mdmem.model import FactId
from mdmem.startup import late

_ID_PREFIX = late.pattern("[0-9a-f]{6,8}")
"""The beginning of an id, or the whole one."""


def items_matching(facts: Iterable[Item], name: str) -> tuple[Item, ...]:
    """The items that a name means: by exact text (normalised, with or without kind, tags, expiry, marker and lines beneath), else by id or its prefix.

    Raises:
        FactProblem: `fact-ambiguous` where a prefix fits several ids, `ambiguous` where a text and an id fit.
    """
    candidates = tuple(facts)
    words = name.strip()
    ids = {parse_text(words).id, parse_item(words).id, *([parse_item(write_item(words)).id] if words else [])}
    by_text = tuple(item for item in candidates if item.fact.id in ids or normalise(item_text(item.raw)) == normalise(name))
    by_text = by_text or tuple(item for item in candidates if (head := head_fact(item.raw)) and head.id in ids)
    prefix = id_prefix(words)
    by_id = tuple(item for item in candidates if prefix and item.fact.id.startswith(prefix))
    if by_text and (others := [item.fact.id for item in by_id if item not in by_text]):
        message = f"{words} is the text of a fact and the beginning of the id of another, {others[0]}"
        raise FactProblem("ambiguous", message, "Give the whole id of the one that is meant.", facts=[by_text[0].fact.id, *others])
    if by_text:
        return by_text
    require_unique_id(prefix, {item.fact.id for item in by_id})
    return by_id


def names_any(name: str, facts: Collection[FactId]) -> bool:
    """True if a name, text or id, means one of some facts."""
    prefix = id_prefix(name)
    return not {parse_text(name).id, parse_item(name).id}.isdisjoint(facts) or any(prefix and each.startswith(prefix) for each in facts)


def id_prefix(word: str) -> str:
    """A word that has the form of an id or of its beginning, folded; empty for any other word."""
    prefix = word.strip().casefold()
    return prefix if _ID_PREFIX.fullmatch(prefix) else ""


def require_unique_id(prefix: str, ids: Collection[FactId]) -> None:
    """Refuse a prefix that several ids have.

    Raises:
        FactProblem: `fact-ambiguous`.
    """
    if len(ids) > 1:
        listed = sorted(ids)
        raise FactProblem(
            "fact-ambiguous", f"{prefix} fits several facts: {', '.join(listed)}", "Give more digits of the id.", facts=listed
        )
