"""Text -> terms, for the index and for queries alike.

Words are folded to ASCII and lower case, irregular forms are brought to their base, and all are stemmed, as English or as the language
most written in their script; scripts that are written without spaces are taken out of the text first and cut into overlapping pairs of
characters, and into single ones, because no dictionary tells their words apart.

In a memory of another language than English (a setting) a text that has more stop words of English is stemmed as English, and any other as
that language; a query looks for its words in both ways, so that a wrong guess loses nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from mdmem.document import UNSPACED
from mdmem.search import english
from mdmem.startup.records import dataclass, field

_STOP_WORDS = """
    a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was will with
    i me my we our you your he him his she her them its what which who whom when where why how do does did doing have has had having
    am been being would could should can may might must shall than so too very just about from up down out over under again once here
    all any both each few more most other some own same s t don now
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""English words that a question holds and its answer need not. They are indexed, and left out of a query that says more than them:
with the question words among them this is worth six points of R@10 over a list without any (LoCoMo)."""

_WEAK_WORDS = "kind type sort many much often according"

MAX_TERMS = 100
"""Of words, and again of characters; what a longer query says after that is not searched for."""

_MAX_QUERY_CHARS = 20_000
_MAX_WORD_BYTES = 100
_WORDS_KEPT, _RELATIVES_KEPT = 50_000, 4_000

_LETTERS = b"abcdefghijklmnopqrstuvwxyz"
_FOLDED = b" " * 48 + b"0123456789" + b" " * 7 + _LETTERS + b" " * 6 + _LETTERS + b" " * 133
"""For `bytes.translate`: letters in lower case, digits, and spaces for all else."""

ENGLISH = "english"
_WITHOUT_STOP_WORDS = frozenset(("arabic", "greek", "romanian", "tamil", "turkish"))
"""Languages with a stemmer for which the library has none."""
_ENDINGS = {"portuguese": (("oes", "ao"), ("ens", "em"))}
"""Plurals that the stemmer does not know, once their accents are gone: reuniões and reunião, viagens and viagem."""
_SCRIPTS = (("\u0370", "\u03ff", "greek"), ("\u0400", "\u04ff", "russian"), ("\u0600", "\u06ff", "arabic"), ("\u0b80", "\u0bff", "tamil"))
"""The blocks of Unicode whose words have a stemmer of their own."""


@dataclass(frozen=True, slots=True)
class SplitText:
    """A text in two: `spaced` for the analyzer of words, `runs` of scripts without spaces."""

    spaced: str
    runs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Terms:
    """What a query asks for, without repetition, as it stands in the index.

    `joined`: the first of two neighbouring words, and both written as one. `also`: a word, and the same stemmed in another language.
    """

    words: tuple[str, ...]
    grams: tuple[str, ...]
    joined: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    also: tuple[tuple[str, str], ...] = ()


def encodable(text: str) -> str:
    """`text` with what is no Unicode (bytes of a command line or a file name that are not UTF-8) replaced, so that the index takes it."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def split_scripts(text: str) -> SplitText:
    """The words of a text (NFKC), and its runs without spaces; what is no Unicode is replaced."""
    if text.isascii():
        return SplitText(text, ())
    normal = unicodedata.normalize("NFKC", encodable(text))
    runs = tuple(re.compile(UNSPACED).findall(normal))
    return SplitText(re.compile(UNSPACED).sub(" ", normal) if runs else normal, runs)


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]


def grams(runs: Iterable[str]) -> list[str]:
    """Every character and every overlapping pair of characters, as they are indexed."""
    return [gram for run in runs for gram in (*run, *_pairs(run))]


def folded(text: str) -> list[str]:
    """The words of a text in lower case and without accents."""
    if not text.isascii():
        return _folding().analyze(text)
    words = text.encode().translate(_FOLDED).decode().split()  # the same in a third of the time
    return words if len(text) < _MAX_WORD_BYTES else [word for word in words if len(word) < _MAX_WORD_BYTES]


def stem(word: str, language: str = ENGLISH) -> str:
    """A folded word without its inflection, which its script tells how to take off; in Latin script, the language."""
    return _stems(language)[word]


class _Stems(dict[str, str]):
    """Words of one language with their stems, each worked out where it is first asked for."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self._language = language

    def __missing__(self, word: str) -> str:
        if len(self) >= _WORDS_KEPT:
            self.clear()
        script = None if word.isascii() else _script(word)
        base = _base(word, self._language) if script is None else word
        found = self[word] = "".join(_stemming(script or self._language).analyze(base))
        return found


@cache
def _stems(language: str) -> _Stems:
    return _Stems(language)


def _script(word: str) -> str | None:
    """The language most written in the script of a word, if there is a stemmer for it."""
    return next((language for first, last, language in _SCRIPTS if first <= word[0] <= last), None)


def _base(word: str, language: str) -> str:
    """A form that the stemmer does not know, as one that it does."""
    if language == ENGLISH:
        return english.BASE_FORMS.get(word, word)
    return next((word.removesuffix(end) + other for end, other in _ENDINGS.get(language, ()) if word.endswith(end)), word)


def text_language(spaced: str, words: Sequence[str], language: str) -> str:
    """What a text is stemmed as in a memory of a language; `words` are its own, folded."""
    if language == ENGLISH or language in _WITHOUT_STOP_WORDS:
        return _latin(language)
    english = sum(word in STOP_WORDS for word in words)
    return ENGLISH if english and english > sum(_stop_words(spaced, language)) else _latin(language)


@cache
def _latin(language: str) -> str:
    """The language of the words in Latin script, in a memory of this language."""
    return ENGLISH if any(language == other for _, _, other in _SCRIPTS) else language


def _stop_words(spaced: str, language: str) -> list[bool]:
    """Of each word of a text, whether it is a stop word of the language, which the library knows with its accents."""
    return [_stops(word, language) for word in _lowering().analyze(spaced)]


@lru_cache(maxsize=_WORDS_KEPT)
def _stops(word: str, language: str) -> bool:
    return not _stopping(language).analyze(word)


def terms(text: str, language: str = ENGLISH) -> str:
    """The words of a text as they are indexed, with spaces between them."""
    words = folded(text)
    return stemmed(words, text_language(text, words, language))


def stemmed(words: Iterable[str], language: str = ENGLISH) -> str:
    """The same of folded words in a language."""
    return " ".join(map(_stems(language).__getitem__, words))


def query_terms(query: str, language: str = ENGLISH) -> Terms:
    """The terms of a query, whatever it is: operators, quotes and brackets mean nothing, and nothing raises.

    Stop words of the language that it is in count only where there is nothing else; a single character only where it stands alone.
    """
    text = split_scripts(query[:_MAX_QUERY_CHARS])
    pieces = [gram for run in text.runs for gram in _pairs(run) or [run]]
    words = folded(text.spaced)
    own = text_language(text.spaced, words, language)
    kept = _telling(text.spaced, words, own, language) or ([] if pieces else words)
    stems = dict.fromkeys(stem(word, own) for word in kept)
    pairs = {
        stem(one + other, own): stem(one, own) for one, other in pairwise(words[:MAX_TERMS]) if not STOP_WORDS.issuperset((one, other))
    }
    joined = tuple((said, term) for term, said in pairs.items() if term not in stems)
    also = tuple(_also(kept, own, ENGLISH if own != ENGLISH else _latin(language)))[:MAX_TERMS]
    return Terms(tuple(stems)[:MAX_TERMS], tuple(dict.fromkeys(pieces))[:MAX_TERMS], joined, also)


def _telling(spaced: str, words: Sequence[str], own: str, language: str) -> list[str]:
    """The words of a query without the stop words of the language that it is in, and of the one that the memory has in another script."""
    telling = [(word, own == ENGLISH and word in STOP_WORDS) for word in words]
    if language != ENGLISH and own == _latin(language) and language not in _WITHOUT_STOP_WORDS:
        telling = [(word, stops or other) for (word, stops), other in zip(telling, _stop_words(spaced, language), strict=True)]
    return [word for word, stops in telling if not stops]


def _also(words: Iterable[str], own: str, other: str) -> Iterator[tuple[str, str]]:
    """The words that another language stems in another way."""
    if own == other:
        return
    for word in dict.fromkeys(words):
        if stem(word, other) != stem(word, own):
            yield stem(word, own), stem(word, other)


@lru_cache(maxsize=_RELATIVES_KEPT)
def related(term: str) -> tuple[str, ...]:
    """The terms that may stand in an answer where its question has this one."""
    return english.related(term, stem)


@lru_cache(maxsize=_RELATIVES_KEPT)
def members(term: str) -> tuple[str, ...]:
    """The terms for things of the kind that a question names."""
    return english.members(term, stem)


@cache
def weak_terms() -> frozenset[str]:
    """The terms that say how a question is put more often than what it is about."""
    return frozenset(map(stem, _WEAK_WORDS.split()))


@cache
def _folding() -> TextAnalyzer:
    builder = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(_MAX_WORD_BYTES))
    return builder.filter(Filter.lowercase()).filter(Filter.ascii_fold()).build()


@cache
def _lowering() -> TextAnalyzer:
    return TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(_MAX_WORD_BYTES)).filter(Filter.lowercase()).build()


@cache
def _stopping(language: str) -> TextAnalyzer:
    return TextAnalyzerBuilder(Tokenizer.raw()).filter(Filter.stopword(language)).build()


@cache
def _stemming(language: str) -> TextAnalyzer:
    return TextAnalyzerBuilder(Tokenizer.raw()).filter(Filter.stemmer(language)).build()
