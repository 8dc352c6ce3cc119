"""The attribute that a statement is about, such as `employer` or `favourite tea`: the key under which it may stand in curated memory.

Two statements with the same key are taken for two values of one attribute. So only what is so now has a key: no condition, wish or doubt,
nothing that is over, nobody else's words.
"""

from __future__ import annotations

from mdmem.extract.pasted import is_announced
from mdmem.extract.sentences import Sentence, sentences
from mdmem.extract.vocabulary import vocabulary

_LIKINGS = frozenset({"allergy", "diet"})
_FAVOURITE = "favourite "
_AROUND = " \t.,;!"


def attribute(sentence: Sentence, tools: bool = False) -> str | None:
    """The attribute of a statement; None where it names none.

    Args:
        sentence: as it stands.
        tools: the session is one with tools, in which one moves to another database rather than to another city.
    """
    stated = _stated(sentence, tools)
    return stated[0] if stated else None


def attribute_value(text: str, name: str) -> str | None:
    """The value that a text gives an attribute, in its own words: `Berlin` for `I live in Berlin.`; None where it gives it none."""
    for sentence in sentences(text):
        stated = _stated(sentence, False)
        if stated is not None and stated[0] == name:
            return stated[1].strip(_AROUND) or None
    return None


def _stated(sentence: Sentence, tools: bool) -> tuple[str, str] | None:
    """The attribute of a statement and its value."""
    words = vocabulary()
    if words.attribute_words.isdisjoint(sentence.pieces) or words.first_person.isdisjoint(sentence.folded) or sentence.is_question:
        return None
    text = sentence.outside_quotations
    for pattern, key in words.attributes:
        match = pattern.search(text, sentence.pieces)
        if match is None:
            continue
        if (tools and match.groupdict().get("moved")) or words.not_so.search(text) or words.reported.search(text, sentence.pieces):
            return None
        if words.not_so_before.search(text, 0, match.start()) or is_announced(text, match.start()):
            return None
        named = (match.groupdict().get("key") or "").casefold()
        return key.format(key=words.same_keys.get(named, named)), match["value"]
    return None


def attribute_kind(key: str) -> str:
    """The kind of a statement about an attribute."""
    return "preference" if key in _LIKINGS or key.startswith(_FAVOURITE) else "fact"


def attribute_named(name: str) -> str | None:
    """The attribute of a name, or of another name for it; None where the rules know none."""
    words, folded = vocabulary(), " ".join(name.split()).casefold()
    key = words.same_keys.get(folded, folded)
    if key in words.keys or (key.startswith(_FAVOURITE) and len(key) > len(_FAVOURITE)):
        return key
    return None
