"""What is examined and what is found: the case and its findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum

from mdmem import files
from mdmem.repo import Repository
from mdmem.search.indexer import SearchIndex
from mdmem.startup.records import dataclass
from mdmem.workspace import Workspace

DAY_SECONDS = 86_400


class Level(StrEnum):
    """How bad a finding is. An `error` stands in the way of what mdmem promises."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found; `fixed`: and what was done about it."""

    check: str
    level: Level
    message: str
    fixed: bool = False
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Inspection:
    """One examination: the workspace, what can be done with its index, and whether to mend."""

    workspace: Workspace
    open_index: Callable[[], tuple[SearchIndex, bool]]
    rebuild_index: Callable[[bool], int]
    fix: bool
    history_seconds: float

    @property
    def repository(self) -> Repository:
        """The repository that the workspace is in."""
        return self.workspace.repository

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nothing is mended while another mdmem writes."""
        self.workspace.ensure_state()
        with files.lock(self.workspace.state / files.LOCK_NAME, self.workspace.settings.lock_timeout):
            yield
