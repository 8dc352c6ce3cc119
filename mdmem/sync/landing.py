"""Land a commit: put its files in place and move the branch to it, as one write."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

from mdmem.changes import placing
from mdmem.changes.pending import save_locked
from mdmem.changes.recover import lock_workspace, recover
from mdmem.folder import files
from mdmem.folder.journal import BranchStep, FileStep
from mdmem.folder.layout import is_markdown
from mdmem.model import MAX_FILE_BYTES, CommitId, FilePath
from mdmem.model.errors import PathProblem, RepositoryProblem, verb
from mdmem.repo import Repository
from mdmem.workspace import Say, Workspace, open_at, used_workspaces, workspaces_of

_GUARDS = frozenset({"shrink", "append"})
"""The checks that a person's pending edits pass unseen, as before any write of the file."""


def land(
    workspace: Workspace,
    before: CommitId | None,
    after: CommitId,
    say: Say,
    prepared: placing.Prepared | None = None,
    is_locked: bool = False,
) -> bool:
    """Put a commit in place of HEAD; False where HEAD is not, or no longer, `before`.

    Pending edits of its files are committed first, which moves HEAD. All else stays as it is. One
    process at a time does this, and calls `placing.discard` in the end. `prepared` is kept from one
    try to the next; `is_locked`: the caller holds `lock_work_tree`.
    Raises: RepositoryProblem (`pending-edits`, `repository-busy`, `detached-head`, `busy`),
    PathProblem (`bad-path`, `unsupported-file`), RefusedChange (`secret-found`).
    """
    repository = workspace.repository.at_root()
    prepared = {} if prepared is None else prepared
    workspace.ensure_state()
    then = BranchStep(repository.branch(), before, after)
    steps = placing.plan_steps(workspace, before, after)
    _require_placeable(repository, [step for step in steps if step not in prepared])
    placements = placing.prepare(workspace, steps, then, prepared)
    with nullcontext() if is_locked else lock_work_tree(workspace, say):
        repository.require_ready(allow_detached=False, branch=repository.branch())
        recover(workspace, say)
        if repository.head() != before:
            return False
        paths = {step.path for step in steps}
        if pending := paths.intersection(repository.pending()):
            _commit_pending(workspace, repository, pending, say)
            if repository.head() != before:
                return False
        prepared.clear()
        return placing.carry_out(workspace, then, placements)


@contextmanager
def lock_work_tree(workspace: Workspace, say: Say) -> Iterator[None]:
    """Hold the locks of all workspaces of the work tree, in one order."""
    roots = {workspace.root, *used_workspaces(workspace.root, workspace.environment)}
    with ExitStack() as locks:
        for root in sorted(roots):
            other = workspace if root == workspace.root else open_at(root, workspace.environment)
            locks.enter_context(lock_workspace(other, say, to_sync=True))
        yield


def _require_placeable(repository: Repository, steps: Sequence[FileStep]) -> None:
    """Refuse names that lead elsewhere, and what mdmem could not read again."""
    blobs = {step.after: step.path for step in steps if step.after and is_markdown(step.path)}
    for step in steps:
        if not is_safe(step.path):
            raise PathProblem("bad-path", f"{step.path} is not a path for a memory file")
        files.path_on_disk(repository.root, step.path)
    text = "".join(f"{blob}\n" for blob in blobs).encode()
    rows = repository.git("cat-file", "--batch-check", text=text)
    for blob, _, size in (row.split() for row in rows.decode().splitlines()):
        if int(size) > MAX_FILE_BYTES:
            raise PathProblem(
                "unsupported-file",
                f"{blobs[blob]} has {int(size):,} bytes; the maximum is {MAX_FILE_BYTES:,}",
            )


def is_safe(path: str) -> bool:
    """True for a path that stays in the work tree, and outside of git's own folder."""
    parts = path.casefold().split("/")
    return not any(part in ("", ".", "..", ".git") or part.startswith("git~") for part in parts)


def _commit_pending(
    workspace: Workspace, repository: Repository, paths: Collection[FilePath], say: Say
) -> None:
    folders = {path: (repository.root / path).parent for path in paths}
    around = workspaces_of(repository, set(folders.values()), workspace.environment)
    inner: dict[Path, tuple[Workspace, set[FilePath]]] = {}
    for path, folder in folders.items():
        owner = around.get(folder)
        own_path = FilePath(path.removeprefix(owner.repository.prefix)) if owner else path
        if (
            owner is None
            or owner.settings.direct_edits == "refuse"
            or not owner.kind_of(own_path).is_memory
        ):
            raise RepositoryProblem(
                "pending-edits",
                f"{path} has uncommitted edits, and the remote changed it",
                f"Commit them ({verb('save')} or git commit) or undo them.",
            )
        inner.setdefault(owner.root, (owner, set()))[1].add(own_path)
    for owner, own_paths in inner.values():
        save_locked(owner, None, say, _GUARDS, only=own_paths)
