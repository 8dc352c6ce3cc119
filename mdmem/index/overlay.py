"""Entries not in the index yet, scored as it will score them, so that saves are found. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from typing import Any

import tantivy

from mdmem.index import indexed, query, ranking
from mdmem.index.query import Clause
from mdmem.index.schema import LANGUAGE, LENGTHS, IndexRow, call_engine, parse_row
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.text.terms import ENGLISH

_EXACT = 40
"""Shorter lengths are stored exactly."""
_UNSCALED, _SIGNIFICANT_BITS = 24, 4
"""The engine's encoding of lengths: longer ones, less the first, keep so many bits."""


@dataclass(frozen=True, slots=True)
class OverlayEntry:
    terms: Mapping[str, Sequence[str]]
    numbers: Mapping[str, Any]
    row: IndexRow

    @classmethod
    def of(cls, values: Mapping[str, Any], fields: Iterable[str], row: IndexRow) -> OverlayEntry:
        terms = {name: values[name].split() for name in fields if name in values}
        return cls(terms, values, replace(row, language=values.get(LANGUAGE, ENGLISH)))


class Overlay:
    def __init__(
        self,
        entries: Sequence[OverlayEntry],
        paths: Sequence[str],
        hidden: frozenset[tuple[int, int]],
    ) -> None:
        self.entries = entries
        self.paths = paths
        self.hidden = hidden
        self._counts: dict[str, Counter[str]] = {}

    def count(self, field: str, term: str) -> int:
        return self._having(field)[term]

    def tokens(self, field: str) -> int:
        return sum(len(entry.terms.get(field, ())) for entry in self.entries)

    def terms_with_prefix(self, field: str, prefix: str) -> list[str]:
        return [term for term in self._having(field) if term.startswith(prefix)]

    def _having(self, field: str) -> Counter[str]:
        counts = self._counts.get(field)
        if counts is None:
            counts = self._counts[field] = Counter(
                term for entry in self.entries for term in set(entry.terms.get(field, ()))
            )
        return counts

    def scores(
        self, clauses: Iterable[Clause], statistics: TermStatistics
    ) -> Iterator[tuple[float, OverlayEntry]]:
        """The entries that hold at least one of the terms, with their BM25 scores."""
        scores: dict[int, float] = {}
        for clause in clauses:
            name, term, *_ = clause
            if not self.count(name, term):
                continue
            worth, average = statistics.worth(clause), statistics.average(name)
            for number, entry in enumerate(self.entries):
                if times := entry.terms.get(name, ()).count(term):
                    length = kept_length(len(entry.terms[name]))
                    scores[number] = scores.get(number, 0.0) + worth * ranking.saturation(
                        times, length, average
                    )
        return ((score, self.entries[number]) for number, score in scores.items())


def kept_length(length: int) -> int:
    """The length of a field as the index stores it, in one byte."""
    if length < _EXACT:
        return length
    scaled = length - _UNSCALED
    lost = scaled.bit_length() - _SIGNIFICANT_BITS
    return (scaled >> lost << lost) + _UNSCALED


_COUNTS_KEPT = 4096
_TOTAL = late.pattern(r'"value": ([0-9.]+),\s+"description": "N, ')
_CLAUSE, _TIMES, _LENGTH, _VALUE = (
    '"description": "Boost x',
    '"description": "freq, ',
    '"description": "dl, ',
    '"value": ',
)
"""In the engine's explanation: the text before a clause's number, and after the needed values."""


Scorer = Callable[[tantivy.DocAddress], list[tuple[Clause, float]]]
"""Gives the clauses that a document matches, with their parts of its score."""


TermCount = Callable[[str, str], int]
"""Gives the number of entries with a term (second) in a field (first)."""


class TermStatistics:
    """Statistics of one state of the index with its overlay.

    The engine counts replaced documents until it merges their segment; scores by these are those of
    an index built from nothing.
    `documents`: number of entries; `count`: of those with a term (second) in a field (first). With
    a `pool` they are those of all its indexes.
    """

    def __init__(
        self,
        searcher: tantivy.Searcher,
        is_fresh: bool,
        overlay: Overlay | None,
        pool: PoolCounts | None = None,
    ) -> None:
        self._searcher = searcher
        self._is_fresh = is_fresh
        self._overlay = overlay
        self._pool = pool
        self._documents = searcher.num_docs + (
            len(overlay.entries) - len(overlay.hidden) if overlay else 0
        )
        counts_all = is_fresh and not (overlay and overlay.hidden)
        self.documents: int = pool.documents if pool else self._documents
        self.count: TermCount = (
            pool.count
            if pool
            else lru_cache(_COUNTS_KEPT)(partial(_count, searcher, counts_all, overlay))
        )

    def rarity(self, field: str, term: str) -> float:
        return ranking.rarity(self.documents, self.count(field, term))

    def worth(self, clause: Clause) -> float:
        """The score of a clause, but for the saturation by this index's average length."""
        name, term, weight, _ = clause
        return weight * self.rarity(name, term) * (self._length_factors[name] if self._pool else 1)

    def average(self, field: str) -> float:
        return self.tokens(field) / max(1, self._documents)

    @cached_property
    def _length_factors(self) -> dict[str, float]:
        """By field, the saturation of an entry of average length by the average in the pool."""
        assert self._pool
        factors = {}
        for name in LENGTHS:
            own = self.average(name) or 1
            in_all = self._pool.tokens(name) / max(1, self._pool.documents) or own
            factors[name] = ranking.saturation(1, own, in_all)
        return factors

    def tokens(self, field: str) -> float:
        return self._tokens[field] + (self._overlay.tokens(field) if self._overlay else 0)

    @cached_property
    def _tokens(self) -> dict[str, float]:
        visible = query.visible_query(
            tantivy.Query.all_query(), self._overlay.paths if self._overlay else ()
        )
        totals = call_engine(
            self._searcher.aggregate,
            visible,
            {name: {"sum": {"field": length}} for name, length in LENGTHS.items()},
        )
        return {name: total["value"] for name, total in totals.items()}

    @cached_property
    def _counted(self) -> float:
        if self._is_fresh:
            return self._searcher.num_docs
        # The engine counts what was deleted too, and says so only in an explanation.
        every = tantivy.Query.all_query()
        for _, address in call_engine(self._searcher.search, every, 1, count=False).hits:
            row = parse_row(call_engine(self._searcher.doc, address)["row"][0])
            asked = query.statement_term(indexed.statement_label(row.entry))
            return counted(self._searcher, asked, address)
        return self._searcher.num_docs

    def adjusted(self, clauses: Sequence[Clause]) -> list[Clause]:
        """The clauses with weights by which the engine takes each term for as rare as it is."""
        return [
            (name, term, self.worth(clause) / self._engine_rarity(name, term), query_word)
            for clause in clauses
            for name, term, _, query_word in [clause]
        ]

    def _engine_rarity(self, field: str, term: str) -> float:
        return ranking.rarity(self._counted, call_engine(self._searcher.doc_freq, field, term))

    def scorer(self, clauses: Sequence[Clause]) -> Scorer:
        """A scorer by these clauses, of which there is at least one."""
        numbered = query.any_term_query(
            [(name, term, number, word) for number, (name, term, _, word) in enumerate(clauses)]
        )
        worths = list(map(self.worth, clauses))
        averages = {name: self.average(name) for name in {name for name, *_ in clauses}}

        def parts(address: tantivy.DocAddress) -> list[tuple[Clause, float]]:
            account = call_engine(numbered.explain, self._searcher, address).to_json()
            return [
                (
                    clauses[number],
                    worths[number]
                    * ranking.saturation(times, length, averages[clauses[number][0]]),
                )
                for number, times, length in map(_parsed, account.split(_CLAUSE)[1:])
            ]

        return parts


class PoolCounts:
    def __init__(self, indexes: Sequence[TermStatistics]) -> None:
        self._indexes = indexes
        self.documents = sum(index.documents for index in indexes)
        self.count: TermCount = lru_cache(_COUNTS_KEPT)(self._count)
        self.tokens: Callable[[str], float] = lru_cache(self._tokens)

    def _count(self, field: str, term: str) -> int:
        return sum(index.count(field, term) for index in self._indexes)

    def _tokens(self, field: str) -> float:
        return sum(index.tokens(field) for index in self._indexes)


def counted(searcher: tantivy.Searcher, asked: tantivy.Query, address: tantivy.DocAddress) -> float:
    """The number of documents that the engine scores by, from its account of one that matches."""
    total = _TOTAL.search(call_engine(asked.explain, searcher, address).to_json())
    return float(total[1]) if total else searcher.num_docs


def _parsed(account: str) -> tuple[int, float, float]:
    number, _, rest = account.partition(" ")
    before_times, _, rest = rest.partition(_TIMES)
    return int(number), _last_value(before_times), _last_value(rest.partition(_LENGTH)[0])


def _last_value(account: str) -> float:
    return float(account[account.rindex(_VALUE) + len(_VALUE) :].partition(",")[0])


def _count(
    searcher: tantivy.Searcher, counts_all: bool, overlay: Overlay | None, field: str, term: str
) -> int:
    count = call_engine(searcher.doc_freq, field, term)
    if count and not counts_all:
        asked = query.visible_query(
            query.term_query((field, term, 1.0, term)), overlay.paths if overlay else ()
        )
        result: Any = call_engine(searcher.search, asked, 1)  # its stub does not know the count
        count = result.count
    return count + (overlay.count(field, term) if overlay else 0)
