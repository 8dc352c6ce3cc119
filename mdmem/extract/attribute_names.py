"""The names of attributes of the user, and who a statement is about: words alone."""

from __future__ import annotations

from mdmem.startup import late
from mdmem.text.languages import LANGUAGES, alternatives, rows_of, words_of

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


def speaks_of_another(text: str) -> bool:
    return _OF_ANOTHER.match(text) is not None
