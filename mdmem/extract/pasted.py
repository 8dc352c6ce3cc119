"""Other people's words in a message: which of its sentences were surely typed by the person who sent it.

What is pasted is often announced (`Here is the mail from Ann:`), or shows by its form: headers of a mail, names before the lines of a chat, a
heading, code. From there on nothing counts as the person's own word; it may still be kept, as something that was inferred.
"""

from __future__ import annotations

from mdmem.extract.sentences import sentences
from mdmem.startup import late

_PASTED_FROM = 1500
"""A message of so many characters was hardly typed."""
_OWN_LABEL = (
    r"(?:decisions?|preferences?|lessons?|facts?|remember|reminders?|notes?|todos?|important|fyi|btw|p\.?s|update|correction|edit|answer|yes|no|ok(?:ay)?|also|"
    r"(?:\w+ )*(?:rules?|things?|points?|conventions?|requirements?|constraints?|decisions?|preferences?|reminders?)(?: \w+){0,4}|"
    r"(?:for|re|regarding|about|concerning) [^:\n]{1,60}|"
    r"in (?:the|this|our|my) (?![^:\n]*(?:wrote|writes|said|says|file|page|mail|text|letter|article|log|chat|message|slack|issue|comment|thread|wiki|doc|readme|notes?|book|\w\.\w))[^:\n,]{1,30})"
)
"""Labels that a person puts in front of words of their own."""
_OWN = late.pattern(rf"(?i)\W*{_OWN_LABEL}\W*$")
_BEGINS = late.pattern(
    rf"""(?mx)
    ^[ \t]*(?i:from|to|cc|subject|date|sent|reply-to|author):[ \t]+\S                             # the headers of a mail
    |^\W*(?!(?i:{_OWN_LABEL.replace(" ", "[ ]")})[ ]*:)(?:(?i:user|human|assistant|system|ai|bot|agent|me|you|prompt|q|a)|[A-Z][\w.'-]{{0,30}}(?:[ ][A-Z][\w.'-]{{0,30}})?)
      (?:[ ]\([^)\n]{{0,40}}\))?(?:[ ]*:[ \t]|>[ \t])                                             # a name before a line of a chat
    |^\W*\[?\d{{1,2}}:\d\d(?::\d\d)?(?:[ ]?[AaPp][Mm])?\]?[ \t]+\S+[ \t]*[:>]                     # the time before such a line
    |^\W*[A-Z]\w+(?:[ ][A-Z]\w+)?[ \t]+\[?\d{{1,2}}:\d\d(?:[ ]?[AaPp][Mm])?\]?[ \t]*$             # name and time above it
    |^[ \t]*(?i:dear)[ ][^\n]{{1,60}},[ \t]*$                                                     # a letter
    |^\#{{1,6}}[ ]|^[ \t]*(?:-{{3,}}|={{3,}}|\*{{3,}}|_{{3,}})[ \t]*$                             # a heading, a rule
    |^(?:[ ]{{4,}}|\t)[ \t]*(?![-*+\u2022][ ]|\d+[.)][ ])\S                                       # code
    |^\+[ ]                                                                                       # a difference
    """
)
"""The beginning of something that was pasted."""
_LEADS_IN = late.pattern(
    r"(?im)^[^\n]*(?::|\b(?:says|said|wrote|writes|reads|stated|states|below|follows|printed|prints|returned|returns|output)\W*)[ \t]*$"
)
"""A line that announces what follows."""
_LABEL = late.pattern(r":(?=[\s\"'])")
_INSTANCE = late.pattern(r"(?i)\b(?:e\.g\.|for example|for instance|such as)")


def typed_sentences(text: str) -> frozenset[str] | None:
    """The sentences that were surely typed, where a message holds something pasted; None where all of it was typed."""
    if len(text) >= _PASTED_FROM:
        return frozenset()
    begins = _BEGINS.search(text)
    end = begins.start() if begins else len(text)
    for match in _LEADS_IN.finditer(text, 0, end) if "\n" in text else ():
        if match.end() < len(text.rstrip()) and not _OWN.match(match[0].rstrip().removesuffix(":")):
            end = match.end()
            break
    return None if end == len(text) else frozenset(each.text for each in sentences(text[:end]))


def is_announced(text: str, start: int) -> bool:
    """True if what begins at a character of a sentence stands behind words that make it somebody else's, or a mere example: `Translate: …`."""
    before = text[:start]
    labels = [match.start() for match in _LABEL.finditer(before)]
    return _INSTANCE.search(before) is not None or any(not _OWN.match(before[:label]) for label in labels)
