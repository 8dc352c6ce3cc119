"""`revert`: find one change, or those of a run, plan how to undo them, and do it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mdmem.changes.apply import apply_edit, preview
from mdmem.changes.commit_notes import commit_note, complete_options, with_provenance
from mdmem.changes.plan import plan_edit
from mdmem.changes.recover import Transaction, lock_workspace, recover
from mdmem.changes.verbs import RevertEdit, target_path
from mdmem.changes.verbs.revert import undone
from mdmem.editors.fact_difference import FactDifference, fact_difference, successors
from mdmem.folder import files
from mdmem.lookup import lookup
from mdmem.model import CommitId, FactId, FileKind, FilePath, Op, Provenance
from mdmem.model.errors import FactProblem, HistoryProblem, SectionProblem, field, number_of, verb
from mdmem.model.trail import Fate, Occurrence, TrailCommit
from mdmem.model.writes import Revert, WriteOptions, WriteResult, is_run
from mdmem.past import fresh_trail
from mdmem.past.copies import taken_back
from mdmem.past.messages import CommitNote, ParsedNote
from mdmem.past.notes import parse_message, parse_notes
from mdmem.past.table import Trail
from mdmem.repo import commits, first_parent
from mdmem.repo.first_parent import ChangedFile, CommitChanges
from mdmem.startup.records import dataclass, replace
from mdmem.text import check
from mdmem.text.document import Document, decode, parse, parse_bytes
from mdmem.text.fact_names import require_one_sort
from mdmem.text.facts import line_id, nested_items, own_fact
from mdmem.workspace import Say, Workspace

_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class _HeldChange:
    """A change blocked by later edits, with details for programs. `path` None: a whole commit."""

    commit: CommitId
    path: FilePath | None
    what: str
    details: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _RevertPlan:
    """`note` has statements to commit besides. `path` is one of the change's files."""

    path: FilePath
    edits: tuple[RevertEdit, ...]
    note: CommitNote | None
    notices: tuple[str, ...] = ()
    held: tuple[_HeldChange, ...] = ()

    @property
    def does_something(self) -> bool:
        return bool(self.edits) or self.note is not None


@dataclass(frozen=True, slots=True)
class _RevertTarget:
    """The commit to revert; with `fact`, only what it did to that fact in the file `path`.

    `of_run`: the run's commits, if any: what others stated again stays, and what a commit of the
    run supersedes is not restored.
    """

    commit: CommitId
    path: FilePath | None = None
    fact: FactId | None = None
    reverted_by: CommitId | None = None
    of_run: frozenset[CommitId] = frozenset()


@dataclass(frozen=True, slots=True)
class _FileReverts:
    """Edits that revert files, and lines to retract from append-only daily logs."""

    edits: tuple[RevertEdit, ...]
    retracts: tuple[FactId, ...]
    notices: tuple[str, ...]
    held: tuple[_HeldChange, ...] = ()


def plan_revert(workspace: Workspace, change: Revert) -> _RevertPlan:
    """Raises: FactProblem (`fact-not-found`, `fact-ambiguous`, `ambiguous`), HistoryProblem
    (`commit-not-found`; `cannot-revert`: a merge, or no Markdown).
    """
    with fresh_trail(workspace) as trail:
        target = _find_target(workspace, trail, change)
        if target.reverted_by is not None:
            return _reverted_already(
                target.path or workspace.curated, target.commit, target.reverted_by
            )
        (commit,) = first_parent.read_commits(workspace.repository, [target.commit])
        plan = _plan_commit(workspace, trail, commit, target, change)
        reverted_by = None if plan.does_something else _last_revert(trail, target.commit)
    if reverted_by is not None:
        return _reverted_already(plan.path, target.commit, reverted_by)
    if not plan.does_something:
        hint = f"{plan.notices[0]}." if plan.notices else ""
        raise HistoryProblem(
            "cannot-revert", f"{target.commit[:10]} has no effect on memory left to undo", hint
        )
    return plan


def _plan_reverts(
    workspace: Workspace, ids: Sequence[CommitId], change: Revert
) -> list[_RevertPlan]:
    """Leave out commits without a current effect. Raises: HistoryProblem (`cannot-revert`)."""
    with fresh_trail(workspace) as trail:
        commits = first_parent.read_commits(workspace.repository, ids)
        plans = [
            _plan_commit(
                workspace,
                trail,
                commit,
                _RevertTarget(commit=commit.commit.id, of_run=frozenset(ids)),
                change,
            )
            for commit in commits
        ]
    return [plan for plan in plans if plan.does_something or plan.held]


def _is_commit_or_fact(workspace: Workspace, reference: str) -> bool:
    with fresh_trail(workspace) as trail:
        return (
            workspace.repository.commit_named(reference) is not None
            or lookup.fact_by_text(trail, reference) is not None
        )


def _plan_commit(
    workspace: Workspace, trail: Trail, commit: CommitChanges, target: _RevertTarget, change: Revert
) -> _RevertPlan:
    _require_revertible(workspace, trail, commit, target.fact)
    # If the commit changed memory, its changes to other Markdown stay.
    changed_files = [
        each for each in commit.changes if workspace.kind_of(each.path).is_memory
    ] or commit.changes
    names = {
        each.path: first_parent.current_name(workspace.repository, each.path, target.commit)
        for each in changed_files
    }
    changed_files = [
        each
        for each in changed_files
        if target.path in (None, each.before_path, each.path, names[each.path])
    ]
    reverts = _revert_files(
        workspace,
        trail,
        commit,
        [(each, names[each.path]) for each in changed_files],
        target,
        change,
    )
    parsed = parse_message(commit.commit.message)
    path = names[changed_files[0].path] if changed_files else parsed.path or workspace.curated
    note = _note(commit, parsed, path, changed_files, reverts.retracts, trail)
    return _RevertPlan(
        path=path, edits=reverts.edits, note=note, notices=reverts.notices, held=reverts.held
    )


def _revert_files(
    workspace: Workspace,
    trail: Trail,
    commit: CommitChanges,
    files: Sequence[tuple[ChangedFile, FilePath]],
    target: _RevertTarget,
    change: Revert,
) -> _FileReverts:
    fact = target.fact
    edits: list[RevertEdit] = []
    retracts: list[FactId] = []
    notices: list[str] = []
    held: list[_HeldChange] = []
    for changed, path in files:
        before, after = _texts(workspace, changed)
        difference = _difference(workspace, path, before, after)
        only = _with_partners(commit, difference, fact) if fact else None
        if workspace.kind_of(path) is FileKind.DAILY:
            stated_again = _stated_again(trail, path) if target.of_run else frozenset[FactId]()
            if not change.take_out:
                added_here = _live_additions(trail, path, difference, only, target.of_run)
                retracts += [each for each in added_here if each not in stated_again]
                continue
            added = [item.fact for item in difference.added if item.fact.id not in stated_again]
            left = [fact for fact in added if not _is_removed(trail, path, fact.id)]
            live = {each.entry.fact for each in trail.live_occurrences(path)}
            held += [
                _HeldChange(
                    commit=commit.commit.id, path=path, what=fact.text, details={"fact": fact.id}
                )
                for fact in left
                if fact.id not in live
            ]
            only = frozenset(fact.id for fact in left if fact.id in live)
            if not only:
                continue
        if changed.before_path != changed.path:
            notices.append(
                f"{changed.before_path} was renamed to {changed.path} and keeps that name (to"
                " rename it: git mv)"
            )
        if before != after:
            edit = RevertEdit(
                path=path,
                before=before,
                after=after,
                only=only,
                reverts=commit.commit.id,
                options=change.options,
                from_log=workspace.kind_of(path) is FileKind.DAILY,
            )
            edits.append(edit)
    return _FileReverts(
        edits=tuple(edits), retracts=tuple(retracts), notices=tuple(notices), held=tuple(held)
    )


def _stated_again(trail: Trail, path: FilePath) -> frozenset[FactId]:
    return frozenset(
        each.entry.fact
        for each in trail.live_occurrences(path)
        if each.entry.fact is not None and not each.origin.cites
    )


def _is_removed(trail: Trail, path: FilePath, fact: FactId) -> bool:
    """True if a fact was removed and not only reworded."""
    here = [each for each in trail.occurrences_of(fact) if each.entry.path == path]
    return (
        bool(here)
        and all(each.ended is not None for each in here)
        and here[-1].fate is Fate.REMOVED
    )


def _reverted_already(path: FilePath, commit: CommitId, reverted_by: CommitId) -> _RevertPlan:
    notice = (
        f"{commit[:10]} was already undone by {reverted_by[:10]}; to restore it, revert that one"
    )
    return _RevertPlan(path=path, edits=(), note=None, notices=(notice,))


def _last_revert(trail: Trail, commit: CommitId) -> CommitId | None:
    reverts = trail.reverts()
    over = taken_back(reverts)
    return next(
        (
            each.commit
            for each in reversed(reverts)
            if commit.startswith(each.reverted) and each.commit not in over
        ),
        None,
    )


def _fact_groups(workspace: Workspace, edit: RevertEdit) -> list[frozenset[FactId]]:
    (commit,) = first_parent.read_commits(workspace.repository, [edit.reverts])
    difference = _difference(workspace, edit.path, edit.before, edit.after)
    groups: list[frozenset[FactId]] = []
    for item in (*difference.added, *difference.removed):
        if not any(item.fact.id in group for group in groups):
            groups.append(_with_partners(commit, difference, item.fact.id))
    return groups


def _difference(workspace: Workspace, path: FilePath, before: str, after: str) -> FactDifference:
    return fact_difference(workspace.parse(path, before), workspace.parse(path, after))


def _nested_pairs(difference: FactDifference) -> Iterator[tuple[FactId, FactId]]:
    """Nested items that replaced each other, by their own words, within facts that did."""
    inner = {
        item.fact.id: [replace(each, fact=own_fact(each)) for each, _ in nested_items(item)]
        for item in (*difference.removed, *difference.added)
    }
    for pair in difference.supersedes:
        if pair.new is not None:
            found = successors(inner[pair.old], inner[pair.new], is_stated=False)
            yield from ((old.fact.id, new.fact.id) for old, new in found)


def _with_partners(
    commit: CommitChanges, difference: FactDifference, fact: FactId
) -> frozenset[FactId]:
    pairs = [(pair.old, pair.new) for pair in difference.supersedes]
    pairs += _nested_pairs(difference)
    pairs += [
        (old, new)
        for old, new in parse_message(commit.commit.message).supersedes
        if new is not None
    ]
    facts = {fact}
    while more := {each for pair in pairs if facts.intersection(pair) for each in pair} - facts:
        facts |= more
    return frozenset(facts)


def _require_revertible(
    workspace: Workspace, trail: Trail, commit: CommitChanges, fact: FactId | None
) -> None:
    repository, name = workspace.repository, commit.commit.id
    if len(commit.parents) > 1 and fact is None:
        raise HistoryProblem(
            "cannot-revert", f"{name[:10]} is a merge", _hint_of_merge(workspace, trail, name)
        )
    if not repository.is_ancestor(name):
        raise HistoryProblem(
            "commit-not-found",
            f"{name[:10]} is not in the history of HEAD",
            f"To list commits: {verb('history')}",
        )
    if name in repository.shallow_commits():
        hint = "To get the rest: git fetch --unshallow"
        raise HistoryProblem(
            "cannot-revert",
            f"this clone is shallow and begins with {name[:10]}: its changes are unknown",
            hint,
        )


def _hint_of_merge(workspace: Workspace, trail: Trail, merge: CommitId) -> str:
    brought = first_parent.commits_brought_by(workspace.repository, merge)
    commits = {
        each.number: each
        for each in map(trail.commit_with_id, brought)
        if each and not each.is_merge
    }
    ranks = trail.ranks(commits)
    changed = [
        commits[number].commit
        for number in sorted(commits, key=ranks.__getitem__, reverse=True)
        if trail.touched_by(((number, number),))
    ]
    if not changed:
        return "It did not change memory."
    named = [f"{verb('revert')} {commit[:10]}" for commit in changed[:_MOST_NAMED]]
    more = (
        f" ({number_of(len(changed) - len(named), 'more commit')} in {verb('history')})"
        if len(changed) > len(named)
        else ""
    )
    return f"To undo {'the' if len(changed) == 1 else 'a'} change: {', or '.join(named)}{more}"


def _texts(workspace: Workspace, changed: ChangedFile) -> tuple[str, str]:
    contents = workspace.repository.contents(
        [blob for blob in (changed.before, changed.after) if blob]
    )
    before, after = (
        decode(contents[blob]) if blob else "" for blob in (changed.before, changed.after)
    )
    return before, after


def _live_additions(
    trail: Trail,
    path: FilePath,
    difference: FactDifference,
    only: frozenset[FactId] | None,
    run: frozenset[CommitId],
) -> list[FactId]:
    """Log entries a commit added that still count, or will once the run is reverted."""
    added = [item.fact.id for item in difference.added]
    live = {
        each.entry.fact
        for each in trail.live_occurrences(path)
        if all(mark.commit in run for mark in trail.marks_of(each.number))
    }
    return [fact for fact in added if fact in live and (only is None or fact in only)]


def _note(
    commit: CommitChanges,
    parsed: ParsedNote,
    path: FilePath,
    changed_files: Sequence[ChangedFile],
    retracts: tuple[FactId, ...],
    trail: Trail,
) -> CommitNote | None:
    marks = trail.marks_stated_by(commit.commit.id)
    only_marks = not changed_files and any(mark.ended is None for mark in marks)
    states_more = not changed_files and bool(parsed.confirms or parsed.reverts)
    if (
        not retracts
        and not only_marks
        and not (states_more and _last_revert(trail, commit.commit.id) is None)
    ):
        return None
    section = tuple(parsed.section.split(" > ")) if parsed.section else ()
    return CommitNote(
        op=Op.REVERT,
        path=path,
        section=section,
        provenance=Provenance(),
        retracts=retracts,
        reverts=(commit.commit.id,),
    )


def _find_target(workspace: Workspace, trail: Trail, change: Revert) -> _RevertTarget:
    reference = change.reference
    readings = {
        "the text": lookup.fact_by_text(trail, reference),
        "the key": lookup.fact_by_key(trail, reference),
        "the beginning of the id": lookup.fact_by_id(trail, reference),
    }
    facts = {sort: fact for sort, fact in readings.items() if fact is not None}
    commit = workspace.repository.commit_named(reference)
    if facts and commit:
        hint = "Give more digits of the commit, or the fact's text or id."
        raise FactProblem(
            "ambiguous",
            f"{reference[:80]!r} is a fact and a commit",
            hint,
            facts=sorted({*facts.values()}),
        )
    require_one_sort(reference, {sort: [fact] for sort, fact in facts.items()})
    for fact in facts.values():
        return _last_change(trail, trail.occurrences_of(fact))
    nested = None if commit else lookup.nested_meant(workspace, trail, reference, None)
    if nested and nested.among:
        every = trail.occurrences_of(nested.line, nested=True)
        return _last_change(trail, [each for each in every if each.number in nested.among])
    if commit is None:
        lists = f"To list commits: {verb('history')}; to list facts: {verb('facts', 'everything')}"
        hint = (
            lookup.similar_facts_hint(trail, reference, lambda fact: f"{verb('revert')} {fact}")
            or lookup.file_hint(workspace, reference)
            or lists
        )
        sorts = "no fact, commit or run" if is_run(change.reference) else "no fact or commit"
        raise HistoryProblem("commit-not-found", f"{sorts} {reference[:80]!r}", hint)
    return _RevertTarget(commit=commit)


def _last_change(trail: Trail, occurrences: Sequence[Occurrence]) -> _RevertTarget:
    """A fact's last beginning, end, mark or confirmation; reverts are no changes."""
    told = [each for each in occurrences if each.fate is not Fate.JOINED]
    last = max(
        told,
        key=lambda each: (
            each.ended is None,
            trail.order(each.begun if each.ended is None else each.ended),
            each.number,
        ),
    )
    path, fact = last.entry.path, last.entry.fact or line_id(last.entry)
    marks = trail.marks_of(last.number)
    if last.ended is not None and (commit := trail.commit_numbered(last.ended)):
        target = _RevertTarget(commit=commit.commit, path=path, fact=fact)
    elif marks:
        target = _RevertTarget(commit=marks[-1].commit)
    elif commit := _confirmation(trail, last):
        target = _RevertTarget(commit=commit.commit)
    else:
        target = _RevertTarget(commit=last.origin.commit, path=path, fact=fact)
    commit = trail.commit_with_id(target.commit)
    parsed = parse_message(commit.message) if commit else None
    if parsed and parsed.op is Op.REVERT and parsed.reverts:
        return _RevertTarget(commit=parsed.reverts[0], path=path, reverted_by=target.commit)
    return target


def _confirmation(trail: Trail, occurrence: Occurrence) -> TrailCommit | None:
    commit = trail.commit_numbered(occurrence.begun)
    return (
        commit
        if commit and occurrence.entry.fact in parse_message(commit.message).confirms
        else None
    )


_MOST_LINES, _QUOTED = 8, 80


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
) -> tuple[list[_RevertPlan], list[_HeldChange]]:
    texts: dict[FilePath, str] = {}
    plans: list[_RevertPlan] = []
    held = [
        _HeldChange(commit=each, path=None, what="other work was squashed with it", details={})
        for each in commits.squashed
    ]
    for plan in _plan_reverts(workspace, commits.ids, change):
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
) -> tuple[RevertEdit | None, list[_HeldChange]]:
    whole = _held_by(edit, document)
    if whole is None:
        return edit, []
    groups = [] if edit.from_log or edit.only else _fact_groups(workspace, edit)
    if len(groups) < 2:
        return None, [whole]
    held = {group: _held_by(replace(edit, only=group), document) for group in groups}
    free = frozenset(fact for group, each in held.items() if each is None for fact in group)
    rest = replace(edit, only=free)
    if not free or _held_by(rest, document) is not None:
        return None, [whole]
    return rest, [each for each in held.values() if each is not None]


def _held_by(edit: RevertEdit, document: Document) -> _HeldChange | None:
    try:
        undone(edit, document)
    except SectionProblem as problem:
        return _HeldChange(
            commit=edit.reverts,
            path=edit.path,
            what=_first_line(problem),
            details=problem.details,
        )
    return None


def _first_line(problem: SectionProblem) -> str:
    made = str(problem.details.get("made", problem.message))
    return made.strip().partition("\n")[0] or problem.message


def _conflict(run: str, held: Sequence[_HeldChange]) -> SectionProblem:
    named = "\n".join(_held_lines(held))
    details = [{"commit": each.commit, "path": each.path, **each.details} for each in held]
    hint = f"{named}\nTo keep these and undo the rest, use {field('skip')}."
    return SectionProblem(
        "revert-conflict",
        f"later edits changed what {run} did: {number_of(len(held), 'change')}",
        hint,
        conflicts=details,
    )


def _held_lines(held: Sequence[_HeldChange]) -> list[str]:
    lines = [
        f"{each.path or each.commit[:10]}: {' '.join(each.what.split())[:_QUOTED]}" for each in held
    ]
    return (
        lines
        if len(lines) <= _MOST_LINES
        else [*lines[: _MOST_LINES - 1], f"{len(lines) - _MOST_LINES + 1} more"]
    )


def apply(workspace: Workspace, change: Revert, say: Say) -> WriteResult:
    """Revert a change in all its files and statements, or nothing. Raises: MdmemError."""
    options = complete_options(workspace, change.options)
    change = replace(change, options=options)
    if is_run(change.reference):
        run = _run_commits(workspace, change.reference)
        if run.ids or run.squashed:
            return _apply_run(workspace, change, run, say)
    plan = plan_revert(workspace, change)
    for edit in plan.edits:  # refuse impossible edits before any is written
        plan_edit(workspace, edit, target_path(workspace, edit))
    return _combine(plan, _carry_out(workspace, [plan], options, say), options.dry_run)


def _carry_out(
    workspace: Workspace, plans: Sequence[_RevertPlan], options: WriteOptions, say: Say
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


def _previews(workspace: Workspace, plan: _RevertPlan) -> list[WriteResult]:
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
    if _is_commit_or_fact(workspace, change.reference):
        message = f"{change.reference[:80]!r} is both a run and a fact or commit"
        raise FactProblem("ambiguous", message, "Name the commit by its id, or the fact by its id.")
    if not change.options.dry_run:
        with lock_workspace(workspace, say):
            # A killed revert may have changed a file; the commits tell what is left to undo.
            recover(workspace, say)
    plans, held = _plan_run(workspace, run, change)
    results = _carry_out(workspace, plans, change.options, say)
    whole = _RevertPlan(
        path=FilePath(results[-1].path) if results else workspace.curated, edits=(), note=None
    )
    done = "to undo" if change.options.dry_run else "undone"
    notices = [
        f"{change.reference}: {number_of(len(plans), 'commit')} of {len(run.ids)} {done}"
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


def _combine(plan: _RevertPlan, results: Sequence[WriteResult], dry_run: bool) -> WriteResult:
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
