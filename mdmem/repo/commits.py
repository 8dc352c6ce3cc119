"""Make commits with git, and undo them; and git's lock files that a dead process left behind.

A lock is stale when it is older than two seconds, no process has it open, and no git process in the
repository started before its time stamp: git closes `index.lock` while hooks run, and a git child
can outlive the program that started it and still finish.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

from mdmem.model import CommitId, FilePath
from mdmem.model.errors import RepositoryProblem
from mdmem.repo import branch_commits, git_files
from mdmem.repo.runner import READ_SECONDS, GitResult, literal_pathspecs, run
from mdmem.repo.worktree import Identity, PathState, Repository, ignored
from mdmem.startup import late
from mdmem.startup.records import dataclass

_MIN_AGE_SECONDS = 2.0
_PROCESSES = Path("/proc")
_NAMED = late.pattern(r"(/[^'\"«»„“\n]*\.lock)")
_START_FIELD = 19
"""The start time in `/proc/PID/stat`, counted after the name's bracket (proc(5), field 22)."""


def lock_named_in(error_text: str) -> Path | None:
    match = _NAMED.search(error_text)
    return Path(match[1]) if match else None


def is_stale_lock(lock: Path, folders: tuple[Path, ...]) -> bool:
    try:
        status = lock.stat()
        if (
            time.time() - status.st_mtime < _MIN_AGE_SECONDS
            or status.st_uid != os.geteuid()
            or not (_PROCESSES / "self" / "stat").exists()
        ):
            return False
        repository_folders = _repository_folders(folders)
    except OSError:
        return False
    return not any(
        _has_open(process, status) or _is_older_git(process, status.st_mtime, repository_folders)
        for process in _processes(status.st_uid)
    )


def _repository_folders(folders: tuple[Path, ...]) -> tuple[Path, ...]:
    """A repository's folders with main and linked work trees, which share locks of branches."""
    main = [folder.parent for folder in folders if folder.name == ".git"]
    files = [file for folder in folders for file in folder.glob("worktrees/*/gitdir")]
    linked = [(file.parent / os.fsdecode(file.read_bytes())).parent for file in files]
    return tuple(Path(os.path.realpath(folder)) for folder in (*folders, *main, *linked))


def _processes(owner: int) -> Iterator[Path]:
    for process in _PROCESSES.iterdir():
        if process.name.isdigit():
            try:
                if process.stat().st_uid == owner:
                    yield process
            except FileNotFoundError:
                continue


def _has_open(process: Path, lock: os.stat_result) -> bool:
    try:
        return any(_is_same(descriptor, lock) for descriptor in (process / "fd").iterdir())
    except OSError:
        return False


def _is_same(descriptor: Path, file: os.stat_result) -> bool:
    try:
        return os.path.samestat(descriptor.stat(), file)
    except OSError:
        return False


def _is_older_git(process: Path, changed_at: float, folders: tuple[Path, ...]) -> bool:
    try:
        if (
            not (process / "comm").read_text(errors="replace").startswith("git")
            or _start_time(process) > changed_at + 1
        ):
            return False
        here = (process / "cwd").readlink()
        words = (process / "cmdline").read_bytes().split(b"\0")
        words += [
            entry
            for entry in (process / "environ").read_bytes().split(b"\0")
            if entry.startswith(b"GIT_")
        ]
    except (FileNotFoundError, ProcessLookupError):
        return False  # it has ended meanwhile
    except OSError:
        return True
    # A folder may be a word of its own (--git-dir DIR) or follow an equals sign (--git-dir=DIR,
    # GIT_DIR=DIR), relative to git's folder.
    names = {os.fsdecode(part) for word in words for part in (word, word.partition(b"=")[2])}
    return any(
        Path(os.path.realpath(here / name)).is_relative_to(folder)
        for name in (str(here), *names)
        for folder in folders
    )


def _start_time(process: Path) -> float:
    ticks = int(
        (process / "stat").read_text(errors="replace").rpartition(")")[2].split()[_START_FIELD]
    )
    booted = next(
        (
            line
            for line in (_PROCESSES / "stat").read_text().splitlines()
            if line.startswith("btime ")
        ),
        "btime 0",
    )
    return float(booted.split()[1]) + ticks / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that has a lock file open, and the seconds it has run."""

    process: int
    seconds: float


def lock_holder(lock: Path) -> Holder | None:
    """The oldest other process with a lock file open; None where the system knows none."""
    if not (_PROCESSES / "self" / "stat").exists():
        return None
    oldest: Holder | None = None
    try:
        file = lock.stat()
        for process in _processes(file.st_uid):
            if process.name != str(os.getpid()) and _has_open(process, file):
                holder = Holder(int(process.name), max(0.0, time.time() - _start_time(process)))
                oldest = holder if oldest is None or holder.seconds > oldest.seconds else oldest
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        return oldest
    return oldest


_LOCK_SECONDS = 30.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.25
_HOOKLESS = ("-c", f"core.hooksPath={os.devnull}")
"""For a commit without work for a hook: saves git from starting two shells."""
_EMPTY_BLOBS = (
    b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    b"473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)
"""The ids of an empty file, by SHA-1 and SHA-256, which a path that was only announced has."""
_LOCKED = late.pattern(r"Unable to create '[^\n]*\.lock': File exists")


def replace_commit(
    repository: Repository, newest: CommitId, path: FilePath, data: bytes, order: CommitOrder
) -> CommitId | None:
    """Replace HEAD's newest commit by one with `data` at `path`; None where HEAD has moved on.

    It is signed as `git commit` would sign it. Files stay, and the index holds the new commit's
    `path`: what differs on disk is pending. Raises RepositoryProblem (`git-failed`).
    """
    parents = repository.git("show", "-s", "--format=%P", str(newest)).decode().split()
    tree = _tree_with(
        repository,
        newest,
        f"{repository.prefix}{path}",
        branch_commits.store(repository, path, data),
    )
    commit = branch_commits.commit_tree(
        repository,
        tree,
        [CommitId(parent) for parent in parents],
        order.message,
        commit_variables(order),
        order.hook_timeout,
    )
    subject = order.message.partition("\n")[0]
    moved = run(
        repository.folder, ["update-ref", "-m", f"commit: {subject}", "HEAD", commit, newest]
    )
    if moved.status:
        return None
    renew_index(repository, [path])
    return commit


def _tree_with(repository: Repository, commit: CommitId, path: str, blob: str) -> str:
    folders = path.split("/")
    object_id = blob
    while folders:
        name = os.fsencode(folders.pop())
        entries = repository.git(
            "ls-tree", "--full-tree", "-z", f"{commit}:{'/'.join(folders)}"
        ).split(b"\0")
        lines = [
            _with_id(line, object_id) if line.partition(b"\t")[2] == name else line
            for line in entries
        ]
        object_id = (
            repository.git("mktree", "--missing", "-z", text=b"\0".join(lines)).decode().strip()
        )
    return object_id


def _with_id(line: bytes, object_id: str) -> bytes:
    head, _, name = line.partition(b"\t")
    mode, kind, _ = head.split(b" ")
    return b"%s %s %s\t%s" % (mode, kind, object_id.encode(), name)


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One path's entry in git's index, as for `git update-index --index-info`; empty if missing.

    `intended`: the path was only announced (`git add --intent-to-add`).
    """

    text: bytes
    intended: bool


@dataclass(frozen=True, slots=True)
class CommitOrder:
    """A commit to be made of some paths as they are on disk; empty without paths.

    Args:
        message: committed unchanged.
        date: for author and committer, in git's raw form.
        hook_timeout: the seconds that git may take, hooks included.
        identity: for a repository that has none configured.
        allow: problems that mdmem's hooks let through; None: mdmem's own commit, unchecked.
        state: the state of the one path, where it was just read: git need not be asked again.
        hookless: no hook would do anything, so git need not start any.
        meanwhile: called while git commits, at each attempt.
    """

    paths: Sequence[FilePath]
    message: str
    date: str
    hook_timeout: float
    identity: Identity | None = None
    allow: Collection[str] | None = None
    state: PathState | None = None
    hookless: bool = False
    meanwhile: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True)
class Committed:
    """A commit; without `is_indexed`, git's index has to be repaired (`renew_index`)."""

    id: CommitId
    is_indexed: bool = True


def _is_lock_failure(failed: GitResult) -> bool:
    return bool(_LOCKED.search(failed.error_text))


def _refuse_if_locked(failed: GitResult) -> None:
    if _is_lock_failure(failed):
        raise RepositoryProblem(
            "busy",
            f"another git holds a lock: {failed.error_text}",
            "Try again when that has ended.",
        )


def commit(repository: Repository, order: CommitOrder) -> Committed:
    """Make a commit; tried again if another git holds a lock, or moves the branch meanwhile.

    Raises RepositoryProblem (`ignored-path`, `hook-timeout`, `commit-failed` with git's error text;
    the index is as it was).
    """
    variables = commit_variables(order)
    before = order.state.commit if order.state else repository.head()
    added = (
        []
        if order.state and order.state.tracked
        else _intend_to_add(repository, order.paths, variables)
    )
    try:
        result = _run_commit(repository, order, before, variables)
    except RepositoryProblem as problem:
        if commit := commit_made_after(repository, before, order.paths, order.message):
            return Committed(commit)
        _unstage(repository, added)
        if problem.code != "git-timeout":
            raise
        raise RepositoryProblem(
            "hook-timeout",
            f"git commit (with its hooks) took longer than {order.hook_timeout:g} s",
            "To allow more time: hook_timeout in mdmem.toml",
        ) from problem
    except BaseException:
        if commit_made_after(repository, before, order.paths, order.message) is None:
            _unstage(repository, added)
        elif order.paths:
            renew_index(repository, order.paths)
        raise
    if result.status == 0:
        return Committed(_own_commit(repository, order, before))
    if commit := commit_made_after(repository, before, order.paths, order.message):
        # The branch has moved, but the index could not be written.
        return Committed(commit, is_indexed=renew_index(repository, order.paths))
    _unstage(repository, added)
    _refuse_if_locked(result)
    reason = result.error_text or "a hook refused without a message"
    raise RepositoryProblem(
        "commit-failed",
        f"git did not commit: {reason}",
        "Fix what git or the hook reported and try again. Nothing was written.",
    )


def _own_commit(repository: Repository, order: CommitOrder, before: CommitId | None) -> CommitId:
    """The commit that git has just made; a hook, or another git, may have built on it since."""
    tip = repository.head() if repository.is_simple else None
    if tip and git_files.has_parent(str(repository.git_dir), tip, before):
        return tip
    head, *parents = map(CommitId, repository.git("rev-parse", "HEAD", "HEAD^@").decode().split())
    if next(iter(parents), None) == before:
        return head
    # A hook may have changed its message.
    return commit_made_after(repository, before, order.paths, order.message) or head


def commit_variables(order: CommitOrder) -> dict[str, str]:
    of_hooks = (
        {"MDMEM_COMMIT": "1"}
        if order.allow is None
        else {"MDMEM_ALLOW": ",".join(sorted(order.allow))}
    )
    dated = branch_commits.date_variables(order.date, order.identity)
    return {"GIT_OPTIONAL_LOCKS": "1"} | of_hooks | dated


def _run_commit(
    repository: Repository,
    order: CommitOrder,
    before: CommitId | None,
    variables: Mapping[str, str],
) -> GitResult:
    tip = before

    def may_retry(failed: GitResult) -> bool:
        nonlocal tip
        last, tip = tip, repository.head()
        return (_is_lock_failure(failed) or tip != last) and commit_made_after(
            repository, before, order.paths, order.message
        ) is None

    settings = [*(_HOOKLESS if order.hookless else ()), "-c", "commit.verbose=false"]
    options = [
        "-q",
        "--cleanup=verbatim",
        "--no-status",
        "--no-edit",
        "--allow-empty-message",
        "-F",
        "-",
        "--only",
    ]
    options += ["--", *literal_pathspecs(order.paths)] if order.paths else ["--allow-empty"]
    text = order.message.encode("utf-8", "replace")
    return _run_with_retries(
        repository,
        [*settings, "commit", *options],
        text,
        variables,
        seconds=order.hook_timeout,
        may_retry=may_retry,
        meanwhile=order.meanwhile,
        is_online=True,
    )


def renew_index(repository: Repository, paths: Sequence[FilePath]) -> bool:
    """Reset these paths in the index to HEAD; False where the index could not be written."""
    return (
        _run_with_retries(
            repository, ["reset", "-q", "--", *literal_pathspecs(paths)], b"", {}, READ_SECONDS
        ).status
        == 0
    )


def commit_made_after(
    repository: Repository, before: CommitId | None, paths: Sequence[FilePath], message: str
) -> CommitId | None:
    """The commit with this message since `before`, made although git or a hook failed later."""
    now = repository.head()
    if now is None or now == before:
        return None
    listed = repository.git(
        "log",
        "--no-color",
        "--format=%H %s",
        "--end-of-options",
        f"{before}..{now}" if before else str(now),
        "--",
        *literal_pathspecs(paths),
    )
    subject = message.strip().split("\n")[0].strip()
    commits = [line.partition(" ") for line in listed.decode("utf-8", "replace").splitlines()]
    return next(
        (CommitId(commit) for commit, _, subject_line in commits if subject in subject_line), None
    )


def _run_with_retries(
    repository: Repository,
    arguments: Sequence[str],
    text: bytes,
    extra: Mapping[str, str],
    seconds: float,
    may_retry: Callable[[GitResult], bool] = _is_lock_failure,
    meanwhile: Callable[[], None] | None = None,
    *,
    is_online: bool = False,
) -> GitResult:
    """Run git, and retry while `may_retry`: by default while another git holds a needed lock.

    A dead process's lock is removed; the caller holds the workspace's own lock.
    """
    started, pause = time.monotonic(), _FIRST_PAUSE
    while True:
        result = run(
            repository.folder, arguments, text, extra, seconds, meanwhile, is_online=is_online
        )
        if (
            result.status == 0
            or time.monotonic() - started > _LOCK_SECONDS
            or not may_retry(result)
        ):
            return result
        lock = lock_named_in(result.error_text)
        if (
            lock
            and _is_in_git_folder(repository, lock)
            and is_stale_lock(lock, (repository.root, repository.git_dir, repository.common_dir))
        ):
            lock.unlink(missing_ok=True)
            continue
        time.sleep(pause)  # git gives no signal when it releases a lock
        pause = min(pause * 2, _LONGEST_PAUSE)


def _is_in_git_folder(repository: Repository, lock: Path) -> bool:
    return any(folder in lock.parents for folder in (repository.git_dir, repository.common_dir))


def _intend_to_add(
    repository: Repository, paths: Sequence[FilePath], extra: Mapping[str, str]
) -> list[FilePath]:
    if not paths:
        return []
    tracked = repository.tracked(paths)
    new = [
        path for path in paths if path not in tracked and os.path.lexists(repository.folder / path)
    ]
    if new:
        result = _run_with_retries(
            repository,
            ["add", "--intent-to-add", "--", *literal_pathspecs(new)],
            b"",
            extra,
            READ_SECONDS,
        )
        if result.status:
            _refuse_if_locked(result)
            ignored_paths = sorted(ignored(repository.folder, new))
            code = "ignored-path" if ignored_paths else "git-failed"
            hint = "Remove the rule from .gitignore, or name another file." if ignored_paths else ""
            refused_path = (ignored_paths or new)[0]
            raise RepositoryProblem(
                code,
                f"git did not accept {refused_path}:"
                f" {result.error_text.splitlines()[0] if result.error_text else ''}",
                hint,
            )
    return new


def _unstage(repository: Repository, paths: Sequence[FilePath]) -> None:
    if paths:
        _change_index(repository, ["update-index", "--force-remove", "--", *paths])


def _change_index(repository: Repository, arguments: Sequence[str], text: bytes = b"") -> None:
    result = _run_with_retries(repository, arguments, text, {}, READ_SECONDS)
    if result.status:
        _refuse_if_locked(result)
        raise RepositoryProblem(
            "git-failed",
            f"git {arguments[0]}: {result.error_text}",
            "To see the state of the index: git status",
        )


def clear_bits(repository: Repository, path: FilePath, bits: Sequence[str]) -> None:
    """Clear index bits, so that git looks at the file again (see `worktree.read_bits`)."""
    for bit in bits:
        _change_index(repository, ["update-index", f"--no-{bit}", "--", path])


def set_bits(repository: Repository, path: FilePath, bits: Sequence[str]) -> None:
    for bit in bits:
        run(repository.folder, ["update-index", f"--{bit}", "--", path])


def index_entry(repository: Repository, path: FilePath) -> IndexEntry:
    pathspecs = literal_pathspecs([path])
    text = repository.git("ls-files", "-s", "-z", "--full-name", "--", *pathspecs)
    if not any(blob in text for blob in _EMPTY_BLOBS):
        return IndexEntry(text, intended=False)
    status = repository.git("status", "--porcelain=v1", "-z", "--no-renames", "--", *pathspecs)
    return IndexEntry(text, status.startswith(b" A"))


def commit_has_bytes(repository: Repository, commit: CommitId, path: FilePath, data: bytes) -> bool:
    blob = (
        git_files.blob_at(
            str(repository.git_dir), commit, os.fsencode(f"{repository.prefix}{path}")
        )
        if repository.is_simple
        else None
    )
    if blob is None:
        result = run(
            repository.folder,
            ["rev-parse", "-q", "--verify", f"{commit}:{repository.prefix}{path}"],
        )
        blob = result.output.decode("utf-8", "replace").strip()
    return (
        blob == git_files.object_id(b"blob", data)
        or blob.encode()
        == repository.git("hash-object", "--stdin", "--path", path, text=data).strip()
    )


def withdraw(repository: Repository, newer: CommitId, older: CommitId | None) -> bool:
    """Move the branch back, not the files; False where something builds on `newer`."""
    command = (
        ["update-ref", "-m", "mdmem: taken back", "HEAD", older, newer]
        if older
        else ["update-ref", "-d", "HEAD", newer]
    )
    return run(repository.folder, command).status == 0


def move_head(
    repository: Repository,
    new: CommitId,
    old: CommitId | None,
    reason: str,
    variables: Mapping[str, str],
) -> bool:
    """Move HEAD's branch (`old` None: make it), not the files; False where it is not at `old`.

    `variables` date the entry of the reflog, which has the `reason`.
    """
    command = ["update-ref", "--create-reflog", "-m", reason, "HEAD", new, old or "0" * len(new)]
    result = _run_with_retries(repository, command, b"", variables, READ_SECONDS)
    return result.status == 0


def set_entries(repository: Repository, changes: Sequence[branch_commits.BlobChange]) -> None:
    """Raises RepositoryProblem (`busy`, `git-failed`)."""
    if changes:
        zeros = b"0" * len(changes[0].after or changes[0].before or "")
        rows = [
            b"%s %s\t%s\0" % (change.mode.encode(), change.after.encode(), change.path)
            if change.after
            else b"0 %s\t%s\0" % (zeros, change.path)
            for change in changes
        ]
        _change_index(repository, ["update-index", "-z", "--index-info"], b"".join(rows))
        run(repository.folder, ["update-index", "-q", "--refresh"])


def undo_commit(
    repository: Repository,
    newer: CommitId,
    older: CommitId | None,
    path: FilePath,
    entry: IndexEntry,
) -> bool:
    """Undo a commit of one path, in the index too, not on disk; False where the branch moved on.

    `entry` is the index entry from before the commit.
    """
    if not withdraw(repository, newer, older):
        return False
    if entry.text and not entry.intended:
        _change_index(repository, ["update-index", "-z", "--index-info"], entry.text)
    else:
        _unstage(repository, [path])
        if entry.intended:
            _change_index(repository, ["add", "--intent-to-add", "--", *literal_pathspecs([path])])
    return True


def maintain(repository: Repository) -> None:
    """Let git maintain its repository, without hooks; never while the user waits."""
    settings = (*_HOOKLESS, "-c", "gc.autoDetach=false")
    run(repository.folder, [*settings, "maintenance", "run", "--auto", "--quiet"])
