"""The history of a section, fact, file or all memory, and the periods in which it held a text."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from mdmem.folder import files
from mdmem.folder.layout import is_markdown
from mdmem.lookup import lookup
from mdmem.model import FactId, FilePath, OtherReading, SectionPath, Status
from mdmem.model.errors import (
    FactProblem,
    PathProblem,
    SectionProblem,
    TextProblem,
    UsageProblem,
    field,
    number_of,
    shell_word,
    verb,
)
from mdmem.model.history import (
    FactHistory,
    FactLink,
    PresenceView,
    RevisionView,
    SectionHistory,
    ShowHistory,
    TextHistory,
)
from mdmem.model.trail import Occurrence, Revision, RevisionOutline, TrailCommit
from mdmem.model.writes import is_run
from mdmem.past import differences, file_changes
from mdmem.past.differences import changed_lines
from mdmem.past.notes import commit_note, line_cites, line_notes, statement_of
from mdmem.past.table import Trail
from mdmem.queries.blame import find_newest_revision, section_on_disk
from mdmem.queries.past import Past, look_back
from mdmem.startup.records import replace
from mdmem.text.document import is_blank, join_path, matching_sections, parse_bytes
from mdmem.text.fact_names import id_prefix
from mdmem.text.facts import MARKER, item_text, parse_item, shown_text
from mdmem.workspace import Say, Workspace

_MORE_CHANGES = 4
"""Changes of sections read per commit to be shown; also the factor of further attempts."""
_FIRST_CHARACTERS = 60
_MOST_KEPT = 20


def show_history(
    workspace: Workspace, request: ShowHistory, say: Say
) -> SectionHistory | FactHistory:
    path = lookup.memory_file(workspace, request.file) if request.file is not None else None
    with look_back(workspace, say) as past:
        if request.preamble:
            return _section_history(past, path, request)
        if request.target is None:
            return _file_history(past, path, request)
        if request.by_id:
            return _history_of_id(past, request.target, path, request.limit)
        if request.nth is not None:
            return _section_history(past, path, request)
        if is_run(request.target) and (of_run := _file_history(past, path, request)).revisions:
            return of_run
        return _history_of_word(past, request, request.target, path)


def _history_of_word(
    past: Past, request: ShowHistory, word: str, path: FilePath | None
) -> SectionHistory | FactHistory:
    if (fact := lookup.fact_by_text(past.trail, word, path)) is not None:
        also = _other_readings(past, word, path, ("section", "key", "id"), fact)
        return replace(_fact_history(past, fact, path, request.limit), also=also)
    try:
        history_of_section = _section_history(past, path, request)
        return replace(
            history_of_section, also=_other_readings(past, word, path, ("key", "id"), None)
        )
    except (SectionProblem, PathProblem) as problem:
        if problem.code not in ("section-not-found", "file-not-found"):
            raise
        if (fact := lookup.fact_by_key(past.trail, word, path)) is not None:
            also = _other_readings(past, word, path, ("id",), fact)
            return replace(_fact_history(past, fact, path, request.limit), also=also)
        if path and (links := file_changes.field_chain(word, path, past.trail)):
            chain = tuple(_link_view(past, link) for link in links[-request.limit :])
            return FactHistory(
                fact=FactId(""), status=links[-1].status, chain=chain, notes=past.notes
            )
        return _history_by_id(past, word, path, request, problem)


def _history_of_id(past: Past, name: str, path: FilePath | None, limit: int) -> FactHistory:
    if (fact := lookup.fact_by_id(past.trail, name, path)) is not None:
        return _fact_history(past, fact, path, limit)
    on_disk = _named_on_disk(past, name, path, limit)
    if on_disk is None and (nested := _nested_history(past, name, path, limit)):
        return nested
    if on_disk is None or not on_disk.fact.startswith(id_prefix(name) or name):
        hint = f"To list facts with their ids: {verb('facts', 'everything')}"
        raise FactProblem("fact-not-found", f"no fact {name[:80]!r}", hint)
    return on_disk


def _other_readings(
    past: Past,
    word: str,
    path: FilePath | None,
    sorts: Collection[str],
    meant: FactId | None,
) -> tuple[OtherReading, ...]:
    readings = []
    if "section" in sorts:
        file = path or past.workspace.curated
        data = files.read(files.path_on_disk(past.workspace.root, file))
        sections = matching_sections(parse_bytes(data), word) if data is not None else ()
        readings += [OtherReading("section", join_path(section.path)) for section in sections]
    readers = {"key": lookup.fact_by_key, "id": lookup.fact_by_id}
    for sort in [sort for sort in readers if sort in sorts]:
        with suppress(FactProblem):  # several: the word is taken as something else in any case
            fact = readers[sort](past.trail, word, path)
            readings += [OtherReading(sort, fact)] if fact is not None and fact != meant else []
    return tuple(readings)


def _history_by_id(
    past: Past,
    reference: str,
    path: FilePath | None,
    request: ShowHistory,
    problem: SectionProblem | PathProblem,
) -> SectionHistory | FactHistory:
    """The history of a fact by id, or of a file; `problem` says why it is no section or key."""
    if (fact := lookup.fact_by_id(past.trail, reference, path)) is not None:
        return _fact_history(past, fact, path, request.limit)
    if path is None and (file := _file_named(past.workspace, reference)) is not None:
        return _file_history(past, file, request)
    if path is not None and problem.code == "file-not-found":
        raise problem
    if (on_disk := _named_on_disk(past, reference, path, request.limit)) is not None:
        return on_disk
    if (nested := _nested_history(past, reference, path, request.limit)) is not None:
        return nested
    if id_prefix(reference):
        message = f"no section or fact {reference!r}{f' in {path}' if path else ''}"
        raise FactProblem(
            "fact-not-found",
            message,
            f"To list facts with their ids: {verb('facts', 'everything')}",
        ) from problem
    if not isinstance(problem, SectionProblem):
        raise problem
    raise lookup.with_suggestions(
        past.workspace,
        _no_such_past(past.trail, reference, path, problem),
        reference,
        path,
        lambda file: (
            f"{verb('history')} {shell_word(reference)} {field('file')} {shell_word(file)}"
        ),
    ) from problem


def _file_named(workspace: Workspace, word: str) -> FilePath | None:
    """The file that a word means; one that ends in `.md` may be deleted."""
    return (
        lookup.memory_file(workspace, word)
        if is_markdown(word)
        else lookup.file_named(workspace, word)
    )


def _no_such_past(
    trail: Trail, word: str, path: FilePath | None, problem: SectionProblem
) -> SectionProblem:
    hint = lookup.similar_facts_hint(trail, word, lambda fact: f"{verb('history')} {fact}", path)
    if not hint:
        is_telling = path is not None or problem.details.get("near")
        hint = (
            problem.marked_hint
            if is_telling
            else f"To find words: {verb('search')} QUERY; to list sections: {verb('outline')}"
        )
    problem = SectionProblem(problem.code, problem.message, hint, **problem.details)
    return lookup.without_namesake(problem, word, path)


# Sections.


def _section_history(past: Past, file: FilePath | None, request: ShowHistory) -> SectionHistory:
    path = file or past.workspace.curated
    newest = find_newest_revision(past, path, request.target, request.nth)
    if newest is None:
        section = section_on_disk(past.workspace, path, request.target, request.nth).path
        return SectionHistory(path=path, section=section, revisions=(), notes=past.notes)
    changes = past.workspace.resources.get(_KeptPasts).changes(past.trail, newest)
    upto = len(changes) if request.upto is None else request.upto
    if upto > len(changes):
        versions = number_of(len(changes), "version")
        raise UsageProblem(f"no version {upto}: the section has {versions}")
    first = len(changes) - upto
    return SectionHistory(
        path=newest.path,
        section=newest.section,
        revisions=tuple(
            _change_view(past, commit, revision, before)
            for commit, revision, before in _with_texts(
                past.trail, changes[first : first + request.limit]
            )
        ),
        notes=past.limit_notes(upto, request.limit),
        total=len(changes),
        first=past.time_of(changes[-1].commit) if changes else None,
    )


def section_times(
    workspace: Workspace, path: FilePath, sections: Collection[SectionPath], say: Say
) -> dict[SectionPath, tuple[datetime, datetime]]:
    """The times of the first and the last change of sections that are in a commit."""
    with look_back(workspace, say) as past:
        changes = {
            revision.section: [
                past.time_of(each.begun)
                for each in past.trail.section_outline(revision)
                if not each.unchanged_text
            ]
            for revision in past.trail.live_revisions(path, sections)
        }
    return {section: (min(times), max(times)) for section, times in changes.items() if times}


_Change = tuple[TrailCommit, Revision | None, Revision | None]


class _ChangeOutline(NamedTuple):
    """A change of a section, without texts; a tuple, since a section has thousands.

    `after`: None where it was removed; `before`: several of a merge.
    """

    commit: int
    after: RevisionOutline | None
    before: tuple[RevisionOutline, ...]


class _KeptPasts:
    """The changes of the sections that were asked for last, while the trail is as it was."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[tuple[object, ...], list[_ChangeOutline]] = {}

    def changes(self, trail: Trail, newest: Revision) -> list[_ChangeOutline]:
        stamps = trail.store.stamps()
        name = stamps, trail.head, newest.number
        with self._lock:
            kept = self._kept.pop(name, None)
        changes = _section_changes(trail, newest) if kept is None else kept
        if stamps is not None and trail.store.stamps() == stamps:
            with self._lock:
                self._kept[name] = changes
                if len(self._kept) > _MOST_KEPT:
                    del self._kept[next(iter(self._kept))]
        return changes


def _section_changes(trail: Trail, newest: Revision) -> list[_ChangeOutline]:
    past = {each.number: each for each in trail.section_outline(newest)}
    begun = {each.begun for each in past.values()}
    changes = []
    for revision in past.values():
        if not revision.unchanged_text:
            before = tuple([past[number] for number in revision.previous if number in past])
            is_back = any(
                each.ended not in (None, revision.begun) and each.ended not in begun
                for each in before
            )
            changes.append(_ChangeOutline(revision.begun, revision, () if is_back else before))
        if revision.ended is not None and revision.ended not in begun:
            changes.append(_ChangeOutline(revision.ended, None, (revision,)))
    ranks = trail.ranks({change.commit for change in changes})
    changes.sort(key=lambda change: (ranks[change.commit], change.after is None), reverse=True)
    return changes


def _with_texts(trail: Trail, changes: Sequence[_ChangeOutline]) -> Iterator[_Change]:
    """The commit of each change, the text after it (None: removed) and before it."""
    texts = trail.with_texts(
        each for change in changes for each in (change.after, *change.before) if each
    )
    for change in changes:
        commit = trail.commit_numbered(change.commit)
        after = change.after and texts[change.after.number]
        before = [texts[each.number] for each in change.before]
        differing = [each for each in before if after is None or each.text != after.text]
        if commit is not None:
            yield commit, after, next(reversed(differing or before), None)


def _file_history(past: Past, path: FilePath | None, request: ShowHistory) -> SectionHistory:
    """The changes of a file, or of the run that `request` names."""
    run = request.target if request.target and is_run(request.target) else None
    number_read = (request.limit + 1) * (_MORE_CHANGES if request.by_commit else 1)
    while True:
        read = past.trail.section_changes(path, number_read)
        changes = tuple(each for each in read if run in (None, commit_note(each[0]).run))
        counted = (
            len({commit.number for commit, *_ in changes}) if request.by_commit else len(changes)
        )
        if counted > request.limit or len(read) < number_read:
            break
        number_read *= _MORE_CHANGES
    if (
        path is not None
        and not changes
        and files.read(files.path_on_disk(past.workspace.root, path)) is None
    ):
        raise lookup.missing_file(past.workspace, path)
    shown = list(dict.fromkeys(commit.number for commit, *_ in changes))[: request.limit]
    changes = (
        tuple(change for change in changes if change[0].number in shown)
        if request.by_commit
        else changes[: request.limit]
    )
    views = [_change_view(past, commit, revision, before) for commit, before, revision in changes]
    if request.by_commit:
        rows = [list(row) for _, row in groupby(views, attrgetter("made.statement"))]
        views, counted = (
            [view for row in rows[: request.limit] for view in row],
            max(counted, len(rows)),
        )
    return SectionHistory(
        path=path or "",
        section=(),
        revisions=tuple(views),
        notes=past.limit_notes(counted, request.limit),
    )


def _change_view(
    past: Past,
    commit: TrailCommit,
    revision: Revision | None,
    before: Revision | None,
) -> RevisionView:
    """Without a revision, the commit removed the section."""
    location = revision or before
    assert location is not None
    text, text_before = revision.text if revision else "", before.text if before else ""
    stating = statement_of(commit)
    removed, added = _changed_lines(text_before, text)
    went, came = _entries_of(removed), _entries_of(added)
    if went == came:  # only labels differ
        went, came = _entries_of(removed, item_text), _entries_of(added, item_text)
    notes = line_notes(stating, added)
    note = min(notes, key=lambda each: each.provenance.confidence, default=commit_note(commit))
    cites = tuple(dict.fromkeys(line_cites(stating, added)))
    return RevisionView(
        made=replace(past.made(commit, note), cites=cites),
        text=text,
        before=text_before,
        path=location.path,
        section=location.section,
        added=came,
        removed=went,
        merged=past.late_merge(commit),
    )


def _changed_lines(before: str, after: str) -> tuple[list[str], list[str]]:
    """Removed and added lines, without blank ones and changes of the line end."""
    removed, added = (
        [line.strip() for line in lines if not is_blank(line)]
        for lines in changed_lines(before, after)
    )
    same = {*removed} & {*added}
    return [line for line in removed if line not in same], [
        line for line in added if line not in same
    ]


def _entries_of(
    lines: Sequence[str], read: Callable[[str], str] = lambda line: parse_item(line).text
) -> tuple[str, ...]:
    """The first words of each list item and what is before them; a heading where that is all."""
    text = [line for line in lines if not line.startswith(("#", "<!--"))] or lines[:1]
    return tuple(
        _first_words(read(line).strip() or line)
        for n, line in enumerate(text)
        if not n or MARKER.match(line)
    )


def _first_words(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _FIRST_CHARACTERS else f"{words[:_FIRST_CHARACTERS].rstrip()}…"


# Facts.


def _named_on_disk(
    past: Past, reference: str, path: FilePath | None, limit: int
) -> FactHistory | None:
    """The history of a fact that is not committed, or is named by the words before its list."""
    for location in lookup.locate_fact(past.workspace, reference, lookup.MEMORY):
        if path in (None, location.path):
            fact = location.item.fact
            if past.trail.occurrences_of(fact.id):
                return _fact_history(past, fact.id, path, limit)
            is_expired = fact.until is not None and fact.until < past.workspace.now().date()
            status = Status.EXPIRED if is_expired else Status.CURRENT
            return FactHistory(fact=fact.id, status=status, chain=(), notes=past.notes)
    return None


def _fact_history(past: Past, fact: FactId, path: FilePath | None, limit: int) -> FactHistory:
    occurrences = past.trail.occurrences_of(fact)
    among = {each.number for each in occurrences if path in (None, each.entry.path)}
    return _chain_view(past, file_changes.fact_chain(fact, past.trail, among), fact, limit)


def _nested_history(past: Past, name: str, path: FilePath | None, limit: int) -> FactHistory | None:
    meant = lookup.nested_meant(past.workspace, past.trail, name, path)
    if meant is None:
        return None
    chain = file_changes.fact_chain(meant.line, past.trail, meant.among, nested=True)
    return replace(_chain_view(past, chain, meant.line, limit), fact=meant.id)


def _chain_view(
    past: Past, links: Iterable[file_changes.ChainLink], fact: FactId, limit: int
) -> FactHistory:
    today = past.workspace.now().date()
    chain = [_with_expiry(link, today) for link in links]
    statuses = [link.status for link in chain if link.id == fact] or [Status.CURRENT]
    status = Status.CURRENT if Status.CURRENT in statuses else statuses[-1]
    shown = tuple(_link_view(past, link) for link in chain[-limit:])
    return FactHistory(fact=fact, status=status, chain=shown, notes=past.notes)


def _with_expiry(link: file_changes.ChainLink, today: date) -> file_changes.ChainLink:
    until = link.entry.until
    is_expired = link.status is Status.CURRENT and until is not None and until < today
    return replace(link, status=Status.EXPIRED) if is_expired else link


def _link_view(past: Past, link: file_changes.ChainLink) -> FactLink:
    entry, commit = link.entry, past.trail.commit_with_id(link.origin.commit)
    assert commit is not None  # a fact begins with a commit of the trail
    (note,) = line_notes(statement_of(commit), [entry.first_line])
    start = past.time_of(link.start.number)
    return FactLink(
        made=past.made(commit, note, link.origin),
        id=link.id,
        text=shown_text(entry),
        start=start,
        end=max(start, past.time_of(link.end.number)) if link.end else None,
        path=entry.path,
        section=entry.section,
        status=link.status,
        ended_by=past.made(link.end) if link.end else None,
        merged=past.late_merge(link.start),
        also_by=tuple(map(past.made, link.also)),
    )


def successors(workspace: Workspace, facts: Iterable[FactId], say: Say) -> dict[FactId, FactId]:
    """The current facts in place of those that are no longer current, however many replaced them.

    A fact that is current, or that nothing current has replaced, is left out.
    """
    found: dict[FactId, FactId] = {}
    with look_back(workspace, say) as past:
        for fact in facts:
            seen, last = {fact}, fact
            while (following := _successor(past.trail, last)) is not None and following not in seen:
                seen.add(following)
                last = following
            if last != fact and lookup.current_occurrences(past.trail, last):
                found[fact] = last
    return found


def _successor(trail: Trail, fact: FactId) -> FactId | None:
    """The fact that replaced a fact last; None where it is current, or was removed."""
    occurrences = trail.occurrences_of(fact)
    marks = [trail.marks_of(each.number) for each in occurrences]
    if any(
        each.ended is None and not of_one for each, of_one in zip(occurrences, marks, strict=True)
    ):
        return None
    named = [
        next((mark.other for mark in of_one if mark.other), each.successor)
        for each, of_one in zip(occurrences, marks, strict=True)
    ]
    return next(filter(None, reversed(named)), None)


# Texts.


def when(workspace: Workspace, text: str, say: Say) -> TextHistory:
    """The periods in which memory held a text; raises TextProblem (`empty-text`)."""
    if not text.strip():
        raise TextProblem("empty-text", "the text to look for is empty")
    with look_back(workspace, say) as past:
        views = tuple(
            _presence_view(past, presence, text)
            for presence in differences.text_presences(past.trail, text)
        )
        return TextHistory(text, views, past.notes)


def _presence_view(past: Past, presence: differences.TextPresence, text: str) -> PresenceView:
    came = past.trail.commit_numbered(presence.came)
    went = (
        past.trail.commit_numbered(_told_end(past.trail, presence, text))
        if presence.went is not None
        else None
    )
    assert came is not None  # a text begins with a commit
    end = went or _end_of_facts(past.trail, presence, text)
    return PresenceView(
        path=presence.path,
        section=presence.section,
        came=(begun := past.made(came)),
        went_at=max(begun.time, past.time_of(went.number)) if went else None,
        ended_by=past.made(end) if end else None,
        merged=past.late_merge(came),
    )


def _told_end(trail: Trail, presence: differences.TextPresence, text: str) -> int:
    """After a rebase, a commit may have ended the facts before their lines were removed."""
    assert presence.went is not None  # the text was removed

    def has_text(occurrence: Occurrence) -> bool:
        entry = occurrence.entry
        return entry.fact is not None and entry.section == presence.section and text in entry.text

    if not any(map(has_text, trail.contested_in(presence.path))):
        return presence.went
    came, went = trail.order(presence.came), trail.order(presence.went)
    facts = [
        each
        for each in trail.occurrences_in(presence.path)
        if has_text(each) and trail.order(each.begun) < went
    ]
    ends = [each.ended for each in facts if each.ended is None or trail.order(each.ended) > came]
    if not ends or any(end is None or trail.order(end) > went for end in ends):
        return presence.went
    return max(filter(None, ends), key=trail.order)


def _end_of_facts(
    trail: Trail, presence: differences.TextPresence, text: str
) -> TrailCommit | None:
    """The commit that ended the last fact with a text whose line is still there."""
    facts = [
        each
        for each in trail.live_occurrences(presence.path, [presence.section])
        if text in each.entry.text
    ]
    marks = [trail.marks_of(each.number) for each in facts]
    if not facts or not all(marks):
        return None
    ends = [trail.commit_numbered(mark.begun) for of_one in marks for mark in of_one]
    return max(filter(None, ends), key=lambda commit: trail.order(commit.number))
