"""Search one state of the index with its overlay. Its methods raise BrokenIndex on damage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, tzinfo
from functools import partial
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Any

import tantivy

from mdmem.index import gate, query, ranking, results, schema
from mdmem.index.indexed import (
    about_held,
    counted_tags,
    fact_label,
    found_text,
    join_spellings,
    number_label,
    passage,
    passage_entries,
    passage_key,
    statement_label,
    statement_number,
    words_held,
)
from mdmem.index.overlay import Overlay, OverlayEntry, PoolCounts, Scorer, TermCount, TermStatistics
from mdmem.index.query import Clause, Filter, IndexQuery, Lexicon
from mdmem.index.ranking import Candidates, Decay, Likeness, QuestionCues
from mdmem.index.results import CandidateRow, FirstHits, Match
from mdmem.index.schema import IndexRow, call_engine
from mdmem.model import FactId, FileKind, FilePath
from mdmem.model.searches import Explanation, Factor, Hit, ScorePart, TagCount
from mdmem.model.trail import Entry
from mdmem.startup.records import dataclass, replace
from mdmem.text.facts import entry_tags
from mdmem.text.terms import (
    folded,
    query_terms,
    split_scripts,
    spoken_languages,
    stemmed,
)

Address = tantivy.DocAddress
Scored = tuple[float, Any]

_MANY_OF_FILE = 2000
_MOST_JUDGED = 2000
"""Entries with the words of a phrase whose text is read."""
_MOST_TAGS = 65_000
"""The engine counts no more."""
_BEFORE_ALL = -(2**62)
_OF_ALL_TIMES = 4
"""Entries looked at per current one, where some may be past."""
MOST_INFLECTED = 5
"""Words looked at, alphabetically, that begin like an unknown one."""


@dataclass(frozen=True, slots=True)
class _RankedCandidates:
    candidates: Candidates
    documents: Sequence[Any]
    asked: QuestionCues
    decay: Decay | None
    scores: Sequence[float]
    shares: Sequence[float] = ()
    by_words: Sequence[float] = ()
    """Where likeness is in the scores: its share of each candidate, and what words alone gave."""

    def in_order(self) -> Iterator[tuple[float, int, int]]:
        scores, days = self.scores, self.candidates.days
        best = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)
        for score, alike in groupby(
            best, lambda number: round(scores[number], ranking.SCORE_DIGITS)
        ):
            yield from (
                (score, days[number], number)
                for number in sorted(alike, key=days.__getitem__, reverse=True)
            )


class IndexSearcher:
    """Searches what the index held when it was opened or last updated."""

    def __init__(
        self,
        searcher: tantivy.Searcher,
        language: str,
        is_fresh: bool,
        overlay: Overlay | None = None,
        pool: PoolCounts | None = None,
        *,
        languages: tuple[str, ...] = (),
    ) -> None:
        """Search an index that is fresh (`Snapshot.is_fresh`) or not, alone or in a pool.

        `language`: that of files whose words do not say. `languages`: those that entries may have
        beside the counted ones.
        """
        self._searcher = searcher
        self.language = language
        self._is_fresh = is_fresh
        self._overlay = overlay
        self._pool = pool
        self._corrected = (
            None if is_fresh and overlay is None and pool is None else self.statistics()
        )
        """Set where the engine's own statistics are not those of the visible entries."""
        self.lexicon = _lexicon(searcher, self._corrected, overlay, languages)

    def statistics(self) -> TermStatistics:
        return TermStatistics(self._searcher, self._is_fresh, self._overlay, self._pool)

    def in_pool(self, counts: PoolCounts) -> IndexSearcher:
        return IndexSearcher(
            self._searcher,
            self.language,
            self._is_fresh,
            self._overlay,
            pool=counts,
            languages=self.lexicon.languages,
        )

    @property
    def count(self) -> int:
        return self._number(query.filter_query(Filter(), date.max))

    def _number(self, engine_query: tantivy.Query) -> int:
        result: Any = call_engine(self._searcher.search, engine_query, 1)
        return int(result.count)  # its stub does not know the count

    def rows(self, path: str) -> list[IndexRow] | None:
        """A file's rows in order, and those of HEAD that an edit removed; None if very many."""
        addresses = self._of_file(path, _MANY_OF_FILE)
        if len(addresses) >= _MANY_OF_FILE:
            return None
        return sorted(map(self._row, addresses), key=lambda row: row.entry.start_line)

    def _of_file(self, path: str, limit: int) -> list[Address]:
        return [address for _, address in self._engine_hits(query.file_query(path), limit)]

    def passages(self, today: date) -> list[tuple[int, int, Address]]:
        """Key, day and address of each current passage, newest first; curated ones have `NEVER`."""
        addresses = self._addresses(query.filter_query(Filter(valid_on=today), today))
        keys, logged = (self._column(name, addresses) for name in ("passage", "logged"))
        ages = self._ages(addresses, None, today)
        order = sorted(range(len(addresses)), key=ages.__getitem__)
        return [(keys[each], logged[each] or schema.NEVER, addresses[each]) for each in order]

    def passage_keys(self) -> set[int]:
        """The keys of all passages, past ones too."""
        return set(self._column("passage", self._addresses(tantivy.Query.all_query())))

    def path_at(self, address: Address) -> FilePath:
        return self._row(address).entry.path

    def passages_of(self, path: FilePath) -> Iterator[tuple[int, str, Sequence[Entry]]]:
        """Key and text of the passages of a file's entries, and the entries in each."""
        rows = map(self._row, self._of_file(path, self._searcher.num_docs))
        live = schema.in_file_order(row for row in rows if row.lifetime.is_live)
        entries = [row.entry for row in live]
        for position, row in enumerate(live):
            held = passage_entries(entries, position, row.kind is FileKind.DAILY)
            text = passage(held)
            yield passage_key(text), text, held

    @property
    def is_laid_over(self) -> bool:
        """True if files differ from the index, which only a search by words knows."""
        return self._overlay is not None

    def with_overlay(
        self, paths: Collection[str], current_files: Iterable[tuple[FilePath, Sequence[IndexRow]]]
    ) -> IndexSearcher:
        """A searcher that finds files as they are now; this one stays as it is.

        `paths`: files that differ from the index, or are gone.
        """
        entries = [entry for path, rows in current_files for entry in self._written(path, rows)]
        hidden = frozenset(
            _key(address)
            for path in paths
            for address in self._of_file(path, self._searcher.num_docs)
        )
        return IndexSearcher(
            self._searcher,
            self.language,
            self._is_fresh,
            Overlay(entries, tuple(paths), hidden),
            # Those of hidden entries too: an update keeps them as past ones.
            languages=self.lexicon.languages,
        )

    def _written(self, path: FilePath, rows: Sequence[IndexRow]) -> Iterator[OverlayEntry]:
        rows = schema.in_passages(rows)
        for row, values in zip(
            rows, schema.document_fields(path, rows, self.language), strict=True
        ):
            yield OverlayEntry.of(values, (*ranking.FIELD_WEIGHTS, schema.LANGUAGE), row)

    def search(self, request: IndexQuery) -> tuple[Match, ...]:
        """The best entries by their words; those with all phrases of its syntax come first, and
        what it leaves out is not among them, unless nothing else is.
        """
        found, syntax = self._by_words(request), request.syntax
        if syntax is None or request.limit <= 0:
            return found
        if syntax.phrases:
            held = [each for each in found if syntax.holds_phrases(found_text(each.row.entry))]
            words = query.phrase_query(syntax.phrases, self.lexicon.languages)
            rows = self._rows_matching(words, request, _MOST_JUDGED, laid_over=True)
            rows = [row for row in rows if syntax.holds_phrases(found_text(row.entry))]
            held += self._further(rows, held, request)
            rest = () if held and syntax.is_whole else (each for each in found if each not in held)
            found = (*held, *rest)[: request.limit]
        kept = tuple(each for each in found if not syntax.leaves_out(found_text(each.row.entry)))
        return kept if any(not each.hit.near for each in kept) else found

    def like_words(self, request: IndexQuery, found: Sequence[Match]) -> tuple[Match, ...]:
        """Entries behind those found, with words that begin like one that no entry has, or differ
        from it by a letter.
        """
        if len(found) >= request.limit:
            return ()
        languages = self.lexicon.languages
        asked = {*query_terms(request.query, languages).words}
        unknown = {
            stem: len(word)
            for word in folded(split_scripts(request.query).spaced)
            if (stem := stemmed([word], languages[0])) in asked and not self.lexicon.has_term(stem)
        }
        engine_query = query.like_query(unknown)
        if engine_query is None:
            return ()
        rows = self._rows_matching(engine_query, request, 2 * request.limit)
        further = self._further(rows, found, request)[: request.limit - len(found)]
        return tuple(replace(each, hit=replace(each.hit, near=True)) for each in further)

    def _further(
        self, rows: Sequence[IndexRow], found: Sequence[Match], request: IndexQuery
    ) -> list[Match]:
        """Matches of rows that are not found yet, with score 0; of the copies of a fact one."""

        def identity(row: IndexRow) -> object:
            return results.copies_of(row) or results.place_of(row)

        shown, new = {identity(each.row) for each in found}, dict[object, IndexRow]()
        for row in rows:
            if (name := identity(row)) not in shown:
                new.setdefault(name, row)
        chosen, matches = list(islice(new.values(), request.limit)), list[Match]()
        copies = self._copies(chosen, request.filter, request.today, ())
        for row, others in zip(chosen, copies, strict=True):
            best = results.best_copy(row, others)
            hit = results.make_hit(best, 0.0, request.filter, request.today)
            matches.append(Match(results.with_copies(hit, best, others) if others else hit, best))
        return matches

    def _rows_matching(
        self, engine_query: tantivy.Query, request: IndexQuery, most: int, laid_over: bool = False
    ) -> list[IndexRow]:
        """The rows that pass a request's filter, best first.

        `laid_over`: also all of the text that the index has not, for the caller to judge.
        """
        filtered = query.filtered_query(engine_query, request.filter, request.today)
        addresses = [address for _, address in self._engine_hits(filtered, most)]
        if self._overlay is None:
            return list(map(self._row, addresses))
        shown = (each for each in addresses if _key(each) not in self._overlay.hidden)
        added = self._overlay.entries if laid_over and request.filter.only_current else ()
        return [
            *map(self._row, shown),
            *(each.row for each in added if each.row.lifetime.is_current),
        ]

    def _by_words(self, request: IndexQuery) -> tuple[Match, ...]:
        """The best entries, best first, then the newer day, path and line.

        Current occurrences of a fact in one section are one hit, the first; of the past also equal
        texts that are no facts. With `history` each past occurrence is a hit of its own. What
        `changes_within` asks for comes behind the hits.
        """
        clauses = query.clauses(request.query, self.lexicon) if request.limit > 0 else ()
        if not clauses and (request.meaning is None or request.limit <= 0):
            return ()
        own_terms = query.own_terms(clauses)
        ranked, (first, read) = self._first_ranked(clauses, own_terms, request)
        doubts = request.meaning is not None and self._leaves_doubt(first, request)
        likeness = self._likeness(ranked, request, doubts) if request.meaning else None
        if likeness and request.meaning:
            ranked = self._blended(ranked, likeness, request.meaning.weight)
            first, read = self._first(ranked, request, own_terms)
        near_numbers = {number for number, _ in first.near}
        best = [*first.best, *first.near]
        if request.filter.history:
            best = self._past_occurrences(best, request)
        count = len(best)
        best += first.further
        known = ((ranked.documents[number], row) for number, row in read.items())
        copies = self._copies([row for _, row in best], request.filter, request.today, known)
        chosen = [
            (number, results.best_copy(row, others), others)
            for (number, row), others in zip(best, copies, strict=True)
        ]

        def hit(number: int, row: IndexRow, others: Sequence[IndexRow]) -> Hit:
            made = results.make_hit(
                row, first.scores[number], request.filter, request.today, number in near_numbers
            )
            made = results.with_copies(made, row, others) if others else made
            terms = own_terms["heading"]
            return (
                replace(made, about=about_held(row.about, terms, row.language))
                if row.about
                else made
            )

        scorer = self._scorer(clauses) if request.explain else None
        matches = [
            Match(
                hit(number, row, others),
                row,
                self._why(ranked, number, scorer, first.beside[number]) if scorer else None,
            )
            for number, row, others in chosen
        ]
        numbers = [number for number, _ in best[:count]]
        in_order = self._in_order(matches[:count], numbers, ranked, likeness, request, doubts)
        return (*in_order, *matches[count:])

    def _first_ranked(
        self,
        clauses: Sequence[Clause],
        own_terms: Mapping[str, Mapping[str, str]],
        request: IndexQuery,
    ) -> tuple[_RankedCandidates, tuple[FirstHits, dict[int, IndexRow]]]:
        """The candidates that the hits need, and the first hits among them."""
        question = ranking.question_cues(request.query, request.owner, is_typed=request.spread)
        minimum = ranking.CANDIDATES_BY_AGE if request.decay else ranking.CANDIDATES
        limit = max(minimum, ranking.CANDIDATES_A_HIT * request.looked_at)
        filtered = not request.filter.only_current
        while True:
            scored, complete = self._matching(clauses, request, limit, filtered)
            ranked = self._ranked(scored, clauses, question, request)
            first, read = self._first(ranked, request, own_terms)
            if complete or (
                len(first.best) >= request.limit and (filtered or len(scored) >= limit // 2)
            ):
                return ranked, (first, read)
            limit, filtered = limit * (4 if filtered else 1), True

    def _in_order(
        self,
        matches: Sequence[Match],
        numbers: Sequence[int],
        ranked: _RankedCandidates,
        likeness: Likeness | None,
        request: IndexQuery,
        doubts: bool,
    ) -> tuple[Match, ...]:
        order = sorted(range(len(matches)), key=lambda each: results.rank_key(matches[each]))
        if likeness is None:
            return tuple(matches[each] for each in order[: request.limit])
        least = likeness.share(likeness.least)
        shares = [ranked.shares[number] for number in numbers]
        near = {each for each in order if matches[each].hit.near and shares[each] > least}
        ordered = [each for each in order if each not in near][: request.limit]
        shown = {results.place_of(match.row) for match in matches}
        like = [(shares[each], matches[each].row) for each in near]
        like += (
            (likeness.share(value), row)
            for row, value in self._like_rows(likeness, request)
            if results.place_of(row) not in shown
        )
        like.sort(key=lambda each: (-each[0], results.position_key(each[1])))
        hits = [matches[each] for each in ordered]
        early = ranking.DOUBT_RANKS if doubts else ranking.LIKE_RANKS
        places = ranking.places(
            [shares[each] for each in ordered],
            [share for share, _ in like],
            early if self._is_carried(hits, request) else ranking.FIRST_RANKS,
        )
        for place, number in places:
            share, row = like[number]
            score = hits[max(0, place - 1)].hit.score if hits else share
            hits.insert(place, results.like_match(row, score, share, request))
        return tuple(hits[: request.limit])

    def _is_carried(self, matches: Sequence[Match], request: IndexQuery) -> bool:
        hits = [match.hit for match in matches]
        return gate.is_carried(request.query, hits, self.lexicon)

    def _like_rows(
        self, likeness: Likeness, request: IndexQuery
    ) -> Iterator[tuple[IndexRow, float]]:
        values = dict(likeness.nearest)
        if not values:
            return
        addresses: list[Any] = self._addresses(
            query.passage_query(values, request.filter, request.today)
        )
        if self._overlay is not None:
            addresses = [each for each in addresses if _key(each) not in self._overlay.hidden]
            if request.filter.only_current:
                addresses += (
                    entry
                    for entry in self._overlay.entries
                    if entry.numbers["passage"] in values
                    and entry.numbers["last"] >= _first_day(request)
                )
        found = zip(self._column("passage", addresses), map(self._row, addresses), strict=True)
        seen = set[object]()
        for key, row in sorted(
            found, key=lambda each: (-values[each[0]], results.position_key(each[1]))
        ):
            identity = results.copies_of(row) or results.place_of(row)
            if identity not in seen:
                seen.add(identity)
                yield row, values[key]

    def _holds_rare_words(self, first: FirstHits, request: IndexQuery) -> bool:
        best = max(first.best, key=lambda each: first.scores[each[0]], default=None)
        words = gate.prompt_words(request.query, self.lexicon)
        return best is not None and gate.holds_rare_words(
            words, best[1].entry, self.lexicon.languages
        )

    def _leaves_doubt(self, first: FirstHits, request: IndexQuery) -> bool:
        """True where the best hit lacks a rare word of a question, or the next is about as good."""
        best = sorted((first.scores[number] for number, _ in first.best), reverse=True)
        is_close = len(best) > 1 and best[1] > ranking.CLOSE_SCORES * best[0]
        return is_close or not self._holds_rare_words(first, request)

    def _likeness(
        self, ranked: _RankedCandidates, request: IndexQuery, doubts: bool
    ) -> Likeness | None:
        meaning = request.meaning
        if meaning is None or not (meaning.is_always_asked or doubts):
            return None
        return meaning.likeness(self._column("passage", list(ranked.documents)))

    def _blended(
        self, ranked: _RankedCandidates, likeness: Likeness, weight: float
    ) -> _RankedCandidates:
        shares = likeness.shares(self._column("passage", list(ranked.documents)))
        candidates = replace(
            ranked.candidates, matched=ranking.blended(ranked.candidates.matched, shares, weight)
        )
        return replace(
            ranked,
            candidates=candidates,
            scores=ranking.scores(candidates, ranked.asked, ranked.decay),
            shares=shares,
            by_words=ranked.candidates.matched,
        )

    def _scorer(self, clauses: Sequence[Clause]) -> Scorer:
        return (self._corrected or self.statistics()).scorer(clauses)

    def held_clauses(self, clauses: Sequence[Clause]) -> list[Clause]:
        counts = self._searcher.doc_freq
        return [
            clause
            for clause in clauses
            if call_engine(counts, clause[0], clause[1])
            or (self._overlay and self._overlay.count(clause[0], clause[1]))
        ]

    def _past_occurrences(
        self, best: Sequence[tuple[int, IndexRow]], request: IndexQuery
    ) -> list[tuple[int, IndexRow]]:
        """All occurrences of the statements found, each with the number of its statement's row."""
        numbers = {statement_number(row.entry): number for number, row in best}
        statements = {statement_number(row.entry): statement_label(row.entry) for _, row in best}
        visible = results.visible_rows(
            self.occurrences(statements, request.filter, request.today),
            request.filter,
            request.today,
        )
        joined = results.joined_copies(visible, request.filter, request.today)
        return [(numbers[statement_number(row.entry)], row) for row in joined]

    def _copies(
        self,
        rows: Sequence[IndexRow],
        passing_filter: Filter,
        today: date,
        read: Iterable[tuple[Address | OverlayEntry, IndexRow]],
    ) -> list[Sequence[IndexRow]]:
        """Each row's current copies with itself; those in `read` need not be read again."""
        numbers = list(map(results.copies_of, rows))
        copies: dict[int, list[IndexRow]] = {number: [] for number in numbers if number}
        if not copies:
            return [()] * len(rows)
        wanted = set(map(number_label, copies))
        addresses = self._addresses(query.statement_query(wanted, passing_filter, today))
        known = {
            _key(address): row for address, row in read if not isinstance(address, OverlayEntry)
        }
        hidden = self._overlay.hidden if self._overlay else ()
        for address, number in zip(addresses, self._column("fact", addresses), strict=True):
            if number in copies and _key(address) not in hidden:
                copies[number].append(known.get(_key(address)) or self._row(address))
        for entry in self._overlay.entries if self._overlay else ():
            copies.get(entry.numbers["fact"], []).append(entry.row)
        if passing_filter.history:
            copies = {
                number: list(results.current_rows(each, passing_filter, today))
                for number, each in copies.items()
            }
        return [copies.get(number, ()) for number in numbers]

    def current_facts(
        self, facts: Collection[FactId], passing_filter: Filter, today: date
    ) -> list[IndexRow]:
        labels_of_facts = set(map(fact_label, facts))
        addresses = self._addresses(query.statement_query(labels_of_facts, passing_filter, today))
        hidden = self._overlay.hidden if self._overlay else ()
        day = passing_filter.valid_on
        laid_over = (
            entry.row
            for entry in (self._overlay.entries if self._overlay else ())
            if day is None or entry.numbers["last"] >= day.toordinal()
        )
        rows = (
            *map(self._row, (each for each in addresses if _key(each) not in hidden)),
            *laid_over,
        )
        return [row for row in rows if row.entry.fact in facts]

    def occurrences(
        self, statements: Mapping[int, str], passing_filter: Filter, today: date
    ) -> list[IndexRow]:
        """`statements`: labels by number."""
        rows = self._all(query.statement_query(set(statements.values()), passing_filter, today))
        return [row for row in rows if statement_number(row.entry) in statements]

    def with_words(self, text: str, today: date, limit: int) -> list[IndexRow]:
        """Current rows that share most words of their own with a text, best first."""
        asked = query.text_clauses(text, self.lexicon)
        if not asked:
            return []
        addresses = [
            address
            for _, address in self._engine_hits(query.any_term_query(asked), _OF_ALL_TIMES * limit)
        ]
        last_days = self._column("last", addresses)
        current = [
            address
            for address, last_day in zip(addresses, last_days, strict=True)
            if last_day >= today.toordinal()
        ]
        return [self._row(address) for address in current[:limit]]

    def entries(self, passing_filter: Filter, today: date | None = None) -> tuple[Hit, ...]:
        """Every entry that passes the filter, by path and line, with score 0.

        `today` (default: `valid_on`, else the end of time) judges expiry and dates new text.
        """
        day = today or passing_filter.valid_on or date.max
        expiry_day = day if today or passing_filter.valid_on else date.min
        rows = self._passing(passing_filter, day, expiry_day)
        return tuple(
            results.make_hit(row, 0.0, passing_filter, expiry_day)
            for row in sorted(rows, key=results.position_key)
        )

    def newest(
        self, passing_filter: Filter, today: date, limit: int | None = None, offset: int = 0
    ) -> tuple[tuple[Match, ...], int]:
        """The newest entries that pass, newest first, and how many pass; reads as few as needed."""
        zone, last = passing_filter.zone, None if limit is None else offset + limit
        if passing_filter.reaches_back:
            rows = results.joined_copies(
                self._passing(passing_filter, today, today), passing_filter, today
            )
            total, read, before = len(rows), list[tuple[Address, IndexRow]](), 0
        else:
            hidden = self._hidden_copies(passing_filter, today)
            total = self._number(query.filter_query(passing_filter, today)) - len(hidden)
            addresses = [
                address
                for address in self._candidates(passing_filter, today, last, hidden)
                if _key(address) not in hidden
            ]
            ages = self._ages(addresses, zone, today)
            wanted = sorted(ages)[offset:last]
            before = sum(age < wanted[0] for age in ages) if wanted else 0
            read = [
                (address, self._row(address))
                for address, age in zip(addresses, ages, strict=True)
                if wanted and wanted[0] <= age <= wanted[-1]
            ]
            rows = [row for _, row in read]
        rows.sort(key=lambda row: (results.row_age(row, zone, today), results.position_key(row)))
        rows = rows[offset - before : None if last is None else last - before] if rows else []
        copies = self._copies(rows, passing_filter, today, read)
        hits = (results.make_hit(row, 0.0, passing_filter, today) for row in rows)
        return (
            tuple(
                Match(results.with_copies(hit, row, others), row)
                for hit, row, others in zip(hits, rows, copies, strict=True)
            ),
            total,
        )

    def _candidates(
        self,
        passing_filter: Filter,
        today: date,
        limit: int | None,
        hidden: AbstractSet[tuple[int, int]],
    ) -> list[Address]:
        """Entries that pass, the newest `limit` among them; the engine sorts, not we."""
        if limit is None:
            return self._addresses(query.filter_query(passing_filter, today))

        def newest(
            field: str, beginning: Callable[[int], tantivy.Query], lowest: int
        ) -> list[Address]:
            wanted = max(1, limit)
            while True:
                best: list[tuple[int, Address]] = call_engine(
                    self._searcher.search,
                    beginning(lowest),
                    min(wanted, max(1, self._searcher.num_docs)),
                    count=False,
                    order_by_field=field,
                ).hits
                visible = [value for value, address in best if _key(address) not in hidden]
                if len(best) < wanted or len(visible) >= limit:
                    break
                wanted *= 2
            first = visible[limit - 1] if 0 < limit <= len(visible) else lowest
            return self._addresses(beginning(first))

        return [
            *newest("day", partial(query.dated_query, passing_filter, today), 1),
            *newest("time", partial(query.undated_query, passing_filter, today), _BEFORE_ALL),
            *self._addresses(query.undated_query(passing_filter, today, None)),
        ]

    def _addresses(self, engine_query: tantivy.Query) -> list[Address]:
        return [address for _, address in self._engine_hits(engine_query, self._searcher.num_docs)]

    def _ages(
        self, addresses: list[Address], zone: tzinfo | None, today: date
    ) -> list[tuple[int, float, int]]:
        days, times, begun = (self._column(name, addresses) for name in ("day", "time", "begun"))
        return [
            results.age(*numbers, zone=zone, today=today)
            for numbers in zip(days, times, begun, strict=True)
        ]

    def listed(self, passing_filter: Filter, today: date) -> list[Address]:
        """The entries that `newest` counts, in any order."""
        hidden = self._hidden_copies(passing_filter, today)
        addresses = self._addresses(query.filter_query(passing_filter, today))
        return [address for address in addresses if _key(address) not in hidden]

    def _hidden_copies(self, passing_filter: Filter, today: date) -> set[tuple[int, int]]:
        """The entries that pass, and are not listed since a copy of theirs is."""
        passing_filter = replace(passing_filter, contradicted=False)
        marked = self._addresses(query.copied_query(passing_filter, today))
        numbers = {number for number in self._column("fact", marked) if number}
        if not numbers:
            return set()
        addresses = self._addresses(
            query.statement_query(set(map(number_label, numbers)), passing_filter, today)
        )
        facts, logged = (self._column(name, addresses) for name in ("fact", "logged"))
        ages = self._ages(addresses, passing_filter.zone, today)
        kept = set(
            results.without_copies([fact if fact in numbers else 0 for fact in facts], logged, ages)
        )
        return {_key(address) for number, address in enumerate(addresses) if number not in kept}

    def tags(self, passing_filter: Filter, today: date) -> tuple[TagCount, ...]:
        """The tags of what `newest` lists, the most used first; a fact counts once a section."""
        answer: Any = call_engine(
            self._searcher.aggregate,
            query.filter_query(passing_filter, today),
            {"tags": {"terms": {"field": "tagged", "size": _MOST_TAGS}}},
        )
        numbers = Counter({each["key"]: each["doc_count"] for each in answer["tags"]["buckets"]})
        hidden, listed = self._hidden_copies(passing_filter, today), set[object]()
        for address in self._addresses(
            query.tagged_query(query.copied_query(passing_filter, today))
        ):
            row = self._row(address)
            place = results.place_of(row)
            if _key(address) in hidden or place in listed:
                numbers.subtract(counted_tags(entry_tags(row.entry)))
            else:
                listed.add(place)
        return join_spellings(numbers)

    def _passing(self, passing_filter: Filter, today: date, expiry_day: date) -> Iterable[IndexRow]:
        rows = self._all(query.filter_query(passing_filter, today))
        return (
            results.visible_rows(rows, passing_filter, expiry_day)
            if passing_filter.reaches_back
            else rows
        )

    def holds(self, passing_filter: Filter) -> bool:
        return bool(self._engine_hits(query.filter_query(passing_filter, date.max), 1))

    def _all(self, engine_query: tantivy.Query) -> Iterator[IndexRow]:
        return map(self._row, self._addresses(engine_query))

    def _engine_hits(self, engine_query: tantivy.Query, limit: int) -> list[Any]:
        return call_engine(
            self._searcher.search,
            engine_query,
            max(1, min(limit, self._searcher.num_docs)),
            count=False,
        ).hits

    def _matching(
        self, clauses: Sequence[Clause], request: IndexQuery, limit: int, filtered: bool
    ) -> tuple[list[Scored], bool]:
        """The best by BM25 that pass, and True if there are no others.

        Without the filter the engine skips hopeless documents: twice as fast where most are
        current.
        """
        engine_query = query.any_term_query(
            self._corrected.adjusted(clauses) if self._corrected else clauses
        )
        if filtered:
            scored = self._engine_hits(
                query.filtered_query(engine_query, request.filter, request.today), limit
            )
            complete = len(scored) < limit
            return self._with_overlay(scored, clauses, request, limit), complete
        scored = self._engine_hits(engine_query, limit)
        complete = len(scored) < limit
        scored = self._with_overlay(scored, clauses, request, limit)
        last_days: list[int] = self._column("last", [address for _, address in scored])
        return [
            candidate
            for candidate, last_day in zip(scored, last_days, strict=True)
            if last_day >= _first_day(request)
        ], complete

    def _with_overlay(
        self, scored: list[Scored], clauses: Sequence[Clause], request: IndexQuery, limit: int
    ) -> list[Scored]:
        if self._overlay is None or self._corrected is None:
            return scored
        hidden = self._overlay.hidden
        added = [
            candidate
            for candidate in self._overlay.scores(clauses, self._corrected)
            if candidate[1].numbers["last"] >= _first_day(request)
        ]
        visible = [candidate for candidate in scored if _key(candidate[1]) not in hidden]
        return sorted([*visible, *added], key=itemgetter(0), reverse=True)[:limit]

    def _column(self, name: str, addresses: list[Any]) -> Any:
        if not addresses:
            return []
        if self._overlay is None:
            return call_engine(self._searcher.fast_field_values, name, addresses)
        stored = [address for address in addresses if not isinstance(address, OverlayEntry)]
        stored_values = (
            call_engine(self._searcher.fast_field_values, name, stored) if stored else []
        )
        remaining = iter(stored_values)
        return [
            address.numbers[name] if isinstance(address, OverlayEntry) else next(remaining)
            for address in addresses
        ]

    def _ranked(
        self,
        scored: list[Scored],
        clauses: Sequence[Clause],
        question: QuestionCues,
        request: IndexQuery,
    ) -> _RankedCandidates:
        addresses, decay = [address for _, address in scored], request.decay
        candidates = Candidates(
            matched=[score for score, _ in scored],
            trust=self._column("factor", addresses),
            cues=self._column("cues", addresses),
            days=self._column("day", addresses),
            log_days=self._column("logged", addresses) if decay else (),
        )
        scores = ranking.scores(candidates, question, decay)
        if self._corrected:
            numbers = ranking.decisive(
                candidates.days, scores, ranking.REFINED_A_HIT * request.limit
            )
            candidates = self._refined(candidates, addresses, numbers, clauses)
            scores = ranking.scores(candidates, question, decay)
        return _RankedCandidates(
            candidates=candidates, documents=addresses, asked=question, decay=decay, scores=scores
        )

    def _refined(
        self,
        candidates: Candidates,
        documents: Sequence[Any],
        numbers: Iterable[int],
        clauses: Sequence[Clause],
    ) -> Candidates:
        scorer, matched = self._scorer(clauses), list(candidates.matched)
        for number in numbers:
            if not isinstance(documents[number], OverlayEntry):
                matched[number] = sum(score for _, score in scorer(documents[number]))
        return replace(candidates, matched=matched)

    def _first_hits(self, request: IndexQuery) -> FirstHits:
        return FirstHits(request)

    def _first(
        self,
        ranked: _RankedCandidates,
        request: IndexQuery,
        own_terms: Mapping[str, Mapping[str, str]],
    ) -> tuple[FirstHits, dict[int, IndexRow]]:
        read_candidates: dict[int, CandidateRow] = {}

        def read(score: float, day: int, number: int) -> CandidateRow:
            row = self._row(ranked.documents[number])
            in_text, above = words_held(row.entry, row.about, own_terms, row.language)
            near, copies = not in_text and not above, results.copies_of(row)
            candidate = read_candidates[number] = CandidateRow(
                score=score, day=day, number=number, row=row, held=in_text, near=near, copies=copies
            )
            return candidate

        first, ordered = self._first_hits(request), ranked.in_order()
        looked_at = list(islice(ordered, request.changes_within))
        first.choose(chain(looked_at, ordered), read)
        for score, day, number in looked_at:
            if ranking.may_correct_others(ranked.candidates.cues[number]):
                first.add_further(read_candidates.get(number) or read(score, day, number))
        return first, {number: each.row for number, each in read_candidates.items()}

    def _why(
        self, ranked: _RankedCandidates, number: int, scorer: Scorer, beside: float
    ) -> Explanation:
        address = ranked.documents[number]
        # A search with explanations brings the index up to date first.
        assert not isinstance(address, OverlayEntry)
        parts = [
            ScorePart(name, term, query_word, round(score, ranking.SCORE_DIGITS))
            for (name, term, _, query_word), score in scorer(address)
        ]
        factors: Iterable[Factor] = ranking.score_factors(
            ranked.candidates, number, ranked.scores[number], ranked.asked, ranked.decay, beside
        )
        if ranked.by_words:
            share = ranked.candidates.matched[number] / ranked.by_words[number]
            factors = (Factor("likeness", round(share, ranking.SCORE_DIGITS)), *factors)
        return Explanation(tuple(parts), tuple(results.static_factors(self._row(address), factors)))

    def _row(self, address: Address | OverlayEntry) -> IndexRow:
        if isinstance(address, OverlayEntry):
            return address.row
        return call_engine(schema.parse_row, call_engine(self._searcher.doc, address)["row"][0])


def _key(address: Address) -> tuple[int, int]:
    return address.segment_ord, address.doc


def _lexicon(
    searcher: tantivy.Searcher,
    statistics: TermStatistics | None,
    overlay: Overlay | None,
    languages: tuple[str, ...],
) -> Lexicon:
    count: TermCount = (
        statistics.count
        if statistics
        else lambda field, term: call_engine(searcher.doc_freq, field, term)
    )

    def beginning(start: str) -> list[str]:
        limit = MOST_INFLECTED
        while True:
            indexed = [
                term
                for term, _ in call_engine(searcher.terms_with_prefix, "text", start, limit=limit)
            ]
            terms = {*indexed, *(overlay.terms_with_prefix("text", start) if overlay else ())}
            visible = [term for term in sorted(terms) if count("text", term)]
            if len(visible) >= MOST_INFLECTED or len(indexed) < limit:
                return visible[:MOST_INFLECTED]
            limit *= 4

    total = statistics.documents if statistics else searcher.num_docs
    counted = spoken_languages(partial(count, schema.LANGUAGE), total)
    return Lexicon(
        total,
        partial(count, "text"),
        partial(count, "heading"),
        beginning,
        tuple(dict.fromkeys((*counted, *languages))),
        count,
    )


def _first_day(request: IndexQuery) -> int:
    return request.filter.valid_on.toordinal() if request.filter.valid_on else 1
