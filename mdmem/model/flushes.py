"""Arguments and result of `flush`: whether a session is to put down what it knows before its compaction."""

from __future__ import annotations

from mdmem.errors import UsageProblem
from mdmem.model.rules import require_range
from mdmem.startup.records import dataclass
from mdmem.wording import field

_MOST = 1_000_000_000
_MOST_SILENT = 100
SILENT = "NO_REPLY"
"""The answer where there is nothing to keep."""


@dataclass(frozen=True, slots=True)
class Flush:
    """Ask whether a session is near its compaction, and for the prompts that have it write down what lasts.

    How far it is comes from a `transcript` (of Claude Code), or as `tokens` and `cycle` (the number of its compactions). It is due where no
    more than `reserve` and `soft` tokens of the `window` are left, once a cycle. `check` tells, and marks nothing. `silent` is the answer for
    nothing to keep.
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
        """Refuse numbers out of their range, and anything but a transcript or both figures."""
        require_range("window", self.window, 1, _MOST)
        for name, value in (("tokens", self.tokens), ("cycle", self.cycle), ("reserve", self.reserve), ("soft", self.soft)):
            require_range(name, value, 0, _MOST)
        if (self.transcript is None) is (self.tokens is None and self.cycle is None) or (self.tokens is None) is not (self.cycle is None):
            raise UsageProblem(f"give {field('transcript')}, or {field('tokens')} and {field('cycle')}")
        if not self.silent.isprintable() or not 0 < len(self.silent) <= _MOST_SILENT:
            raise UsageProblem(f"{field('silent')} is {self.silent[:_MOST_SILENT]!r}, which is not a usable answer")

    @property
    def threshold(self) -> int:
        """The tokens from which on it is due; 0 or less: never."""
        return self.window - self.reserve - self.soft

    def is_due(self, tokens: int, cycle: int, flushed: int | None) -> bool:
        """True for a session with so many tokens that was not yet flushed in this cycle."""
        return self.threshold > 0 and tokens >= self.threshold and flushed != cycle


@dataclass(frozen=True, slots=True)
class FlushPrompts:
    """The two prompts for a session that is due, with the user's day and the file of that day's log."""

    system: str
    user: str
    day: str
    path: str


@dataclass(frozen=True, slots=True)
class FlushResult:
    """The progress of a session. `prompts`: set where it was due, and this call has marked the cycle."""

    due: bool
    tokens: int
    threshold: int
    cycle: int
    flushed: int | None
    prompts: FlushPrompts | None = None
