"""Search a fleet: its engine counts and scores what the asker may read, and mdmem ranks it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

from mdmem.fleet import settings_path
from mdmem.fleet.engine import FleetCandidate, FleetTerm, Readable, Term
from mdmem.fleet.settings import Fleet, matching, open_fleet, reason_of
from mdmem.folder import files
from mdmem.index import query, ranking, schema
from mdmem.index.query import Clause, IndexQuery, Lexicon
from mdmem.index.results import FirstHits, Match
from mdmem.index.schema import IndexRow
from mdmem.index.searcher import IndexSearcher, Scored
from mdmem.model.errors import MdmemError, UsageProblem, field, number_of
from mdmem.model.searches import Hit, Search, SearchResult
from mdmem.queries.search import filter_of, query_of
from mdmem.startup.records import replace
from mdmem.text.terms import ENGLISH, spoken_languages
from mdmem.workspace import Workspace

_SHOWN_AT_ONCE = 10
_OF_THE_REPOSITORY = (
    "actor",
    "session",
    "source",
    "min_confidence",
    "history",
    "as_of",
    "explain",
    "sessions",
)
"""Fields that rows of a fleet do not know, since they are those of files without their past."""


class FleetSearcher(IndexSearcher):
    """Searches what an asker may read, as if it were one index; a document is a number."""

    def __init__(self, fleet: Fleet, readable: Readable) -> None:
        self._engine, self._readable = fleet.engine, readable
        self._totals = self._engine.totals(readable)
        self._known: dict[Term, int] = {}
        self._unknown: set[Term] = set()
        self._found: list[FleetCandidate] = []
        self._rows: dict[int, IndexRow] = {}
        self._ranks: Sequence[int] = ()
        self._overlay = self._corrected = None
        self.language = ENGLISH
        self._names = _short_names(fleet.engine.held())
        self._known_names: list[str | None] = [*self._names.values()]

    def search(self, request: IndexQuery) -> tuple[Match, ...]:
        """The best entries; their words are counted a few rounds before, many at once."""
        while True:
            self.lexicon = Lexicon(
                self._totals.documents,
                partial(self._count, "text"),
                partial(self._count, "heading"),
                partial(self._engine.beginning, readable=self._readable),
                spoken_languages(partial(self._count, schema.LANGUAGE), self._totals.documents),
                self._count,
            )
            for name, term, *_ in query.clauses(request.query, self.lexicon):
                self._count(name, term)
            if not self._unknown:
                return super().search(request)
            self._known |= self._engine.counts(self._unknown, self._readable)
            self._unknown.clear()

    def _count(self, name: str, term: str) -> int:
        if (name, term) not in self._known:
            self._unknown.add((name, term))
        return self._known.get((name, term), 0)

    # The steps of a search.

    def _matching(
        self, clauses: Sequence[Clause], request: IndexQuery, limit: int, filtered: bool
    ) -> tuple[list[Scored], bool]:
        total = self._totals.documents
        asked = [
            FleetTerm(name, term, weight * ranking.rarity(total, self._count(name, term)))
            for name, term, weight, _ in clauses
        ]
        passing = request.filter, request.today
        found = self._engine.candidates(asked, self._totals, passing, self._readable, limit)
        self._found, self._rows = list(found), {}
        scored: list[Scored] = [(each.score, number) for number, each in enumerate(found)]
        return scored, len(scored) < limit

    def _first_hits(self, request: IndexQuery) -> FirstHits:
        return FirstHits(request, self._known_names)

    def _column(self, name: str, documents: Sequence[Any]) -> Any:
        return [self._found[number].numbers[name] for number in documents]

    def _first(self, ranked: Any, *rest: Any) -> tuple[FirstHits, dict[int, IndexRow]]:
        self._ranks = [number for _, _, number in ranked.in_order()]
        return super()._first(ranked, *rest)

    def _row(self, document: Any) -> IndexRow:
        if document not in self._rows:
            from_here = self._ranks[self._ranks.index(document) :]
            wanted = list(islice((n for n in from_here if n not in self._rows), _SHOWN_AT_ONCE))
            keys = [self._found[number].key for number in wanted]
            for number, (name, row) in zip(wanted, self._engine.shown(keys), strict=True):
                if name not in self._names:  # indexed since this search began
                    self._names[name] = name
                    self._known_names.append(name)
                self._rows[number] = replace(schema.parse_row(row), workspace=self._names[name])
        return self._rows[document]

    def _rows_matching(self, *_: Any, **__: Any) -> list[IndexRow]:
        """The candidates are all that a phrase is looked for in."""
        return []

    def _copies(self, rows: Sequence[IndexRow], *_: Any) -> list[Sequence[IndexRow]]:
        return [()] * len(rows)


def search_fleet(
    fleet: Fleet, request: Search, repositories: str | None = None, reader: str | None = None
) -> SearchResult:
    """The entries that answer a query best among those that the asker may read.

    `repositories`: a glob of those that are asked; each hit names its own as `workspace`. Raises
    FleetProblem, UsageProblem.
    """
    for name in _OF_THE_REPOSITORY:
        if getattr(request, name):
            raise UsageProblem(f"{field(name)} is asked of a repository itself, not of a fleet")
    if not request.has_words:
        raise UsageProblem("a search of a fleet needs words")
    held, readable = fleet.engine.held(), fleet.readable(reader)
    if readable is not None:
        may_read = held.keys() & set(readable)
        readable = None if len(may_read) == len(held) else tuple(sorted(may_read))
    if repositories is not None:
        readable = matching(held if readable is None else readable, repositories)
    hits: tuple[Hit, ...] = ()
    if readable is None or readable:
        asking = fleet.asking()
        today = asking.now().date()
        asked = query_of(asking, request, filter_of(asking, request, today), today)
        found = FleetSearcher(fleet, readable).search(asked)
        hits = tuple(match.hit for match in found)
    engine, notes = fleet.engine, tuple[str, ...]()
    if fleet.is_partial and engine.answering < (shards := engine.describe()["shards"]):
        notes = (f"{engine.answering} of {shards} shards",)
    return SearchResult(query=request.query, commit=None, stale=False, hits=hits, notes=notes)


def with_fleet(workspace: Workspace, request: Search, found: SearchResult) -> SearchResult:
    """An answer of a workspace, and behind its hits those of the user's fleet that are not among
    them; without, and a word of why, where that cannot be asked.
    """
    try:
        fleet = workspace.resources.get(_KeptFleet).opened(workspace.environment)
        others = search_fleet(fleet, replace(request, fleet=False)).hits
    except (MdmemError, OSError) as problem:
        return replace(found, notes=(*found.notes, f"the fleet is missing: {reason_of(problem)}"))
    shown = {(hit.path, hit.text) for hit in found.hits}
    further = tuple(hit for hit in others if (hit.path, hit.text) not in shown)
    note = f"of the fleet, and so of others: the last {number_of(len(further), 'hit')}"
    notes = (*found.notes, note) if further else found.notes
    return replace(found, hits=(*found.hits, *further), notes=notes)


class _KeptFleet:
    """The fleet of a process that lasts: what was opened, and who may read what, for a while."""

    def __init__(self) -> None:
        self._stamp: object = None
        self._fleet: Fleet | None = None

    def opened(self, environment: Mapping[str, str]) -> Fleet:
        path = settings_path(environment)
        stamp = path and files.stamp(str(path))
        if self._fleet is None or stamp != self._stamp:
            self._fleet, self._stamp = open_fleet(environment), stamp
        return self._fleet


def _short_names(repositories: Iterable[str]) -> dict[str, str]:
    """The last part of each address, where it is that of no other; else all of it."""
    last = {each: each.rpartition("/")[2].removesuffix(".git") for each in sorted(repositories)}
    number = Counter(last.values())
    return {each: name if number[name] == 1 else each for each, name in last.items()}
