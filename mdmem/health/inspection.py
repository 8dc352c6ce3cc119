"""One run of the doctor, and its findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum

from mdmem.folder import files
from mdmem.index.indexer import SearchIndex
from mdmem.repo import Repository
from mdmem.startup.records import dataclass
from mdmem.workspace import Workspace

DAY_SECONDS = 86_400


class Level(StrEnum):
    """Severity. An `error` breaks a promise of mdmem."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """A result of a check; `fixed`: the message says how."""

    check: str
    level: Level
    message: str
    fixed: bool = False
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Inspection:
    """One run of the doctor (see `doctor.examine`)."""

    workspace: Workspace
    open_index: Callable[[], tuple[SearchIndex, bool]]
    rebuild_index: Callable[[bool], int]
    fix: bool
    history_seconds: float

    @property
    def repository(self) -> Repository:
        return self.workspace.repository

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the workspace's lock: nothing is fixed while another mdmem writes."""
        self.workspace.ensure_state()
        with files.lock(self.workspace.write_lock(), self.workspace.settings.lock_timeout):
            yield
