"""What one state of the index holds, to be searched, and what lies over it: the best entries for a question, and all that pass a filter."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import date
from functools import lru_cache, partial
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, ParamSpec, TypeVar

import tantivy

from mdmem.errors import StorageProblem
from mdmem.model import FilePath
from mdmem.model.searches import Explanation, Hit, ScorePart
from mdmem.search import cues, query, ranking, results, schema
from mdmem.search.cues import QuestionCues
from mdmem.search.overlay import FieldStatistics, Overlay, OverlayEntry
from mdmem.search.query import Clause, Filter, IndexQuery, Lexicon
from mdmem.search.ranking import Candidates, Decay
from mdmem.search.results import Match
from mdmem.search.schema import IndexRow
from mdmem.startup.records import dataclass
from mdmem.wording import verb

Address = tantivy.DocAddress
Scored = tuple[float, Any]
P = ParamSpec("P")
T = TypeVar("T")

_MANY_OF_FILE = 2000
_COUNTS_KEPT = 4096
_TERMS_TRIED = 50
"""Of a field, until one is found that is in a document which has not been deleted."""
_MOST_INFLECTED = 5
"""So many words that begin like an unknown one are looked at, by the alphabet."""


class BrokenIndex(StorageProblem):
    """The index cannot be read. Nothing is lost by deleting it; an update of `Index.anew` builds it again."""


@dataclass(frozen=True, slots=True)
class _RankedCandidates:
    """The candidates of one search, with their scores."""

    candidates: Candidates
    documents: Sequence[Address | OverlayEntry]
    asked: QuestionCues
    decay: Decay | None
    scores: Sequence[float]

    def in_order(self) -> Iterator[tuple[float, int, int]]:
        """Score, day and number of each: the better score first, then the newer day."""
        scores, days = self.scores, self.candidates.days
        best = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)
        for score, alike in groupby(best, lambda number: round(scores[number], ranking.SCORE_DIGITS)):
            yield from ((score, days[number], number) for number in sorted(alike, key=days.__getitem__, reverse=True))


class IndexSearcher:
    """Searches what the index held when it was opened or last updated."""

    def __init__(self, searcher: tantivy.Searcher, language: str, overlay: Overlay | None = None) -> None:
        self._searcher = searcher
        self._language = language
        self._overlay = overlay
        self._rows: dict[tuple[int, int], IndexRow] = {}
        """The rows of a few files that were asked for: of those that an overlay hides some are needed twice."""
        self._lexicon = _lexicon(searcher, overlay)

    @property
    def count(self) -> int:
        """The number of entries that are current, or have expired."""
        found: Any = call_engine(self._searcher.search, query.filter_query(Filter(), date.max), 1)  # its stub does not know the count
        return int(found.count)

    def rows(self, path: str) -> list[IndexRow] | None:
        """What the index has of a file, in order: what stands in it, and what HEAD holds and an uncommitted edit took out.

        None where that is much.

        Raises:
            BrokenIndex: the index turns out to be damaged.
        """
        addresses = self._of_file(path)
        if len(addresses) >= _MANY_OF_FILE:
            return None
        rows = {_key(address): self._row(address) for address in addresses}
        if len(self._rows) > _MANY_OF_FILE:
            self._rows.clear()
        self._rows.update(rows)
        return sorted(rows.values(), key=lambda row: row.entry.start_line)

    def _of_file(self, path: str) -> list[Address]:
        return [address for _, address in self._found(query.file_query(path), _MANY_OF_FILE)]

    def with_overlay(
        self, paths: Collection[str], now: Iterable[tuple[FilePath, Sequence[IndexRow]]], sizes: Sequence[int]
    ) -> IndexSearcher:
        """A searcher of the same index that finds files as they are now; this one stays as it is.

        Args:
            paths: of the files that are unlike what the index has of them, or have gone.
            now: those that are there, with what stands in them.
            sizes: the number of documents in each segment, deleted ones apart; they count for nothing where another process has changed
                them since, or where there are none.

        Raises:
            BrokenIndex: the index turns out to be damaged.
        """
        entries = [one for path, standing in now for one in self._written(path, standing)]
        replaced = {path: self._of_file(path) for path in paths}
        hidden = Counter(address.segment_ord for found in replaced.values() for address in found)
        known = sizes if (len(sizes), sum(sizes)) == (self._searcher.num_segments, self._searcher.num_docs) else ()
        emptied = {segment for segment, count in enumerate(known) if count == hidden[segment]}
        dropped: list[OverlayEntry] = []
        for path, found in replaced.items():
            rows = [self._rows.get(_key(address)) or self._row(address) for address in found if address.segment_ord in emptied]
            for standing in (True, False):
                dropped += self._written(FilePath(path), schema.in_file_order(row for row in rows if row.lifetime.is_live is standing))
        overlay = Overlay(
            entries,
            frozenset(_key(address) for found in replaced.values() for address in found),
            dropped,
            partial(_statistics, self._searcher),
            lru_cache(_COUNTS_KEPT)(partial(_holding, self._searcher)),
        )
        return IndexSearcher(self._searcher, self._language, overlay)

    def _written(self, path: FilePath, rows: Sequence[IndexRow]) -> Iterator[OverlayEntry]:
        for row, values in zip(rows, schema.document_fields(path, rows, self._language), strict=True):
            yield OverlayEntry.of(values, ranking.FIELD_WEIGHTS, row)

    def search(self, wanted: IndexQuery) -> tuple[Match, ...]:
        """The best entries, best first; where the score is the same, the newer day, then path and line.

        Two current occurrences of one fact in one section of one file are one hit, the first of them; where the past is asked for, two
        of one text that is no fact as well. With `history` each occurrence that is over is a hit of its own.

        Raises:
            BrokenIndex: the index turns out to be damaged.
        """
        looked_for = query.clauses(wanted.query, self._lexicon, self._language) if wanted.limit > 0 else ()
        if not looked_for:
            return ()
        asked = cues.question_cues(wanted.query)
        least = ranking.CANDIDATES_BY_AGE if wanted.decay else ranking.CANDIDATES
        candidates = max(least, ranking.CANDIDATES_A_HIT * wanted.limit)
        narrowed = not wanted.filter.only_current
        while True:
            found, complete = self._matching(looked_for, wanted, candidates, narrowed)
            ranked = self._ranked(found, asked, wanted.decay)
            best = self._best(ranked, wanted)
            if complete or (len(best) >= wanted.limit and (narrowed or len(found) >= candidates // 2)):
                break
            candidates, narrowed = candidates * (4 if narrowed else 1), True
        if wanted.filter.history:
            numbers = {schema.statement_number(row.entry): number for number, row in best}
            alike = self._all(query.statement_query(numbers, wanted.filter, wanted.today))
            rows = [row for row in alike if schema.statement_number(row.entry) in numbers]
            best = [(numbers[schema.statement_number(row.entry)], row) for row in results.visible_rows(rows, wanted.filter, wanted.today)]
        matches = [
            Match(
                results.make_hit(row, round(ranked.scores[number], ranking.SCORE_DIGITS), wanted.filter, wanted.today),
                row,
                self._why(ranked, number, looked_for) if wanted.explain else None,
            )
            for number, row in best
        ]
        return tuple(sorted(matches, key=results.rank_key)[: wanted.limit])

    def entries(self, wanted: Filter, today: date | None = None) -> tuple[Hit, ...]:
        """Every entry that passes the filter, by path and line, with the score 0; where the past is asked for, as in a search.

        `today` (default: `valid_on`, else the end of time) tells what has expired, and dates text that was just written.

        Raises:
            BrokenIndex: the index turns out to be damaged.
        """
        day = today or wanted.valid_on or date.max
        judged = day if today or wanted.valid_on else date.min
        rows: Iterable[IndexRow] = self._all(query.filter_query(wanted, day))
        if wanted.reaches_back:
            rows = results.visible_rows(rows, wanted, judged)
        return tuple(results.make_hit(row, 0.0, wanted, judged) for row in sorted(rows, key=results.position_key))

    def holds(self, wanted: Filter) -> bool:
        """Whether any entry passes the filter.

        Raises:
            BrokenIndex: the index turns out to be damaged.
        """
        return bool(self._found(query.filter_query(wanted, date.max), 1))

    def _all(self, asked: tantivy.Query) -> Iterator[IndexRow]:
        return (self._row(address) for _, address in self._found(asked, self._searcher.num_docs))

    def _found(self, asked: tantivy.Query, limit: int) -> list[Any]:
        return call_engine(self._searcher.search, asked, max(1, min(limit, self._searcher.num_docs)), count=False).hits

    def _matching(self, looked_for: Iterable[Clause], wanted: IndexQuery, limit: int, narrowed: bool) -> tuple[list[Scored], bool]:
        """The best by BM25 that pass the filter (unless `narrowed`, of so many of all), and whether there are no others.

        Asked for the words alone, the engine skips what cannot be among the best: twice as fast, if most of memory is current.
        """
        asked = query.any_term_query(self._overlay.adjusted_clauses(looked_for) if self._overlay else looked_for)
        if narrowed:
            found = self._found(query.filtered_query(asked, wanted.filter, wanted.today), limit)
            complete = len(found) < limit
            return self._with_overlay(found, looked_for, wanted, limit), complete
        found = self._found(asked, limit)
        complete = len(found) < limit
        found = self._with_overlay(found, looked_for, wanted, limit)
        lasts: list[int] = self._column("last", [address for _, address in found])
        return [one for one, last in zip(found, lasts, strict=True) if last >= _first_day(wanted)], complete

    def _with_overlay(self, found: list[Scored], looked_for: Iterable[Clause], wanted: IndexQuery, limit: int) -> list[Scored]:
        """The best of these and of what lies over the index, without what that hides."""
        if self._overlay is None:
            return found
        hidden = self._overlay.hidden
        new = [one for one in self._overlay.scores(looked_for) if one[1].numbers["last"] >= _first_day(wanted)]
        shown = [one for one in found if (one[1].segment_ord, one[1].doc) not in hidden]
        return sorted([*shown, *new], key=itemgetter(0), reverse=True)[:limit]

    def _column(self, name: str, addresses: list[Any]) -> Any:
        """A number of each document; each has one of these."""
        if not addresses:
            return []
        if self._overlay is None:
            return call_engine(self._searcher.fast_field_values, name, addresses)
        stored = [one for one in addresses if not isinstance(one, OverlayEntry)]
        told = call_engine(self._searcher.fast_field_values, name, stored) if stored else []
        rest = iter(told)
        return [one.numbers[name] if isinstance(one, OverlayEntry) else next(rest) for one in addresses]

    def _ranked(self, found: list[Scored], asked: QuestionCues, decay: Decay | None) -> _RankedCandidates:
        addresses = [address for _, address in found]
        columns = (self._column(name, addresses) for name in ("factor", "cues", "day"))
        candidates = Candidates([score for score, _ in found], *columns)
        return _RankedCandidates(
            candidates=candidates, documents=addresses, asked=asked, decay=decay, scores=ranking.scores(candidates, asked, decay)
        )

    def _best(self, ranked: _RankedCandidates, wanted: IndexQuery) -> list[tuple[int, IndexRow]]:
        """The first hits among the candidates, by number, and those in the same place as the last; no more are read than it takes."""
        best: dict[object, tuple[int, IndexRow]] = {}
        last = 0.0, 0
        for score, day, number in ranked.in_order():
            if len(best) >= wanted.limit and (score, day) < last:
                break
            last = score, day
            row = self._row(ranked.documents[number])
            entry = row.entry
            own = entry.path, entry.section, entry.fact or entry.start_line
            same = schema.statement_number(entry) if wanted.filter.reaches_back else own
            known = best.get(same)
            if known is None or entry.start_line < known[1].entry.start_line:
                best[same] = (known[0] if known else number, row)
        return list(best.values())

    def _why(self, ranked: _RankedCandidates, number: int, looked_for: Iterable[Clause]) -> Explanation:
        address = ranked.documents[number]
        assert not isinstance(address, OverlayEntry)  # who wants explanations has the index brought up to date
        parts = []
        for one in looked_for:
            try:
                told = query.term_query(one).explain(self._searcher, address).to_json()
            except ValueError:  # the term is not in this entry
                continue
            name, term, weight, said = one
            parts.append(ScorePart(name, term, said, round(weight * json.loads(told)["value"], ranking.SCORE_DIGITS)))
        factors = ranking.score_factors(ranked.candidates, number, ranked.scores[number], ranked.asked, ranked.decay)
        return Explanation(tuple(parts), tuple(results.static_factors(self._row(address), factors)))

    def _row(self, address: Address | OverlayEntry) -> IndexRow:
        if isinstance(address, OverlayEntry):
            return address.row
        return call_engine(schema.row_from_document, call_engine(self._searcher.doc, address))


def _key(address: Address) -> tuple[int, int]:
    """What tells a document from others, as long as the searcher is the same."""
    return address.segment_ord, address.doc


def _lexicon(searcher: tantivy.Searcher, over: Overlay | None = None) -> Lexicon:
    def holding(term: str) -> int:
        return call_engine(searcher.doc_freq, "text", term) + (over.count("text", term) if over else 0)

    def heading(term: str) -> int:
        return call_engine(searcher.doc_freq, "heading", term) + (over.count("heading", term) if over else 0)

    def beginning(start: str) -> list[str]:
        known = [term for term, _ in call_engine(searcher.terms_with_prefix, "text", start, limit=_MOST_INFLECTED)]
        return sorted({*known, *over.terms_with_prefix("text", start)})[:_MOST_INFLECTED] if over else known

    total = searcher.num_docs + (len(over.entries) - len(over.hidden) if over else 0)
    return Lexicon(total, holding, heading, beginning)


def _statistics(searcher: tantivy.Searcher, field: str, known: str | None) -> FieldStatistics:
    """What the engine's BM25 knows of a field, by its own account of the score of some document in it; to look for a term takes longer."""
    for term in chain([known] if known else (), _some_terms(searcher, field)):
        asked = query.term_query((field, term, 1.0, term))
        for _, address in call_engine(searcher.search, asked, 1, count=False).hits:
            told = dict(_told(json.loads(call_engine(asked.explain, searcher, address).to_json())))
            return FieldStatistics(told["N"], told["N"] * told["avgdl"])
    return FieldStatistics(searcher.num_docs, 0.0)


def _some_terms(searcher: tantivy.Searcher, field: str) -> Iterator[str]:
    yield from (term for term, _ in call_engine(searcher.terms_with_prefix, field, "", limit=_TERMS_TRIED))


def _holding(searcher: tantivy.Searcher, field: str, term: str) -> int:
    return call_engine(searcher.doc_freq, field, term)


def _told(part: Any) -> Iterator[tuple[str, float]]:
    """The values that an account of a score names."""
    yield part["description"].partition(",")[0], part["value"]
    for one in part.get("details", ()):
        yield from _told(one)


def _first_day(wanted: IndexQuery) -> int:
    """The ordinal of the day through which an entry must be current."""
    return wanted.filter.valid_on.toordinal() if wanted.filter.valid_on else 1


def engine_failures() -> tuple[type[BaseException], ...]:
    """What tantivy raises for whatever goes wrong: ValueError, in words alone, and for some flipped bits a Rust panic.

    The class of a panic is made at the first one and cannot be imported.
    """
    return (ValueError, *(kind for kind in BaseException.__subclasses__() if kind.__name__ == "PanicException"))


def call_engine(action: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """What an action of the library gives.

    Raises:
        BrokenIndex: it could not be done.
    """
    try:
        return action(*args, **named)
    except engine_failures() as problem:
        raise BrokenIndex(f"the index could not be read: {problem}", f"{verb('reindex', 'full')} builds it anew.") from problem
