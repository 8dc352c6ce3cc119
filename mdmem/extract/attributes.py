"""The attribute that a statement is about, such as `employer` or `favourite tea`: the key under which it may stand in curated memory.

Two statements with the same key are taken for two values of one attribute. So only what is so now has a key: no condition, wish or doubt,
nothing that is over, nobody else's words.
"""

from __future__ import annotations

from mdmem.extract.plain import is_announced
from mdmem.extract.sentences import Sentence, sentences
from mdmem.extract.vocabulary import vocabulary
from mdmem.startup.records import dataclass

_LIKINGS = frozenset({"allergy", "diet"})
_FAVOURITE = "favourite "
_AROUND = " \t.,;!"


@dataclass(frozen=True, slots=True)
class StatedAttribute:
    """The attribute that a statement is about, its value, and where the statement begins."""

    key: str
    value: str
    start: int


def stated_attribute(sentence: Sentence, tools: bool = False) -> StatedAttribute | None:
    """The attribute that a statement is about; None where it names none.

    Args:
        sentence: as it stands.
        tools: the session is one with tools, in which one moves to another database rather than to another city.
    """
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
        name = key.format(key=words.same_keys.get(named, named))
        return StatedAttribute(name, match["value"], match.start())
    return None


def attribute_value(text: str, name: str) -> str | None:
    """The value that a text gives an attribute, in its own words: `Berlin` for `I live in Berlin.`"""
    for sentence in sentences(text):
        stated = stated_attribute(sentence)
        if stated is not None and stated.key == name:
            return stated.value.strip(_AROUND) or None
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
