"""An explanation in the words that were typed and that were found, in place of their stems. Pure; loaded only where it is asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable

from mdmem.model.searches import Explanation, ScorePart
from mdmem.model.trail import Entry
from mdmem.search.terms import folded, stem

_WORD = re.compile(r"\w+")


def explain_in_words(why: Explanation, query: str, entry: Entry) -> Explanation:
    """The same for a person.

    The query's terms become the words as they were typed, the terms of the index those of the entry and its headings. What stands only
    beside the entry is not known by its words: there the query's own word is kept, of a related one the stem.
    """
    typed = _by_stem([query])
    standing = _by_stem([entry.text, *entry.section])

    def told(part: ScorePart) -> ScorePart:
        same = typed.get(part.query_word, part.query_word) if part.term == part.query_word else part.term
        return ScorePart(part.field, standing.get(part.term, same), typed.get(part.query_word, part.query_word), part.score)

    return Explanation(tuple(map(told, why.parts)), why.factors)


def _by_stem(texts: Iterable[str]) -> dict[str, str]:
    """The first word of each stem."""
    found: dict[str, str] = {}
    for text in texts:
        for word in _WORD.findall(text):
            for one in folded(word):
                found.setdefault(stem(one), word)
    return found
