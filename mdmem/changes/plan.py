"""What a change comes to: where it goes and what it makes of the file as it stands, with nothing written yet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from mdmem import check, files, history, layout, secrets
from mdmem.changes import task_notes
from mdmem.document import Document, Section, decode, parse, parse_bytes, preamble_etag, section_etag
from mdmem.editors import EditResult, daily, section
from mdmem.editors import facts as fact_editor
from mdmem.editors.fact_difference import FactDifference, fact_difference
from mdmem.errors import PathProblem, RefusedChange, SectionProblem, UsageProblem
from mdmem.facts import Item, items_matching, parse_item, write_item
from mdmem.model import CommitId, FactId, FileKind, FilePath, Op, Problem, Supersession
from mdmem.model.writes import Action, EditSection, Forget, Log, Remember, WriteOptions, WriteResult
from mdmem.queries import lookup
from mdmem.queries.lookup import locate_fact, require_one_location
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.workspace import Workspace, missing_file

if TYPE_CHECKING:
    from mdmem.editors import merge
else:
    merge = late.module("mdmem.editors.merge")


_SHOWN_LINES = 5
_MINUTE = re.compile(r"^([01]\d|2[0-3]):[0-5]\d$")


@dataclass(frozen=True, slots=True)
class RevertEdit:
    """Take one change of a file back: what it made (`after`) of what was there (`before`), or only of the lines of these facts."""

    path: FilePath
    before: str
    after: str
    only: frozenset[FactId] | None
    reverts: CommitId
    options: WriteOptions


FileEdit = EditSection | Log | Remember | Forget | RevertEdit


@dataclass(frozen=True, slots=True)
class Plan:
    """What a change comes to on a file as it stands, nothing written yet. `marks` says that it says something of standing facts.

    `first` is what has to be carried out before: the plan is one for the file as that leaves it.
    """

    path: FilePath
    full_path: Path
    before: bytes | None
    old: Document | None
    new: Document
    edited: EditResult
    added: tuple[FactId, ...]
    removed: tuple[FactId, ...]
    supersedes: tuple[Supersession, ...]
    ended: tuple[FactId, ...]
    retracts: tuple[FactId, ...] = ()
    marks: bool = False
    warnings: tuple[str, ...] = ()
    preliminary: Plan | None = None

    @property
    def after(self) -> bytes:
        """The file's bytes afterwards."""
        return self.edited.text.encode()

    @property
    def op(self) -> Op:
        """What its commit says that it did."""
        return self.edited.op if self.changes or self.retracts else Op.SUPERSEDE

    @property
    def changes(self) -> bool:
        """Whether there is anything to write."""
        return self.after != (self.before or b"")


# Where a change goes.


def target_path(workspace: Workspace, change: FileEdit) -> FilePath:
    """The file that a change goes to.

    Raises:
        PathProblem: no file of the workspace that may be written. SectionProblem: `append-only`. FactProblem: no such fact.
    """
    match change:
        case Log():
            path = layout.log_path(_day(workspace, change))
        case Forget() if change.file is None:
            path = lookup.file_of_fact(workspace, change)
        case RevertEdit():
            path = change.path
        case EditSection() | Remember() | Forget():
            path = layout.parse_path(change.file) if change.file is not None else workspace.curated
    kind = workspace.kind_of(path)
    if layout.within(path, workspace.settings.extra_paths):
        raise PathProblem("read-only-path", f"{path} lies under extra_paths, which are only read", "Open the workspace that it belongs to.")
    if folder := _other_repository(workspace, path):
        raise PathProblem("bad-path", f"{path} lies in another repository, {folder}", f"Make a workspace of it: mdmem init {folder}")
    appends = isinstance(change, Log | Forget) or (isinstance(change, EditSection) and change.action is Action.APPEND)
    if kind is FileKind.DAILY and not appends:
        raise SectionProblem(
            "append-only", f"{path} is a day's log, which only grows", "Log a new entry; --supersedes ID says which one it replaces."
        )
    return path


def _other_repository(workspace: Workspace, path: FilePath) -> str | None:
    """The folder on the way to a file that is a repository of its own."""
    folders = accumulate(path.split("/")[:-1], "{}/{}".format)
    return next((folder for folder in folders if (workspace.root / folder / ".git").exists()), None)


def _day(workspace: Workspace, change: Log) -> date:
    return workspace.now().date() if change.day is None else layout.parse_day(change.day)


def _minute(now: datetime, change: Log) -> str:
    if change.time is None:
        return now.strftime("%H:%M")
    if not _MINUTE.match(change.time):
        raise UsageProblem(f"{change.time!r} is not a time", "Write it as 14:05.")
    return change.time


# What a change comes to.


def plan_edit(workspace: Workspace, change: FileEdit, path: FilePath) -> Plan:
    """What a change makes of its file as it stands; nothing is written.

    Raises:
        MdmemError: the change cannot be made, or `check` refuses it.
    """
    place = files.path_on_disk(workspace.root, path)
    before = files.read(place)
    old = parse_bytes(before) if before is not None else None
    fact: FactId | None = None
    retracts: tuple[FactId, ...] = ()
    match change:
        case Log():
            edited, fact = _log(workspace, change, old)
        case EditSection():
            if old is None and not change.create:
                raise missing_file(workspace, path, "--create makes it.")
            edited = section.edit(old or parse(_beginning(path)), change)
        case Remember():
            if old is None and not change.create:
                raise missing_file(workspace, path, "--create makes it.")
            document = old or parse("")
            known = fact_editor.similar_items(document, change)
            over = frozenset() if fact_editor.is_unambiguous(change, known) else lookup.superseded_facts(workspace, path, document, known)
            edited, fact = fact_editor.remember(document, change, workspace.now().date(), known, over)
        case Forget():
            if old is None:
                raise missing_file(workspace, path)
            named = [lookup.FactLocation(path, old, item) for item in fact_editor.items_named(old, change.fact, change.section)]
            if workspace.kind_of(path) is FileKind.DAILY:
                edited, retracts = _retracted(*require_one_location(workspace, lookup.current_locations(workspace, named), change.fact))
            else:
                edited = fact_editor.forget(old, require_one_location(workspace, named, change.fact)[2])
        case RevertEdit():
            edited = _undone(old or parse(""), change)
    decode(edited.text.encode())
    new = parse(edited.text)
    first = _clearing(path, place, before, old, edited)
    if first is not None:
        before, old = first.after, first.new
    # Under another title the facts of a section are the same facts.
    facts = FactDifference() if edited.op is Op.RENAME else fact_difference(old, new)
    derived = () if edited.also or edited.op is Op.REVERT else facts.supersedes
    pairs = dict.fromkeys((*edited.supersedes, *derived))
    brought = fact or (facts.added[-1].fact.id if facts.added else None)
    explicit, ended = _explicit(workspace, change.options, facts.removed, brought, pairs)
    plan = Plan(
        path,
        place,
        before,
        old,
        new,
        edited,
        tuple(item.fact.id for item in facts.added),
        tuple(item.fact.id for item in facts.removed),
        tuple(dict.fromkeys((*pairs, *explicit))),
        ended,
        retracts,
        bool(explicit or ended or retracts),
        preliminary=first,
    )
    return replace(plan, warnings=_judge(workspace, change.options, plan))


def _clearing(path: FilePath, place: Path, before: bytes | None, old: Document | None, edited: EditResult) -> Plan | None:
    """What has to go out before an edit, where anything has to."""
    if edited.intermediate is None:
        return None
    cleared = EditResult(edited.intermediate.text, Op.FORGET, edited.section)
    return Plan(path, place, before, old, edited.intermediate, cleared, (), (), (), ())


def _undone(old: Document, change: RevertEdit) -> EditResult:
    """The file with the change taken back; a conflict names the file, and shows how it reads and how it would read."""
    try:
        return merge.undo(old, change.after, change.before, change.only)
    except SectionProblem as problem:
        said = problem.details
        hint = f"{problem.hint}\nNow: {_shown(said['now'])}\nThen: {_shown(said['then'])}"
        raise SectionProblem(problem.code, f"{change.path}: {problem.message}", hint, path=change.path, **said) from problem


def _shown(text: str) -> str:
    """A text of a few lines, for a hint."""
    lines = [line for line in text.splitlines() if line.strip()]
    return "\n      ".join(lines[:_SHOWN_LINES] + (["…"] if len(lines) > _SHOWN_LINES else [])) or "(nothing)"


def _beginning(path: FilePath) -> str:
    """What a new file holds before anything is put into it."""
    return task_notes.NEW_TASKS if path == task_notes.TASKS_PATH else ""


def _retracted(path: FilePath, document: Document, item: Item) -> tuple[EditResult, tuple[FactId, ...]]:
    """A line of a day's log that is to count no more: its text stays."""
    return EditResult(document.text, Op.RETRACT, document.path_at(item.start)), (item.fact.id,)


def _log(workspace: Workspace, change: Log, old: Document | None) -> tuple[EditResult, FactId]:
    day = _day(workspace, change)
    start = old or parse(daily.new_log(files.template("daily.md"), day))
    item = write_item(change.text, kind=change.kind, tags=change.tags)
    return daily.log(start, _minute(workspace.now(), change), item, change.again), parse_item(item).id


def _explicit(
    workspace: Workspace, options: WriteOptions, removed: tuple[Item, ...], brought: FactId | None, known: dict[Supersession, None]
) -> tuple[tuple[Supersession, ...], tuple[FactId, ...]]:
    """What `--supersedes` adds to what the edit itself says."""
    if options.supersedes is None:
        return (), ()
    named = items_matching(removed, options.supersedes)
    old = named[0].fact.id if named else _standing(workspace, options.supersedes, brought)
    if old is None or old == brought or any(pair.old == old for pair in known):
        return (), ()
    return ((Supersession(old, brought),), ()) if brought else ((), (old,))


def _standing(workspace: Workspace, name: str, successor: FactId | None) -> FactId | None:
    """The current fact that is to be superseded by a mark; None where it has been already, by the same successor."""
    found = locate_fact(workspace, name, tuple(FileKind))
    marks = lookup.marks_at(workspace, found)
    current = [place for place, mark in zip(found, marks, strict=True) if mark is None]
    if not current and any(mark.other == successor for mark in marks if mark):
        return None
    return require_one_location(workspace, current, name, "Say it in the section that holds the one that is meant.")[2].fact.id


def _judge(workspace: Workspace, options: WriteOptions, plan: Plan) -> tuple[str, ...]:
    """Refuse what `check` refuses; an edit of mdmem's names its section, so that it may shrink it: the codes of what it may."""
    if not plan.changes:
        return ()
    faults = check.find_errors(plan.path, plan.before, plan.after, workspace.kind_of(plan.path))
    refuse_errors([*faults, *secrets_in_options(options)], options.allow | {"shrink", "append"})
    return tuple(dict.fromkeys(problem.code for problem in faults if problem.level == "error"))


def secrets_in_options(options: WriteOptions) -> Iterator[Problem]:
    """Secrets in what goes into the commit message besides the change."""
    for name, text in (("--reason", options.reason), ("--session", options.session), ("--actor", options.actor)):
        yield from secrets_in_text(name, text or "")


def secrets_in_text(name: str, text: str) -> Iterator[Problem]:
    """Secrets in a text that goes into a commit message; `name` is the option that gave it."""
    for secret in secrets.find(text):
        message = f"what looks like a secret ({secret.kind}) stands in it"
        yield Problem(name, secret.line, "secret-found", "error", message, "Say it without; --allow secret if it is none.", secret.kind)


def refuse_errors(problems: Iterable[Problem], allow: frozenset[str]) -> None:
    """Refuse the first error that is not allowed.

    Raises:
        RefusedChange: with the code of `check`, the line, and the kind of a secret.
    """
    refused = check.refusals(problems, allow)
    if refused:
        first = refused[0]
        details = {"kind": first.kind} if first.kind else {}
        raise RefusedChange(first.code, f"{first.path}:{first.line}: {first.message}", first.hint, line=first.line, **details)


# What is answered.


def _etag(plan: Plan) -> str | None:
    """The etag of what the edit left changed: of its section, or of the text before the first heading."""
    if plan.edited.op is Op.DELETE:
        return None
    if not plan.edited.section:
        # What was taken back already was so in no section, and not in the preamble either.
        return preamble_etag(plan.new) if plan.changes or plan.edited.op is not Op.REVERT else None
    where = _section_of(plan)
    return section_etag(plan.new, where) if where else None


def _section_of(plan: Plan) -> Section | None:
    """The section that the edit left changed."""
    found = [s for s in plan.new.sections if s.path == plan.edited.section]
    if len(found) > 1 and plan.old is not None:
        first, _ = history.common_ends(plan.old.lines, plan.new.lines)
        inside = [s for s in found if s.start <= first < s.end]
        found = inside or found[-1:]
    return found[0] if found else None


def write_result(plan: Plan, commit: CommitId | None, diff: str | None = None, notes: tuple[str, ...] = ()) -> WriteResult:
    """What is answered for a plan that was carried out in `commit`, or (None) came to nothing or was only to be shown."""
    return WriteResult(
        plan.changes or plan.marks,
        plan.path,
        plan.edited.section,
        _etag(plan),
        commit,
        plan.added,
        (*plan.removed, *plan.retracts),
        plan.supersedes,
        diff,
        notes,
        plan.warnings,
        plan.op,
        plan.ended,
    )


def plan_diff(plan: Plan) -> str:
    """The change as a unified diff; empty where there is none."""
    start = plan.preliminary or plan
    if plan.after == start.before:
        return ""
    head = f"--- {f'a/{plan.path}' if start.old else '/dev/null'}\n+++ b/{plan.path}\n"
    return head + history.line_difference(start.old.text if start.old else "", plan.edited.text)
