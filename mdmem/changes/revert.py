"""Which change is to be taken back, and what that comes to."""

from __future__ import annotations

from collections.abc import Sequence

from mdmem import history
from mdmem.catchup import trail_update
from mdmem.changes.apply import apply_edit, preview
from mdmem.changes.commit_notes import commit_note, complete_options, with_provenance
from mdmem.changes.edits import RevertEdit, target_path
from mdmem.changes.plan import plan_edit
from mdmem.changes.recover import lock_workspace, recover
from mdmem.changes.refusals import refuse_errors, secrets_in_options
from mdmem.changes.transaction import Transaction
from mdmem.document import decode, parse
from mdmem.editors.fact_difference import fact_difference
from mdmem.errors import FactProblem, HistoryProblem
from mdmem.model import CommitId, FactId, FileKind, FilePath, Op, Provenance
from mdmem.model.trail import Occurrence
from mdmem.model.writes import Revert, WriteResult
from mdmem.queries import lookup
from mdmem.repo import first_parent
from mdmem.repo.first_parent import ChangedFile, CommitChanges
from mdmem.startup.records import dataclass, replace
from mdmem.trail import Trail
from mdmem.wording import verb
from mdmem.workspace import Say, Workspace


@dataclass(frozen=True, slots=True)
class RevertPlan:
    """The files whose change is taken back, what is to be said besides (None: nothing), and what the user should know.

    `path` is a file that the change is about.
    """

    path: FilePath
    files: tuple[RevertEdit, ...]
    note: history.CommitNote | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _RevertTarget:
    """The commit whose change is meant; of a fact's, only what it did to that fact in that file.

    `undone_by` has taken it back already.
    """

    commit: CommitId
    path: FilePath | None = None
    fact: FactId | None = None
    undone_by: CommitId | None = None


def apply(workspace: Workspace, change: Revert, say: Say) -> WriteResult:
    """Take one change back, file by file, and what it stated without changing a text by a commit that says so. All of it, or nothing.

    Raises:
        MdmemError: it cannot be taken back, or failed; files, git index and HEAD are as they were.
    """
    options = complete_options(workspace, change.options)
    plan = plan_revert(workspace, replace(change, options=options))
    for edit in plan.files:
        plan_edit(workspace, edit, target_path(workspace, edit))  # what cannot be done is refused before anything is
    if plan.note is not None:
        refuse_errors(secrets_in_options(options), options.allow)
    if options.dry_run:
        results = [preview(workspace, edit) for edit in plan.files]
        if plan.note is not None:
            results.append(_note_result(plan.note, None, ""))
        return combine_results(plan, results, dry_run=True)
    with lock_workspace(workspace, say), Transaction() as transaction:
        results = [apply_edit(workspace, edit, say, transaction) for edit in plan.files]
        if plan.note is not None:
            recover(workspace, say)
            commit = commit_note(workspace, with_provenance(workspace, plan.note, options))
            results.append(_note_result(plan.note, commit))
    return combine_results(plan, results, dry_run=False)


def _note_result(note: history.CommitNote, commit: CommitId | None, diff: str | None = None) -> WriteResult:
    """The answer for a note that changes no text."""
    return WriteResult(
        changed=True, path=note.path, section=note.section, etag=None, commit=commit, removed=note.retracts, diff=diff, op=note.op
    )


def plan_revert(workspace: Workspace, change: Revert) -> RevertPlan:
    """What taking a change back comes to; nothing is written.

    Raises:
        FactProblem: `fact-not-found`, `ambiguous`: a word that is a fact and a commit.
        HistoryProblem: `commit-not-found`; `cannot-revert`: a merge, or a commit that changed no Markdown.
    """
    with trail_update.fresh_trail(workspace) as known:
        target = _target(workspace, known, change.what)
        (commit,) = first_parent.read_commits(workspace.repository, [target.commit])
        _require_revertible(workspace, commit)
        # Where memory was changed, what was done to other Markdown along with it is another matter.
        meant = [one for one in commit.changes if workspace.kind_of(one.path).is_memory] or commit.changes
        names = {one.path: first_parent.current_name(workspace.repository, one.path, target.commit) for one in meant}
        changes = [one for one in meant if target.path in (None, one.before_path, one.path, names[one.path])]
        if target.undone_by is not None:
            return _undone(target.path or workspace.curated, target.commit, target.undone_by)
        files: list[RevertEdit] = []
        retracts: list[FactId] = []
        notes: list[str] = []
        for changed in changes:
            now, (before, after) = names[changed.path], _texts(workspace, changed)
            only = _with_partners(commit, before, after, target.fact) if target.fact else None
            if workspace.kind_of(now) is FileKind.DAILY:
                retracts += _added(known, now, before, after, only)
                continue
            if changed.before_path != changed.path:
                notes.append(f"{changed.before_path} was renamed to {changed.path}, and keeps that name (git mv renames it)")
            if before != after:
                files.append(RevertEdit(now, before, after, only, target.commit, change.options))
        said = history.parse_message(commit.commit.message)
        path = names[changes[0].path] if changes else said.path or workspace.curated
        note = _note(commit, said, path, changes, retracts, known)
        undone_by = _last_revert(known, target.commit) if not files and note is None else None
    if undone_by is not None:
        return _undone(path, target.commit, undone_by)
    if not files and note is None:
        hint = f"{notes[0]}." if notes else ""
        raise HistoryProblem("cannot-revert", f"{target.commit[:10]} did nothing to memory that still stands", hint)
    return RevertPlan(path, tuple(files), note, tuple(notes))


def _undone(path: FilePath, commit: CommitId, by: CommitId) -> RevertPlan:
    said = f"{commit[:10]} was taken back already, by {by[:10]}; to have it again, revert that one"
    return RevertPlan(path, (), None, (said,))


def _last_revert(known: Trail, commit: CommitId) -> CommitId | None:
    """The last commit that took a commit back."""
    landmark = known.commit_with_id(commit)
    later = known.commits_after(landmark.number if landmark else 0)
    return next((one.commit for one in reversed(later) if commit in history.parse_message(one.message).reverts), None)


def _with_partners(commit: CommitChanges, before: str, after: str, fact: FactId) -> frozenset[FactId]:
    """A fact and those that took its place or gave theirs to it with a commit."""
    pairs = [(pair.old, pair.new) for pair in fact_difference(parse(before), parse(after)).supersedes]
    pairs += [(old, new) for old, new in history.parse_message(commit.commit.message).supersedes if new is not None]
    found = {fact}
    while more := {each for pair in pairs if found.intersection(pair) for each in pair} - found:
        found |= more
    return frozenset(found)


def _require_revertible(workspace: Workspace, commit: CommitChanges) -> None:
    repository, name = workspace.repository, commit.commit.id
    if len(commit.parents) > 1:
        raise HistoryProblem("cannot-revert", f"{name[:10]} is a merge", "Name one of the commits that it brought.")
    if not repository.is_ancestor(name):
        raise HistoryProblem("commit-not-found", f"{name[:10]} is not in the history of HEAD", f"{verb('history')} lists what is.")
    if name in repository.shallow_commits():
        hint = "git fetch --unshallow brings the rest."
        raise HistoryProblem("cannot-revert", f"this clone is shallow and begins with {name[:10]}: what it changed cannot be told", hint)


def _texts(workspace: Workspace, changed: ChangedFile) -> tuple[str, str]:
    found = workspace.repository.contents([blob for blob in (changed.before, changed.after) if blob])
    before, after = (decode(found[blob]) if blob else "" for blob in (changed.before, changed.after))
    return before, after


def _added(known: Trail, path: FilePath, before: str, after: str, only: frozenset[FactId] | None) -> list[FactId]:
    """The entries of a day's log that a commit brought in and that still count."""
    brought = [item.fact for item in fact_difference(parse(before), parse(after)).added]
    standing = {one.entry.fact for one in known.live_occurrences(path) if not known.marks_of(one.number)}
    return [fact.id for fact in brought if fact.id in standing and (only is None or fact.id in only)]


def _note(
    commit: CommitChanges,
    said: history.ParsedNote,
    path: FilePath,
    changes: Sequence[ChangedFile],
    retracts: Sequence[FactId],
    known: Trail,
) -> history.CommitNote | None:
    """What is to be said besides: entries of a log count no more, and what the commit said of standing facts holds no more."""
    landmark = known.commit_with_id(commit.commit.id)
    marks = [mark for mark in (*known.marks(), *known.pair_marks()) if landmark and mark.begun == landmark.number]
    alone = bool(marks) and not changes
    if not retracts and not alone:
        return None
    section = tuple(said.section.split(" > ")) if said.section else ()
    return history.CommitNote(Op.REVERT, path, section, Provenance(), retracts=tuple(retracts), reverts=(commit.commit.id,))


def _target(workspace: Workspace, known: Trail, word: str) -> _RevertTarget:
    """A word as exact text of a fact, as an id of one, as a commit."""
    if (fact := lookup.fact_by_text(known, word)) is not None:
        return _last_change(known, known.occurrences_of(fact))
    commit = workspace.repository.commit_named(word)
    fact = lookup.fact_by_id(known, word)
    if fact is not None and commit is not None:
        hint = "Give more digits of the commit, or the fact's text."
        raise FactProblem("ambiguous", f"{word!r} is a fact and a commit", hint, facts=[fact])
    if fact is not None:
        return _last_change(known, known.occurrences_of(fact))
    if commit is None:
        hint = lookup.similar_facts_hint(known, word) or f"{verb('history')} lists commits, {verb('facts', 'everything')} lists facts."
        raise HistoryProblem("commit-not-found", f"there is no fact and no commit {word[:80]!r}", hint)
    return _RevertTarget(commit)


def _last_change(known: Trail, found: Sequence[Occurrence]) -> _RevertTarget:
    """What last happened to a fact: it came, it went, or something was said of it. A revert of that is no change of its own."""
    last = found[-1]
    path, fact = last.entry.path, last.entry.fact
    marks = known.marks_of(last.number)
    if last.ended is not None and (landmark := known.commit_numbered(last.ended)):
        target = _RevertTarget(landmark.commit, path, fact)
    elif marks and (landmark := known.commit_numbered(marks[-1].begun)):
        target = _RevertTarget(landmark.commit)
    else:
        target = _RevertTarget(last.origin.commit, path, fact)
    landmark = known.commit_with_id(target.commit)
    said = history.parse_message(landmark.message) if landmark else None
    if said and said.op is Op.REVERT and said.reverts:
        return _RevertTarget(said.reverts[0], path, fact, target.commit)
    return target


def combine_results(plan: RevertPlan, results: Sequence[WriteResult], dry_run: bool) -> WriteResult:
    """The results of several files as one: the last that changed, with what all of them did; notes name the others' commits."""
    nothing = WriteResult(False, plan.path, (), None, None, diff="" if dry_run else None)
    last = next((result for result in reversed(results) if result.changed), results[0] if results else nothing)
    diffs = [result.diff for result in results if result.diff is not None]
    others = [result for result in results if result is not last and result.commit]
    beside = (f"reverted in {one.path} too, by {(one.commit or '')[:10]}" for one in others)
    return WriteResult(
        any(result.changed for result in results),
        last.path,
        last.section,
        last.etag,
        last.commit,
        tuple(fact for result in results for fact in result.added),
        tuple(fact for result in results for fact in result.removed),
        tuple(pair for result in results for pair in result.supersedes),
        "".join(diffs) if diffs else last.diff,
        (*(note for result in results for note in result.notes), *plan.notes, *beside),
        tuple(warning for result in results for warning in result.warnings),
        Op.REVERT,
    )
