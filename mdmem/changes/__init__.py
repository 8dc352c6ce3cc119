"""Changes of memory: planned, carried out, recovered, reverted, purged; and the table of the modules that carry them out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from mdmem.model.writes import Change, Contradict, EditSection, Forget, Log, Remember, Resolve, Revert, WriteResult
from mdmem.startup import late
from mdmem.workspace import Say, Workspace

if TYPE_CHECKING:
    from mdmem.changes import apply, contradict, revert
else:
    apply = late.module("mdmem.changes.apply")
    contradict = late.module("mdmem.changes.contradict")
    revert = late.module("mdmem.changes.revert")


class Applier(Protocol):
    """A module that carries out changes of some types."""

    def apply(self, workspace: Workspace, change: Any, say: Say) -> WriteResult:
        """Carry out one change."""


APPLIERS: dict[type[Change], Applier] = {
    EditSection: apply,
    Log: apply,
    Remember: apply,
    Forget: apply,
    Revert: revert,
    Contradict: contradict,
    Resolve: contradict,
}
"""The module for each type of change, loaded when it is first needed."""
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
