"""Memory: every verb; the one place where editors, git and search meet."""

import sys
from collections.abc import Callable
from pathlib import Path

from mdmem import hookfiles
from mdmem.memory import adopting, freshness, reading, writing
from mdmem.memory.adopting import Initialised
from mdmem.memory.freshness import Progress, catch_up, catch_up_all
from mdmem.memory.reading import staged_problems
from mdmem.memory.workspace import Workspace, locate, open_at
from mdmem.model import (
    Change,
    CommitId,
    FilePath,
    Hit,
    Initialise,
    ListFacts,
    Outline,
    Problem,
    Search,
    SearchResult,
    SectionView,
    Show,
    WorkspaceStatus,
    WriteResult,
)

Say = Callable[[str], None]


def _silent(_: str) -> None:
    pass


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

    def apply(self, change: Change) -> WriteResult:
        """Carry out one change, committed when this returns.

        Raises:
            MdmemError: it was refused or failed, and nothing is changed.
        """
        result = writing.apply(self.workspace, change, self._say)
        if result.commit:
            freshness.start_catching_up(self.workspace)
        return result

    def save(self, text: str | None = None) -> tuple[CommitId | None, tuple[FilePath, ...]]:
        """Commit a person's pending edits of memory files as theirs: the commit (None: nothing was pending) and its paths.

        Raises:
            RepositoryProblem: git cannot take them now.
        """
        commit, paths = writing.save(self.workspace, text, self._say)
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
        return freshness.rebuild(self.workspace, full, self._say, self._progress).index.count

    def install_hooks(self) -> tuple[str, ...]:
        """Put the hooks where git looks; the names of those that were written.

        Raises:
            RepositoryProblem: `hooks-managed`, with the lines to add by hand.
        """
        reading.require_hooks_free(self.workspace)
        return hookfiles.install(self.workspace.repository.hooks_dir, sys.executable)

    def uninstall_hooks(self) -> tuple[str, ...]:
        """Take out mdmem's own hooks; their names."""
        return hookfiles.uninstall(self.workspace.repository.hooks_dir)

    def hooks(self) -> dict[str, str]:
        """How each hook stands."""
        return hookfiles.state(self.workspace.repository.hooks_dir)


def initialise(wanted: Initialise) -> Initialised:
    """Make or adopt a workspace.

    Raises:
        MdmemError: the folder cannot hold one, or git cannot take a commit now.
    """
    return adopting.initialise(wanted)


__all__ = ["Initialised", "Memory", "catch_up", "catch_up_all", "initialise", "locate", "staged_problems"]
