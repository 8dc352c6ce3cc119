"""Weigh messages that no rule keeps: how likely is it that somebody asks later for what they say? From the weight `ENTRY` on they are kept.

The weights were fitted on conversations in which the lines that answer later questions are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from mdmem.extract.noise import MIN_CONTENT_WORDS, has_number, has_time, is_about_you, names
from mdmem.extract.sentences import Sentence
from mdmem.extract.vocabulary import vocabulary
from mdmem.startup import late

ENTRY = 2.0
"""The weight from which on a message is an entry."""
PERMISSIVE = 1.0
"""The weight from which on it is one where a session has nothing else."""

FIRST_PERSON, HAPPENING, WISH = 1.0, 1.2, 0.5
TIME, NUMBER, NAME, KIN, NAMING = 1.4, 0.5, 0.7, 0.8, 0.4
ANSWER, CAPTION, REASON = 0.6, 0.9, 0.2
LENGTH = 0.45
"""The factor of ln(1 + content words)."""
GREETING_FIRST = QUESTION_LAST = -0.3
ONLY_QUESTIONS, ABOUT_YOU, SLIGHT = -4.0, -1.5, -2.5
_MOST_NAMES = 2
_TITLE = late.pattern(r"[\"“][^\"”]{3,60}[\"”]")


def weigh(sentences: Sequence[Sentence], statements: Sequence[Sentence], answers: bool) -> float:
    """The weight of a message.

    Args:
        sentences: the whole message.
        statements: those of its sentences that are no noise.
        answers: the message before was a question of the other one.
    """
    if not statements:
        return ONLY_QUESTIONS
    text, vocabulary_ = " ".join(each.straight for each in statements), vocabulary()
    words = frozenset[str]().union(*(each.folded for each in statements))
    content = {word for each in statements for word in each.content}
    features = (
        (FIRST_PERSON, not vocabulary_.first_person.isdisjoint(words)),
        (HAPPENING, not vocabulary_.happenings.isdisjoint(words)),
        (WISH, not vocabulary_.wishes.isdisjoint(words)),
        (TIME, any(map(has_time, statements))),
        (NUMBER, any(map(has_number, statements))),
        (KIN, not vocabulary_.kin.isdisjoint(words)),
        (NAMING, vocabulary_.naming.search(text) is not None),
        (ANSWER, answers),
        (CAPTION, vocabulary_.caption.search(text) is not None),
        (REASON, vocabulary_.reason.search(text) is not None),
        (GREETING_FIRST, vocabulary_.greeting.match(sentences[0].straight) is not None),
        (QUESTION_LAST, sentences[-1].is_question),
        (ABOUT_YOU, all(map(is_about_you, statements))),
        (SLIGHT, len(content) < MIN_CONTENT_WORDS),
    )
    named = len({name for each in statements for name in names(each)}) + len(_TITLE.findall(text))
    return sum(weight for weight, holds in features if holds) + NAME * min(named, _MOST_NAMES) + LENGTH * log(1 + len(content))
