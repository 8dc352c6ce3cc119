"""`revert`: undo one change, or those of a run."""

from __future__ import annotations

from collections.abc import Sequence

from mdmem.changes.apply import apply_edit, preview
from mdmem.changes.commit_notes import commit_note, complete_options, with_provenance
from mdmem.changes.plan import plan_edit
from mdmem.changes.recover import Transaction, lock_workspace, recover
from mdmem.changes.revert_plan import (
    HeldChange,
    RevertPlan,
    fact_groups,
    is_commit_or_fact,
    plan_revert,
    plan_reverts,
)
from mdmem.changes.verbs import RevertEdit, target_path
from mdmem.changes.verbs.revert import undone
from mdmem.folder import files
from mdmem.model import CommitId, FilePath, Op
from mdmem.model.errors import FactProblem, SectionProblem, field, number_of
from mdmem.model.writes import Revert, WriteOptions, WriteResult
from mdmem.past.messages import CommitNote
from mdmem.past.notes import parse_message, parse_notes
from mdmem.repo import commits, first_parent
from mdmem.startup.records import dataclass, replace
from mdmem.text import check
from mdmem.text.document import Document, parse, parse_bytes
from mdmem.workspace import Say, Workspace

_MOST_NAMED, _QUOTED = 8, 80


@dataclass(frozen=True, slots=True)
class _RunCommits:
    """A run's commits in HEAD, newest first; `squashed` ones include other work."""

    ids: tuple[CommitId, ...]
    squashed: tuple[CommitId, ...]


def _run_commits(workspace: Workspace, run: str) -> _RunCommits:
    repository = workspace.repository
    if repository.head() is None:
        return _RunCommits((), ())
    command = ("log", "-z", "--topo-order", "--format=%H%n%B", "--fixed-strings")
    output = repository.git(*command, f"--grep=Mdmem-Run: {run}", "HEAD").decode("utf-8", "replace")
    messages = {
        CommitId(commit): message
        for commit, _, message in (entry.partition("\n") for entry in output.split("\0"))
    }
    ids = [commit for commit, message in messages.items() if parse_message(message).run == run]
    stating = [
        commit
        for commit, message in messages.items()
        if any(each.note.run == run for each in parse_notes(message))
    ]
    return _RunCommits(tuple(ids), tuple(commit for commit in stating if commit not in ids))


def changes_of_run(workspace: Workspace, run: str) -> int:
    ids = _run_commits(workspace, run).ids
    commits = first_parent.read_commits(workspace.repository, ids) if ids else []
    notes = (parse_message(each.commit.message) for each in commits)
    return sum(max(1, len(note.promotes)) for note in notes)


def _plan_run(
    workspace: Workspace, commits: _RunCommits, change: Revert
) -> tuple[list[RevertPlan], list[HeldChange]]:
    texts: dict[FilePath, str] = {}
    plans: list[RevertPlan] = []
    held = [
        HeldChange(commit=each, path=None, what="other work was squashed with it", details={})
        for each in commits.squashed
    ]
    for plan in plan_reverts(workspace, commits.ids, change):
        held += plan.held
        edits = []
        for edit in plan.edits:
            if edit.path not in texts:
                data = files.read(files.path_on_disk(workspace.root, edit.path))
                texts[edit.path] = parse_bytes(data or b"").text
            free, blocked = _free_part(workspace, edit, parse(texts[edit.path]))
            held += blocked
            if free is None:
                continue
            text = undone(free, parse(texts[edit.path])).text
            edits += [free] if text != texts[edit.path] else []
            texts[edit.path] = text
        plan = replace(plan, edits=tuple(edits))
        plans += [plan] if plan.does_something else []
    if held and not change.skip:
        raise _conflict(change.reference, held)
    return plans, held


def _free_part(
    workspace: Workspace, edit: RevertEdit, document: Document
) -> tuple[RevertEdit | None, list[HeldChange]]:
    whole = _held_by(edit, document)
    if whole is None:
        return edit, []
    groups = [] if edit.from_log or edit.only else fact_groups(workspace, edit)
    if len(groups) < 2:
        return None, [whole]
    held = {group: _held_by(replace(edit, only=group), document) for group in groups}
    free = frozenset(fact for group, each in held.items() if each is None for fact in group)
    rest = replace(edit, only=free)
    if not free or _held_by(rest, document) is not None:
        return None, [whole]
    return rest, [each for each in held.values() if each is not None]


def _held_by(edit: RevertEdit, document: Document) -> HeldChange | None:
    try:
        undone(edit, document)
    except SectionProblem as problem:
        return HeldChange(
            commit=edit.reverts,
            path=edit.path,
            what=_first_line(problem),
            details=problem.details,
        )
    return None


def _first_line(problem: SectionProblem) -> str:
    made = str(problem.details.get("made", problem.message))
    return made.strip().partition("\n")[0] or problem.message


def _conflict(run: str, held: Sequence[HeldChange]) -> SectionProblem:
    named = "\n".join(_held_lines(held))
    details = [{"commit": each.commit, "path": each.path, **each.details} for each in held]
    hint = f"{named}\nTo keep these and undo the rest, use {field('skip')}."
    return SectionProblem(
        "revert-conflict",
        f"later edits changed what {run} did: {number_of(len(held), 'change')}",
        hint,
        conflicts=details,
    )


def _held_lines(held: Sequence[HeldChange]) -> list[str]:
    lines = [
        f"{each.path or each.commit[:10]}: {' '.join(each.what.split())[:_QUOTED]}" for each in held
    ]
    return (
        lines
        if len(lines) <= _MOST_NAMED
        else [*lines[: _MOST_NAMED - 1], f"{len(lines) - _MOST_NAMED + 1} more"]
    )


def apply(workspace: Workspace, change: Revert, say: Say) -> WriteResult:
    """Revert a change in all its files and statements, or nothing. Raises: MdmemError."""
    options = complete_options(workspace, change.options)
    change = replace(change, options=options)
    if change.may_be_run:
        run = _run_commits(workspace, change.reference)
        if run.ids or run.squashed:
            return _apply_run(workspace, change, run, say)
    plan = plan_revert(workspace, change)
    for edit in plan.edits:  # refuse impossible edits before any is written
        plan_edit(workspace, edit, target_path(workspace, edit))
    return _combine(plan, _carry_out(workspace, [plan], options, say), options.dry_run)


def _carry_out(
    workspace: Workspace, plans: Sequence[RevertPlan], options: WriteOptions, say: Say
) -> list[WriteResult]:
    """All plans in order, or nothing. A dry run only previews them."""
    if any(plan.note is not None for plan in plans):
        check.refuse_errors(check.secrets_in_options(options), options.allow)
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


def _state(
    workspace: Workspace, note: CommitNote, options: WriteOptions, transaction: Transaction
) -> WriteResult:
    steps, before = transaction.begin_write(), workspace.repository.head()
    commit = commit_note(workspace, with_provenance(workspace, note, options))
    steps.add(lambda _: commits.withdraw(workspace.repository, commit, before))
    return _note_result(note, commit)


def _note_result(note: CommitNote, commit: CommitId | None) -> WriteResult:
    return WriteResult(
        changed=True,
        path=note.path,
        section=note.section,
        etag=None,
        commit=commit,
        removed=note.retracts,
    )


def _apply_run(workspace: Workspace, change: Revert, run: _RunCommits, say: Say) -> WriteResult:
    if is_commit_or_fact(workspace, change.reference):
        message = f"{change.reference[:80]!r} is both a run and a fact or commit"
        raise FactProblem("ambiguous", message, "Name the commit by its id, or the fact by its id.")
    if not change.options.dry_run:
        with lock_workspace(workspace, say):
            # A killed revert may have changed a file; the commits tell what is left to undo.
            recover(workspace, say)
    plans, held = _plan_run(workspace, run, change)
    results = _carry_out(workspace, plans, change.options, say)
    whole = RevertPlan(
        path=FilePath(results[-1].path) if results else workspace.curated, edits=(), note=None
    )
    notices = [
        f"{change.reference}: {number_of(len(plans), 'commit')} of {len(run.ids)} undone"
        if results
        else f"nothing from {change.reference} is left to undo",
        *(f"kept: {line}" for line in _held_lines(held)),
    ]
    combined = _combine(whole, results, change.options.dry_run)
    return replace(
        combined,
        notes=tuple(
            dict.fromkeys((*(note for result in results for note in result.notes), *notices))
        ),
    )


def _combine(plan: RevertPlan, results: Sequence[WriteResult], dry_run: bool) -> WriteResult:
    if not results:
        diff = "" if dry_run else None
        return WriteResult(
            changed=False,
            path=plan.path,
            section=(),
            etag=None,
            commit=None,
            diff=diff,
            notes=plan.notices,
        )
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
        replaced=tuple(text for result in results for text in result.replaced),
        restored=tuple(text for result in results for text in result.restored),
        diff="".join(diffs) if dry_run else None,
        notes=(
            *(note for result in results for note in result.notes),
            *plan.notices,
            *(
                f"also reverted changes in {result.path}, by {(result.commit or '')[:10]}"
                for result in rest
            ),
        ),
        warnings=tuple(dict.fromkeys(warning for result in results for warning in result.warnings)),
        op=Op.REVERT,
    )
