"""`run`: carry out what is due, step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mdmem.digest import digesting
from mdmem.errors import MdmemError
from mdmem.model.digests import DigestResult
from mdmem.model.runs import RunResult, StepResult
from mdmem.steps.run_log import StepRecorder, unrecorded
from mdmem.steps.turns import BELOW_RUN, in_turn
from mdmem.workspace import Progress, Say, Workspace


class PipelineStep(NamedTuple):
    """A step of a run: its name, a function that tells if it may be due, and one that carries it out."""

    name: str
    is_due: Callable[[Workspace], bool]
    carry_out: Callable[[Workspace, StepRecorder, Say, Progress | None], DigestResult]


STEPS: tuple[PipelineStep, ...] = (PipelineStep("digest", digesting.is_due, digesting.digest_due),)
"""The steps in their order."""


def run(workspace: Workspace, say: Say, progress: Progress | None = None) -> RunResult:
    """Carry out the steps that are due. One that fails holds up no other.

    Raises:
        RepositoryProblem: `running`: another run or digest is at work.
    """
    due = [] if workspace.environment.get(BELOW_RUN) else [step for step in STEPS if step.is_due(workspace)]
    if not due:
        return RunResult(tuple(StepResult(unrecorded(step.name)) for step in STEPS))
    workspace.ensure_state()
    results: list[StepResult] = []

    def work() -> None:
        results.extend(_tried(workspace, step, say, progress) for step in due)

    def look_again(transcripts: tuple[str, ...]) -> bool:
        results.append(_tried(workspace, PipelineStep("digest", digesting.is_due, digesting.digest_reported(transcripts)), say, progress))
        return not results[-1].message

    in_turn(workspace.state, work, look_again)
    return RunResult(tuple(results))


def _tried(workspace: Workspace, step: PipelineStep, say: Say, progress: Progress | None) -> StepResult:
    recorder = StepRecorder(workspace.state, step.name)
    try:
        with recorder:
            result = step.carry_out(workspace, recorder, say, progress)
    except MdmemError as problem:
        return StepResult(record=recorder.record, message=problem.message, hint=problem.hint)
    except OSError as problem:
        where = f": {problem.filename}" if problem.filename else ""
        return StepResult(record=recorder.record, message=f"{problem.strerror or problem}{where}")
    model = result.model
    return StepResult(record=recorder.record, left=result.left, message=model.message if model and recorder.record.failed else "")
