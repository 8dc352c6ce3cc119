"""The only way to git: one runner for the binary."""

from mdmem.repo.discovery import create, discover
from mdmem.repo.runner import environment
from mdmem.repo.worktree import (
    Identity,
    PathState,
    Repository,
    StagedFile,
    commit_seconds,
    raw_date,
)

__all__ = [
    "Identity",
    "PathState",
    "Repository",
    "StagedFile",
    "commit_seconds",
    "create",
    "discover",
    "environment",
    "raw_date",
]
