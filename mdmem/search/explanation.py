"""Explanations in whole words in place of stems. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from mdmem.model.searches import Explanation, ScorePart
from mdmem.model.trail import Entry
from mdmem.search.terms import indexed_words, stem
from mdmem.startup import late

_WORD = late.pattern(r"[0-9]{4}-[0-9]{2}-[0-9]{2}|\w+")


def explain_in_words(explanation: Explanation, query: str, entry: Entry) -> Explanation:
    """An explanation for a person to read.

    Terms of the query become the words that were typed, terms of the index the words of the entry and its headings. The words of its
    neighbours are not at hand: for these the query's own word is kept, and the stem of a related one.
    """
    typed = _by_stem([query])
    in_entry = _by_stem([entry.text, *entry.section])

    def part_in_words(part: ScorePart) -> ScorePart:
        term_word = typed.get(part.query_word, part.query_word) if part.term == part.query_word else part.term
        return ScorePart(part.field, in_entry.get(part.term, term_word), typed.get(part.query_word, part.query_word), part.score)

    return Explanation(tuple(map(part_in_words, explanation.parts)), explanation.factors)


def _by_stem(texts: Iterable[str]) -> dict[str, str]:
    """The first word with each stem."""
    words_by_stem: dict[str, str] = {}
    for text in texts:
        for word in _WORD.findall(text):
            for indexed_word in indexed_words(word):
                words_by_stem.setdefault(stem(indexed_word), word)
    return words_by_stem
