"""`hooks`: install or remove git's hooks and the merge driver, and tell their state."""

from __future__ import annotations

import sys
from collections.abc import Callable

from mdmem.events import EventRecorder
from mdmem.folder import hook_files
from mdmem.memory import commit_hooks
from mdmem.merge import setup
from mdmem.startup.records import dataclass
from mdmem.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Hooks:
    """The hooks of git in a workspace's repository."""

    workspace: Workspace
    record_event: Callable[[str], EventRecorder]

    def install(self) -> tuple[str, ...]:
        """Install hooks and merge driver, and return the names of the hooks written.

        Raises RepositoryProblem (`hooks-managed`).
        """
        with self.record_event("hooks-install") as event:
            merging = setup.install(self.workspace, sys.executable)
            commit_hooks.require_hooks_free(self.workspace)
            written = hook_files.install(self.workspace.repository.hooks_dir, sys.executable)
            event.done(bool(written or merging))
        return written

    def uninstall(self) -> tuple[str, ...]:
        """Remove mdmem's own hooks, and the merge driver; return the names of the hooks."""
        with self.record_event("hooks-uninstall") as event:
            removed = hook_files.uninstall(self.workspace.repository.hooks_dir)
            merging = setup.uninstall(self.workspace)
            event.done(bool(removed or merging))
        return removed

    def merge_driver(self) -> str:
        """The state of the merge driver: `installed`, `missing` or `broken`."""
        return setup.inspect(self.workspace).state

    def states(self) -> dict[str, str]:
        """The state of each hook by its name."""
        return hook_files.hook_states(self.workspace.repository.hooks_dir)
