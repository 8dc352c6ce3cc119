"""From the new entries of a session to changes of logs: one for each day, source and confidence. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, tzinfo

from mdmem.extract.drafts import Draft
from mdmem.model import Source
from mdmem.model.sessions import Speaker
from mdmem.model.writes import DayEntry, DigestDay, WriteOptions
from mdmem.startup.records import replace


def session_days(drafts: Sequence[Draft], session: str, run: str, read: str | None, zone: tzinfo | None) -> tuple[DigestDay, ...]:
    """Put the entries of a session under the days on which they were said, oldest day first.

    Args:
        drafts: in the order in which they were said.
        session: CLIENT/SESSION.
        run: the name of the run.
        read: how far the transcript is read (None: not all of it); the last change says it.
        zone: of the user, whose days count; None is the system's.
    """
    groups: dict[tuple[date, Source, float], list[DayEntry]] = {}
    for draft in drafts:
        time = draft.time.astimezone(zone)
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
    return (*changes[:-1], *(replace(change, read=read) for change in changes[-1:]))


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
    )
