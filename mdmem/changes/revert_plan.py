"""Find the change to revert, and plan how; nothing is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mdmem.changes.verbs import RevertEdit
from mdmem.editors.fact_difference import fact_difference
from mdmem.lookup import lookup
from mdmem.model import CommitId, FactId, FileKind, FilePath, Op, Provenance
from mdmem.model.errors import FactProblem, HistoryProblem, number_of, verb
from mdmem.model.trail import Fate, Occurrence, TrailCommit
from mdmem.model.writes import Revert
from mdmem.past import fresh_trail
from mdmem.past.copies import taken_back
from mdmem.past.messages import CommitNote, ParsedNote
from mdmem.past.notes import parse_message
from mdmem.past.table import Trail
from mdmem.repo import first_parent
from mdmem.repo.first_parent import ChangedFile, CommitChanges
from mdmem.startup.records import dataclass
from mdmem.text.document import decode, parse
from mdmem.text.fact_names import require_one_sort
from mdmem.workspace import Workspace

_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class HeldChange:
    """A change blocked by later edits, with details for programs. `path` None: a whole commit."""

    commit: CommitId
    path: FilePath | None
    what: str
    details: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RevertPlan:
    """`note` has statements to commit besides. `path` is one of the change's files."""

    path: FilePath
    edits: tuple[RevertEdit, ...]
    note: CommitNote | None
    notices: tuple[str, ...] = ()
    held: tuple[HeldChange, ...] = ()

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
    held: tuple[HeldChange, ...] = ()


def plan_revert(workspace: Workspace, change: Revert) -> RevertPlan:
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


def plan_reverts(workspace: Workspace, ids: Sequence[CommitId], change: Revert) -> list[RevertPlan]:
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


def is_commit_or_fact(workspace: Workspace, reference: str) -> bool:
    with fresh_trail(workspace) as trail:
        return (
            workspace.repository.commit_named(reference) is not None
            or lookup.fact_by_text(trail, reference) is not None
        )


def _plan_commit(
    workspace: Workspace, trail: Trail, commit: CommitChanges, target: _RevertTarget, change: Revert
) -> RevertPlan:
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
    return RevertPlan(
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
    held: list[HeldChange] = []
    for changed, path in files:
        before, after = _texts(workspace, changed)
        only = _with_partners(commit, before, after, fact) if fact else None
        if workspace.kind_of(path) is FileKind.DAILY:
            stated_again = _stated_again(trail, path) if target.of_run else frozenset[FactId]()
            if not change.take_out:
                added_here = _live_additions(trail, path, before, after, only, target.of_run)
                retracts += [each for each in added_here if each not in stated_again]
                continue
            added = [
                item.fact
                for item in fact_difference(parse(before), parse(after)).added
                if item.fact.id not in stated_again
            ]
            left = [fact for fact in added if not _is_removed(trail, path, fact.id)]
            live = {each.entry.fact for each in trail.live_occurrences(path)}
            held += [
                HeldChange(
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


def _reverted_already(path: FilePath, commit: CommitId, reverted_by: CommitId) -> RevertPlan:
    notice = (
        f"{commit[:10]} was already undone by {reverted_by[:10]}; to restore it, revert that one"
    )
    return RevertPlan(path=path, edits=(), note=None, notices=(notice,))


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


def fact_groups(workspace: Workspace, edit: RevertEdit) -> list[frozenset[FactId]]:
    (commit,) = first_parent.read_commits(workspace.repository, [edit.reverts])
    difference = fact_difference(parse(edit.before), parse(edit.after))
    groups: list[frozenset[FactId]] = []
    for item in (*difference.added, *difference.removed):
        if not any(item.fact.id in group for group in groups):
            groups.append(_with_partners(commit, edit.before, edit.after, item.fact.id))
    return groups


def _with_partners(
    commit: CommitChanges, before: str, after: str, fact: FactId
) -> frozenset[FactId]:
    pairs = [
        (pair.old, pair.new) for pair in fact_difference(parse(before), parse(after)).supersedes
    ]
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
    before: str,
    after: str,
    only: frozenset[FactId] | None,
    run: frozenset[CommitId],
) -> list[FactId]:
    """Log entries a commit added that still count, or will once the run is reverted."""
    added = [item.fact.id for item in fact_difference(parse(before), parse(after)).added]
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
    if commit is None:
        lists = f"To list commits: {verb('history')}; to list facts: {verb('facts', 'everything')}"
        hint = (
            lookup.similar_facts_hint(trail, reference, lambda fact: f"{verb('revert')} {fact}")
            or lookup.file_hint(workspace, reference)
            or lists
        )
        sorts = "no fact, commit or run" if change.may_be_run else "no fact or commit"
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
    path, fact = last.entry.path, last.entry.fact
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
