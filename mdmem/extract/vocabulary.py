"""The words of a language, compiled for the rules. Rules are English; for other languages there are the marks alone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from re import Match, Pattern

from mdmem.extract import english
from mdmem.startup import late
from mdmem.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class WordedPattern:
    """A pattern, and words one of which is in every text that it matches."""

    words: frozenset[str]
    pattern: Pattern[str]

    def search(self, text: str, words: frozenset[str]) -> Match[str] | None:
        """Search a text with these words (see `Sentence.pieces`)."""
        return None if self.words.isdisjoint(words) else self.pattern.search(text)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Word lists and patterns of a language; see `english`."""

    acknowledgements: frozenset[str]
    stop_words: frozenset[str]
    first_person: frozenset[str]
    second_person: frozenset[str]
    happenings: frozenset[str]
    wishes: frozenset[str]
    time_words: frozenset[str]
    numbers: frozenset[str]
    kin: frozenset[str]
    kin_people: frozenset[str]
    """The words of `kin` for people, singular, possessive too."""
    requirements: frozenset[str]
    greeting: Pattern[str]
    narration: Pattern[str]
    refusal: Pattern[str]
    reported: WordedPattern
    remark: Pattern[str]
    condition: WordedPattern
    choice: Pattern[str]
    answer: Pattern[str]
    naming: Pattern[str]
    reason: Pattern[str]
    caption: Pattern[str]
    cues: tuple[tuple[WordedPattern, str], ...]
    """The statements that are always kept, and their kinds; the first that matches decides."""
    tool_decision: WordedPattern
    correction: WordedPattern
    agent: tuple[tuple[Pattern[str], str], ...]
    agent_hints: tuple[str, ...]
    attributes: tuple[tuple[WordedPattern, str], ...]
    attribute_words: frozenset[str]
    """One of these is in every statement about an attribute."""
    keys: frozenset[str]
    """The attributes that have one name; those of a favourite have as many as there are things."""
    same_keys: Mapping[str, str]
    """The attribute for each other name of it."""
    many_valued: frozenset[str]
    request_to_forget: Pattern[str]
    not_so: Pattern[str]
    not_so_before: Pattern[str]


@cache
def vocabulary() -> Vocabulary:
    """The English vocabulary."""
    return Vocabulary(
        acknowledgements=_words(english.ACKNOWLEDGEMENTS),
        stop_words=_words(english.STOP_WORDS),
        first_person=_words(english.FIRST_PERSON),
        second_person=_words(english.SECOND_PERSON),
        happenings=_words(english.HAPPENINGS),
        wishes=_words(english.WISHES),
        time_words=_words(english.TIME_WORDS),
        numbers=_words(english.NUMBERS),
        kin=_words(english.KIN),
        kin_people=_words(english.PEOPLE) | {f"{name}'s" for name in _words(english.PEOPLE)},
        requirements=_words(english.REQUIREMENTS),
        greeting=_any((f"^{english.GREETING}",)),
        narration=_any(english.NARRATION),
        refusal=_any(english.REFUSALS),
        reported=_worded(english.REPORTED_WORDS, english.REPORTED),
        remark=_any(english.REMARKS),
        condition=_worded(english.CONDITIONS_WORDS, english.CONDITIONS),
        choice=_any(english.CHOICES),
        answer=_any(english.ANSWERS),
        naming=_any((english.NAMING,)),
        reason=_any((english.REASONS,)),
        caption=_any((english.CAPTION,)),
        cues=(
            (_worded(english.REMEMBER_WORDS, english.REMEMBER), "fact"),
            (_worded(english.DECISIONS_WORDS, english.DECISIONS), "decision"),
            (_worded(english.PREFERENCES_WORDS, english.PREFERENCES), "preference"),
            (_worded(english.FACTS_WORDS, english.FACTS), "fact"),
        ),
        tool_decision=_worded(english.TOOL_DECISIONS_WORDS, english.TOOL_DECISIONS),
        correction=_worded(english.CORRECTIONS_WORDS, english.CORRECTIONS),
        agent=((_any(english.LESSONS), "lesson"), (_any(english.STATUSES), "status")),
        agent_hints=english.AGENT_HINTS,
        keys=frozenset(key for _, _, key in english.ATTRIBUTES if "{" not in key)
        | _words(english.RELATIVES)
        | frozenset(english.BELONGINGS.split("|")),
        same_keys={name: key for key, names in english.KEY_SYNONYMS.items() for name in names},
        many_valued=_words(english.MANY_VALUED),
        request_to_forget=_any((rf"^{english.REQUEST_TO_FORGET}$",)),
        not_so=_any(english.NOT_SO),
        not_so_before=_any(english.NOT_SO_BEFORE),
        attributes=tuple((_worded(words, (pattern,)), key) for words, pattern, key in english.ATTRIBUTES),
        attribute_words=frozenset(word for words, _, _ in english.ATTRIBUTES for word in words.split()),
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _worded(words: str, patterns: tuple[str, ...]) -> WordedPattern:
    return WordedPattern(_words(words), _any(patterns))


def _any(patterns: tuple[str, ...]) -> Pattern[str]:
    """One pattern of several, whatever the case."""
    return late.pattern("(?i)" + "|".join(f"(?:{pattern})" for pattern in patterns))
