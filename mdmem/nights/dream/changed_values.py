"""The value of a line after a statement: the part that is meant changes, and nothing else. Pure.

A value may hold several parts (`TrueNAS at 10.0.0.5, pool tank`). A statement may name the value
that it ends (`in January instead of August`), or go back to one (`back to nginx`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from re import Match, Pattern
from types import ModuleType

from mdmem.sessions.sentences import STOP_WORDS
from mdmem.sessions.shapes import MENTAL, TASKS, language_of
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.english import PAST_FORMS
from mdmem.text.languages import alternatives, bare_statement

_WORD = late.pattern(r"\w(?:[\w.'’@:/%-]*\w)?")
_PART_END = late.pattern(r"(?<!\s)\s*[,;]\s+(?![^()]{0,80}\))")
_CLAUSE_END = late.pattern(r"(?<!\s)\s*[,;.!?(](?:\s|$)|\s[–—-]+\s|$")
_BACK = late.pattern(rf"(?i)\b(?:{alternatives('GOING_BACK')})\s+(?=\S)")
_BY_NOW = late.pattern(rf"(?i)(?<![\s,])[\s,]+(?:{alternatives('BY_NOW')})$")
_SORTS = (
    late.pattern(r"\b\d{1,3}(?:\.\d{1,3}){3}\b"),
    late.pattern(r"(?<![^\s(<])[^\s@]{1,64}@[^\s@.]{1,63}(?:\.\w{1,63}){1,8}"),
    late.pattern(r"https?://\S+"),
    late.pattern(r"\b\d{1,2}:\d\d\b"),
    late.pattern(r"\b\d{4}-\d\d(?:-\d\d)?\b"),
    late.pattern(r"\+?\d[\d -]{6,}\d"),
)
"""Values of a sort: the only one in a statement stands for the only one in a part."""
_NO_NAME = STOP_WORDS | MENTAL | TASKS | PAST_FORMS


@dataclass(frozen=True, slots=True)
class NamedChange:
    """The value that a statement names, and what it ends: the longest of `old` that a line has."""

    new: str
    old: tuple[str, ...]


def parts_of(value: str) -> list[str]:
    return [value[start:end] for start, end in _spans(value)]


def _spans(value: str) -> Iterator[tuple[int, int]]:
    start = 0
    for end in _PART_END.finditer(value):
        yield start, end.start()
        start = end.end()
    yield start, len(value)


def with_changed_part(value: str, said: str) -> str | None:
    """A value of several parts with the one that a statement changes; None where none is clear."""
    changed = [
        (start, end, new)
        for start, end in _spans(value)
        if (new := _changed(value[start:end], said)) is not None
    ]
    if len(changed) != 1:
        return None
    ((start, end, new),) = changed
    return f"{value[:start]}{new}{value[end:]}"


def without_part(value: str, number: int) -> str:
    spans = list(_spans(value))
    if number + 1 < len(spans):
        return value[: spans[number][0]] + value[spans[number + 1][0] :]
    return value[: spans[number - 1][1]] if number else ""


def _changed(part: str, said: str) -> str | None:
    for sort in _SORTS:
        old, new = sort.findall(part), sort.findall(said)
        if len(old) == len(new) == 1:
            return None if old == new else part.replace(old[0], new[0])
    words, others = list(_WORD.finditer(part)), list(_WORD.finditer(said))
    first, at, count = _shared_run(words, others)
    if not count:
        return None
    if first == 0:
        head, rest = part[: words[count - 1].end()], said[others[at + count - 1].end() :]
        new_end = _BY_NOW.sub("", bare_statement(rest[: _clause_end(rest)].strip(" :")))
        is_new = new_end and new_end != part[len(head) :].strip()
        return f"{head} {new_end}" if is_new else None
    if first + count == len(words) and at >= first:
        before = said[others[at - first].start() : others[at].start()]
        tail = part[words[first].start() :]
        return f"{before}{tail}" if before.strip() != part[: -len(tail)].strip() else None
    return None


def _shared_run(words: Sequence[Match[str]], others: Sequence[Match[str]]) -> tuple[int, int, int]:
    """Where the longest run of equal words begins in both, the last of several, and its length.

    It holds a word of content, and is shorter than `words`; else its length is 0.
    """
    left, right = ([word[0].casefold() for word in each] for each in (words, others))
    best = 0, 0, 0
    for first in range(len(left)):
        for at in range(len(right)):
            count = 0
            while (
                count < len(left) - 1
                and first + count < len(left)
                and at + count < len(right)
                and left[first + count] == right[at + count]
            ):
                count += 1
            telling = (word for word in left[first : first + count] if word not in STOP_WORDS)
            if count >= best[2] and any(map(str.isalpha, telling)):
                best = first, at, count
    return best


def _clause_end(text: str) -> int:
    end = _CLAUSE_END.search(text)
    return end.start() if end else len(text)


@cache
def _contrast(language: ModuleType) -> Pattern[str]:
    return late.pattern(rf"(?i)(?<![\s,;(])[\s,;(]+(?:{language.CONTRASTS})\s+(?=\S)")


def named_change(text: str) -> NamedChange | None:
    """The values that a statement contrasts (`Shell instead of Q8`), or goes back to and from."""
    if back := _BACK.search(text):
        rest = text[back.end() :]
        end = _clause_end(rest)
        new, old = rest[:end].split(), _name(rest[end:].split(), _NO_NAME)
    elif contrast := _contrast(language_of(text)).search(text):
        rest = text[contrast.end() :]
        before = _BY_NOW.sub("", bare_statement(text[: contrast.start()])).split()
        new = _name(before[::-1], _NO_NAME)[::-1]
        old = _name(rest[: _clause_end(rest)].split(), _NO_NAME)
    else:
        return None
    prefixes = (" ".join(old[:count]) for count in range(len(old), 0, -1))
    return NamedChange(" ".join(new), tuple(prefixes)) if new and old else None


def _name(words: Sequence[str], others: frozenset[str]) -> list[str]:
    """The first words that are none of others; stop words before them are left out."""
    name: list[str] = []
    for word in words:
        bare = word.strip(".,;:!?()")
        if bare.casefold() not in others:
            name.append(bare)
        elif name or bare.casefold() not in STOP_WORDS:
            break
    return [word for word in name if word]


def with_named_value(text: str, change: NamedChange) -> str | None:
    """A text with the new value in the place of the old one; None where it does not hold that.

    Words beside the old value that the new one has too are not said twice.
    """
    for old in change.old:
        words = r"\s+".join(map(re.escape, old.split()))
        if held := re.search(rf"(?i)(?<!\w){words}(?!\w)", text):
            before, own = text[: held.start()], {word.casefold() for word in change.new.split()}
            while (word := before.split()[-1:]) and word[0].casefold() in own:
                before = before.rstrip()[: -len(word[0])]
            return f"{before}{change.new}{text[held.end() :]}"
    return None
