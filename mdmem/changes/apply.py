"""Carry out a change of one file: lock, recovery, plan, write, commit; or nothing at all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

from mdmem.changes import repeats
from mdmem.changes.commit_notes import commit_note, complete_options, with_pipeline, with_provenance
from mdmem.changes.file_write import Plan, WrittenChange, write_plan
from mdmem.changes.plan import plan_edit
from mdmem.changes.recover import Transaction, lock_workspace, recover
from mdmem.changes.verbs import FileEdit, target_path, verb_of
from mdmem.folder import files
from mdmem.lookup import lookup
from mdmem.lookup.lookup import FactLocation
from mdmem.model import CommitId, FactId, FileKind, FilePath, Op, Provenance
from mdmem.model.errors import MdmemError, RepositoryProblem
from mdmem.model.trail import Entry
from mdmem.model.writes import DigestDay, Forget, LikeFact, Log, Remember, WriteOptions, WriteResult
from mdmem.past.differences import line_difference
from mdmem.past.messages import CommitNote, compose_message
from mdmem.startup.records import replace
from mdmem.text.document import (
    Document,
    Section,
    common_ends,
    join_path,
    preamble_etag,
    section_etag,
    split_lines,
)
from mdmem.text.facts import may_have_copies
from mdmem.workspace import Say, Workspace

_TRIES, _OVERTAKEN_TRIES = 50, 5
_MOST_LIKE = 3

FindSimilar: TypeAlias = "Callable[[Workspace, CommitId, str], tuple[Sequence[Entry], bool]]"
"""The entries up to a commit that a text resembles, and whether it says that something ended.

Handed in by callers who show the answer (`queries/correctable`): a write needs no index.
"""


def write_result(
    plan: Plan, commit: CommitId | None, diff: str | None = None, notes: tuple[str, ...] = ()
) -> WriteResult:
    """The answer for a plan; `commit` is None where nothing changed or in a dry run."""
    return WriteResult(
        changed=plan.changes or plan.marks,
        path=plan.path,
        section=plan.edit.section,
        etag=_etag(plan),
        commit=commit,
        added=plan.added,
        removed=tuple(fact for each in plan.files for fact in (*each.removed, *each.retracts)),
        supersedes=plan.supersedes,
        diff=diff,
        notes=(*notes, *plan.notes),
        warnings=tuple(dict.fromkeys(code for each in plan.files for code in each.warnings)),
        op=plan.op if plan.changes or plan.marks else plan.edit.op,
        ended=plan.ended,
        contradicts=plan.edit.contradicts,
        kept=plan.edit.kept,
        forgotten=plan.forgotten,
        also=plan.also,
        fact=plan.fact,
        replaced=plan.replaced,
        marked=plan.marked,
        restored=plan.restored,
    )


def plan_diff(plan: Plan) -> str:
    """The change as a unified diff; empty where there is none."""
    return "".join(_file_diff(each) for each in plan.files)


def _file_diff(plan: Plan) -> str:
    if not plan.changes:
        return ""
    head = f"--- {f'a/{plan.path}' if plan.old else '/dev/null'}\n+++ b/{plan.path}\n"
    return head + line_difference(plan.old.text if plan.old else "", plan.edit.text)


def _etag(plan: Plan) -> str | None:
    if plan.edit.op is Op.DELETE:
        return None
    if not plan.edit.section:
        # A revert of a change already reverted concerns no section, not even the preamble.
        return preamble_etag(plan.new) if plan.changes or plan.edit.op is not Op.REVERT else None
    section = _changed_section(plan)
    return section_etag(plan.new, section) if section else None


def _changed_section(plan: Plan) -> Section | None:
    sections = [section for section in plan.new.sections if section.path == plan.edit.section]
    if len(sections) > 1 and plan.old is not None:
        first, _ = common_ends(plan.old.lines, plan.new.lines)
        around = [section for section in sections if section.start <= first < section.end]
        sections = around or sections[-1:]
    return sections[0] if sections else None


def apply(
    workspace: Workspace, change: FileEdit, say: Say, find_similar: FindSimilar | None = None
) -> WriteResult:
    """All or nothing; a repeat of the last change does nothing. Raises: MdmemError."""
    verb = verb_of(change)
    dated = verb.with_iso_day(workspace, change)
    edit = verb.with_entry(workspace, dated)
    try:
        edits: list[FileEdit] = [edit]
        curated: list[FactLocation] = []
        logged: list[FactLocation] = []
        if isinstance(edit, Forget) and edit.everywhere:
            edits, curated, logged = _every_line(workspace, edit)
        results = apply_all(workspace, edits, edit.options, say, find_similar)
        result = results[0] if len(results) == 1 else _joined_answer(results, curated, logged)
    except MdmemError as problem:
        complete = replace(edit, options=complete_options(workspace, edit.options))
        if (repeat := repeats.find_repeat(workspace, complete, problem)) is None:
            raise
        result = repeat
    if dated is change:
        return result
    return replace(
        result,
        day=(
            edit.day
            if isinstance(edit, Log)
            else edit.until
            if isinstance(edit, Remember)
            else None
        ),
    )


def _every_line(
    workspace: Workspace, edit: Forget
) -> tuple[list[FileEdit], list[FactLocation], list[FactLocation]]:
    """Edits, or the edit itself where no file has the fact, and the lines in curated files and in
    logs. Of logs only those of a few words: of others, one mark is for all copies.

    Raises: WorkspaceProblem (`not-allowed`).
    """
    workspace.require_person(workspace.given_actor(edit.options.actor), "forget every line at once")
    curated, logged = (
        [
            each
            for each in lookup.locations_to_forget(workspace, edit, kinds)
            if edit.file in (None, each.path)
        ]
        for kinds in (lookup.EDITABLE, (FileKind.DAILY,))
    )
    logged = lookup.current_locations(
        workspace,
        [each for each in logged if not may_have_copies(each.item.fact.text, each.item.fact.key)],
    )
    edits: list[FileEdit] = [
        replace(edit, fact=each.item.fact.id, file=each.path) for each in logged
    ]
    for each in curated:
        section = each.document.path_at(each.item.start)
        edits.append(
            replace(
                edit,
                fact=each.item.fact.id,
                file=each.path,
                section=join_path(section) if section else None,
            )
        )
    return edits or [edit], curated, logged


def _joined_answer(
    results: Sequence[WriteResult], curated: Sequence[FactLocation], logged: Sequence[FactLocation]
) -> WriteResult:
    """The answer for several lines, with their places before the first of them went."""
    gone, kept = (
        [f"{each.path}:{each.item.start + 1}" for each in lines] for lines in (curated, logged)
    )
    marked = dict.fromkeys((*kept, *(place for each in results for place in each.marked)))
    return replace(
        results[-1],
        forgotten=(*gone, *(place for place in marked if place not in gone)),
        marked=tuple(marked) if gone else (),
        removed=tuple(fact for each in results for fact in each.removed),
    )


def apply_all(
    workspace: Workspace,
    changes: Sequence[FileEdit],
    options: WriteOptions,
    say: Say,
    find_similar: FindSimilar | None = None,
) -> list[WriteResult]:
    """Carry out several changes, one commit each, or nothing at all. Raises: MdmemError."""
    own_work = all(isinstance(change, DigestDay) for change in changes)
    options = complete_options(workspace, options, own_work)
    edits = [replace(change, options=options) for change in changes]
    if options.dry_run:
        return [preview(workspace, edit, find_similar) for edit in edits]
    with lock_workspace(workspace, say), Transaction() as transaction:
        return [apply_edit(workspace, edit, say, transaction, find_similar) for edit in edits]


def preview(
    workspace: Workspace, edit: FileEdit, find_similar: FindSimilar | None = None
) -> WriteResult:
    plan, like = (
        plan_edit(workspace, edit, target_path(workspace, edit)),
        _like_search(workspace, edit, find_similar),
    )
    result = write_result(plan, None, diff=plan_diff(plan))
    if like is None or not plan.changes:
        return result
    like.search()
    return _with_likes(result, plan, like)


def apply_edit(
    workspace: Workspace,
    edit: FileEdit,
    say: Say,
    transaction: Transaction,
    find_similar: FindSimilar | None = None,
) -> WriteResult:
    """The caller holds the lock, and `transaction` undoes it on failure. Raises: MdmemError."""
    recover(workspace, say)
    path, overtaken = target_path(workspace, edit), 0
    owner = (
        f"as claimed by {edit.options.actor}"
        if workspace.is_agent(edit.options.actor)
        else "as yours"
    )
    notes: tuple[str, ...] = ()
    like = _like_search(workspace, edit, find_similar)
    for _ in range(_TRIES):
        plan = _plan(workspace, edit, path)
        if not plan.changes and not plan.marks:
            return write_result(plan, None)
        to_write = (
            plan if plan.changes or not plan.companion else _only_companion(plan, plan.companion)
        )
        note = change_note(workspace, to_write, edit)
        if not to_write.changes:
            return write_result(plan, commit_note(workspace, note))
        result = write_plan(
            workspace,
            to_write,
            compose_message(
                note,
                *((each.old.text if each.old else "", each.edit.text) for each in to_write.files),
            ),
            edit.options.allow,
            transaction.begin_write(),
            like.search if like else None,
        )
        if isinstance(result, WrittenChange):
            notes += result.notes
            notes += tuple(
                f"committed the pending edits of {pending} first, {owner}"
                for pending in result.pending
            )
            notes += tuple(
                f"committed what was saved to {saved} meanwhile, as yours" for saved in result.saved
            )
            return _with_likes(write_result(plan, result.commit, notes=notes), plan, like)
        notes += (result.note,) if result.note else ()
        if result.overtaken:
            overtaken += 1
            if overtaken == _OVERTAKEN_TRIES:
                raise result.problem or RepositoryProblem(
                    "commit-failed",
                    f"git committed something other than what was written to {path}",
                    "A hook removes the change, or another program keeps saving the file.",
                )
    raise RepositoryProblem(
        "busy", f"another program keeps saving {path}", "Close it there and try again."
    )


def _plan(workspace: Workspace, edit: FileEdit, path: FilePath) -> Plan:
    try:
        return plan_edit(workspace, edit, path)
    except MdmemError:
        # If an unfinished merge prevents the edit, that is reported instead.
        workspace.require_ready()
        raise


def _like_search(
    workspace: Workspace, edit: FileEdit, find_similar: FindSimilar | None
) -> LikeSearch | None:
    """None where `supersedes` already names what is replaced, or where nobody reads the answer."""
    if find_similar is None or edit.options.supersedes is not None:
        return None
    match edit:
        case Log(more=()) | Remember(key=None, entry=None):
            return LikeSearch(workspace, edit.text, find_similar)
    return None


def _with_likes(result: WriteResult, plan: Plan, like: LikeSearch | None) -> WriteResult:
    if like is None or result.supersedes:
        return result
    facts = like.facts(plan.path, plan.new, {*result.added, *result.removed, *result.contradicts})
    ends = bool(facts) and like.ends_something
    return replace(result, like=facts, ends=ends, text=like.text if facts else "")


def _only_companion(plan: Plan, companion: Plan) -> Plan:
    """The companion's plan, with the whole change's statements; the first file is unchanged."""
    edit = replace(companion.edit, confirms=plan.edit.confirms)
    return replace(
        companion, edit=edit, supersedes=plan.supersedes, ended=plan.ended, marks=plan.marks
    )


def change_note(workspace: Workspace, plan: Plan, edit: FileEdit) -> CommitNote:
    note = CommitNote(
        op=plan.op,
        path=plan.path,
        section=plan.edit.section,
        provenance=Provenance(),
        supersedes=plan.supersedes,
        ended=plan.ended,
        also=plan.edit.also,
        confirms=plan.edit.confirms,
        retracts=plan.retracts,
        more_sections=plan.edit.more_sections,
    )
    note = verb_of(edit).complete_note(
        with_provenance(workspace, note, edit.options), edit, plan.added
    )
    return (
        with_pipeline(note, edit.options.pipeline, plan.added or plan.removed)
        if edit.options.pipeline
        else note
    )


# Similar facts, so that the author of a new one can say what it replaces.


class LikeSearch:
    """The search for similar facts; only the first call of `search` does anything."""

    def __init__(self, workspace: Workspace, text: str, find_similar: FindSimilar) -> None:
        self._workspace = workspace
        self.text = text
        self._find_similar = find_similar
        self._commit = workspace.repository.head()
        self._found: Sequence[Entry] | None = None
        self._says_end = False

    @property
    def ends_something(self) -> bool:
        """True if facts are resembled, and the text says that something ended."""
        return bool(self._found) and self._says_end

    def search(self) -> None:
        """Search the index, and what has been committed since it was brought up to date."""
        if self._found is not None:
            return
        self._found = ()
        if self._commit is None:
            return
        try:
            self._found, self._says_end = self._find_similar(
                self._workspace, self._commit, self.text
            )
        except (MdmemError, OSError):
            return  # the catch-up after the write repairs a damaged index

    def facts(
        self, path: FilePath, document: Document, besides: Collection[FactId]
    ) -> tuple[LikeFact, ...]:
        """The similar facts as they are now, except some; `document` is `path` after the write."""
        like: dict[FactId, LikeFact] = {}
        for entry in self._found or ():
            if entry.fact is None or entry.fact in {*besides, *like} or len(like) == _MOST_LIKE:
                continue
            line = self._line_now(entry, document.lines if entry.path == path else None)
            if line is not None:
                like[entry.fact] = LikeFact(
                    fact=entry.fact,
                    text=entry.text,
                    path=entry.path,
                    line=line,
                    in_log=self._workspace.kind_of(entry.path) is FileKind.DAILY,
                    in_note=entry.path != path and self._workspace.is_note(entry.path),
                )
        return tuple(like.values())

    def _line_now(self, entry: Entry, lines: Sequence[str] | None) -> int | None:
        if lines is None:
            try:
                data = files.read(files.path_on_disk(self._workspace.root, entry.path))
            except MdmemError:
                return None
            lines = split_lines((data or b"").decode("utf-8", "replace"))
        at = entry.start_line - 1
        if at < len(lines) and lines[at].strip() == entry.first_line:
            return entry.start_line
        same = [number for number, line in enumerate(lines, 1) if line.strip() == entry.first_line]
        return min(same, key=lambda number: abs(number - entry.start_line), default=None)
