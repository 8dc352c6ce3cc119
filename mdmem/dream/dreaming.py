"""`dream`: promote lasting entries to curated memory, as a verb and as a step of a run."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta

from mdmem.dream.work import NightWork
from mdmem.errors import UsageProblem
from mdmem.llm import endpoints
from mdmem.model.pipelines import DONE, DOUBLED, UNCHANGED, Dream, DreamOp, DreamResult
from mdmem.model.rules import is_iso_day, parse_day
from mdmem.queries import dates
from mdmem.steps import StepRecorder, in_turn
from mdmem.wording import field
from mdmem.workspace import Say, Workspace

STEP = "dream"


def dream(workspace: Workspace, request: Dream, say: Say) -> DreamResult:
    """Judge the entries of past days, and apply or propose their changes.

    Raises: UsageProblem (a day has not ended), RepositoryProblem (`running`), WorkspaceProblem
    (`no-model`), PackageProblem (`missing-package`), MdmemError.
    """
    if request.model:
        endpoints.configured(workspace.settings, workspace.environment)
    days = [_ended_day(workspace, day) for day in request.days]
    last = max(days) if days else workspace.now().date() - timedelta(days=1)
    workspace.ensure_state()

    def work() -> DreamResult:
        with StepRecorder(workspace.state, STEP, keep=not request.dry_run) as step:
            return _dream(NightWork(workspace, days, request, say, last), step)

    return in_turn(workspace.state, work, lambda _: False)


def dream_day(workspace: Workspace, day: date, say: Say, step: StepRecorder) -> DreamResult:
    """Do the night of one ended day, in the turn of the caller. Raises: MdmemError."""
    return _dream(NightWork(workspace, (), Dream(), say, day), step)


def _ended_day(workspace: Workspace, named: str) -> date:
    day = parse_day(named) if is_iso_day(named) else dates.past_day(workspace, named, "days")
    if day >= workspace.now().date():
        raise UsageProblem(
            f"{field('days')}: {day} has not ended yet", "Only past days can be consolidated."
        )
    return day


def _dream(work: NightWork, step: StepRecorder) -> DreamResult:
    """The step gets its figures, whatever ends it."""
    step.run = work.run
    try:
        work.carry_out()
    finally:
        result = work.result()
        step.figures = figures(result)
    step.outcome = result.outcome or (
        DONE if any(change.commit for change in result.changes) else UNCHANGED
    )
    return result


def figures(result: DreamResult) -> Mapping[str, int]:
    """The figures for the record of a night."""
    changes = [change for change in result.changes if change.op is not DreamOp.NONE]
    left = [change for change in result.changes if change.op is DreamOp.NONE]
    doubled = sum(change.why in DOUBLED for change in left)
    return {
        "messages": len(result.changes),
        "noise": len(left) - doubled,
        "entries": sum(change.applied for change in changes),
        "proposed": sum(not change.applied for change in changes),
        "doubled": doubled,
        "refused": result.refused,
        "tokens": result.tokens,
    }
