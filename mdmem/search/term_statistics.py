"""Statistics of the terms of an index, from the engine's own account: an overlay needs them to score its entries as the engine would."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache, partial
from itertools import chain
from typing import Any

import tantivy

from mdmem.search import query
from mdmem.search.engine import call_engine
from mdmem.search.overlay import FieldStatistics

_COUNTS_KEPT = 4096
_TERMS_TRIED = 50
"""The terms of a field tried until one is in a document that has not been deleted."""


class TermStatistics:
    """The BM25 statistics of one state of the index, cached."""

    def __init__(self, searcher: tantivy.Searcher) -> None:
        self._searcher = searcher
        self._fields: dict[str, FieldStatistics] = {}
        self.count = lru_cache(_COUNTS_KEPT)(partial(_count, searcher))
        """The number of documents that have a term (second) in a field (first)."""

    def of_field(self, field: str, held_term: str | None) -> FieldStatistics:
        """The statistics of a field; `held_term` is a term that it holds, None if the caller knows none.

        They are taken from the engine's own account of the score of a document with that term.
        """
        if field in self._fields:
            return self._fields[field]
        for term in chain([held_term] if held_term else (), _some_terms(self._searcher, field)):
            asked = query.term_query((field, term, 1.0, term))
            for _, address in call_engine(self._searcher.search, asked, 1, count=False).hits:
                values = dict(_values(json.loads(call_engine(asked.explain, self._searcher, address).to_json())))
                self._fields[field] = FieldStatistics(values["N"], values["N"] * values["avgdl"])
                return self._fields[field]
        return FieldStatistics(self._searcher.num_docs, 0.0)


def _some_terms(searcher: tantivy.Searcher, field: str) -> Iterator[str]:
    yield from (term for term, _ in call_engine(searcher.terms_with_prefix, field, "", limit=_TERMS_TRIED))


def _count(searcher: tantivy.Searcher, field: str, term: str) -> int:
    return call_engine(searcher.doc_freq, field, term)


def _values(part: Any) -> Iterator[tuple[str, float]]:
    """The values that an account of a score names."""
    yield part["description"].partition(",")[0], part["value"]
    for detail in part.get("details", ()):
        yield from _values(detail)
