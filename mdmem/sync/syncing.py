"""The steps of a sync: set up, fetch, combine, land, push; again where somebody was faster."""

from __future__ import annotations

import random
import time
from contextlib import ExitStack
from pathlib import Path

from mdmem import secrets
from mdmem.changes import placing
from mdmem.changes.apply import preview
from mdmem.changes.commit_notes import forget_arrivals
from mdmem.changes.placing import Prepared
from mdmem.changes.recover import lock_workspace, recover
from mdmem.changes.revert import plan_revert
from mdmem.folder import files
from mdmem.folder.machine import host_name, machine_name
from mdmem.health import incoming, sync_status
from mdmem.model import CommitId, FilePath
from mdmem.model.errors import MdmemError, RepositoryProblem, SyncProblem, shell_word, verb
from mdmem.model.pipelines import QUEUED, SYNCED, Incoming, Sync, SyncResult
from mdmem.model.writes import Revert
from mdmem.repo import Repository
from mdmem.repo.branch_commits import merge_base
from mdmem.repo.remotes import DEVICES, Remote, find_remote
from mdmem.startup.records import dataclass, replace
from mdmem.sync.combining import (
    Combined,
    combine,
    exchange,
    is_purge_unsent,
    is_purged_there,
    is_reached,
    set_up,
)
from mdmem.sync.landing import land, lock_work_tree
from mdmem.sync.outgoing import is_said, require_memory_alone, require_no_secrets
from mdmem.sync.purged_line import (
    branches_again,
    forget_old,
    is_purge_known,
    is_purged_text_back,
    make_again,
    own_refs_again,
)
from mdmem.sync.witness import witness
from mdmem.workspace import Progress, Say, Workspace
from mdmem.workspace.sync_state import SyncError, SyncState, save_state, state_of

_LOCK_NAME, _MARK_NAME = "sync.lock", "sync.again"
"""Held by the sync at work; left by another, for which the one at work looks once more."""
_PURGE_NAME = "sync.purge"
_USUAL = ("main", "master")
_PUSHES, _LANDINGS = 8, 20
_UNLOCKED_LANDINGS = 2
"""The landings that are tried before nobody may write meanwhile."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_MINUTES = {
    "remote-unreachable": (1, 5, 15, 60),
    "sync-timeout": (1, 5, 15, 60),
    "remote-auth": (60,),
    "remote-refused": (60,),
    "sync-busy": (1,),
    "busy": (1,),
}
"""The pauses after failures, the last one from then on; others wait for a person."""


def sync(workspace: Workspace, request: Sync, say: Say, progress: Progress | None) -> SyncResult:
    """Bring this machine and the remote together.

    Raises: SyncProblem, RepositoryProblem (`running`, `repository-busy`, `detached-head`,
    `pending-edits`, `git-too-old`), RefusedChange (`secret-found`); local commits are kept.
    """
    if request.all_files or request.join or request.purge:
        others = "join two memories" if request.join else "sync all files"
        does = "purge" if request.purge else others
        workspace.require_person(workspace.actor, does)
    began = time.monotonic()
    workspace.ensure_state()
    folder = workspace.state.parent  # all workspaces of the work tree move with one branch
    mark = folder / _MARK_NAME
    with ExitStack() as turn:
        try:
            turn.enter_context(files.lock(folder / _LOCK_NAME, 0))
        except RepositoryProblem as problem:
            mark.touch()
            message, hint = "another sync of this repository is at work", "It looks once more."
            raise RepositoryProblem("running", message, hint) from problem
        mark.unlink(missing_ok=True)
        result = _sync(workspace, request, say, progress)
        while mark.exists() and not request.dry_run:
            mark.unlink(missing_ok=True)
            later = _sync(workspace, request, say, progress)
            result = replace(
                later,
                pulled=result.pulled + later.pulled,
                pushed=result.pushed + later.pushed,
                incoming=(*result.incoming, *later.incoming),
            )
    return replace(result, ms=round((time.monotonic() - began) * 1000, 1))


def _sync(workspace: Workspace, request: Sync, say: Say, progress: Progress | None) -> SyncResult:
    repository = workspace.repository
    branch = repository.branch()
    repository.require_ready(allow_detached=False, branch=branch)
    remote = find_remote(repository, branch or "", request.wait, workspace.settings.sync_remote)
    remote.progress = progress
    state = state_of(workspace, remote)
    steps = _Steps(workspace=workspace, remote=remote, state=state, request=request, say=say)
    try:
        with lock_workspace(workspace, say, to_sync=True):
            recover(workspace, say)
            if _purge_mark(workspace).exists():
                _finish_purge(workspace)
        set_up(workspace)
        result, seen = steps.take()
    except MdmemError as problem:
        save_state(workspace, steps.failed(problem))
        raise
    finally:
        placing.discard(workspace)
    if not request.dry_run:
        now, told = time.time(), tuple(incoming.current(workspace, steps.state.incoming))
        done = replace(steps.state, seen=seen, last=now, tried=now, incoming=told)
        save_state(workspace, replace(done, failures=0, next=None, error=None))
    return result


def _purge_mark(workspace: Workspace) -> Path:
    """The file that a process leaves if it is killed while it carries a purge through."""
    return workspace.state.parent / _PURGE_NAME


def _finish_purge(workspace: Workspace) -> None:
    forget_old(workspace)
    _purge_mark(workspace).unlink(missing_ok=True)


@dataclass(slots=True)
class _Steps:
    workspace: Workspace
    remote: Remote
    state: SyncState
    request: Sync
    say: Say
    told: tuple[Incoming, ...] = ()
    """The problems that came in, for which a commit here would have been refused."""
    is_waiting: bool = False
    """True if the branch has not all commits of this machine: it is protected."""

    def take(self) -> tuple[SyncResult, CommitId | None]:
        repository, remote = self.workspace.repository, self.remote
        before = repository.head()
        seen = self.state.seen or repository.commit_named(remote.tracking_ref)
        if is_purge_unsent(repository, remote, seen, before):
            if not self.request.purge:
                raise SyncProblem(
                    "purge-unpushed",
                    f"{remote.name} still has text that was purged here",
                    f"To purge it there too: {verb('sync', 'purge')}",
                )
            return self._carry_purge(remote.fetch(), seen)
        done: list[Combined] = []
        for attempt in range(_PUSHES):
            if attempt:
                self._pause(attempt)
            theirs = remote.fetch()
            if theirs and not self.state.seen:
                self.state = replace(self.state, seen=seen)
            if self.request.purge and (
                is_purged_there(repository, seen, theirs, before)
                or is_purged_text_back(repository, theirs, before)
            ):
                return self._carry_purge(theirs, seen)
            combined = self._bring_together(theirs)
            done += [combined] if combined else []
            commit = combined.commit if combined else None
            if self.request.dry_run or commit is None:
                break
            if self._push(commit, theirs) and self._exchange_proposals(commit):
                break
        else:
            raise SyncProblem(
                "sync-busy",
                f"gave up after {_PUSHES} concurrent pushes to {remote.name}; local commits are"
                " kept",
                "Try again.",
            )
        result = self._result(before, theirs, commit, done, attempt)
        if not self.is_waiting:
            return result, commit
        waits = sync_status.waiting(self.workspace, replace(self.state, seen=theirs))
        if waits:
            self.say(waits)
        return replace(result, state=QUEUED if waits else SYNCED), theirs

    def failed(self, problem: MdmemError) -> SyncState:
        for each in self.told:  # the files are in place, and there is no result to tell it
            self.say(each.line)
        state, repository = self.state, self.workspace.repository
        state = replace(state, refused=state.refused or problem.code == "remote-refused")
        now, minutes = time.time(), _MINUTES.get(problem.code, ())
        failures = state.failures if self.request.automatic else 0
        pause = minutes[min(failures, len(minutes) - 1)] if minutes else None
        since = state.error.since if state.error and state.error.code == problem.code else now
        return replace(
            state,
            tried=now,
            failures=failures + 1,
            next=now + 60 * pause if pause else None,
            error=SyncError(
                code=problem.code,
                message=secrets.redact(str(problem)),
                since=since,
                head=repository.head(),
                theirs=repository.commit_named(self.remote.tracking_ref),
            ),
        )

    @property
    def _pushes_branch(self) -> bool:
        return self.workspace.settings.sync_push == "branch"

    @property
    def _syncs_all(self) -> bool:
        return self.request.all_files or self.workspace.settings.sync_files == "all"

    def _push(self, commit: CommitId, theirs: CommitId | None) -> bool:
        if commit == theirs:
            return True
        if theirs and (self.state.refused or self._pushes_branch):
            self.is_waiting = True
            if is_said(self.workspace.repository, theirs, commit):
                self.state = replace(self.state, agreed=commit)
                return True
        require_no_secrets(self.workspace, theirs, commit)
        if theirs is None:
            self._name_another_beginning(commit)
        elif self._pushes_branch:
            return self._push_own_branch(commit)
        self.is_waiting = False
        is_pushed = self.remote.push(commit)
        if is_pushed:
            self.state = replace(self.state, refused=False, agreed=None, branch="")
            self._set_upstream()
        return is_pushed

    def _push_own_branch(self, commit: CommitId) -> bool:
        """Push to this machine's own branch, forward only; where its name is taken, with digits."""
        there, name = self.remote.devices(), machine_name()
        if name in there and not is_reached(self.workspace.repository, there[name], commit):
            name = f"{name}-{host_name()}"
        self.state = replace(self.state, branch=f"{DEVICES}{name}")
        return there.get(name) == commit or self.remote.update(
            {f"refs/heads/{DEVICES}{name}": (commit, None)}
        )

    def _name_another_beginning(self, commit: CommitId) -> None:
        """Say so if the remote has other branches, and none with a commit of this one."""
        repository, remote = self.workspace.repository, self.remote
        others = {
            name: tip
            for name, tip in remote.tips().items()
            if not name.startswith("mdmem/") and name.isprintable()
        }
        for name, tip in others.items():
            known = repository.commit_named(tip) or repository.commit_named(
                f"refs/remotes/{remote.name}/{name}"
            )
            if known and merge_base(repository, known, commit):
                return
        if others:
            name = next((each for each in _USUAL if each in others), min(others))
            rename = repository.command_line(f"git branch -m {shell_word(name)}")
            settings = f"{shell_word(f'branch.{name}.merge')} {shell_word(f'refs/heads/{name}')}"
            follow = repository.command_line(f"git config {settings}")
            self.say(
                f"{remote.name} has a branch {name}, which shares no commit with {remote.branch}:"
                f" the two are not merged. To join them: {rename}; {follow};"
                f" {verb('sync', 'join')}"
            )

    def _exchange_proposals(self, commit: CommitId) -> bool:
        """False where somebody else was faster."""
        seen = exchange(self.workspace, self.remote, commit, self.state.proposals, self.say)
        if seen is not None:
            self.state = replace(self.state, proposals=seen)
        return seen is not None

    def _bring_together(self, theirs: CommitId | None) -> Combined | None:
        """Combine both sides and land what comes, again where somebody writes meanwhile."""
        combined, prepared = None, Prepared()
        for attempt in range(_LANDINGS):
            with ExitStack() as locks:
                is_locked = attempt >= _UNLOCKED_LANDINGS
                if is_locked:
                    locks.enter_context(lock_work_tree(self.workspace, self.say))
                ours = self.workspace.repository.head()
                combined = self._combine(theirs, ours, combined if is_locked else None)
                if combined is None or combined.commit == ours or self.request.dry_run:
                    return combined
                if land(self.workspace, ours, combined.commit, self.say, prepared, is_locked):
                    break
        else:
            raise RepositoryProblem(
                "busy", "this branch moves faster than it can be synced", "Try again."
            )
        if combined.merges:
            forget_arrivals(self.workspace)
        self._judge(ours, combined.commit)
        if not self.request.join:  # what was made apart says nothing of clocks
            witness(self.workspace, ours, combined.commit, self.say)
        return combined

    def _judge(self, before: CommitId | None, after: CommitId) -> None:
        if came := incoming.judge(self.workspace, before, after, self._can_revert):
            self.told += came
            self.state = replace(self.state, incoming=(*self.state.incoming, *came))
            (self.workspace.state / files.SYNC_NEWS).touch()

    def _can_revert(self, commit: CommitId, path: FilePath) -> bool:
        try:
            plan = plan_revert(self.workspace, Revert(commit))
            previews = [preview(self.workspace, edit) for edit in plan.edits]
        except MdmemError:
            return False
        return any(each.changed and each.path == path for each in previews)

    def _combine(
        self, theirs: CommitId | None, ours: CommitId | None, earlier: Combined | None
    ) -> Combined | None:
        """Combine both sides; the merges of an earlier try are kept, with what is new on top."""
        combined = combine(
            workspace=self.workspace,
            remote=self.remote,
            state=self.state,
            theirs=earlier.commit if earlier else theirs,
            ours=ours,
            all_files=self._syncs_all,
            join=self.request.join,
            sets_up=earlier is None,
            is_protected=self.state.refused or self._pushes_branch,
            takes_devices=not self._pushes_branch,
        )
        if earlier is None or combined is None:
            for line in combined.barred if combined else ():
                self.say(line)
            return combined
        return Combined(
            commit=combined.commit,
            merges=(*earlier.merges, *combined.merges),
            taken_in=(*earlier.taken_in, *combined.taken_in),
            mark=combined.mark or earlier.mark,
        )

    def _carry_purge(
        self, theirs: CommitId | None, seen: CommitId | None
    ) -> tuple[SyncResult, CommitId | None]:
        """Bring a purge to the side that lacks it; what only that side has is made again."""
        repository = self.workspace.repository
        before = repository.head()
        is_there = is_purged_there(repository, seen, theirs, before)
        for _ in range(_LANDINGS):
            ours, since = repository.head(), seen
            if theirs and ours and not (since and is_reached(repository, since, theirs, ours)):
                # Both have purged: what both had is gone, and each is told from the other's line.
                known = is_purge_known(repository, theirs, ours)
                since = None if known is None else (theirs if known else ours)
                is_there = bool(known)
            if not (theirs and ours and since):
                raise SyncProblem(
                    "remote-rewound",
                    f"{self.remote.name} and this branch have both left what both had",
                    "Decide by hand: git log --all --oneline",
                )
            line, side = (theirs, ours) if is_there else (ours, theirs)
            if not self._syncs_all:
                require_memory_alone(self.workspace, side, since)
            commit = make_again(self.workspace, line, side, since, self.say)
            result = self._result(before, theirs, commit, [], 0)
            if self.request.dry_run:
                return result, commit
            _purge_mark(self.workspace).touch()
            if is_there:
                own_refs_again(self.workspace, commit, ours, self.say)
            if commit == ours or land(self.workspace, ours, commit, self.say):
                break
        else:
            raise RepositoryProblem(
                "busy", "this branch moves faster than it can be synced", "Try again."
            )
        if commit != theirs:
            require_no_secrets(
                self.workspace, theirs if is_there or since == ours else since, commit
            )
        if commit != theirs and not self._push_purged(commit, None if is_there else theirs):
            raise SyncProblem("sync-busy", "somebody pushed meanwhile", "Try again.")
        with lock_workspace(self.workspace, self.say, to_sync=True):
            _finish_purge(self.workspace)
        return result, commit

    def _push_purged(self, commit: CommitId, replaces: CommitId | None) -> bool:
        """Push a purged line; in place of another one, with all other branches of ours there."""
        remote, seen = self.remote, self.state.proposals
        if replaces is None:
            return remote.push(commit)
        others = branches_again(self.workspace, remote, commit, replaces, seen, self.say)
        return remote.update({**others, f"refs/heads/{remote.branch}": (commit, replaces)})

    def _pause(self, attempt: int) -> None:
        pause = min(_FIRST_PAUSE * 2 ** (attempt - 1), _LONGEST_PAUSE)
        left = self.remote.deadline - time.monotonic()
        time.sleep(max(0.0, min(left, pause * random.uniform(0.5, 1))))

    def _set_upstream(self) -> None:
        repository, branch = self.workspace.repository, self.workspace.repository.branch()
        if branch and repository.setting(f"branch.{branch}.remote") is None:
            for name, value in (
                ("remote", self.remote.name),
                ("merge", f"refs/heads/{self.remote.branch}"),
            ):
                repository.git("config", "--local", f"branch.{branch}.{name}", value)

    def _result(
        self,
        before: CommitId | None,
        theirs: CommitId | None,
        commit: CommitId | None,
        done: list[Combined],
        retries: int,
    ) -> SyncResult:
        repository, dry_run = self.workspace.repository, self.request.dry_run
        merges = [merge for combined in done for merge in combined.merges]
        pulled = _count(repository, theirs, before)
        pushed = _count(repository, commit, theirs)
        return SyncResult(
            remote=self.remote.name,
            branch=self.remote.branch,
            state=QUEUED if dry_run and (pulled or pushed) else SYNCED,
            pulled=pulled,
            pushed=pushed,
            merged=merges[-1].merge if merges and not dry_run else None,
            taken_in=tuple(dict.fromkeys(name for each in done for name in each.taken_in)),
            contradicts=tuple(pair for merge in merges for pair in merge.contradicts),
            kept=tuple(fact for merge in merges for fact in merge.kept),
            kept_files=tuple(dict.fromkeys(path for each in done for path in each.kept_files)),
            set_aside=tuple(file for merge in merges for file in merge.set_aside),
            incoming=self.told,
            retries=retries,
            dry_run=dry_run,
        )


def figures(request: Sync, result: SyncResult) -> dict[str, int]:
    return {
        "pulled": result.pulled,
        "pushed": result.pushed,
        "merges": int(result.merged is not None),
        "contradicts": len(result.contradicts),
        "kept": len(result.kept) + len(result.kept_files),
        "set_aside": len(result.set_aside),
        "retries": result.retries,
        "automatic": request.automatic,
    }


def _count(repository: Repository, tip: CommitId | None, without: CommitId | None) -> int:
    if tip in (None, without):
        return 0
    command = ("rev-list", "--count", "--no-merges", "--end-of-options", str(tip))
    return int(repository.git(*command, *([f"^{without}"] if without else [])))
