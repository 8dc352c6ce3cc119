"""From the new entries of sessions to changes of logs: one for each day, source and confidence. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, tzinfo

from mdmem.extract.drafts import MODEL_RULE, Draft
from mdmem.facts import fact_id
from mdmem.model import Source
from mdmem.model.sessions import Speaker
from mdmem.model.writes import DayEntry, DigestDay, WriteOptions
from mdmem.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class HeldSession:
    """The entries of a session, CLIENT/SESSION, that are to be written with those of others.

    - `drafts`: in the order in which they were said.
    - `read`: how far the transcript is read with them, as CLIENT/SESSION#LINE HASH (None: not all of it is).
    """

    session: str
    drafts: tuple[Draft, ...]
    read: str | None


@dataclass(frozen=True, slots=True)
class DayChange:
    """A change of a log.

    - `holds`: the numbers of the sessions, in the order in which they are held, that have entries in it.
    - `ends`: the numbers of those that have no entries in a later one.
    """

    change: DigestDay
    holds: tuple[int, ...]
    ends: tuple[int, ...]


def day_changes(held: Sequence[HeldSession], run: str, zone: tzinfo | None) -> list[DayChange]:
    """Put the entries of sessions under the days on which they were said, oldest day first.

    Of a day the best founded come first, but none before those that it supersedes: only what stands in a log can be superseded.

    Args:
        held: the sessions.
        run: the name of the run.
        zone: of the user, whose days count; None is the system's.
    """
    groups: _Groups = {}
    for number, session in enumerate(held):
        for draft in session.drafts:
            time = draft.time.astimezone(zone)
            confidence = draft.source.confidence if draft.confidence is None else draft.confidence
            entry = _entry(draft, session.session, f"{time:%H:%M}")
            groups.setdefault((time.date(), draft.source, confidence), []).append((number, entry))
    keys = _in_order(groups)
    last = {number: key for key in keys for number, _ in groups[key]}
    changes = []
    for key in keys:
        day, source, confidence = key
        entries = tuple(entry for _, entry in groups[key])
        change = DigestDay(day=day, entries=entries, run=run, options=WriteOptions(source=source, confidence=confidence))
        holds = tuple(dict.fromkeys(number for number, _ in groups[key]))
        changes.append(DayChange(change, holds, tuple(number for number in holds if last[number] == key)))
    return changes


_GroupKey = tuple[date, Source, float]
_Groups = dict[_GroupKey, list[tuple[int, DayEntry]]]


def _in_order(groups: _Groups) -> list[_GroupKey]:
    """The groups of entries in the order in which they are to be written."""
    left = sorted(groups, key=lambda key: (key[0], -key[1].strength, -key[2]))
    facts = {key: {fact_id(entry.text) for _, entry in entries} for key, entries in groups.items()}
    superseded = {key: {entry.supersedes for _, entry in entries} for key, entries in groups.items()}
    ordered: list[_GroupKey] = []
    while left:
        of_day = [key for key in left if key[0] == left[0][0]]
        free = (key for key in of_day if all(facts[other].isdisjoint(superseded[key]) for other in of_day if other != key))
        ordered.append(next(free, left[0]))
        left.remove(ordered[-1])
    return ordered


def _entry(draft: Draft, session: str, minute: str) -> DayEntry:
    lines = str(draft.last_line) if draft.first_line == draft.last_line else f"{draft.first_line}-{draft.last_line}"
    return DayEntry(
        minute=minute,
        text=draft.text,
        kind=draft.kind,
        cites=f"{session}#{lines}",
        time=draft.time,
        by_agent=draft.speaker is Speaker.AGENT,
        key=draft.key,
        supersedes=draft.supersedes,
        contradicts=draft.contradicts,
        by_model=draft.rule == MODEL_RULE,
        sender=draft.sender,
    )
