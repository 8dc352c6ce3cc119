"""Recognise commands sent again after a lost answer.

A command is a repeat if the newest commit of the same part of the file is by the same actor and
session, the command turns the file before that commit into the one after it, and its result is
still there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from mdmem.changes.verbs import FileEdit
from mdmem.changes.verbs.foundations import edit_and_supersede
from mdmem.editors import EditResult
from mdmem.folder import files, layout
from mdmem.lookup import lookup
from mdmem.model import CommitId, FactId, FilePath, Op, SectionPath
from mdmem.model.errors import MdmemError
from mdmem.model.rules import fold_actor
from mdmem.model.trail import MarkKind, Occurrence
from mdmem.model.writes import Action, EditSection, Forget, Log, Remember, WriteOptions, WriteResult
from mdmem.past import fresh_trail
from mdmem.past.messages import ParsedNote
from mdmem.past.notes import parse_message
from mdmem.repo import first_parent
from mdmem.repo.first_parent import CommitChanges
from mdmem.startup.records import dataclass, replace
from mdmem.text.document import (
    Document,
    Section,
    join_path,
    matching_sections,
    plain_title,
    preamble_etag,
    section_etag,
    tree_etag,
)
from mdmem.text.fact_names import items_matching, names_any
from mdmem.text.facts import holds_key, items, parse_item, write_item
from mdmem.workspace import Workspace

if TYPE_CHECKING:
    from mdmem.past.table import Trail

_MAYBE_REPEATED = {
    "section-not-found",
    "section-ambiguous",
    "section-changed",
    "section-exists",
    "text-not-found",
    "text-ambiguous",
    "fact-not-found",
}
_MOST_COMMITS = 50


@dataclass(frozen=True, slots=True)
class _FileChange:
    commit: CommitChanges
    note: ParsedNote
    before: Document | None
    after: Document | None


def find_repeat(workspace: Workspace, edit: FileEdit, problem: MdmemError) -> WriteResult | None:
    """The answer to a failed command (with complete options) if it is a repeat, else None."""
    if problem.code not in _MAYBE_REPEATED:
        return None
    try:
        match edit:
            case EditSection():
                return _repeated_edit(workspace, edit)
            case Remember():
                return _repeated_remember(workspace, edit)
            case Forget() if problem.code == "fact-not-found":
                return _repeated_forget(workspace, edit)
    except MdmemError:
        pass  # the first problem is reported
    return None


def _newest_changes(
    workspace: Workspace, path: FilePath, is_ours: Callable[[ParsedNote], bool]
) -> Iterator[_FileChange]:
    """Newest first, up to and including the last whose note `is_ours`."""
    repository = workspace.repository
    commits = first_parent.read_commits(
        repository, first_parent.newest_commits(repository, path, _MOST_COMMITS)
    )
    notes = [parse_message(commit.commit.message) for commit in commits]
    count = max((number for number, note in enumerate(notes, 1) if is_ours(note)), default=0)
    for commit, note in zip(commits[:count], notes, strict=False):
        changed = next(
            (each for each in commit.changes if each.path == each.before_path == path), None
        )
        if changed is None:
            return
        contents = repository.contents([blob for blob in (changed.before, changed.after) if blob])
        before, after = (
            workspace.parse(path, contents[blob]) if blob else None
            for blob in (changed.before, changed.after)
        )
        yield _FileChange(commit, note, before, after)


def _is_by(note: ParsedNote, options: WriteOptions) -> bool:
    made_by, session = note.provenance, " ".join((options.session or "").split())
    is_same_actor = fold_actor(made_by.actor or "") == fold_actor(options.actor or "")
    return note.op is not None and is_same_actor and (made_by.session or "") == session


def _carried_out(
    workspace: Workspace, edit: EditSection | Remember, path: FilePath, change: _FileChange
) -> EditResult | None:
    try:
        edited = edit_and_supersede(workspace, edit, path, change.before)
    except MdmemError:
        return None
    result, named = edited.result, edit.options.supersedes
    is_done = (
        change.after is not None
        and result.text == change.after.text
        and result.op == change.note.op
    )
    superseded = {old for old, _ in change.note.supersedes}
    return (
        result
        if is_done
        and (named is None or edited.superseded in superseded or names_any(named, superseded))
        else None
    )


def _unchanged(
    path: FilePath,
    document: Document,
    section: SectionPath,
    options: WriteOptions,
    op: Op,
    fact: FactId | None = None,
) -> WriteResult:
    sections = [each for each in document.sections if each.path == section]
    etag = (
        section_etag(document, sections[0])
        if sections
        else preamble_etag(document)
        if not section
        else None
    )
    return WriteResult(
        changed=False,
        path=path,
        section=section,
        etag=etag,
        commit=None,
        diff="" if options.dry_run else None,
        op=op,
        fact=fact,
    )


def _on_disk(workspace: Workspace, path: FilePath) -> Document | None:
    data = files.read(files.path_on_disk(workspace.root, path))
    return None if data is None else workspace.parse(path, data)


def _find_own_change(
    workspace: Workspace,
    edit: EditSection | Remember,
    is_ours: Callable[[ParsedNote], bool],
    read_part: Callable[[Document | None, SectionPath], list[str]],
) -> WriteResult | None:
    """`read_part` gets the section's path after the edit."""
    path = workspace.curated if edit.file is None else layout.parse_path(edit.file)
    document = _on_disk(workspace, path)
    if document is None:
        return None
    for change in _newest_changes(workspace, path, is_ours):
        result = _carried_out(workspace, edit, path, change) if is_ours(change.note) else None
        if result is not None:
            is_unchanged = read_part(document, result.section) == read_part(
                change.after, result.section
            )
            return (
                _unchanged(path, document, result.section, edit.options, result.op)
                if is_unchanged
                else None
            )
        if read_part(change.before, ()) != read_part(change.after, ()):
            return None
    return None


def _plain(title: str) -> str:
    return plain_title(title).casefold()


# A section.


def _repeated_edit(workspace: Workspace, edit: EditSection) -> WriteResult | None:
    name = _plain(edit.text if edit.action is Action.RENAME else edit.section or "")

    def is_ours(note: ParsedNote) -> bool:
        return _is_by(note, edit.options) and _plain(note.section).endswith(name)

    def etags(document: Document | None, renamed: SectionPath) -> list[str]:
        if document is None or edit.section is None:
            return [preamble_etag(document)] if document else []
        sections = [
            *matching_sections(document, edit.section),
            *(each for each in document.sections if each.path == renamed),
        ]
        return [
            tree_etag(document, each) if edit.subtree else section_etag(document, each)
            for each in sections
        ]

    return _find_own_change(workspace, edit, is_ours, etags)


# A fact.


def _repeated_remember(workspace: Workspace, edit: Remember) -> WriteResult | None:
    fact = parse_item(write_item(edit.text, edit.key, edit.kind))
    key, superseded = edit.key or fact.key, edit.options.supersedes

    def is_ours(note: ParsedNote) -> bool:
        return _is_by(note, edit.options) and note.op == Op.REMEMBER

    def stated(document: Document | None, _: SectionPath) -> list[str]:
        listed = items(document) if document else ()
        named = items_matching(listed, superseded) if superseded else ()
        return [
            each.raw
            for each in listed
            if each in named or each.fact.id == fact.id or (key and holds_key(each.fact, key))
        ]

    repeat = _find_own_change(workspace, edit, is_ours, stated)
    return repeat and replace(repeat, fact=fact.id)


def _repeated_forget(workspace: Workspace, edit: Forget) -> WriteResult | None:
    file = layout.parse_path(edit.file) if edit.file is not None else None
    with fresh_trail(workspace) as trail:
        fact = lookup.named_fact(trail, edit.fact)
        nested = None if fact else lookup.nested_meant(workspace, trail, edit.fact, file)
        ended = trail.occurrences_of(nested.line, nested=True) if nested else ()
        last = _last_end(trail, trail.occurrences_of(fact) if fact else ended, file, edit.section)
        if last is None:
            return None
        number, path, section = last
        commit = trail.commit_numbered(number)
        note = parse_message(commit.message) if commit else None
    if note is None or not _is_by(note, edit.options) or note.op not in (Op.FORGET, Op.RETRACT):
        return None
    document = _on_disk(workspace, path)
    if document is None:
        return None
    return _unchanged(path, document, section, edit.options, Op(note.op), fact)


def _last_end(
    trail: Trail, occurrences: Iterable[Occurrence], file: FilePath | None, address: str | None
) -> tuple[int, FilePath, SectionPath] | None:
    ends = []
    for occurrence in occurrences:
        entry = occurrence.entry
        if file not in (None, entry.path) or (
            address and not _plain(join_path(entry.section)).endswith(_plain(address))
        ):
            continue
        retracted = [
            mark.begun
            for mark in trail.marks_of(occurrence.number)
            if mark.kind is MarkKind.RETRACTED
        ]
        number = occurrence.ended or max(retracted, default=None)
        if number is None:
            return None
        ends.append((number, entry.path, entry.section))
    return max(ends, default=None)


# A task.


def find_finished_task(
    workspace: Workspace,
    tasks_in: Callable[[Document], Sequence[Section]],
    outcome_of: Callable[[Section], Log],
    options: WriteOptions,
) -> WriteResult | None:
    """The same actor ended the task with this outcome, and nothing was done to it since.

    `tasks_in`: the tasks of its name in a file; `outcome_of`: the log line of the outcome.
    """

    def is_ours(note: ParsedNote) -> bool:
        return _is_by(note, options) and note.op == Op.DELETE

    for change in _newest_changes(workspace, layout.TASKS_PATH, is_ours):
        before, after = (
            [] if each is None else tasks_in(each) for each in (change.before, change.after)
        )
        if before and not after and is_ours(change.note) and change.commit.parents:
            return _outcome_in(
                workspace,
                change.commit.parents[0],
                outcome_of(before[0]),
                options,
            )
        if len(before) != len(after):
            return None
    return None


def _outcome_in(
    workspace: Workspace, commit: CommitId, entry: Log, options: WriteOptions
) -> WriteResult | None:
    (changes,) = first_parent.read_commits(workspace.repository, [commit])
    note = parse_message(changes.commit.message)
    if not _is_by(note, options) or note.op != Op.LOG or len(changes.changes) != 1:
        return None
    path = changes.changes[0].path
    document = _on_disk(workspace, path)
    fact = parse_item(write_item(entry.text, kind=entry.kind)).id
    locations = (
        [
            lookup.FactLocation(path, document, item)
            for item in items(document)
            if item.fact.id == fact
        ]
        if document
        else []
    )
    current = lookup.current_locations(workspace, locations)
    if not current:
        return None
    return _unchanged(
        path,
        current[-1].document,
        current[-1].document.path_at(current[-1].item.start),
        options,
        Op.LOG,
        fact,
    )
