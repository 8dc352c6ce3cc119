"""Arguments and results of digests: entries of days that were drawn from sessions."""

from __future__ import annotations

from datetime import date

from mdmem.errors import UsageProblem
from mdmem.model import CommitId, FactId, Source
from mdmem.model.rules import require_possible_day
from mdmem.startup.records import dataclass
from mdmem.wording import field

FACTS, LINES = "facts", "lines"
"""The statements that become entries: those that say what will be asked for later, or all that are no noise."""


PASSING_OUTCOMES = ("model-budget", "model-down", "bad-answer")
"""Why a model did not answer, where it is asked again later."""


@dataclass(frozen=True, slots=True)
class Digest:
    """Read what is new in transcripts into the logs of the days on which it was said.

    - `sessions`: ids of sessions, unique beginnings of them, or files; none means all that the settings name.
    - `since`: an ISO date or a past day in words; what was said before it is left out.
    - `keep`: `facts` or `lines`.
    - `model`: ask the model too, whatever the settings say; False: do not (None: as the settings say).
    """

    sessions: tuple[str, ...] = ()
    since: str | None = None
    keep: str = FACTS
    dry_run: bool = False
    model: bool | None = None

    def __post_init__(self) -> None:
        """Refuse an impossible day, statements of another sort, and a model for a part of what was said."""
        require_possible_day(self.since)
        if self.keep not in (FACTS, LINES):
            raise UsageProblem(f"{field('keep')} is {self.keep[:80]!r}", f"It is {FACTS} or {LINES}.")
        if self.model and self.since is not None:
            raise UsageProblem(f"{field('model')} and {field('since')} exclude each other", "Messages from before that day stay due.")


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

    - `requests`, `size`: requests that were sent, and their bytes; in a dry run, those that would be. `tokens`: what they cost.
    - `bad_answers`: suggestions that did not stand the check. `waiting`: sessions about which the model is still to be asked.
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

    `messages` and `size` (bytes) count what was new, `noise` the messages that say nothing. `repeated`: entries that stood in their day's log
    already; `redacted`: messages with a secret in them; `refused`: entries that may not be written; `surplus`: those beyond the most of a day.
    `outside`: sessions of other folders, which do not count. `model`: None where no model was asked.
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
        """True if something could not be read, or the model that the settings want cannot be asked at all."""
        return bool(self.left or (self.model and self.model.outcome and self.model.outcome not in PASSING_OUTCOMES))
