"""Runs of pipelines: the record of each step, and the result of `run`."""

from __future__ import annotations

from datetime import datetime

from mdmem.model.digests import PASSING_OUTCOMES, LeftSession
from mdmem.model.dreams import TOO_MANY_CHANGES
from mdmem.startup.records import dataclass

NOTHING_TO_DO, UNCHANGED, DONE = "nothing-to-do", "unchanged", "done"
"""The outcomes of a step that has not failed; nor has one in which the model alone did not answer. All others are codes of failures."""


PASSING = (*PASSING_OUTCOMES, TOO_MANY_CHANGES)
"""Outcomes of a step that has worked, and of which the user should know."""


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step that was carried out, with its figures.

    - `time`: of its end, real time. `run`: its name in commits (None: it failed before it had one).
    - `size`: the bytes that were new; `messages`: those that were new; `noise`: of these, the ones that say nothing; `redacted`: those with a
      secret; `skipped`: lines that are no record of a known type.
    - `entries`: what was written, found `by_rule` or `by_model`. `doubled`: what stood there already; `refused`: what may not be written;
      `surplus`: what was too much for its day; `proposed`: what a person is to decide.
    - `left`: transcripts that could not be read.
    """

    step: str
    outcome: str
    ms: float
    time: datetime
    run: str | None = None
    sessions: int = 0
    size: int = 0
    messages: int = 0
    noise: int = 0
    by_rule: int = 0
    by_model: int = 0
    entries: int = 0
    doubled: int = 0
    redacted: int = 0
    refused: int = 0
    proposed: int = 0
    tokens: int = 0
    surplus: int = 0
    skipped: int = 0
    left: int = 0

    @property
    def failed(self) -> bool:
        """True if the step failed, wholly or in part."""
        return self.outcome not in (DONE, UNCHANGED, NOTHING_TO_DO, *PASSING)


@dataclass(frozen=True, slots=True)
class StepResult:
    """A step as `run` carried it out; `message` and `hint` say why it failed, `left` what could not be read."""

    record: StepRecord
    message: str = ""
    hint: str = ""
    left: tuple[LeftSession, ...] = ()


@dataclass(frozen=True, slots=True)
class RunResult:
    """The steps of a run, in the order in which they were tried."""

    steps: tuple[StepResult, ...]

    @property
    def failed(self) -> bool:
        """True if a step failed."""
        return any(step.record.failed for step in self.steps)
