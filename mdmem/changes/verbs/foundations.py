"""Foundations of facts and of changes: the source of each, whether it is only claimed, and the fact
that one supersedes (removed from an editable file, marked in a daily log).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from mdmem.changes.verbs import EditedText, FileEdit, verb_of
from mdmem.editors import EditResult
from mdmem.editors import facts as fact_editor
from mdmem.editors.fact_difference import fact_difference
from mdmem.editors.list_items import Foundation, Foundations
from mdmem.folder import layout, trust
from mdmem.lookup import lookup
from mdmem.lookup.lookup import FactLocation
from mdmem.model import CommitId, FactId, FileKind, FilePath, Op, Source
from mdmem.model.errors import FactProblem, MdmemError, PathProblem, field, shell_word, verb
from mdmem.model.writes import Forget, Log, WriteOptions
from mdmem.past import entry_states, fresh_trail
from mdmem.past.messages import quoted_line, section_name
from mdmem.past.notes import QuotingNote, parse_message, parse_notes
from mdmem.repo import first_parent, git_files
from mdmem.startup.records import replace
from mdmem.text.document import Document, join_path, parse
from mdmem.text.fact_names import items_matching, names_any
from mdmem.text.facts import Item, entries, items, parse_item
from mdmem.workspace import Workspace

_MOST_COMMITS = 16
_PLAIN_OPS = frozenset(
    {Op.REPLACE, Op.APPEND, Op.PREPEND, Op.CREATE, Op.LOG, Op.REMEMBER, Op.FORGET}
)
"""Operations whose messages quote every line added or removed; for others the trail is read."""


def own_foundation(workspace: Workspace, options: WriteOptions) -> Foundation:
    claimed = trust.is_claim(workspace.origin_of(options.actor), options.source)
    return Foundation(options.source, claimed)


def find_foundations(
    workspace: Workspace,
    path: FilePath,
    document: Document,
    items: Sequence[Item],
    options: WriteOptions,
) -> Foundations:
    """Uncommitted lines count as they will once committed: as the user's own, or as claimed by the
    agent at work. Where history cannot be read, every line counts as the user's own.
    """
    own = own_foundation(workspace, options)
    is_short = workspace.settings.verify != "require"  # a message says nothing of its signature
    recent = _recent_foundations(workspace, path, document, items) if is_short else None
    if recent is not None:
        return Foundations(recent, own)
    in_file = entries(document, path)
    try:
        with fresh_trail(workspace) as trail:
            states, _ = entry_states.match_entries(trail, path, in_file)
    except MdmemError as problem:
        unknown = {item.start: Foundation(Source.USER_STATED) for item in items}
        return Foundations(
            unknown,
            own,
            f"cannot tell who stated the current facts ({problem.message}): they count as the"
            " user's own",
        )
    pending = (
        own
        if workspace.contents
        else Foundation(Source.USER_STATED, claimed=workspace.is_agent(options.actor))
    )
    committed = {
        entry.start_line - 1: Foundation(
            state.occurrence.origin.source,
            claimed=state.occurrence.origin.claimed_by is not None,
            also=state.occurrence.also,
        )
        for entry, state in zip(in_file, states, strict=True)
        if state.occurrence
    }
    return Foundations({item.start: committed.get(item.start, pending) for item in items}, own)


# From the messages of the newest commits.


def _recent_foundations(
    workspace: Workspace, path: FilePath, document: Document, items: Sequence[Item]
) -> dict[int, Foundation] | None:
    """Foundations from recent messages, by first line; None if these do not suffice.

    This is cheap; the trail is not, since it has to be brought up to HEAD first.
    """
    unknown = {item.start: item for item in items}
    if any("\n" in item.raw.rstrip() for item in items):
        return None
    foundations = {}
    for quoting in _newest_notes(workspace, path):
        if quoting is None:
            return None
        went = {parse_item(f"- {line}").id for line in quoting.went}
        for start, item in list(unknown.items()):
            if item.fact.id in went:
                return None
            if quoted_line(item.raw) in quoting.came:
                if quoting.note.section != section_name(document.path_at(start)):
                    return None
                foundations[start] = Foundation(
                    quoting.note.provenance.source,
                    claimed=quoting.note.claimed_by is not None,
                    also=quoting.note.also,
                )
                del unknown[start]
        if not unknown:
            return foundations
    return None


def _newest_notes(workspace: Workspace, path: FilePath) -> Iterator[QuotingNote | None]:
    """Notes of a file's newest commits; None at the first that does not quote everything."""
    repository = workspace.repository
    commit = repository.head() if repository.is_simple else None
    git_dir, name = str(repository.git_dir), os.fsencode(f"{repository.prefix}{path}")
    for _ in range(_MOST_COMMITS):
        data = git_files.read_object(git_dir, commit, b"commit") if commit else None
        head, _, message = (data or b"").decode("utf-8", "replace").partition("\n\n")
        parents = [
            line.removeprefix("parent ") for line in head.split("\n") if line.startswith("parent ")
        ]
        notes = parse_notes(message)
        if commit is None or len(parents) != 1 or len(notes) != 1 or not notes[0].is_own:
            break
        if notes[0].note.path == path:
            before, after = (
                git_files.blob_at(git_dir, CommitId(each), name) for each in (parents[0], commit)
            )
            lines = message.split("\n")
            is_cut = any(line.endswith(" more lines)") for line in lines)
            if (
                notes[0].note.op not in _PLAIN_OPS
                or notes[0].note.confirms
                or before == after
                or is_cut
            ):
                break
            came, went = (
                frozenset(line[2:] for line in lines if line.startswith(sign))
                for sign in ("+ ", "- ")
            )
            yield replace(notes[0], came=came, went=went)
        commit = CommitId(parents[0])
    yield None


_MOST_READ = 50
_HINT = "Write it in the section of the fact you mean."


def edit_and_supersede(
    workspace: Workspace, edit: FileEdit, path: FilePath, document: Document | None
) -> EditedText:
    """The item that `supersedes` names is removed from a file that is edited in place."""
    edited = verb_of(edit).edit(workspace, edit, path, document)
    if (
        document is None
        or edit.options.supersedes is None
        or workspace.kind_of(path) is FileKind.DAILY
    ):
        return edited
    return _without_superseded(workspace, path, document, edited, edit.options.supersedes)


def _without_superseded(
    workspace: Workspace, path: FilePath, document: Document, edited: EditedText, name: str
) -> EditedText:
    """Remove the item that `name` means from an edit's result, if it is there.

    It stays where the edit found the same, and has moved where the edit added the same. Of several
    items the one in the edited section is meant. Its labels go to the edit's fact, by default the
    last one added.
    Raises: FactProblem (`fact-ambiguous`; `fact-not-found`: a repeat, whose first edit removed it),
    SectionProblem (`body-escapes-section`).
    """
    result = edited.result
    candidates = items_matching(items(document), name)
    in_section = [each for each in candidates if document.path_at(each.start) == result.section]
    if result.text == document.text and not in_section and _is_done(workspace, path, result, name):
        if candidates or lookup.current_locations(
            workspace, lookup.locate_fact(workspace, name, tuple(FileKind))
        ):
            raise FactProblem(
                "fact-not-found",
                f"{name[:80]!r} was already removed from this section, and is also elsewhere",
                _HINT,
            )
        return edited
    new = parse(result.text)
    if not candidates or len(items_matching(items(new), name)) < len(candidates):
        return edited  # it is elsewhere, or the edit itself took it out
    is_same = {each.fact.id for each in candidates} == {edited.fact}
    if is_same and len(items_matching(items(new), name)) == len(candidates):
        return replace(edited, superseded=edited.fact)
    item = _meant(workspace, path, document, in_section, candidates, name)
    before, after = _with_id(document, item.fact.id), _with_id(new, item.fact.id)
    number = before.index(item)
    if document.lines[: item.end] != new.lines[: item.end]:
        number -= len(before)  # the edit is above it
    text = fact_editor.forget(new, after[number]).text
    added = [each.fact.id for each in fact_difference(document, parse(text)).added]
    successor = item.fact.id if len(after) > len(before) else edited.fact
    result = fact_editor.hand_on_labels(
        replace(result, text=text), item, successor or (added[-1] if added else None)
    )
    return replace(edited, result=result, fact=successor, superseded=item.fact.id)


def _is_done(workspace: Workspace, path: FilePath, result: EditResult, name: str) -> bool:
    repository, section = workspace.repository, section_name(result.section)
    commits = first_parent.read_commits(
        repository, first_parent.newest_commits(repository, path, _MOST_READ)
    )
    notes = [parse_message(commit.commit.message) for commit in commits]
    return any(
        note.section == section and names_any(name, {old for old, _ in note.supersedes})
        for note in notes
    )


def _with_id(document: Document, fact: FactId) -> list[Item]:
    return [each for each in items(document) if each.fact.id == fact]


def _meant(
    workspace: Workspace,
    path: FilePath,
    document: Document,
    in_section: list[Item],
    candidates: tuple[Item, ...],
    name: str,
) -> Item:
    if len(in_section) == 1:
        return in_section[0]
    elsewhere = [
        each for each in lookup.locate_fact(workspace, name, lookup.EDITABLE) if each.path != path
    ]
    here = [FactLocation(path, document, each) for each in candidates]
    return lookup.require_one_location(workspace, [*here, *elsewhere], name, _option, _HINT).item


def fact_to_supersede(
    workspace: Workspace,
    edit: FileEdit,
    removed: tuple[Item, ...],
    successor: FactId | None,
) -> tuple[FactId | None, FactLocation | None]:
    """The fact in `supersedes`: one that the edit `removed`, else a current one elsewhere.

    None if the successor supersedes it already, or if it is a nested item. The location is of an
    item to remove from another file; a line of a daily log gets a mark instead.
    Raises: FactProblem (`fact-not-found`, `fact-ambiguous`; `supersede-in-place`: a log cannot
    remove from another file), PathProblem (`read-only-path`).
    """
    name = edit.options.supersedes or ""
    if named := items_matching(removed, name):
        return named[0].fact.id, None
    locations = lookup.locate_fact(workspace, name, tuple(FileKind))
    marks = lookup.marks_at(workspace, locations)
    current = [location for location, mark in zip(locations, marks, strict=True) if mark is None]
    if not current and any(mark.other == successor for mark in marks if mark):
        return None, None
    if not locations:
        nested = lookup.locate_nested(workspace, name, lookup.EDITABLE)
        current = [place for place, _ in nested]
    location = lookup.meant_location(workspace, current, name, _option, _HINT)
    if workspace.kind_of(location.path) is FileKind.DAILY:
        return location.item.fact.id, None
    if layout.within(location.path, workspace.settings.extra_paths):
        raise PathProblem(
            "read-only-path",
            f"{location.path} is under extra_paths, which are read-only",
            "Change it in its own workspace.",
        )
    if isinstance(edit, Log | Forget):
        message = (
            f"{name[:80]!r} is in {location.path}, which is edited in place: it must be removed"
            " there, not only marked"
        )
        raise FactProblem(
            "supersede-in-place",
            message,
            _in_place_hint(workspace, edit, location),
            path=location.path,
        )
    return None if current and not locations else location.item.fact.id, location


def _option(fact: FactId) -> str:
    return f"{field('supersedes')} {fact}"


def _in_place_hint(workspace: Workspace, edit: Log | Forget, location: FactLocation) -> str:
    fact = location.item.fact.id
    file = [] if location.path == workspace.curated else [field("file"), shell_word(location.path)]
    if not isinstance(edit, Log):
        return " ".join([verb("forget"), fact, *file])
    section = location.document.path_at(location.item.start)
    where = [field("section"), shell_word(join_path(section))] if section else []
    return " ".join(
        [verb("remember"), shell_word(edit.text), *where, *file, field("supersedes"), fact]
    )
