"""Text to terms, for the index and for queries alike.

Words are folded to ASCII and lower case, irregular forms replaced by their base, and stemmed in
the language of their text or the one most written in their script. Scripts without spaces are cut
into single characters and overlapping pairs, since no dictionary tells their words apart.

A date (2026-03-05) is indexed as one word too, and a query looks for that word alone.

A query is stemmed in each language of memory, so a wrong guess about a text loses nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from mdmem.startup import late
from mdmem.startup.records import dataclass, field
from mdmem.text import english
from mdmem.text.document import UNSPACED
from mdmem.text.word_forms import (
    ENGLISH,
    STOP_WORDS,
    query_language,
    script_language,
    stops,
    text_language,
)

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

_ENDINGS = {"portuguese": (("oes", "ao"), ("ens", "em"))}
"""Plurals that the stemmer does not know without accents (reuniões, viagens)."""


@dataclass(frozen=True, slots=True)
class SplitText:
    """A text in two: `spaced` for the analyzer of words, `runs` of scripts without spaces."""

    spaced: str
    runs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a query as indexed, each once.

    `joined`: the first of neighbouring words, and all of them as one word or initials. `also`: a
    word, and its stem in another language; `english`: in English alone.
    """

    words: tuple[str, ...]
    grams: tuple[str, ...]
    joined: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    also: tuple[tuple[str, str], ...] = ()
    english: tuple[tuple[str, str], ...] = ()


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
    return [run[at : at + 2] for at in range(len(run) - 1)]


def grams(runs: Iterable[str]) -> list[str]:
    return [gram for run in runs for gram in (*run, *pairs(run))]


def lowered(text: str) -> list[str]:
    if not text.isascii():
        return _lowering().analyze(text.replace("İ", "i"))  # the engine would put a dot on the i
    words = text.encode().translate(_FOLDED).decode().split()  # the same in a third of the time
    return (
        words
        if len(text) < _MAX_WORD_BYTES
        else [word for word in words if len(word) < _MAX_WORD_BYTES]
    )


def without_accents(words: Iterable[str]) -> list[str]:
    return [word if word.isascii() else _without_accents(word) for word in words]


@lru_cache(maxsize=_WORDS_KEPT)
def _without_accents(word: str) -> str:
    return "".join(_folding().analyze(word))


def folded(text: str) -> list[str]:
    return without_accents(lowered(text))


def indexed_words(text: str) -> list[str]:
    """The words of a text as it is indexed: folded, and each date as one more word."""
    return as_indexed(text, lowered(text))


def as_indexed(text: str, lowered_words: Sequence[str]) -> list[str]:
    words = list(lowered_words) if text.isascii() else without_accents(lowered_words)
    may_hold_date = "-0" in text or "-1" in text
    return [*words, *map("".join, _DATE.findall(text))] if may_hold_date else words


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
        script = script_language(word)
        base = _base(word, self._language) if script is None else word
        stemmed_word = self[word] = "".join(_stemming(script or self._language).analyze(base))
        return stemmed_word


@cache
def _stems(language: str) -> _Stems:
    return _Stems(language)


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


def terms(text: str, language: str = ENGLISH) -> str:
    """The terms of a text as they are indexed, joined by spaces: in its own language if that is
    clear, else in `language`.
    """
    words = lowered(text)
    return stemmed(as_indexed(text, words), text_language(words, language))


def stemmed(words: Iterable[str], language: str = ENGLISH) -> str:
    return " ".join(map(_stems(language).__getitem__, words))


def fill_tables() -> None:
    """Make the tables and analyzers that a first search makes, before a process forks."""
    text_language(("any",), ENGLISH)
    query_terms("any")


def query_terms(
    query: str, spoken: Sequence[str] = (ENGLISH,), few_stop_words: bool = False
) -> Terms:
    """The terms of a query; operators, quotes and brackets have no meaning, and nothing raises.

    Stop words count only if there is nothing else or, with `few_stop_words`, if at most half of the
    words are such; a single character only if it is alone. `spoken`: the languages of memory, most
    used first; a word may be a form in any of them.
    """
    text = split_scripts(query[:_MAX_QUERY_CHARS])
    spaced = _DATE.sub(_DATE_AS_WORD, text.spaced)
    query_grams = [gram for run in text.runs for gram in pairs(run) or [run]]
    with_accents = lowered(spaced)
    words = without_accents(with_accents)
    language = query_language(with_accents, spoken)
    telling = [
        word
        for word, accented in zip(words, with_accents, strict=True)
        if not stops(accented, script_language(word) or language)
    ]
    searched = (
        words
        if few_stop_words and len(telling) * 2 >= len(words)
        else telling or ([] if query_grams else words)
    )
    stems = dict.fromkeys(stem(word, language) for word in searched)
    both_as_one = {
        stem(first + second, language): stem(first, language)
        for first, second in pairwise(words[:MAX_TERMS])
        if not STOP_WORDS.issuperset((first, second))
    }
    of_english = {stem(word): stem(word, language) for word in searched if ENGLISH in spoken}
    both_as_one |= {
        short: of_english[first] for first, short in english.initials(tuple(of_english), stem)
    }
    joined = tuple((word, term) for term, word in both_as_one.items() if term not in stems)
    also = tuple(_other_stems(searched, language, spoken))[:MAX_TERMS]
    return Terms(
        words=tuple(stems)[:MAX_TERMS],
        grams=tuple(dict.fromkeys(query_grams))[:MAX_TERMS],
        joined=joined,
        also=also,
        english=tuple((word, form) for form, word in of_english.items() if form != word),
    )


def _other_stems(
    words: Iterable[str], language: str, spoken: Iterable[str]
) -> Iterator[tuple[str, str]]:
    distinct = dict.fromkeys(words)
    for other in spoken:
        for word in distinct:
            if stem(word, other) != stem(word, language):
                yield stem(word, language), stem(word, other)


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
def _lowering() -> TextAnalyzer:
    builder = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(_MAX_WORD_BYTES))
    return builder.filter(Filter.lowercase()).build()


@cache
def _folding() -> TextAnalyzer:
    return TextAnalyzerBuilder(Tokenizer.raw()).filter(Filter.ascii_fold()).build()


@cache
def _stemming(language: str) -> TextAnalyzer:
    return TextAnalyzerBuilder(Tokenizer.raw()).filter(Filter.stemmer(language)).build()
