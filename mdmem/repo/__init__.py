"""The only door to git: one runner for the binary; GitPython's readers where history is walked."""

from mdmem.repo.runner import environment
from mdmem.repo.worktree import Identity, PathState, Repository, StagedFile, create, discover, raw_date

__all__ = ["Identity", "PathState", "Repository", "StagedFile", "create", "discover", "environment", "raw_date"]
