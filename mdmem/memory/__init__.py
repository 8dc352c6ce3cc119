"""Memory: every verb; the one place where editors, git and search meet."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from mdmem import hookfiles, secrets
from mdmem.events import Watch
from mdmem.memory import adopting, freshness, reading, writing
from mdmem.memory.adopting import Initialised
from mdmem.memory.freshness import Progress, catch_up, catch_up_all
from mdmem.memory.reading import record_refusal, staged_problems
from mdmem.memory.workspace import Workspace, locate, open_at
from mdmem.model import (
    Change,
    CommitId,
    EditSection,
    FilePath,
    Forget,
    Hit,
    Initialise,
    ListFacts,
    Log,
    Outline,
    Problem,
    Purge,
    Remember,
    Search,
    SearchResult,
    SectionView,
    Show,
    WorkspaceStatus,
    WriteOptions,
    WriteResult,
)

if TYPE_CHECKING:
    from mdmem.doctor import Finding
    from mdmem.purge import Purged, PurgePlan

Say = Callable[[str], None]


def _silent(_: str) -> None:
    pass


_VERBS: dict[type[Change], str] = {EditSection: "edit-section", Log: "log", Remember: "remember", Forget: "forget"}


class Memory:
    """A workspace and what can be done with it. `say` takes lines for the user while something is waited for."""

    def __init__(self, workspace: Workspace, say: Say = _silent, progress: Progress | None = None) -> None:
        self.workspace = workspace
        self._say = say
        self._progress = progress

    @classmethod
    def open(cls, named: Path | None = None, say: Say = _silent, progress: Progress | None = None) -> "Memory":
        """The memory of a folder, else of `MDMEM_WORKSPACE`, else of the first workspace from here upwards.

        Raises:
            WorkspaceProblem, RepositoryProblem: there is none, or it cannot be used.
        """
        return cls(open_at(locate(named)), say, progress)

    def _watch(self, verb: str, options: WriteOptions | None = None) -> Watch:
        """Times a verb and records how it ends."""
        actor = (options and options.actor) or os.environ.get("MDMEM_ACTOR") or self.workspace.settings.actor
        session = options.session if options else None
        return Watch(self.workspace.state, verb, actor and secrets.redact(actor), session and secrets.redact(session))

    def apply(self, change: Change) -> WriteResult:
        """Carry out one change, committed when this returns.

        Raises:
            MdmemError: it was refused or failed, and nothing is changed.
        """
        with self._watch(_VERBS[type(change)], change.options) as watch:
            result = writing.apply(self.workspace, change, self._say)
            watch.done(result.changed and not change.options.dry_run, result.path, result.commit, result.warnings if result.commit else ())
        if result.commit:
            freshness.start_catching_up(self.workspace)
        return result

    def plan_purge(self, wanted: Purge) -> "PurgePlan":
        """What a purge would change and what it cannot reach; nothing is changed.

        Raises:
            FactProblem, TextProblem: there is nothing to purge, or it cannot be told from other text.
        """
        from mdmem.memory import purging  # here, so that no other command pays for loading it

        with self._watch("plan-purge") as watch:
            plan = purging.plan(self.workspace, wanted)
            watch.done(False)
        return plan

    def purge(self, wanted: Purge) -> "Purged":
        """Take a text out of files, index and all history; it cannot be undone.

        Raises:
            MdmemError: it was refused, or could not be done to the end; running it again completes it.
        """
        from mdmem.memory import purging  # here, so that no other command pays for loading it

        with self._watch("purge") as watch:
            done = purging.carry_out(self.workspace, wanted, self._say)
            watch.done(done.plan.found, commit=done.commit)
        freshness.start_catching_up(self.workspace)
        return done

    def save(self, text: str | None = None) -> tuple[CommitId | None, tuple[FilePath, ...]]:
        """Commit a person's pending edits of memory files as theirs: the commit (None: nothing was pending) and its paths.

        Raises:
            RepositoryProblem: git cannot take them now.
        """
        with self._watch("save") as watch:
            commit, paths = writing.save(self.workspace, text, self._say)
            watch.done(commit is not None, commit=commit)
        if commit:
            freshness.start_catching_up(self.workspace)
        return commit, paths

    def show(self, wanted: Show) -> SectionView:
        """One section, the text before the first heading, or a whole file.

        Raises:
            PathProblem, SectionProblem: there is none.
        """
        return reading.show(self.workspace, wanted)

    def outline(self, file: str | None = None) -> Outline:
        """The sections of a file, with their etags.

        Raises:
            PathProblem: there is no such file.
        """
        return reading.outline(self.workspace, file)

    def search(self, wanted: Search) -> SearchResult:
        """The entries that answer a query best; the index is brought up to date first.

        Raises:
            UsageProblem: an option's value is out of its range.
        """
        with self._watch("search"):
            return reading.search(self.workspace, wanted, self._say, self._progress)

    def facts(self, wanted: ListFacts) -> tuple[Hit, ...]:
        """The facts of memory, by path and line."""
        return reading.facts(self.workspace, wanted, self._say, self._progress)

    def check(self, files: tuple[str, ...] = ()) -> tuple[Problem, ...]:
        """What is wrong with memory files as they are on disk.

        Raises:
            PathProblem: a named file is not there.
        """
        return reading.check_files(self.workspace, files)

    def status(self) -> WorkspaceStatus:
        """What is where and how fresh."""
        return reading.status(self.workspace)

    def reindex(self, full: bool = False) -> int:
        """Bring the index up to date, or build it anew; the number of entries in it.

        Raises:
            RepositoryProblem: `busy`. StorageProblem: it cannot be written.
        """
        with self._watch("reindex"):
            return freshness.rebuild(self.workspace, full, self._say, self._progress).index.count

    def examine(self, fix: bool = False) -> "tuple[Finding, ...]":
        """Everything around the workspace that is known to go wrong, looked at; with `fix` mended where that is safe."""
        from mdmem import doctor  # here, so that no other command pays for loading it

        with self._watch("doctor") as watch:
            found = doctor.examine(self.workspace, lambda: freshness.is_current(self.workspace), self.reindex, fix)
            watch.done(any(finding.fixed for finding in found))
        return found

    def install_hooks(self) -> tuple[str, ...]:
        """Put the hooks where git looks; the names of those that were written.

        Raises:
            RepositoryProblem: `hooks-managed`, with the lines to add by hand.
        """
        with self._watch("hooks-install") as watch:
            reading.require_hooks_free(self.workspace)
            written = hookfiles.install(self.workspace.repository.hooks_dir, sys.executable)
            watch.done(bool(written))
        return written

    def uninstall_hooks(self) -> tuple[str, ...]:
        """Take out mdmem's own hooks; their names."""
        with self._watch("hooks-uninstall") as watch:
            removed = hookfiles.uninstall(self.workspace.repository.hooks_dir)
            watch.done(bool(removed))
        return removed

    def hooks(self) -> dict[str, str]:
        """How each hook stands."""
        return hookfiles.state(self.workspace.repository.hooks_dir)


def initialise(wanted: Initialise) -> Initialised:
    """Make or adopt a workspace.

    Raises:
        MdmemError: the folder cannot hold one, or git cannot take a commit now.
    """
    return adopting.initialise(wanted)


__all__ = ["Initialised", "Memory", "catch_up", "catch_up_all", "initialise", "locate", "record_refusal", "staged_problems"]
