"""What is examined and what is found: the case and its findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from mdmem import files
from mdmem.config import Settings
from mdmem.files import ListedFile
from mdmem.model import FileKind, FilePath
from mdmem.repo import Identity, Repository
from mdmem.search.indexer import SearchIndex
from mdmem.startup.records import dataclass

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


class Workspace(Protocol):
    """What is looked at. The workspace of `memory` is one."""

    @property
    def root(self) -> Path:
        """Its folder."""

    @property
    def repository(self) -> Repository:
        """The repository that it is in."""

    @property
    def settings(self) -> Settings:
        """The settings in force."""

    @property
    def state(self) -> Path:
        """Where mdmem keeps what can be deleted."""

    def kind_of(self, path: str) -> FileKind:
        """What a path is to memory."""

    def memory_files(self) -> dict[FilePath, ListedFile]:
        """The memory files by path."""

    def identity(self) -> Identity | None:
        """Who commits where git does not know."""

    def ensure_state(self) -> None:
        """Make the state folder."""


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
