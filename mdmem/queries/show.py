"""The verbs that read files: show, outline, check."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from datetime import date, timedelta
from itertools import islice
from pathlib import Path
from posixpath import normpath
from typing import TYPE_CHECKING

from mdmem.folder import files, layout
from mdmem.lookup import dates, lookup
from mdmem.model import CommitId, FileKind, FilePath, OtherReading, Problem
from mdmem.model.errors import PathProblem, SectionProblem, shell_word, verb
from mdmem.model.history import ChangeKind, DayView, ShowChanges
from mdmem.model.reads import Outline, OutlineRow, SectionView, Show
from mdmem.model.rules import is_iso_day
from mdmem.past import fresh_trail
from mdmem.queries import fact_changes
from mdmem.startup import late
from mdmem.startup.records import replace
from mdmem.text import check
from mdmem.text.document import (
    Document,
    Section,
    etag,
    parse_bytes,
    preamble_etag,
    section_etag,
    tree_etag,
)
from mdmem.text.facts import items
from mdmem.workspace import Say, Workspace, read_committed, two_curated_hint

if TYPE_CHECKING:
    from mdmem.model.trail import Occurrence

_QUOTED = 80
_ISO_DAY = late.pattern(r"\d{4}-\d{2}-\d{2}")
_DAY_IN_WORDS = late.pattern(r"(?i)(?:\d{1,2}|last)\s")
"""May mean a day (`2 days ago`, `3 March`, `last friday`); other words rather mean a section."""
_LIKE_OUTSIDE = late.pattern(r"(?:\.\.)?/\S*")
_AMBIGUOUS_DAY = late.pattern(r"\d[./]\d")


def _path(workspace: Workspace, file: str) -> FilePath:
    path = FilePath(normpath(file))
    return (
        path
        if layout.is_outside(path) and path in workspace.memory_files()
        else layout.parse_path(lookup.path_meant(workspace, file))
    )


def _read_document(workspace: Workspace, file: str | None) -> tuple[FilePath, Document]:
    path = _path(workspace, file) if file is not None else workspace.curated
    if (data := _read_file(workspace, path)) is None:
        raise lookup.missing_file(workspace, path)
    return path, workspace.parse(path, data)


def _read_file(workspace: Workspace, path: FilePath) -> bytes | None:
    if layout.is_outside(path):
        return files.read(workspace.root / path)
    return lookup.read_file(workspace, path, files.path_on_disk(workspace.root, path))


def show_named(workspace: Workspace, request: Show, say: Say) -> SectionView | DayView:
    """A section or file; else the fact, file or day that the word means."""
    word = request.section
    if word is None or request.nth is not None:
        return _read(workspace, request)
    day = _plain_day(workspace, word) if request.file is None else None
    try:
        view = _read(workspace, request)
    except (SectionProblem, PathProblem) as problem:
        is_missing = problem.code == "section-not-found" or (
            problem.code == "file-not-found" and request.file is None
        )
        if not is_missing or not word.strip():
            raise
        if (named := _show_other(workspace, word, request.file, day, say)) is not None:
            return named
        if not isinstance(problem, SectionProblem):
            raise
        if request.file is None and _LIKE_OUTSIDE.fullmatch(word.strip()):
            if not Path(normpath(word.strip())).is_relative_to(workspace.root):
                raise layout.outside_problem(word.strip()) from problem
            layout.parse_path(word.strip())
        with fresh_trail(workspace, say) as trail:
            path = _path(workspace, request.file) if request.file is not None else None
            problem = lookup.with_similar_facts(
                trail,
                lookup.without_namesake(problem, word, path),
                word,
                lambda fact: f"{verb('show')} {fact}",
                path,
            )
        raise _with_suggestions(workspace, problem, request) from problem
    return view if day is None else replace(view, also=(OtherReading("day", day.isoformat()),))


def _show_other(
    workspace: Workspace, word: str, file: str | None, day: date | None, say: Say
) -> SectionView | DayView | None:
    path = _path(workspace, file) if file is not None else None
    if (fact := _show_fact(workspace, word, path, say)) is not None:
        return (
            fact
            if day is None
            else replace(fact, also=(*fact.also, OtherReading("day", day.isoformat())))
        )
    if file is not None:
        return None
    if day is not None:
        return _show_day(workspace, day, say)
    if (named := lookup.file_named(workspace, word)) is not None:
        return _read(workspace, Show(file=named))
    if _DAY_IN_WORDS.match(word.strip()) and not _AMBIGUOUS_DAY.search(word):
        span = dates.parse_words(workspace, word, "section")
        if span is not None and span.first == span.last:
            return _show_day(workspace, span.first, say)
    return None


def _plain_day(workspace: Workspace, word: str) -> date | None:
    if (days_ago := layout.DAYS_AGO.get(word.strip().casefold())) is not None:
        return workspace.now().date() - timedelta(days=days_ago)
    return (
        date.fromisoformat(word.strip())
        if _ISO_DAY.fullmatch(word.strip()) and is_iso_day(word.strip())
        else None
    )


def _show_day(workspace: Workspace, day: date, say: Say) -> DayView:
    paths = [
        path
        for path in sorted(workspace.memory_files())
        if layout.day_of(path, workspace.daily) == day and workspace.is_of_day(path)
    ]
    asked = ShowChanges(since=day.isoformat(), until=day.isoformat(), limit=0)
    changes = tuple(
        each
        for each in fact_changes.list_changes(workspace, asked, say).changes
        if each.kind is not ChangeKind.ADDED or each.path not in paths
    )
    return DayView(
        day=day,
        logs=tuple(_read(workspace, Show(file=path)) for path in paths),
        changes=changes[: ShowChanges().limit],
        more=len(changes[ShowChanges().limit :]),
    )


def _show_fact(
    workspace: Workspace, word: str, path: FilePath | None, say: Say
) -> SectionView | None:
    """The curated item of a fact, else that of logs; None if there is none."""
    with fresh_trail(workspace, say) as trail:
        fact = lookup.named_fact(trail, word, path)
        current = lookup.current_occurrences(trail, fact, path) if fact else []
    places = [place for each in current if (place := _place_of(workspace, each)) is not None]
    if not places:
        uncommitted = lookup.locate_fact(workspace, word, lookup.MEMORY, keys=True)
        places = [
            (each, None)
            for each in uncommitted
            if path in (None, each.path) and (fact is None or each.item.fact.id != fact)
        ]
    if not places:
        places = _nested_places(workspace, word, path, say)
    if not places and fact is not None and path is None:
        raise lookup.no_longer_current(word, fact)
    places.sort(
        key=lambda place: (
            place[0].path != workspace.curated,
            workspace.kind_of(place[0].path) is FileKind.DAILY,
        )
    )
    if not places:
        return None
    (location, commit), *others = places
    also = tuple(OtherReading("place", f"{each.path}:{each.item.start + 1}") for each, _ in others)
    return replace(_fact_view(location, commit), also=also)


def _nested_places(
    workspace: Workspace, word: str, path: FilePath | None, say: Say
) -> list[tuple[lookup.FactLocation, CommitId | None]]:
    with fresh_trail(workspace, say) as trail:
        meant = lookup.nested_meant(workspace, trail, word, path)
        live = trail.occurrences_of(meant.line, nested=True) if meant else ()
    if meant is None:
        return []
    if not meant.places:
        raise lookup.no_longer_current(word, meant.id)
    commits = {
        each.entry.path: each.origin.commit
        for each in live
        if each.ended is None and each.number in meant.among
    }
    return [(place, commits.get(place.path)) for place in meant.places]


def _place_of(
    workspace: Workspace, occurrence: Occurrence
) -> tuple[lookup.FactLocation, CommitId | None] | None:
    """The item on disk with the commit that added it; None if an edit removed it."""
    path = occurrence.entry.path
    document = workspace.parse(path, _read_file(workspace, path) or b"")
    for item in items(document):
        if (
            item.fact.id == occurrence.entry.fact
            and document.path_at(item.start) == occurrence.entry.section
        ):
            return lookup.FactLocation(path, document, item), occurrence.origin.commit
    return None


def _fact_view(location: lookup.FactLocation, commit: CommitId | None) -> SectionView:
    document, item = location.document, location.item
    section = document.section_at(item.start)
    return SectionView(
        path=location.path,
        section=document.path_at(item.start),
        level=section.level if section else 0,
        text=document.slice(item.start, item.end),
        etag=section_etag(document, section) if section else preamble_etag(document),
        tree_etag=(
            tree_etag(document, section) if section else etag(document, 0, len(document.lines))
        ),
        start_line=item.start + 1,
        end_line=item.end,
        commit=commit,
        uncommitted=commit is None,
        subsections=(),
        fact=item.fact.id,
    )


def show_section(workspace: Workspace, request: Show) -> SectionView:
    """A section, the preamble or a whole file; raises PathProblem, SectionProblem."""
    try:
        return _read(workspace, request)
    except SectionProblem as problem:
        raise _with_suggestions(workspace, problem, request) from problem


def _with_suggestions(
    workspace: Workspace, problem: SectionProblem, request: Show
) -> SectionProblem:
    word = request.section or ""
    return lookup.with_suggestions(
        workspace,
        problem,
        word,
        request.file,
        lambda path: f"{verb('show')} {shell_word(path)} {shell_word(word)}",
    )


def _read(workspace: Workspace, request: Show) -> SectionView:
    path, document = _read_document(workspace, request.file)
    commit, committed = (
        (None, document) if layout.is_outside(path) else _committed(workspace, path, document)
    )
    view, section = lookup.view_of(path, document, request, commit)
    return replace(
        view,
        uncommitted=committed is not document
        and not _is_committed(document, committed, section, request),
    )


class _LastCommits:
    """The newest commits of files, kept while HEAD is the same: git reads history for each."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: object = None
        self._commits: dict[FilePath, CommitId | None] = {}

    def of(self, workspace: Workspace, path: FilePath) -> CommitId | None:
        seen = workspace.repository.head(), workspace.history_borders()
        with self._lock:
            if self._seen != seen:
                self._seen, self._commits = seen, {}
            if path in self._commits:
                return self._commits[path]
        commit = workspace.repository.last_commit(path)
        with self._lock:
            if self._seen == seen:
                self._commits[path] = commit
        return commit


def _committed(
    workspace: Workspace, path: FilePath, document: Document
) -> tuple[CommitId | None, Document | None]:
    """The newest commit of a file, and HEAD's document of it (without edits `document` itself)."""
    state = workspace.repository.state(path)
    commit = workspace.resources.get(_LastCommits).of(workspace, path) if state.commit else None
    if not state.pending:
        return commit, document
    data = read_committed(workspace, path, state.commit)
    try:
        return commit, None if data is None else parse_bytes(data)
    except PathProblem:
        return commit, None


def _is_committed(
    document: Document, committed: Document | None, section: Section | None, request: Show
) -> bool:
    if committed is None:
        return False
    before = section
    if section:
        number = [each for each in document.sections if each.path == section.path].index(section)
        before = next(
            islice(
                (each for each in committed.sections if each.path == section.path), number, None
            ),
            None,
        )
    return (section is None or before is not None) and _shown_text(
        document, section, request
    ) == _shown_text(committed, before, request)


def _shown_text(document: Document, section: Section | None, request: Show) -> str:
    start, end = (
        (document.front, document.preamble_end) if request.preamble else (0, len(document.lines))
    )
    text = document.slice(section.start, section.end) if section else document.slice(start, end)
    return text.replace("\r\n", "\n").strip()


def outline(workspace: Workspace, file: str | None) -> Outline:
    """The sections of a file; raises PathProblem where it is missing."""
    path, document = _read_document(workspace, file)
    rows = tuple(
        OutlineRow(
            section=section.path,
            level=section.level,
            line=section.start + 1,
            etag=section_etag(document, section),
            lines=section.end - section.start,
        )
        for section in document.sections
    )
    return Outline(path, rows)


def paths_named(workspace: Workspace, names: Iterable[str]) -> tuple[FilePath, ...]:
    """The paths of files as a user names them; raises PathProblem."""
    return tuple(_path(workspace, name) for name in names)


def check_files(workspace: Workspace, names: tuple[str, ...]) -> tuple[Problem, ...]:
    """The problems of memory files on disk, by default all; raises PathProblem."""
    listing = workspace.memory_files()
    paths = paths_named(workspace, names) or tuple(listing)
    problems: list[Problem] = []
    for path in paths:
        full_path = (
            listing[path].full_path if path in listing else files.path_on_disk(workspace.root, path)
        )
        try:
            data = files.read(full_path)
        except PathProblem as problem:
            unreadable = Problem(
                path=path,
                line=1,
                code=problem.code,
                level="warning",
                message=problem.message,
                hint=problem.marked_hint,
            )
            problems.append(unreadable)
            continue
        if data is None:
            raise lookup.missing_file(workspace, path)
        problems += check.check_file(path, data, workspace.kind_of(path), workspace.settings)
    if not names and (note := workspace.repository.under_way()):
        hint = "Finish or abort it first (git status)."
        problems.append(
            Problem(
                path=".", line=1, code="repository-busy", level="warning", message=note, hint=hint
            )
        )
    if not names and (note := two_curated_hint(workspace)):
        two_files = Problem(
            path=layout.CURATED_NAMES[1],
            line=1,
            code="two-curated-files",
            level="warning",
            message=note,
        )
        problems.append(two_files)
    return tuple(problems)
