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
"""The verb of each type of change in the events."""
_APPLIERS = {Revert: "revert", Contradict: "contradict", Resolve: "contradict"}
"""The modules that carry out what is not the edit of one file."""


def carry_out(workspace: Workspace, change: Change, say: Say) -> WriteResult:
    """Carry out one change, by the module for its type.

    Raises:
        MdmemError: it was refused or failed, and nothing is changed.
    """
    result: WriteResult = import_module(
        f"mdmem.changes.{_APPLIERS.get(type(change), 'apply')}"
    ).apply(workspace, change, say)
    return result
