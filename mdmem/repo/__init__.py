"""The only way to git: one runner for the binary, and GitPython's readers for the commits that a merge brought in."""

from mdmem.repo.discovery import create, discover
from mdmem.repo.runner import environment
from mdmem.repo.worktree import Identity, PathState, Repository, StagedFile, raw_date

__all__ = ["Identity", "PathState", "Repository", "StagedFile", "create", "discover", "environment", "raw_date"]
