"""From what was drawn of a session to changes of logs: one for each day, source and confidence. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, tzinfo

from mdmem.extract.drafts import Draft
from mdmem.model import Source
from mdmem.model.writes import DayEntry, DigestDay, WriteOptions
from mdmem.startup.records import dataclass, replace

MOST_OF_SESSION = 40
"""Entries of one session on one day."""


@dataclass(frozen=True, slots=True)
class SessionDays:
    """The changes for the entries of a session, oldest day first, and how many entries were too many."""

    changes: tuple[DigestDay, ...]
    surplus: int


def session_days(drafts: Sequence[Draft], session: str, run: str, read: str, zone: tzinfo | None, counts: Mapping[str, int]) -> SessionDays:
    """Put the entries of a session under the days on which they were said.

    Args:
        drafts: in the order in which they were said.
        session: CLIENT/SESSION.
        run: the name of the run.
        read: how far the transcript is read; the last change says it.
        zone: of the user, whose days count; None is the system's.
        counts: how many entries each day has of this session already, by its ISO date.
    """
    groups: dict[tuple[date, Source, float], list[DayEntry]] = {}
    taken, surplus = dict(counts), 0
    for draft in drafts:
        time = draft.time.astimezone(zone)
        day = time.date().isoformat()
        if taken.get(day, 0) >= MOST_OF_SESSION:
            surplus += 1
            continue
        taken[day] = taken.get(day, 0) + 1
        confidence = draft.source.confidence if draft.confidence is None else draft.confidence
        groups.setdefault((time.date(), draft.source, confidence), []).append(_entry(draft, session, f"{time:%H:%M}"))
    keys = sorted(groups, key=lambda key: (key[0], -key[1].strength, -key[2]))
    changes = [
        DigestDay(
            day=day,
            entries=tuple(groups[day, source, confidence]),
            run=run,
            options=WriteOptions(source=source, confidence=confidence, session=session),
        )
        for day, source, confidence in keys
    ]
    return SessionDays((*changes[:-1], *(replace(change, read=read) for change in changes[-1:])), surplus)


def _entry(draft: Draft, session: str, minute: str) -> DayEntry:
    lines = str(draft.last_line) if draft.first_line == draft.last_line else f"{draft.first_line}-{draft.last_line}"
    return DayEntry(
        minute=minute,
        text=draft.text,
        kind=draft.kind,
        cites=f"{session}#{lines}",
        key=draft.key,
        supersedes=draft.supersedes,
        contradicts=draft.contradicts,
    )


def count_by_day(counts: Mapping[str, int], days: Iterable[date]) -> dict[str, int]:
    """The counts of entries by day with more entries added."""
    summed = dict(counts)
    for day in days:
        summed[day.isoformat()] = summed.get(day.isoformat(), 0) + 1
    return summed
