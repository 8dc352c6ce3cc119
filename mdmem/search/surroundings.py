"""The words around an entry: its own and those of its neighbours, by one rule for every kind of text. Pure.

A neighbour helps where few entries stand together: they are on one subject, and a short one is understood by the next. In a long list or
meeting the next entry is on another subject as likely as not, and its words only push others aside. So an entry's own words count the more
the more entries its place has, and in a very long one neighbours do not count at all. A place is a section, of a daily log the whole day.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from mdmem.model import SectionPath
from mdmem.search.entry_words import MAX_NEIGHBOUR_CHARS, OwnWords
from mdmem.search.terms import pairs

REACH = 2
"""Neighbours on each side. With one the public half of LoCoMo loses three points of R@10."""
LEAST_COPIES, ENTRIES_A_COPY = 2, 24
"""The copies of an entry's own words beside its neighbours': at least the first number, and one for each so many entries of its place. With one
at least, words of a paragraph find it less often (R@10 - 4), while conversations gain 0.3; neutral from 16 to 32 entries."""
LONGEST_PLACE = 256
"""The most entries of a place with neighbours. In a meeting of 800 turns R@10 is four points higher without them."""
_ALONE_COPIES = 3
"""The same for an entry without neighbours: what is said once in many words counts nearly as much as in few (meetings + 0.5)."""
_MAX_OWN_CHARS = 4 * MAX_NEIGHBOUR_CHARS
"""The most characters that more copies than the least take: what is long outweighs its neighbours by itself."""


class Surroundings:
    """The words around each entry of a file.

    Args:
        sections: the section of each entry, in file order.
        own: the words of each.
        is_log: the file is a daily log, which is one place.
    """

    def __init__(self, sections: Sequence[SectionPath], own: Sequence[OwnWords], is_log: bool) -> None:
        self._places = [()] * len(sections) if is_log else sections
        self._own = own
        self._beside = [words.beside for words in own]
        self._sizes = Counter(self._places)
        self._usual_copies = {place: max(LEAST_COPIES, round(size / ENTRIES_A_COPY)) for place, size in self._sizes.items()}
        self.has_pairs = any(words.runs for words in own)
        """False where no entry has characters of a script without spaces."""

    def words(self, position: int) -> str:
        """The words around an entry, as indexed."""
        own, beside = self._own[position].indexed, self._beside
        return " ".join([own] * self._copies(position, len(own)) + [beside[near] for near in self._near(position)])

    def character_pairs(self, position: int) -> str:
        """The same in scripts without spaces; empty where there are none."""
        own = _pairs_of(self._own[position].runs)
        neighbours = [_pairs_of(self._own[near].runs)[:MAX_NEIGHBOUR_CHARS] for near in self._near(position)]
        return " ".join(" ".join(part) for part in [own] * self._copies(position, len(own)) + neighbours if part)

    def is_near(self, position: int, other: int) -> bool:
        """True if another entry is on the same subject: next to it, in one place."""
        return 0 <= other < len(self._places) and abs(other - position) <= REACH and self._places[other] == self._places[position]

    def _near(self, position: int) -> list[int]:
        places, place = self._places, self._places[position]
        if self._sizes[place] > LONGEST_PLACE:
            return []
        first = position - REACH if position > REACH else 0
        return [other for other, at in enumerate(places[first : position + REACH + 1], first) if at == place and other != position]

    def _copies(self, position: int, length: int) -> int:
        place = self._places[position]
        if self._sizes[place] > LONGEST_PLACE:
            return _ALONE_COPIES
        copies = self._usual_copies[place]
        return copies if copies * length <= _MAX_OWN_CHARS else max(LEAST_COPIES, _MAX_OWN_CHARS // length)


@lru_cache(maxsize=64)
def _pairs_of(runs: tuple[str, ...]) -> list[str]:
    return [pair for run in runs for pair in pairs(run)]
