"""Changes of memory: planned, carried out, recovered, reverted, purged."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from mdmem.model.writes import Change, Contradict, Resolve, Revert, WriteResult
from mdmem.workspace import Say, Workspace

# modules of what is not the edit of one file
_OTHERS: Mapping[type[Change], str] = {
    Revert: "revert",
    Contradict: "contradict",
    Resolve: "contradict",
}


def carry_out(workspace: Workspace, change: Change, say: Say) -> WriteResult:
    """Carry out one change, all of it or nothing. Raises: MdmemError."""
    result: WriteResult = import_module(
        f"mdmem.changes.{_OTHERS.get(type(change), 'apply')}"
    ).apply(workspace, change, say)
    return result
