"""`run`: carry out the steps of pipelines that are due, one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from mdmem import secrets
from mdmem.model.errors import MdmemError, as_failure
from mdmem.model.pipelines import (
    UNCHANGED,
    Digest,
    DigestResult,
    Dream,
    DreamResult,
    RunResult,
    StepRecord,
    StepResult,
    SyncResult,
)
from mdmem.nights.digest import digesting
from mdmem.nights.dream import dreaming, due
from mdmem.nights.steps import BELOW_RUN, StepRecorder, in_turn, unrecorded
from mdmem.workspace import Progress, Say, Workspace, refresh

_SYNC = "sync"
_Work = Callable[[StepRecord], DigestResult | DreamResult]


def run(
    workspace: Workspace,
    sync: Callable[[bool], SyncResult | None],
    say: Say,
    progress: Progress | None = None,
) -> RunResult:
    """Carry out the steps that are due, with a sync before and after them.

    `sync` tries if it is due; True: only with commits to
    push. Raises RepositoryProblem (`running`: another pipeline is at work).
    """
    first = tuple(_synced(workspace, sync, False))
    steps = _run_steps(refresh(workspace), say, progress)
    return RunResult((*first, *steps, *_synced(workspace, sync, True)))


def _synced(
    workspace: Workspace, sync: Callable[[bool], SyncResult | None], only_unsent: bool
) -> Iterator[StepResult]:
    recorder = StepRecorder(workspace.state, _SYNC, keep=False)
    result = None
    try:
        with recorder as step:
            result = sync(only_unsent)
            if result and not (result.pulled or result.pushed):
                step.outcome = UNCHANGED
    except (MdmemError, OSError) as problem:
        # A sync at work looks once more.
        if not isinstance(problem, MdmemError) or problem.code != "running":
            yield _failed(recorder.record, problem)
    if result:
        yield StepResult(record=recorder.record, sync=result)


def _run_steps(workspace: Workspace, say: Say, progress: Progress | None) -> tuple[StepResult, ...]:
    is_below = bool(workspace.environment.get(BELOW_RUN))
    is_digest_due = not is_below and digesting.is_due(workspace)
    if not is_digest_due and (is_below or due.due_day(workspace) is None):
        return (StepResult(record=unrecorded(digesting.STEP)),)
    workspace.ensure_state()
    results: list[StepResult] = []

    def digest(transcripts: tuple[str, ...] = ()) -> None:
        request = Digest(sessions=transcripts)
        work = partial(digesting.carry_out, workspace, request, say, progress)
        results.append(_tried(workspace, digesting.STEP, work))

    def work() -> None:
        if is_digest_due:
            digest()
        results.extend(_dreamt(workspace, say))

    def look_again(transcripts: tuple[str, ...]) -> bool:
        digest(transcripts)
        return not results[-1].message

    in_turn(workspace.state, work, look_again)
    return tuple(results)


def _dreamt(workspace: Workspace, say: Say) -> Iterator[StepResult]:
    if day := due.due_day(workspace):
        night = partial(dreaming.carry_out, workspace, Dream(), say, day)
        yield _tried(workspace, dreaming.STEP, night)


def _tried(workspace: Workspace, name: str, work: _Work) -> StepResult:
    recorder = StepRecorder(workspace.state, name)
    try:
        with recorder as step:
            result = work(step)
    except (MdmemError, OSError) as problem:
        return _failed(recorder.record, problem)
    message = result.model.message if result.model and step.failed else ""
    if isinstance(result, DreamResult):
        return StepResult(record=step, message=message)
    return StepResult(
        record=step, message=message, left=tuple(result.left), outside=result.only_outside
    )


def _failed(record: StepRecord, problem: MdmemError | OSError) -> StepResult:
    failure = as_failure(problem)
    return StepResult(
        record=record,
        message=secrets.redact(failure.message),
        hint=secrets.redact(failure.marked_hint),
    )
