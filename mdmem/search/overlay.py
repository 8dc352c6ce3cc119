"""Entries that are not in the index yet, scored as it will score them, so that a file just saved is found without indexing it. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mdmem.search import ranking
from mdmem.search.schema import IndexRow
from mdmem.startup.records import dataclass

if TYPE_CHECKING:
    from mdmem.search.query import Clause
    from mdmem.search.term_statistics import TermStatistics

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


class Overlay:
    """Entries of files as they are now, which take the place of what the index has of these files.

    - `paths`: the files; some of them may be gone.
    - `hidden`: their documents in the index, by segment and number.
    """

    def __init__(self, entries: Sequence[OverlayEntry], paths: Sequence[str], hidden: frozenset[tuple[int, int]]) -> None:
        self.entries = entries
        self.paths = paths
        self.hidden = hidden
        self._counts: dict[str, Counter[str]] = {}

    def count(self, field: str, term: str) -> int:
        """The number of entries with a term in a field."""
        return self._having(field)[term]

    def tokens(self, field: str) -> int:
        """The number of terms in a field of all entries."""
        return sum(len(entry.terms.get(field, ())) for entry in self.entries)

    def terms_with_prefix(self, field: str, prefix: str) -> list[str]:
        """The terms with a prefix in a field of the entries."""
        return [term for term in self._having(field) if term.startswith(prefix)]

    def _having(self, field: str) -> Counter[str]:
        counts = self._counts.get(field)
        if counts is None:
            counts = self._counts[field] = Counter(term for entry in self.entries for term in set(entry.terms.get(field, ())))
        return counts

    def scores(self, clauses: Iterable[Clause], statistics: TermStatistics) -> Iterator[tuple[float, OverlayEntry]]:
        """The entries that hold at least one of the terms, with their BM25 scores."""
        scores: dict[int, float] = {}
        for name, term, weight, _ in clauses:
            if not self.count(name, term):
                continue
            worth, average = weight * statistics.rarity(name, term), statistics.average(name)
            for number, entry in enumerate(self.entries):
                if times := entry.terms.get(name, ()).count(term):
                    length = kept_length(len(entry.terms[name]))
                    scores[number] = scores.get(number, 0.0) + worth * ranking.saturation(times, length, average)
        return ((score, self.entries[number]) for number, score in scores.items())


def kept_length(length: int) -> int:
    """The length of a field as the index stores it, in one byte."""
    if length < _EXACT:
        return length
    scaled = length - _UNSCALED
    lost = scaled.bit_length() - _SIGNIFICANT_BITS
    return (scaled >> lost << lost) + _UNSCALED
