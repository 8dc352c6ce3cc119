"""How a write happens: lock, recovery, edit in memory, a person's pending edits, record, replace, commit."""

import os
from collections.abc import Callable
from pathlib import Path

from mdmem import config, files, history, repo
from mdmem.errors import PathProblem, RepositoryProblem, UsageProblem
from mdmem.memory import planning
from mdmem.memory.planning import Plan
from mdmem.memory.workspace import Workspace, read_at
from mdmem.model import Change, CommitId, FilePath, Provenance, WriteOptions, WriteResult
from mdmem.repo import Identity, State

Say = Callable[[str], None]
_TRIES = 50


def apply(workspace: Workspace, change: Change, say: Say) -> WriteResult:
    """Carry out one change: the file read, modified, written and committed, or nothing at all.

    Raises:
        MdmemError: the change is refused or failed; file, git index and HEAD are as they were.
    """
    path = planning.target(workspace, change)
    if change.options.dry_run:
        plan = planning.draw_up(workspace, change, path)
        return planning.result(plan, None, diff=planning.diff(plan))
    workspace.ensure_state()
    with files.lock(workspace.state / "lock", workspace.settings.lock_timeout, say):
        workspace.repository.require_ready(workspace.settings.allow_detached, workspace.repository.branch())
        identity = workspace.identity()
        notes = _recover(workspace, identity)
        for _ in range(_TRIES):
            plan = planning.draw_up(workspace, change, path)
            if not plan.changes:
                return planning.result(plan, None, notes=notes)
            done = _carry_out(workspace, change, plan, identity)
            if done is not None:
                return planning.result(plan, done[0], notes=(*notes, *done[1]))
    raise RepositoryProblem("busy", f"{path} was saved again and again by another program", "Close it there and try again.")


# Carrying it out.


def _carry_out(workspace: Workspace, change: Change, plan: Plan, identity: Identity | None) -> tuple[CommitId, tuple[str, ...]] | None:
    """Write and commit a plan; None where the file was saved by someone else meanwhile, so that it must be planned anew."""
    state = workspace.repository.state(plan.path)
    if state.ignored and plan.before is None:
        raise PathProblem(
            "ignored-path", f"{plan.path} is ignored by .gitignore", "Take the rule out; memory that git does not keep has no history."
        )
    moment = repo.raw_date(workspace.now())
    pending = _commit_pending(workspace, plan, state, moment, identity)
    note = history.Note(
        plan.edited.op,
        plan.path,
        plan.edited.section,
        _provenance(workspace, change.options),
        plan.supersedes,
        plan.ended,
        plan.edited.also,
    )
    text = history.message(note, plan.old.text if plan.old else "", plan.edited.text)
    record = files.Record(
        plan.path,
        files.digest(plan.before) if plan.before is not None else None,
        files.digest(plan.after),
        text,
        moment,
        files.temporary_name(),
    )
    made: tuple[Path, ...] = ()
    try:
        made = files.make_folders(plan.place.parent)
        files.save_record(workspace.state, record)
        if not files.replace(plan.place, plan.after, plan.before, record.temporary):
            files.drop_record(workspace.state)
            return None
        commit = workspace.repository.commit([plan.path], text, moment, workspace.settings.hook_timeout, identity)
    except BaseException as problem:
        done = _committed(workspace, plan)
        if done is None:
            _put_back(workspace, plan, made, problem)
            if pending:
                workspace.repository.take_back(pending, state.commit, plan.path)
            raise
        if not isinstance(problem, RepositoryProblem):
            raise
        commit = done
    files.drop_record(workspace.state)
    return commit, ((f"committed the pending edits of {plan.path} first, as yours",) if pending else ())


def _committed(workspace: Workspace, plan: Plan) -> CommitId | None:
    """The commit that holds the plan, where git made it although it (or a hook after it) failed later."""
    head = workspace.repository.head()
    if head is None or files.read(plan.place) != plan.after or workspace.repository.state(plan.path).pending:
        return None
    return head if read_at(workspace, plan.path, head) is not None else None


def _put_back(workspace: Workspace, plan: Plan, made: tuple[Path, ...], problem: BaseException) -> None:
    """The file as it was before; where the disk does not even take that, the record stays and settles it later."""
    try:
        if files.read(plan.place) == plan.after and plan.after != plan.before:
            if plan.before is None:
                plan.place.unlink()
            else:
                files.replace(plan.place, plan.before, plan.after, files.temporary_name())
        for folder in reversed(made):
            if not any(folder.iterdir()):
                folder.rmdir()
        files.drop_record(workspace.state)
    except OSError as failure:
        raise RepositoryProblem(
            "storage",
            f"{problem}; and {plan.path} could not be put back: {failure.strerror}",
            "Make room on the disk; the next command settles it.",
        ) from problem


def _commit_pending(workspace: Workspace, plan: Plan, state: State, moment: str, identity: Identity | None) -> CommitId | None:
    """A person's pending edits of the file as a commit of their own."""
    if not state.pending or plan.before is None:
        return None
    if workspace.settings.direct_edits == "refuse":
        raise RepositoryProblem(
            "pending-edits", f"{plan.path} has edits that are not committed", "Commit them (mdmem save) or take them back."
        )
    text = f"{plan.path}: edited by hand\n"
    return workspace.repository.commit([plan.path], text, moment, workspace.settings.hook_timeout, identity)


def _provenance(workspace: Workspace, options: WriteOptions) -> Provenance:
    confidence = options.source.confidence if options.confidence is None else options.confidence
    if not 0 <= confidence <= 1:
        raise UsageProblem(f"confidence is {confidence:g}, which is not from 0 to 1")
    actor = options.actor or os.environ.get("MDMEM_ACTOR") or workspace.settings.actor
    return Provenance(options.source, confidence, actor, options.session, options.reason)


def _recover(workspace: Workspace, identity: Identity | None) -> tuple[str, ...]:
    """Finish, or drop, what a killed process left; lines for the user."""
    record = files.load_record(workspace.state)
    if record is None:
        files.drop_record(workspace.state)
        return ()
    place = files.locate(workspace.root, record.path)
    files.drop_temporary(place, record.temporary)
    now = files.read(place)
    found = files.digest(now) if now is not None else None
    notes: tuple[str, ...] = ()
    if found == record.after and workspace.repository.state(record.path).pending:
        workspace.repository.commit([record.path], record.message, record.date, workspace.settings.hook_timeout, identity)
        notes = (f"finished an interrupted write of {record.path}",)
    elif found not in (record.after, record.before):
        notes = (f"{record.path} was changed after an interrupted write; it is kept as it is",)
    files.drop_record(workspace.state)
    return notes


# A person's own edits.


def save(workspace: Workspace, text: str | None, say: Say) -> tuple[CommitId | None, tuple[FilePath, ...]]:
    """Commit the pending edits of memory files, new and deleted ones included, as the person's own.

    Raises:
        RepositoryProblem: git cannot take them now, or a hook refused.
    """
    workspace.ensure_state()
    with files.lock(workspace.state / "lock", workspace.settings.lock_timeout, say):
        repository = workspace.repository
        repository.require_ready(workspace.settings.allow_detached, repository.branch())
        identity = workspace.identity()
        _recover(workspace, identity)
        paths = tuple(path for path in repository.pending() if workspace.kind_of(path).is_memory)
        if not paths:
            return None, ()
        what = paths[0] if len(paths) == 1 else f"{len(paths)} memory files"
        message = text.strip() + "\n" if text and text.strip() else f"{what}: edited by hand\n"
        moment = repo.raw_date(config.now(workspace.settings))
        return repository.commit(paths, message, moment, workspace.settings.hook_timeout, identity, own=False), paths
