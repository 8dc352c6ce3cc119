"""Words purged from history, by the short hash that the purge left: only who has them can tell."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mdmem.history.messages import parse_trailers
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.facts import normalise

if TYPE_CHECKING:
    from mdmem.trail import Trail

_TRAILER = "Purged"
_DIGITS = 8
_WORD = late.pattern(r"\w+")
_MEANT_DAY = late.pattern(r"\s*\(\d{4}(?:-\d\d(?:-\d\d)?)?(?: to \d{4}-\d\d-\d\d)?\)")
"""A day in parentheses, as a digest adds it to a relative one."""


@dataclass(frozen=True, slots=True)
class PurgedWords:
    """The number of words that were purged, their hash, and when."""

    count: int
    hash: str
    time: datetime

    def stand_in(self, words: list[str]) -> bool:
        """True if they occur among words, in sequence."""
        return any(
            _hash(words[at : at + self.count]) == self.hash
            for at in range(len(words) - self.count + 1)
        )


def purged_trailer(text: str) -> str:
    """The value of `Mdmem-Purged` for words: their number and hash; empty for none."""
    words = _words(without_meant_days(text))
    return f"{len(words)} {_hash(words)}" if words else ""


def purged_words(trail: Trail) -> tuple[PurgedWords, ...]:
    """The words that were purged, by the commits that record it."""
    return tuple(
        each
        for commit in trail.commits_stating(f"Mdmem-{_TRAILER}: ")
        for each in parse_purged(commit.message, commit.time)
    )


def parse_purged(message: str, time: int) -> Iterator[PurgedWords]:
    """The words that a commit records as purged; `time` is in seconds since 1970."""
    for words in map(str.split, parse_trailers(message).get(_TRAILER, ())):
        if len(words) == 2 and words[0].isdecimal() and int(words[0]):
            yield PurgedWords(int(words[0]), words[1], datetime.fromtimestamp(time, UTC))


def holds_purged(text: str, time: datetime, purged: tuple[PurgedWords, ...]) -> bool:
    """True if a text has words that were purged after the time at which it was said."""
    later = [each for each in purged if time <= each.time]
    words = _words(without_meant_days(text)) if later else []
    return any(each.stand_in(words) for each in later)


def without_meant_days(text: str) -> str:
    """A text without the days that a digest added to relative ones."""
    return _MEANT_DAY.sub("", text)


def _words(text: str) -> list[str]:
    return _WORD.findall(normalise(text))


def _hash(words: list[str]) -> str:
    return hashlib.sha256(" ".join(words).encode()).hexdigest()[:_DIGITS]
