"""The first page: decisions that wait, changes of today, facts that expire soon; and health."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from mdmem import secrets
from mdmem.model import FileKind, Status
from mdmem.model.errors import plain
from mdmem.model.history import CURATED, LOGS, ChangeList, ShowChanges, ShowTrends
from mdmem.model.proposals import PartView, ProposalView
from mdmem.model.searches import ConflictView, FactList, Hit, ListFacts
from mdmem.page import charts
from mdmem.page.pages import Page, Query, Reader, change_row, kept
from mdmem.show.maintenance import is_sound
from mdmem.show.reads import kinds_line
from mdmem.show.reviews import proposals_json
from mdmem.show.values import to_json
from mdmem.startup.records import dataclass, replace
from mdmem.text.facts import key_and_value, parse_text, shortened

BARS = 42
_SOON = timedelta(days=14)
_MOST_CONFLICTS, _MOST_PROPOSALS, _MOST_ROWS, _MOST_LINES = 3, 4, 14, 5
MOST_COUNTED = 200
"""Maximum number of changes, in curated files and in logs each, that are read."""
_MOST_CHARACTERS = 160
_OPS = {"delete": "to remove", "retract": "to retract", "confirm": "to confirm"}


@dataclass(frozen=True, slots=True)
class WaitingRow:
    tag: str
    tone: str
    text: str
    address: str
    key: str | None = None
    other: str | None = None
    who: str | None = None
    more: int = 0
    since: datetime | None = None
    until: date | None = None
    can_save: bool = False


def today(reader: Reader, query: Query) -> Page:
    memory, now = reader.memory, reader.now()
    curated, logged = (changes_of_day(reader, now.date(), where) for where in (CURATED, LOGS))
    activity = kept(reader, memory.activity, ShowTrends(BARS))
    fact_count = memory.facts(ListFacts(limit=1)).total
    conflicts, standing = kept(reader, memory.conflicts), kept(reader, memory.proposals.standing)
    unsaved = memory.unsaved()
    expired, expiring = _expired(reader), _expiring(reader)
    proposals = [view for view in standing.views if view.waits]
    waiting = [
        *(_conflict_row(reader, each) for each in conflicts.conflicts[:_MOST_CONFLICTS]),
        *(_proposal_row(reader, each) for each in proposals[:_MOST_PROPOSALS]),
        *(_unsaved_row(reader, unsaved, number) for number in range(len(unsaved))[:_MOST_LINES]),
        *(_expired_row(reader, hit) for hit in expired[:_MOST_LINES]),
    ]
    values: dict[str, Any] = {
        "fact_count": fact_count,
        "notes": _notes(activity.notes, conflicts.notes, expiring.notes),
        "chart": charts.bars_by_day(activity.days, reader.links),
        "changed": [change_row(change) for change in curated.changes[:_MOST_ROWS]],
        "changed_count": _count(curated),
        "logged": [change_row(change) for change in logged.changes[:_MOST_ROWS]],
        "logged_count": _count(logged),
        "waiting": waiting,
        "waiting_count": len(conflicts.conflicts) + len(standing.numbered.items),
        "not_shown": max(0, len(unsaved) - _MOST_LINES) + max(0, len(expired) - _MOST_LINES),
        "expiring": expiring.facts,
        "all_changed": _all_of(reader, curated),
        "all_logged": _all_of(reader, logged),
        "is_empty": not (fact_count or curated.changes or logged.changes),
    }
    data = {
        **to_json(changes_of_both(curated, logged)),
        **to_json(conflicts),
        **proposals_json(standing, now),
        **to_json(expiring),
        "uncommitted": unsaved,
    }
    return Page(
        template="today",
        title=f"{now:%A} {now.day} {now:%B}",
        values=values,
        data=data,
        tab="today",
    )


def changes_of_day(reader: Reader, day: date, where: str) -> ChangeList:
    """The newest changes of a day in curated files or in logs, one more than the maximum."""
    text = day.isoformat()
    wanted = ShowChanges(since=text, until=text, where=where, limit=MOST_COUNTED + 1)
    return reader.memory.changes(wanted)


def changes_of_both(curated: ChangeList, logged: ChangeList) -> ChangeList:
    """The changes of a day, newest first."""
    both = (*curated.changes, *logged.changes)
    changes = sorted(both, key=lambda each: each.made.time, reverse=True)
    return replace(curated, changes=tuple(changes))


def _all_of(reader: Reader, listed: ChangeList) -> str:
    return reader.links.day(reader.now().date()) if len(listed.changes) > _MOST_ROWS else ""


def _count(listed: ChangeList) -> str:
    count = len(listed.changes)
    return f"over {MOST_COUNTED}" if count > MOST_COUNTED else str(count)


def _notes(*notes: Iterable[str]) -> tuple[str, ...]:
    """The notes of several answers, each once, without commands and flags."""
    return tuple(dict.fromkeys(plain(note) for each in notes for note in each))


# Waiting.


def _conflict_row(reader: Reader, conflict: ConflictView) -> WaitingRow:
    return WaitingRow(
        tag="contradiction",
        tone="warn",
        key=conflict.key,
        text=_value(conflict.first, conflict.key),
        other=_value(conflict.second, conflict.key),
        address=reader.links.review(),
    )


def _value(hit: Hit, key: str | None) -> str:
    text = _without_secrets(hit)
    return shortened(key_and_value(text)[1] if key else text, _MOST_CHARACTERS)


def _without_secrets(hit: Hit) -> str:
    """The text of a fact without secrets, for cutting: one that is cut is not detected."""
    return secrets.redact(hit.text)


def _proposal_row(reader: Reader, proposal: ProposalView) -> WaitingRow:
    first, *others = [part for part in proposal.parts if part.state.waits]
    return WaitingRow(
        tag="proposal",
        tone="accent",
        who=first.origin.actor or proposal.actor,
        text=_proposed(first),
        more=len(others),
        since=proposal.since,
        address=reader.links.review(proposal.id),
    )


def _proposed(part: PartView) -> str:
    words = " ".join(parse_text(part.new or part.old or "").text.split())
    op = _OPS.get(part.op.value)
    return shortened(f"{op}: {words}" if op else words, _MOST_CHARACTERS)


def _unsaved_row(reader: Reader, paths: Sequence[str], number: int) -> WaitingRow:
    """A file with unsaved edits; the first one has the form, which saves them all."""
    path = paths[number]
    return WaitingRow(
        tag="not saved",
        tone="",
        text=path,
        address=reader.links.file(path),
        can_save=reader.can_write and number == 0,
    )


def _expired_row(reader: Reader, hit: Hit) -> WaitingRow:
    return WaitingRow(
        tag="expired",
        tone="",
        text=shortened(_without_secrets(hit), _MOST_CHARACTERS),
        until=hit.until,
        address=reader.links.fact(hit.fact or ""),
    )


# Expiry.


def _expired(reader: Reader) -> list[Hit]:
    kind_of = reader.memory.workspace.kind_of
    yesterday = (reader.now().date() - timedelta(days=1)).isoformat()
    wanted = ListFacts(expiring=yesterday, everything=True, limit=0)
    expired = (
        hit
        for hit in reader.memory.facts(wanted).facts
        if hit.status is Status.EXPIRED and hit.fact and kind_of(hit.path) is not FileKind.DAILY
    )
    return sorted(expired, key=_last_day, reverse=True)


def _expiring(reader: Reader) -> FactList:
    soon = (reader.now().date() + _SOON).isoformat()
    listed = reader.memory.facts(ListFacts(expiring=soon, limit=0))
    return replace(listed, facts=tuple(sorted(listed.facts, key=_last_day)[:_MOST_ROWS]))


def _last_day(hit: Hit) -> date:
    return hit.until or date.max


def health(reader: Reader, query: Query) -> Page:
    """The state; with `examine` the findings of the doctor, which takes seconds."""
    memory, links = reader.memory, reader.links
    status = memory.status()
    findings = memory.examine() if query.get("examine") else None
    examined = findings and {"findings": findings, "sound": is_sound(findings)}
    values = {"status": status, "files": kinds_line(status), "findings": findings}
    return Page(
        template="health",
        title="Health",
        values=values,
        data=status if findings is None else examined,
        back=links.health() if findings is None else links.health(examine=1),
    )
