"""Commits of proposals and the files that they change: all that can be told of them without reading a text."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from mdmem import layout
from mdmem.errors import PathProblem, RepositoryProblem
from mdmem.layout import is_markdown
from mdmem.model import CommitId, FilePath
from mdmem.model.reads import UnreadableProposal, Waiting
from mdmem.proposals import branches
from mdmem.proposals.branches import ProposalRef
from mdmem.repo import branch_commits
from mdmem.repo.branch_commits import BlobChange, BranchCommit
from mdmem.startup.records import dataclass
from mdmem.workspace import Workspace, used_workspaces

T = TypeVar("T")
_UNREADABLE = frozenset({"broken-repository", "git-failed", "missing-history"})
"""The codes of failures that may be those of one branch."""


@dataclass(frozen=True, slots=True)
class ProposedBranch:
    """A proposal's branch.

    - `commits`: those along its first parents that HEAD lacks, oldest first; `commit_changes` has the files that each of them changed.
    - `base`: the commit where it began; None for a branch that began with none.
    - `files`: the Markdown files of the workspace that differ from the base; `others` are the paths of the rest.
    - `shared_with`: the workspaces of which some of these are Markdown files.
    """

    ref: ProposalRef
    commits: tuple[BranchCommit, ...]
    commit_changes: tuple[Sequence[BlobChange], ...]
    base: CommitId | None
    files: tuple[tuple[FilePath, BlobChange], ...]
    others: tuple[str, ...]
    shared_with: tuple[Path, ...]

    @property
    def is_ahead(self) -> bool:
        """True if HEAD lacks something of it that is for this workspace."""
        return bool(self.commits) and (bool(self.files) or not self.others)


def read_branches(workspace: Workspace, refs: Iterable[ProposalRef], head: CommitId | None) -> list[ProposedBranch]:
    """The branches of some proposals, read at once; `head` is what they are compared with."""
    refs, repository = list(refs), workspace.repository
    ahead = branch_commits.commits_not_in(repository, [ref.tip for ref in refs], head)
    chains = [_chain(ahead, ref.tip) for ref in refs]
    bases = [_base(workspace, ref, chain, head) for ref, chain in zip(refs, chains, strict=True)]
    base_trees = branch_commits.trees_of(repository, bases)
    trees = [[tree, *(commit.tree for commit in chain)] for tree, chain in zip(base_trees, chains, strict=True)]
    steps = [pair for row in trees for pair in pairwise(row)]
    changes = branch_commits.changed_blobs(repository, [*((row[0], row[-1]) for row in trees), *steps])
    of_steps = iter(changes[len(refs) :])
    folders = _Folders(workspace)
    return [
        folders.branch(ref, chain, tuple(next(of_steps) for _ in chain), base, changed)
        for ref, chain, base, changed in zip(refs, chains, bases, changes, strict=False)
    ]


def _chain(ahead: Mapping[CommitId, BranchCommit], tip: CommitId) -> tuple[BranchCommit, ...]:
    """The commits of a branch along its first parents that HEAD does not have, oldest first."""
    chain = []
    commit: CommitId | None = tip
    while commit is not None and commit in ahead:
        chain.append(ahead[commit])
        commit = next(iter(ahead[commit].parents), None)
    return tuple(reversed(chain))


def _base(workspace: Workspace, ref: ProposalRef, chain: Sequence[BranchCommit], head: CommitId | None) -> CommitId | None:
    """The commit where a branch began: where it left HEAD's history, or joined it last."""
    if not chain:
        return ref.tip
    if head is not None and any(len(commit.parents) > 1 for commit in chain):
        return branch_commits.merge_base(workspace.repository, head, ref.tip)
    return next(iter(chain[0].parents), None)


class _Folders:
    """The folders of the workspaces of a repository, by which it is told whose a changed file is."""

    def __init__(self, workspace: Workspace) -> None:
        self._settings = workspace.settings
        self._own = os.fsencode(workspace.repository.prefix)
        root = workspace.repository.root
        others = [folder for folder in used_workspaces(workspace.root) if folder != workspace.root]
        self._others = {os.fsencode(f"{folder.relative_to(root)}/").removeprefix(b"./"): folder for folder in others}

    def branch(
        self,
        ref: ProposalRef,
        commits: tuple[BranchCommit, ...],
        commit_changes: tuple[Sequence[BlobChange], ...],
        base: CommitId | None,
        changes: Sequence[BlobChange],
    ) -> ProposedBranch:
        """A proposal's branch, by the files that it changes."""
        files, others = [], []
        for change in changes:
            path = self._memory_path(change)
            if path is None:
                others.append(change)
            else:
                files.append((path, change))
        return ProposedBranch(
            ref=ref,
            commits=commits,
            commit_changes=commit_changes,
            base=base,
            files=tuple(files),
            others=tuple(os.fsdecode(change.path) for change in others),
            shared_with=tuple(
                dict.fromkeys(owner for change in others if is_markdown(os.fsdecode(change.path)) and (owner := self._owner(change.path)))
            ),
        )

    def _memory_path(self, change: BlobChange) -> FilePath | None:
        """The path in the workspace of a file that may hold memory; None for any other."""
        if not change.is_plain or not change.path.startswith(self._own) or self._owner(change.path):
            return None
        name = os.fsdecode(change.path.removeprefix(self._own))
        try:
            path = layout.parse_path(name)
        except PathProblem:
            return None
        is_read_only = layout.within(path, self._settings.extra_paths)
        return path if path == name and not is_read_only else None

    def _owner(self, path: bytes) -> Path | None:
        """The innermost workspace around a file, if it is another one."""
        around = [folder for folder in (self._own, *self._others) if path.startswith(folder)]
        return self._others.get(max(around, key=len)) if around else None


def read_each(
    refs: Sequence[ProposalRef],
    read: Callable[[Sequence[ProposalRef]], list[T]],
) -> tuple[list[T], tuple[UnreadableProposal, ...]]:
    """Read proposals at once; where that fails by halves, down to the branches that git cannot read."""
    try:
        return read(refs), ()
    except RepositoryProblem as problem:
        if problem.code not in _UNREADABLE:
            raise
        if len(refs) == 1:
            return [], (_unreadable(refs[0], problem),)
    middle = len(refs) // 2
    first, first_unreadable = read_each(refs[:middle], read)
    second, second_unreadable = read_each(refs[middle:], read)
    return [*first, *second], (*first_unreadable, *second_unreadable)


def _unreadable(ref: ProposalRef, problem: RepositoryProblem) -> UnreadableProposal:
    return UnreadableProposal(
        id=ref.id,
        branch=ref.name.removeprefix("refs/heads/"),
        reason=problem.message,
        hint=problem.hint or "To see more: git fsck",
    )


def waiting(workspace: Workspace) -> Waiting:
    """The number of proposals for this workspace that HEAD has not taken in, and since when the oldest one waits."""
    refs = list(branches.standing_proposals(workspace.repository).values())
    if not refs:
        return Waiting()
    head = workspace.repository.head()
    read, unreadable = read_each(refs, lambda some: read_branches(workspace, some, head))
    ahead = [branch for branch in read if branch.is_ahead]
    oldest = min((branch.commits[0].time for branch in ahead), default=None)
    since = None if oldest is None else workspace.local_time(oldest)
    return Waiting(proposals=len(ahead), since=since, unreadable=unreadable)
