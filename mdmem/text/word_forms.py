"""The languages of texts, told by their stop words; other scripts than Latin by themselves. Pure.

A file has the language of most of its entries, an entry another one only if its words say so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, lru_cache

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

ENGLISH = "english"
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
"""The English ones: indexed, but omitted from a query with other words. The question words among
them are worth six points of R@10 over a list without any (LoCoMo).
"""
_ROMANIAN = """
    acest această aceste acestea acestor acestui acolo acum ai aici al ale am ar are asta atunci
    au avea că când cât ce cea cei cel cele cine cu cum dar de decât deci din după ea ei el este
    eu fără fi fie fiecare fost iar în între îi își la lor lui mai mult ne nici noi nu o pe
    pentru până poate prin sa să sau se si și sunt să tot trebuie un unde unei unui va vor
"""
_TURKISH = """
    ama ben beni bir biri biz bu bunu bunun çok da daha de değil diye en eğer fakat gibi hem hep
    her hiç için ile ise kadar ki kim mi mı mu mü nasıl ne neden nerede o olan olarak olduğu
    oldu olur onlar onu onun sen siz sonra şey şu tüm ve veya ya yani var yok önce üzerinde
"""
_DANISH = "begge både før hver hvilke hvilken hvordan ingen kan kom kun samme siden så ved"
_OWN_LISTS = {
    ENGLISH: STOP_WORDS,
    "danish": frozenset(_DANISH.split()),
    "romanian": frozenset(_ROMANIAN.split()),
    "turkish": frozenset(_TURKISH.split()),
}
"""Words beside the library's lists: it has none of two languages, few English ones, and the Danish
ones that Norwegian has too only in the Norwegian list.
"""
_LISTS = (
    "danish",
    "dutch",
    "finnish",
    "french",
    "german",
    "hungarian",
    "italian",
    "norwegian",
    "portuguese",
    "russian",
    "spanish",
    "swedish",
)
"""Languages for which the library has stop words."""
_SCRIPTS = (
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u04ff", "russian"),
    ("\u0600", "\u06ff", "arabic"),
    ("\u0b80", "\u0bff", "tamil"),
)
"""Unicode blocks whose words have a stemmer of their own."""
BESIDE_ENGLISH = tuple(sorted({*_LISTS, *_OWN_LISTS} - {ENGLISH, "russian"}))
_WORDS_KEPT = 50_000

_CLEAR_WORDS, _CLEAR_RATIO = 3, 2
"""Stop words of another language than its file's that an entry must have, and how many times those
of the file's. Of sentences in an English file 86 % are told so, of 14,000 English entries none is
wrong; with two words 90 %, and one.
"""
_FILE_SHARE = 0.2
"""The share of its file's stop words that a language must have to be one of it; 0.1 to 0.3 neutral.
"""
_TEXT_SHARE = 0.05
"""The share of all words of the file; 0.03 to 0.1 neutral. Text in a language that is not told has
few stop words of others.
"""


def script_language(word: str) -> str | None:
    """The language most written in the script of a folded word; None for Latin script."""
    if word.isascii():
        return None
    return next((language for first, last, language in _SCRIPTS if first <= word[0] <= last), None)


def latin_language(language: str) -> str:
    """The language of words in Latin script, where a language is the usual one."""
    return ENGLISH if any(language == other for _, _, other in _SCRIPTS) else language


def languages_of_file(texts: Sequence[Sequence[str]], usual: str) -> list[str]:
    """`texts` are `lowered` words. `usual` is the language of a file whose words do not say."""
    _known_words().add(*texts)
    evidence = list(map(_evidence, texts))
    usual, votes = latin_language(usual), Counter[str]()
    for counts in evidence:
        if language := _most(counts):
            votes[language] += counts[language]
    if not votes.keys() - {usual}:
        return [usual] * len(texts)
    least = max(_CLEAR_WORDS, _FILE_SHARE * votes.total(), _TEXT_SHARE * sum(map(len, texts)))
    spoken = [language for language, count in votes.items() if count >= least]
    before, languages = max((usual, *spoken), key=votes.__getitem__), list[str]()
    for counts in evidence:
        language = _language_beside((before, usual, ENGLISH, *spoken), counts)
        before = language if language in spoken else before
        languages.append(language)
    return languages


def text_language(words: Collection[str], usual: str) -> str:
    """The language of a text by itself; `usual` unless its `lowered` words say another clearly."""
    _known_words().add(words)
    return _language_beside((latin_language(usual), ENGLISH), _evidence(words))


def query_language(words: Iterable[str], spoken: Sequence[str]) -> str:
    """The language of a query, of those `spoken` in memory; the first unless its words say."""
    if len(spoken) == 1:
        return spoken[0]
    longer = {word for word in words if len(word) > 1}  # single letters tell nothing
    return max(spoken, key=lambda language: len(_stop_words_among(longer, language)))


def spoken_languages(count: Callable[[str], int], total: int) -> tuple[str, ...]:
    """Most used first. `count` gives the number of entries in a language beside English."""
    counts = Counter({language: count(language) for language in BESIDE_ENGLISH})
    counts[ENGLISH] = total - counts.total()
    return tuple(language for language, number in counts.most_common() if number > 0) or (ENGLISH,)


def most_used(languages: Iterable[str], usual: str) -> str:
    """The most frequent of the languages of texts; `usual` without any."""
    return next((language for language, _ in Counter(languages).most_common(1)), usual)


@lru_cache(maxsize=_WORDS_KEPT)
def stops(word: str, language: str) -> bool:
    return word in _stop_words_among({word}, language)


def _stop_words_among(words: set[str], language: str) -> set[str]:
    own = words & _OWN_LISTS.get(language, frozenset())
    if language not in _LISTS:
        return own
    return own | words.difference(_stopping(language).analyze(" ".join(words)))


Counts = Mapping[str, int]
"""The numbers of different stop words of a text by their languages."""


def _language_beside(spoken: Sequence[str], counts: Counts) -> str:
    language = max(spoken, key=lambda each: counts.get(each, 0))
    other = _most(counts)
    if other is None or other == language:
        return language
    least = max(_CLEAR_WORDS, _CLEAR_RATIO * counts.get(language, 0) + 1)
    return other if counts[other] >= least else language


def _most(counts: Counts) -> str | None:
    if not counts:
        return None
    most = max(counts.values())
    first, *others = [language for language, count in counts.items() if count == most]
    return None if others else first


def _evidence(words: Iterable[str]) -> Counts:
    known, counts = _known_words(), dict[str, int]()
    for word in known.stop_words.keys() & words:
        for language in known.stop_words[word]:
            counts[language] = counts.get(language, 0) + 1
    return counts


class _KnownWords:
    """Words that were looked up; of stop words, their languages. Single letters tell nothing."""

    def __init__(self) -> None:
        self._words = set[str]()
        self.stop_words: dict[str, tuple[str, ...]] = {}

    def add(self, *texts: Iterable[str]) -> None:
        """Look their words up, all at once: one by one takes three times as long."""
        if len(self._words) > _WORDS_KEPT:
            self._words.clear()
        if not (new := set().union(*texts) - self._words):
            return
        longer = {word for word in new if len(word) > 1}
        found: dict[str, tuple[str, ...]] = {}
        for language in (ENGLISH, *BESIDE_ENGLISH):
            for word in _stop_words_among(longer, language):
                found[word] = (*found.get(word, ()), language)
        self.stop_words |= found
        self._words |= new  # last, for other threads


@cache
def _known_words() -> _KnownWords:
    return _KnownWords()


@cache
def _stopping(language: str) -> TextAnalyzer:
    return TextAnalyzerBuilder(Tokenizer.whitespace()).filter(Filter.stopword(language)).build()
