"""Results of the verbs that list changes by fact: those of a day, and the newest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from mdmem.addresses import join_path
from mdmem.model.fact_changes import ChangeKind, ChangeList, DayView, FactChange
from mdmem.show.formatting import attribution, dim, location, one_line, steerless
from mdmem.show.reads import section_json

_WIDTH = max(map(len, ChangeKind))
_INDENT = " " * len("  09:30  ")


def changes_json(listed: ChangeList) -> dict[str, Any]:
    """Changes by fact."""
    days = {name: day.isoformat() for name, day in (("since", listed.since), ("until", listed.until)) if day}
    return {"changes": [_change_json(change) for change in listed.changes]} | days


def changes_notes(listed: ChangeList) -> tuple[str, ...]:
    """Notes on changes: the days that words mean, what is left out, and that there are none."""
    days = " ".join(f"{name} {day}" for name, day in (("since", listed.since), ("until", listed.until)) if day)
    return (*([days] if days else []), *listed.notes, *(() if listed.changes else ("no changes",)))


def _change_json(change: FactChange) -> dict[str, Any]:
    replaced = change.replaced
    return {
        "change": change.kind,
        "fact": change.fact,
        "text": change.text,
        "replaced": replaced
        and {"fact": replaced.id, "text": replaced.text, "path": replaced.path, "section": join_path(replaced.section)},
        "path": change.path,
        "section": join_path(change.section),
        "line": change.line,
        "commit": change.commit,
        "time": change.time.isoformat(),
        "author": change.author,
        "actor": change.actor,
        "session": change.session,
        "op": change.op,
        "source": change.source,
        "confidence": change.confidence,
        "claimed_by": change.claimed_by,
        "reason": change.reason,
        "run": change.run,
        "proposal": change.proposal,
    }


def changes_text(changes: Sequence[FactChange], colour: bool) -> str:
    """Changes by day: what became of which fact, and below it where, by which commit, whose and why."""
    return "\n".join(_lines(changes, colour))


def _lines(changes: Sequence[FactChange], colour: bool) -> Iterator[str]:
    for day, of_day in groupby(changes, lambda change: change.time.date()):
        yield f"{day}"
        for change in of_day:
            yield from _change_lines(change, colour)


def _change_lines(change: FactChange, colour: bool) -> Iterator[str]:
    before = f"{_words(change.replaced.text)}  ->  " if change.replaced else ""
    yield one_line(f"  {change.time:%H:%M}  {change.kind:<{_WIDTH}}  {before}{_words(change.text)}  [{change.fact}]")
    yield dim(one_line(f"{_INDENT}{attribution(change)}  {location(change.path, change.section)}"), colour)


def _words(text: str) -> str:
    return " ".join(text.split())


def day_json(view: DayView) -> dict[str, Any]:
    """A day: its logs, and what else changed."""
    return {
        "day": view.day.isoformat(),
        "logs": [section_json(log) for log in view.logs],
        "changes": [_change_json(change) for change in view.changes],
    }


def day_text(view: DayView, terminal: bool, colour: bool) -> str:
    """The logs of a day, then what else changed."""
    logs = [steerless(text) if terminal else text for text in (log.text.strip("\r\n") for log in view.logs)]
    lines = [line for change in view.changes for line in _change_lines(change, colour)]
    changes = "\n".join(["Changed:" if logs else f"Changed on {view.day}:", *lines]) if lines else ""
    return "\n\n".join(filter(None, (*logs, changes)))


def day_notes(view: DayView) -> tuple[str, ...]:
    """Notes on a day: that nothing was logged."""
    return () if view.logs else (f"nothing was logged on {view.day}",)
