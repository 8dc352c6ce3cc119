"""Arguments and results of `context` and `flush`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from mdmem.model import CommitId, FactId
from mdmem.model.errors import UsageProblem, field
from mdmem.model.rules import require_choice, require_range
from mdmem.startup.records import dataclass

BLOCK_OPENING, BLOCK_CLOSING = "<mdmem-context>", "</mdmem-context>"

_MAX_BUDGET, _MAX_WINDOW = 100_000, 100_000_000
_LEAST_CHARACTERS = 100
_BYTES_A_TOKEN = 4


class Purpose(StrEnum):
    """The purposes of a block: the start of a session, or one prompt."""

    SESSION = "session"
    PROMPT = "prompt"


class ContextPart(StrEnum):
    """The parts of a block, in their order."""

    PROFILE = "profile"
    PINNED = "pinned"
    TASKS = "tasks"
    DAYS = "days"
    FOUND = "found"
    TAGS = "tags"
    NOTES = "notes"


_BUDGETS = {Purpose.SESSION: 2000, Purpose.PROMPT: 500}
_WINDOW_SHARES = {"coding": 0.10, "general": 0.15, "knowledge": 0.20}
_PROFILE = "general"


def count_tokens(text: str) -> int:
    """The tokens of a text: 4 bytes of UTF-8 each, rounded up a line; the line end counts."""
    lines = text.removesuffix("\n").split("\n") if text else []
    return sum(
        -(-(len(line.encode("utf-8", "surrogatepass")) + 1) // _BYTES_A_TOKEN) for line in lines
    )


@dataclass(frozen=True, slots=True)
class BuildContext:
    """Ask for a block; without a `purpose`, for the prompt if there is one, else for a session
    start.

    - `budget`: maximum tokens; or a share of the model's `window`, by `profile`.
    - `without`: parts that the host's prompt has already.
    - `session`: entries it was given since its last compaction are not repeated.
    - `compacted`: the session was compacted just now, so nothing counts as given.
    - `before`: what the user said before, the newest first; a follow-up is asked together with it.
    - `most_characters`: an additional limit, for hosts that cut longer texts.
    - `preview`: nothing is recorded as given, and entries that are left out are named.
    - `as_of` (a day, a time or a commit): today's rules over past memory; nothing is recorded.
    """

    prompt: str | None = None
    purpose: str | None = None
    budget: int | None = None
    window: int | None = None
    profile: str | None = None
    without: tuple[str, ...] = ()
    session: str | None = None
    before: tuple[str, ...] = ()
    compacted: bool = False
    most_characters: int | None = None
    preview: bool = False
    as_of: str | None = None

    def __post_init__(self) -> None:
        require_choice("purpose", self.purpose, tuple(Purpose))
        require_choice("profile", self.profile, tuple(_WINDOW_SHARES))
        for part in self.without:
            require_choice("without", part, tuple(ContextPart))
        require_range("budget", self.budget, 1, _MAX_BUDGET)
        require_range("window", self.window, 1, _MAX_WINDOW)
        require_range("most_characters", self.most_characters, _LEAST_CHARACTERS, _MAX_WINDOW)
        if self.budget is not None and self.window is not None:
            raise UsageProblem(f"{field('budget')} and {field('window')} exclude each other")
        if self.profile is not None and self.window is None:
            raise UsageProblem(f"{field('profile')} needs {field('window')}")
        if self.as_of is not None and self.session is not None:
            raise UsageProblem(f"{field('as_of')} and {field('session')} exclude each other")
        if self.purpose == Purpose.PROMPT and self.prompt is None:
            raise UsageProblem("a block for a prompt needs the prompt")

    @property
    def block_purpose(self) -> Purpose:
        """The purpose that was asked for, else that of a request with, or without, a prompt."""
        if self.purpose is not None:
            return Purpose(self.purpose)
        return Purpose.SESSION if self.prompt is None else Purpose.PROMPT

    @property
    def is_recorded(self) -> bool:
        """True if a session gets the block, and not somebody who looks at it."""
        return not self.preview and self.as_of is None

    @property
    def tokens(self) -> int:
        """Maximum tokens of the text, which has at most four times as many characters."""
        tokens = _BUDGETS[self.block_purpose] if self.budget is None else self.budget
        if self.window is not None:
            tokens = min(_MAX_BUDGET, int(self.window * _WINDOW_SHARES[self.profile or _PROFILE]))
        return (
            tokens
            if self.most_characters is None
            else min(tokens, self.most_characters // _BYTES_A_TOKEN)
        )


@dataclass(frozen=True, slots=True)
class ContextEntry:
    """An entry in a block: `line` is in the file on disk; `cut`: its end is left out.

    `workspace`: its name in the pool; None for this one. `text`: as printed, in a preview.
    """

    path: str
    line: int
    fact: FactId | None
    score: float | None
    cut: bool
    workspace: str | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class PartResult:
    """One part of a finished block: its tokens, and how many entries it shows and leaves out.

    `omitted`: those left out for lack of room, in a preview.
    """

    part: ContextPart
    tokens: int
    shown: int
    left_out: int
    entries: tuple[ContextEntry, ...] = ()
    omitted: tuple[ContextEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class ContextBlock:
    """A block, empty where there is nothing to say.

    `carried`: the gate's answer (None: not asked). `top`: the first hit's score. `repeated`: hits
    that the session has already. `unchanged`: the same block as before, and no compaction since.
    `missing`: workspaces of the pool that were not read; None without a pool. `given`: the repeated
    hits, in a preview. `as_of`: as it was understood.
    """

    text: str
    tokens: int
    budget: int
    commit: CommitId | None
    stale: bool
    parts: tuple[PartResult, ...] = ()
    notes: tuple[str, ...] = ()
    carried: bool | None = None
    top: float | None = None
    repeated: int = 0
    ids: tuple[str, ...] = ()
    unchanged: bool = False
    missing: tuple[str, ...] | None = None
    given: tuple[ContextEntry, ...] = ()
    as_of: str | None = None


def part_counts(block: ContextBlock) -> Mapping[str, tuple[int, int]]:
    """Of each part that holds anything, how many entries it shows and how many it leaves out."""
    return {
        part.part.value: (part.shown, part.left_out)
        for part in block.parts
        if part.shown or part.left_out
    }


_MOST = 1_000_000_000
_MOST_SILENT = 100
SILENT = "NO_REPLY"
"""The answer where there is nothing to keep."""


@dataclass(frozen=True, slots=True)
class Flush:
    """Ask whether a session is near its compaction, and for the prompts that make it save facts.

    Progress comes from a `transcript`, or as `tokens` and `cycle` (number of compactions). Due once
    a cycle, with `reserve` + `soft` tokens of the `window` left. `check` marks nothing.
    """

    window: int
    transcript: str | None = None
    tokens: int | None = None
    cycle: int | None = None
    reserve: int = 20_000
    soft: int = 4_000
    session: str | None = None
    check: bool = False
    silent: str = SILENT

    def __post_init__(self) -> None:
        require_range("window", self.window, 1, _MOST)
        for name, value in (
            ("tokens", self.tokens),
            ("cycle", self.cycle),
            ("reserve", self.reserve),
            ("soft", self.soft),
        ):
            require_range(name, value, 0, _MOST)
        if (self.transcript is None) is (self.tokens is None and self.cycle is None) or (
            self.tokens is None
        ) is not (self.cycle is None):
            raise UsageProblem(
                f"give {field('transcript')}, or {field('tokens')} and {field('cycle')}"
            )
        if not self.silent.isprintable() or not 0 < len(self.silent) <= _MOST_SILENT:
            raise UsageProblem(
                f"{field('silent')} is {self.silent[:_MOST_SILENT]!r}, which is not a usable answer"
            )

    @property
    def threshold(self) -> int:
        """The tokens from which on it is due; 0 or less: never."""
        return self.window - self.reserve - self.soft

    def is_due(self, tokens: int, cycle: int, flushed: int | None) -> bool:
        """True for a session with so many tokens that was not yet flushed in this cycle."""
        return self.threshold > 0 and tokens >= self.threshold and flushed != cycle


@dataclass(frozen=True, slots=True)
class FlushPrompts:
    """The two prompts for a session that is due, with the user's day and the path of its log."""

    system: str
    user: str
    day: str
    path: str


@dataclass(frozen=True, slots=True)
class FlushResult:
    """The progress of a session; `prompts` only if it was due, and this call marked the cycle."""

    due: bool
    tokens: int
    threshold: int
    cycle: int
    flushed: int | None
    prompts: FlushPrompts | None = None
