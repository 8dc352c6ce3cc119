"""How alike two statements are: whether the one may have taken the place of the other.

What two versions of a statement have in common are the words that say what it is about; what tells them apart are names and numbers.
So content words count by their length, names and numbers little, words that carry no meaning not at all. Scripts without spaces are
compared by pairs of characters. No dictionary is asked, except for the few verbs that changes are told with: who `lives` in one city
has `moved` to another.
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

from mdmem.document import UNSPACED
from mdmem.facts import UNTIL
from mdmem.startup.records import dataclass

_SAYING_NOTHING = """
    a an and are as at be been but by every each for from had has have he her his i if in into is it its me more my no not now of on or our
    out she so than that the their them then there they this to too us user was we were what when where which who will with you your
    das dem den der des die ein eine einen einer er es im ist mit nicht sie und von vor wir zu zum zur auf für bei
    al con de del el en la las lo los para por que se su un una uno unos ya
    au aux ce dans du elle est et il le les ne nous pas pour qui sa son sur à
    com da do dos e em na nas nos o os ao uma
    ci che di gli ha nel non per più si
    в во и из к на не но о он она от по с со у что это
    i na nie o po się w we z ze do jest
"""
_STOP_WORDS = frozenset(_SAYING_NOTHING.split())
_ONE_STORY = (
    """
    live lives lived living reside resides moved moving relocated based
    wohnt wohne lebt zog gezogen umgezogen vive vivo mudó mudado habite déménagé mora mudou abita trasferito
    живёт переехал переехала mieszka przeprowadził 住在 搬到 搬去 住ん 引越 引っ
    """,
    """
    work works worked working joined joining employed employer hired
    arbeitet arbeite wechselte trabaja travaille trabalha lavora работает работаю pracuje 工作 入职 上班 勤務 勤め 転職 入社 働い
    """,
    """
    use uses used using switched switching migrated moved adopted replaced
    benutzt nutzt verwendet umgestiegen usa usan utiliza cambió utilise использует używa 使用 改用 换成 使っ 移行
    """,
    """
    deploy deploys deployed deploying deployment deployments release releases released releasing ship ships shipped
    """,
    """
    prefer prefers preferred like likes liked love loves favourite favorite
    """,
)
"""Words that tell one story before and after a change; each line a language or two."""

_WORD = re.compile(r"\w+(?:[.'’]\w+)*")
_FIRST_UNSPACED = "\u0e00"
_PARTICLES = re.compile("[\u3041-\u309f的了在是到和与我你他她也不有就都用户]")
"""Characters that hold sentences together: hiragana and the commonest function characters of Chinese."""
_DENIALS = frozenset(
    ("no", "not", "never", "don't", "nicht", "nie", "kein", "keine", "keinen", "pas", "jamais", "nunca", "não", "non", "не")
)
_DENYING = re.compile("[不没沒別]|ない|ません|않|안 ")

_MAX_CHARS = 2000
_MAX_WORDS = 200
"""What a longer statement says after that is not compared."""
_LONGEST = 10
"""A word counts by its letters, but not for more than this many."""
_PAIR = 4.0
_LOOSE_PAIR = 0.25
"""What a pair of characters counts for, and one in which a particle stands."""
_STEM = 4
"""So many letters in common at least make two words forms of one, if not more than `_ENDING` of the shorter are left over."""
_ENDING = 2
_CHANGED_NAME, _SHARED_NAME, _NUMBER = 0.25, 0.5, 0.25
"""Parts of their weight that names and numbers count for: they are what an update changes, and one name stands in many statements."""
_STORY = 0.5
"""What two words of one story have in common."""
_SUBJECT = 1.5
"""How much more the first word counts where both statements begin with it: it is what they are about."""
_FEW = 400
_COMMON = 32
_NEAREST = 4
"""Up to so many pairs, each is looked at; else a stem that more statements hold brings none together, and so many of the nearest count."""


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a statement, folded. `name`: it looks like a proper noun; `number`: it holds a digit."""

    text: str
    weight: float
    name: bool = False
    number: bool = False

    @property
    def common(self) -> float:
        return self.weight * (_NUMBER if self.number else _SHARED_NAME if self.name else 1.0)

    @property
    def changed(self) -> float:
        return self.weight * (_NUMBER if self.number else _CHANGED_NAME if self.name else 1.0)


def _fold(word: str) -> str:
    if word.isascii():
        return word.casefold()
    plain = unicodedata.normalize("NFKD", word.casefold())
    return "".join(c for c in plain if not unicodedata.combining(c)) or word


@cache
def _stories() -> dict[str, set[int]]:
    """The stories that a word tells, by their numbers."""
    found: dict[str, set[int]] = defaultdict(set)
    for number, words in enumerate(_ONE_STORY):
        for word in words.split():
            found[word if word[0] >= _FIRST_UNSPACED else _fold(word)].add(number)
    return dict(found)


_NO_STORY: set[int] = set()


def _pairs(run: str) -> Iterator[_Word]:
    for pair in [run[at : at + 2] for at in range(len(run) - 1)] or [run]:
        yield _Word(pair, _LOOSE_PAIR if _PARTICLES.search(pair) and pair not in _stories() else _PAIR)


def _spaced(text: str, start: int) -> Iterator[_Word]:
    """The words of a text; `start` is where it begins in its statement."""
    before = "" if start else "."
    end = 0
    for match in _WORD.finditer(text):
        said = match[0]
        before = text[end : match.start()].strip() or ("" if end or start else before)
        end = match.end()
        begins = before.endswith((".", "!", "?", ";"))
        if said.casefold() in _STOP_WORDS or (len(said) == 1 and not said.isdigit()):
            continue
        capital = any(c.isupper() for c in (said[1:] if begins else said))
        yield _Word(_fold(said), min(len(said), _LONGEST), capital and not begins, any(c.isdigit() for c in said))


@lru_cache(maxsize=4096)
def _words(statement: str) -> tuple[_Word, ...]:
    """The words of a statement that say something, each once, in their order."""
    text = unicodedata.normalize("NFC", UNTIL.sub("", statement)[:_MAX_CHARS])
    found: dict[str, _Word] = {}
    end = 0
    for run in () if text.isascii() else re.compile(UNSPACED).finditer(text):
        for word in (*_spaced(text[end : run.start()], end), *_pairs(run[0])):
            found.setdefault(word.text, word)
        end = run.end()
    for word in _spaced(text[end:], end):
        found.setdefault(word.text, word)
    return tuple(found.values())[:_MAX_WORDS]


def _kinship(one: str, other: str) -> float:
    """How much two different words have in common: their stem, half where they tell one story, or nothing."""
    if one[:_STEM] == other[:_STEM]:
        shared = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
        if shared >= _STEM and min(len(one), len(other)) - shared <= _ENDING:
            return 2 * shared / (len(one) + len(other))
    return _STORY if _stories().get(one, _NO_STORY) & _stories().get(other, _NO_STORY) else 0.0


def _stems(word: str) -> Iterator[str]:
    """What a word shares with all that are kin to it: its first letters, its stories."""
    yield word[:_STEM]
    yield from (f"\0{story}" for story in _stories().get(word, _NO_STORY))


def _matched(one: Sequence[_Word], other: Sequence[_Word]) -> dict[int, tuple[int, float]]:
    """Which word of the one is which of the other, and how much so; the same words first, then the nearest."""
    places = {word.text: at for at, word in enumerate(other)}
    found = {at: (places[word.text], 1.0) for at, word in enumerate(one) if word.text in places}
    taken = {at for at, _ in found.values()}
    kin: dict[str, list[int]] = defaultdict(list)
    for b, rival in enumerate(other):
        for stem in _stems(rival.text) if b not in taken else ():
            kin[stem].append(b)
    met = {(a, b) for a, word in enumerate(one) if a not in found for stem in _stems(word.text) for b in kin.get(stem, ())}
    for kinship, a, b in sorted((-_kinship(one[a].text, other[b].text), a, b) for a, b in met):
        if kinship and a not in found and b not in taken:
            found[a] = (b, -kinship)
            taken.add(b)
    return found


def _of_another(one: Sequence[_Word], other: Sequence[_Word], pairs: Mapping[int, tuple[int, float]]) -> bool:
    """Whether the statements say different things of different subjects: both before and after what they share, they differ."""
    taken = {to for to, _ in pairs.values()}
    return all(_differs_around(words, met) for words, met in ((one, pairs.keys()), (other, taken)))


def _differs_around(words: Sequence[_Word], met: Collection[int]) -> bool:
    """Whether words that another statement has not stand both before and after the first that it has."""
    first = min(met)
    own = [at for at, word in enumerate(words) if at not in met and word.weight > _LOOSE_PAIR]
    return bool(own) and own[0] < first < own[-1]


def likeness(one: str, other: str) -> float:
    """From 0 (nothing in common) to 1: the part of what two statements say that both say, names and numbers aside.

    0 too where they differ both before and after what they share (`Ana works at Stripe`, `Ben works at Linear`): then it is a like
    statement of another subject.
    """
    a, b = _words(one), _words(other)
    pairs = _matched(a, b)
    if not pairs or _of_another(a, b, pairs):
        return 0.0
    common = fsum(kinship * (a[at].common + b[to].common) for at, (to, kinship) in pairs.items())
    if pairs.get(0) == (0, 1.0):
        common += (_SUBJECT - 1) * (a[0].common + b[0].common)
    rest = fsum((1 - kinship) * (a[at].common + b[to].common) for at, (to, kinship) in pairs.items())
    taken = {to for to, _ in pairs.values()}
    rest += fsum(word.changed for at, word in enumerate(a) if at not in pairs)
    rest += fsum(word.changed for at, word in enumerate(b) if at not in taken)
    return common / (common + rest)


def word_overlap(one: str, other: str) -> float:
    """From 0 to 1: the part of the words of two statements that is in both; names count in full.

    0 where they hold different numbers, or one of them denies what the other says.
    """
    a, b = _words(one), _words(other)
    numbers = [{word.text for word in words if word.number} for words in (a, b)]
    if not a or not b or numbers[0] != numbers[1] or _denies(one) != _denies(other):
        return 0.0
    shared = fsum(kinship * (a[at].weight + b[to].weight) for at, (to, kinship) in _matched(a, b).items())
    return shared / fsum(word.weight for word in (*a, *b))


def _denies(statement: str) -> bool:
    return not _DENIALS.isdisjoint(match[0].casefold() for match in _WORD.finditer(statement)) or bool(_DENYING.search(statement))


def _all_stems(statement: str) -> set[str]:
    return {stem for word in _words(statement) for stem in _stems(word.text)}


def candidate_pairs(ones: Sequence[str], others: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Which of the ones may be alike to which of the others, by their numbers: all, or of very many those that share the most stems."""
    if len(ones) * len(others) <= _FEW:
        yield from product(range(len(ones)), range(len(others)))
        return
    holders: dict[str, list[int]] = defaultdict(list)
    for number, statement in enumerate(others):
        for stem in _all_stems(statement):
            holders[stem].append(number)
    for number, statement in enumerate(ones):
        met = Counter(other for stem in _all_stems(statement) if len(holders[stem]) <= _COMMON for other in holders[stem])
        yield from ((number, other) for other, _ in sorted(met.items(), key=itemgetter(1), reverse=True)[:_NEAREST])
