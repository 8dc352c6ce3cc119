"""Changes of memory: planned, carried out, recovered, reverted, purged."""

from __future__ import annotations

from importlib import import_module

from mdmem.model.writes import (
    Change,
    Contradict,
    EditSection,
    Forget,
    Log,
    Remember,
    Resolve,
    Revert,
    WriteResult,
)
from mdmem.workspace import Say, Workspace

EVENT_VERBS: dict[type[Change], str] = {
    EditSection: "edit-section",
    Log: "log",
    Remember: "remember",
    Forget: "forget",
    Revert: "revert",
    Contradict: "contradicts",
    Resolve: "conflicts-resolve",
}
_APPLIERS = {Revert: "revert", Contradict: "contradict", Resolve: "contradict"}


def carry_out(workspace: Workspace, change: Change, say: Say) -> WriteResult:
    """Carry out one change, all of it or nothing. Raises: MdmemError."""
    result: WriteResult = import_module(
        f"mdmem.changes.{_APPLIERS.get(type(change), 'apply')}"
    ).apply(workspace, change, say)
    return result
