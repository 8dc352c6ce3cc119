"""The attribute that a statement is about, such as `employer` or `favourite tea`: the key under which it may stand in curated memory."""

from __future__ import annotations

from mdmem.extract.sentences import Sentence
from mdmem.extract.vocabulary import vocabulary


def attribute(sentence: Sentence) -> str | None:
    """The attribute of a statement; None where it names none."""
    if vocabulary().first_person.isdisjoint(sentence.folded):
        return None
    for pattern, key in vocabulary().attributes:
        if match := pattern.search(sentence.straight):
            named = match.groupdict().get("key")
            return key.format(key=named.casefold()) if named else key
    return None
