"""Filters and queries of the user, and the tantivy queries made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta, tzinfo
from functools import lru_cache, partial
from itertools import chain, islice
from operator import attrgetter
from posixpath import normpath

from tantivy import FieldType, Occur, Query

from mdmem.index import ranking
from mdmem.index.indexed import (
    CONTRADICTED_LABEL,
    COPIED_LABEL,
    DONE_LABEL,
    FACT_LABEL,
    FIELD_LABEL,
    MOVED_LABEL,
    NESTED_LABEL,
    OPEN_LABEL,
    PAST_LABEL,
    actor_label,
    address_digest,
    as_label,
    fact_label,
    file_label,
    folded_label,
    session_label,
)
from mdmem.index.ranking import Meaning
from mdmem.index.schema import NEVER, schema
from mdmem.model import FactId
from mdmem.model.trail import Ranges, complement
from mdmem.startup import late
from mdmem.startup.records import dataclass, field
from mdmem.text.facts import plain_tag
from mdmem.text.terms import (
    ENGLISH,
    MAX_TERMS,
    Terms,
    encodable,
    folded,
    light_terms,
    members,
    query_terms,
    related,
    stemmed,
    weak_terms,
    words_in_order,
)

_ANSWERS_KEPT = 20_000
_MAX_ASKED = 24
"""Longer questions are not expanded with related words."""

_SHORTEST_STEM, _LONGEST_ENDING = 4, 2
"""Letters that two forms share, and end in at most, in a language without a stemmer."""

_PHRASE = late.pattern(
    r'["\u201c\u201d\u201e\u00ab]([^"\u201c\u201d\u201e\u00ab\u00bb]+)["\u201c\u201d\u00bb]'
)
"""Words between double quotes of any kind."""
_LEFT_OUT = late.pattern(r"(?<=\s)-([^\W\d_]{3,})(?!\S)")
_SHORTEST_BEGINNING = 4
"""Letters of a beginning that finds words; a word that may have a wrong one has more."""
GRAM_FIELDS = ("grams", "grams_around")

_SOME_DAY = 1
"""The first ordinal; entries without a day have 0."""
_FEW_TERMS = 24
_FIRST_DAY, _LAST_DAY = date(1970, 1, 2), date(9000, 1, 1)
"""Days with a time stamp in every zone; no commit is outside."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions on an entry, all of which must hold; empty: everything current.

    - `file`: a path, a folder above it, or a file name.
    - `section`: a contiguous part of the section path (`Work`, `Work > Employer`); case and markup
      are folded.
    - `kind`, `tags` (all), `any_tags` (at least one): ignoring case.
    - `ids`: facts with one of these ids, and a few others.
    - `actor`: else the author of the commit; `session`: where it was said. `source`: pending edits
      have none.
    - `since`, `until`: inclusive, by the entry's day, else its commit's in `zone` (None: the
      system's), else today.
    - `min_confidence`: pending edits pass. `facts_only`: list items only; `keyed`: those in others
      and fields of notes too; `contradicted`: those that contradict others; `undone`: without tasks
      that are done, `settled`: without open ones.
    - `log_days_from`: daily logs only from that day on; entries without a day pass.
    - `valid_on`: without entries that expired before; `until D` holds through D.
    - `expires_by`: entries with a last day up to this one.
    - `history`: superseded, removed and expired entries pass as well.
    - `as_of`: entries current where these commits alone are known; not with `history`.
    """

    file: str | None = None
    section: str | None = None
    kind: str | None = None
    tags: tuple[str, ...] = ()
    any_tags: tuple[str, ...] = ()
    ids: tuple[FactId, ...] = ()
    actor: str | None = None
    session: str | None = None
    source: str | None = None
    since: date | None = None
    until: date | None = None
    min_confidence: float | None = None
    log_days_from: date | None = None
    facts_only: bool = False
    keyed: bool = False
    contradicted: bool = False
    undone: bool = False
    settled: bool = False
    valid_on: date | None = None
    expires_by: date | None = None
    zone: tzinfo | None = None
    history: bool = False
    as_of: Ranges | None = None

    @property
    def only_current(self) -> bool:
        """True if nothing is set but the day and the zone: the everyday search."""
        return _narrowing(self) == _NOT_NARROWED

    @property
    def reaches_back(self) -> bool:
        """True if entries that are no longer current may pass."""
        return self.history or self.as_of is not None


_narrowing = attrgetter(
    *(name for name in Filter.__match_args__ if name not in ("valid_on", "zone"))
)
_NOT_NARROWED = _narrowing(Filter())


@dataclass(frozen=True, slots=True)
class Syntax:
    """Signs in a typed query, and what they ask for.

    - `phrases`: words in quotes, as `words_in_order` gives them; `without`: folded words.
    - `is_whole`: nothing is asked for besides.
    """

    phrases: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    is_whole: bool = False

    def holds_phrases(self, text: str) -> bool:
        words = words_in_order(text)
        return all(phrase in words for phrase in self.phrases)

    def leaves_out(self, text: str) -> bool:
        words = words_in_order(text)
        return any(f" {word} " in words for word in self.without)


def read_syntax(typed: str) -> tuple[str, Syntax]:
    """The words of a typed query, and what its quotes and `-word` ask for."""
    without = tuple(chain.from_iterable(map(folded, _LEFT_OUT.findall(typed))))
    words = _LEFT_OUT.sub(" ", typed) if without else typed
    phrases = [words_in_order(phrase) for phrase in _PHRASE.findall(words)]
    return words, Syntax(
        tuple(phrase for phrase in phrases if phrase.strip()),
        without,
        is_whole=not words_in_order(_PHRASE.sub(" ", words)).strip(),
    )


def phrase_query(phrases: Iterable[str], languages: Iterable[str]) -> Query:
    """The tantivy query for entries with all words of some phrases, in whatever order."""
    forms = {
        word: {("text", stemmed([word], each)) for each in (*languages, ENGLISH)}
        for phrase in phrases
        for word in phrase.split()
    }
    return Query.boolean_query(
        [
            (
                Occur.Must,
                Query.boolean_query(
                    [
                        (Occur.Should, Query.term_query(schema(), name, term, index_option="freq"))
                        for name, term in (*terms, ("grams", word))
                    ]
                ),
            )
            for word, terms in islice(forms.items(), MAX_TERMS)
        ]
    )


def like_query(words: Mapping[str, int]) -> Query | None:
    """The tantivy query for words that begin with a stem, or differ by a letter; None for none.

    `words`: the letters of each stem's word.
    """
    fuzzy = partial(Query.fuzzy_term_query, schema(), "text")
    likes = [
        *(fuzzy(stem, 0, prefix=True) for stem in words if len(stem) >= _SHORTEST_BEGINNING),
        *(fuzzy(stem, 1) for stem, letters in words.items() if letters > _SHORTEST_BEGINNING),
    ]
    return Query.boolean_query([(Occur.Should, each) for each in likes]) if likes else None


@dataclass(frozen=True, slots=True)
class IndexQuery:
    """A query as typed, its filter, the maximum number of hits and the user's day.

    `decay`: logs lose weight with age. `spread`: somebody typed it, and hits beside better ones
    with the same words rank lower. `meaning`: asked too, where words leave doubt. `changes_within`:
    of so many candidates, those that may report a change follow the hits. `syntax`: of what
    somebody typed to a search. `owner`: names of the one who asks, as logs have them.
    """

    query: str
    limit: int
    filter: Filter
    today: date
    explain: bool = False
    decay: ranking.Decay | None = None
    spread: bool = True
    changes_within: int = 0
    meaning: Meaning | None = field(default=None, compare=False)
    syntax: Syntax | None = None
    owner: tuple[str, ...] = ()

    @property
    def looked_at(self) -> int:
        """The number of hits among which the first ones are chosen."""
        return max(self.limit, self.changes_within)


Clause = tuple[str, str, float, str]
"""Field, term, factor of its BM25 score, and the query's own term; a tuple, since there are
hundreds.
"""


class Lexicon:
    """Cached counts of terms in one state of an index, since related questions share words.

    - `total`: number of entries; `holding`: with a term in their text; `heading`: below one with
      it; `in_field`: with one in another field.
    - `beginning`: some of the terms with a prefix.
    - `languages`: those of the entries, most used first.
    """

    def __init__(
        self,
        total: int,
        holding: Callable[[str], int],
        heading: Callable[[str], int],
        beginning: Callable[[str], Iterable[str]],
        languages: tuple[str, ...] = (ENGLISH,),
        in_field: Callable[[str, str], int] = lambda *_: 0,
    ) -> None:
        self.total = total
        self.languages = languages
        self.holding, self.heading = (
            lru_cache(_ANSWERS_KEPT)(holding),
            lru_cache(_ANSWERS_KEPT)(heading),
        )
        self.in_field = lru_cache(_ANSWERS_KEPT)(in_field)
        self.beginning = beginning
        self._likes: dict[tuple[str, bool], tuple[tuple[str, float], ...]] = {}

    def has_term(self, term: str) -> bool:
        return bool(self.holding(term) or self.heading(term))

    def rarity(self, term: str) -> float:
        return ranking.rarity(self.total, self.holding(term))

    def rarity_anywhere(self, term: str) -> float:
        return ranking.rarity(self.total, self.holding(term) or self.heading(term))

    def relatives(self, word: str, is_own: bool = True) -> tuple[tuple[str, float], ...]:
        """Terms that may replace a word of a question, with their shares of its weight.

        `is_own`: it is the query's own term, not its stem in English.
        """
        relatives = self._likes.get((word, is_own))
        if relatives is None:
            self.drop_relatives(_ANSWERS_KEPT)
            relatives = self._likes[word, is_own] = tuple(_likes(word, self, is_own))
        return relatives

    def drop_relatives(self, beyond: int = 0) -> None:
        if len(self._likes) >= beyond:
            self._likes.clear()


def clauses(question: str, lexicon: Lexicon) -> tuple[Clause, ...]:
    """The clauses of a query as typed; none if the index has none of its words.

    Where it has only the stop words of a query with few of them, these count ("on off" finds "on").
    """
    spoken = lexicon.languages
    weak = light_terms() if ranking.asks_of_self(question) else weak_terms()
    return _term_clauses(query_terms(question, spoken), lexicon, weak) or _term_clauses(
        query_terms(question, spoken, few_stop_words=True), lexicon, weak
    )


def _term_clauses(terms: Terms, lexicon: Lexicon, weak: frozenset[str]) -> tuple[Clause, ...]:
    only_weak = weak.issuperset(terms.words)
    worth = {
        term: ranking.WEAK_WORD_WEIGHT if term in weak and not only_weak else 1.0
        for term in terms.words
    }
    words = {
        **{variant: query_word for query_word, variant in terms.also if query_word in worth},
        **{term: term for term in terms.words},
    }
    shares = _shares_of_forms(words, lexicon) if terms.also else {}
    related_terms = _related_terms(terms, lexicon) if len(terms.words) <= _MAX_ASKED else {}
    counts: dict[str, Callable[[str], int]] = {
        "heading": lexicon.heading,
        "around": lexicon.has_term,
        **{name: partial(lexicon.in_field, name) for name in ("parts", "keys")},
    }
    clauses = []
    for name, weight in ranking.FIELD_WEIGHTS.items():
        if name in GRAM_FIELDS:
            clauses += [(name, gram, weight, gram) for gram in terms.grams]
            continue
        if name == "heading":
            clauses += [(name, gram, weight, gram) for gram in terms.grams if lexicon.heading(gram)]
        document_count = counts.get(name, lexicon.holding)
        clauses += [
            (name, term, weight * worth[query_word] * shares.get(term, 1.0), query_word)
            for term, query_word in words.items()
            if document_count(term)
        ]
        share = weight * ranking.RELATED_SHARES[name]
        clauses += [
            (name, related_term, share * worth.get(query_word, 1.0) * fraction, query_word)
            for related_term, (query_word, fraction) in related_terms.items()
            if document_count(related_term) and related_term not in words
        ]
    return tuple(clauses)


def _shares_of_forms(words: Mapping[str, str], lexicon: Lexicon) -> dict[str, float]:
    """Of forms of one word, the one in a language that seldom has it would outweigh its usual one.

    With these shares of their weights they are together as rare as the word. `words`: the query's
    own term by each form's.
    """
    counts = {term: lexicon.holding(term) or lexicon.heading(term) for term in words}
    of_word = Counter[str]()
    for term, query_word in words.items():
        of_word[query_word] += counts[term]
    return {
        term: ranking.rarity(lexicon.total, min(lexicon.total, of_word[query_word]))
        / ranking.rarity(lexicon.total, counts[term])
        for term, query_word in words.items()
    }


def text_clauses(text: str, lexicon: Lexicon) -> tuple[Clause, ...]:
    """The clauses of a text for entries that hold its words themselves; none if no entry does."""
    terms = query_terms(text, lexicon.languages)
    words = {
        **{variant: word for word, variant in terms.also},
        **{each: each for each in terms.words},
    }
    shares = _shares_of_forms(words, lexicon) if terms.also else {}
    return (
        *(
            ("text", term, shares.get(term, 1.0), word)
            for term, word in words.items()
            if lexicon.holding(term)
        ),
        *(("grams", gram, 1.0, gram) for gram in terms.grams),
    )


def own_terms(clauses: Iterable[Clause]) -> dict[str, dict[str, str]]:
    terms_of_fields: dict[str, dict[str, str]] = {name: {} for name in ranking.OWN_FIELDS}
    for name, term, _, query_word in clauses:
        if name in terms_of_fields:
            terms_of_fields[name][term] = query_word
    return terms_of_fields


def _related_terms(terms: Terms, lexicon: Lexicon) -> dict[str, tuple[str, float]]:
    related_terms: dict[str, tuple[str, float]] = {}
    own = ((word, word) for word in terms.words)
    for word, form in (*own, *terms.english):
        for related_term, share in lexicon.relatives(form, form == word):
            if (
                related_term not in terms.words
                and share > related_terms.get(related_term, ("", 0.0))[1]
            ):
                related_terms[related_term] = word, share
    for word, joined in terms.joined:
        if lexicon.has_term(joined):
            related_terms[joined] = word, ranking.JOINED_WEIGHT
    return related_terms


def _likes(word: str, lexicon: Lexicon, is_own: bool) -> Iterator[tuple[str, float]]:
    rarity = lexicon.rarity(word)
    if rarity < ranking.RARITY_WEIGHT:
        return
    candidates = dict.fromkeys(members(word), ranking.MEMBER_SHARE) | dict.fromkeys(
        related(word), 1.0
    )
    if is_own and not lexicon.holding(word) and len(word) >= _SHORTEST_STEM:
        candidates |= dict.fromkeys(_inflected(word, lexicon), ranking.INFLECTED_SHARE)
    yield from (
        (related_term, worth * min(1.0, rarity / lexicon.rarity(related_term)))
        for related_term, worth in candidates.items()
        if lexicon.has_term(related_term)
    )


def _inflected(word: str, lexicon: Lexicon) -> list[str]:
    candidates = lexicon.beginning(word[: max(_SHORTEST_STEM, len(word) - _LONGEST_ENDING)])
    return [
        candidate for candidate in candidates if abs(len(candidate) - len(word)) <= _LONGEST_ENDING
    ]


def any_term_query(clauses: Iterable[Clause]) -> Query:
    """The tantivy query for entries that hold at least one of these terms."""
    should, fields, term, boost = Occur.Should, schema(), Query.term_query, Query.boost_query
    return Query.boolean_query(
        [
            (should, boost(term(fields, name, text, index_option="freq"), weight))
            for name, text, weight, _ in clauses
        ]
    )


def filtered_query(query: Query, passing_filter: Filter, today: date) -> Query:
    return Query.boolean_query([(Occur.Must, query), *_conditions(passing_filter, today)])


def term_query(clause: Clause) -> Query:
    name, term, *_ = clause
    return Query.term_query(schema(), name, term, index_option="freq")


def filter_query(passing_filter: Filter, today: date) -> Query:
    return filtered_query(Query.all_query(), passing_filter, today)


def visible_query(query: Query, hidden_paths: Sequence[str]) -> Query:
    return (
        Query.boolean_query(
            [(Occur.Must, query), *((Occur.MustNot, file_query(path)) for path in hidden_paths)]
        )
        if hidden_paths
        else query
    )


def passage_query(keys: Collection[int], passing_filter: Filter, today: date) -> Query:
    return filtered_query(
        Query.boolean_query(
            [(Occur.Should, Query.term_query(schema(), "passage", key)) for key in keys]
        ),
        passing_filter,
        today,
    )


def file_query(path: str) -> Query:
    return Query.term_query(schema(), "label", file_label(path), index_option="basic")


def statement_term(statement: str) -> Query:
    """The query for all occurrences of a statement (by label), with a few others."""
    return Query.term_query(schema(), "label", statement, index_option="basic")


def statement_query(statements: Collection[str], passing_filter: Filter, today: date) -> Query:
    # For a set of terms the engine makes an automaton, which takes longer than a dozen terms.
    query = (
        Query.boolean_query([(Occur.Should, statement_term(each)) for each in statements])
        if len(statements) <= _FEW_TERMS
        else Query.term_set_query(schema(), "label", list(statements))
    )
    return filtered_query(query, passing_filter, today)


def copied_query(passing_filter: Filter, today: date) -> Query:
    copied = Query.term_query(schema(), "origin", COPIED_LABEL, index_option="basic")
    return filtered_query(copied, passing_filter, today)


def tagged_query(query: Query) -> Query:
    return Query.boolean_query([(Occur.Must, query), (Occur.Must, Query.exists_query("tagged"))])


def dated_query(passing_filter: Filter, today: date, first: int) -> Query:
    return filtered_query(
        _range("day", FieldType.Integer, lower=max(first, _SOME_DAY)), passing_filter, today
    )


def undated_query(passing_filter: Filter, today: date, first: int | None) -> Query:
    """`first`: the time of the earliest commit; None: uncommitted ones."""
    times = (
        [(Occur.MustNot, Query.exists_query("time"))]
        if first is None
        else [(Occur.Must, _range("time", FieldType.Integer, lower=first))]
    )
    undated = Query.boolean_query(
        [
            (Occur.Must, Query.all_query()),
            (Occur.MustNot, _range("day", FieldType.Integer, lower=_SOME_DAY)),
            *times,
        ]
    )
    return filtered_query(undated, passing_filter, today)


def label_query(name: str, *values: str, field: str = "label") -> Query:
    return Query.term_set_query(
        schema(), field, [as_label(name, encodable(value)) for value in values]
    )


def _conditions(passing_filter: Filter, today: date) -> Iterator[tuple[Occur, Query]]:
    if passing_filter.as_of is not None:
        for first, last in complement(passing_filter.as_of, NEVER):
            yield Occur.MustNot, _range("begun", FieldType.Integer, first, last + 1)
        for first, last in passing_filter.as_of:
            yield Occur.MustNot, _range("ended", FieldType.Integer, first, last + 1)
    else:
        yield (
            Occur.MustNot,
            Query.term_query(
                schema(),
                "label",
                MOVED_LABEL if passing_filter.history else PAST_LABEL,
                index_option="basic",
            ),
        )
    without = {DONE_LABEL: passing_filter.undone, OPEN_LABEL: passing_filter.settled}
    for label in filter(without.get, without):
        yield Occur.MustNot, Query.term_query(schema(), "label", label, index_option="basic")
    for condition in _labels(passing_filter):
        yield Occur.Must, Query.const_score_query(condition, 0.0)
    if passing_filter.since is not None or passing_filter.until is not None:
        yield Occur.Must, Query.const_score_query(_added_between(passing_filter, today), 0.0)
    if passing_filter.min_confidence is not None:
        yield (
            Occur.MustNot,
            _range("confidence", FieldType.Float, upper=passing_filter.min_confidence),
        )
    if passing_filter.log_days_from is not None:
        yield (
            Occur.MustNot,
            _range(
                "logged", FieldType.Integer, _SOME_DAY, passing_filter.log_days_from.toordinal()
            ),
        )
    if passing_filter.valid_on is not None and not passing_filter.history:
        yield (
            Occur.MustNot,
            _range("until", FieldType.Integer, upper=passing_filter.valid_on.toordinal()),
        )
    if passing_filter.expires_by is not None:
        last_day = _range(
            "until", FieldType.Integer, upper=passing_filter.expires_by.toordinal() + 1
        )
        yield Occur.Must, Query.const_score_query(last_day, 0.0)


def label_conditions(passing_filter: Filter) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Places, kinds and tags that a filter asks for: of each, one of the values behind its name."""
    path = None if passing_filter.file is None else normpath(encodable(passing_filter.file))
    if path not in (None, "."):
        yield "place", (path,)
    if passing_filter.section is not None:
        yield "part", (address_digest(encodable(passing_filter.section)),)
    if passing_filter.kind is not None:
        yield "kind", (folded_label(passing_filter.kind),)
    alternatives = [*((tag,) for tag in passing_filter.tags), passing_filter.any_tags]
    for tags in filter(None, alternatives):
        yield "tag", tuple(folded_label(plain_tag(tag)) for tag in tags)


def _labels(passing_filter: Filter) -> Iterator[Query]:
    for name, values in label_conditions(passing_filter):
        yield label_query(name, *values)
    if passing_filter.actor is not None:
        yield label_query("actor", actor_label(passing_filter.actor), field="origin")
    if passing_filter.session is not None:
        yield label_query("session", session_label(passing_filter.session), field="origin")
    if passing_filter.source is not None:
        yield label_query("source", passing_filter.source, field="origin")
    if passing_filter.ids:
        said = list(map(fact_label, passing_filter.ids))
        yield Query.term_set_query(schema(), "label", said)
    if passing_filter.facts_only:
        labels = [FACT_LABEL, *((NESTED_LABEL, FIELD_LABEL) if passing_filter.keyed else ())]
        yield Query.term_set_query(schema(), "label", labels)
    if passing_filter.contradicted:
        yield Query.term_query(schema(), "label", CONTRADICTED_LABEL, index_option="basic")


def _added_between(passing_filter: Filter, today: date) -> Query:
    first, last = passing_filter.since or date.min, passing_filter.until or date.max
    by_day = _range("day", FieldType.Integer, first.toordinal(), last.toordinal() + 1)
    start, end = _seconds(first, passing_filter.zone), _seconds(last, passing_filter.zone, days=1)
    has_day, has_time = (
        _range("day", FieldType.Integer, lower=_SOME_DAY),
        Query.exists_query("time"),
    )
    by_commit = Query.boolean_query(
        [(Occur.Must, _range("time", FieldType.Integer, start, end)), (Occur.MustNot, has_day)]
    )
    alternatives = [by_day, by_commit]
    if first <= today <= last:
        alternatives.append(
            Query.boolean_query(
                [
                    (Occur.Must, Query.all_query()),
                    (Occur.MustNot, has_day),
                    (Occur.MustNot, has_time),
                ]
            )
        )
    return Query.boolean_query([(Occur.Should, alternative) for alternative in alternatives])


def _seconds(day: date, zone: tzinfo | None, days: int = 0) -> int:
    near = min(max(day, _FIRST_DAY), _LAST_DAY) + timedelta(days=days)
    return int(datetime.combine(near, time.min, tzinfo=zone).timestamp())


def _range(
    name: str, kind: FieldType, lower: float | None = None, upper: float | None = None
) -> Query:
    return Query.range_query(
        schema(), name, kind, lower_bound=lower, upper_bound=upper, include_upper=upper is None
    )
