"""Arguments and results of the pipelines: digest, dream, sync, a run of these, its schedule."""

from __future__ import annotations

import sys
from datetime import date, datetime
from enum import StrEnum

from mdmem.model import CommitId, FactId, FilePath, SectionPath, Source
from mdmem.model.errors import UsageProblem, verb
from mdmem.model.errors import field as field_name
from mdmem.model.rules import require_possible_day
from mdmem.startup.records import dataclass, field

SYNCED, QUEUED, BLOCKED, FAILING = "synced", "queued", "blocked", "failing"
"""The states of a workspace towards its remote: equal; to be tried again; waiting for a person;
refused by the remote."""
PASSING_FAILURES = ("remote-unreachable", "sync-timeout", "sync-busy")
"""Failures that a later try does without a person."""


@dataclass(frozen=True, slots=True)
class Sync:
    """Bring this machine and the remote together, within `wait` seconds.

    `all_files`: commits of other files than memory too. `join`: also if they have no commit in
    common, since both began separately. `purge`: remove what was purged on one side from the other
    too. `automatic`: nobody asked for it.
    """

    dry_run: bool = False
    wait: float = 60.0
    all_files: bool = False
    join: bool = False
    purge: bool = False
    automatic: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.wait < 1e6:
            raise UsageProblem(
                f"{field_name('wait')} must be more than 0 and less than a million seconds,"
                f" not {self.wait:g}"
            )


@dataclass(frozen=True, slots=True)
class SetAside:
    """A file in the other side's version; `blob` holds this machine's."""

    path: FilePath
    blob: str


@dataclass(frozen=True, slots=True)
class Incoming:
    """A problem that a sync brought in, for which a commit here would have been refused.

    `code` and `message` say what it is, `before` is the blob of the file as it was. `commit`, by
    `author`, did most of it (None: nothing but merges did), and `can_revert` tells if `revert`
    takes it. `time` is in seconds since 1970.
    """

    path: FilePath
    code: str
    message: str
    before: str | None
    commit: CommitId | None
    author: str
    can_revert: bool
    time: float

    @property
    def line(self) -> str:
        """A line for the user."""
        by = f" by {self.author} ({self.commit[:8]})" if self.commit else ""
        return f"{self.path}: {self.message}{by}. {self.undo}"

    @property
    def undo(self) -> str:
        """The command that undoes it, or shows what was there; empty without one."""
        if self.code == "secret-found":
            return f"To remove it from all history: {verb('forget', 'purge')} FACT"
        if self.can_revert and self.commit:
            return f"To undo: {verb('revert')} {self.commit[:8]}"
        return f"To see what was there: git show {self.before[:8]}" if self.before else ""


@dataclass(frozen=True, slots=True)
class SyncResult:
    """The outcome of a sync, or of a dry run.

    `pulled` and `pushed` count commits that are no merges, `merged` is the last merge that it made.
    `taken_in` are the devices whose branches were merged.
    `kept` facts and `kept_files` were removed on one side; the other had changed them, or has
    nothing else that makes it a workspace.
    """

    remote: str
    branch: str
    state: str
    pulled: int
    pushed: int
    merged: CommitId | None = None
    taken_in: tuple[str, ...] = ()
    contradicts: tuple[tuple[FactId, FactId], ...] = ()
    kept: tuple[FactId, ...] = ()
    kept_files: tuple[FilePath, ...] = ()
    set_aside: tuple[SetAside, ...] = ()
    incoming: tuple[Incoming, ...] = ()
    retries: int = 0
    ms: float = 0.0
    dry_run: bool = False


FACTS, LINES = "facts", "lines"
"""The statements that become entries: those likely to be asked for later, or all except noise."""


PASSING_OUTCOMES = ("model-budget", "model-down", "bad-answer")
"""Temporary reasons for a missing answer of the model; it is asked again later."""


@dataclass(frozen=True, slots=True)
class Digest:
    """Add what is new in transcripts to the logs of the days on which it was said.

    - `sessions`: ids, unique prefixes or files; empty: all that the settings name.
    - `since`: an ISO date or a past day in words.
    - `keep`: `facts` or `lines`.
    - `model`: whether to ask the model too; None: as the settings say.
    """

    sessions: tuple[str, ...] = ()
    since: str | None = None
    keep: str = FACTS
    dry_run: bool = False
    model: bool | None = None

    def __post_init__(self) -> None:
        require_possible_day(self.since, "since")
        if self.keep not in (FACTS, LINES):
            raise UsageProblem(
                f"{field_name('keep')} is {self.keep[:80]!r}", f"It is {FACTS} or {LINES}."
            )
        if self.model and self.since is not None:
            raise UsageProblem(
                f"{field_name('model')} and {field_name('since')} exclude each other",
                "Messages from before that day stay due.",
            )


@dataclass(frozen=True, slots=True)
class DigestedEntry:
    """An entry that a digest wrote, or would write; `minute` is empty for an imported fact."""

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


@dataclass(slots=True)
class ModelFigures:
    """The model's part in a step, added up while it is asked.

    - `requests`, `size` (bytes), `tokens`: sent; in a dry run, to be sent.
    - `bad_answers`: suggestions that the check refused. `waiting`: sessions not asked about yet.
    - `outcome`, `message`: why some requests have no answer; empty: all have one.
    """

    requests: int = 0
    size: int = 0
    tokens: int = 0
    entries: int = 0
    bad_answers: int = 0
    waiting: int = 0
    outcome: str = ""
    message: str = ""


@dataclass(slots=True)
class StepFigures:
    """The figures of a step, added up while it works.

    - `size` (bytes), `messages`: new ones. `noise`: without content. `redacted`: with a secret.
    - `entries`: written, `by_rule` or `by_model`. `doubled`: already there. `proposed`: for review.
    - `refused`: forbidden entries, and suggestions of a model. `surplus`: over the limit.
    - `skipped`: lines that are no record of a known type. `left`: unreadable transcripts.
    """

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

    def add(self, other: StepFigures) -> None:
        """Add the figures of another step."""
        for name in self.__match_args__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(slots=True)
class DigestResult:
    """The figures and entries of a digest, added up while it works.

    - `inside`, `outside`: the known sessions of this folder, and of others. `model`: None where no
      model was asked.
    """

    run: str
    figures: StepFigures
    entries: list[DigestedEntry] = field(default_factory=list)
    commits: list[CommitId] = field(default_factory=list)
    left: list[LeftSession] = field(default_factory=list)
    inside: int = 0
    outside: int = 0
    model: ModelFigures | None = None

    @property
    def outcome(self) -> str:
        """The outcome of the step: the code of what failed, or whether anything was new."""
        if self.left:
            is_unknown = any(left.why == "unknown-format" for left in self.left)
            return "unknown-format" if is_unknown else "unreadable"
        if self.model and self.model.outcome:
            return self.model.outcome
        return DONE if self.commits or self.figures.messages else UNCHANGED

    @property
    def only_outside(self) -> int:
        """The number of sessions of other folders, where none is of this one."""
        return 0 if self.inside else self.outside

    @property
    def failed(self) -> bool:
        """True if a transcript could not be read, or the model cannot be asked at all."""
        return bool(
            self.left
            or (self.model and self.model.outcome and self.model.outcome not in PASSING_OUTCOMES)
        )


@dataclass(frozen=True, slots=True)
class Import:
    """Take in what another tool has kept: a file, an archive or a folder."""

    path: str
    dry_run: bool = False


TOO_MANY_CHANGES = "too-many-changes"
"""A dream with more changes than the setting `dream_changes`, all of which become proposals."""
STANDS, STANDS_REWORDED = "it is already in memory", "it is already in memory in other words"
WAITS, SAID_BESIDES = "it is already proposed", "another entry says the same"
TOO_MANY_WAIT = "too many open proposals"
DOUBLED = frozenset((STANDS, STANDS_REWORDED, WAITS, SAID_BESIDES))
"""Reasons to skip an entry whose words memory has already."""
MOST_STANDING_PARTS = 100


class DreamOp(StrEnum):
    """The fates of an entry. NONE leaves it where it is."""

    ADD = "ADD"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    NONE = "NONE"


@dataclass(frozen=True, slots=True)
class Dream:
    """Move entries of past days into curated memory.

    - `days`: ISO dates or past days in words; empty: yesterday and every day of the last 30 to
      whose log mdmem wrote what no dream has read.
    - `since`: without `days`, all entries from this day on, too.
    - `apply`: True applies certain changes, False proposes all; None: as the settings say.
    - `model`: whether to ask a model; None: as the settings say.
    """

    days: tuple[str, ...] = ()
    since: str | None = None
    apply: bool | None = None
    model: bool | None = None
    dry_run: bool = False

    def __post_init__(self) -> None:
        for day in self.days:
            require_possible_day(day, "days")
        if self.since is not None:
            require_possible_day(self.since, "since")
            if self.days:
                raise UsageProblem(
                    f"{field_name('days')} and {field_name('since')} exclude each other"
                )


@dataclass(frozen=True, slots=True)
class DreamChange:
    """The result for one entry.

    - `fact`: the one added, removed (DELETE) or found (NONE). `old`: the one replaced.
    - `applied`: done, or would be, by `commit`; otherwise it waits in `proposal`.
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
    """The outcome of a dream: its `run` as commits name it, its days, and the result per entry.

    `outcome`: why some of it was held back; empty: nothing was.
    """

    run: str
    days: tuple[date, ...]
    changes: tuple[DreamChange, ...]
    figures: StepFigures
    model: ModelFigures
    outcome: str = ""
    dry_run: bool = False

    @property
    def commits(self) -> tuple[CommitId, ...]:
        """The commits on the branch of memory itself."""
        return tuple(
            change.commit for change in self.changes if change.applied and change.commit is not None
        )


NOTHING_TO_DO, UNCHANGED, DONE = "nothing-to-do", "unchanged", "done"
"""Outcomes of steps without a failure; all others are codes of failures."""


PASSING = (*PASSING_OUTCOMES, TOO_MANY_CHANGES)
"""Outcomes of steps that worked, but about which the user should know."""


@dataclass(slots=True)
class StepRecord:
    """One step that is or was carried out.

    `time`: of its end, real time. `run`: its name in commits (None: it failed before it had one).
    """

    step: str
    outcome: str
    ms: float
    time: datetime
    run: str | None = None
    figures: StepFigures = field(default_factory=StepFigures)

    @property
    def failed(self) -> bool:
        """True if the step failed, wholly or in part."""
        return self.outcome not in (DONE, UNCHANGED, NOTHING_TO_DO, *PASSING, *PASSING_FAILURES)


@dataclass(frozen=True, slots=True)
class StepResult:
    """A step carried out by `run`.

    `message` and `hint`: why it failed; `left`: what is unread; `outside`: the sessions of other
    folders, where none is of this one; `sync`: what a sync did.
    """

    record: StepRecord
    message: str = ""
    hint: str = ""
    left: tuple[LeftSession, ...] = ()
    outside: int = 0
    sync: SyncResult | None = None


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
    """Have `systemd` or `cron` call `run` every five minutes; without an action, explain how."""

    system: str = _DEFAULT
    install: bool = False
    uninstall: bool = False

    def __post_init__(self) -> None:
        if self.system not in (SYSTEMD, CRON):
            raise UsageProblem(
                f"no schedule for {self.system[:80]!r}", f"It is {SYSTEMD} or {CRON}."
            )
        if self.install and self.uninstall:
            raise UsageProblem(
                f"{field_name('install')} and {field_name('uninstall')} exclude each other"
            )


@dataclass(frozen=True, slots=True)
class UnitFile:
    """A file of a schedule; `path` is None for a line of the user's crontab."""

    path: str | None
    text: str


@dataclass(frozen=True, slots=True)
class ScheduleResult:
    """The schedule, or (in a dry run) the one that would be installed.

    - `files`: written or removed. `timer`: of systemd only. `active`: `run` is being called.
    - `next`: commands left for the user.
    """

    system: str
    files: tuple[UnitFile, ...]
    timer: str | None
    changed: bool
    active: bool
    next: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
