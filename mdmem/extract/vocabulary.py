"""The words of the rules, compiled.

Statements are weighed and named by English rules. Plain statements are known in every language that
has a module. All languages count at once, whatever the setting `language` is, since a text that is
pasted into a message can be in any of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from re import Match, Pattern

from mdmem.extract import chinese, english, french, german, spanish
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


@dataclass(frozen=True, slots=True)
class PlainWords:
    """Patterns of plain statements, of all languages; see `english`."""

    openers: Pattern[str]
    """Any number of them, and signs between them."""
    own: Pattern[str]
    own_by_language: tuple[Pattern[str], ...]
    remembering: Pattern[str]
    requests: Pattern[str]
    greetings: Pattern[str]
    label: Pattern[str]
    inline_label: Pattern[str]
    text_work: Pattern[str]
    not_plain: Pattern[str]
    taints: Pattern[str]
    leads_in: Pattern[str]
    sign_off: Pattern[str]
    addressing: Pattern[str]
    """A greeting to somebody by name, as in a letter."""
    asks: Pattern[str]
    names_language: Pattern[str]
    """A sentence that names the language of a translation, and hardly more."""
    states: Pattern[str]
    states_anywhere: Pattern[str]
    cues: tuple[tuple[Pattern[str], str], ...]
    """Of the languages besides English: the statements that are always kept, and their kinds."""
    function_words: frozenset[str]
    characters: Pattern[str]
    """The script of a language that has no spaces."""


_LANGUAGES = (english, german, french, spanish, chinese)


@cache
def plain_words() -> PlainWords:
    """The words of plain statements."""
    inline = "|".join(english.INLINE_LABELS)
    others = (german, french, spanish, chinese)
    return PlainWords(
        openers=late.pattern(rf"(?i)\W*(?:(?:{_each('OPENERS')})\W*)*"),
        own=_any((_each("OWN"),)),
        own_by_language=tuple(_any(each.OWN) for each in _LANGUAGES),
        remembering=late.pattern(
            rf"(?i)\W*(?:(?:please|pls|and|also|hey|hi|ok)\W+)*(?:{_each('REMEMBERING')})",
        ),
        requests=_any((_each("REQUESTS"),)),
        greetings=late.pattern(rf"(?i)\W*(?:{_each('GREETINGS')})"),
        label=late.pattern(rf"(?i)\W*(?:{_each('LABELS')})\W*$"),
        inline_label=late.pattern(rf"(?i)\W*(?:{_each('LABELS')}|{inline})\W*$"),
        text_work=_any(tuple(pattern for each in _LANGUAGES for pattern in each.TEXT_WORK)),
        not_plain=_any(tuple(pattern for each in _LANGUAGES for pattern in each.NOT_PLAIN)),
        taints=_any((_each("TAINTS"),)),
        leads_in=_any((_each("LEADS_IN"),)),
        sign_off=late.pattern(rf"(?i)^\W*(?:{_each('SIGN_OFFS')})\b[^.\n]{{0,40}}$"),
        addressing=_addressing(),
        asks=_any(english.ASKS),
        names_language=_names_language(),
        states=_any(english.STATES),
        states_anywhere=_any(english.STATES_ANYWHERE),
        cues=tuple((_any((pattern,)), kind) for each in others for pattern, kind in each.CUES),
        function_words=_words(" ".join(each.FUNCTION_WORDS for each in _LANGUAGES)),
        characters=_any((chinese.CHARACTERS,)),
    )


def _addressing() -> Pattern[str]:
    greetings = "|".join(each.ADDRESSING[0] for each in _LANGUAGES)
    people = "|".join(each.ADDRESSING[1] for each in _LANGUAGES)
    agents = "|".join(english.AGENTS)
    name = r"(?-i:[A-Z])[\w'-]+"
    return late.pattern(
        rf"(?i)^\W*(?:{greetings}) (?!(?:{agents})\b)"
        rf"(?:{people}|{name}(?: {name})?)\s*(?:[,!.:;]|$)"
    )


def _names_language() -> Pattern[str]:
    names = "|".join(each.LANGUAGES for each in _LANGUAGES)
    speaking = "|".join(each.SPEAKING for each in _LANGUAGES)
    into = r"(?:in|to|into|auf|ins|en)"
    polite = r"(?:please|pls|plz|bitte|svp|stp|por favor|version|translation)"
    return late.pattern(
        rf"(?i)^\W*(?:{into} )?(?:{names})(?:\W*$|,| for\b| {polite}\b)|"
        rf"^(?!.*\b(?:{speaking})).* {into} (?:{names})(?: {polite})?\W*$"
    )


def _each(name: str) -> str:
    """The patterns of this name of all languages, as alternatives."""
    return "|".join(pattern for each in _LANGUAGES for pattern in getattr(each, name))


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
