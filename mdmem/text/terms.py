"""Text to terms, for the index and for queries alike; and the languages of texts.

Words are folded to ASCII and lower case, irregular forms replaced by their base, and stemmed in
the language of their text or the one most written in their script. Scripts without spaces are cut
into single characters and overlapping pairs, since no dictionary tells their words apart.

A date (2026-03-05) is indexed as one word too, and a query looks for that word alone.

A query is stemmed in each language of memory, so a wrong guess about a text loses nothing.

A file has the language of most of its entries, an entry another one only if its words say so.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from mdmem.startup import late
from mdmem.startup.records import dataclass, field
from mdmem.text import english
from mdmem.text.document import UNSPACED

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
_SCRIPT_LANGUAGES = frozenset(language for _, _, language in _SCRIPTS)
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


def _script_language(word: str) -> str | None:
    """The language most written in the script of a folded word; None for Latin script."""
    if word.isascii():
        return None
    return next((language for first, last, language in _SCRIPTS if first <= word[0] <= last), None)


def latin_language(language: str) -> str:
    """The language of words in Latin script, where a language is the usual one."""
    return ENGLISH if language in _SCRIPT_LANGUAGES else language


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


def _query_language(words: Iterable[str], spoken: Sequence[str]) -> str:
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
    if not counts:
        return spoken[0]
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
        if all(map(self._words.issuperset, texts)):
            return
        new = set().union(*texts) - self._words
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


_WEAK_WORDS = "kind type sort many much often according"
_LIGHT_WORDS = """
    ask begin come feel find get give go happen keep know let look make mean need put say see start
    take tell think try use want us
    although because unless whereas whether while though
    about above across after against along among around away back before behind below beneath beside
    between beyond despite during except inside near off onto outside past round since through
    throughout till toward towards until upon via within without
    ago already also always another anybody anyone anything anywhere else enough even ever every
    everybody everyone everything everywhere hardly however instead least less maybe much neither
    never nobody none nor nothing often once one perhaps quite rather really seldom several somebody
    someone something somewhere sometimes soon still together too twice usually well yet actually
    must ought shall able supposed hers herself himself itself mine myself ours ourselves theirs
    themselves yourself those whose first second next last
"""
"""Verbs of little meaning, conjunctions, prepositions, adverbs and pronouns."""

MAX_TERMS = 100
"""Maximum words of a query, and again characters; the rest is not searched for."""

_MAX_QUERY_CHARS = 20_000
_MAX_WORD_BYTES = 100
_TERMS_KEPT, _RELATIVES_KEPT = 50_000, 4_000

_LETTERS = b"abcdefghijklmnopqrstuvwxyz"
_FOLDED = b" " * 48 + b"0123456789" + b" " * 7 + _LETTERS + b" " * 6 + _LETTERS + b" " * 133
"""For `bytes.translate`: lower case letters, digits, and spaces for the rest."""

_HUMP = late.pattern(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_IDENTIFIER = late.pattern(r"(?<![A-Za-z0-9])[A-Za-z0-9]*(?:[a-z][A-Z]|[A-Z]{2}[a-z])[A-Za-z0-9]*")
_PART = late.pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
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


@lru_cache(maxsize=_TERMS_KEPT)
def _without_accents(word: str) -> str:
    return "".join(_folding().analyze(word))


def folded(text: str) -> list[str]:
    return without_accents(lowered(text))


def identifier_parts(text: str) -> list[str]:
    """The words that identifiers of a text are made of (`getUserAccountById`, `HTTPServer2`).

    Those with signs between their words are several words anyway.
    """
    if text[1:].islower() or not _HUMP.search(text):
        return []
    parts = (
        _PART.findall(each) for each in _IDENTIFIER.findall(text) if len(each) < _MAX_WORD_BYTES
    )
    return [part.lower() for of_one in parts for part in of_one]


def words_in_order(text: str) -> str:
    """The folded words of a text between spaces; in scripts without them, its letters."""
    normal = text if text.isascii() else unicodedata.normalize("NFKC", encodable(text))
    if not text.isascii():
        normal = re.compile(UNSPACED).sub(lambda run: f" {' '.join(run[0])} ", normal)
    return f" {' '.join(folded(normal))} "


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
        if len(self) >= _TERMS_KEPT:
            self.clear()
        script = _script_language(word)
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
    language = _query_language(with_accents, spoken)
    telling = [
        word
        for word, accented in zip(words, with_accents, strict=True)
        if not stops(accented, _script_language(word) or language)
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


def tells_something(query: str, spoken: Sequence[str] = (ENGLISH,)) -> bool:
    """True for a query with a word that is no stop word."""
    text = split_scripts(query[:_MAX_QUERY_CHARS])
    words = lowered(text.spaced)
    language = _query_language(words, spoken)
    return bool(text.runs) or not all(
        stops(word, _script_language(word) or language) for word in words
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
def light_terms() -> frozenset[str]:
    """The same with verbs that say little, of which questions about oneself are made."""
    return weak_terms() | frozenset(map(stem, _LIGHT_WORDS.split()))


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
