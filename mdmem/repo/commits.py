"""Commits: made by git, and taken back."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mdmem.errors import RepositoryProblem
from mdmem.model import CommitId, FilePath
from mdmem.repo import git_files
from mdmem.repo.ignored import ignored
from mdmem.repo.runner import READ_SECONDS, GitResult, run
from mdmem.repo.worktree import Identity, PathState, Repository, literal_pathspecs, parse_paths
from mdmem.startup import late
from mdmem.startup.records import dataclass

if TYPE_CHECKING:
    from mdmem.repo import locks
else:
    locks = late.module("mdmem.repo.locks")


_LOCK_SECONDS = 30.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.25
_HOOKLESS = ("-c", f"core.hooksPath={os.devnull}")
"""Where no hook has anything to say: git need not start two shells to hear that."""
_LOCKED = re.compile(r"Unable to create '[^\n]*\.lock': File exists")


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """What git's index says of one path: `text` as `git update-index --index-info` takes it, empty where it says nothing."""

    text: bytes
    intended: bool


@dataclass(frozen=True, slots=True)
class CommitOrder:
    """A commit to be made: of some paths as they are on disk, and of nothing else; without paths an empty one.

    Args:
        paths: workspace paths.
        message: taken as it is.
        date: for author and committer, in git's raw form.
        hook_timeout: the seconds that git may take, hooks included.
        identity: for a repository that has none.
        allow: what its own hooks are to let through; None where this is mdmem's commit, for which they step aside.
        state: how the repository stood to the one path just now, so that git need not be asked again.
        hookless: whether no hook has anything to say of it, so that git need not start any.
    """

    paths: Sequence[FilePath]
    message: str
    date: str
    hook_timeout: float
    identity: Identity | None = None
    allow: Collection[str] | None = None
    state: PathState | None = None
    hookless: bool = False


@dataclass(frozen=True, slots=True)
class Committed:
    """A commit that was made; whether the index could be written after it (`renew_index` mends that)."""

    id: CommitId
    is_indexed: bool = True


def _is_locked(failed: GitResult) -> bool:
    """Whether git failed as another git holds a lock."""
    return bool(_LOCKED.search(failed.words))


def _require_free(failed: GitResult) -> None:
    if _is_locked(failed):
        raise RepositoryProblem("busy", f"another git holds a lock: {failed.words}", "Try again when that has ended.")


def commit(repository: Repository, order: CommitOrder) -> Committed:
    """Make a commit.

    The ref moves by git's own compare-and-swap. Where another git holds a lock, or moved the branch meanwhile, it is tried again.

    Raises:
        RepositoryProblem: `ignored-path`, `hook-timeout`, `commit-failed` with git's words; the index is as it was.
    """
    variables = _variables(order)
    before = order.state.commit if order.state else repository.head()
    added = [] if order.state and order.state.tracked else _intend_to_add(repository, order.paths, variables)
    try:
        done = _run_commit(repository, order, before, variables)
    except RepositoryProblem as problem:
        if commit := commit_made_after(repository, before, order.paths, order.message):
            return Committed(commit)
        _unstage(repository, added)
        if problem.code != "git-timeout":
            raise
        raise RepositoryProblem(
            "hook-timeout", f"git commit (with its hooks) took longer than {order.hook_timeout:g} seconds", "hook_timeout sets how long."
        ) from problem
    except BaseException:
        if commit_made_after(repository, before, order.paths, order.message) is None:
            _unstage(repository, added)
        elif order.paths:
            renew_index(repository, order.paths)
        raise
    if done.status == 0:
        return Committed(repository.head() or CommitId(""))
    if commit := commit_made_after(repository, before, order.paths, order.message):
        # The branch has moved, but the index could not be written.
        return Committed(commit, is_indexed=renew_index(repository, order.paths))
    _unstage(repository, added)
    _require_free(done)
    words = done.words or "a hook refused without a word"
    raise RepositoryProblem("commit-failed", f"git did not commit: {words}", "Mend what git or the hook names; nothing was changed.")


def _variables(order: CommitOrder) -> dict[str, str]:
    """The environment of `git commit`, and of its hooks, beyond that of every git."""
    variables = {"GIT_AUTHOR_DATE": order.date, "GIT_COMMITTER_DATE": order.date, "GIT_OPTIONAL_LOCKS": "1"}
    variables |= {"MDMEM_COMMIT": "1"} if order.allow is None else {"MDMEM_ALLOW": ",".join(sorted(order.allow))}
    if order.identity:
        variables |= order.identity.variables("AUTHOR") | order.identity.variables("COMMITTER")
    return variables


def _run_commit(repository: Repository, order: CommitOrder, before: CommitId | None, variables: Mapping[str, str]) -> GitResult:
    """Run `git commit`, again while another git holds a lock, or where one has moved the branch from `before` meanwhile."""
    tip = before

    def again(failed: GitResult) -> bool:
        nonlocal tip
        last, tip = tip, repository.head()
        return (_is_locked(failed) or tip != last) and commit_made_after(repository, before, order.paths, order.message) is None

    settings = [*(_HOOKLESS if order.hookless else ()), "-c", "commit.verbose=false"]
    options = ["-q", "--cleanup=verbatim", "--no-status", "--no-edit", "--allow-empty-message", "-F", "-", "--only"]
    options += ["--", *literal_pathspecs(order.paths)] if order.paths else ["--allow-empty"]
    text = order.message.encode("utf-8", "replace")
    return _retried(repository, [*settings, "commit", *options], text, variables, order.hook_timeout, again)


def renew_index(repository: Repository, paths: Sequence[FilePath]) -> bool:
    """Have the index hold what HEAD holds of these paths; whether it could be written."""
    return (
        _retried(repository, ["reset", "-q", "--", *literal_pathspecs(paths)], b"", {"GIT_OPTIONAL_LOCKS": "1"}, READ_SECONDS).status == 0
    )


def commit_made_after(repository: Repository, before: CommitId | None, paths: Sequence[FilePath], message: str) -> CommitId | None:
    """The commit with this message that came after `before`, where git made it although it, or a hook after it, failed later."""
    now = repository.head()
    if now is None or now == before:
        return None
    listed = repository.git(
        *("log", "--no-show-signature", "--no-color", "--format=%H %s", "--end-of-options", f"{before}..{now}" if before else str(now)),
        *("--", *literal_pathspecs(paths)),
    )
    subject = message.strip().split("\n")[0].strip()
    commits = [line.partition(" ") for line in listed.decode("utf-8", "replace").splitlines()]
    return next((CommitId(commit) for commit, _, said in commits if subject in said), None)


def _retried(
    repository: Repository,
    arguments: Sequence[str],
    text: bytes,
    extra: Mapping[str, str],
    seconds: float,
    again: Callable[[GitResult], bool] = _is_locked,
) -> GitResult:
    """Run git, and where it fails `again` as long as that may help: while another git holds a lock that it needs.

    A lock that a dead process left is taken away; the caller holds the workspace's own lock.
    """
    started, pause = time.monotonic(), _FIRST_PAUSE
    while True:
        done = run(repository.folder, arguments, text, extra, seconds)
        if done.status == 0 or time.monotonic() - started > _LOCK_SECONDS or not again(done):
            return done
        lock = locks.lock_named_in(done.words)
        if lock and _owns(repository, lock) and locks.is_stale(lock, (repository.root, repository.git_dir, repository.common_dir)):
            lock.unlink(missing_ok=True)
            continue
        time.sleep(pause)  # git says nothing when it lets go of a lock
        pause = min(pause * 2, _LONGEST_PAUSE)


def _owns(repository: Repository, lock: Path) -> bool:
    return any(folder in lock.parents for folder in (repository.git_dir, repository.common_dir))


def _intend_to_add(repository: Repository, paths: Sequence[FilePath], extra: Mapping[str, str]) -> list[FilePath]:
    """Tell git of the paths that it does not know yet; those are returned."""
    if not paths:
        return []
    known = set(parse_paths(repository.git("ls-files", "-z", "--", *literal_pathspecs(paths))))
    new = [path for path in paths if path not in known and os.path.lexists(repository.folder / path)]
    if new:
        done = _retried(repository, ["add", "--intent-to-add", "--", *literal_pathspecs(new)], b"", extra, READ_SECONDS)
        if done.status:
            _require_free(done)
            unseen = sorted(ignored(repository.folder, new))
            code = "ignored-path" if unseen else "git-failed"
            hint = "Take the rule out of .gitignore, or name another file." if unseen else ""
            refused = (unseen or new)[0]
            raise RepositoryProblem(code, f"git does not take {refused}: {done.words.splitlines()[0] if done.words else ''}", hint)
    return new


def _unstage(repository: Repository, paths: Sequence[FilePath]) -> None:
    if paths:
        _change_index(repository, ["update-index", "--force-remove", "--", *paths])


def _change_index(repository: Repository, arguments: Sequence[str], text: bytes = b"") -> None:
    done = _retried(repository, arguments, text, {"GIT_OPTIONAL_LOCKS": "1"}, READ_SECONDS)
    if done.status:
        _require_free(done)
        raise RepositoryProblem("git-failed", f"git {arguments[0]}: {done.words}", "git status says how the index stands.")


def index_entry(repository: Repository, path: FilePath) -> IndexEntry:
    """What the index says of a path, to be put back by `take_back`."""
    text = repository.git("ls-files", "-s", "-z", "--full-name", "--", *literal_pathspecs([path]))
    status = repository.git("status", "--porcelain=v1", "-z", "--no-renames", "--", *literal_pathspecs([path])) if text else b""
    return IndexEntry(text, status.startswith(b" A"))


def commit_has_bytes(repository: Repository, commit: CommitId, path: FilePath, data: bytes) -> bool:
    """Whether a commit has these bytes for a path, as git stores them."""
    found = git_files.blob_at(str(repository.git_dir), commit, os.fsencode(f"{repository.prefix}{path}")) if repository.is_simple else None
    if found is None:
        asked = run(repository.folder, ["rev-parse", "-q", "--verify", f"{commit}:{repository.prefix}{path}"])
        found = asked.output.decode("utf-8", "replace").strip()
    return (
        found == git_files.object_id(b"blob", data)
        or found.encode() == repository.git("hash-object", "--stdin", "--path", path, text=data).strip()
    )


def withdraw(repository: Repository, newer: CommitId, older: CommitId | None) -> bool:
    """Move the branch back from a commit that nothing builds on yet; index and files stay. Whether it could be done."""
    moved = ["update-ref", "-m", "mdmem: taken back", "HEAD", older, newer] if older else ["update-ref", "-d", "HEAD", newer]
    return run(repository.folder, moved).status == 0


def undo_commit(repository: Repository, newer: CommitId, older: CommitId | None, path: FilePath, entry: IndexEntry | None) -> bool:
    """Undo a commit of one path that nothing builds on yet, in the index too; the file on disk stays. Whether it could be done.

    `entry` is what the index said before, None where that was what `older` holds.
    """
    if not withdraw(repository, newer, older):
        return False
    if entry is None:
        renew_index(repository, [path])  # where the disk is too full for that, the file is still to be put back
    elif entry.text and not entry.intended:
        _change_index(repository, ["update-index", "-z", "--index-info"], entry.text)
    else:
        _unstage(repository, [path])
        if entry.intended:
            _change_index(repository, ["add", "--intent-to-add", "--", *literal_pathspecs([path])])
    return True


def maintain(repository: Repository) -> None:
    """Maintenance by git itself, which never runs in front of the user."""
    run(repository.folder, ["-c", "gc.autoDetach=false", "maintenance", "run", "--auto", "--quiet"])
