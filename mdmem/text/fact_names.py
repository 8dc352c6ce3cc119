"""Names of facts: a text, a key, an id or the beginning of one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from mdmem.model import PATH_SEPARATOR, FactId
from mdmem.model.errors import FactProblem, TextProblem
from mdmem.startup import late
from mdmem.text.facts import (
    Item,
    bare_words,
    fact_id,
    head_fact,
    holds_key,
    item_text,
    normalise,
    own_fact,
    parse_item,
    parse_text,
    write_item,
)

_QUOTED = 80
_MARKED = late.pattern(r"[\[*_`]|==|%%|<!--")
_ID_PREFIX = late.pattern("[0-9a-f]{6,8}")
_ENDINGS = ("", ".", "!", "?", "…", "...", ",", ";", ":", "。", "！", "？", "．", "،", "؟", "।")
"""Final punctuation that a name need not have."""
_PUNCTUATION = "".join(_ENDINGS)


def items_matching(facts: Iterable[Item], name: str, keys: bool = False) -> tuple[Item, ...]:
    """The items that a name means.

    By exact text (normalised; kind, tags, expiry, marker and lines beneath are optional), else
    without final punctuation or by the words as read, else (`keys`) by key, else by id or prefix.

    Raises FactProblem: `fact-ambiguous`: for several ids, or as different sorts of names.
    """
    candidates = tuple(facts)
    words = name.strip()
    by_text = _with_text(candidates, name)
    by_key = tuple(item for item in candidates if keys and words and holds_key(item.fact, words))
    prefix = id_prefix(words)
    by_id = tuple(item for item in candidates if prefix and item.fact.id.startswith(prefix))
    sorts = {"the text": by_text, "the key": by_key, "the beginning of the id": by_id}
    fitting = {
        sort: {item.fact.id for item in matches} for sort, matches in sorts.items() if matches
    }
    require_one_sort(words, fitting)
    require_unique_id(prefix, {item.fact.id for item in by_id})
    return by_text or by_key or by_id


def nested_matching(found: Iterable[tuple[Item, str]], name: str) -> tuple[Item, ...]:
    """The nested items that a name means: as a search shows them, by their own words, key or id.

    The words of the outermost item may come in front of their own. Raises as `items_matching`.
    """
    pairs, shown = tuple(found), bare_words(name)
    above, _, own = shown.rpartition(PATH_SEPARATOR)
    with_words = tuple(item for item, text in pairs if bare_words(text) == shown)
    if with_words:
        return with_words
    if own and above:
        head = above + PATH_SEPARATOR
        below = [item for item, text in pairs if bare_words(text).startswith(head)]
        if named := items_matching(below, name.rpartition(PATH_SEPARATOR)[2], keys=True):
            return named
    prefix = id_prefix(name)
    return items_matching([item for item, _ in pairs], name, keys=True) or tuple(
        item for item, _ in pairs if prefix and own_fact(item).id.startswith(prefix)
    )


def _with_text(candidates: Sequence[Item], name: str) -> tuple[Item, ...]:
    ids, folded = {*exact_ids(name)}, normalise(name)
    exact = tuple(
        item
        for item in candidates
        if item.fact.id in ids or normalise(item_text(item.raw)) == folded
    )
    exact = exact or _with_head(candidates, ids)
    if exact:
        return exact
    similar = {*similar_ids(name)}
    words = bare_words(name)
    return (
        tuple(item for item in candidates if item.fact.id in similar)
        or _with_head(candidates, similar)
        or tuple(
            item
            for item in candidates
            if _MARKED.search(item.raw) and bare_words(item.fact.text) == words
        )
    )


def _with_head(candidates: Sequence[Item], ids: Collection[FactId]) -> tuple[Item, ...]:
    return tuple(item for item in candidates if (head := head_fact(item)) and head.id in ids)


def exact_ids(name: str) -> tuple[FactId, ...]:
    """The ids of a text as written in a file, and as it is remembered."""
    words = name.strip()
    in_file = parse_text(words).id, parse_item(words).id
    try:
        return (*in_file, parse_item(write_item(words)).id)
    except TextProblem:  # nobody could have remembered it
        return in_file


def similar_ids(name: str) -> tuple[FactId, ...]:
    """The ids of the facts that differ from a text in their final punctuation."""
    words = parse_item(name.strip()).text.rstrip()
    stem = words.rstrip(_PUNCTUATION).rstrip()
    if not stem:
        return ()
    return tuple(fact for ending in _ENDINGS if (fact := fact_id(stem + ending)) != fact_id(words))


def require_one_sort(name: str, fitting: Mapping[str, Collection[FactId]]) -> None:
    """Refuse different facts as different sorts of name; raises FactProblem (`fact-ambiguous`)."""
    facts = sorted({fact for ids in fitting.values() for fact in ids})
    if len(fitting) > 1 and any(set(ids) != set(facts) for ids in fitting.values()):
        readings = " and ".join(
            f"{sort} of {', '.join(sorted(ids))}" for sort, ids in fitting.items()
        )
        raise FactProblem(
            "fact-ambiguous", f"{name[:_QUOTED]!r} is {readings}", "Give the id.", facts=facts
        )


def names_any(name: str, facts: Collection[FactId]) -> bool:
    prefix = id_prefix(name)
    ids = {*exact_ids(name), *similar_ids(name)}
    return not ids.isdisjoint(facts) or any(prefix and each.startswith(prefix) for each in facts)


def id_prefix(word: str) -> str:
    """A word that has the form of an id or of its beginning, folded; empty for any other word."""
    prefix = word.strip().casefold()
    return prefix if _ID_PREFIX.fullmatch(prefix) else ""


def require_unique_id(prefix: str, ids: Collection[FactId]) -> None:
    """Refuse a prefix of several ids; raises FactProblem `fact-ambiguous`."""
    if len(ids) > 1:
        listed = sorted(ids)
        raise FactProblem(
            "fact-ambiguous",
            f"{prefix} matches several facts: {', '.join(listed)}",
            "Give more digits of the id.",
            facts=listed,
        )
