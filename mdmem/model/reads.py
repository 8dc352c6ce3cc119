"""What can be read of files and workspaces, and how it is answered."""

from __future__ import annotations

from collections.abc import Mapping

from mdmem.model import CommitId, FilePath, SectionPath
from mdmem.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class Initialise:
    """Make or adopt a workspace in `folder`; None is MDMEM_WORKSPACE, else the current one."""

    folder: str | None = None
    hooks: bool = True


@dataclass(frozen=True, slots=True)
class Show:
    """Read one section, or the text before the first heading (`preamble`), or a whole file (neither)."""

    file: str | None = None
    section: str | None = None
    nth: int | None = None
    preamble: bool = False


@dataclass(frozen=True, slots=True)
class SectionView:
    """One section as `show` gives it: `text` is its own text without the heading, lines count from 1 and are inclusive."""

    path: str
    section: SectionPath
    level: int
    text: str
    etag: str
    tree_etag: str
    start_line: int
    end_line: int
    commit: CommitId | None
    uncommitted: bool
    subsections: tuple[SectionPath, ...]


@dataclass(frozen=True, slots=True)
class OutlineRow:
    """One section in a file's outline; `lines` counts its own lines, heading included."""

    section: SectionPath
    level: int
    line: int
    etag: str
    lines: int


@dataclass(frozen=True, slots=True)
class Outline:
    """The sections of a file in their order."""

    path: str
    sections: tuple[OutlineRow, ...]


@dataclass(frozen=True, slots=True)
class WorkspaceStatus:
    """What is where and how fresh: `files` counts memory files by kind, `skipped` says why one is not indexed."""

    workspace: str
    branch: str | None
    commit: CommitId | None
    files: Mapping[str, int]
    uncommitted: tuple[FilePath, ...]
    skipped: tuple[tuple[str, str], ...]
    entries: int
    indexed_commit: CommitId | None
    current: bool
    hooks: Mapping[str, str]
    notes: tuple[str, ...]
