"""Compare the two sides, and merge them into the commit that both are to have."""

from __future__ import annotations

import sys

from mdmem import repo
from mdmem.changes.purge import PURGE_TRAILER
from mdmem.errors import SyncProblem
from mdmem.folder.layout import WORKSPACE_MARKS
from mdmem.folder.listing import is_marked
from mdmem.merge import again, setup
from mdmem.merge.trailers import merge_trailers
from mdmem.model import CommitId, FactId, FilePath, Op
from mdmem.model.syncing import SetAside
from mdmem.repo import Repository, branch_commits
from mdmem.repo.first_parent import reaches
from mdmem.repo.merge_trees import merge_trees
from mdmem.repo.remotes import Remote, machine_name
from mdmem.startup.records import dataclass
from mdmem.sync.outgoing import require_memory_alone
from mdmem.sync.sync_state import SyncState
from mdmem.workspace import Workspace, open_at

_DEEPENINGS, _FIRST_DEPTH = 5, 50


@dataclass(frozen=True, slots=True)
class Combined:
    """The commit that both sides are to have, and the merge that was made for it, if any."""

    commit: CommitId
    merge: CommitId | None = None
    contradicts: tuple[tuple[FactId, FactId], ...] = ()
    kept: tuple[FactId, ...] = ()
    kept_files: tuple[FilePath, ...] = ()
    set_aside: tuple[SetAside, ...] = ()


def combine(
    workspace: Workspace,
    remote: Remote,
    state: SyncState,
    theirs: CommitId | None,
    ours: CommitId | None,
) -> Combined | None:
    """The commit to land and to push; None where neither side has any.

    Raises: SyncProblem (`remote-rewound`, `remote-unrelated`, `sync-foreign`), RepositoryProblem
    (`git-too-old`).
    """
    repository = workspace.repository.at_folder(workspace.repository.root)
    _require_forward(workspace, remote, state, theirs, ours)
    require_memory_alone(workspace, theirs, ours)
    if theirs is None or ours is None:
        commit = theirs or ours
        return Combined(commit=commit) if commit else None
    if reaches(repository, ours, theirs):
        return Combined(commit=ours)
    if reaches(repository, theirs, ours):
        return Combined(commit=theirs)
    _require_common_past(repository, remote, theirs, ours)
    return _merge(workspace, repository, remote, theirs, ours)


def require_purge_sent(
    repository: Repository, remote: Remote, seen: CommitId | None, ours: CommitId | None
) -> None:
    """Refuse to fetch what was purged here and is still there.

    Raises SyncProblem (`purge-unpushed`).
    """
    if seen is None or ours is None or _reaches(repository, ours, seen):
        return
    if not _purges(repository, ours, seen if repository.has(seen) else None):
        return
    theirs = remote.tip()
    if theirs and not _reaches(repository, ours, theirs):
        raise SyncProblem(
            "purge-unpushed",
            f"{remote.name} still has text that was purged here",
            f"To replace it there: git push --force-with-lease {remote.name} {remote.branch}",
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
    if theirs and _purges(repository, theirs, ours):
        raise SyncProblem(
            "remote-purged",
            f"another machine purged text from {remote.name}",
            "Purge the same text here (forget with purge), then: git pull --rebase",
        )
    at = f", present at {workspace.local_time(int(state.last)):%H:%M}," if state.last else ""
    raise SyncProblem(
        "remote-rewound",
        f"{remote.name}/{remote.branch} was rewound: {seen[:8]}{at} is missing",
        f"To put it back: git push --force-with-lease {remote.name} {remote.branch}. To take it out"
        f" here too: git reset --keep {remote.name}/{remote.branch}",
    )


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
                f"Clone {remote.name} elsewhere and add what this memory has there.",
            )
        remote.fetch(f"--deepen={depth}")
        depth, tries = 2 * depth, tries - 1


def _merge(
    workspace: Workspace,
    repository: Repository,
    remote: Remote,
    theirs: CommitId,
    ours: CommitId,
) -> Combined:
    set_up(workspace, again=True)
    host = machine_name()
    merged = merge_trees(repository, theirs, ours, host)

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
    message = "\n".join([f"sync: merge {host} into {remote.branch}", "", *trailers, ""])
    date = branch_commits.date_variables(repo.raw_date(workspace.now()), workspace.identity())
    tree = merged.with_ours or merged.tree
    commit = merge = branch_commits.commit_tree(repository, tree, [theirs, ours], message, date)
    if merged.with_ours:
        names = ", ".join(each.path for each in merged.set_aside)
        message = "\n".join([f"sync: take {names} from {remote.name}", "", *trailers[:2], ""])
        commit = branch_commits.commit_tree(repository, merged.tree, [merge], message, date)
    words = [trailer.split() for trailer in of_facts]
    return Combined(
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
        repository = workspace.repository.at_folder(workspace.repository.root)
        marks = {path.rpartition("/") for path in repository.tracked()}
        roots = {repository.root / folder for folder, _, name in marks if name in WORKSPACE_MARKS}
        for root in {workspace.root, *filter(is_marked, roots)}:
            setup.install(
                workspace if root == workspace.root else open_at(root, workspace.environment),
                sys.executable,
            )
