"""Arguments and results of schedules: what has `run` called every few minutes."""

from __future__ import annotations

import sys

from mdmem.errors import UsageProblem
from mdmem.startup.records import dataclass
from mdmem.wording import field

SYSTEMD, CRON = "systemd", "cron"
_DEFAULT = SYSTEMD if sys.platform == "linux" else CRON


@dataclass(frozen=True, slots=True)
class Schedule:
    """Have `run` called every five minutes in this workspace, by `systemd` or by `cron`; without `install` and `uninstall` say how."""

    system: str = _DEFAULT
    install: bool = False
    uninstall: bool = False

    def __post_init__(self) -> None:
        """Refuse another system, and to put in and to take out at once."""
        if self.system not in (SYSTEMD, CRON):
            raise UsageProblem(f"no schedule for {self.system[:80]!r}", f"It is {SYSTEMD} or {CRON}.")
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
