"""How a write happens: lock, recovery, edit in memory, a person's pending edits, record, replace, commit."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mdmem import check, files, history, hookfiles, repo
from mdmem.changes import plan as planning
from mdmem.changes import user_hooks
from mdmem.changes.plan import FileEdit, Plan, RevertEdit
from mdmem.errors import MdmemError, PathProblem, RepositoryProblem, StorageProblem, UsageProblem
from mdmem.model import CommitId, FilePath, Provenance, Source
from mdmem.model.writes import Change, Contradict, EditSection, Forget, Log, Remember, Resolve, Revert, WriteOptions, WriteResult
from mdmem.repo import Identity, PathState, Repository, commits
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.workspace import Say, Workspace, read_committed

if TYPE_CHECKING:
    from mdmem.changes import contradict, revert
else:
    contradict = late.module("mdmem.changes.contradict")
    revert = late.module("mdmem.changes.revert")


EVENT_VERBS: dict[type[Change], str] = {
    EditSection: "edit-section",
    Log: "log",
    Remember: "remember",
    Forget: "forget",
    Revert: "revert",
    Contradict: "contradicts",
    Resolve: "conflicts-resolve",
}
"""What the events call each change."""
_TRIES, _OVERTAKEN_TRIES = 50, 5


def apply(workspace: Workspace, change: Change, say: Say) -> WriteResult:
    """Carry out one change: the file read, modified, written and committed, or nothing at all.

    Raises:
        MdmemError: the change is refused or failed; file, git index and HEAD are as they were.
    """
    said = _provenance(workspace, change.options)
    change = replace(change, options=replace(change.options, actor=said.actor))
    match change:
        case Contradict() | Resolve():
            return _say_of_two(workspace, change, said, say)
        case Revert():
            return _revert(workspace, change, said, say)
        case EditSection() | Log() | Remember() | Forget():
            return _change_file(workspace, change, said, say)


def apply_all(workspace: Workspace, changes: Sequence[FileEdit], options: WriteOptions, say: Say) -> list[WriteResult]:
    """Carry out several changes with the same options, each by a commit of its own: all of them, or nothing at all.

    Raises:
        MdmemError: one is refused or failed; files, git index and HEAD are as they were.
    """
    said = _provenance(workspace, options)
    alike = [replace(change, options=replace(options, actor=said.actor)) for change in changes]
    if options.dry_run:
        return [_foreseen(workspace, change) for change in alike]
    with _locked(workspace, say), _all_or_nothing(workspace) as made:
        return [_change(workspace, change, said, say, made) for change in alike]


@dataclass(frozen=True, slots=True)
class _WrittenChange:
    """A file that was written, its commit, and what it takes to undo that: where HEAD was before, the record, the folders that were made."""

    plan: Plan
    commit: CommitId
    before: CommitId | None
    record: files.Record
    folders: tuple[Path, ...]
    pending: _PendingCommit | None


@contextmanager
def _all_or_nothing(workspace: Workspace) -> Iterator[list[_WrittenChange]]:
    """A list for what is written one after the other: where something fails, all that is in it is undone. The caller holds the lock."""
    made: list[_WrittenChange] = []
    try:
        yield made
    except BaseException as problem:
        for written in reversed(made):
            _undo(workspace, written, problem)
        raise


def _change_file(workspace: Workspace, change: FileEdit, said: Provenance, say: Say) -> WriteResult:
    if change.options.dry_run:
        return _foreseen(workspace, change)
    with _locked(workspace, say), _all_or_nothing(workspace) as made:
        return _change(workspace, change, said, say, made)


def _foreseen(workspace: Workspace, change: FileEdit) -> WriteResult:
    """What would come of a change."""
    plan = planning.plan_edit(workspace, change, planning.target_path(workspace, change))
    return planning.write_result(plan, None, diff=planning.plan_diff(plan))


def _change(workspace: Workspace, change: FileEdit, said: Provenance, say: Say, made: list[_WrittenChange]) -> WriteResult:
    """Carry out a change of one file; what is written is added to `made`. The caller holds the lock."""
    recover(workspace, say)
    path, overtaken = planning.target_path(workspace, change), 0
    notes: tuple[str, ...] = ()
    for _ in range(_TRIES):
        try:
            whole = planning.plan_edit(workspace, change, path)
        except MdmemError:
            # In the midst of a merge a file may be as it is for that reason alone.
            workspace.repository.require_ready(workspace.settings.allow_detached, workspace.repository.branch())
            raise
        plan = whole.preliminary or whole
        if not plan.changes and not plan.marks:
            return planning.write_result(plan, None)
        note = _note(workspace, plan, said, change.reverts if isinstance(change, RevertEdit) else None)
        if not plan.changes:
            return planning.write_result(plan, _commit_note(workspace, note))
        done = _carry_out(workspace, plan, note, change.options.allow, made)
        if isinstance(done, _WrittenChange):
            notes += (f"committed the pending edits of {path} first, as yours",) if done.pending else ()
            if plan is whole:
                return planning.write_result(plan, done.commit, notes=notes)
        elif done.overtaken:
            overtaken += 1
            if overtaken == _OVERTAKEN_TRIES:
                hint = "A hook takes the change out, or another program saves the file again and again."
                other = RepositoryProblem("commit-failed", f"git commits something else than was written to {path}", hint)
                raise done.problem or other
    raise RepositoryProblem("busy", f"{path} was saved again and again by another program", "Close it there and try again.")


def _locked(workspace: Workspace, say: Say) -> AbstractContextManager[None]:
    workspace.ensure_state()
    return files.lock(workspace.state / files.LOCK_NAME, workspace.settings.lock_timeout, say)


def _note(workspace: Workspace, plan: Plan, said: Provenance, reverts: CommitId | None) -> history.CommitNote:
    return history.CommitNote(
        plan.op,
        plan.path,
        plan.edited.section,
        said,
        plan.supersedes,
        plan.ended,
        plan.edited.also,
        plan.retracts,
        reverts=(reverts,) if reverts else (),
        claimed_by=_claimant(workspace, said),
    )


def _claimant(workspace: Workspace, said: Provenance) -> str | None:
    """The agent that says that the user said so."""
    return said.actor if said.source is Source.USER_STATED and said.actor in workspace.settings.agents else None


# What changes no text.


def _commit_note(workspace: Workspace, note: history.CommitNote) -> CommitId:
    """A commit that says something of facts and changes no file; what is staged stays staged."""
    repository, settings = workspace.repository, workspace.settings
    repository.require_ready(settings.allow_detached, repository.branch())
    order = commits.CommitOrder(
        paths=(),
        message=history.compose_message(note, "", ""),
        date=repo.raw_date(workspace.now()),
        hook_timeout=settings.hook_timeout,
        identity=workspace.identity(),
    )
    return commits.commit(repository, order).id


def _say_of_two(workspace: Workspace, change: Contradict | Resolve, said: Provenance, say: Say) -> WriteResult:
    """Mark two facts as contradicting each other, or as not doing so."""
    with _locked(workspace, say):
        recover(workspace, say)
        plan = contradict.plan_mark(workspace, change)
        planning.refuse_errors(planning.secrets_in_options(change.options), change.options.allow)
        done = plan.changes and not change.options.dry_run
        commit = _commit_note(workspace, replace(plan.note, provenance=said, claimed_by=_claimant(workspace, said))) if done else None
    return WriteResult(
        plan.changes,
        plan.note.path,
        plan.note.section,
        plan.etag,
        commit,
        diff="" if change.options.dry_run else None,
        op=plan.note.op,
    )


def _revert(workspace: Workspace, change: Revert, said: Provenance, say: Say) -> WriteResult:
    """Take one change back, file by file; what it said without changing a text, by a commit that says so. All of it, or nothing."""
    plan = revert.plan_revert(workspace, change)
    for file in plan.files:
        planning.plan_edit(workspace, file, planning.target_path(workspace, file))  # what cannot be done is refused before anything is
    if plan.note is not None:
        planning.refuse_errors(planning.secrets_in_options(change.options), change.options.allow)
    if change.options.dry_run:
        told = [] if plan.note is None else [_told(plan.note, None, "")]
        return revert.combine_results(plan, [*(_foreseen(workspace, file) for file in plan.files), *told], dry_run=True)
    with _locked(workspace, say), _all_or_nothing(workspace) as made:
        results = [_change(workspace, file, said, say, made) for file in plan.files]
        if plan.note is not None:
            recover(workspace, say)
            note = replace(plan.note, provenance=said, claimed_by=_claimant(workspace, said))
            results.append(_told(note, _commit_note(workspace, note)))
    return revert.combine_results(plan, results, dry_run=False)


def _told(note: history.CommitNote, commit: CommitId | None, diff: str | None = None) -> WriteResult:
    """What is answered for a note."""
    return WriteResult(True, note.path, note.section, None, commit, removed=note.retracts, diff=diff, op=note.op)


# Carrying it out.


@dataclass(frozen=True, slots=True)
class _Retry:
    """That a change must be planned anew: the file was saved by someone else before ours was written, or (`overtaken`) before git read it.

    `problem` is why git failed, if it did.
    """

    overtaken: bool
    problem: RepositoryProblem | None = None


def _carry_out(
    workspace: Workspace, plan: Plan, note: history.CommitNote, allow: frozenset[str], made: list[_WrittenChange]
) -> _WrittenChange | _Retry:
    """Write and commit a plan; what comes of it is in `made` from when it is committed on."""
    state = workspace.repository.state(plan.path)
    workspace.repository.require_ready(workspace.settings.allow_detached, state.branch, state.settled)
    identity = workspace.identity()
    if state.ignored:
        raise PathProblem(
            "ignored-path", f"{plan.path} is ignored by .gitignore", "Take the rule out; memory that git does not keep has no history."
        )
    moment = repo.raw_date(workspace.now())
    pending = _commit_pending(workspace, plan, state, moment, identity, allow)
    text = history.compose_message(note, plan.old.text if plan.old else "", plan.edited.text)
    record = files.Record(
        plan.path,
        files.digest(plan.before) if plan.before is not None else None,
        files.digest(plan.after),
        text,
        moment,
        files.temporary_name(),
    )
    folders: tuple[Path, ...] = ()
    order = commits.CommitOrder(
        paths=(plan.path,),
        message=text,
        date=moment,
        hook_timeout=workspace.settings.hook_timeout,
        identity=identity,
        state=None if pending else state,
        hookless=_is_hookless(workspace.repository),
    )
    try:
        folders = files.make_folders(plan.full_path.parent)
        files.save_record(workspace.state, record)
        if not files.replace(plan.full_path, plan.after, plan.before, record.temporary):
            files.drop_record(workspace.state)
            return _Retry(overtaken=False)
        commit = commits.commit(workspace.repository, order)
    except BaseException as problem:
        before = pending.commit if pending else state.commit
        # Where this process was interrupted, git may have been done before.
        done = (
            None
            if isinstance(problem, MdmemError | OSError)
            else commits.commit_made_after(workspace.repository, before, [plan.path], text)
        )
        if done:
            made.append(_WrittenChange(plan, done, state.commit, record, folders, pending))
            raise
        ours = _standing(workspace, plan)
        if ours is None and not isinstance(problem, OSError):
            # Somebody saved over it before git read it, so that git found another change than ours, or none.
            taken_out = user_hooks.remove_change(plan)
            files.drop_record(workspace.state)
            if isinstance(problem, RepositoryProblem):
                if not taken_out:
                    hint = f"{plan.path} was changed meanwhile and is kept as it is: look it over."
                    raise RepositoryProblem(problem.code, problem.message, hint) from problem
                if problem.code != "hook-timeout":
                    return _Retry(overtaken=True, problem=problem)
        _put_back(workspace, plan, folders, record, problem, ours)
        if pending:
            commits.undo_commit(workspace.repository, pending.commit, state.commit, plan.path, pending.entry)
        raise
    written = _WrittenChange(plan, commit.id, state.commit, record, folders, pending)
    made.append(written)
    if commit.is_indexed:
        files.drop_record(workspace.state)
    if commits.commit_has_bytes(workspace.repository, commit.id, plan.path, plan.after):
        return written
    committed = read_committed(workspace, plan.path, commit.id)
    if user_hooks.contains_change(committed, plan):
        return written
    if user_hooks.was_made_by_hook(workspace, committed, plan):
        raise user_hooks.reworded_problem(committed, plan)
    # Somebody saved over it before git read it: what was committed is theirs, and is committed as theirs in the next try.
    made.pop()
    commits.withdraw(workspace.repository, commit.id, pending.commit if pending else state.commit)
    return _Retry(overtaken=True)


def _is_hookless(repository: Repository) -> bool:
    """Whether no hook has anything to say of a commit of ours. False: not known."""
    folder = repository.known_hooks_dir
    return folder is not None and hookfiles.has_only_our_hooks(folder)


def _standing(workspace: Workspace, plan: Plan) -> bytes | None:
    """What stands in the file, if it is what we wrote, or what a hook made of that."""
    now = files.read(plan.full_path)
    if now == plan.after:
        return now
    return now if user_hooks.was_made_by_hook(workspace, now, plan) else None


def _put_back(
    workspace: Workspace, plan: Plan, folders: tuple[Path, ...], record: files.Record, problem: BaseException, ours: bytes | None
) -> None:
    """The file as it was before, in place of what is `ours`; where the disk does not even take that, the record stays and settles it later."""
    try:
        if ours not in (None, plan.before):
            if plan.before is None:
                files.remove(plan.full_path)
            else:
                files.replace(plan.full_path, plan.before, ours, files.backup_name(record.temporary))
        for folder in reversed(folders):
            if not any(folder.iterdir()):
                folder.rmdir()
        files.drop_record(workspace.state)
    except OSError as failure:
        raise StorageProblem(
            f"{problem}; and {plan.path} could not be put back: {failure.strerror}",
            "Make room on the disk; the next command settles it.",
        ) from problem


def _undo(workspace: Workspace, done: _WrittenChange, problem: BaseException) -> None:
    """File, git index and HEAD as they were before a change that is committed already; where somebody built on the commit, it stays."""
    entry = done.pending.entry if done.pending else None
    if commits.undo_commit(workspace.repository, done.commit, done.before, done.plan.path, entry):
        ours = _standing(workspace, done.plan)
        if ours is None:
            user_hooks.remove_change(done.plan)
        _put_back(workspace, done.plan, done.folders, done.record, problem, ours)


@dataclass(frozen=True, slots=True)
class _PendingCommit:
    """A person's edits as they were committed, and what git's index said of the file before."""

    commit: CommitId
    entry: commits.IndexEntry


def _commit_pending(
    workspace: Workspace, plan: Plan, state: PathState, moment: str, identity: Identity | None, allow: frozenset[str]
) -> _PendingCommit | None:
    """A person's pending edits of the file, or that it is gone, as a commit of their own."""
    if not state.pending or (plan.before is None and read_committed(workspace, plan.path, state.commit) is None):
        return None
    if workspace.settings.direct_edits == "refuse":
        raise RepositoryProblem(
            "pending-edits", f"{plan.path} has edits that are not committed", "Commit them (mdmem save) or take them back."
        )
    committed = read_committed(workspace, plan.path, state.commit)
    found = check.added_secrets(plan.path, committed, plan.before, workspace.kind_of(plan.path))
    if found and "secret" not in allow:
        first = found[0]
        raise RepositoryProblem(
            "pending-secret",
            f"{first.path}:{first.line}: {first.message}, in edits that are not committed",
            first.hint,
            line=first.line,
            kind=first.kind,
        )
    entry = commits.index_entry(workspace.repository, plan.path)
    text = f"{plan.path}: {'removed' if plan.before is None else 'edited'} by hand\n"
    order = commits.CommitOrder(
        paths=(plan.path,), message=text, date=moment, hook_timeout=workspace.settings.hook_timeout, identity=identity
    )
    try:
        commit = commits.commit(workspace.repository, order).id
    except BaseException:
        if made := commits.commit_made_after(workspace.repository, state.commit, [plan.path], text):
            commits.undo_commit(workspace.repository, made, state.commit, plan.path, entry)
        raise
    return _PendingCommit(commit, entry)


def _provenance(workspace: Workspace, options: WriteOptions) -> Provenance:
    confidence = options.source.confidence if options.confidence is None else options.confidence
    if not 0 <= confidence <= 1:
        raise UsageProblem(f"confidence is {confidence:g}, which is not from 0 to 1")
    actor = options.actor or os.environ.get("MDMEM_ACTOR") or workspace.settings.actor
    return Provenance(options.source, confidence, actor, options.session, options.reason)


def recover(workspace: Workspace, say: Say) -> None:
    """Finish, or drop, what a killed process left, and say so at once: what comes after it may be refused.

    Raises:
        RepositoryProblem: git cannot take a commit now; the record stays.
    """
    record = files.load_record(workspace.state)
    done = None
    if record:
        workspace.repository.require_ready(workspace.settings.allow_detached, workspace.repository.branch())
        done = _settle(workspace, record, workspace.identity())
    files.drop_record(workspace.state)
    if done:
        say(done)


def _settle(workspace: Workspace, record: files.Record, identity: Identity | None) -> str | None:
    """What was done, for the user; None where there is nothing to say."""
    kept = f"{record.path} was changed after an interrupted write; it is kept as it is"
    try:
        place = files.path_on_disk(workspace.root, record.path)
        files.recover_temporary(place, record)
        now = files.read(place)
    except PathProblem:
        return kept
    found = files.digest(now) if now is not None else None
    if found not in (record.after, record.before):
        return kept
    if found == record.before:
        return None
    if not workspace.repository.state(record.path).pending:
        commits.renew_index(workspace.repository, [record.path])
        return None
    order = commits.CommitOrder(
        paths=(record.path,),
        message=record.message,
        date=record.date,
        hook_timeout=workspace.settings.hook_timeout,
        identity=identity,
    )
    try:
        commits.commit(workspace.repository, order)
    except RepositoryProblem:
        # The git of the killed process may have outlived it, and have committed meanwhile.
        if workspace.repository.state(record.path).pending:
            raise
    return f"finished an interrupted write of {record.path}"


# A person's own edits.


def save(
    workspace: Workspace, text: str | None, say: Say, allow: frozenset[str] = frozenset()
) -> tuple[CommitId | None, tuple[FilePath, ...]]:
    """Commit the pending edits of memory files, new and deleted ones included, as the person's own.

    Raises:
        RefusedChange: the check refuses them, and neither `allow` nor MDMEM_ALLOW lets that through.
        RepositoryProblem: git cannot take them now, or a hook refused.
    """
    with _locked(workspace, say):
        repository = workspace.repository
        repository.require_ready(workspace.settings.allow_detached, repository.branch())
        identity = workspace.identity()
        recover(workspace, say)
        after = _by_hand(workspace, say)
        paths = tuple(after)
        if not paths:
            return None, ()
        head, allowed = repository.head(), allow | check.parse_allowances(os.environ)
        planning.refuse_errors(planning.secrets_in_text("-m", text or ""), allowed)
        before = repository.read(head, paths) if head else dict.fromkeys(paths)
        _judge_pending(workspace, before, after, allowed)
        what = paths[0] if len(paths) == 1 else f"{len(paths)} memory files"
        message = text.strip() + "\n" if text and text.strip() else f"{what}: edited by hand\n"
        order = commits.CommitOrder(
            paths=paths,
            message=message,
            date=repo.raw_date(workspace.now()),
            hook_timeout=workspace.settings.hook_timeout,
            identity=identity,
            allow=allowed,
        )
        return commits.commit(repository, order).id, paths


def _by_hand(workspace: Workspace, say: Say) -> dict[FilePath, bytes | None]:
    """What the memory files hold that differ from HEAD (None: gone). Links and the like, which are no memory, are named and left out."""
    found: dict[FilePath, bytes | None] = {}
    for path in workspace.repository.pending():
        if workspace.kind_of(path).is_memory:
            try:
                found[path] = files.read(workspace.root / path)
            except PathProblem as problem:
                say(f"{path} is not saved: {problem.message}")
    return found


def _judge_pending(
    workspace: Workspace, before: Mapping[FilePath, bytes | None], after: Mapping[FilePath, bytes | None], allow: frozenset[str]
) -> None:
    """Refuse what `check` refuses in a person's edits. A file that is gone is not lost where its lines stand in a new one: it was renamed."""
    new = [data for path, data in after.items() if before[path] is None]
    for path, data in after.items():
        found = check.find_errors(path, before[path], data, workspace.kind_of(path))
        if data is not None or not found or all(check.shrinks_too_much(before[path], text) for text in new):
            planning.refuse_errors(found, allow)
