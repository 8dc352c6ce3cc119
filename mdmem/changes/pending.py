"""Commit a person's pending edits as theirs: by `save`, and before a write of the same file. An agent that does so claims them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from mdmem import check, files, layout, repo
from mdmem.changes.commit_notes import saved_message
from mdmem.changes.recover import lock_workspace, recover
from mdmem.changes.refusals import refuse_errors, secrets_in_text
from mdmem.errors import PathProblem, RepositoryProblem
from mdmem.model import CommitId, FilePath
from mdmem.repo import PathState, Repository, commits
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.wording import verb
from mdmem.workspace import Say, Workspace, read_committed

if TYPE_CHECKING:
    from mdmem.repo import index_bits
else:
    index_bits = late.module("mdmem.repo.index_bits")


@dataclass(frozen=True, slots=True)
class PendingCommit:
    """A person's edits of one file as they were committed, and what git's index said of the file before."""

    id: CommitId
    entry: commits.IndexEntry


def commit_pending_edits(
    workspace: Workspace, data: bytes | None, state: PathState, order: commits.CommitOrder, allow: frozenset[str], actor: str | None
) -> PendingCommit | None:
    """Commit a person's pending edits of a file that is about to be written, or that it is gone; None where there are none.

    Args:
        workspace: the workspace.
        data: what the file holds.
        state: how git sees the file.
        order: the commit of the write itself, for path, date and identity.
        allow: the refusals of the check that are let through.
        actor: who has the edits committed; an agent claims them.

    Raises:
        RepositoryProblem: `pending-edits`, `pending-secret`, or git cannot take them.
    """
    (path,) = order.paths
    if not state.pending:
        return None
    committed = read_committed(workspace, path, state.commit)
    if data is None and committed is None:
        return None
    _refuse_pending(workspace, path, committed, data, allow)
    entry = commits.index_entry(workspace.repository, path)
    message = saved_message(workspace, f"{path}: {'removed' if data is None else 'edited'} by hand", [(committed, data)], actor)
    try:
        commit = commits.commit(workspace.repository, replace(order, message=message, state=None, hookless=False)).id
    except BaseException:
        if late_commit := commits.commit_made_after(workspace.repository, state.commit, [path], message):
            commits.undo_commit(workspace.repository, late_commit, state.commit, path, entry)
        raise
    return PendingCommit(commit, entry)


def _refuse_pending(workspace: Workspace, path: FilePath, committed: bytes | None, data: bytes | None, allow: frozenset[str]) -> None:
    if workspace.settings.direct_edits == "refuse":
        raise RepositoryProblem(
            "pending-edits", f"{path} has edits that are not committed", f"Commit them ({verb('save')}) or take them back."
        )
    secrets = check.added_secrets(path, committed, data, layout.guarded_kind(path, workspace.kind_of(path)))
    if secrets and "secret" not in allow:
        first = secrets[0]
        raise RepositoryProblem(
            "pending-secret",
            f"{first.path}:{first.line}: {first.message}, in edits that are not committed",
            first.hint,
            line=first.line,
            kind=first.kind,
        )


def save(
    workspace: Workspace, text: str | None, say: Say, allow: frozenset[str] = frozenset(), named_actor: str | None = None
) -> tuple[CommitId | None, tuple[FilePath, ...]]:
    """Commit the pending edits of memory files, new and deleted ones included, as the person's own.

    Raises:
        WorkspaceProblem: `reserved-actor`.
        RefusedChange: the check refuses them, and neither `allow` nor MDMEM_ALLOW lets that through.
        RepositoryProblem: git cannot take them now, or a hook refused.
    """
    actor = workspace.given_actor(named_actor)
    with lock_workspace(workspace, say):
        repository = workspace.repository
        repository.require_ready(workspace.settings.allow_detached, repository.branch())
        identity = workspace.identity()
        recover(workspace, say)
        bits = _overlooked(workspace)
        after = _pending_files(workspace, bits, say)
        paths = tuple(after)
        if not paths:
            return None, ()
        head, allowed = repository.head(), allow | workspace.allowances()
        for field, words in (("message", text), ("actor", actor)):
            refuse_errors(secrets_in_text(field, words or ""), allowed)
        before = repository.read(head, paths) if head else dict.fromkeys(paths)
        _check_pending(workspace, before, after, allowed)
        subject = paths[0] if len(paths) == 1 else f"{len(paths)} memory files"
        message = text.strip() if text and text.strip() else f"{subject}: edited by hand"
        order = commits.CommitOrder(
            paths=paths,
            message=saved_message(workspace, message, [(before[path], after[path]) for path in paths], actor),
            date=repo.raw_date(workspace.now()),
            hook_timeout=workspace.settings.hook_timeout,
            identity=identity,
            allow=allowed,
        )
        return _commit_overlooked(repository, order, bits) if bits else commits.commit(repository, order).id, paths


def _overlooked(workspace: Workspace) -> Mapping[FilePath, tuple[str, ...]]:
    """The files with pending edits that git was told not to look at, with the bits that say so."""
    repository = workspace.repository
    bits = index_bits.read_bits(repository.folder)
    return {path: bits[path] for path in bits if (workspace.root / path).exists() and repository.state(path).pending}


def _commit_overlooked(repository: Repository, order: commits.CommitOrder, bits: Mapping[FilePath, tuple[str, ...]]) -> CommitId:
    """Commit files that git was told not to look at, and tell it so again."""
    overlooked = [path for path in order.paths if path in bits]
    try:
        for path in overlooked:
            commits.clear_bits(repository, path, bits[path])
        return commits.commit(repository, order).id
    finally:
        for path in overlooked:
            commits.set_bits(repository, path, bits[path])


def _pending_files(workspace: Workspace, overlooked: Iterable[FilePath], say: Say) -> dict[FilePath, bytes | None]:
    """The memory files that differ from HEAD, with what they hold (None: gone). Links and the like are no memory: named, and left out."""
    pending: dict[FilePath, bytes | None] = {}
    for path in (*workspace.repository.pending(), *overlooked):
        if workspace.kind_of(path).is_memory:
            try:
                pending[path] = files.read(workspace.root / path)
            except PathProblem as problem:
                say(f"{path} is not saved: {problem.message}")
    return pending


def _check_pending(
    workspace: Workspace, before: Mapping[FilePath, bytes | None], after: Mapping[FilePath, bytes | None], allow: frozenset[str]
) -> None:
    """Refuse what `check` refuses in a person's edits. A file that is gone is not lost where its lines stand in a new one: it was renamed."""
    new = [data for path, data in after.items() if before[path] is None]
    for path, data in after.items():
        errors = check.find_errors(path, before[path], data, workspace.kind_of(path), is_note=workspace.is_note(path))
        if data is not None or not errors or all(check.shrinks_too_much(before[path], text) for text in new):
            refuse_errors(errors, allow)
