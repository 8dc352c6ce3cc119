"""The gate: tell whether memory carries a prompt, by the number and rarity of its words in hits.
Pure.

Most prompts of a working session need no memory, and then no context is better than the nearest
entries. The gate only looks at an answer and never changes a score. A number alone carries nothing,
and a prompt that is not carried may still be a task, with curated lines on what it makes.

The weights are those of a logistic regression (`benchmarks/gate.py`). Carried: questions of a
conversation's own logs (the public half of LoCoMo) and of two small curated memories. Not carried:
questions of other conversations, and prompts of coding sessions. The constant leaves one in 110 of
the own questions without an answer.

Share of prompts that get nothing: own questions 0.009, other people's 0.83, unseen coding prompts
0.957; two curated memories' own questions 0.042 and 0.125, with a conversation's logs 0 and 0.025.
By the first score over the logarithm of the entries alone (at least 3.3): 0.017, 0.64 and 0.95, but
0.36 and 0.33, and 0.18 and 0.16.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence, Set
from datetime import date
from functools import cache
from itertools import pairwise

from mdmem.events import Quality
from mdmem.index import query, ranking
from mdmem.index.query import Lexicon
from mdmem.index.ranking import AMOUNT_WORDS, question_cues
from mdmem.model.searches import Hit
from mdmem.model.trail import Entry
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.asked_days import asked_days
from mdmem.text.english import BASE_FORMS
from mdmem.text.terms import (
    ENGLISH,
    STOP_WORDS,
    indexed_words,
    query_terms,
    split_scripts,
    stem,
    weak_terms,
)

CONSTANT = 0.3
SCORE_WEIGHT = 1.01
"""Of the first hit's score over the logarithm of the number of entries."""
FULL_SCORE = 5.0
"""Above it a score counts half: without neighbours the fields are short and score more."""
MATCHED_WEIGHT = 0.30
"""Of the summed rarities of the words in the best matching hit; the rarest word counts 1."""
MISSING_WEIGHT = -3.83
"""Of the logarithm of 1 plus the rarities of the words not in it."""
ROUTINE_REQUEST_WEIGHT, ROUTINE_QUESTION_WEIGHT = -8.12, -1.99
"""Of the share of routine words, in a request and in a question."""
ROUTINE_SHARE = 0.2
"""The share of its rarity that a routine word counts for."""
WEAK_SHARE = 0.5
"""The same for a word that shapes a question (many, kind, often)."""
RELATED_SHARE, HEADING_SHARE = 0.7, 0.8
"""The same where the hit has a relative of the word, or has it only in headings or file name."""
RARE_SHARE = 0.85
"""The least rarity of a rare word, which 3 of 1,000 entries have (benchmarks/README.md)."""
LEAST_CHARACTER_SHARE = 0.25
"""In scripts without spaces: the share of a prompt's pairs in one hit (not measured)."""

_READ_HITS = 8
_TELLING_WORDS = 2
_MOST_CHARS = 1000
_QUESTION = late.pattern(
    r"(?i)^\W*(?:who|whom|whose|what|when|where|which|how|why|did|does|do|is|are|was|were|has|"
    r"have|had|can|could|would|should|will)\b"
    r"|[?？؟]\s*$"
)
_ROUTINE_VERBS = """
    yes yeah yep ok okay sure thanks thank please great good nice perfect fine right wrong sorry
    hello hi hey done looks look works work working
    go going keep continue proceed stop wait try retry again rerun undo redo revert reset step next
    back
    run start launch execute open close show print tell explain describe summarise summarize help
    check verify see read write rewrite
    make create add insert remove delete drop rename move copy replace change edit update fix repair
    improve simplify clean refactor rework
    split merge join convert port use set put get call return take turn let want need
"""
_ROUTINE_NOUNS = """
    commit push pull rebase branch diff patch release tag bump version review approve request issue
    file folder directory path line code function method class variable parameter argument type hint
    module package import library dependency
    script command terminal shell output input log message comment docstring doc docs readme test
    tests unit suite lint linter format formatter
    build compile error exception warning bug stack trace traceback crash fail failing failure debug
    regex string list dict array loop query table column index schema migration database api
    endpoint request response server client
    button page color colour css style font layout
    name value result option flag config setting default example way thing problem approach idea
    time fast faster slow speed performance complexity memory
"""


@dataclass(frozen=True, slots=True)
class PromptWord:
    """`own`: its indexed term, which `relatives` may replace; `rarity`: a share of the maximum;
    `is_gram`: a pair of characters.
    """

    own: str
    rarity: float
    relatives: frozenset[str] = frozenset()
    is_gram: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence that memory carries a prompt: each field is the measure of one weight."""

    score: float
    matched: float
    missing: float
    routine_request: float
    routine_question: float

    @property
    def sum(self) -> float:
        return (
            CONSTANT
            + SCORE_WEIGHT * self.score
            + MATCHED_WEIGHT * self.matched
            + MISSING_WEIGHT * math.log(1 + self.missing)
            + ROUTINE_REQUEST_WEIGHT * self.routine_request
            + ROUTINE_QUESTION_WEIGHT * self.routine_question
        )


def prompt_words(prompt: str, lexicon: Lexicon) -> tuple[PromptWord, ...]:
    most = ranking.rarity(lexicon.total, 0)
    relatives: dict[str, set[str]] = {}
    for name, term, _, query_word in query.clauses(prompt, lexicon):
        if name in ranking.OWN_FIELDS and term != query_word:
            relatives.setdefault(query_word, set()).add(term)
    asked = query_terms(prompt, lexicon.languages)
    return (
        *(
            PromptWord(
                term, lexicon.rarity_anywhere(term) / most, frozenset(relatives.get(term, ()))
            )
            for term in asked.words
        ),
        *(PromptWord(gram, 1.0, is_gram=True) for gram in asked.grams),
    )


def is_carried(prompt: str, hits: Sequence[Hit], lexicon: Lexicon) -> bool:
    """True if memory carries a prompt, by its hits, best first; raises BrokenIndex."""
    words = prompt_words(prompt, lexicon)
    if not hits or not words:
        return False
    grams = [word for word in words if word.is_gram]
    if len(grams) * 2 > len(words):
        most = max(
            sum(word.own in hit_text for word in grams)
            for hit_text in (hit.text[:_MOST_CHARS] for hit in hits[:_READ_HITS])
        )
        return most >= LEAST_CHARACTER_SHARE * len(grams)
    if not _most_matched(words, hits, lexicon.languages, _is_number) and not _names_a_date(prompt):
        return False
    return measure_evidence(prompt, words, hits, lexicon.total, lexicon.languages).sum > 0


def asks_for_day_of(prompt: str, hits: Sequence[Hit], today: date) -> bool:
    """True for a question about days that are over, of which the first hit is."""
    if not hits or hits[0].day is None or not is_question(prompt):
        return False
    days = asked_days(prompt, today)
    return days is not None and days.last < today and days.first <= hits[0].day <= days.last


def holds_rare_words(
    words: Sequence[PromptWord], hit: Hit | Entry, languages: Sequence[str]
) -> bool:
    """True if a hit has all words of a prompt that few entries have; relatives count."""
    rare = [word for word in words if word.rarity >= RARE_SHARE]
    return all(_matches(rare, hit, languages))


def stands_alone(prompt: str, hits: Sequence[Hit], lexicon: Lexicon) -> bool:
    """True if one hit has two words of a prompt that say what it is about."""
    words = prompt_words(prompt, lexicon)
    return _most_matched(words, hits, lexicon.languages, _says_little) >= _TELLING_WORDS


def _most_matched(
    words: Sequence[PromptWord],
    hits: Sequence[Hit],
    languages: Sequence[str],
    is_left_out: Callable[[str], bool],
) -> int:
    counted = [word for word in words if not is_left_out(word.own)]
    return max(
        (sum(map(bool, _matches(counted, hit, languages))) for hit in hits[:_READ_HITS]), default=0
    )


def _is_number(term: str) -> bool:
    return term.isdigit() or term in _number_terms()


def _says_little(term: str) -> bool:
    return _is_number(term) or term in weak_terms() or term in _routine_terms()


def _names_a_date(prompt: str) -> bool:
    named = question_cues(prompt).date
    return named is not None and named.month is not None


def lines_for_task(
    prompt: str,
    things: Sequence[str],
    hits: Sequence[Hit],
    languages: Sequence[str],
) -> tuple[Hit, ...]:
    """The hits that begin with a thing that a prompt asks to make, or share two neighbouring words.

    To be asked with curated hits, in which these tell the subject: `commit messages: imperative`.
    """
    pairs = {language: _pairs(prompt, language) for language in languages}
    words = indexed_words(" ".join(things))
    made = {language: {stem(word, language) for word in words} for language in languages}
    return tuple(
        hit
        for hit in hits
        for text in [hit.text[:_MOST_CHARS]]
        if any(
            pairs[language] & _pairs(text, language)
            or _first_term(text, language) in made[language]
            for language in languages
        )
    )


def _pairs(text: str, language: str) -> set[tuple[str, str]]:
    words = indexed_words(split_scripts(text).spaced)
    terms = ["" if word in STOP_WORDS else stem(word, language) for word in words]
    return {pair for pair in pairwise(terms) if all(map(_may_pair, pair))}


def _may_pair(term: str) -> bool:
    return len(term) > 1 and not (
        _is_number(term) or term in weak_terms() or term in _routine_verbs()
    )


def _first_term(text: str, language: str) -> str | None:
    words = indexed_words(split_scripts(text).spaced)
    return next((stem(word, language) for word in words if word not in STOP_WORDS), None)


def measure_evidence(
    prompt: str,
    words: Sequence[PromptWord],
    hits: Sequence[Hit],
    entries: int,
    languages: Sequence[str],
) -> Evidence:
    rarities = [word.rarity * _share(word) for word in words]
    matched = max(
        sum(
            rarity * share
            for rarity, share in zip(rarities, _matches(words, hit, languages), strict=True)
        )
        for hit in hits[:_READ_HITS]
    )
    routine = sum(word.own in _routine_terms() for word in words) / len(words)
    asks = is_question(prompt)
    score = hits[0].score / math.log(1 + max(1, entries))
    return Evidence(
        score=min(score, FULL_SCORE) + max(0.0, score - FULL_SCORE) / 2,
        matched=matched,
        missing=max(0.0, sum(rarities) - matched),
        routine_request=0.0 if asks else routine,
        routine_question=routine if asks else 0.0,
    )


def is_question(prompt: str) -> bool:
    return bool(_QUESTION.search(prompt))


def _share(word: PromptWord) -> float:
    return (WEAK_SHARE if word.own in weak_terms() else 1.0) * (
        ROUTINE_SHARE if word.own in _routine_terms() else 1.0
    )


def _matches(
    words: Sequence[PromptWord], hit: Hit | Entry, languages: Sequence[str]
) -> list[float]:
    text = _terms_of(hit.text[:_MOST_CHARS], languages)
    heading = _terms_of(" ".join((*hit.section, hit.path.rpartition("/")[2])), languages)
    return [_match(word, text, heading) for word in words]


def _match(word: PromptWord, text: Set[str], heading: Set[str]) -> float:
    if word.own in text:
        return 1.0
    if word.own in heading:
        return HEADING_SHARE
    return (
        RELATED_SHARE
        if any(relative in text or relative in heading for relative in word.relatives)
        else 0.0
    )


def _terms_of(text: str, languages: Sequence[str]) -> set[str]:
    scripts = split_scripts(text)
    pairs = {run[at : at + 2] for run in scripts.runs for at in range(len(run))}
    words = indexed_words(scripts.spaced)
    return {stem(word, spoken) for spoken in {ENGLISH, *languages} for word in words} | pairs


@cache
def _number_terms() -> frozenset[str]:
    return frozenset(map(stem, AMOUNT_WORDS))


@cache
def _routine_terms() -> frozenset[str]:
    """Terms of any working session, which say what to do and seldom about what."""
    return _routine_verbs() | frozenset(map(stem, _ROUTINE_NOUNS.split()))


@cache
def _routine_verbs() -> frozenset[str]:
    return frozenset(map(stem, _ROUTINE_VERBS.split()))


_RATED_HITS = 8
"""Each hit costs 20 µs, and nobody reads much further."""
_START = 2
"""Letters that an English word shares with its stem, unless it is irregular."""
_DIGITS = 2


def answer_quality(query: str, hits: Sequence[Hit], today: date) -> Quality:
    """Measure the answer to a query; ages count from `today`.

    The spread is the distance of the median score from the first, as a share of the first: near 0
    the hits score alike, near 1 the first one is alone. Spread scores as a sign of a good answer
    are from NQC (Shtok et al., Predicting query performance by query-drift estimation, 2012), which
    divides the deviation by the collection's score, unknown here; this share is comparable between
    long and short queries too, and one stray hit does not move a median. Newest entries have no
    scores.
    """
    terms = query_terms(query)
    query_terms_set = {*terms.words, *terms.grams}
    found = hits if query_terms_set else ()
    matched_parts = [_matched_part(hit, query_terms_set) for hit in found[:_RATED_HITS]]
    scores = [hit.score for hit in found]
    return Quality(
        words=len(query_terms_set),
        hits=len(hits),
        first=round(scores[0], _DIGITS) if scores else None,
        last=round(scores[-1], _DIGITS) if scores else None,
        spread=(
            round(1 - _median(scores) / scores[0], _DIGITS) if scores and scores[0] > 0 else None
        ),
        text=matched_parts.count("text"),
        heading=matched_parts.count("heading"),
        beside=matched_parts.count("beside"),
        age=_median([_age(hit, today) for hit in hits]) if hits else None,
    )


def _matched_part(hit: Hit, terms: set[str]) -> str:
    if _has_term(hit.text[:_MOST_CHARS], terms):
        return "text"
    name = hit.path.rpartition("/")[2].removesuffix(".md")
    return "heading" if _has_term(" ".join((*hit.section, name)), terms) else "beside"


def _has_term(text: str, terms: set[str]) -> bool:
    """True if a text has a term; stemming is costly, so only possible words are stemmed."""
    scripts = split_scripts(text)
    if any(
        run[position : position + size] in terms
        for run in scripts.runs
        for position in range(len(run))
        for size in (1, 2)
    ):
        return True
    starts = {term[:_START] for term in terms}
    return any(
        stem(word) in terms
        for word in indexed_words(scripts.spaced)
        if word[:_START] in starts or word in BASE_FORMS or not word.isascii()
    )


def _age(hit: Hit, today: date) -> int:
    day = hit.day or (hit.since.date() if hit.since else today)
    return max(0, (today - day).days)


def _median(numbers: Sequence[float]) -> float:
    """`statistics.median` takes longer to load than a search to run."""
    ordered, half = sorted(numbers), len(numbers) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
