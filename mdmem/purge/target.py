"""The words that a purge removes, as patterns, and bytes without them. Pure.

A Markdown list item that states the fact goes as whole lines. Everywhere else the words become
`[PURGED]`: as given, in NFC and NFD, with any white space between them, line ends included (a last
`(until …)` is ignored; `>` of quotes and, in messages, `+` and `-` of quoted lines count as white
space). Messages also lose quoted lines of that fact, and beginnings cut short with `…`.
"""

from __future__ import annotations

import re
import unicodedata

from mdmem.model import FactId
from mdmem.model.errors import PathProblem, TextProblem
from mdmem.purge.history_rewrite import RewriteRules
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text import facts
from mdmem.text.document import clean_input, parse_bytes

PURGED_MARK = "[PURGED]"
_LEAST = 4
_LEAST_CUT = 12
"""The minimum length of the beginning that is searched before `…`."""
_SQUEEZED = late.pattern(r"[\s*_\\]+")
_QUOTED_LINE = late.pattern(r"(?m)^([-+] )(\S.*)$")
_BLANK = (
    rb"(?:[\t\x0b\x0c\x1c-\x20]|\xc2[\x85\xa0]|\xe1\x9a\x80"
    rb"|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80)"
)
"""A white space character (as of str.split()) in UTF-8, except line ends."""


@dataclass(frozen=True, slots=True)
class PurgeTarget:
    """The words to purge, without `(until …)`, and the id of their fact, if any.

    `binary` has their bytes in each encoding searched in binary files, `anchor` letters and digits
    that every ASCII text with the fact has, `squeezed` no white space or Markdown marks.
    """

    words: str
    fact: FactId | None
    in_text: re.Pattern[bytes]
    in_message: re.Pattern[bytes]
    binary: tuple[bytes, ...]
    anchor: bytes
    squeezed: str


def purge_target(words: str, fact: FactId | None) -> PurgeTarget:
    """Compile words. Raises: TextProblem (`bad-text`): too short, or like `[PURGED]`."""
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
    """True if `[PURGED]` and its surroundings could form the words: a purge would never end."""
    ends = range(1, len(PURGED_MARK))
    return words in PURGED_MARK or any(
        words.startswith(PURGED_MARK[-n:]) or words.endswith(PURGED_MARK[:n]) for n in ends
    )


def _forms(words: str) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(
            (words, unicodedata.normalize("NFC", words), unicodedata.normalize("NFD", words))
        )
    )


def _pattern(words: str, quoting: bytes) -> re.Pattern[bytes]:
    """The words in UTF-8, NFC or NFD, with any white space; `quoting` may follow a line end."""
    gap = rb"(?:%b*[\r\n](?:%b|[\r\n]|%b(?=%b|[\r\n]))*|%b+)" % (
        _BLANK,
        _BLANK,
        quoting,
        _BLANK,
        _BLANK,
    )
    exact = gap.join(re.escape(word.encode()) for word in words.split())
    folded = gap.join(_composed_or_not(word) for word in words.split())
    return re.compile(exact if exact == folded else exact + rb"|" + folded)


def _composed_or_not(word: str) -> bytes:
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
    """A text file without the target, other lines unchanged. Idempotent."""
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
    """True if a parse could find the fact: parsing every version would take too long."""
    if target.fact is None:
        return False
    if data.isascii():
        return target.anchor in data.lower()
    return target.squeezed in _SQUEEZED.sub("", facts.normalise(data.decode("utf-8", "replace")))


def purged_message(target: PurgeTarget, data: bytes) -> bytes:
    """A commit's or a tag's message without the target. Idempotent."""
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
    """`text` without beginnings that end in `…`, as mdmem shortens what it quotes."""
    if "…" not in text:
        return text
    *cut, last = text.split("…")
    return "…".join([*(_without_beginning(target, part) for part in cut), last])


def _without_beginning(target: PurgeTarget, text: str) -> str:
    for form in _forms(" ".join(target.words.split())):
        for length in range(len(form), _LEAST_CUT - 1, -1):
            if text.endswith(form[:length]):
                return text[: len(text) - length] + PURGED_MARK
    return text


def purge_rules(target: PurgeTarget) -> RewriteRules:
    return RewriteRules(
        blob=lambda data, markdown: purged_text(target, data, markdown),
        message=lambda data: purged_message(target, data),
        holds=lambda data: target.in_text.search(data) is not None,
        binary=lambda data: b"\0" in data and any(form in data for form in target.binary),
    )
