"""Compare the two sides, and merge them into the commit that both are to have."""

from __future__ import annotations

import sys

from mdmem import repo
from mdmem.changes.purge import PURGE_TRAILER
from mdmem.errors import SyncProblem
from mdmem.folder.layout import WORKSPACE_MARKS
from mdmem.folder.listing import is_marked
from mdmem.folder.machine import machine_name, safe_name
from mdmem.merge import again, setup
from mdmem.merge.again import merge_trailers
from mdmem.model import CommitId, FactId, FilePath, Op
from mdmem.model.pipelines import SetAside
from mdmem.repo import Repository, branch_commits
from mdmem.repo.first_parent import reaches
from mdmem.repo.merge_trees import merge_trees
from mdmem.repo.remotes import Remote
from mdmem.startup.records import dataclass, replace
from mdmem.sync.outgoing import require_memory_alone, require_no_conflict
from mdmem.sync.purged_line import brings_purged, make_again, purged_words
from mdmem.sync.sync_state import SyncState
from mdmem.wording import verb
from mdmem.workspace import Workspace, open_at

_DEEPENINGS, _FIRST_DEPTH = 5, 50


@dataclass(frozen=True, slots=True)
class Merged:
    """A merge that was made, and the commit that ends it: itself, or one after it."""

    commit: CommitId
    merge: CommitId
    contradicts: tuple[tuple[FactId, FactId], ...] = ()
    kept: tuple[FactId, ...] = ()
    kept_files: tuple[FilePath, ...] = ()
    set_aside: tuple[SetAside, ...] = ()


@dataclass(frozen=True, slots=True)
class Combined:
    """The commit that both sides are to have, and the merges that were made for it.

    `taken_in` are the devices whose branches are in it now.
    """

    commit: CommitId
    merges: tuple[Merged, ...] = ()
    taken_in: tuple[str, ...] = ()


def combine(
    workspace: Workspace,
    remote: Remote,
    state: SyncState,
    theirs: CommitId | None,
    ours: CommitId | None,
    all_files: bool = False,
    join: bool = False,
    sets_up: bool = True,
) -> Combined | None:
    """The commit to land and to push; None where neither side has any.

    `all_files`: other files than memory may change too. `join`: the two sides may have begun
    separately. `sets_up`: see that git merges by section.
    Raises: SyncProblem (`remote-rewound`, `remote-purged`, `remote-unrelated`, `sync-foreign`,
    `sync-conflict`), RepositoryProblem (`git-too-old`).
    """
    repository = workspace.repository.at_root()
    _require_forward(workspace, remote, state, theirs, ours)
    if not all_files:
        require_memory_alone(workspace, theirs, ours)
    if theirs is None or ours is None:
        commit = theirs or ours
        return Combined(commit=commit) if commit else None
    if reaches(repository, ours, theirs):
        combined = Combined(commit=ours)
    elif reaches(repository, theirs, ours):
        combined = Combined(commit=theirs)
    else:
        if not join:
            _require_common_past(repository, remote, theirs, ours)
        if sets_up:
            set_up(workspace, again=True)
        merged = _merge(workspace, remote, theirs, ours, machine_name())
        combined = Combined(commit=merged.commit, merges=(merged,))
    return _with_devices(workspace, remote, combined, all_files, sets_up)


def _with_devices(
    workspace: Workspace, remote: Remote, combined: Combined, all_files: bool, sets_up: bool
) -> Combined:
    """Merge the branches of devices that cannot merge themselves, in the order of their names."""
    repository = workspace.repository.at_root()
    devices = remote.devices()
    words = purged_words(repository, combined.commit) if devices else ()
    for branch, tip in devices.items():
        name = safe_name(branch)
        base = branch_commits.merge_base(repository, combined.commit, tip)
        if base in (tip, None):  # it is in already, or has nothing to do with this memory
            continue
        if not all_files:
            require_memory_alone(workspace, tip, combined.commit)
        taken_in = (*combined.taken_in, name)
        if words and brings_purged(repository, tip, combined.commit, words):
            commit = make_again(workspace, combined.commit, tip, combined.commit, lambda _: None)
            combined = replace(combined, commit=commit, taken_in=taken_in)
            continue
        if sets_up:
            set_up(workspace, again=True)
        merged = _merge(workspace, remote, combined.commit, tip, name)
        merges = (*combined.merges, merged)
        combined = Combined(commit=merged.commit, merges=merges, taken_in=taken_in)
    return combined


def is_purge_unsent(
    repository: Repository, remote: Remote, seen: CommitId | None, ours: CommitId | None
) -> bool:
    """True if text was purged here that the remote still has; nothing is fetched."""
    if seen is None or ours is None or _reaches(repository, ours, seen):
        return False
    tracked = repository.commit_named(remote.tracking_ref)
    if tracked and _reaches(repository, ours, tracked):  # the purge came from there
        return False
    if not _purges(repository, ours, seen if repository.has(seen) else None):
        return False
    theirs = remote.tip()
    return theirs is not None and not _reaches(repository, ours, theirs)


def is_purged_there(
    repository: Repository, seen: CommitId | None, theirs: CommitId | None, ours: CommitId | None
) -> bool:
    """True if text was purged at the remote that is still here."""
    return (
        seen is not None
        and theirs is not None
        and ours is not None
        and not _reaches(repository, theirs, seen)
        and _reaches(repository, ours, seen)
        and _purges(repository, theirs, ours)
    )


def _require_forward(
    workspace: Workspace,
    remote: Remote,
    state: SyncState,
    theirs: CommitId | None,
    ours: CommitId | None,
) -> None:
    """Refuse a remote that lacks what it had, unless a person has left that here too."""
    repository, seen = workspace.repository, state.seen
    if seen is None or (theirs and _reaches(repository, theirs, seen)):
        return
    if ours is None or not _reaches(repository, ours, seen):
        return
    if is_purged_there(repository, seen, theirs, ours):
        raise SyncProblem(
            "remote-purged",
            f"another machine purged text from {remote.name}",
            f"To purge it here too: {verb('sync', 'purge')}",
        )
    at = f", present at {workspace.local_time(int(state.last)):%H:%M}," if state.last else ""
    raise SyncProblem(
        "remote-rewound",
        f"{remote.name}/{remote.branch} was rewound: {seen[:8]}{at} is missing",
        f"To put it back: git push --force-with-lease {remote.name} {remote.branch}. To remove it"
        f" here too: git reset --keep {remote.name}/{remote.branch}",
    )


def is_reached(repository: Repository, commit: CommitId, *tips: CommitId) -> bool:
    """True if one of some tips has a commit in its history."""
    return any(_reaches(repository, tip, commit) for tip in tips)


def _reaches(repository: Repository, head: CommitId, commit: CommitId) -> bool:
    """True if a commit is in a history; not if it was pruned."""
    return repository.has(commit) and reaches(repository, head, commit)


def _purges(repository: Repository, tip: CommitId, without: CommitId | None) -> bool:
    """True if a purge is among the commits that only `tip` reaches."""
    command = ("log", "-1", "--format=%H", f"--grep=^{PURGE_TRAILER}$", "--end-of-options", tip)
    return bool(repository.git(*command, *([f"^{without}"] if without else [])))


def _require_common_past(
    repository: Repository, remote: Remote, theirs: CommitId, ours: CommitId
) -> None:
    depth, tries = _FIRST_DEPTH, _DEEPENINGS if repository.is_shallow() else 0
    while branch_commits.merge_base(repository, theirs, ours) is None:
        if tries == 0:
            raise SyncProblem(
                "remote-unrelated",
                f"{remote.name}/{remote.branch} and this branch have no commit in common",
                f"To merge two memories that were created separately: {verb('sync', 'join')}",
            )
        remote.fetch(f"--deepen={depth}")
        depth, tries = 2 * depth, tries - 1


def _merge(
    workspace: Workspace, remote: Remote, theirs: CommitId, ours: CommitId, name: str
) -> Merged:
    """Merge a side, called by a machine's name, into the remote's."""
    repository = workspace.repository.at_root()
    is_joined = branch_commits.merge_base(repository, theirs, ours) is None
    merged = merge_trees(repository, theirs, ours, name, unrelated=is_joined)
    if merged.conflicts:
        require_no_conflict(workspace, (theirs, ours), merged.conflicts)

    def text_of(path: FilePath) -> bytes | None:
        return repository.blobs([f"{merged.tree}:{path}"])[0]

    of_facts = merge_trailers(
        repository,
        again.files_of_both(repository, theirs, ours),
        text_of,
        workspace.environment,
    )
    trailers = [
        f"Mdmem-Op: {Op.SYNC}",
        "Mdmem-Actor: sync",
        *of_facts,
        *(f"Mdmem-Kept-File: {' '.join(path.split())}" for path in merged.kept_files),
        *(f"Mdmem-Set-Aside: {' '.join(e.path.split())} {e.blob}" for e in merged.set_aside),
    ]
    message = "\n".join([f"sync: merge {name} into {remote.branch}", "", *trailers, ""])
    date = branch_commits.date_variables(repo.raw_date(workspace.now()), workspace.identity())
    tree = merged.with_ours or merged.tree
    commit = merge = branch_commits.commit_tree(repository, tree, [theirs, ours], message, date)
    if merged.with_ours:
        names = ", ".join(each.path for each in merged.set_aside)
        message = "\n".join([f"sync: take {names} from {remote.name}", "", *trailers[:2], ""])
        commit = branch_commits.commit_tree(repository, merged.tree, [merge], message, date)
    words = [trailer.split() for trailer in of_facts]
    return Merged(
        commit=commit,
        merge=merge,
        contradicts=tuple(
            (FactId(facts[0]), FactId(facts[1]))
            for name, *facts in words
            if name == "Mdmem-Contradicts:"
        ),
        kept=tuple(FactId(facts[0]) for name, *facts in words if name == "Mdmem-Kept:"),
        kept_files=merged.kept_files,
        set_aside=merged.set_aside,
    )


def set_up(workspace: Workspace, again: bool = False) -> None:
    """Have git merge memory by section here, as `init` does; `again`: see whether it still does."""
    if again or setup.driver_command(workspace.repository) is None:
        repository = workspace.repository.at_root()
        marks = {path.rpartition("/") for path in repository.tracked()}
        roots = {repository.root / folder for folder, _, name in marks if name in WORKSPACE_MARKS}
        for root in {workspace.root, *filter(is_marked, roots)}:
            setup.install(
                workspace if root == workspace.root else open_at(root, workspace.environment),
                sys.executable,
            )
