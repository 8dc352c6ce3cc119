"""The likeness of statements: whether one may have superseded another, and which of many may have.

Versions of a statement share topic words, and differ in names and numbers. So content words count
by their length, names and numbers little, stop words not at all. Scripts without spaces are
compared by pairs of characters. The only dictionary is for verbs that report a change (`lives`,
`moved`).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import product
from math import fsum
from operator import itemgetter

from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.document import UNSPACED
from mdmem.text.facts import UNTIL

_STOP_WORD_TEXT = """
    a an and are as at be been but by every each for from had has have he her his i if in into is it
    its me more my no not now of on or our
    out she so than that the their them then there they this to too us user was we were what when
    where which who will with you your
    das dem den der des die ein eine einen einer er es im ist mit nicht sie und von vor wir zu zum
    zur auf für bei
    al con de del el en la las lo los para por que se su un una uno unos ya
    au aux ce dans du elle est et il le les ne nous pas pour qui sa son sur à
    com da do dos e em na nas nos o os ao uma
    ci che di gli ha nel non per più si
    в во и из к на не но о он она от по с со у что это
    i na nie o po się w we z ze do jest
"""
_STOP_WORDS = frozenset(_STOP_WORD_TEXT.split())
_CHANGE_VERBS = (
    """
    live lives lived living reside resides moved moving relocated based
    wohnt wohne lebt zog gezogen umgezogen vive vivo mudó mudado habite déménagé mora mudou abita
    trasferito
    живёт переехал переехала mieszka przeprowadził 住在 搬到 搬去 住ん 引越 引っ
    """,
    """
    work works worked working joined joining employed employer hired
    arbeitet arbeite wechselte trabaja travaille trabalha lavora работает работаю pracuje
    工作 入职 上班
    勤務 勤め 転職 入社 働い
    """,
    """
    use uses used using switched switching migrated moved adopted replaced
    benutzt nutzt verwendet umgestiegen usa usan utiliza cambió utilise использует używa
    使用 改用 换成
    使っ 移行
    """,
    """
    deploy deploys deployed deploying deployment deployments release releases released releasing
    ship ships shipped
    """,
    """
    prefer prefers preferred like likes liked love loves favourite favorite
    """,
)
"""Words for the same kind of change, before and after it; a language or two a line."""

_WORD = late.pattern(r"\w+(?:[.'’]\w+)*")
_FIRST_UNSPACED = "\u0e00"
_PARTICLES = late.pattern("[\u3041-\u309f的了在是到和与我你他她也不有就都用户]")
"""Hiragana and the most frequent function characters of Chinese."""
_MAX_CHARS = 2000
_MAX_WORDS = 200
"""The rest of a longer statement is not compared."""
_MAX_WEIGHT = 10
"""A word counts by its letters, up to this."""
_PAIR_WEIGHT = 4.0
_LOOSE_PAIR_WEIGHT = 0.25
"""The weight of a pair of characters, and of one with a particle in it."""
_MIN_STEM = 4
_MAX_ENDING = 2
"""Forms of a word share `_MIN_STEM` letters; at most so many of the shorter one differ."""
_CHANGED_NAME, _SHARED_NAME, _NUMBER = 0.25, 0.5, 0.25
"""An update changes names and numbers, and one name is in many statements."""
_SAME_CHANGE = 0.5
SUBJECT_FACTOR = 1.5
"""The factor of the first word where both begin with it: it is their subject."""
_MAX_ALL_PAIRS = 400
_MAX_HOLDERS = 32
_MAX_CANDIDATES = 4
"""Up to so many pairs, all are candidates. Beyond, a stem in more statements than the second counts
for nothing, and each statement keeps so many candidates.
"""


@dataclass(frozen=True, slots=True)
class ContentWord:
    """A folded word of a statement; `name`: it looks like a proper noun."""

    text: str
    weight: float
    name: bool = False
    number: bool = False

    @property
    def weight_shared(self) -> float:
        return self.weight * (_NUMBER if self.number else _SHARED_NAME if self.name else 1.0)

    @property
    def weight_changed(self) -> float:
        return self.weight * (_NUMBER if self.number else _CHANGED_NAME if self.name else 1.0)


def fold(word: str) -> str:
    """A word without case and accents."""
    if word.isascii():
        return word.casefold()
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return (
        "".join(character for character in decomposed if not unicodedata.combining(character))
        or word
    )


@cache
def _change_groups() -> dict[str, set[int]]:
    groups: dict[str, set[int]] = defaultdict(set)
    for number, words in enumerate(_CHANGE_VERBS):
        for word in words.split():
            groups[word if word[0] >= _FIRST_UNSPACED else fold(word)].add(number)
    return dict(groups)


_NO_GROUPS: set[int] = set()


def change_verbs_like(word: str) -> list[str]:
    """Verbs for the same kind of change as a folded word, itself included, if it is one."""
    return [
        verb
        for number in sorted(_change_groups().get(word, _NO_GROUPS))
        for verb in _CHANGE_VERBS[number].split()
    ]


def _character_pairs(run: str) -> Iterator[ContentWord]:
    for pair in [run[at : at + 2] for at in range(len(run) - 1)] or [run]:
        yield ContentWord(
            pair,
            (
                _LOOSE_PAIR_WEIGHT
                if _PARTICLES.search(pair) and pair not in _change_groups()
                else _PAIR_WEIGHT
            ),
        )


def _is_empty(word: str, in_capitals: bool) -> bool:
    """Stop words and single letters, but not initials (CI), unless all is in capitals."""
    if len(word) == 1:
        return not word.isdigit()
    return word.casefold() in _STOP_WORDS and (in_capitals or not word.isupper())


def _spaced_words(text: str, start: int) -> Iterator[ContentWord]:
    before = "" if start else "."
    end = 0
    in_capitals = text.isupper()
    for match in _WORD.finditer(text):
        word = match[0]
        before = text[end : match.start()].strip() or ("" if end or start else before)
        end = match.end()
        begins_sentence = before.endswith((".", "!", "?", ";"))
        if _is_empty(word, in_capitals):
            continue
        has_capital = not word.islower() and any(
            character.isupper() for character in (word[1:] if begins_sentence else word)
        )
        has_digit = not word.isalpha() and any(character.isdigit() for character in word)
        yield ContentWord(
            fold(word),
            min(len(word), _MAX_WEIGHT),
            name=has_capital and not begins_sentence,
            number=has_digit,
        )


@lru_cache(maxsize=4096)
def content_words(statement: str) -> tuple[ContentWord, ...]:
    """The content words of a statement, each once, in their order."""
    text = unicodedata.normalize("NFC", UNTIL.sub("", statement)[:_MAX_CHARS])
    words: dict[str, ContentWord] = {}
    end = 0
    for run in () if text.isascii() else re.compile(UNSPACED).finditer(text):
        for word in (*_spaced_words(text[end : run.start()], end), *_character_pairs(run[0])):
            words.setdefault(word.text, word)
        end = run.end()
    for word in _spaced_words(text[end:], end):
        words.setdefault(word.text, word)
    return tuple(words.values())[:_MAX_WORDS]


def kinship(left: str, right: str) -> float:
    """From 0 to 1: the share of the stem of different words, or a half for the same change."""
    if left[:_MIN_STEM] == right[:_MIN_STEM]:
        shorter = min(len(left), len(right))
        shared = next(
            (at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), shorter
        )
        if shared >= _MIN_STEM and shorter - shared <= _MAX_ENDING:
            return 2 * shared / (len(left) + len(right))
    return (
        _SAME_CHANGE
        if _change_groups().get(left, _NO_GROUPS) & _change_groups().get(right, _NO_GROUPS)
        else 0.0
    )


def stems(word: str) -> Iterator[str]:
    """All kin of a word share one of these: its first letters and change verbs."""
    yield word[:_MIN_STEM]
    yield from change_marks(word)


def change_marks(word: str) -> list[str]:
    """Labels of the kinds of change that a verb may report, each beginning with NUL."""
    return [f"\0{group}" for group in _change_groups().get(word, _NO_GROUPS)]


Matches = Mapping[int, tuple[int, float]]
"""Left words (by number) with their counterpart and kinship."""


def match_words(left: Sequence[ContentWord], right: Sequence[ContentWord]) -> Matches:
    """Pair the words of two statements: equal ones first, then the closest kin."""
    numbers = {word.text: number for number, word in enumerate(right)}
    matches = {
        number: (numbers[word.text], 1.0)
        for number, word in enumerate(left)
        if word.text in numbers
    }
    matched_right = {b for b, _ in matches.values()}
    by_stem: dict[str, list[int]] = defaultdict(list)
    for b, word in enumerate(right):
        for stem in stems(word.text) if b not in matched_right else ():
            by_stem[stem].append(b)
    candidates = {
        (a, b)
        for a, word in enumerate(left)
        if a not in matches
        for stem in stems(word.text)
        for b in by_stem.get(stem, ())
    }
    for distance, a, b in sorted(
        (-kinship(left[a].text, right[b].text), a, b) for a, b in candidates
    ):
        if distance and a not in matches and b not in matched_right:
            matches[a] = (b, -distance)
            matched_right.add(b)
    return matches


def _differ_in_subject(
    left: Sequence[ContentWord], right: Sequence[ContentWord], matches: Matches
) -> bool:
    matched_right = {b for b, _ in matches.values()}
    return all(
        _differs_around(words, matched)
        for words, matched in ((left, matches.keys()), (right, matched_right))
    )


def _differs_around(words: Sequence[ContentWord], matched: Collection[int]) -> bool:
    first = min(matched)
    own = [
        number
        for number, word in enumerate(words)
        if number not in matched and word.weight > _LOOSE_PAIR_WEIGHT
    ]
    return bool(own) and own[0] < first < own[-1]


def likeness(left: str, right: str) -> float:
    """The share of two statements that both state, names and numbers aside, from 0 to 1.

    0 also for different subjects (`Ana works at Stripe`, `Ben works at Linear`).
    """
    a, b = content_words(left), content_words(right)
    matches = match_words(a, b)
    if not matches or _differ_in_subject(a, b, matches):
        return 0.0
    shared = fsum(
        share * (a[i].weight_shared + b[j].weight_shared) for i, (j, share) in matches.items()
    )
    if matches.get(0) == (0, 1.0):
        shared += (SUBJECT_FACTOR - 1) * (a[0].weight_shared + b[0].weight_shared)
    rest = fsum(
        (1 - share) * (a[i].weight_shared + b[j].weight_shared) for i, (j, share) in matches.items()
    )
    matched_right = {j for j, _ in matches.values()}
    rest += fsum(word.weight_changed for i, word in enumerate(a) if i not in matches)
    rest += fsum(word.weight_changed for j, word in enumerate(b) if j not in matched_right)
    return shared / (shared + rest)


def candidate_pairs(left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Pairs of statements (by number) that may be alike: all, or those with most common stems."""
    if len(left) * len(right) <= _MAX_ALL_PAIRS:
        yield from product(range(len(left)), range(len(right)))
        return
    index = CandidateIndex()
    for b, statement in enumerate(right):
        index.add(b, statement)
    for a, statement in enumerate(left):
        yield from ((a, b) for b in index.sharing_most(statement))


class CandidateIndex:
    def __init__(self) -> None:
        self._statements: dict[int, str] = {}
        self._holders: dict[str, list[int]] = defaultdict(list)

    def add(self, number: int, statement: str) -> None:
        self._statements[number] = statement
        for stem in _all_stems(statement):
            self._holders[stem].append(number)

    def remove(self, number: int) -> None:
        for stem in _all_stems(self._statements.pop(number)):
            self._holders[stem].remove(number)

    def find(self, statement: str) -> list[int]:
        return (
            list(self._statements)
            if len(self._statements) <= _MAX_ALL_PAIRS
            else self.sharing_most(statement)
        )

    def sharing_most(self, statement: str) -> list[int]:
        holders = [self._holders[stem] for stem in _all_stems(statement) if stem in self._holders]
        shared = Counter(
            number for numbers in holders if len(numbers) <= _MAX_HOLDERS for number in numbers
        )
        return [
            number
            for number, _ in sorted(shared.items(), key=itemgetter(1), reverse=True)[
                :_MAX_CANDIDATES
            ]
        ]


def _all_stems(statement: str) -> set[str]:
    return {stem for word in content_words(statement) for stem in stems(word.text)}
