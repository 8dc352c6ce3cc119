"""Compare two texts of a section, line by line, as people read them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import TypeAlias

from mdmem.history.differences import DiffKind, word_difference
from mdmem.model import FactId, FilePath
from mdmem.model.trail import Entry
from mdmem.page.pages import MAX_CHARACTERS, Piece, difference
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.common_ends import common_ends
from mdmem.text.document import parse_bytes, split_lines
from mdmem.text.entries import entries, shown_text
from mdmem.text.facts import key_and_value, normalise_key, shortened

Successors: TypeAlias = Callable[[Sequence[FactId]], Mapping[FactId, FactId]]
"""The current facts in place of some that are no longer current, as of `Memory.successors`."""
_MOST_COMPARED = 400
"""Maximum number of pairs of unmatched lines that are compared with each other."""
_LEAST_SHARED = 0.5
"""Minimum share of a line that its new form has in common with it."""
_ITEM = late.pattern(r"(?:[-*+]|\d{1,9}[.)])\s")
_MAY_REACH_FAR = late.pattern(r"```|~~~|<[!?A-Za-z]")
"""The beginnings of code and HTML, whose end may be anywhere below."""
_SIGNS = {"": "", "changed": "~", "added": "+", "removed": "−"}


@dataclass(frozen=True, slots=True)
class ComparedLine:
    """A line of two texts: `change` is changed, added or removed; empty where both have it."""

    change: str
    key: str | None
    pieces: tuple[Piece, ...]
    fact: FactId | None

    @property
    def sign(self) -> str:
        """The sign in front of it."""
        return _SIGNS[self.change]


def read_entries(text: str) -> tuple[Entry, ...]:
    """The entries of a section's text, with its heading or without."""
    return entries(parse_bytes(text.encode("utf-8", "surrogatepass")), FilePath(""))


def differing_parts(before: str, after: str) -> tuple[str, str]:
    """The whole items and blocks between the common beginning and end of two texts."""
    old, new = split_lines(before), split_lines(after)
    if _MAY_REACH_FAR.search(before) or _MAY_REACH_FAR.search(after):
        return before, after
    start, end = common_ends(old, new)
    while start and not (start < len(old) and _ITEM.match(old[start])):
        start -= 1
    while end and not _ITEM.match(old[len(old) - end]):
        end -= 1
    return "".join(old[start : len(old) - end]), "".join(new[start : len(new) - end])


def compare(
    before: Sequence[Entry],
    after: Sequence[Entry],
    successors: Successors | None = None,
    pairs_alike: bool = False,
) -> list[ComparedLine]:
    """The lines of two texts, in the order of the second one.

    A line and its new form are one row: the same fact, the same key, or its successor;
    `successors` is only called for facts without the others. With `pairs_alike`, facts are also
    paired if they share half of their text, as other blocks always are.
    """
    new_form = _pairs(before, after, successors, pairs_alike)
    old_form = {new: old for old, new in new_form.items()}
    gone: dict[int, list[int]] = {}
    place = -1
    for number in range(len(before)):
        if number in new_form:
            place = new_form[number]
        else:
            gone.setdefault(place, []).append(number)
    rows = [_row(before[number], None) for number in gone.get(-1, ())]
    for number, entry in enumerate(after):
        old = old_form.get(number)
        rows.append(_row(None if old is None else before[old], entry))
        rows += [_row(before[each], None) for each in gone.get(number, ())]
    return rows


def _pairs(
    before: Sequence[Entry],
    after: Sequence[Entry],
    successors: Successors | None,
    pairs_alike: bool,
) -> dict[int, int]:
    pairs: dict[int, int] = {}

    def match(old_name: Callable[[Entry], Hashable], new_name: Callable[[Entry], Hashable]) -> None:
        free: dict[Hashable, list[int]] = {}
        for number in _without(range(len(after)), pairs.values()):
            free.setdefault(new_name(after[number]), []).append(number)
        for number in _without(range(len(before)), pairs):
            name = old_name(before[number])
            if name is not None and free.get(name):
                pairs[number] = free[name].pop(0)

    match(_identity, _identity)
    match(_key, _key)
    unpaired = [before[number].fact for number in _without(range(len(before)), pairs)]
    facts = [fact for fact in unpaired if fact is not None]
    if successors is not None and facts:
        new_facts = successors(facts)
        match(lambda entry: entry.fact and new_facts.get(entry.fact), lambda entry: entry.fact)
    olds = _without(range(len(before)), pairs)
    news = _without(range(len(after)), pairs.values())
    if len(olds) * len(news) <= _MOST_COMPARED:
        for number in olds:
            alike = (each for each in news if _are_alike(before[number], after[each], pairs_alike))
            if (found := next(alike, None)) is not None:
                pairs[number] = found
                news.remove(found)
    return pairs


def _without(numbers: Sequence[int], taken: Collection[int]) -> list[int]:
    gone = set(taken)
    return [number for number in numbers if number not in gone]


def _identity(entry: Entry) -> Hashable:
    return entry.fact or entry.text


def _key(entry: Entry) -> Hashable:
    key = key_and_value(entry.text)[0] if entry.fact else None
    return None if key is None else normalise_key(key)


def _are_alike(old: Entry, new: Entry, as_facts: bool) -> bool:
    if (old.fact is None) is not (new.fact is None) or (old.fact and not as_facts):
        return False
    before, after = (shortened(entry.text, MAX_CHARACTERS) for entry in (old, new))
    pieces = word_difference(before, after)
    shared = sum(len(text) for kind, text in pieces if kind is DiffKind.KEPT)
    return shared >= _LEAST_SHARED * max(len(before), len(after))


def _row(old: Entry | None, new: Entry | None) -> ComparedLine:
    entry = new or old
    assert entry is not None
    key, value = _words(entry)
    shown = shortened(value, MAX_CHARACTERS)
    if old is None or new is None:
        change, kind = ("removed", DiffKind.OUT) if new is None else ("added", DiffKind.IN)
        return ComparedLine(change, key, ((kind, shown),), entry.fact)
    old_key, old_value = _words(old)
    if old_key != key:
        key, value, old_value = None, shown_text(new).strip(), shown_text(old).strip()
    if old_value == value:
        return ComparedLine("", key, ((DiffKind.KEPT, shown),), entry.fact)
    pieces = difference(*(shortened(each, MAX_CHARACTERS) for each in (old_value, value)))
    return ComparedLine("changed", key, pieces, entry.fact)


def _words(entry: Entry) -> tuple[str | None, str]:
    text = shown_text(entry).strip()
    return key_and_value(text) if entry.fact else (None, text)
