"""Entries that are not in the index yet, scored as it will score them, so that a file just saved is found without indexing it.

A score is the BM25 of tantivy (k1 = 1.2, b = 0.75, the length of a field kept in one byte), by the index's own statistics with these entries
counted in, as after an update. Documents that they replace stay counted, as deleted documents do, except in segments that an update leaves
empty and drops (a file that is saved again and again). Pure.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from mdmem.search.query import Clause
from mdmem.search.schema import IndexRow
from mdmem.startup.records import dataclass

_K1, _B = 1.2, 0.75
_EXACT = 40
"""Shorter lengths are stored exactly."""
_UNSCALED, _SIGNIFICANT_BITS = 24, 4
"""A greater length, less the first number, keeps as many bits as the second says."""


@dataclass(frozen=True, slots=True)
class OverlayEntry:
    """An entry as the index will hold it: the terms of its fields in order, its numbers, its row."""

    terms: Mapping[str, Sequence[str]]
    numbers: Mapping[str, Any]
    row: IndexRow

    @classmethod
    def of(cls, values: Mapping[str, Any], fields: Iterable[str], row: IndexRow) -> OverlayEntry:
        """The entry of a document with these field values."""
        return cls({name: values[name].split() for name in fields if name in values}, values, row)


@dataclass(frozen=True, slots=True)
class FieldStatistics:
    """BM25 statistics of a field: the number of documents in the index, and of terms in that field over all of them."""

    documents: float
    tokens: float


class Overlay:
    """Entries, and the statistics by which they are scored.

    - `hidden`: documents of the index to leave out, by segment and number.
    - `dropped`: those of them in segments that an update drops.
    - `statistics`: the statistics of a field, given one of its terms if any is known.
    - `holding`: the number of documents in the index with a term in a field.
    """

    def __init__(
        self,
        entries: Sequence[OverlayEntry],
        hidden: frozenset[tuple[int, int]],
        dropped: Sequence[OverlayEntry],
        statistics: Callable[[str, str | None], FieldStatistics],
        holding: Callable[[str, str], int],
    ) -> None:
        self.entries = entries
        self.hidden = hidden
        self._dropped = dropped
        self._more = len(entries) - len(dropped)
        self._ask = statistics
        self._statistics: dict[str, FieldStatistics] = {}
        self._holding = holding
        self._counts: dict[str, Counter[str]] = {}

    def count(self, field: str, term: str) -> int:
        """The number of documents with a term in a field that are added to those of the index."""
        return self._having(field)[term]

    def terms_with_prefix(self, field: str, prefix: str) -> list[str]:
        """The terms with a prefix in a field of the entries."""
        return [term for term in self._having(field) if term.startswith(prefix)]

    def _having(self, field: str) -> Counter[str]:
        counts = self._counts.get(field)
        if counts is None:
            counts = self._counts[field] = Counter(term for entry in self.entries for term in set(entry.terms.get(field, ())))
            for term, count in Counter(term for entry in self._dropped for term in set(entry.terms.get(field, ()))).items():
                counts[term] -= count
        return counts

    def adjusted_clauses(self, clauses: Iterable[Clause]) -> list[Clause]:
        """The clauses with weights adjusted so that the index scores as it will with the entries in it."""
        clause_list = list(clauses)
        self._learn(clause_list)
        return [(name, term, weight * self._growth(name, term), query_word) for name, term, weight, query_word in clause_list]

    def _learn(self, clauses: Sequence[Clause]) -> None:
        """Get the statistics of each field by its rarest term, which is found soonest."""
        for field in {name for name, *_ in clauses} - self._statistics.keys():
            counts = {term: self._holding(field, term) for name, term, *_ in clauses if name == field}
            self._statistics[field] = self._ask(
                field, min((term for term, count in counts.items() if count), key=counts.__getitem__, default=None)
            )

    def _growth(self, field: str, term: str) -> float:
        total, holding = self._statistics[field].documents, self._holding(field, term)
        return _idf(total + self._more, holding + self.count(field, term)) / _idf(total, holding)

    def scores(self, clauses: Iterable[Clause]) -> list[tuple[float, OverlayEntry]]:
        """The entries that hold at least one of the terms, with their BM25 scores."""
        scores: dict[int, float] = {}
        averages: dict[str, tuple[float, float]] = {}
        clause_list = list(clauses)
        self._learn(clause_list)
        for name, term, weight, _ in clause_list:
            occurrences = [(number, times) for number, entry in enumerate(self.entries) if (times := entry.terms.get(name, ()).count(term))]
            if occurrences:
                if name not in averages:
                    averages[name] = self._average(name)
                total, average = averages[name]
                idf = _idf(total, self._holding(name, term) + self.count(name, term))
                for number, times in occurrences:
                    entry = self.entries[number]
                    norm = _K1 * (1 - _B + _B * kept_length(len(entry.terms[name])) / average)
                    scores[number] = scores.get(number, 0.0) + weight * idf * (_K1 + 1) * times / (times + norm)
        return [(score, self.entries[number]) for number, score in scores.items()]

    def _average(self, field: str) -> tuple[float, float]:
        """The number of documents and the average length of a field, after an update."""
        statistics = self._statistics[field]
        total = statistics.documents + self._more
        added = sum(len(entry.terms.get(field, ())) for entry in self.entries) - sum(
            len(entry.terms.get(field, ())) for entry in self._dropped
        )
        return total, (statistics.tokens + added) / total


def _idf(total: float, holding: float) -> float:
    return math.log(1 + (total - holding + 0.5) / (holding + 0.5))


def kept_length(length: int) -> int:
    """The length of a field as the index stores it, in one byte."""
    if length < _EXACT:
        return length
    scaled = length - _UNSCALED
    lost = scaled.bit_length() - _SIGNIFICANT_BITS
    return (scaled >> lost << lost) + _UNSCALED
