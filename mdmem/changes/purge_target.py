"""The words that a purge takes out, as patterns, and bytes without them. Pure.

What goes: in Markdown, a list item whose fact has the given id, as whole lines (marker,
continuation lines). In every other place of every text file and message the words themselves, which
become `[PURGED]`: as given, in NFC and NFD, and wherever only the white space between them differs,
line ends included (a last `(until …)` does not count; the `>` of a quote and, in messages, the `+`
and `-` of quoted lines count as white space). Messages lose quoted lines that are that fact, and
the beginning of the words where it was cut short with `…`, too.
"""

from __future__ import annotations

import re
import unicodedata

from mdmem.errors import PathProblem, TextProblem
from mdmem.model import FactId
from mdmem.repo.history_rewrite import RewriteRules
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text import facts
from mdmem.text.document import clean_input, parse_bytes

PURGED_MARK = "[PURGED]"
_LEAST = 4
_LEAST_CUT = 12
"""The shortest beginning of the words that is looked for before a `…`."""
_SQUEEZED = late.pattern(r"[\s*_\\]+")
_QUOTED_LINE = late.pattern(r"(?m)^([-+] )(\S.*)$")
_BLANK = rb"(?:[\t\x0b\x0c\x1c-\x20]|\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80)"
"""A white space character in UTF-8 (what str.split() splits at), line ends aside."""


@dataclass(frozen=True, slots=True)
class PurgeTarget:
    """The words to be purged and the fact that they state.

    Args:
        words: without `(until …)`.
        fact: its id; None where they are no fact's.
        in_text: matches the words in the bytes of a text file.
        in_message: matches them in the message of a commit or a tag.
        binary: their bytes in every encoding that is looked for in binary files.
        anchor: a part of their letters and digits that every ASCII text which states the fact has.
        squeezed: the words without white space and marks of Markdown.
    """

    words: str
    fact: FactId | None
    in_text: re.Pattern[bytes]
    in_message: re.Pattern[bytes]
    binary: tuple[bytes, ...]
    anchor: bytes
    squeezed: str


def purge_target(words: str, fact: FactId | None) -> PurgeTarget:
    """Make patterns of words and a fact's id.

    Raises:
        TextProblem: `bad-text`: too short, not UTF-8, or not to be told from the mark that takes
        their place.
    """
    core = clean_input(facts.UNTIL.sub("", words)).strip()
    if len("".join(core.split())) < _LEAST:
        raise TextProblem(
            "bad-text",
            f"a purge needs at least {_LEAST} characters: shorter words would match too much",
            "Give more words.",
        )
    if _overlaps(core):
        raise TextProblem(
            "bad-text",
            f"the words are part of the replacement, {PURGED_MARK}",
            "Give more words, or fewer.",
        )
    normalised = facts.normalise(core)
    return PurgeTarget(
        words=core,
        fact=fact,
        in_text=_pattern(core, rb">"),
        in_message=_pattern(core, rb"[-+>]"),
        binary=tuple(
            form.encode(code)
            for form in _forms(core)
            for code in ("utf-8", "utf-16-le", "utf-16-be")
        ),
        anchor=max(re.findall(rb"[a-z0-9]+", normalised.encode()), key=len, default=b""),
        squeezed=_SQUEEZED.sub("", normalised),
    )


def _overlaps(words: str) -> bool:
    """True if the mark `[PURGED]` and the text beside it could make up the words again, so that a
    purge would never end.
    """
    ends = range(1, len(PURGED_MARK))
    return words in PURGED_MARK or any(
        words.startswith(PURGED_MARK[-n:]) or words.endswith(PURGED_MARK[:n]) for n in ends
    )


def _forms(words: str) -> tuple[str, ...]:
    """The words as they are, in NFC and in NFD."""
    return tuple(
        dict.fromkeys(
            (words, unicodedata.normalize("NFC", words), unicodedata.normalize("NFD", words))
        )
    )


def _pattern(words: str, quoting: bytes) -> re.Pattern[bytes]:
    """The words in UTF-8, each character composed or not, with any white space between them; after
    a line end `quoting` may stand.
    """
    gap = rb"(?:%b*[\r\n](?:%b|[\r\n]|%b(?=%b|[\r\n]))*|%b+)" % (
        _BLANK,
        _BLANK,
        quoting,
        _BLANK,
        _BLANK,
    )
    exact = gap.join(re.escape(word.encode()) for word in words.split())
    folded = gap.join(_either(word) for word in words.split())
    return re.compile(exact if exact == folded else exact + rb"|" + folded)


def _either(word: str) -> bytes:
    """A word of which each character may stand in NFC or in NFD."""
    clusters: list[str] = []
    for character in unicodedata.normalize("NFC", word):
        if clusters and unicodedata.combining(character):
            clusters[-1] += character
        else:
            clusters.append(character)
    spelled = [[re.escape(form.encode()) for form in _forms(cluster)] for cluster in clusters]
    return b"".join(
        forms[0] if len(forms) == 1 else rb"(?:" + rb"|".join(forms) + rb")" for forms in spelled
    )


# Bytes -> bytes.


def purged_text(target: PurgeTarget, data: bytes, markdown: bool) -> bytes:
    """The bytes of a text file without the target. Every line that does not hold it stays as it is;
    a second time changes nothing.
    """
    if b"\0" in data:
        return data
    while True:
        new = target.in_text.sub(
            PURGED_MARK.encode(), _without_items(target, data) if markdown else data
        )
        if new == data:
            return data
        data = new


def _without_items(target: PurgeTarget, data: bytes) -> bytes:
    """The bytes of a Markdown file without the list items that state the fact."""
    if not _may_state(target, data):
        return data
    try:
        document = parse_bytes(data)
    except PathProblem:
        return data  # no facts are read from such a file
    removed = {
        line
        for item in facts.items(document)
        if item.fact.id == target.fact
        for line in range(item.start, item.end)
    }
    return (
        document.bom
        + "".join(line for number, line in enumerate(document.lines) if number not in removed)
    ).encode()


def _may_state(target: PurgeTarget, data: bytes) -> bool:
    """True if a parse could find the fact: parsing every version of every file would
    take too long.
    """
    if target.fact is None:
        return False
    if data.isascii():
        return target.anchor in data.lower()
    return target.squeezed in _SQUEEZED.sub("", facts.normalise(data.decode("utf-8", "replace")))


def purged_message(target: PurgeTarget, data: bytes) -> bytes:
    """The bytes of a commit's or a tag's message without the target; a second time
    changes nothing.
    """
    while True:
        text = target.in_message.sub(PURGED_MARK.encode(), data).decode("utf-8", "surrogateescape")
        if target.fact is not None:
            text = _QUOTED_LINE.sub(
                lambda line: (
                    f"{line[1]}{PURGED_MARK}"
                    if facts.parse_item(line[2]).id == target.fact
                    else line[0]
                ),
                text,
            )
        new = _without_cut(target, text).encode("utf-8", "surrogateescape")
        if new == data:
            return data
        data = new


def _without_cut(target: PurgeTarget, text: str) -> str:
    """`text` without the beginnings of the words that end in `…`, as mdmem shortens
    what it quotes.
    """
    if "…" not in text:
        return text
    *cut, last = text.split("…")
    return "…".join([*(_without_beginning(target, part) for part in cut), last])


def _without_beginning(target: PurgeTarget, text: str) -> str:
    """`text` without the beginning of the words that it ends with."""
    for form in _forms(" ".join(target.words.split())):
        for length in range(len(form), _LEAST_CUT - 1, -1):
            if text.endswith(form[:length]):
                return text[: len(text) - length] + PURGED_MARK
    return text


def purge_rules(target: PurgeTarget) -> RewriteRules:
    """The target as rules for the rewriting of history."""
    return RewriteRules(
        blob=lambda data, markdown: purged_text(target, data, markdown),
        message=lambda data: purged_message(target, data),
        holds=lambda data: target.in_text.search(data) is not None,
        binary=lambda data: b"\0" in data and any(form in data for form in target.binary),
    )
