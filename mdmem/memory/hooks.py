"""`hooks`: put git's hooks where git looks, take them out, and tell their state."""

from __future__ import annotations

import sys
from collections.abc import Callable

from mdmem import hookfiles
from mdmem.events import EventRecorder
from mdmem.memory import guards
from mdmem.startup.records import dataclass
from mdmem.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Hooks:
    """The hooks of git in a workspace's repository. `record_event` makes an event recorder for a verb."""

    workspace: Workspace
    record_event: Callable[[str], EventRecorder]

    def install(self) -> tuple[str, ...]:
        """Install mdmem's hooks; return the names of those that were written.

        Raises:
            RepositoryProblem: `hooks-managed`, with the lines to add by hand.
        """
        with self.record_event("hooks-install") as event:
            guards.require_hooks_free(self.workspace)
            written = hookfiles.install(self.workspace.repository.hooks_dir, sys.executable)
            event.done(bool(written))
        return written

    def uninstall(self) -> tuple[str, ...]:
        """Remove mdmem's own hooks; return their names."""
        with self.record_event("hooks-uninstall") as event:
            removed = hookfiles.uninstall(self.workspace.repository.hooks_dir)
            event.done(bool(removed))
        return removed

    def states(self) -> dict[str, str]:
        """The state of each hook by its name."""
        return hookfiles.hook_states(self.workspace.repository.hooks_dir)
