"""Text to terms, for the index and for queries alike.

Words are folded to ASCII and lower case, irregular forms replaced by their base, and stemmed as
English or the language most written in their script. Scripts without spaces are cut into single
characters and overlapping pairs, since no dictionary tells their words apart.

A date (2026-03-05) is indexed as one word too, and a query looks for that word alone.

In a memory of another language, texts with more English stop words are stemmed as English, others
as that language; a query uses both, so a wrong guess loses nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from mdmem.search import english
from mdmem.startup import late
from mdmem.startup.records import dataclass, field
from mdmem.text.document import UNSPACED

_STOP_WORDS = """
    a an and are as at be but by for if in into is it no not of on or such that the their then there
    these they this to was will with
    i me my we our you your he him his she her them its what which who whom when where why how do
    does did doing have has had having
    am been being would could should can may might must shall than so too very just about from up
    down out over under again once here
    all any both each few more most other some own same s t don now
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""Indexed, but omitted from a query with other words. The question words among them are worth six
points of R@10 over a list without any (LoCoMo).
"""

_WEAK_WORDS = "kind type sort many much often according"

MAX_TERMS = 100
"""Maximum words of a query, and again characters; the rest is not searched for."""

_MAX_QUERY_CHARS = 20_000
_MAX_WORD_BYTES = 100
_WORDS_KEPT, _RELATIVES_KEPT = 50_000, 4_000

_LETTERS = b"abcdefghijklmnopqrstuvwxyz"
_FOLDED = b" " * 48 + b"0123456789" + b" " * 7 + _LETTERS + b" " * 6 + _LETTERS + b" " * 133
"""For `bytes.translate`: lower case letters, digits, and spaces for the rest."""

_DATE = late.pattern(r"(?<![0-9])([0-9]{4})-([0-9]{2})-([0-9]{2})(?![0-9])")
_DATE_AS_WORD = r"\1\2\3"

ENGLISH = "english"
_WITHOUT_STOP_WORDS = frozenset(("arabic", "greek", "romanian", "tamil", "turkish"))
"""Languages with a stemmer for which the library has none."""
_ENDINGS = {"portuguese": (("oes", "ao"), ("ens", "em"))}
"""Plurals that the stemmer does not know without accents (reuniões, viagens)."""
_SCRIPTS = (
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u04ff", "russian"),
    ("\u0600", "\u06ff", "arabic"),
    ("\u0b80", "\u0bff", "tamil"),
)
"""Unicode blocks whose words have a stemmer of their own."""


@dataclass(frozen=True, slots=True)
class SplitText:
    """A text in two: `spaced` for the analyzer of words, `runs` of scripts without spaces."""

    spaced: str
    runs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a query as indexed, each once.

    `joined`: the first of neighbouring words, and all of them as one word or initials. `also`: a
    word, and its stem in another language.
    """

    words: tuple[str, ...]
    grams: tuple[str, ...]
    joined: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    also: tuple[tuple[str, str], ...] = ()


def encodable(text: str) -> str:
    """Replace lone surrogates (from bytes that are not UTF-8), which the index refuses."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def split_scripts(text: str) -> SplitText:
    """The words (NFKC) and the runs in scripts without spaces; lone surrogates are replaced."""
    if text.isascii():
        return SplitText(text, ())
    normal = unicodedata.normalize("NFKC", encodable(text))
    runs = tuple(re.compile(UNSPACED).findall(normal))
    return SplitText(re.compile(UNSPACED).sub(" ", normal) if runs else normal, runs)


def pairs(run: str) -> list[str]:
    """Every overlapping pair of characters."""
    return [run[at : at + 2] for at in range(len(run) - 1)]


def grams(runs: Iterable[str]) -> list[str]:
    """Every character and every overlapping pair of characters, as they are indexed."""
    return [gram for run in runs for gram in (*run, *pairs(run))]


def folded(text: str) -> list[str]:
    """The words of a text in lower case and without accents."""
    if not text.isascii():
        return _folding().analyze(text)
    words = text.encode().translate(_FOLDED).decode().split()  # the same in a third of the time
    return (
        words
        if len(text) < _MAX_WORD_BYTES
        else [word for word in words if len(word) < _MAX_WORD_BYTES]
    )


def indexed_words(text: str) -> list[str]:
    """The words of a text as it is indexed: folded, and each date as one more word."""
    words = folded(text)
    return [*words, *map("".join, _DATE.findall(text))] if _may_hold_date(text) else words


def _may_hold_date(text: str) -> bool:
    return "-0" in text or "-1" in text


def stem(word: str, language: str = ENGLISH) -> str:
    """The stem of a folded word, by the language of its script; for Latin script, by `language`."""
    return _stems(language)[word]


class _Stems(dict[str, str]):
    def __init__(self, language: str) -> None:
        super().__init__()
        self._language = language

    def __missing__(self, word: str) -> str:
        if len(self) >= _WORDS_KEPT:
            self.clear()
        script = None if word.isascii() else _script_language(word)
        base = _base(word, self._language) if script is None else word
        stemmed_word = self[word] = "".join(_stemming(script or self._language).analyze(base))
        return stemmed_word


@cache
def _stems(language: str) -> _Stems:
    return _Stems(language)


def _script_language(word: str) -> str | None:
    return next((language for first, last, language in _SCRIPTS if first <= word[0] <= last), None)


def _base(word: str, language: str) -> str:
    if language == ENGLISH:
        return english.BASE_FORMS.get(word, word)
    return next(
        (
            word.removesuffix(end) + replacement
            for end, replacement in _ENDINGS.get(language, ())
            if word.endswith(end)
        ),
        word,
    )


def text_language(spaced: str, words: Sequence[str], language: str) -> str:
    """The language to stem a text in, in a memory of `language`; `words` are its folded words."""
    if language == ENGLISH or language in _WITHOUT_STOP_WORDS:
        return _latin_language(language)
    english_stop_words = sum(word in STOP_WORDS for word in words)
    return (
        ENGLISH
        if english_stop_words and english_stop_words > sum(_stop_words(spaced, language))
        else _latin_language(language)
    )


@cache
def _latin_language(language: str) -> str:
    return (
        ENGLISH
        if any(language == script_language for _, _, script_language in _SCRIPTS)
        else language
    )


def _stop_words(spaced: str, language: str) -> list[bool]:
    """True for each stop word among the words; the library's lists have accents."""
    return [_stops(word, language) for word in _lowering().analyze(spaced)]


@lru_cache(maxsize=_WORDS_KEPT)
def _stops(word: str, language: str) -> bool:
    return not _stopping(language).analyze(word)


def terms(text: str, language: str = ENGLISH) -> str:
    """The terms of a text as they are indexed, joined by spaces."""
    words = indexed_words(text)
    return stemmed(words, text_language(text, words, language))


def stemmed(words: Iterable[str], language: str = ENGLISH) -> str:
    """The terms of folded words in a language, joined by spaces."""
    return " ".join(map(_stems(language).__getitem__, words))


def query_terms(query: str, language: str = ENGLISH, few_stop_words: bool = False) -> Terms:
    """The terms of a query; operators, quotes and brackets have no meaning, and nothing raises.

    Stop words count only if there is nothing else or, with `few_stop_words`, if at most half of the
    words are such; a single character only if it is alone.
    """
    text = split_scripts(query[:_MAX_QUERY_CHARS])
    spaced = _DATE.sub(_DATE_AS_WORD, text.spaced)
    query_grams = [gram for run in text.runs for gram in pairs(run) or [run]]
    words = folded(spaced)
    query_language = text_language(spaced, words, language)
    telling = _without_stop_words(spaced, words, query_language, language)
    searched = (
        words
        if few_stop_words and len(telling) * 2 >= len(words)
        else telling or ([] if query_grams else words)
    )
    stems = dict.fromkeys(stem(word, query_language) for word in searched)
    both_as_one = {
        stem(first + second, query_language): stem(first, query_language)
        for first, second in pairwise(words[:MAX_TERMS])
        if not STOP_WORDS.issuperset((first, second))
    }
    if query_language == ENGLISH:
        both_as_one |= {short: first for first, short in english.initials(tuple(stems), stem)}
    joined = tuple((word, term) for term, word in both_as_one.items() if term not in stems)
    also = tuple(
        _stem_pairs(
            searched,
            query_language,
            ENGLISH if query_language != ENGLISH else _latin_language(language),
        )
    )[:MAX_TERMS]
    return Terms(
        tuple(stems)[:MAX_TERMS], tuple(dict.fromkeys(query_grams))[:MAX_TERMS], joined, also
    )


def _without_stop_words(
    spaced: str, words: Sequence[str], query_language: str, language: str
) -> list[str]:
    """Words that are stop words neither in their language nor, in another script, in memory's."""
    words_and_stops = [(word, query_language == ENGLISH and word in STOP_WORDS) for word in words]
    if (
        language != ENGLISH
        and query_language == _latin_language(language)
        and language not in _WITHOUT_STOP_WORDS
    ):
        words_and_stops = [
            (word, stops or stops_too)
            for (word, stops), stops_too in zip(
                words_and_stops, _stop_words(spaced, language), strict=True
            )
        ]
    return [word for word, stops in words_and_stops if not stops]


def _stem_pairs(
    words: Iterable[str], query_language: str, other_language: str
) -> Iterator[tuple[str, str]]:
    if query_language == other_language:
        return
    for word in dict.fromkeys(words):
        if stem(word, other_language) != stem(word, query_language):
            yield stem(word, query_language), stem(word, other_language)


@lru_cache(maxsize=_RELATIVES_KEPT)
def related(term: str) -> tuple[str, ...]:
    """Terms that an answer may use for this term of its question."""
    return english.related(term, stem)


@lru_cache(maxsize=_RELATIVES_KEPT)
def members(term: str) -> tuple[str, ...]:
    """Terms for things of the kind that a question names."""
    return english.members(term, stem)


@cache
def weak_terms() -> frozenset[str]:
    """Terms that more often shape a question than name its subject."""
    return frozenset(map(stem, _WEAK_WORDS.split()))


@cache
def _folding() -> TextAnalyzer:
    builder = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(_MAX_WORD_BYTES))
    return builder.filter(Filter.lowercase()).filter(Filter.ascii_fold()).build()


@cache
def _lowering() -> TextAnalyzer:
    return (
        TextAnalyzerBuilder(Tokenizer.simple())
        .filter(Filter.remove_long(_MAX_WORD_BYTES))
        .filter(Filter.lowercase())
        .build()
    )


@cache
def _stopping(language: str) -> TextAnalyzer:
    return TextAnalyzerBuilder(Tokenizer.raw()).filter(Filter.stopword(language)).build()


@cache
def _stemming(language: str) -> TextAnalyzer:
    return TextAnalyzerBuilder(Tokenizer.raw()).filter(Filter.stemmer(language)).build()
