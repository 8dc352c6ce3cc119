"""The apparent quality of an answer, without knowing the right one, as kept in the events of searches. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from mdmem.model.searches import Hit, Quality
from mdmem.search.english import BASE_FORMS
from mdmem.search.terms import indexed_words, query_terms, split_scripts, stem

_LOOKED_AT = 8
"""The hits whose words are looked at: each costs 20 µs, and nobody reads much further."""
_MOST_CHARS = 1000
"""The most characters that are looked at in the text of each."""
_START = 2
"""The letters that an English word shares with its stem, unless it is irregular."""
_DIGITS = 2


def answer_quality(query: str, hits: Sequence[Hit], today: date) -> Quality:
    """Measure the answer to a query.

    The spread is the distance of the median score from the first, as a share of the first: near 0 no hit stands out, near 1 the first one
    does. That the scores of a good answer are spread is the observation of NQC (Shtok et al., Predicting query performance by query-drift
    estimation, 2012). It divides the deviation of the scores by the score of the whole collection, which BM25 here does not give; a share
    of the first score is comparable between long and short queries too, and one stray hit at the end does not move a median.

    The newest entries, which no word has found, have no scores.

    Args:
        query: as it was typed.
        hits: the answer, best first.
        today: from which ages are counted.
    """
    terms = query_terms(query)
    query_terms_set = {*terms.words, *terms.grams}
    found = hits if query_terms_set else ()
    matched_parts = [_matched_part(hit, query_terms_set) for hit in found[:_LOOKED_AT]]
    scores = [hit.score for hit in found]
    return Quality(
        words=len(query_terms_set),
        hits=len(hits),
        first=round(scores[0], _DIGITS) if scores else None,
        last=round(scores[-1], _DIGITS) if scores else None,
        spread=round(1 - _median(scores) / scores[0], _DIGITS) if scores and scores[0] > 0 else None,
        text=matched_parts.count("text"),
        heading=matched_parts.count("heading"),
        beside=matched_parts.count("beside"),
        age=_median([_age(hit, today) for hit in hits]) if hits else None,
    )


def _matched_part(hit: Hit, terms: set[str]) -> str:
    """The part of a hit that holds a term: `text`, `heading` (headings or file name), or `beside` (its neighbours, or a related word)."""
    if _has(hit.text[:_MOST_CHARS], terms):
        return "text"
    name = hit.path.rpartition("/")[2].removesuffix(".md")
    return "heading" if _has(" ".join((*hit.section, name)), terms) else "beside"


def _has(text: str, terms: set[str]) -> bool:
    """True if a text holds one of these terms. Only words that may become one of them are stemmed, since that costs most."""
    scripts = split_scripts(text)
    if any(run[position : position + size] in terms for run in scripts.runs for position in range(len(run)) for size in (1, 2)):
        return True
    starts = {term[:_START] for term in terms}
    return any(
        stem(word) in terms for word in indexed_words(scripts.spaced) if word[:_START] in starts or word in BASE_FORMS or not word.isascii()
    )


def _age(hit: Hit, today: date) -> int:
    """The age of a hit in days, by the day of its log, else of its commit; uncommitted text is of today."""
    day = hit.day or (hit.since.date() if hit.since else today)
    return max(0, (today - day).days)


def _median(numbers: Sequence[float]) -> float:
    """The median. `statistics` has it too, but takes longer to load than a search to run."""
    ordered, half = sorted(numbers), len(numbers) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
