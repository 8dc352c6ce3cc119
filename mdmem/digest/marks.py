"""Marks: the session in which each message was read, kept in `marks.json` for 60 days. A cache.

A digest with little news looks up a few marks among hundreds of thousands. So they lie in texts, by their first two digits, and are only made a
table where many are looked up.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

from mdmem import files

MARKS_NAME = "marks.json"
_VERSION = 1
_DAYS = 60
"""A mark is kept for so many days."""
_PREFIX, _REST, _SESSION, _DAY = 2, 10, 5, 4
"""The digits of a mark by which it is filed, its other digits, and in hexadecimal the number of its session and the day."""
_WIDTH = _REST + _SESSION + _DAY
_MANY = 2_000
"""Look-ups after which a table is worth its making."""


class Marks(MutableMapping[str, tuple[str, int]]):
    """The session in which each message was read, by the message's mark, and the day, counted from 1970."""

    def __init__(self, sessions: list[str], filed: dict[str, str], day: int) -> None:
        self._sessions = sessions
        self._filed = filed
        self._day = day
        """The day on which old marks were dropped."""
        self._table: dict[str, tuple[str, int]] = {}
        """The new marks; all, once many were looked up."""
        self._new: list[str] = []
        self._lookups = 0

    def __getitem__(self, mark: str) -> tuple[str, int]:
        if mark in self._table or self._lookups > _MANY:
            return self._table[mark]
        self._lookups += 1
        if self._lookups > _MANY:
            self._table = dict(self._all_filed()) | self._table
            return self._table[mark]
        filed, rest = self._filed.get(mark[:_PREFIX], ""), mark[_PREFIX:]
        at = filed.find(rest)
        while at % _WIDTH and at >= 0:
            at = filed.find(rest, at + 1)
        if at < 0:
            raise KeyError(mark)
        return self._parse(filed[at : at + _WIDTH])

    def __setitem__(self, mark: str, value: tuple[str, int]) -> None:
        self._table[mark] = value
        self._new.append(mark)

    def __delitem__(self, mark: str) -> None:
        raise TypeError("a mark goes by its age alone")

    def __iter__(self) -> Iterator[str]:
        yield from dict.fromkeys((*(mark for mark, _ in self._all_filed()), *self._new))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def values_on(self, today: int) -> dict[str, Any]:
        """The marks as they are kept; those that are too old are dropped once a day."""
        if today != self._day:
            kept = {mark: self[mark] for mark in self if self[mark][1] > today - _DAYS}
            self._sessions, self._filed, self._day = [], {}, today
            self._table, self._new = kept, list(kept)
        numbers = {session: number for number, session in enumerate(self._sessions)}
        added: dict[str, list[str]] = {}
        for mark in dict.fromkeys(self._new):
            session, day = self._table[mark]
            number = numbers.setdefault(session, len(numbers))
            added.setdefault(mark[:_PREFIX], []).append(f"{mark[_PREFIX:]}{number:0{_SESSION}x}{day:0{_DAY}x}")
        for prefix, records in added.items():
            self._filed[prefix] = self._filed.get(prefix, "") + "".join(records)
        self._sessions, self._new = list(numbers), []
        return {"version": _VERSION, "sessions": self._sessions, "day": self._day, "marks": self._filed}

    def _parse(self, record: str) -> tuple[str, int]:
        return self._sessions[int(record[_REST:-_DAY], 16)], int(record[-_DAY:], 16)

    def _all_filed(self) -> Iterator[tuple[str, tuple[str, int]]]:
        for prefix, filed in self._filed.items():
            for at in range(0, len(filed), _WIDTH):
                record = filed[at : at + _WIDTH]
                yield prefix + record[:_REST], self._parse(record)


def read_marks(state: Path) -> Marks:
    """The marks that are kept; none where they cannot be read."""
    try:
        values = json.loads((state / MARKS_NAME).read_bytes())
        sessions, filed, day = values["sessions"], values["marks"], values["day"]
        if (
            values["version"] == _VERSION
            and all(isinstance(each, str) for each in sessions)
            and all(len(each) % _WIDTH == 0 for each in filed.values())
        ):
            return Marks(list(sessions), dict(filed), int(day))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    return Marks([], {}, 0)


def write_marks(state: Path, marks: Marks, today: int) -> None:
    """Keep the marks that are not too old.

    Raises:
        OSError
    """
    files.write_cache(state / MARKS_NAME, json.dumps(marks.values_on(today), separators=(",", ":")))
