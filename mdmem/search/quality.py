"""How good an answer looks, without knowing what it should have been: what the events keep of each search. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from mdmem.model.searches import Hit, Quality
from mdmem.search.english import BASE_FORMS
from mdmem.search.terms import folded, query_terms, split_scripts, stem

_LOOKED_AT = 8
"""So many of the first hits are looked at for their words: each costs 20 µs, and nobody reads much further."""
_MOST_CHARS = 1000
"""Of the text of each."""
_START = 2
"""So many letters of an English word its stem has too, unless it is irregular."""
_DIGITS = 2


def answer_quality(query: str, hits: Sequence[Hit], today: date) -> Quality:
    """What can be told of the answer to a query.

    The spread is how far the median hit stays behind the first, as a share of the first: near 0 nothing stands out, near 1 the first hit
    does. That the scores of a good answer are spread is the observation of NQC (Shtok et al., Predicting query performance by query-drift
    estimation, 2012). It divides the deviation of the scores by the score of the whole collection, which BM25 here does not give; a share
    of the first score is comparable between long and short queries too, and one stray hit at the end does not move a median.

    Args:
        query: as it was typed.
        hits: the answer, best first.
        today: from which ages are counted.
    """
    terms = query_terms(query)
    wanted = {*terms.words, *terms.grams}
    places = [_place(hit, wanted) for hit in hits[:_LOOKED_AT]]
    scores = [hit.score for hit in hits]
    return Quality(
        words=len(wanted),
        hits=len(hits),
        first=round(scores[0], _DIGITS) if hits else None,
        last=round(scores[-1], _DIGITS) if hits else None,
        spread=round(1 - _median(scores) / scores[0], _DIGITS) if hits and scores[0] > 0 else None,
        text=places.count("text"),
        heading=places.count("heading"),
        beside=places.count("beside"),
        age=_median([_age(hit, today) for hit in hits]) if hits else None,
    )


def _place(hit: Hit, wanted: set[str]) -> str:
    """Where a hit has a word of the query: in its text, else in headings or file name; else only near it, or a word that is related."""
    if _has(hit.text[:_MOST_CHARS], wanted):
        return "text"
    name = hit.path.rpartition("/")[2].removesuffix(".md")
    return "heading" if _has(" ".join((*hit.section, name)), wanted) else "beside"


def _has(text: str, wanted: set[str]) -> bool:
    """Whether a text has one of these terms. Stemming costs most, so only what may become one of them is stemmed."""
    said = split_scripts(text)
    if any(run[at : at + size] in wanted for run in said.runs for at in range(len(run)) for size in (1, 2)):
        return True
    starts = {term[:_START] for term in wanted}
    return any(stem(word) in wanted for word in folded(said.spaced) if word[:_START] in starts or word in BASE_FORMS or not word.isascii())


def _age(hit: Hit, today: date) -> int:
    """In days, by the day of a log, else of the commit; what is not committed yet is of today."""
    day = hit.day or (hit.since.date() if hit.since else today)
    return max(0, (today - day).days)


def _median(numbers: Sequence[float]) -> float:
    """As `statistics.median`, which takes longer to load than a search to run."""
    ordered, half = sorted(numbers), len(numbers) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
