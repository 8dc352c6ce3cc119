"""Entries that the index does not hold yet, scored as it would score them: what a person has just saved is found without indexing it.

A score is the BM25 of tantivy (k1 = 1.2, b = 0.75, the length of a field kept in one byte), by the index's own statistics with these entries
counted in, as they are after an update. What they replace stays counted, as deleted documents do, but for those whose segment an update
leaves empty and so drops: of a file that is saved time and again. Pure.
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
"""Lengths below this one are kept as they are."""
_UNSCALED, _SIGNIFICANT_BITS = 24, 4
"""A greater length, less the first of these, keeps that many bits."""


@dataclass(frozen=True, slots=True)
class OverlayEntry:
    """An entry as the index will hold it: the terms of its fields, in their order, its numbers, its row."""

    terms: Mapping[str, Sequence[str]]
    numbers: Mapping[str, Any]
    row: IndexRow

    @classmethod
    def of(cls, values: Mapping[str, Any], fields: Iterable[str], row: IndexRow) -> OverlayEntry:
        """The entry whose document has these values."""
        return cls({name: values[name].split() for name in fields if name in values}, values, row)


@dataclass(frozen=True, slots=True)
class FieldStatistics:
    """What BM25 knows of a field: the number of documents in the index, and of the terms in that field of all of them."""

    documents: float
    tokens: float


class Overlay:
    """Entries, and the statistics by which they are scored.

    - `hidden`: the documents of the index that are not to be found, by segment and number.
    - `dropped`: those of them that an update drops.
    - `statistics`: of a field of the index, one of whose terms is given, if any is known.
    - `holding`: how many documents of the index have a term in a field.
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
        self._told: dict[str, FieldStatistics] = {}
        self._holding = holding
        self._counts: dict[str, Counter[str]] = {}

    def count(self, field: str, term: str) -> int:
        """How many more documents will have a term in a field than have it in the index."""
        return self._having(field)[term]

    def terms_with_prefix(self, field: str, start: str) -> list[str]:
        """The terms of the entries in a field that begin so."""
        return [term for term in self._having(field) if term.startswith(start)]

    def _having(self, field: str) -> Counter[str]:
        found = self._counts.get(field)
        if found is None:
            found = self._counts[field] = Counter(term for one in self.entries for term in set(one.terms.get(field, ())))
            for term, count in Counter(term for one in self._dropped for term in set(one.terms.get(field, ()))).items():
                found[term] -= count
        return found

    def adjusted_clauses(self, looked_for: Iterable[Clause]) -> list[Clause]:
        """The clauses with weights by which the index gives the scores that it will give when the entries are in it."""
        clauses = list(looked_for)
        self._learn(clauses)
        return [(name, term, weight * self._growth(name, term), said) for name, term, weight, said in clauses]

    def _learn(self, looked_for: Sequence[Clause]) -> None:
        """Ask for the statistics of the fields, by the rarest term of each: that is found soonest."""
        for field in {name for name, *_ in looked_for} - self._told.keys():
            known = {term: self._holding(field, term) for name, term, *_ in looked_for if name == field}
            self._told[field] = self._ask(field, min((term for term, count in known.items() if count), key=known.__getitem__, default=None))

    def _growth(self, field: str, term: str) -> float:
        total, holding = self._told[field].documents, self._holding(field, term)
        return _idf(total + self._more, holding + self.count(field, term)) / _idf(total, holding)

    def scores(self, looked_for: Iterable[Clause]) -> list[tuple[float, OverlayEntry]]:
        """The entries that hold one of the terms, with what that is worth."""
        found: dict[int, float] = {}
        averages: dict[str, tuple[float, float]] = {}
        clauses = list(looked_for)
        self._learn(clauses)
        for name, term, weight, _ in clauses:
            having = [(number, times) for number, one in enumerate(self.entries) if (times := one.terms.get(name, ()).count(term))]
            if having:
                if name not in averages:
                    averages[name] = self._average(name)
                total, average = averages[name]
                idf = _idf(total, self._holding(name, term) + self.count(name, term))
                for number, times in having:
                    one = self.entries[number]
                    norm = _K1 * (1 - _B + _B * kept_length(len(one.terms[name])) / average)
                    found[number] = found.get(number, 0.0) + weight * idf * (_K1 + 1) * times / (times + norm)
        return [(score, self.entries[number]) for number, score in found.items()]

    def _average(self, field: str) -> tuple[float, float]:
        """The number of documents, and of the terms that each has in a field, as they will be."""
        known = self._told[field]
        total = known.documents + self._more
        more = sum(len(one.terms.get(field, ())) for one in self.entries) - sum(len(one.terms.get(field, ())) for one in self._dropped)
        return total, (known.tokens + more) / total


def _idf(total: float, holding: float) -> float:
    return math.log(1 + (total - holding + 0.5) / (holding + 0.5))


def kept_length(length: int) -> int:
    """The length of a field as the index keeps it."""
    if length < _EXACT:
        return length
    scaled = length - _UNSCALED
    lost = scaled.bit_length() - _SIGNIFICANT_BITS
    return (scaled >> lost << lost) + _UNSCALED
