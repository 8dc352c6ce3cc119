"""The branches of proposals: named, listed, begun, rewritten and closed."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import count, pairwise
from pathlib import Path
from typing import TypeVar

from mdmem.folder import layout
from mdmem.folder.layout import is_markdown
from mdmem.folder.machine import host_name, make_user_key, user_key
from mdmem.model import CommitId, FilePath
from mdmem.model.errors import PathProblem, ProposalProblem, RepositoryProblem, shell_word, verb
from mdmem.model.proposals import KEPT_DAYS, MOST_PROPOSALS, is_number
from mdmem.model.reads import UnreadableProposal, Waiting
from mdmem.model.rules import RESERVED_ACTORS
from mdmem.repo import Repository, branch_commits
from mdmem.repo.branch_commits import BlobChange, BranchCommit
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.workspace import Workspace, used_workspaces

T = TypeVar("T")
_UNREADABLE = frozenset({"broken-repository", "git-failed", "missing-history"})
"""Codes of failures that may concern one branch only."""


@dataclass(frozen=True, slots=True)
class ProposedBranch:
    """A proposal's branch, with its first-parent `commits` that HEAD lacks, oldest first.

    `base` is where it began, None for an unborn HEAD; `files` are the workspace's Markdown files
    that differ from it, `others` the remaining paths, `shared_with` other workspaces with Markdown
    files among these.
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


def read_branches(
    workspace: Workspace, refs: Iterable[ProposalRef], head: CommitId | None
) -> list[ProposedBranch]:
    refs, repository = list(refs), workspace.repository
    ahead = branch_commits.commits_not_in(repository, [ref.tip for ref in refs], head)
    chains = [_chain(ahead, ref.tip) for ref in refs]
    bases = [_base(workspace, ref, chain, head) for ref, chain in zip(refs, chains, strict=True)]
    base_trees = branch_commits.trees_of(repository, bases)
    trees = [
        [tree, *(commit.tree for commit in chain)]
        for tree, chain in zip(base_trees, chains, strict=True)
    ]
    steps = [pair for row in trees for pair in pairwise(row)]
    changes = branch_commits.changed_blobs(
        repository, [*((row[0], row[-1]) for row in trees), *steps]
    )
    of_steps = iter(changes[len(refs) :])
    folders = _Folders(workspace)
    return [
        folders.branch(ref, chain, tuple(next(of_steps) for _ in chain), base, changed)
        for ref, chain, base, changed in zip(refs, chains, bases, changes, strict=False)
    ]


def _chain(ahead: Mapping[CommitId, BranchCommit], tip: CommitId) -> tuple[BranchCommit, ...]:
    chain = []
    commit: CommitId | None = tip
    while commit is not None and commit in ahead:
        chain.append(ahead[commit])
        commit = next(iter(ahead[commit].parents), None)
    return tuple(reversed(chain))


def _base(
    workspace: Workspace, ref: ProposalRef, chain: Sequence[BranchCommit], head: CommitId | None
) -> CommitId | None:
    if not chain:
        return ref.tip
    if head is not None and any(len(commit.parents) > 1 for commit in chain):
        return branch_commits.merge_base(workspace.repository, head, ref.tip)
    return next(iter(chain[0].parents), None)


class _Folders:
    def __init__(self, workspace: Workspace) -> None:
        self._settings = workspace.settings
        self._own = os.fsencode(workspace.repository.prefix)
        root = workspace.repository.root
        used = used_workspaces(workspace.root, workspace.environment)
        others = [folder for folder in used if folder != workspace.root]
        self._others = {
            os.fsencode(f"{folder.relative_to(root)}/").removeprefix(b"./"): folder
            for folder in others
        }

    def branch(
        self,
        ref: ProposalRef,
        commits: tuple[BranchCommit, ...],
        commit_changes: tuple[Sequence[BlobChange], ...],
        base: CommitId | None,
        changes: Sequence[BlobChange],
    ) -> ProposedBranch:
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
                dict.fromkeys(
                    owner
                    for change in others
                    if is_markdown(os.fsdecode(change.path)) and (owner := self._owner(change.path))
                )
            ),
        )

    def _memory_path(self, change: BlobChange) -> FilePath | None:
        """The path in the workspace of a file that may hold memory, else None."""
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
    """Read proposals at once; if that fails, by halves to find the unreadable branches."""
    try:
        return read(refs), ()
    except RepositoryProblem as problem:
        if problem.code not in _UNREADABLE:
            raise
        if len(refs) == 1:
            unreadable = UnreadableProposal(
                id=refs[0].id,
                branch=refs[0].name.removeprefix("refs/heads/"),
                reason=problem.message,
                hint=problem.hint or "To see more: git fsck",
            )
            return [], (unreadable,)
    middle = len(refs) // 2
    first, first_unreadable = read_each(refs[:middle], read)
    second, second_unreadable = read_each(refs[middle:], read)
    return [*first, *second], (*first_unreadable, *second_unreadable)


def waiting(workspace: Workspace) -> Waiting:
    refs = list(open_proposals(workspace).values())
    if not refs:
        return Waiting()
    head = workspace.repository.head()
    read, unreadable = read_each(refs, lambda some: read_branches(workspace, some, head))
    ahead = [branch for branch in read if branch.is_ahead]
    oldest = min((branch.commits[0].time for branch in ahead), default=None)
    since = None if oldest is None else workspace.local_time(oldest)
    return Waiting(proposals=len(ahead), since=since, unreadable=unreadable)


_PREFIX = "refs/heads/mdmem/proposals/"
CLOSED = "refs/mdmem/closed/"
MADE = "refs/mdmem/made/"
"""Refs that hold each proposal as mdmem made it for this user.

A branch's name does not tell: it may have been fetched, or checked out from a remote. So may such a
ref: its own name is a code made of the branch's name and its commit with the user's key, so that
the refs of a copy count for the same user, and none that was seen helps to forge another.
"""
_NAME = late.pattern(rf"{_PREFIX}(.+)/([0-9a-f]{{8}})")
_UNSAFE = late.pattern(r"[^A-Za-z0-9_]+")
_MOST_ACTOR = 40
_NOBODY = "person"
"""The actor in a branch's name if unknown."""
_DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class ProposalRef:
    """A proposal's branch and newest commit; `actor` is from its name.

    `is_own`: mdmem made it for this user, in this repository or one that it is a copy of.
    """

    id: str
    actor: str
    name: str
    tip: CommitId
    is_own: bool = False

    @property
    def ending(self) -> str:
        """The end of its branch's name: a machine, or the id that version 0.2.0 gave it."""
        return self.name.rpartition("/")[2]


def safe_actor(actor: str | None) -> str:
    """An actor's name for a branch; never an mdmem actor's, unless it is one."""
    name = _UNSAFE.sub("-", actor or "").strip("-")[:_MOST_ACTOR].strip("-") or _NOBODY
    return f"{name}-" if name != actor and name.casefold() in RESERVED_ACTORS else name


def own_branch(actor: str | None) -> tuple[str, str]:
    return _id_and_name(actor, host_name())


def own_ref(workspace: Workspace, actor: str | None) -> ProposalRef | None:
    return open_proposals(workspace).get(own_branch(actor)[0])


def new_branch(
    workspace: Workspace, actor: str | None, content: str, decided: Collection[str]
) -> tuple[str, str]:
    """New here, and to the `decided` ids. Raises: ProposalProblem (`too-many-proposals`)."""
    open_refs = open_proposals(workspace)
    require_few(open_refs)
    closed_refs = branch_commits.list_refs(workspace.repository, CLOSED)
    closed = (name.removeprefix(CLOSED) for name in closed_refs)
    taken = {*open_refs, *decided, *closed}
    seed = f"{content}\0{host_name()}"
    names = (_id_and_name(actor, _digest(f"{seed}\0{number}")) for number in count())
    return next(each for each in names if each[0] not in taken)


def _id_and_name(actor: str | None, ending: str) -> tuple[str, str]:
    name = f"{safe_actor(actor)}/{ending}"
    return _digest(name), f"{_PREFIX}{name}"


def require_few(open_refs: Collection[str]) -> None:
    """Refuse a proposal above the maximum. Raises: ProposalProblem (`too-many-proposals`)."""
    if len(open_refs) >= MOST_PROPOSALS:
        hint = f"{verb('accept')} or {verb('reject')} some; to list them: {verb('proposals')}"
        raise ProposalProblem(
            "too-many-proposals",
            f"there are already {MOST_PROPOSALS} open proposals, the maximum",
            hint,
        )


def _digest(content: str) -> str:
    return hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()[:8]


def with_id(message: str, proposal: str) -> str:
    """The message of a proposing commit; history dates its changes by the merge."""
    return f"{message.rstrip()}\nMdmem-Proposed: {proposal}\n"


def open_proposals(workspace: Workspace) -> dict[str, ProposalRef]:
    refs = branch_commits.list_refs(workspace.repository, _PREFIX, MADE)
    key = user_key(workspace.environment)
    proposals = {}
    for name, tip in sorted(refs.items()):
        if ref := parse_ref(name, tip):
            is_own = key is not None and refs.get(_made_ref(key, ref)) == tip
            proposals[ref.id] = replace(ref, is_own=is_own)
    return proposals


def parse_ref(name: str, tip: CommitId) -> ProposalRef | None:
    """A proposal by the full name of its branch; None for any other branch."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    proposal, _ = _id_and_name(match[1], match[2])
    return ProposalRef(id=proposal, actor=match[1], name=name, tip=tip)


def made_again(workspace: Workspace, moved: Mapping[str, str]) -> dict[str, CommitId]:
    refs = (ref for ref in open_proposals(workspace).values() if ref.name in moved)
    return _made_refs(workspace, *(replace(ref, tip=CommitId(moved[ref.name])) for ref in refs))


def _made_refs(workspace: Workspace, *refs: ProposalRef) -> dict[str, CommitId]:
    key = user_key(workspace.environment)
    return {_made_ref(key, ref): ref.tip for ref in refs if ref.is_own} if key else {}


def _made_ref(key: bytes, ref: ProposalRef) -> str:
    content = f"{ref.name}\0{ref.tip}".encode("utf-8", "surrogateescape")
    return f"{MADE}{hashlib.blake2b(content, key=key, digest_size=16).hexdigest()}"


def move(workspace: Workspace, before: ProposalRef | None, after: ProposalRef) -> bool:
    """`before` None begins it; False if it moved meanwhile. It stays own only if it was before."""
    is_own = before is None or before.is_own
    if is_own:
        make_user_key(workspace.environment)
    moves = _moves(workspace, before, replace(after, is_own=is_own))
    return branch_commits.move_refs(workspace.repository, moves, scratch=after.id)


def adopt(workspace: Workspace, before: ProposalRef | None, after: ProposalRef) -> bool:
    """Take a proposal as another machine has it, as not made here; False if it moved meanwhile."""
    moves = _moves(workspace, before, replace(after, is_own=False))
    return branch_commits.move_refs(workspace.repository, moves)


def _moves(
    workspace: Workspace, before: ProposalRef | None, after: ProposalRef
) -> list[tuple[str, str | None, str | None]]:
    old, new = _made_refs(workspace, *([before] if before else [])), _made_refs(workspace, after)
    return [
        (after.name, after.tip, before.tip if before else None),
        *((name, tip, "") for name, tip in new.items()),
        *((name, None, tip) for name, tip in old.items() if name not in new),
    ]


def find_proposal(workspace: Workspace, named: str) -> ProposalRef:
    """By an id, the beginning of one, or a branch name or its end. Raises: ProposalProblem."""
    open_refs = open_proposals(workspace)
    name = f"{_PREFIX}{named.strip().removeprefix('refs/heads/').removeprefix('mdmem/proposals/')}"
    word = name.rpartition("/")[2].casefold()
    refs = (
        [ref for ref in open_refs.values() if ref.name == name]
        or [ref for ref in open_refs.values() if word and ref.id.startswith(word)]
        or [ref for ref in open_refs.values() if word and ref.ending.startswith(word)]
    )
    if len(refs) == 1:
        return refs[0]
    if refs:
        names = ", ".join(ref.id for ref in refs)
        raise ProposalProblem(
            "ambiguous",
            f"{len(refs)} proposals have ids that begin with {word!r}",
            f"They are {names}.",
        )
    closed = [
        name
        for name in branch_commits.list_refs(workspace.repository, CLOSED)
        if word and name.removeprefix(CLOSED).startswith(word)
    ]
    if closed:
        name = closed[0].removeprefix(CLOSED)
        raise ProposalProblem(
            "proposal-not-found",
            f"{name} is decided and closed",
            f"To see its changes: git log {shell_word(closed[0])}",
        )
    raise ProposalProblem(
        "proposal-not-found",
        f"{named} is a number of the list, not an id"
        if is_number(named)
        else f"no proposal {named[:80]!r}",
        f"To list open proposals, with their ids at the end: {verb('proposals')}",
    )


def require_movable(repository: Repository, ref: ProposalRef) -> None:
    """Refuse a branch that a work tree has. Raises: ProposalProblem (`checked-out`)."""
    if (folder := branch_commits.checked_out_in(repository, ref.name)) is not None:
        message = f"the branch of {ref.id} is checked out in {folder}"
        raise ProposalProblem(
            "checked-out", message, "Commit to it there, or switch to another branch first."
        )


def close(workspace: Workspace, ref: ProposalRef, original: CommitId) -> bool:
    """Delete a proposal's branch, keeping its commits for a while; False if it moved meanwhile."""
    repository, name = workspace.repository, f"{CLOSED}{ref.id}"
    kept = branch_commits.list_refs(repository, name).get(name)
    moves: list[tuple[str, str | None, str | None]] = [
        (ref.name, None, ref.tip),
        (name, original, kept),
    ]
    moves += [(made, None, tip) for made, tip in _made_refs(workspace, ref).items()]
    return branch_commits.move_refs(repository, moves, scratch=ref.id)


def drop_old(workspace: Workspace) -> None:
    """Delete expired closed proposals, and what killed processes left."""
    repository = workspace.repository
    oldest = int(time.time()) - KEPT_DAYS * _DAY_SECONDS
    refs = branch_commits.list_refs(repository, _PREFIX, CLOSED, MADE, branch_commits.SCRATCH)
    closed = {name: tip for name, tip in refs.items() if name.startswith(CLOSED)}
    times = branch_commits.commit_times(repository, closed.values())
    over = [(name, None, tip) for name, tip in closed.items() if times.get(tip, oldest) < oldest]
    tips = {tip for name, tip in refs.items() if parse_ref(name, tip)}
    left = [
        (name, None, tip)
        for name, tip in refs.items()
        # Of an open proposal it is the user's own, or another's who shares the repository.
        if name.startswith(branch_commits.SCRATCH) or (name.startswith(MADE) and tip not in tips)
    ]
    if over or left:
        branch_commits.move_refs(repository, [*over, *left])
