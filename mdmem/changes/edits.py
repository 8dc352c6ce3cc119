"""Edits of one file: which file each goes to, and what each kind makes of the file's text. Nothing is written here."""

from __future__ import annotations

from datetime import date
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

from mdmem import files, layout
from mdmem.document import Document, parse
from mdmem.editors import EditResult, daily, section
from mdmem.editors import facts as fact_editor
from mdmem.errors import PathProblem, SectionProblem
from mdmem.facts import Item, find_same_item, items, parse_item, write_item
from mdmem.model import CommitId, FactId, FileKind, FilePath, Op
from mdmem.model.rules import is_iso_day, parse_day
from mdmem.model.writes import Action, DigestDay, EditSection, Forget, Log, Remember, WriteOptions
from mdmem.queries import lookup
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.wording import field, verb
from mdmem.workspace import Workspace

if TYPE_CHECKING:
    import shlex

    from mdmem import packaged_files
    from mdmem.changes import accepting, digest_day, foundations, superseding, task_notes
    from mdmem.changes.accepting import PartTaking
    from mdmem.editors import instructions, whole_file
    from mdmem.editors.key_values import Foundations
    from mdmem.editors.merge3 import inverse_patch
    from mdmem.model.whole_files import WholeFileEdit
    from mdmem.queries import dates, suggestions
else:
    shlex = late.module("shlex")
    packaged_files = late.module("mdmem.packaged_files")
    accepting = late.module("mdmem.changes.accepting")
    digest_day = late.module("mdmem.changes.digest_day")
    dates = late.module("mdmem.queries.dates")
    foundations = late.module("mdmem.changes.foundations")
    superseding = late.module("mdmem.changes.superseding")
    instructions = late.module("mdmem.editors.instructions")
    inverse_patch = late.module("mdmem.editors.merge3.inverse_patch")
    suggestions = late.module("mdmem.queries.suggestions")
    task_notes = late.module("mdmem.changes.task_notes")
    whole_file = late.module("mdmem.editors.whole_file")

_SHOWN_LINES = 5


@dataclass(frozen=True, slots=True)
class RevertEdit:
    """Take one change of a file back: what it made (`after`) of what was there (`before`), or only of the lines of these facts.

    `from_log`: the entries of these facts go out of a day's log.
    """

    path: FilePath
    before: str
    after: str
    only: frozenset[FactId] | None
    reverts: CommitId
    options: WriteOptions
    from_log: bool


@dataclass(frozen=True, slots=True)
class InstructionsEdit:
    """Put mdmem's instructions to agents into a file, or take them out."""

    path: FilePath
    remove: bool
    options: WriteOptions


@dataclass(frozen=True, slots=True)
class AcceptEdit:
    """Put a part of a proposal onto a file."""

    taking: PartTaking
    options: WriteOptions


FileEdit: TypeAlias = "EditSection | Log | Remember | Forget | RevertEdit | InstructionsEdit | AcceptEdit | DigestDay | WholeFileEdit"


@dataclass(frozen=True, slots=True)
class EditedText:
    """A file as an edit leaves it.

    `fact` is the one that the edit is about, `superseded` the one that went out for it, `retracts` are lines of a day's log that count no
    more. `foundations`: those of the items before the edit, where it had to know them.
    """

    result: EditResult
    fact: FactId | None = None
    superseded: FactId | None = None
    retracts: tuple[FactId, ...] = ()
    foundations: Foundations | None = None


def with_iso_day(workspace: Workspace, edit: FileEdit) -> FileEdit:
    """An edit with the ISO date of the day that it names in words.

    Raises:
        UsageProblem: it names no day, or several where one is asked for. DateProblem: `ambiguous-date`.
    """
    match edit:
        case Log() if edit.day is not None and not is_iso_day(edit.day):
            return replace(edit, day=dates.past_day(workspace, edit.day, "day").isoformat())
        case Remember() if edit.until is not None and not is_iso_day(edit.until):
            return replace(edit, until=dates.last_day_to_come(workspace, edit.until, "until").isoformat())
    return edit


def with_entry(workspace: Workspace, edit: FileEdit) -> FileEdit:
    """An edit with the id and, where it has no words of its own, the text of the log's entry that it takes into a curated file.

    Raises:
        FactProblem: `fact-not-found`, `fact-ambiguous`.
    """
    if not isinstance(edit, Remember) or edit.entry is None:
        return edit
    lines = lookup.current_locations(workspace, lookup.locate_fact(workspace, edit.entry, (FileKind.DAILY,)))
    fact = lookup.meant_location(workspace, lines, edit.entry, lambda fact: f"{verb('remember', 'entry')} {fact}").item.fact
    return replace(edit, entry=fact.id, text=edit.text or fact.text, kind=edit.kind or fact.kind, tags=edit.tags or fact.tags)


def new_texts(edit: FileEdit) -> tuple[str, ...]:
    """The texts that an edit brings in."""
    match edit:
        case EditSection():
            return (edit.replacement if edit.action is Action.REPLACE else edit.text,)
        case Log():
            return (edit.text, *edit.more)
        case Remember():
            return (edit.key or "", edit.text)
        case Forget() | RevertEdit() | InstructionsEdit():
            return ()
        case AcceptEdit():
            return accepting.new_texts(edit.taking)
        case DigestDay():
            return tuple(entry.text for entry in edit.entries)
        case _:
            return whole_file.new_texts(edit)


# The file of an edit.


def target_path(workspace: Workspace, edit: FileEdit) -> FilePath:
    """The file that an edit goes to.

    Raises:
        PathProblem: no file of the workspace that may be written. SectionProblem: `append-only`. FactProblem: no such fact.
    """
    match edit:
        case Log():
            path = workspace.log_path(_day(workspace, edit))
        case Forget() if edit.file is None:
            path = lookup.file_of_fact(workspace, edit)
        case RevertEdit() | InstructionsEdit():
            path = edit.path
        case EditSection() | Remember() | Forget():
            path = layout.parse_path(edit.file) if edit.file is not None else workspace.curated
        case DigestDay():
            path = workspace.log_path(edit.day)
        case AcceptEdit():
            path = edit.taking.part.view.path
        case _:
            path = layout.parse_any_path(edit.path)
    require_writable(workspace, path)
    if workspace.kind_of(path) is FileKind.DAILY and not _may_append(edit):
        raise SectionProblem(
            "append-only",
            f"{path} is a daily log: entries can only be added",
            f"Log a new entry; {field('supersedes')} ID says which one it replaces.",
        )
    return path


def require_writable(workspace: Workspace, path: FilePath) -> None:
    """Refuse a path below `extra_paths`, or in another repository.

    Raises:
        PathProblem: `read-only-path`, `bad-path`.
    """
    if layout.within(path, workspace.settings.extra_paths):
        raise PathProblem("read-only-path", f"{path} is under extra_paths, which are read-only", "Use the workspace that it belongs to.")
    if folder := _nested_repository(workspace, path):
        raise PathProblem("bad-path", f"{path} is in another repository, {folder}", f"To make it a workspace: {verb('init')} {folder}")


def _may_append(edit: FileEdit) -> bool:
    """True if an edit can go to a day's log: it adds to it (where, `whole_file` sees to itself), or takes out what a digest wrote."""
    match edit:
        case EditSection():
            return edit.action is Action.APPEND
        case Remember() | InstructionsEdit():
            return False
        case RevertEdit():
            return edit.from_log
        case AcceptEdit():
            return accepting.only_adds(edit.taking)
    return True


def _nested_repository(workspace: Workspace, path: FilePath) -> str | None:
    """The folder on the way to a file that is a repository of its own."""
    folders = accumulate(path.split("/")[:-1], "{}/{}".format)
    return next((folder for folder in folders if (workspace.root / folder / ".git").exists()), None)


# The file after an edit.


def edit_text(workspace: Workspace, edit: FileEdit, path: FilePath, document: Document | None) -> EditedText:
    """Carry out an edit on a document, which is None where there is no such file.

    The item that `supersedes` names goes out of a file that is edited in place.

    Raises:
        MdmemError: it cannot be done.
    """
    edited = _edit(workspace, edit, path, document)
    if document is None or edit.options.supersedes is None or workspace.kind_of(path) is FileKind.DAILY:
        return edited
    result, superseded = superseding.without_superseded(
        *(workspace, path, document, edited.result, edit.options.supersedes),
        successor=edited.fact,
    )
    return replace(edited, result=result, superseded=superseded)


def _edit(workspace: Workspace, edit: FileEdit, path: FilePath, document: Document | None) -> EditedText:
    match edit:
        case Log():
            return _log(workspace, edit, path, document)
        case EditSection():
            return _edit_section(workspace, edit, path, document)
        case Remember():
            return _remember(workspace, edit, path, document)
        case Forget():
            return _forget(workspace, edit, path, document)
        case RevertEdit():
            return _revert(edit, document)
        case InstructionsEdit():
            start = document or parse("")
            result = instructions.take_out(start) if edit.remove else instructions.put_in(start, packaged_files.template("agents.md"))
            return EditedText(result=result)
        case DigestDay():
            return EditedText(result=digest_day.edit(document or parse(daily.new_log(packaged_files.template("daily.md"), edit.day)), edit))
        case AcceptEdit():
            taken = accepting.edit(edit.taking, document, workspace.kind_of(path))
            return EditedText(result=taken.result, retracts=taken.retracts)
        case _:
            is_log = workspace.kind_of(path) is FileKind.DAILY
            return EditedText(result=whole_file.edit(document, edit, is_log))


def _log(workspace: Workspace, edit: Log, path: FilePath, document: Document | None) -> EditedText:
    start = document or parse(daily.new_log(packaged_files.template("daily.md"), _day(workspace, edit)))
    edited = _log_entry(workspace, edit, edit.text, path, start)
    for text in edit.more:
        following = _log_entry(workspace, edit, text, path, parse(edited.result.text))
        confirms = (*edited.result.confirms, *following.result.confirms)
        edited = replace(following, result=replace(following.result, confirms=confirms))
    return edited


def _log_entry(workspace: Workspace, edit: Log, text: str, path: FilePath, start: Document) -> EditedText:
    item = write_item(text, kind=edit.kind, tags=edit.tags)
    fact = parse_item(item).id
    stated = None if edit.again or find_same_item(start, item) is None else _stated_item(workspace, path, start, fact)
    result = daily.log(start, _minute(workspace, edit), item, again=stated is None)
    if stated is not None and foundations.find_foundations(workspace, path, start, [stated], edit.options).is_confirmed(stated):
        result = replace(result, confirms=(fact,))
    return EditedText(result=result, fact=fact)


def _stated_item(workspace: Workspace, path: FilePath, document: Document, fact: FactId) -> Item | None:
    """The entry of a log that states a fact and counts still: neither superseded nor retracted, nor expired."""
    today = workspace.now().date()
    same = [each for each in items(document) if each.fact.id == fact and (each.fact.until is None or each.fact.until >= today)]
    current = lookup.current_locations(workspace, [lookup.FactLocation(path, document, each) for each in same])
    return current[0].item if current else None


def _day(workspace: Workspace, edit: Log) -> date:
    return workspace.now().date() if edit.day is None else parse_day(edit.day)


def _minute(workspace: Workspace, edit: Log) -> str:
    return workspace.now().strftime("%H:%M") if edit.time is None else edit.time


def _edit_section(workspace: Workspace, edit: EditSection, path: FilePath, document: Document | None) -> EditedText:
    if document is None:
        _require_create(workspace, edit, path)
        document = parse(task_notes.NEW_TASKS if path == layout.TASKS_PATH else "")
    try:
        return EditedText(result=section.edit(document, edit))
    except SectionProblem as problem:
        if edit.after is not None:
            raise
        raise suggestions.with_suggestions(
            workspace, problem, edit.section, edit.file, lambda path: f"{field('file')} {shlex.quote(path)}"
        ) from problem


def _require_create(workspace: Workspace, edit: EditSection | Remember, path: FilePath) -> None:
    if not edit.create:
        raise suggestions.missing_file(workspace, path, f"To create it, use {field('create')}.")
    curated = workspace.curated
    if path.casefold() == curated.casefold() and files.read(files.path_on_disk(workspace.root, curated)) is not None:
        raise PathProblem("bad-path", f"{path} would be a second curated file: {curated} already exists", f"Name {curated}.")


def _remember(workspace: Workspace, edit: Remember, path: FilePath, document: Document | None) -> EditedText:
    if document is None:
        _require_create(workspace, edit, path)
        document = parse("")
    similar = fact_editor.similar_items(document, edit)
    # In a proposal a value replaces another whatever the sources: a person is to decide.
    needs_foundations = (
        similar
        and workspace.contents is None
        and fact_editor.needs_foundations(edit, similar, foundations.own_foundation(workspace, edit.options))
    )
    item_foundations = foundations.find_foundations(workspace, path, document, similar, edit.options) if needs_foundations else None
    result, fact = fact_editor.remember(document, edit, workspace.now().date(), similar, item_foundations)
    return EditedText(result=result, fact=fact, foundations=item_foundations)


def _forget(workspace: Workspace, edit: Forget, path: FilePath, document: Document | None) -> EditedText:
    if document is None:
        raise suggestions.missing_file(workspace, path)
    locations = [lookup.FactLocation(path, document, item) for item in fact_editor.items_named(document, edit.fact, edit.section)]
    if workspace.kind_of(path) is not FileKind.DAILY:
        return EditedText(
            result=fact_editor.forget(document, lookup.require_one_location(workspace, locations, edit.fact, lookup.forget_command).item)
        )
    # A line of a day's log stays, and counts no more.
    item = lookup.meant_location(workspace, lookup.current_locations(workspace, locations), edit.fact, lookup.forget_command).item
    return EditedText(result=EditResult(text=document.text, op=Op.RETRACT, section=document.path_at(item.start)), retracts=(item.fact.id,))


def _revert(edit: RevertEdit, document: Document | None) -> EditedText:
    """Take the change back; a conflict names the file, and shows how it reads and how it would read."""
    try:
        return EditedText(result=undone(edit, document or parse("")))
    except SectionProblem as problem:
        details = problem.details
        hint = f"{problem.hint}\nNow: {_quote(details['now'])}\nThen: {_quote(details['then'])}"
        raise SectionProblem(problem.code, f"{edit.path}: {problem.message}", hint, path=edit.path, **details) from problem


def undone(edit: RevertEdit, document: Document) -> EditResult:
    """Take a change of a file back.

    Raises:
        SectionProblem: `revert-conflict`.
    """
    if edit.from_log:
        return digest_day.take_out(document, sorted(edit.only or ()))
    return inverse_patch.undo(document, edit.after, edit.before, edit.only)


def _quote(text: str) -> str:
    """A few lines of a text, for a hint."""
    lines = [line for line in text.splitlines() if line.strip()]
    return "\n      ".join(lines[:_SHOWN_LINES] + (["…"] if len(lines) > _SHOWN_LINES else [])) or "(nothing)"
