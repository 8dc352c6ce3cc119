"""Commit a person's pending edits: by `save`, and before a write of the same file.

A save of an old text over lines that a pull brought in is merged with these first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

from mdmem import repo
from mdmem.changes.commit_notes import saved_message
from mdmem.changes.recover import Transaction, lock_workspace, recover
from mdmem.folder import files, layout, trust
from mdmem.folder.layout import is_markdown
from mdmem.folder.trust import TextOrigin
from mdmem.merge import merge_by_section
from mdmem.model import CommitId, FilePath, Provenance, Source
from mdmem.model.errors import PathProblem, RepositoryProblem, number_of, verb
from mdmem.model.trail import Origin
from mdmem.past.differences import changed_lines
from mdmem.past.messages import compose_pulled_save
from mdmem.past.notes import line_origins, parse_message
from mdmem.repo import PathState, Repository, commits, first_parent, worktree
from mdmem.repo.first_parent import BranchMove
from mdmem.startup.records import dataclass, replace
from mdmem.text import check
from mdmem.workspace import Say, Workspace, read_committed

_PULL_WINDOW_SECONDS = 86_400
"""The time after a pull in which an editor may still hold the earlier text."""


# A pull that was killed.


def _message_of_pulled_text(
    workspace: Workspace, path: FilePath, head: CommitId, committed: bytes | None, data: bytes
) -> str | None:
    """The message for the commit of a text that no person typed; None where one did.

    Each line keeps its own commit's source, but other users' statements become inferred: our commit
    names the user alone.
    """
    commit = first_parent.find_text(workspace.repository, path, data)
    if commit is None:
        return None
    reached = first_parent.commits_reached(workspace.repository, commit, [head])
    brought = first_parent.added_lines(workspace.repository, reached)
    origins = line_origins(brought).get(path, {})
    addresses, is_proven = workspace.user_addresses, workspace.settings.verify != "require"
    notes = {
        line: _note(origin, is_proven and trust.other_author(origin.author, addresses) is None)
        for line, origin in origins.items()
    }
    _, added = changed_lines(
        *(text.decode("utf-8", "replace") for text in (committed or b"", data))
    )
    weakest = min(
        notes.values(),
        key=lambda note: note[0].source.strength,
        default=(Provenance(source=Source.AUTO), None),
    )
    groups: dict[tuple[Provenance, str | None], list[str]] = {weakest: []}
    for line in added:
        groups.setdefault(notes.get(line.strip(), weakest), []).append(line)
    return compose_pulled_save(path, [(*note, lines) for note, lines in groups.items()])


def _note(origin: Origin, is_own: bool) -> tuple[Provenance, str | None]:
    source = (
        origin.source
        if is_own
        else trust.limit_source(TextOrigin.PROPOSAL, origin.source) or Source.AUTO
    )
    confidence = origin.confidence if source is origin.source else source.confidence
    return Provenance(source=source, confidence=confidence), origin.claimed_by


# An old text that was saved over what a pull brought in.


@dataclass(frozen=True, slots=True)
class KeptText:
    data: bytes
    note: str


def with_pulled_lines(
    workspace: Workspace, path: FilePath, branch: str | None, head: CommitId | None, data: bytes
) -> KeptText | None:
    """Merge a person's save with the last day's pull that the save knows nothing of.

    None where it removes only some of those lines, nothing else, or is not the first save since:
    then the removal is intended.
    """
    pulls = list(_recent_pulls(workspace, branch)) if branch and is_markdown(path) else []
    if head is None or not pulls:
        return None
    names = [
        f"{version}:{workspace.repository.prefix}{path}"
        for version in (head, *(move.before for move, _ in pulls))
    ]
    committed, *bases = workspace.repository.blobs(names)
    for (move, since), base in zip(pulls, bases, strict=True):
        if (
            committed is None
            or base in (None, data)
            or not (undone := _undone_lines(base, committed, data))
            or _was_saved(workspace, path, since)
        ):
            continue
        merged = merge_by_section(base, committed, data, workspace.kind_of(path)).data
        if merged is not None and merged != data:
            return KeptText(merged, f"{path}: {_kept(workspace, move, *undone)}")
    return None


def _recent_pulls(
    workspace: Workspace, branch: str
) -> Iterator[tuple[BranchMove, Sequence[BranchMove]]]:
    """The pulls of the last day, each with the moves after it."""
    now = workspace.now().timestamp()
    moves = first_parent.branch_moves(workspace.repository, branch)
    for number, move in enumerate(moves, 1):
        if move.is_landing and abs(now - move.time) <= _PULL_WINDOW_SECONDS:
            yield move, moves[number:]


def _undone_lines(base: bytes, committed: bytes, data: bytes) -> tuple[int, int] | None:
    """Count lines added and removed since a version, if a save undoes them all; else None."""
    before, after, saved = (
        Counter(filter(None, map(bytes.strip, text.splitlines())))
        for text in (base, committed, data)
    )
    added, removed = after - before, before - after
    is_undone = (
        all(saved[line] <= before[line] for line in added)
        if added
        else all(saved[line] >= before[line] for line in removed)
    )
    return (added.total(), removed.total()) if (added or removed) and is_undone else None


def _was_saved(workspace: Workspace, path: FilePath, moves: Sequence[BranchMove]) -> bool:
    own = [move.after for move in moves if not move.is_landing]
    return any(
        parse_message(message).is_by_hand
        for message in first_parent.messages_about(workspace.repository, own, path)
    )


def _kept(workspace: Workspace, move: BranchMove, added: int, removed: int) -> str:
    at = f"{workspace.local_time(move.time):%H:%M}"
    if added:
        return f"kept {number_of(added, 'line')} pulled at {at} that your save would have removed"
    return (
        f"left out {number_of(removed, 'line')} that the pull at {at} removed and your save"
        " would have brought back"
    )


@dataclass(frozen=True, slots=True)
class PendingCommit:
    """`entry` was in git's index before. `is_pulled`: git wrote the lines, not a person."""

    id: CommitId
    entry: commits.IndexEntry
    is_pulled: bool = False
    note: str | None = None

    def undo(
        self, repository: Repository, path: FilePath, parent: CommitId | None, _: BaseException
    ) -> bool:
        """Remove the commit, unless somebody built on it."""
        return commits.undo_commit(repository, self.id, parent, path, self.entry)


def commit_pending_edits(
    workspace: Workspace,
    data: bytes | None,
    state: PathState,
    order: commits.CommitOrder,
    allow: frozenset[str],
    actor: str | None,
) -> PendingCommit | None:
    """`order` is of the write itself. `actor`: an agent claims the edits.

    Raises: RepositoryProblem (`pending-edits`, `pending-secret`, or as git says), RefusedChange
    (`conflict-markers`).
    """
    (path,) = order.paths
    if not state.pending:
        return None
    committed = read_committed(workspace, path, state.commit)
    if data is None and committed is None:
        return None
    _refuse_pending(workspace, path, committed, data, allow)
    entry = commits.index_entry(workspace.repository, path)
    pulled = None
    if data is not None and state.commit is not None:
        pulled = _message_of_pulled_text(workspace, path, state.commit, committed, data)
    by_hand = f"{path}: {'removed' if data is None else 'edited'} by hand"
    message = pulled or saved_message(workspace, by_hand, [(committed, data)], actor)
    try:
        commit = commits.commit(
            workspace.repository, replace(order, message=message, state=state, hookless=False)
        ).id
    except BaseException:
        if late_commit := commits.commit_made_after(
            workspace.repository, state.commit, [path], message
        ):
            commits.undo_commit(workspace.repository, late_commit, state.commit, path, entry)
        raise
    if pulled:
        return PendingCommit(commit, entry, is_pulled=True, note=_pulled_note(path))
    return PendingCommit(
        commit,
        entry,
        note=None if data is None else _lost_entries_note(workspace, path, committed, data, commit),
    )


def _pulled_note(path: FilePath) -> str:
    return (
        f"committed what a stopped pull left in {path}, with its own sources. To get the rest: git"
        " pull"
    )


def _lost_entries_note(
    workspace: Workspace, path: FilePath, committed: bytes | None, data: bytes, commit: CommitId
) -> str | None:
    problems = check.find_errors(
        path, committed, data, workspace.kind_of(path), is_note=workspace.is_note(path)
    )
    if not any(problem.code == "append" and problem.level == "error" for problem in problems):
        return None
    return f"your edits of {path} removed earlier entries. To see them: git show {commit[:10]}"


def _refuse_pending(
    workspace: Workspace,
    path: FilePath,
    committed: bytes | None,
    data: bytes | None,
    allow: frozenset[str],
) -> None:
    if workspace.settings.direct_edits == "refuse":
        raise RepositoryProblem(
            "pending-edits",
            f"{path} has uncommitted edits",
            f"Commit them ({verb('save')}) or undo them.",
        )
    secrets = check.added_secrets(
        path, committed, data, layout.guarded_kind(path, workspace.kind_of(path))
    )
    if secrets and "secret" not in allow:
        first = secrets[0]
        raise RepositoryProblem(
            "pending-secret",
            f"{first.path}:{first.line}: {first.message}, in uncommitted edits",
            first.hint,
            line=first.line,
            kind=first.kind,
        )
    errors = check.find_errors(path, committed, data, workspace.kind_of(path))
    check.refuse_errors((each for each in errors if each.code == "conflict-markers"), allow)


def save(
    workspace: Workspace,
    text: str | None,
    say: Say,
    allow: frozenset[str] = frozenset(),
    named_actor: str | None = None,
) -> tuple[CommitId | None, tuple[FilePath, ...]]:
    """New and deleted files are included. MDMEM_ALLOW counts like `allow`."""
    with lock_workspace(workspace, say):
        return save_locked(workspace, text, say, allow, named_actor)


def save_locked(
    workspace: Workspace,
    text: str | None,
    say: Say,
    allow: frozenset[str] = frozenset(),
    named_actor: str | None = None,
    only: Collection[FilePath] | None = None,
) -> tuple[CommitId | None, tuple[FilePath, ...]]:
    """Like `save`, for a caller that holds the lock; `only`: these files, unasked (None: all)."""
    actor, repository = workspace.given_actor(named_actor), workspace.repository
    workspace.require_ready()
    identity = workspace.identity()
    recover(workspace, say)
    bits = _overlooked(workspace)
    pending = {
        path: data
        for path, data in _pending_files(workspace, bits, say).items()
        if only is None or path in only
    }
    if not pending:
        return None, ()
    head, allowed = repository.head(), allow | workspace.allowances()
    for field, words in (("message", text), ("actor", actor)):
        check.refuse_errors(check.secrets_in_text(field, words or ""), allowed)
    before = repository.read(head, tuple(pending)) if head else dict.fromkeys(pending)
    order = commits.CommitOrder(
        paths=(),
        message="",
        date=repo.raw_date(workspace.now()),
        hook_timeout=workspace.settings.hook_timeout,
        identity=identity,
        allow=allowed,
    )
    pulled = _messages_of_pulled_texts(workspace, head, before, pending)
    edited = {path: data for path, data in pending.items() if path not in pulled}
    kept = _kept_texts(workspace, head, edited)
    after = edited | {path: text.data for path, text in kept.items()}
    _check_pending(workspace, before, after, allowed)
    workspace.require_permitted(actor, [(path, before[path], after[path]) for path in after])
    commit = None
    for path, message in pulled.items():
        commit = _commit(
            repository, replace(order, paths=(path,), message=message, allow=None), bits
        )
        say(_pulled_note(path))
    paths = tuple(after)
    if paths:
        subject = paths[0] if len(paths) == 1 else f"{len(paths)} memory files"
        message = text.strip() if text and text.strip() else f"{subject}: edited by hand"
        texts = [(before[path], after[path]) for path in paths]
        message = saved_message(workspace, message, texts, actor, is_asked=only is None)
        with _put_in_place(workspace, edited, kept):
            commit = _commit(repository, replace(order, paths=paths, message=message), bits)
    for each in kept.values():
        say(each.note)
    return commit, tuple(pending)


def _messages_of_pulled_texts(
    workspace: Workspace,
    head: CommitId | None,
    before: Mapping[FilePath, bytes | None],
    pending: Mapping[FilePath, bytes | None],
) -> dict[FilePath, str]:
    if head is None or not first_parent.lacks_commits(workspace.repository):
        return {}
    messages = (
        (path, _message_of_pulled_text(workspace, path, head, before[path], data))
        for path, data in pending.items()
        if data is not None
    )
    return {path: message for path, message in messages if message is not None}


def _kept_texts(
    workspace: Workspace, head: CommitId | None, after: Mapping[FilePath, bytes | None]
) -> dict[FilePath, KeptText]:
    branch = workspace.repository.branch()
    texts: dict[FilePath, KeptText] = {}
    for path, data in after.items():
        if data is not None and (text := with_pulled_lines(workspace, path, branch, head, data)):
            texts[path] = text
    return texts


@contextmanager
def _put_in_place(
    workspace: Workspace, saved: Mapping[FilePath, bytes | None], kept: Mapping[FilePath, KeptText]
) -> Iterator[None]:
    with Transaction() as transaction:
        steps = transaction.begin_write()
        for path, text in kept.items():
            put = partial(files.replace, workspace.root / path)
            if not put(text.data, saved[path], files.temporary_name()):
                raise RepositoryProblem(
                    "busy", f"{path} was saved by another program meanwhile", "Try again."
                )
            steps.add(partial(_put_back, put, saved[path] or b"", text.data))
        yield


def _put_back(
    put: Callable[[bytes, bytes, str], bool], saved: bytes, merged: bytes, _: BaseException
) -> bool:
    put(saved, merged, files.temporary_name())
    return True


def _overlooked(workspace: Workspace) -> Mapping[FilePath, tuple[str, ...]]:
    repository = workspace.repository
    bits = worktree.read_bits(repository.folder)
    return {
        path: bits[path]
        for path in bits
        if (workspace.root / path).exists() and repository.state(path).pending
    }


def _commit(
    repository: Repository, order: commits.CommitOrder, bits: Mapping[FilePath, tuple[str, ...]]
) -> CommitId:
    overlooked = [path for path in order.paths if path in bits]
    try:
        for path in overlooked:
            commits.clear_bits(repository, path, bits[path])
        return commits.commit(repository, order).id
    finally:
        for path in overlooked:
            commits.set_bits(repository, path, bits[path])


def _pending_files(
    workspace: Workspace, overlooked: Iterable[FilePath], say: Say
) -> dict[FilePath, bytes | None]:
    pending: dict[FilePath, bytes | None] = {}
    for path in (*workspace.repository.pending(), *overlooked):
        if workspace.kind_of(path).is_memory:
            try:
                pending[path] = files.read(workspace.root / path)
            except PathProblem as problem:
                say(f"{path} is not saved: {problem.message}")
    return pending


def _check_pending(
    workspace: Workspace,
    before: Mapping[FilePath, bytes | None],
    after: Mapping[FilePath, bytes | None],
    allow: frozenset[str],
) -> None:
    """A deleted file is not a loss where a new one has its lines: it was renamed."""
    new = [data for path, data in after.items() if before[path] is None]
    for path, data in after.items():
        errors = check.find_errors(
            path, before[path], data, workspace.kind_of(path), is_note=workspace.is_note(path)
        )
        if (
            data is not None
            or not errors
            or all(check.shrinks_too_much(before[path], text) for text in new)
        ):
            check.refuse_errors(errors, allow)
