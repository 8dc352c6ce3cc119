"""The first pages: decisions that wait, changes of today, facts that expire soon, health; and the
files, each rendered for reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from mdmem import secrets
from mdmem.folder import layout
from mdmem.model import FileKind, FilePath, SectionPath, Status
from mdmem.model.errors import PathProblem, plain
from mdmem.model.history import CURATED, LOGS, ChangeList, ShowChanges, ShowTrends
from mdmem.model.proposals import PartView, ProposalView
from mdmem.model.reads import FileRow, ListFiles, Outline
from mdmem.model.searches import ConflictView, FactList, Hit, ListFacts
from mdmem.page import charts
from mdmem.page.pages import Page, Query, Reader, change_row, kept, number_in
from mdmem.show.maintenance import is_sound
from mdmem.show.reads import kinds_line
from mdmem.show.reviews import proposals_json
from mdmem.show.values import to_json
from mdmem.startup.records import dataclass, replace
from mdmem.text import frontmatter
from mdmem.text.document import Document, Section, parse
from mdmem.text.facts import key_and_value, parse_text, shortened

_FILES = 20
_MOST_SECTIONS, _MOST_TAGS, _MOST_LISTED = 12, 60, 200


@dataclass(frozen=True, slots=True)
class SectionLink:
    words: str
    address: str
    level: int = 1
    facts: int | None = None


@dataclass(frozen=True, slots=True)
class FileLine:
    """A file in the list of files; `others` counts the sections that are not shown."""

    file: FileRow
    title: str
    sections: tuple[SectionLink, ...]
    others: int


def files(reader: Reader, query: Query) -> Page:
    after = number_in(query, "after") or 0
    listed = kept(reader, reader.memory.files, ListFiles(limit=_FILES, offset=after))
    tags = reader.memory.tags()
    next_page = after + _FILES
    values: dict[str, Any] = {
        "lines": [_line(reader, row) for row in listed.files],
        "total": listed.total,
        "notes": tuple(dict.fromkeys(map(plain, (*listed.notes, *tags.notes)))),
        "tags": [(each, reader.links.search(tag=each.tag)) for each in tags.tags[:_MOST_TAGS]],
        "newer": reader.links.files(after=max(0, after - _FILES)) if after else "",
        "older": reader.links.files(after=next_page) if next_page < listed.total else "",
    }
    back = reader.links.files(after=after)
    return Page(
        template="files",
        title="Memory",
        values=values,
        data={**to_json(listed), **to_json(tags)},
        tab="memory",
        back=back,
    )


def _line(reader: Reader, row: FileRow) -> FileLine:
    is_log = reader.memory.workspace.kind_of(row.path) is FileKind.DAILY
    with_facts = [part for part in row.sections if part.facts and not is_log]
    sections = (
        SectionLink(
            words=_name(part.section),
            address=reader.links.section(row.path, part.section),
            facts=part.facts,
        )
        for part in with_facts[:_MOST_SECTIONS]
    )
    return FileLine(
        file=row,
        title=row.title if row.title not in row.path else "",
        sections=tuple(sections),
        others=max(0, len(with_facts) - _MOST_SECTIONS),
    )


def _name(section: SectionPath) -> str:
    return section[-1] if section else "before the first heading"


def file(reader: Reader, query: Query) -> Page:
    """A file for reading. Raises PathProblem if it is not a memory file."""
    path = layout.parse_path(query["path"])
    if not reader.memory.workspace.kind_of(path).is_memory:
        raise PathProblem("file-not-found", f"{path} is not a file of memory", "")
    text = reader.memory.look(path)
    if not isinstance(text, str):
        raise PathProblem("file-not-found", f"{path} is a folder", "")
    document = parse(text)
    title, first = _title(document, path)
    start = first.body if first else document.front
    outline = reader.memory.outline(path)
    tags = frontmatter.tags(document)[:_MOST_TAGS]
    values: dict[str, Any] = {
        "path": path,
        "tags": [(tag, reader.links.search(tag=tag)) for tag in tags],
        "body": document.slice(start, len(document.lines)),
        "sections": _sections(reader, path, outline),
        "others": max(0, len(outline.sections) - _MOST_LISTED),
        "log_day": layout.day_of(path, reader.memory.workspace.daily),
    }
    data = {**to_json(outline), "text": text}
    return Page(
        template="file",
        title=title,
        values=values,
        data=data,
        tab="memory",
        back=reader.links.file(path),
    )


def _title(document: Document, path: FilePath) -> tuple[str, Section | None]:
    """The title of a file, and the heading it comes from, so that the page does not repeat it."""
    named = frontmatter.values(document).get("title") if document.front else None
    if isinstance(named, str) and named.strip():
        return named.strip(), None
    first = next(iter(document.sections), None)
    if first and first.title and not document.slice(document.front, first.start).strip():
        return first.title, first
    return path, None


def _sections(reader: Reader, path: FilePath, outline: Outline) -> list[SectionLink]:
    return [
        SectionLink(
            words=row.section[-1],
            address=reader.links.section(path, row.section),
            level=row.level,
        )
        for row in outline.sections[:_MOST_LISTED]
    ]


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
