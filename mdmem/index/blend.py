"""Word scores and likeness to one score. Pure.

What is likely is known by words alone; likeness moves what words found, and adds at most three
entries that no word found. Numbers are chosen with two models (multilingual-e5-small and
all-MiniLM-L6-v2, both of 384 dimensions) on half of the questions of `benchmarks/README.md`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from mdmem.startup.records import dataclass
from mdmem.text.terms import split_scripts

WEIGHT = 0.3
"""The share of likeness in a score. With 0.2 a FAQ gains a third to a half of it, with 0.4
conversations lose up to 1.1 of MRR.
"""
CLOSE_SCORES = 0.9
"""A second score above this share of the first leaves doubt."""
LIKE_RANKS = (4, 7, 10)
"""The first places that entries without a word of the question may take. Few do, so one or two in
place of three measure the same.
"""
FIRST_RANKS = (1, 2, 3)
"""The same where words carry nothing."""
_QUOTES = ('"', "'", "“", "„", "«", "`")


@dataclass(frozen=True, slots=True)
class Likeness:
    """The likeness of entries to a question, by the keys of their passages.

    - `low`, `high`: what one in six, and one in a thousand entries have by chance.
    - `least`: what no entry is likely to have by chance.
    - `of_candidates`: those that have a vector. `nearest`: others above `least`, the best first.
    """

    low: float
    high: float
    least: float
    of_candidates: Mapping[int, float]
    nearest: Sequence[tuple[int, float]] = ()

    def shares(self, keys: Sequence[int]) -> list[float]:
        """Each candidate's likeness from 0 to 1; one without a vector has the median."""
        known = sorted(self.of_candidates[key] for key in keys if key in self.of_candidates)
        if not known:
            return [0.0] * len(keys)
        median = known[len(known) // 2]
        return self._as_shares([self.of_candidates.get(key, median) for key in keys])

    def share(self, likeness: float) -> float:
        """A likeness as a share of the way from `low` to the best, or to `high`."""
        return self._as_shares([likeness])[0]

    def _as_shares(self, values: Sequence[float]) -> list[float]:
        best_other = (value for _, value in self.nearest[:1])
        top = max([self.high, *self.of_candidates.values(), *best_other])
        if top <= self.low:
            return [0.0] * len(values)
        return [min(1.0, max(0.0, (value - self.low) / (top - self.low))) for value in values]


class Meaning(Protocol):
    """The likeness of entries to one question, asked for once."""

    @property
    def is_always_asked(self) -> bool:
        """False if it is asked only where words leave doubt."""
        ...

    def likeness(self, keys: Sequence[int]) -> Likeness | None:
        """The likeness of candidates, and the nearest others; None: words have to do."""
        ...


def may_be_asked(question: str) -> bool:
    """False for one word, a path or an identifier, and a quoted text."""
    text = question.strip()
    return not text.startswith(_QUOTES) and (
        len(text.split()) > 1 or bool(split_scripts(text).runs)
    )


def blended(matched: Sequence[float], shares: Sequence[float]) -> list[float]:
    """BM25 scores with a share of likeness in them; the best of both has the best score."""
    best = max(matched, default=0.0)
    return [
        (1 - WEIGHT) * score + WEIGHT * best * share
        for score, share in zip(matched, shares, strict=True)
    ]


def places(
    shares: Sequence[float], like: Sequence[float], ranks: Sequence[int]
) -> list[tuple[int, int]]:
    """The places (from 0) that entries no word found take, each with its number, in order.

    `shares`: of the entries that words found. `like`: of the others, best first. `ranks`: the first
    place of each, from 1.
    """
    taken: list[tuple[int, int]] = []
    for number, (share, rank) in enumerate(zip(like, ranks, strict=False)):
        pushed = min(rank - 1 - len(taken), len(shares))
        if pushed == len(shares) or share > shares[pushed]:
            taken.append((pushed + len(taken), number))
    return taken
