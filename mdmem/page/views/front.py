"""The first pages: decisions that wait, changes of today, facts that expire soon; files; health."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from itertools import groupby, islice

from mdmem import secrets
from mdmem.folder import layout
from mdmem.model import FileKind, Status
from mdmem.model.errors import plain
from mdmem.model.history import (
    CURATED,
    LOGS,
    ChangeList,
    FactActivity,
    ShowChanges,
    ShowTrends,
)
from mdmem.model.prompts import BuildContext
from mdmem.model.proposals import PartView
from mdmem.model.reads import FileRow, ListFiles
from mdmem.model.searches import FactList, Hit, ListFacts
from mdmem.page import charts
from mdmem.page.pages import Page, Query, Reader, change_rows, kept, number_in
from mdmem.show.maintenance import is_sound
from mdmem.show.reads import kinds_line
from mdmem.show.reviews import proposals_json
from mdmem.show.values import to_json
from mdmem.startup.records import replace
from mdmem.text.facts import key_and_value, parse_text, shortened

_FILES = 20
_MOST_MONTHS, _MOST_TAGS = 24, 60


def files(reader: Reader, query: Query) -> Page:
    """Notes, the last changed first; on the first page also the logs, by month."""
    after = number_in(query, "after") or 0
    listed = kept(reader, reader.memory.files, ListFiles(limit=_FILES, offset=after))
    notes = kept(
        reader, reader.memory.files, ListFiles(limit=_FILES, offset=after, without_logs=True)
    )
    tags = kept(reader, reader.memory.tags)
    return Page(
        template="files",
        title="Memory",
        values={
            "files": notes.files,
            "total": notes.total,
            "months": [] if after else _months(reader),
            "notes": _notes(listed.notes, tags.notes),
            "tags": [(each, reader.links.search(tag=each.tag)) for each in tags.tags[:_MOST_TAGS]],
            "after": after,
            "size": _FILES,
        },
        data={**to_json(listed), **to_json(tags)},
        tab="memory",
        back=reader.links.files(after=after),
    )


def _months(reader: Reader) -> list[tuple[date, list[tuple[date, str]]]]:
    """The logs of the newest months, by the first day of each."""
    workspace = reader.memory.workspace
    named = ((layout.log_day(each, workspace.daily), each) for each in workspace.memory_paths(str))
    logs = sorted(((day, path) for day, path in named if day), reverse=True)
    months = groupby(logs, lambda log: log[0].replace(day=1))
    return [(month, sorted(group)) for month, group in islice(months, _MOST_MONTHS)]


BARS = 42
_SOON = timedelta(days=14)
_MOST_CONFLICTS, _MOST_PROPOSALS, _MOST_ROWS, _MOST_LINES = 3, 4, 14, 5
MOST_COUNTED = 200
"""Maximum number of changes, in curated files and in logs each, that are read."""
_MOST_CHARACTERS = 160
_OPS = {"delete": "to remove", "retract": "to retract", "confirm": "to confirm"}


def today(reader: Reader, query: Query) -> Page:
    memory, now = reader.memory, reader.now()
    curated, logged = (changes_of_day(reader, now.date(), where) for where in (CURATED, LOGS))
    activity = kept(reader, memory.activity, ShowTrends(BARS))
    fact_count = kept(reader, memory.facts, ListFacts(limit=1)).total
    conflicts, standing = kept(reader, memory.conflicts), kept(reader, memory.proposals.standing)
    unsaved = kept(reader, memory.unsaved)
    expired, expiring = _expired(reader), _expiring(reader)
    proposals = [
        (view, [part for part in view.parts if part.state.waits])
        for view in standing.views
        if view.waits
    ]
    return Page(
        template="today",
        title=f"{now:%A} {now.day} {now:%B}",
        values={
            "fact_count": fact_count,
            "add_open": "add" in query,
            "notes": _notes(activity.notes, conflicts.notes, expiring.notes),
            "chart": charts.bars_by_day(activity.days, reader.links),
            "changed": change_rows(reader, curated.changes[:_MOST_ROWS]),
            "large_changed": curated.large,
            "large_logged": logged.large,
            "arrival": _arrival(reader, activity, fact_count),
            "changed_count": _count(curated),
            "logged": change_rows(reader, logged.changes[:_MOST_ROWS]),
            "logged_count": _count(logged),
            "conflicts": [
                (
                    f"#pair-{each.first.fact}-{each.second.fact}",
                    each.key,
                    _value(each.first, each.key),
                    _value(each.second, each.key),
                )
                for each in conflicts.conflicts[:_MOST_CONFLICTS]
            ],
            "proposals": [
                (view, parts, _proposed(parts[0])) for view, parts in proposals[:_MOST_PROPOSALS]
            ],
            "unsaved": unsaved[:_MOST_LINES],
            "expired": [(hit, _value(hit)) for hit in expired[:_MOST_LINES]],
            "waiting_count": len(conflicts.conflicts) + len(standing.numbered.items),
            "not_shown": max(0, len(unsaved) - _MOST_LINES) + max(0, len(expired) - _MOST_LINES),
            "expiring": expiring.facts,
            "has_more_changed": len(curated.changes) > _MOST_ROWS,
            "has_more_logged": len(logged.changes) > _MOST_ROWS,
            "is_empty": not (_count(curated) != "0" or _count(logged) != "0" or fact_count),
        },
        data={
            **to_json(changes_of_both(curated, logged)),
            **to_json(conflicts),
            **proposals_json(standing, now),
            **to_json(expiring),
            "uncommitted": unsaved,
        },
        tab="today",
    )


def changes_of_day(reader: Reader, day: date, where: str) -> ChangeList:
    """The newest changes of a day in curated files or in logs, one more than the maximum."""
    text = day.isoformat()
    wanted = ShowChanges(
        since=text, until=text, where=where, limit=MOST_COUNTED + 1, fold=MOST_COUNTED
    )
    return kept(reader, reader.memory.changes, wanted)


def changes_of_both(curated: ChangeList, logged: ChangeList) -> ChangeList:
    """The changes of a day, newest first."""
    both = (*curated.changes, *logged.changes)
    changes = sorted(both, key=lambda each: each.made.time, reverse=True)
    return replace(curated, changes=tuple(changes))


def _arrival(
    reader: Reader, activity: FactActivity, fact_count: int
) -> tuple[list[FileRow], int, int] | None:
    """Tell of the first day: the largest files, the number of all, tokens for a session."""
    today = reader.now().date()
    earlier = any(each.people or each.agents for each in activity.days if each.day < today)
    if not fact_count or earlier:
        return None
    before = ShowChanges(until=(today - timedelta(days=1)).isoformat(), limit=1)
    if kept(reader, reader.memory.changes, before).changes:
        return None
    listed = kept(reader, reader.memory.files, ListFiles(limit=_FILES))
    largest = sorted(listed.files, key=lambda file: -file.facts)[:_MOST_LINES]
    block = kept(reader, reader.memory.context, BuildContext(preview=True))
    return largest, listed.total, block.tokens


def _count(listed: ChangeList) -> str:
    count = len(listed.changes)
    many = "over " if count > MOST_COUNTED else ""
    return f"{many}{min(count, MOST_COUNTED) + sum(each.count for each in listed.large):,}"


def _notes(*notes: Iterable[str]) -> tuple[str, ...]:
    """The notes of several answers, each once, without commands and flags."""
    return tuple(dict.fromkeys(plain(note) for each in notes for note in each))


# Waiting.


def _value(hit: Hit, key: str | None = None) -> str:
    """The text of a fact, or its value; without secrets, since one that is cut is not detected."""
    text = secrets.redact(hit.text)
    return shortened(key_and_value(text)[1] if key else text, _MOST_CHARACTERS)


def _proposed(part: PartView) -> str:
    words = " ".join(parse_text(part.new or part.old or "").text.split())
    op = _OPS.get(part.op.value)
    return shortened(f"{op}: {words}" if op else words, _MOST_CHARACTERS)


# Expiry.


def _expired(reader: Reader) -> list[Hit]:
    kind_of = reader.memory.workspace.kind_of
    yesterday = (reader.now().date() - timedelta(days=1)).isoformat()
    wanted = ListFacts(expiring=yesterday, everything=True, limit=0)
    expired = (
        hit
        for hit in kept(reader, reader.memory.facts, wanted).facts
        if hit.status is Status.EXPIRED and hit.fact and kind_of(hit.path) is not FileKind.DAILY
    )
    return sorted(expired, key=_last_day, reverse=True)


def _expiring(reader: Reader) -> FactList:
    soon = (reader.now().date() + _SOON).isoformat()
    listed = kept(reader, reader.memory.facts, ListFacts(expiring=soon, limit=0))
    return replace(listed, facts=tuple(sorted(listed.facts, key=_last_day)[:_MOST_ROWS]))


def _last_day(hit: Hit) -> date:
    return hit.until or date.max


def health(reader: Reader, query: Query) -> Page:
    """The state; with `examine` the findings of the doctor, which takes seconds."""
    memory, links = reader.memory, reader.links
    status = memory.status()
    findings = memory.examine() if query.get("examine") else None
    examined = findings and {"findings": findings, "sound": is_sound(findings)}
    return Page(
        template="health",
        title="Health",
        values={"status": status, "files": kinds_line(status), "findings": findings},
        data=status if findings is None else examined,
        back=links.health() if findings is None else links.health(examine=1),
    )
