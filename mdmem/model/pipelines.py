"""Arguments and results of schedules: what has `run` called every few minutes."""

from __future__ import annotations

import sys
from datetime import date, datetime
from enum import StrEnum

from mdmem.errors import UsageProblem
from mdmem.model import CommitId, FactId, FilePath, SectionPath, Source
from mdmem.model.rules import require_possible_day
from mdmem.startup.records import dataclass
from mdmem.wording import field

FACTS, LINES = "facts", "lines"
"""The statements that become entries: those that say what will be asked for later, or all that are
no noise.
"""


PASSING_OUTCOMES = ("model-budget", "model-down", "bad-answer")
"""Why a model did not answer, where it is asked again later."""


@dataclass(frozen=True, slots=True)
class Digest:
    """Read what is new in transcripts into the logs of the days on which it was said.

    - `sessions`: ids of sessions, unique beginnings of them, or files; none means all that the
      settings name.
    - `since`: an ISO date or a past day in words; what was said before it is left out.
    - `keep`: `facts` or `lines`.
    - `model`: ask the model too, whatever the settings say; False: do not (None: as the settings
      say).
    """

    sessions: tuple[str, ...] = ()
    since: str | None = None
    keep: str = FACTS
    dry_run: bool = False
    model: bool | None = None

    def __post_init__(self) -> None:
        """Refuse an impossible day, statements of another sort, and a model for a part of what was
        said.
        """
        require_possible_day(self.since)
        if self.keep not in (FACTS, LINES):
            raise UsageProblem(
                f"{field('keep')} is {self.keep[:80]!r}", f"It is {FACTS} or {LINES}."
            )
        if self.model and self.since is not None:
            raise UsageProblem(
                f"{field('model')} and {field('since')} exclude each other",
                "Messages from before that day stay due.",
            )


@dataclass(frozen=True, slots=True)
class DigestedEntry:
    """An entry that a digest wrote, or would write."""

    fact: FactId
    day: date
    minute: str
    kind: str | None
    text: str
    source: Source
    confidence: float
    cites: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LeftSession:
    """A session that a digest left alone, and why."""

    session: str
    why: str


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """The part that the model had in a digest.

    - `requests`, `size`: requests that were sent, and their bytes; in a dry run, those that would
      be. `tokens`: what they cost.
    - `bad_answers`: suggestions that did not stand the check. `waiting`: sessions about which the
      model is still to be asked.
    - `outcome`, `message`: why not all requests were answered (empty: they were).
    """

    requests: int
    size: int
    tokens: int
    entries: int
    bad_answers: int
    waiting: int
    outcome: str
    message: str


@dataclass(frozen=True, slots=True)
class DigestResult:
    """The figures and entries of a digest.

    `messages` and `size` (bytes) count what was new, `noise` the messages that say nothing.
    `repeated`: entries that stood in their day's log already; `redacted`: messages with a secret in
    them; `refused`: entries that may not be written; `surplus`: those beyond the most of a day.
    `outside`: sessions of other folders, which do not count. `model`: None where no model was
    asked.
    """

    run: str
    sessions: int
    messages: int
    size: int
    noise: int
    entries: tuple[DigestedEntry, ...]
    repeated: int
    redacted: int
    refused: int
    surplus: int
    commits: tuple[CommitId, ...]
    left: tuple[LeftSession, ...]
    outside: int = 0
    model: ModelFigures | None = None

    @property
    def failed(self) -> bool:
        """True if something could not be read, or the model that the settings want cannot be asked
        at all.
        """
        return bool(
            self.left
            or (self.model and self.model.outcome and self.model.outcome not in PASSING_OUTCOMES)
        )


TOO_MANY_CHANGES = "too-many-changes"
"""The outcome of a night that would change more than the setting `dream_changes` allows, and
proposes all of it.
"""
STANDS, STANDS_REWORDED = "it is already in memory", "it is already in memory in other words"
WAITS, SAID_BESIDES = "it is already proposed", "another entry says the same"
TOO_MANY_WAIT = "too many open proposals"
DOUBLED = frozenset((STANDS, STANDS_REWORDED, WAITS, SAID_BESIDES))
"""Why an entry is left: its words are there."""
MOST_STANDING_PARTS = 100
"""The most open parts that the proposal of a machine's dreams has."""


class DreamOp(StrEnum):
    """The fates of an entry. NONE leaves it where it is."""

    ADD = "ADD"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    NONE = "NONE"


@dataclass(frozen=True, slots=True)
class Dream:
    """Take entries of ended days into curated memory.

    - `days`: ISO dates or past days in words, whose entries are judged whether they were before or
      not; none means yesterday and what came since the last dream.
    - `apply`: True carries out what is sure, False proposes everything; None is as the settings
      have it.
    - `model`: True asks a model, False does not; None is as the settings have it.
    """

    days: tuple[str, ...] = ()
    apply: bool | None = None
    model: bool | None = None
    dry_run: bool = False

    def __post_init__(self) -> None:
        """Refuse an impossible day."""
        for day in self.days:
            require_possible_day(day)


@dataclass(frozen=True, slots=True)
class DreamChange:
    """The fate of an entry.

    - `fact`: the one that came in, or would; of a DELETE the one that goes; of a NONE the entry's
      own. `old`: the one that it replaces.
    - `applied`: it is carried out (or would be), by `commit`. Else it waits in `proposal`; nothing
      does of a NONE.
    - `why`: in a few words. `cites`: where it was said.
    """

    op: DreamOp
    fact: FactId
    old: FactId | None
    path: FilePath
    section: SectionPath
    text: str
    source: Source
    applied: bool
    why: str
    cites: tuple[str, ...]
    commit: CommitId | None = None
    proposal: str | None = None


@dataclass(frozen=True, slots=True)
class DreamResult:
    """The outcome of a night: its `run` as commits name it, its days, and the fate of each entry.

    - `requests`, `size`: those sent to a model, and their bytes; in a dry run those that would be.
      `tokens`: what they cost; `refused`: the suggestions of the model that code did not take.
    - `outcome`: empty, or the code of what kept some of it back, with `message`.
    """

    run: str
    days: tuple[date, ...]
    changes: tuple[DreamChange, ...]
    requests: int = 0
    size: int = 0
    tokens: int = 0
    refused: int = 0
    outcome: str = ""
    message: str = ""
    dry_run: bool = False

    @property
    def commits(self) -> tuple[CommitId, ...]:
        """The commits on the branch of memory itself."""
        return tuple(
            change.commit for change in self.changes if change.applied and change.commit is not None
        )


NOTHING_TO_DO, UNCHANGED, DONE = "nothing-to-do", "unchanged", "done"
"""The outcomes of a step that has not failed; nor has one in which the model alone did not answer.
All others are codes of failures.
"""


PASSING = (*PASSING_OUTCOMES, TOO_MANY_CHANGES)
"""Outcomes of a step that has worked, and of which the user should know."""


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step that was carried out, with its figures.

    - `time`: of its end, real time. `run`: its name in commits (None: it failed before it had one).
    - `size`: the bytes that were new; `messages`: those that were new; `noise`: of these, the ones
      that say nothing; `redacted`: those with a secret; `skipped`: lines that are no record of a
      known type.
    - `entries`: what was written, found `by_rule` or `by_model`. `doubled`: what stood there
      already; `refused`: what may not be written; `surplus`: what was too much for its day;
      `proposed`: what a person is to decide.
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
    """A step as `run` carried it out; `message` and `hint` say why it failed, `left` what could not
    be read.
    """

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


SYSTEMD, CRON = "systemd", "cron"
_DEFAULT = SYSTEMD if sys.platform == "linux" else CRON


@dataclass(frozen=True, slots=True)
class Schedule:
    """Have `run` called every five minutes in this workspace, by `systemd` or by `cron`; without
    `install` and `uninstall` say how.
    """

    system: str = _DEFAULT
    install: bool = False
    uninstall: bool = False

    def __post_init__(self) -> None:
        """Refuse another system, and to put in and to take out at once."""
        if self.system not in (SYSTEMD, CRON):
            raise UsageProblem(
                f"no schedule for {self.system[:80]!r}", f"It is {SYSTEMD} or {CRON}."
            )
        if self.install and self.uninstall:
            raise UsageProblem(f"{field('install')} and {field('uninstall')} exclude each other")


@dataclass(frozen=True, slots=True)
class UnitFile:
    """A file of a schedule; `path` is None for a line of the user's crontab."""

    path: str | None
    text: str


@dataclass(frozen=True, slots=True)
class ScheduleResult:
    """A schedule as it is, or would be, placed.

    - `files`: what is placed, or was taken out.
    - `timer`: the name of the timer, of systemd alone.
    - `changed`: something was placed or taken out by this call.
    - `active`: `run` is called from now on.
    - `next`: what is left for the user to type.
    """

    system: str
    files: tuple[UnitFile, ...]
    timer: str | None
    changed: bool
    active: bool
    next: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
