"""Changes of memory: planned, carried out, recovered, reverted, purged."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from mdmem import verbs
from mdmem.model.writes import Change, Contradict, Resolve, Revert, WriteResult
from mdmem.workspace import Say, Workspace

# module and name in events of what is not the edit of one file
_OTHERS: Mapping[type[Change], tuple[str, str]] = {
    Revert: ("revert", "revert"),
    Contradict: ("contradict", "contradicts"),
    Resolve: ("contradict", "conflicts-resolve"),
}


def event_name(change: Change) -> str:
    match change:
        case Revert() | Contradict() | Resolve():
            return _OTHERS[type(change)][1]
    return verbs.name_of(change)


def carry_out(workspace: Workspace, change: Change, say: Say) -> WriteResult:
    """Carry out one change, all of it or nothing. Raises: MdmemError."""
    result: WriteResult = import_module(
        f"mdmem.changes.{_OTHERS.get(type(change), ('apply',))[0]}"
    ).apply(workspace, change, say)
    return result
