"""What can be asked, and the same as a query of the index."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from operator import attrgetter
from posixpath import normpath

from tantivy import FieldType, Occur, Query

from mdmem.search import ranking
from mdmem.search.schema import (
    FACT_LABEL,
    MOVED_LABEL,
    PAST_LABEL,
    address_digest,
    as_label,
    file_label,
    folded_label,
    schema,
    statement_label,
)
from mdmem.search.terms import ENGLISH, Terms, encodable, members, query_terms, related, weak_terms
from mdmem.startup.records import dataclass

_TOLD_KEPT = 20_000
_MAX_ASKED = 24
"""Words of a question; a text that says more has its like among its own words."""

_SHORTEST_STEM, _LONGEST_ENDING = 4, 2
"""In letters, where no stemmer tells them apart."""

_SOME_DAY = 1
"""The first ordinal; what has no day has less."""
_FIRST_DAY, _LAST_DAY = date(1970, 1, 2), date(9000, 1, 1)
"""Between these every zone can tell the seconds of a day; no commit lies outside."""


@dataclass(frozen=True, slots=True)
class Filter:
    """What an entry must be; every part that is given must hold, and a part that is not given lets everything pass that is current.

    - `file`: the file's path, a folder above it, or its name.
    - `section`: some contiguous part of the entry's section path, as an address (`Work`, `Work > Employer`); case and markup are
      folded, so everything below a section passes too.
    - `kind`, `tags` (every one of them), `any_tags` (one of them at least): in any case.
    - `since`, `until`: both inclusive, by the entry's day, or where it has none by the day, in `zone` (None: the system's), of the
      commit that brought it in. What has neither is text that was just written, and counts as today's.
    - `min_confidence`: from 0 to 1. What has no commit is a person's pending text, which counts as user-stated: it passes.
    - `log_days_from`: daily logs only from that day on; whatever has no day passes.
    - `facts_only`: list items only.
    - `valid_on`: leaves out what has expired before that day; `until D` holds through D.
    - `history`: what is superseded, removed or expired passes as well.
    - `as_of`: what passes is what was current at that landmark, and nothing uncommitted; not together with `history`.
    """

    file: str | None = None
    section: str | None = None
    kind: str | None = None
    tags: tuple[str, ...] = ()
    any_tags: tuple[str, ...] = ()
    since: date | None = None
    until: date | None = None
    min_confidence: float | None = None
    log_days_from: date | None = None
    facts_only: bool = False
    valid_on: date | None = None
    zone: tzinfo | None = None
    history: bool = False
    as_of: int | None = None

    @property
    def only_current(self) -> bool:
        """Whether it asks for nothing but what is current, on some day: the everyday search."""
        return _narrowing(self) == _NOT_NARROWED

    @property
    def reaches_back(self) -> bool:
        """Whether more than what is current is asked for."""
        return self.history or self.as_of is not None


_narrowing = attrgetter(*(name for name in Filter.__match_args__ if name not in ("valid_on", "zone")))
_NOT_NARROWED = _narrowing(Filter())


@dataclass(frozen=True, slots=True)
class IndexQuery:
    """A search: a query as it was typed, at most so many hits, among those that pass the filter; `today` is the user's.

    With `explain`, each match says how its score came about. With a `decay`, logs lose weight with age.
    """

    query: str
    limit: int
    filter: Filter
    today: date
    explain: bool = False
    decay: ranking.Decay | None = None


Clause = tuple[str, str, float, str]
"""A field, a term that is looked for in it, what its BM25 there is multiplied by, and the query's own term for it.

A plain tuple: a search makes them by the hundred.
"""


class Lexicon:
    """What an index that does not change knows of words. It keeps what it has told, as one question has words in common with the next.

    - `total`: the number of its entries.
    - `holding`: how many of them hold a term in their own text; what none of them does stands in no field but `heading`.
    - `heading`: how many of them stand under a heading that holds it.
    - `beginning`: some of the terms in their text that begin so.
    """

    def __init__(
        self, total: int, holding: Callable[[str], int], heading: Callable[[str], int], beginning: Callable[[str], Iterable[str]]
    ) -> None:
        self.total = total
        self.holding, self.heading = lru_cache(_TOLD_KEPT)(holding), lru_cache(_TOLD_KEPT)(heading)
        self.beginning = beginning
        self._likes: dict[str, tuple[tuple[str, float], ...]] = {}

    def has_term(self, term: str) -> bool:
        """Whether there is anything to find for a term: many are asked about, few are there."""
        return bool(self.holding(term) or self.heading(term))

    def rarity(self, term: str) -> float:
        """How much a term says."""
        return ranking.rarity(self.total, self.holding(term))

    def relatives(self, word: str) -> tuple[tuple[str, float], ...]:
        """The terms that may stand where a question has this one, each with its share of this one's worth."""
        found = self._likes.get(word)
        if found is None:
            self.drop_relatives(_TOLD_KEPT)
            found = self._likes[word] = tuple(_likes(word, self))
        return found

    def drop_relatives(self, beyond: int = 0) -> None:
        """Work out again what terms are worth, if more of it is kept than that."""
        if len(self._likes) >= beyond:
            self._likes.clear()


def clauses(question: str, lexicon: Lexicon, language: str = ENGLISH) -> tuple[Clause, ...]:
    """What a query, as it was typed, looks for in an index of a language; none where its words ask for nothing."""
    terms = query_terms(question, language)
    only_weak = weak_terms().issuperset(terms.words)
    worth = {term: ranking.WEAK_WORD_WEIGHT if term in weak_terms() and not only_weak else 1.0 for term in terms.words}
    words = {**{other: said for said, other in terms.also if said in worth}, **{term: term for term in terms.words}}
    likes = _all_likes(terms, lexicon) if len(terms.words) <= _MAX_ASKED else {}
    found = []
    for name, weight in ranking.FIELD_WEIGHTS.items():
        if name == "grams":
            found += [(name, gram, weight, gram) for gram in terms.grams]
            continue
        known = lexicon.heading if name == "heading" else lexicon.holding
        found += [(name, term, weight * worth[said], said) for term, said in words.items() if known(term)]
        share = weight * ranking.RELATED_SHARES[name]
        found += [
            (name, like, share * worth.get(said, 1.0) * part, said)
            for like, (said, part) in likes.items()
            if known(like) and like not in words
        ]
    return tuple(found)


def _all_likes(terms: Terms, lexicon: Lexicon) -> dict[str, tuple[str, float]]:
    """Other terms that the answer may have, each with the query's own and its share of that one's worth."""
    found: dict[str, tuple[str, float]] = {}
    for word in terms.words:
        for other, share in lexicon.relatives(word):
            if other not in terms.words and share > found.get(other, ("", 0.0))[1]:
                found[other] = word, share
    for said, joined in terms.joined:
        if lexicon.has_term(joined):
            found[joined] = said, ranking.JOINED_WEIGHT
    return found


def _likes(word: str, lexicon: Lexicon) -> Iterator[tuple[str, float]]:
    rare = lexicon.rarity(word)
    if rare < ranking.RARITY_WEIGHT:
        return
    others = dict.fromkeys(members(word), ranking.MEMBER_SHARE) | dict.fromkeys(related(word), 1.0)
    if not lexicon.holding(word) and len(word) >= _SHORTEST_STEM:
        others |= dict.fromkeys(_inflected(word, lexicon), ranking.INFLECTED_SHARE)
    yield from ((other, worth * min(1.0, rare / lexicon.rarity(other))) for other, worth in others.items() if lexicon.has_term(other))


def _inflected(word: str, lexicon: Lexicon) -> list[str]:
    """Words of the memory that begin like one which is not in it: in a language without a stemmer, other forms of that."""
    begins = lexicon.beginning(word[: max(_SHORTEST_STEM, len(word) - _LONGEST_ENDING)])
    return [other for other in begins if abs(len(other) - len(word)) <= _LONGEST_ENDING]


def any_term_query(looked_for: Iterable[Clause]) -> Query:
    """The query of the index for whatever holds one of these terms."""
    should, fields, term, boost = Occur.Should, schema(), Query.term_query, Query.boost_query
    return Query.boolean_query(
        [(should, boost(term(fields, name, said, index_option="freq"), weight)) for name, said, weight, _ in looked_for]
    )


def filtered_query(said: Query, wanted: Filter, today: date) -> Query:
    """The same query for what passes the filter."""
    return Query.boolean_query([(Occur.Must, said), *_conditions(wanted, today)])


def term_query(one: Clause) -> Query:
    """The query for the term of a clause, without its weight."""
    name, said, *_ = one
    return Query.term_query(schema(), name, said, index_option="freq")


def filter_query(wanted: Filter, today: date) -> Query:
    """The query of the index for everything that passes the filter."""
    return Query.boolean_query([(Occur.Must, Query.all_query()), *_conditions(wanted, today)])


def file_query(path: str) -> Query:
    """The query for the entries that belong to a file."""
    return Query.term_query(schema(), "label", file_label("path", path), index_option="basic")


def statement_query(statements: Collection[int], wanted: Filter, today: date) -> Query:
    """The query for every occurrence of some statements, by their numbers, that passes the filter, and for a few of other statements."""
    said = Query.term_set_query(schema(), "label", [statement_label(number) for number in statements])
    return Query.boolean_query([(Occur.Must, said), *_conditions(wanted, today)])


def label_query(name: str, *values: str) -> Query:
    """The query for what has a label of this name with one of these values."""
    return Query.term_set_query(schema(), "label", [as_label(name, encodable(value)) for value in values])


def _conditions(wanted: Filter, today: date) -> Iterator[tuple[Occur, Query]]:
    """What a filter asks for; none of it adds to a score."""
    if wanted.as_of is not None:
        yield Occur.MustNot, _range("begun", FieldType.Integer, lower=wanted.as_of + 1)
        yield Occur.MustNot, _range("ended", FieldType.Integer, upper=wanted.as_of + 1)
    else:
        yield Occur.MustNot, Query.term_query(schema(), "label", MOVED_LABEL if wanted.history else PAST_LABEL, index_option="basic")
    for must in _labels(wanted):
        yield Occur.Must, Query.const_score_query(must, 0.0)
    if wanted.since is not None or wanted.until is not None:
        yield Occur.Must, Query.const_score_query(_brought_in(wanted, today), 0.0)
    if wanted.min_confidence is not None:
        yield Occur.MustNot, _range("confidence", FieldType.Float, upper=wanted.min_confidence)
    if wanted.log_days_from is not None:
        yield Occur.MustNot, _range("day", FieldType.Integer, _SOME_DAY, wanted.log_days_from.toordinal())
    if wanted.valid_on is not None and not wanted.history:
        yield Occur.MustNot, _range("until", FieldType.Integer, upper=wanted.valid_on.toordinal())


def _labels(wanted: Filter) -> Iterator[Query]:
    place = None if wanted.file is None else normpath(encodable(wanted.file))
    if place not in (None, "."):
        yield label_query("place", place)
    if wanted.section is not None:
        yield label_query("part", address_digest(encodable(wanted.section)))
    if wanted.kind is not None:
        yield label_query("kind", folded_label(wanted.kind))
    for tag in wanted.tags:
        yield label_query("tag", folded_label(tag.removeprefix("#")))
    if wanted.any_tags:
        yield label_query("tag", *(folded_label(tag.removeprefix("#")) for tag in wanted.any_tags))
    if wanted.facts_only:
        yield Query.term_query(schema(), "label", FACT_LABEL, index_option="basic")


def _brought_in(wanted: Filter, today: date) -> Query:
    """From `since` to `until`, by the entry's day; where it has none, by its commit's; where it has none either, by today."""
    first, last = wanted.since or date.min, wanted.until or date.max
    by_day = _range("day", FieldType.Integer, first.toordinal(), last.toordinal() + 1)
    start, end = _seconds(first, wanted.zone), _seconds(last, wanted.zone, days=1)
    has_day, has_time = _range("day", FieldType.Integer, lower=_SOME_DAY), Query.exists_query("time")
    by_commit = Query.boolean_query([(Occur.Must, _range("time", FieldType.Integer, start, end)), (Occur.MustNot, has_day)])
    ways = [by_day, by_commit]
    if first <= today <= last:
        ways.append(Query.boolean_query([(Occur.Must, Query.all_query()), (Occur.MustNot, has_day), (Occur.MustNot, has_time)]))
    return Query.boolean_query([(Occur.Should, way) for way in ways])


def _seconds(day: date, zone: tzinfo | None, days: int = 0) -> int:
    """When a day (or that many days after it) begins, in seconds since 1970."""
    near = min(max(day, _FIRST_DAY), _LAST_DAY) + timedelta(days=days)
    return int(datetime.combine(near, time.min, tzinfo=zone).timestamp())


def _range(name: str, kind: FieldType, lower: float | None = None, upper: float | None = None) -> Query:
    """From `lower`, inclusive, up to `upper`, exclusive."""
    return Query.range_query(schema(), name, kind, lower_bound=lower, upper_bound=upper, include_upper=upper is None)
