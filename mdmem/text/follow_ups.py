"""Follow-ups: prompts that cannot be understood without the message before them. Pure.

Words of all languages count, whatever the setting `language`.
"""

from __future__ import annotations

from collections.abc import Sequence

from mdmem.startup import late
from mdmem.text.languages import alternatives, words_of

_MOST_WORDS, _MOST_CHARACTERS = 6, 12
"""Of a short prompt; in a script without spaces the characters count."""
_WORD = late.pattern(r"[^\W_]+(?:'[^\W_]+)*")
_WITHOUT_SPACES = late.pattern(r"[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_OPENING = r"(?i)^\W*(?:(?:ok(?:ay)?|so|no|yes|well)\b\W*)?"
_GOING_ON = late.pattern(rf"{_OPENING}(?:{alternatives('GOING_ON')})")
_POINTING_BACK = late.pattern(rf"(?i)(?:{alternatives('POINTING_BACK')})")
_NAME = late.pattern(
    r"(?<=[\w,;:)'’\"] )['\"“‘(]*(?!I\b)[^\W\d_a-zß-öø-ÿ]\w+"  # a capital within a sentence
    r"|\b[A-Z]{2,}\b|\w[_/.]\w|`"
)
_MAKING = late.pattern(rf"{_OPENING}(?:{alternatives('MAKING')})")
_QUESTION_MARK = late.pattern(r"[?？؟]\s*$")
_CLAUSE_END = late.pattern(r"[,;:!?\n]|\.(?:\s|$)")
_MOST_THINGS = 4
_MOST_MESSAGES, _LONG = 3, 300
"""Messages that a follow-up is asked with, and characters of each; a longer one is none itself."""

_ACKNOWLEDGEMENTS = words_of("ACKNOWLEDGEMENTS")
_DETERMINERS, _PREPOSITIONS = words_of("DETERMINERS"), words_of("PREPOSITIONS")


def _words(text: str) -> list[str]:
    return _WORD.findall(text.replace("’", "'"))


def is_acknowledgement(prompt: str) -> bool:
    """True for thanks, yes and no, and the like, with nothing else."""
    if len(prompt) > _LONG or _QUESTION_MARK.search(prompt):
        return False
    return {word.casefold() for word in _words(prompt)} <= _ACKNOWLEDGEMENTS


def is_short(prompt: str) -> bool:
    """True for a few words, or for a few characters in a script without spaces."""
    if len(prompt) > _LONG:
        return False
    if _WITHOUT_SPACES.search(prompt):
        return sum(map(len, _words(prompt))) <= _MOST_CHARACTERS
    return len(_words(prompt)) <= _MOST_WORDS


def may_follow(prompt: str) -> bool:
    return (is_follow_up(prompt) or is_short(prompt)) and not is_acknowledgement(prompt)


def leading_messages(prompt: str, before: Sequence[str]) -> list[str]:
    """The messages that explain a prompt, in their order; `before` has the newest first.

    A follow-up, and a short prompt, goes on from the last one, and that, if it is one itself, from
    the one before. Acknowledgements are passed over.
    """
    if not may_follow(prompt):
        return []
    leading: list[str] = []
    for message in before:
        if len(leading) == _MOST_MESSAGES:
            break
        if not is_acknowledgement(message):
            leading.insert(0, message[-_LONG:])
            if not is_follow_up(message):
                break
    return leading


def is_follow_up(prompt: str) -> bool:
    """True if a prompt goes on from the message before it, or points back and names nothing."""
    if len(prompt) > _LONG:
        return False
    return bool(_GOING_ON.search(prompt)) or (
        bool(_POINTING_BACK.search(prompt)) and not _NAME.search(prompt)
    )


def made_things(prompt: str) -> Sequence[str]:
    """The words of the thing that a request is to make: `commit`, `message`; none in others."""
    making = _MAKING.match(prompt)
    things: list[str] = []
    for word in _words(_CLAUSE_END.split(prompt[making.end() :], 1)[0]) if making else ():
        if word.casefold() in _DETERMINERS:
            continue
        if word.casefold() in _PREPOSITIONS:
            break
        things.append(word)
    return things[:_MOST_THINGS]
