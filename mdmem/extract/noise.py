"""The noise filter: sentences and messages that say nothing worth keeping, whoever says them."""

from __future__ import annotations

from collections.abc import Sequence

from mdmem import secrets
from mdmem.extract.english import NARRATION_CHARACTERS
from mdmem.extract.plain import is_rule
from mdmem.extract.sentences import Sentence
from mdmem.extract.vocabulary import vocabulary
from mdmem.startup import late

REDACTED = secrets.REDACTED
MIN_CONTENT_WORDS = 4
"""Under so many a message without a number, a name or a time says next to nothing."""
_MOST_OF_REMARK = 4
"""The content words of a remark are fewer than this."""
_COMMAND = late.pattern(r"\s*/[\w:-]+(?:\s|$)")
_DIGIT = late.pattern("[0-9]")
_CLOCK = late.pattern(r"\b\d{1,2}(?::\d\d| ?(?:am|pm))\b")


def is_command(text: str) -> bool:
    """True if a message is a command to its client: `/model`."""
    return _COMMAND.match(text) is not None


def names(sentence: Sentence) -> list[str]:
    """The words of a sentence that look like names: with a capital, and not at its beginning."""
    return [word for word in sentence.words[1:] if word[0].isupper() and word != "I" and not word.startswith("I'") and not _is_time(word)]


def _is_time(word: str) -> bool:
    return word.casefold().removesuffix("'s") in vocabulary().time_words


def has_number(sentence: Sentence) -> bool:
    """True if a sentence holds a number, in digits or in words."""
    return not vocabulary().numbers.isdisjoint(sentence.folded) or _has_digit(sentence.text)


def _has_digit(text: str) -> bool:
    return _DIGIT.search(text) is not None if text.isascii() else any(map(str.isdigit, text))


def has_time(sentence: Sentence) -> bool:
    """True if a sentence says when: a day, a month, an hour."""
    time_words = vocabulary().time_words
    return (
        not time_words.isdisjoint(sentence.folded)
        or any(word.endswith("'s") and word[:-2] in time_words for word in sentence.folded)
        or _CLOCK.search(sentence.text) is not None
    )


def is_acknowledgement(sentence: Sentence) -> bool:
    """True if a sentence holds no word but those of an acknowledgement, or no word at all."""
    return sentence.folded <= vocabulary().acknowledgements


def is_about_you(sentence: Sentence) -> bool:
    """True if a sentence speaks of the other one alone."""
    return not vocabulary().second_person.isdisjoint(sentence.folded) and vocabulary().first_person.isdisjoint(sentence.folded)


def is_remark(sentence: Sentence) -> bool:
    """True if a sentence only says how its speaker likes what the other one says or shows."""
    words = vocabulary()
    return (
        len(sentence.content) < _MOST_OF_REMARK
        and words.first_person.isdisjoint(sentence.folded)
        and words.requirements.isdisjoint(sentence.folded)
        and words.remark.match(sentence.straight) is not None
        and not (has_number(sentence) or has_time(sentence) or names(sentence))
    )


def is_noise(sentence: Sentence) -> bool:
    """True if a sentence is not kept, whatever else stands in its message."""
    return (
        sentence.is_question
        or REDACTED in sentence.text
        or is_acknowledgement(sentence)
        or is_remark(sentence)
        or vocabulary().refusal.match(sentence.straight) is not None
        or (is_about_you(sentence) and not _says_more(sentence))
    )


def _says_more(sentence: Sentence) -> bool:
    """True if a sentence about the other one holds a number or a time, or is a rule for them."""
    return has_number(sentence) or has_time(sentence) or is_rule(sentence.straight)


def is_slight(statements: Sequence[Sentence]) -> bool:
    """True if what a message says is next to nothing: under four content words, without a number, a name or a time."""
    if len({word for each in statements for word in each.content}) >= MIN_CONTENT_WORDS:
        return False
    return not any(has_number(each) or has_time(each) or names(each) for each in statements)


def is_narration(sentence: Sentence) -> bool:
    """True if an agent only says what it does next."""
    return len(sentence.text) < NARRATION_CHARACTERS and vocabulary().narration.match(sentence.straight) is not None
