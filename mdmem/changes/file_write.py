"""Write and commit a plan, with pending edits before it; each step registers its undo.

The outcome is judged by the disk, git, the plan and the failure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from enum import Enum, auto
from functools import partial
from pathlib import Path

from mdmem import repo
from mdmem.changes.commit_notes import forget_arrivals, with_arrivals
from mdmem.changes.pending import commit_pending_edits, with_pulled_lines
from mdmem.changes.recover import WriteSteps, clear_bits, not_put_back
from mdmem.editors import EditResult
from mdmem.folder import files, hook_files, journal
from mdmem.folder.journal import CommitStep, FileStep, Journal
from mdmem.model import CommitId, FactId, FilePath, Op, Supersession
from mdmem.model.errors import MdmemError, PathProblem, RefusedChange, RepositoryProblem
from mdmem.past.differences import changed_lines
from mdmem.repo import PathState, Repository, commits, worktree
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.text.document import Document, parse_bytes
from mdmem.workspace import Workspace, read_committed

_WORD = late.pattern(r"\w+")
_ALIKE = 0.6
"""The minimum ratio of similar lines: that of `difflib` for close matches."""


class WriteOutcome(Enum):
    COMMITTED = auto()
    """The commit has the change, perhaps reformatted by a user's hook."""
    REWORDED = auto()
    """A user's hook changed the words, and git committed those."""
    MIXED = auto()
    """A save after the write: git committed it and the change as one."""
    OVERTAKEN = auto()
    """A save over the write: git committed the save."""
    INTERRUPTED = auto()
    """Git committed it, but the process was interrupted before it could say so."""
    FAILED = auto()
    """Nothing is committed; the file holds what was written, or never did."""
    SAVED_OVER = auto()
    """No commit, as somebody saved over the file: it can be tried again."""
    ABANDONED = auto()
    """Saved over, and no use to retry: slow hooks, or an interruption."""


@dataclass(frozen=True, slots=True)
class WriteEvidence:
    """`problem` is None where git says it committed. `on_disk` is read only without a commit."""

    before: bytes | None
    after: bytes
    has_user_hooks: bool
    problem: BaseException | None = None
    is_committed: bool = False
    committed: bytes | None = None
    on_disk: bytes | None = None


def judge_write(evidence: WriteEvidence) -> WriteOutcome:
    if evidence.is_committed:
        return _judge_commit(evidence)
    if isinstance(evidence.problem, OSError) or holds_write(evidence, evidence.on_disk):
        return WriteOutcome.FAILED
    if isinstance(evidence.problem, RepositoryProblem) and evidence.problem.code != "hook-timeout":
        return WriteOutcome.SAVED_OVER
    return WriteOutcome.ABANDONED


def _judge_commit(evidence: WriteEvidence) -> WriteOutcome:
    before, after, committed = evidence.before, evidence.after, evidence.committed
    if evidence.problem is not None:
        return WriteOutcome.INTERRUPTED
    if committed == after:
        return WriteOutcome.COMMITTED
    if contains_change(committed, before, after):
        return WriteOutcome.COMMITTED if evidence.has_user_hooks else WriteOutcome.MIXED
    return WriteOutcome.REWORDED if holds_write(evidence, committed) else WriteOutcome.OVERTAKEN


def holds_write(evidence: WriteEvidence, data: bytes | None) -> bool:
    """True if a file holds what was written, or what a user's hook made of it."""
    if data == evidence.after:
        return True
    if data is None or data == evidence.before or not evidence.has_user_hooks:
        return False
    return looks_like_work_of_hook(data, evidence.before, evidence.after)


def contains_change(data: bytes | None, before: bytes | None, after: bytes) -> bool:
    removed, added = _changed_lines(before, after)
    words, meant = f" {_words(data)} ", f" {_words(after)} "
    added_words, removed_words = (
        [f" {line_words} " for line_words in map(_words, lines) if line_words]
        for lines in (added, removed)
    )
    return all(line in words for line in added_words) and not any(
        line in words for line in removed_words if line not in meant
    )


def looks_like_work_of_hook(data: bytes, before: bytes | None, after: bytes) -> bool:
    """True if a hook, rather than a person's save, may have made this of the write.

    Only white space, list markers and words of similar added lines then differ.
    """
    ours, theirs = _forms(after), _forms(data)
    if "".join(ours) == "".join(theirs):
        return True
    from difflib import SequenceMatcher  # noqa: PLC0415 - 2 ms, only after a hook's work

    added = set(_forms("\n".join(_changed_lines(before, after)[1])))
    return len(ours) == len(theirs) and all(
        our_line == their_line
        or (our_line in added and SequenceMatcher(None, our_line, their_line).ratio() >= _ALIKE)
        for our_line, their_line in zip(ours, theirs, strict=True)
    )


def without_change(data: bytes, before: bytes | None, after: bytes) -> bytes | None:
    """A change removed from what was saved with it; None where the two are inseparable."""
    # only where a save was committed with a write
    from mdmem.editors.merge3 import inverse_patch  # noqa: PLC0415

    try:
        return inverse_patch.undo(parse_bytes(data), after.decode(), _text(before)).text.encode()
    except MdmemError:
        return None


def reworded_problem(path: FilePath, committed: bytes | None, after: bytes) -> RepositoryProblem:
    lines = zip(_lines(after), _lines(committed), strict=False)
    reworded = next(
        (their_line for our_line, their_line in lines if _words(our_line) != _words(their_line)), ""
    )
    hint = "Use the hook's wording, or have the hook skip memory files."
    return RepositoryProblem(
        "commit-failed",
        f"a hook changed the wording of what was written to {path}: {reworded}",
        hint,
    )


def _changed_lines(before: bytes | None, after: bytes) -> tuple[list[str], list[str]]:
    return changed_lines(_text(before), _text(after))


def _lines(text: bytes | str | None) -> list[str]:
    return [line for line in map(str.strip, _text(text).splitlines()) if line]


def _forms(text: bytes | str) -> list[str]:
    return [
        "".join((f"-{line[1:]}" if line[:2] in ("* ", "+ ") else line).split())
        for line in _lines(text)
    ]


def _words(text: bytes | str | None) -> str:
    return " ".join(_WORD.findall(_text(text)))


def _text(text: bytes | str | None) -> str:
    return text if isinstance(text, str) else (text or b"").decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Plan:
    """`ended` facts are superseded without a successor, `retracts` are log lines no longer counted,
    `marks` means statements about unchanged text, `warnings` are overridden check errors.
    `companion` is another file's part of the same commit, `others` are those of changed links.
    `forgotten` and `also` are places, of the forgotten line with its log copies, and of the same
    words elsewhere. `replaced`: the words of facts that another one takes the place of; of a
    revert, of those that go, and `restored` of those that come back. `marked`: those places of
    `forgotten` that are in logs, whose lines stay.
    """

    path: FilePath
    full_path: Path
    before: bytes | None
    old: Document | None
    new: Document
    edit: EditResult
    added: tuple[FactId, ...] = ()
    removed: tuple[FactId, ...] = ()
    supersedes: tuple[Supersession, ...] = ()
    ended: tuple[FactId, ...] = ()
    retracts: tuple[FactId, ...] = ()
    marks: bool = False
    warnings: tuple[str, ...] = ()
    actor: str | None = None
    companion: Plan | None = None
    others: tuple[Plan, ...] = ()
    notes: tuple[str, ...] = ()
    forgotten: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    fact: FactId | None = None
    replaced: tuple[str, ...] = ()
    marked: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()

    @property
    def files(self) -> tuple[Plan, ...]:
        return (self, *((self.companion,) if self.companion else ()), *self.others)

    @property
    def after(self) -> bytes:
        return self.edit.text.encode()

    @property
    def op(self) -> Op:
        if self.changes or self.retracts:
            return self.edit.op
        return Op.CONFIRM if self.edit.confirms else Op.SUPERSEDE

    @property
    def changes(self) -> bool:
        return self.after != (self.before or b"") or (
            self.before is None and self.edit.op is Op.MEMORY_TOOL
        )


@dataclass(frozen=True, slots=True)
class WrittenChange:
    """A committed plan; `pending` files were committed before, `saved` ones after it."""

    commit: CommitId
    pending: tuple[FilePath, ...] = ()
    saved: tuple[FilePath, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Retry:
    """Plan again: somebody saved the file before the write, or (`overtaken`) before git read it.

    `problem` is why git failed, `note` says that a save was merged with what it overwrote.
    """

    overtaken: bool
    problem: RepositoryProblem | None = None
    note: str | None = None


def write_plan(
    workspace: Workspace,
    plan: Plan,
    message: str,
    allow: frozenset[str],
    steps: WriteSteps,
    meanwhile: Callable[[], None] | None = None,
) -> WrittenChange | Retry:
    """The workspace is locked. Raises: MdmemError; the caller then undoes `steps`.

    `allow`: check errors to override. `meanwhile` is called while git commits, at each attempt.
    """
    repository, settings = workspace.repository, workspace.settings
    states = [repository.state(each.path) for each in plan.files]
    repository.require_ready(settings.allow_detached, states[0].branch, states[0].settled)
    identity = workspace.identity()
    for each, state in zip(plan.files, states, strict=True):
        _refuse_unwritable(each, state)
    order = commits.CommitOrder(
        paths=tuple(each.path for each in plan.files),
        message=with_arrivals(workspace, message),
        date=repo.raw_date(workspace.now()),
        hook_timeout=settings.hook_timeout,
        identity=identity,
        state=states[0] if len(states) == 1 else None,
        hookless=_is_hookless(repository),
        meanwhile=meanwhile,
    )
    with ExitStack() as bits:
        for each, state in zip(plan.files, states, strict=True):
            if state.bits:
                bits.enter_context(_without_bits(repository, each.path, state.bits, steps))
        result = _write(workspace, plan, order, states, allow, steps)
    if isinstance(result, WrittenChange):
        forget_arrivals(workspace)
    return result


def _refuse_unwritable(plan: Plan, state: PathState) -> None:
    if state.ignored:
        hint = "Remove the rule; memory outside git has no history."
        raise PathProblem("ignored-path", f"{plan.path} is ignored by .gitignore", hint)
    if state.bits and plan.before is None and worktree.SKIP_WORKTREE in state.bits:
        hint = (
            "Have git check it out: git sparse-checkout add, or git update-index --no-skip-worktree"
            " and git restore."
        )
        raise PathProblem(
            "bad-path", f"{plan.path} is in the repository, but not checked out", hint
        )


def _write(
    workspace: Workspace,
    plan: Plan,
    order: commits.CommitOrder,
    states: Sequence[PathState],
    allow: frozenset[str],
    steps: WriteSteps,
) -> WrittenChange | Retry:
    repository, parent, paths = workspace.repository, states[0].commit, []
    pending_plans = [
        (each, state) for each, state in zip(plan.files, states, strict=True) if state.pending
    ]
    for each, state in pending_plans:
        if (retry := _keep_pulled_lines(workspace, each, state, steps)) is not None:
            return retry
    notes = []
    for each, state in pending_plans:
        its_order = replace(order, paths=(each.path,))
        if pending := commit_pending_edits(
            workspace, each.before, replace(state, commit=parent), its_order, allow, plan.actor
        ):
            steps.add(partial(pending.undo, repository, each.path, parent))
            parent = pending.id
            paths += [] if pending.is_pulled else [each.path]
            notes += [pending.note] if pending.note else []
    if order.state and parent != states[0].commit:
        order = replace(order, state=replace(order.state, commit=parent))
    return _Write(workspace, plan, order, parent, steps).run(tuple(paths), tuple(notes))


def _keep_pulled_lines(
    workspace: Workspace, plan: Plan, state: PathState, steps: WriteSteps
) -> Retry | None:
    if plan.before is None or workspace.settings.direct_edits == "refuse":
        return None
    kept = with_pulled_lines(workspace, plan.path, state.branch, state.commit, plan.before)
    if kept is None:
        return None
    if not files.replace(plan.full_path, kept.data, plan.before, files.temporary_name()):
        return Retry(overtaken=False)
    steps.add(partial(_restore_save, plan, kept.data))
    return Retry(overtaken=False, note=kept.note)


def _restore_save(plan: Plan, kept: bytes, _: BaseException) -> bool:
    return plan.before is None or files.replace(
        plan.full_path, plan.before, kept, files.temporary_name()
    )


@contextmanager
def _without_bits(
    repository: Repository, path: FilePath, bits: tuple[str, ...], steps: WriteSteps
) -> Iterator[None]:
    clear_bits(repository, path, bits, steps)
    yield
    commits.set_bits(repository, path, bits)


def _is_hookless(repository: Repository) -> bool:
    """True if no hook runs on our commits; False also where only git could tell."""
    folder = repository.known_hooks_dir
    return folder is not None and hook_files.has_only_our_hooks(folder)


class _Target:
    def __init__(self, workspace: Workspace, plan: Plan) -> None:
        self._workspace = workspace
        self.plan = plan
        self.step = FileStep(
            path=plan.path,
            before=files.digest(plan.before) if plan.before is not None else None,
            after=files.digest(plan.after),
            temporary=files.temporary_name(),
        )
        self._new_folders: tuple[Path, ...] = ()
        self._may_hold_write = True
        """False once our change was removed from what somebody saved."""

    def make_folders(self) -> None:
        self._new_folders = files.make_folders(self.plan.full_path.parent)

    def prepare(self) -> None:
        files.prepare(self.plan.full_path, self.plan.after, self.step.temporary)
        files.sync(self.plan.full_path.parent)

    def put_in_place(self, is_prepared: bool) -> bool:
        """False where somebody saved the file since it was read."""
        return files.replace(
            self.plan.full_path,
            self.plan.after,
            self.plan.before,
            self.step.temporary,
            is_prepared,
        )

    def evidence(
        self, data: bytes | None, is_committed: bool = False, problem: BaseException | None = None
    ) -> WriteEvidence:
        plan = self.plan
        # Hooks are looked for only where they may have changed the file, since that may take a git
        # process.
        differs = data not in (None, plan.before, plan.after)
        return WriteEvidence(
            before=plan.before,
            after=plan.after,
            problem=problem,
            is_committed=is_committed,
            committed=data if is_committed else None,
            on_disk=None if is_committed else data,
            has_user_hooks=differs
            and not hook_files.has_only_our_hooks(self._workspace.repository.hooks_dir),
        )

    def committed(self, commit: CommitId) -> bytes | None:
        plan, repository = self.plan, self._workspace.repository
        if commits.commit_has_bytes(repository, commit, plan.path, plan.after):
            return plan.after
        return read_committed(self._workspace, plan.path, commit)

    def on_disk(self) -> bytes | None:
        """None also where the file is now a link or the like, which mdmem does not edit."""
        try:
            return files.read(self.plan.full_path)
        except PathProblem:
            return None

    def holds_write(self) -> bool:
        """True also for what a hook made of the write."""
        data = self.on_disk()
        return holds_write(self.evidence(data), data)

    def take_out(self) -> bool:
        """Remove our change from what somebody or a hook saved; False where that is impossible."""
        self._may_hold_write = False
        plan = self.plan
        data = self.on_disk()
        if data is None or data == plan.before:
            return True
        theirs = without_change(data, plan.before, plan.after)
        if theirs is None:
            return False
        if plan.before is None and not theirs.strip():
            files.remove(plan.full_path)
            return True
        return data == theirs or files.replace(plan.full_path, theirs, data, files.temporary_name())

    def put_back(self) -> None:
        plan = self.plan
        if files.identity(str(plan.full_path.parent / self.step.temporary)):
            journal.recover_temporaries(plan.full_path, self.step)
        data = self.on_disk() if self._may_hold_write else None
        if data is not None and data != plan.before and holds_write(self.evidence(data), data):
            if plan.before is None:
                files.remove(plan.full_path)
            else:
                files.replace(
                    plan.full_path, plan.before, data, files.backup_name(self.step.temporary)
                )
        for folder in reversed(self._new_folders):
            if not any(folder.iterdir()):
                folder.rmdir()


class _Write:
    def __init__(
        self,
        workspace: Workspace,
        plan: Plan,
        order: commits.CommitOrder,
        parent: CommitId | None,
        steps: WriteSteps,
    ) -> None:
        self._workspace = workspace
        self._targets = [_Target(workspace, each) for each in plan.files]
        self._order = order
        self._parent = parent
        self._steps = steps
        self._commit: CommitId | None = None
        self._journal_path = workspace.state / journal.WRITE_NAME

    def run(self, pending: tuple[FilePath, ...], notes: tuple[str, ...]) -> WrittenChange | Retry:
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
            journal.drop(self._journal_path)
        return self._settle_commit(WrittenChange(committed.id, pending, notes=notes))

    def _put_in_place(self) -> bool:
        """The journal names all files, and the new bytes of all are on disk before the first is put
        in place: after a crash the next command can finish the write.
        """
        self._steps.add(self._put_back)
        self._steps.add(self._undo_commit)
        for target in self._targets:
            target.make_folders()
        journal.save(
            self._journal_path,
            Journal(
                steps=tuple(target.step for target in self._targets),
                then=CommitStep(self._order.message, self._order.date),
            ),
        )
        for target in self._targets[1:]:
            target.prepare()
        for number, target in enumerate(self._targets):
            if not target.put_in_place(is_prepared=number > 0):
                self._withdraw(self._targets[:number])
                for other in self._targets[number:]:
                    other.put_back()
                journal.drop(self._journal_path)
                return False
        return True

    def _retry(self, overtaken: bool, problem: RepositoryProblem | None = None) -> Retry:
        self._steps.keep()
        return Retry(overtaken, problem)

    def _withdraw(self, targets: Sequence[_Target]) -> None:
        for target in targets:
            if target.holds_write():
                target.put_back()
            else:
                target.take_out()

    def _settle_commit(self, written: WrittenChange) -> WrittenChange | Retry:
        commit = written.commit
        overtaken, mixed, formatted = [], [], []
        for target in self._targets:
            committed = target.committed(commit)
            outcome = judge_write(target.evidence(committed, is_committed=True))
            if outcome is WriteOutcome.REWORDED:
                raise reworded_problem(target.plan.path, committed, target.plan.after)
            overtaken += [target] if outcome is WriteOutcome.OVERTAKEN else []
            mixed += [target] if outcome is WriteOutcome.MIXED else []
            formatted += [target.plan.path] if committed != target.plan.after else []
        if overtaken:
            # The commit holds somebody's save: the next try commits that as theirs.
            commits.withdraw(self._workspace.repository, commit, self._parent)
            self._withdraw([target for target in self._targets if target not in overtaken])
            return self._retry(overtaken=True)
        if mixed:
            return self._separate(mixed, written)
        if formatted:
            # What a hook made of it is in the commit, while git's index has what it was given.
            commits.renew_index(self._workspace.repository, formatted)
        return written

    def _separate(self, mixed: Sequence[_Target], written: WrittenChange) -> WrittenChange:
        repository, commit, saved = self._workspace.repository, written.commit, []
        for target in mixed:
            plan = target.plan
            ours = commits.replace_commit(repository, commit, plan.path, plan.after, self._order)
            if ours is None:
                return written  # somebody has built on it
            self._commit = commit = ours
        for target in mixed:
            path, data = target.plan.path, target.on_disk()
            order = replace(self._order, paths=(path,))
            with suppress(RepositoryProblem, RefusedChange):  # it stays a pending edit
                # Whoever waits for this write did not save the file, so it is a person's save,
                # and no agent's claim.
                theirs = (
                    commit_pending_edits(
                        self._workspace, data, repository.state(path), order, frozenset(), None
                    )
                    if data
                    else None
                )
                saved += [path] if theirs else []
        return replace(written, commit=commit, saved=tuple(saved))

    def _settle_failure(self, problem: BaseException) -> Retry | None:
        """Find how far the write came: None to undo it, or a retry on what somebody saved."""
        # If this process was interrupted, git may have committed before that.
        interrupted = not isinstance(problem, MdmemError | OSError)
        order = self._order
        if interrupted:
            self._commit = commits.commit_made_after(
                self._workspace.repository, self._parent, order.paths, order.message
            )
        lost: dict[_Target, WriteOutcome] = {}
        for target in self._targets:
            data = None if self._commit else target.on_disk()
            outcome = judge_write(
                target.evidence(data, is_committed=self._commit is not None, problem=problem)
            )
            if outcome in (WriteOutcome.SAVED_OVER, WriteOutcome.ABANDONED):
                lost[target] = outcome
        if not lost:
            return None
        taken_out = [target.take_out() for target in lost]
        self._withdraw([target for target in self._targets if target not in lost])
        journal.drop(self._journal_path)
        if WriteOutcome.ABANDONED in lost.values() or not isinstance(problem, RepositoryProblem):
            return None
        if all(taken_out):
            return self._retry(overtaken=True, problem=problem)
        self._steps.keep()
        paths = " and ".join(target.plan.path for target in lost)
        was, kept, it = ("was", "is", "it") if len(lost) == 1 else ("were", "are", "them")
        hint = f"{paths} {was} changed meanwhile and {kept} kept unchanged: check {it}."
        raise RepositoryProblem(problem.code, problem.message, hint) from problem

    def _undo_commit(self, _: BaseException) -> bool:
        """Remove the commit, also from git's index, unless somebody built on it."""
        if self._commit is None:
            return True
        repository = self._workspace.repository
        if not commits.withdraw(repository, self._commit, self._parent):
            return False
        # If the disk is too full for it, the files still have to be put back.
        commits.renew_index(repository, self._order.paths)
        for target in self._targets:
            if not target.holds_write():
                target.take_out()
        return True

    def _put_back(self, problem: BaseException) -> bool:
        """Restore files, then drop the journal; it stays for recovery if the disk fails."""
        try:
            for target in self._targets:
                target.put_back()
            journal.drop(self._journal_path)
        except OSError as failure:
            raise not_put_back(problem, self._order.paths, failure) from problem
        return True
