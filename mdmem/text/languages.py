"""The words of all languages together: tables, bare statements, names of attributes."""

from __future__ import annotations

from typing import Any

from mdmem.startup import late
from mdmem.words import de, en, es, fr, zh

LANGUAGES = (en, de, fr, es, zh)


def rows_of(name: str) -> tuple[Any, ...]:
    """Patterns, or pairs of a pattern and a value."""
    return tuple(row for each in LANGUAGES for row in getattr(each, name))


def alternatives(name: str) -> str:
    """The patterns of this name of all languages as alternatives; a table may be one string."""
    tables = filter(None, (getattr(each, name) for each in LANGUAGES))
    return "|".join(each if isinstance(each, str) else "|".join(each) for each in tables)


def words_of(name: str) -> frozenset[str]:
    return frozenset(word for each in LANGUAGES for word in getattr(each, name).split())


_MARK = r"[\s,;:.!…，。：！–—-]"
_LEAD = late.pattern(
    rf"(?i)^\W*(?:(?:{alternatives('INTERJECTIONS')})(?:{_MARK}*[,;:.!…，。：！–—]|\s+-){_MARK}*"
    rf"|(?:{alternatives('LEADS')}){_MARK}*)"
)
_TAIL = late.pattern(
    rf"(?i)(?:(?<![\s,;(–—-])[\s,;(–—-]+(?:{alternatives('TAILS')})[\s)]*"
    r"|(?<![\s.!。！,;])[\s.!。！,;]+)$"
)
_WITHIN = late.pattern(
    rf"(?i)(?:\s*,\s*(?:{alternatives('ASIDES_WITHIN')})\s*,|\s(?:{alternatives('ASIDES_WITHIN')}))"
    r"(?=[\s,])"
)
_TURNED = late.pattern(rf"(?i)^(?:{alternatives('TURNED')})")


def without_tail(text: str) -> str:
    """A text without one of the words at its end that state nothing."""
    return _TAIL.sub("", text, count=1) or text


def bare_statement(sentence: str) -> str:
    text, before = sentence.strip(), ""
    while text != before:
        before = text
        rest = _LEAD.sub("", text, count=1)
        if rest != text and (turned := _TURNED.match(rest)):
            rest = f"{turned['subject']} {turned['verb']}{rest[turned.end() :]}"
        text = without_tail(rest or text)
    return _WITHIN.sub("", text)


# Attributes of the user, and who a statement is about.

SAME_KEYS: dict[str, str] = {
    name: key  # by each other name of it
    for each in LANGUAGES
    for key, names in each.KEY_SYNONYMS.items()
    for name in names
}
FAVOURITE = "favourite "
_SINGLE_KEYS = frozenset(key for _, _, key in rows_of("ATTRIBUTES") if "{" not in key)
_KEYS = _SINGLE_KEYS | words_of("RELATIVES") | words_of("BELONGINGS")
_OF_ANOTHER = late.pattern(rf"(?i)^(?:{alternatives('OF_ANOTHER')})")


def attribute_named(name: str) -> str | None:
    """The attribute of a name, or of another name for it; None where the rules know none."""
    folded = " ".join(name.split()).casefold()
    key = SAME_KEYS.get(folded, folded)
    if key in _KEYS or (key.startswith(FAVOURITE) and len(key) > len(FAVOURITE)):
        return key
    return None


def words_for_key(name: str) -> list[str]:
    """Words of questions that mean a key, in all languages; none for a key that is not known."""
    folded = " ".join(name.split()).casefold()
    key = SAME_KEYS.get(folded, folded)
    return " ".join(each.KEY_QUESTIONS.get(key, "") for each in LANGUAGES).split()


def speaks_of_another(text: str) -> bool:
    return _OF_ANOTHER.match(text) is not None
