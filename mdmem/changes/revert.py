"""`revert`: take one change back, or those of a run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from mdmem import history
from mdmem.changes import revert_run
from mdmem.changes.apply import apply_edit, preview
from mdmem.changes.commit_notes import commit_note, complete_options, with_provenance
from mdmem.changes.plan import plan_edit
from mdmem.changes.recover import lock_workspace, recover
from mdmem.changes.refusals import refuse_errors, secrets_in_options
from mdmem.changes.revert_plan import RevertPlan, is_commit_or_fact, plan_revert
from mdmem.changes.transaction import Transaction
from mdmem.errors import FactProblem
from mdmem.model import CommitId, FilePath, Op
from mdmem.model.writes import Revert, WriteOptions, WriteResult
from mdmem.repo import commits
from mdmem.startup.records import replace
from mdmem.verbs import target_path
from mdmem.wording import number_of
from mdmem.workspace import Say, Workspace

if TYPE_CHECKING:
    from mdmem.changes.revert_run import RunCommits


def apply(workspace: Workspace, change: Revert, say: Say) -> WriteResult:
    """Take one change back, file by file, and what it stated without changing a text by a commit that says so. All of it, or nothing.

    Raises:
        MdmemError: it cannot be taken back, or failed; files, git index and HEAD are as they were.
    """
    options = complete_options(workspace, change.options)
    change = replace(change, options=options)
    if change.may_be_run:
        run = revert_run.run_commits(workspace, change.reference)
        if run.ids or run.squashed:
            return _apply_run(workspace, change, run, say)
    plan = plan_revert(workspace, change)
    for edit in plan.edits:
        plan_edit(workspace, edit, target_path(workspace, edit))  # what cannot be done is refused before anything is
    results = _carry_out(workspace, [plan], options, say)
    return _combine(plan, results, options.dry_run)


def _carry_out(workspace: Workspace, plans: Sequence[RevertPlan], options: WriteOptions, say: Say) -> list[WriteResult]:
    """Carry out plans in their order, or (a dry run) say what would come of each. All of them, or nothing."""
    if any(plan.note is not None for plan in plans):
        refuse_errors(secrets_in_options(options), options.allow)
    if options.dry_run:
        return [result for plan in plans for result in _previews(workspace, plan)]
    results: list[WriteResult] = []
    with lock_workspace(workspace, say), Transaction() as transaction:
        for plan in plans:
            results += [apply_edit(workspace, edit, say, transaction) for edit in plan.edits]
            if plan.note is not None:
                recover(workspace, say)
                results.append(_state(workspace, plan.note, options, transaction))
    return results


def _previews(workspace: Workspace, plan: RevertPlan) -> list[WriteResult]:
    previews = [preview(workspace, edit) for edit in plan.edits]
    return previews if plan.note is None else [*previews, _note_result(plan.note, None)]


def _state(workspace: Workspace, note: history.CommitNote, options: WriteOptions, transaction: Transaction) -> WriteResult:
    """Commit a note, as part of a transaction."""
    steps, before = transaction.begin_write(), workspace.repository.head()
    commit = commit_note(workspace, with_provenance(workspace, note, options))
    steps.add(partial(_withdraw, workspace, commit, before))
    return _note_result(note, commit)


def _withdraw(workspace: Workspace, commit: CommitId, before: CommitId | None, _: BaseException) -> bool:
    return commits.withdraw(workspace.repository, commit, before)


def _note_result(note: history.CommitNote, commit: CommitId | None) -> WriteResult:
    """The answer for a note that changes no text."""
    return WriteResult(changed=True, path=note.path, section=note.section, etag=None, commit=commit, removed=note.retracts)


def _apply_run(workspace: Workspace, change: Revert, run: RunCommits, say: Say) -> WriteResult:
    """Take back what the commits of a run did, as far as it still stands.

    Raises:
        FactProblem: `ambiguous`: its name is a fact's or a commit's too.
    """
    if is_commit_or_fact(workspace, change.reference):
        message = f"{change.reference[:80]!r} is both a run and a fact or commit"
        raise FactProblem("ambiguous", message, "Name the commit by its id, or the fact by its id.")
    if not change.options.dry_run:
        with lock_workspace(workspace, say):
            recover(workspace, say)  # a revert that was killed may have put a file in place: what is left is told by the commits
    plan = revert_run.plan_run(workspace, run, change)
    results = _carry_out(workspace, plan.plans, change.options, say)
    whole = RevertPlan(path=FilePath(results[-1].path) if results else workspace.curated, edits=(), note=None)
    notices = [] if results else [f"nothing from {change.reference} is left to undo"]
    if results:
        notices.append(f"{change.reference}: {number_of(len(plan.plans), 'commit')} of {len(run.ids)} undone")
    notices += [f"kept: {line}" for line in revert_run.held_lines(plan.held)]
    combined = _combine(whole, results, change.options.dry_run)
    return replace(combined, notes=tuple(dict.fromkeys((*(note for result in results for note in result.notes), *notices))))


def _combine(plan: RevertPlan, results: Sequence[WriteResult], dry_run: bool) -> WriteResult:
    """Join the results of several files: the last that changed, with what all of them did; notes name the other commits."""
    if not results:
        diff = "" if dry_run else None
        return WriteResult(changed=False, path=plan.path, section=(), etag=None, commit=None, diff=diff, notes=plan.notices)
    last = next((result for result in reversed(results) if result.changed), results[0])
    diffs = [result.diff for result in results if result.diff is not None]
    rest = [result for result in results if result is not last and result.commit]
    return WriteResult(
        changed=any(result.changed for result in results),
        path=last.path,
        section=last.section,
        etag=last.etag,
        commit=last.commit,
        added=tuple(fact for result in results for fact in result.added),
        removed=tuple(fact for result in results for fact in result.removed),
        diff="".join(diffs) if dry_run else None,
        notes=(
            *(note for result in results for note in result.notes),
            *plan.notices,
            *(f"reverted in {result.path} too, by {(result.commit or '')[:10]}" for result in rest),
        ),
        warnings=tuple(dict.fromkeys(warning for result in results for warning in result.warnings)),
        op=Op.REVERT,
    )
