"""Statements that say the same: nearly the same words, and the same measures and names.

Words that open a statement, and hedges, are no content. Numbers (nine is 9), units, days, months,
negations, opposites (before, after), the owner of something and the order of words are: statements
that differ in one of them say different things.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from math import fsum

from mdmem.editors.likeness import (
    SUBJECT_FACTOR,
    ContentWord,
    content_words,
    fold,
    likeness,
    match_words,
    stems,
)
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.languages import LANGUAGES, bare_statement, words_of

_NEGATION_TEXT = """
no not never cannot without nicht nie kein keine keinen ohne pas jamais sans nunca sin não non не
"""
_NEGATIONS = frozenset(_NEGATION_TEXT.split())
_NEGATION_UNSPACED = late.pattern("[不没沒別]|ない|ません|않|안 ")
_WORD = late.pattern(r"\w+(?:[.'’]\w+)*")
_NOT = ("n't", "n’t")
_HEDGES = words_of("HEDGES")
_FIRST_NUMERAL = 2
"""One is an article in most languages."""
_NUMERALS = {
    fold(word): str(number)
    for language in LANGUAGES
    for number, word in enumerate(language.NUMERALS.split())
    if number >= _FIRST_NUMERAL
} | {
    fold(word): str(number * 10)
    for language in LANGUAGES
    for number, word in enumerate(language.TENS.split(), 1)
}
_MEASURES = frozenset(
    fold(word.removesuffix("s"))
    for name in ("UNITS", "WEEKDAYS", "MONTHS")
    for word in words_of(name)
)
_OPPOSITES = [frozenset(map(fold, pair.split("/"))) for pair in words_of("OPPOSITES")]
_HAS_OPPOSITE = frozenset().union(*_OPPOSITES)
_OWNER = late.pattern(r"\b(?!(?:It|That|He|She|Who|What|There|Here|Let)['’])[A-Z][\w-]*['’]s\b")
_ORDERED = late.pattern(r"\w{3,}")
_FEWEST_TURNED = 4
_UNSPACED_MEASURE = late.pattern("(?:星期|周|[0-9]|[一二三四五六七八九十百千两])+")
_RESEMBLANCE = 0.8
"""Minimum likeness of two statements that say the same."""


def word_overlap(left: str, right: str) -> float:
    """The share of words in both, from 0 to 1; names count in full.

    0 where measures differ, or one negates what the other states.
    """
    a, b = _content(left), _content(right)
    differ = _measures(left, a) != _measures(right, b) or _is_negated(left) != _is_negated(right)
    if not a or not b or differ:
        return 0.0
    shared = fsum(
        share * (a[i].weight + b[j].weight) for i, (j, share) in match_words(a, b).items()
    )
    return shared / fsum(word.weight for word in (*a, *b))


def resemble(left: str, right: str) -> bool:
    """True for nearly the same words with the same measures, names and negation."""
    a, b = _profile(left), _profile(right)
    return (
        have_same_marks(left, right)
        and _may_be_alike(a, b)
        and likeness(_bare(left), _bare(right)) >= _RESEMBLANCE
        and _have_same_order(left, right)
    )


def have_same_marks(left: str, right: str) -> bool:
    """True for two statements with the same measures and names, both or neither of which negate,
    and without opposites.
    """
    a, b = _profile(left), _profile(right)
    return a.marks == b.marks and not _are_opposed(a, b)


@dataclass(frozen=True, slots=True)
class _Profile:
    """`marks` (measures, names, negation) are equal in statements that say the same.

    `opposites` are the words that have an opposite. `shared`, `changed`, `total` are weights of
    words, by stem where another statement has them.
    """

    marks: tuple[frozenset[str], frozenset[str], bool]
    opposites: frozenset[str]
    shared: Mapping[str, float]
    changed: Mapping[str, float]
    total: float


@lru_cache(maxsize=4096)
def _profile(statement: str) -> _Profile:
    words = _content(statement)
    names = frozenset(word.text for word in words if word.name)
    shared: dict[str, float] = defaultdict(float)
    changed: dict[str, float] = defaultdict(float)
    for word in words:
        for stem in stems(word.text):
            shared[stem] += word.weight_shared
            changed[stem] += word.weight_changed
    total = fsum(word.weight_changed for word in words)
    return _Profile(
        marks=(_measures(statement, words), names, _is_negated(statement)),
        opposites=_HAS_OPPOSITE.intersection(map(fold, _WORD.findall(_bare(statement)))),
        shared=dict(shared),
        changed=dict(changed),
        total=total,
    )


_ROUNDING = 1e-6


def _may_be_alike(a: _Profile, b: _Profile) -> bool:
    stems = a.shared.keys() & b.shared.keys()
    shared = SUBJECT_FACTOR * sum([a.shared[stem] + b.shared[stem] for stem in stems])
    rest = max(a.total - sum([a.changed[stem] for stem in stems]), 0) + max(
        b.total - sum([b.changed[stem] for stem in stems]), 0
    )
    return shared > 0 and shared >= (_RESEMBLANCE - _ROUNDING) * (shared + rest)


class StatementIndex:
    """Numbered statements, for `resemble` with many at once."""

    def __init__(self, statements: Iterable[str] = ()) -> None:
        self._statements: list[tuple[str, _Profile]] = []
        self._holders: dict[tuple[frozenset[str], frozenset[str], bool], dict[str, list[int]]] = {}
        """Statements by their marks and each of their stems."""
        for statement in statements:
            self.add(statement)

    def add(self, statement: str) -> None:
        profile = _profile(statement)
        holders = self._holders.setdefault(profile.marks, {})
        for stem in profile.shared:
            holders.setdefault(stem, []).append(len(self._statements))
        self._statements.append((statement, profile))

    def find(self, statement: str) -> Iterator[int]:
        if not self._statements:
            return
        profile, bare = _profile(statement), _bare(statement)
        holders = self._holders.get(profile.marks, {})
        for number in sorted(
            {number for stem in profile.shared for number in holders.get(stem, ())}
        ):
            other, other_profile = self._statements[number]
            if (
                _may_be_alike(profile, other_profile)
                and not _are_opposed(profile, other_profile)
                and likeness(bare, _bare(other)) >= _RESEMBLANCE
                and _have_same_order(statement, other)
            ):
                yield number

    def holds_like(self, statement: str) -> bool:
        return next(self.find(statement), None) is not None


def _are_opposed(a: _Profile, b: _Profile) -> bool:
    of_a, of_b = a.opposites - b.opposites, b.opposites - a.opposites
    return any(pair & of_a and pair & of_b for pair in _OPPOSITES)


def _have_same_order(left: str, right: str) -> bool:
    """Tea over coffee is not coffee over tea; two parts of a longer statement may change places."""
    a, b = ([fold(word) for word in _ORDERED.findall(_bare(text))] for text in (left, right))
    shared = {word for word in a if a.count(word) == b.count(word) == 1}
    a, b = ([word for word in words if word in shared] for words in (a, b))
    while a and a[0] == b[0]:
        del a[0], b[0]
    turned = a.index(b[0]) if a else 0
    return not a or (len(a) >= _FEWEST_TURNED and a[turned:] + a[:turned] == b)


def _is_negated(statement: str) -> bool:
    words = {match[0].casefold() for match in _WORD.finditer(_bare(statement))}
    if any(word.endswith(_NOT) for word in words):
        return True
    return not _NEGATIONS.isdisjoint(words) or bool(_NEGATION_UNSPACED.search(statement))


@lru_cache(maxsize=4096)
def _bare(statement: str) -> str:
    return bare_statement(statement)


def _content(statement: str) -> tuple[ContentWord, ...]:
    """The content words of a statement; of one that is all openers and hedges, these."""
    words = content_words(_bare(statement))
    return tuple(word for word in words if word.text not in _HEDGES) or words


def _measures(statement: str, words: Iterable[ContentWord]) -> frozenset[str]:
    measures = set()
    for word in words:
        text = word.text
        if word.number:
            measures.add(text)
        elif text in _NUMERALS:
            measures.add(_NUMERALS[text])
        elif text.removesuffix("s") in _MEASURES:
            measures.add(text.removesuffix("s"))
    measures.update(_OWNER.findall(_bare(statement)))
    if not statement.isascii():
        measures.update(_UNSPACED_MEASURE.findall(statement))
    return frozenset(measures)
