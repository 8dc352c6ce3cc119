"""One plan on its way to disk and git: pending edits, write-ahead record, file, commit. Each step registers how it is undone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mdmem import files, history, repo, write_ahead
from mdmem.changes.pending import commit_pending_edits
from mdmem.changes.plan import Plan
from mdmem.changes.transaction import WriteSteps
from mdmem.changes.write_outcome import WriteEvidence, WriteOutcome, holds_write, judge_write
from mdmem.errors import MdmemError, PathProblem, RepositoryProblem, StorageProblem
from mdmem.model import CommitId, FilePath
from mdmem.repo import PathState, Repository, commits
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.workspace import Workspace, read_committed

if TYPE_CHECKING:
    from mdmem import hookfiles
    from mdmem.changes import user_hooks
    from mdmem.repo import index_bits, mixed_commits
else:
    hookfiles = late.module("mdmem.hookfiles")
    index_bits = late.module("mdmem.repo.index_bits")
    mixed_commits = late.module("mdmem.repo.mixed_commits")
    user_hooks = late.module("mdmem.changes.user_hooks")


@dataclass(frozen=True, slots=True)
class WrittenChange:
    """A plan that was written and committed.

    Whether a person's pending edits of the file were committed before it, and what somebody saved meanwhile after it.
    """

    commit: CommitId
    had_pending_edits: bool
    had_save: bool = False


@dataclass(frozen=True, slots=True)
class Retry:
    """A change must be planned again: somebody saved the file before ours was written, or (`overtaken`) before git read it.

    `problem` is why git failed, if it did.
    """

    overtaken: bool
    problem: RepositoryProblem | None = None


def write_plan(
    workspace: Workspace, plan: Plan, note: history.CommitNote, allow: frozenset[str], steps: WriteSteps
) -> WrittenChange | Retry:
    """Write and commit a plan.

    Args:
        workspace: the workspace, which is locked.
        plan: what is to be written.
        note: what the commit says.
        allow: the refusals of the check that are let through.
        steps: takes how each step is undone. The caller undoes them where this raises.

    Raises:
        MdmemError: it was refused or failed.
    """
    repository, settings = workspace.repository, workspace.settings
    state = repository.state(plan.path)
    repository.require_ready(settings.allow_detached, state.branch, state.settled)
    identity = workspace.identity()
    if state.ignored:
        raise PathProblem(
            "ignored-path", f"{plan.path} is ignored by .gitignore", "Take the rule out; memory that git does not keep has no history."
        )
    order = commits.CommitOrder(
        paths=(plan.path,),
        message=history.compose_message(note, plan.old.text if plan.old else "", plan.edit.text),
        date=repo.raw_date(workspace.now()),
        hook_timeout=settings.hook_timeout,
        identity=identity,
        state=state,
        hookless=_is_hookless(repository),
    )
    if not state.bits:
        return _write(workspace, plan, order, state, allow, steps)
    if plan.before is None and index_bits.SKIP_WORKTREE in state.bits:
        hint = "Have git check it out: git sparse-checkout add, or git update-index --no-skip-worktree and git restore."
        raise PathProblem("bad-path", f"{plan.path} is in the repository, but not checked out", hint)
    with _without_bits(repository, plan.path, state.bits, steps):
        return _write(workspace, plan, order, state, allow, steps)


def _write(
    workspace: Workspace, plan: Plan, order: commits.CommitOrder, state: PathState, allow: frozenset[str], steps: WriteSteps
) -> WrittenChange | Retry:
    """Commit pending edits, if there are any, and write and commit the plan after them."""
    pending = commit_pending_edits(workspace, plan.before, state, order, allow, plan.actor)
    if pending is None:
        return _FileWrite(workspace, plan, order, state.commit, steps).run()
    entry, edited = pending.entry, pending.id
    steps.add(lambda _: commits.undo_commit(workspace.repository, edited, state.commit, plan.path, entry))
    return _FileWrite(workspace, plan, replace(order, state=None), edited, steps).run(had_pending_edits=True)


@contextmanager
def _without_bits(repository: Repository, path: FilePath, bits: tuple[str, ...], steps: WriteSteps) -> Iterator[None]:
    """Have git look at a file that it was told not to look at, until all is written, or undone."""

    def restore(_: BaseException) -> bool:
        commits.set_bits(repository, path, bits)
        return True

    steps.add(restore)
    commits.clear_bits(repository, path, bits)
    yield
    commits.set_bits(repository, path, bits)


def _is_hookless(repository: Repository) -> bool:
    """True if no hook takes part in a commit of ours; False also where only git could tell."""
    folder = repository.known_hooks_dir
    return folder is not None and hookfiles.has_only_our_hooks(folder)


class _FileWrite:
    """The write of one file and its commit, which is to follow the commit `parent`."""

    def __init__(self, workspace: Workspace, plan: Plan, order: commits.CommitOrder, parent: CommitId | None, steps: WriteSteps) -> None:
        self._workspace = workspace
        self._plan = plan
        self._order = order
        self._parent = parent
        self._steps = steps
        self._record = write_ahead.Record(
            path=plan.path,
            before=files.digest(plan.before) if plan.before is not None else None,
            after=files.digest(plan.after),
            message=order.message,
            date=order.date,
            temporary=files.temporary_name(),
        )
        self._commit: CommitId | None = None
        self._new_folders: tuple[Path, ...] = ()
        self._may_hold_write = True
        """False once our change was taken out of what somebody saved."""

    def run(self, had_pending_edits: bool = False) -> WrittenChange | Retry:
        """Write, commit, and judge the outcome."""
        try:
            if not self._put_in_place():
                return self._retry(overtaken=False)
            committed = commits.commit(self._workspace.repository, self._order)
            self._commit = committed.id
        except BaseException as problem:
            if (retry := self._settle_failure(problem)) is not None:
                return retry
            raise
        if committed.is_indexed:
            write_ahead.drop_record(self._workspace.state)
        return self._settle_commit(committed.id, had_pending_edits)

    def _put_in_place(self) -> bool:
        """Give the file its new bytes; False where somebody saved it since it was read."""
        self._steps.add(self._put_back)
        self._steps.add(self._undo_commit)
        self._new_folders = files.make_folders(self._plan.full_path.parent)
        write_ahead.save_record(self._workspace.state, self._record)
        if files.replace(self._plan.full_path, self._plan.after, self._plan.before, self._record.temporary):
            return True
        write_ahead.drop_record(self._workspace.state)
        return False

    def _retry(self, overtaken: bool, problem: RepositoryProblem | None = None) -> Retry:
        """Leave everything as somebody has saved it, to be planned again."""
        self._steps.keep()
        return Retry(overtaken, problem)

    def _settle_commit(self, commit: CommitId, had_pending_edits: bool) -> WrittenChange | Retry:
        """Compare what git committed with what was meant."""
        plan, repository = self._plan, self._workspace.repository
        same = commits.commit_has_bytes(repository, commit, plan.path, plan.after)
        committed = plan.after if same else read_committed(self._workspace, plan.path, commit)
        match judge_write(self._evidence(committed, is_committed=True)):
            case WriteOutcome.REWORDED:
                raise user_hooks.reworded_problem(plan.path, committed, plan.after)
            case WriteOutcome.OVERTAKEN:
                # What was committed is somebody's save: it is committed as theirs in the next try.
                commits.withdraw(repository, commit, self._parent)
                return self._retry(overtaken=True)
            case WriteOutcome.MIXED:
                return self._separate(commit, had_pending_edits)
            case _:
                return WrittenChange(commit, had_pending_edits)

    def _separate(self, commit: CommitId, had_pending_edits: bool) -> WrittenChange:
        """Commit the change alone, and what somebody saved on top of it as theirs."""
        workspace, plan, order = self._workspace, self._plan, replace(self._order, state=None)
        ours = mixed_commits.replace_commit(workspace.repository, commit, plan.path, plan.after, order)
        if ours is None:
            return WrittenChange(commit, had_pending_edits)  # somebody has built on it
        self._commit = ours
        data, state = self._on_disk(), workspace.repository.state(plan.path)
        try:
            theirs = commit_pending_edits(workspace, data, state, order, frozenset(), plan.actor) if data is not None else None
        except RepositoryProblem:
            theirs = None  # it stays a pending edit
        return WrittenChange(ours, had_pending_edits, had_save=theirs is not None)

    def _settle_failure(self, problem: BaseException) -> Retry | None:
        """Find out how far the write came: to be undone (None), or to be tried again on what somebody saved."""
        repository, plan = self._workspace.repository, self._plan
        # Where this process was interrupted, git may have been done before.
        interrupted = not isinstance(problem, MdmemError | OSError)
        self._commit = commits.commit_made_after(repository, self._parent, [plan.path], self._order.message) if interrupted else None
        data = None if self._commit else self._on_disk()
        outcome = judge_write(self._evidence(data, is_committed=self._commit is not None, problem=problem))
        if outcome not in (WriteOutcome.SAVED_OVER, WriteOutcome.ABANDONED):
            return None
        is_out = self._take_out()
        write_ahead.drop_record(self._workspace.state)
        if outcome is WriteOutcome.ABANDONED or not isinstance(problem, RepositoryProblem):
            return None
        if is_out:
            return self._retry(overtaken=True, problem=problem)
        self._steps.keep()
        hint = f"{plan.path} was changed meanwhile and is kept as it is: look it over."
        raise RepositoryProblem(problem.code, problem.message, hint) from problem

    def _evidence(self, data: bytes | None, is_committed: bool = False, problem: BaseException | None = None) -> WriteEvidence:
        """The evidence of a write: git committed `data`, or the file holds it."""
        plan = self._plan
        # Which hooks there are is asked only where they may have had a hand in it: it may take a git process.
        differs = data not in (None, plan.before, plan.after)
        return WriteEvidence(
            before=plan.before,
            after=plan.after,
            problem=problem,
            is_committed=is_committed,
            committed=data if is_committed else None,
            on_disk=None if is_committed else data,
            has_user_hooks=differs and not hookfiles.has_only_our_hooks(self._workspace.repository.hooks_dir),
        )

    def _undo_commit(self, _: BaseException) -> bool:
        """Take back the commit, if there is one, in git's index too; where somebody has built on it, it stays."""
        if self._commit is None:
            return True
        if not commits.undo_commit(self._workspace.repository, self._commit, self._parent, self._plan.path, None):
            return False
        if not self._holds_write(self._on_disk()):
            self._take_out()
        return True

    def _on_disk(self) -> bytes | None:
        """The bytes of the file; None where it is none that mdmem edits: somebody has made a link of it, say."""
        try:
            return files.read(self._plan.full_path)
        except PathProblem:
            return None

    def _holds_write(self, data: bytes | None) -> bool:
        return holds_write(self._evidence(data), data)

    def _take_out(self) -> bool:
        """Take our change out of the file as somebody, or a hook, left it; False where that could not be done."""
        self._may_hold_write = False
        plan = self._plan
        data = self._on_disk()
        if data is None or data == plan.before:
            return True
        theirs = user_hooks.without_change(data, plan.before, plan.after)
        if theirs is None:
            return False
        if plan.before is None and not theirs.strip():
            files.remove(plan.full_path)
            return True
        return data == theirs or files.replace(plan.full_path, theirs, data, files.temporary_name())

    def _put_back(self, problem: BaseException) -> bool:
        """Restore the file, and drop the record. Where the disk does not even take that, the record stays for the next command."""
        plan = self._plan
        try:
            if files.identity(str(plan.full_path.parent / self._record.temporary)):
                write_ahead.recover_temporaries(plan.full_path, self._record)
            data = self._on_disk() if self._may_hold_write else None
            if data is not None and data != plan.before and self._holds_write(data):
                if plan.before is None:
                    files.remove(plan.full_path)
                else:
                    files.replace(plan.full_path, plan.before, data, files.backup_name(self._record.temporary))
            for folder in reversed(self._new_folders):
                if not any(folder.iterdir()):
                    folder.rmdir()
            write_ahead.drop_record(self._workspace.state)
        except OSError as failure:
            raise StorageProblem(
                f"{problem}; and {plan.path} could not be put back: {failure.strerror}",
                "Make room on the disk; the next command settles it.",
            ) from problem
        return True
