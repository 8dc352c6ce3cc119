"""Commits on branches that are not checked out, by plumbing; refs move by compare-and-swap."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from mdmem.model import CommitId, FilePath
from mdmem.model.errors import RepositoryProblem
from mdmem.repo.runner import READ_SECONDS, run
from mdmem.repo.tree_diffs import diff_trees
from mdmem.repo.worktree import Identity, Repository, commit_seconds
from mdmem.startup.records import dataclass

SCRATCH = "refs/mdmem/scratch/"
"""The refs that hold new commits until a branch does; a killed process leaves one."""
_SECONDS = 600.0
_PLAIN_MODES = frozenset({b"100644", b"100755"})
_NO_MODE = b"000000"
NEW_FILE_MODE = "100644"
_NO_DATE = "0 +0000"


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of a commit: its mode, and the id of its blob or the bytes that git stores."""

    mode: str
    content: str | bytes


@dataclass(frozen=True, slots=True)
class NewCommit:
    """A commit to be made; author and committer are `NAME <EMAIL> SECONDS ZONE`.

    `files` has paths from the root of the work tree (None: removed). `parent` exists (None: the
    commit before it in the same order); `merges` is a second one.
    """

    message: bytes
    author: bytes
    committer: bytes
    files: Mapping[bytes, StoredFile | None]
    parent: CommitId | None = None
    merges: CommitId | None = None


@dataclass(frozen=True, slots=True)
class BranchCommit:
    id: CommitId
    parents: tuple[CommitId, ...]
    tree: str
    time: int
    author: bytes
    committer: bytes
    message: str


@dataclass(frozen=True, slots=True)
class BlobChange:
    """A file that differs between two trees, by path from the root: blobs, None where missing.

    `mode` is the newest. `is_plain`: neither side is a link, a submodule or the like.
    """

    path: bytes
    before: str | None
    after: str | None
    mode: str
    is_plain: bool


def bare_repository(git_dir: Path, variables: tuple[tuple[str, str], ...] = ()) -> Repository:
    """A repository of which only commits are read; `variables` as of `Repository`."""
    return Repository(
        folder=git_dir,
        root=git_dir,
        git_dir=git_dir,
        common_dir=git_dir,
        prefix="",
        is_simple=False,
        variables=variables,
    )


# Making commits.


def identity_lines(
    repository: Repository, date: str, identity: Identity | None
) -> tuple[bytes, bytes]:
    """Author and committer at a raw date; `identity` is for a repository without one."""
    lines = []
    for role in ("AUTHOR", "COMMITTER"):
        if identity is None and date.startswith("@") and (person := repository.person(role)):
            lines.append(b"%s %s" % (person, date[1:].encode()))
            continue
        extra = {f"GIT_{role}_DATE": date} | (identity.variables(role) if identity else {})
        lines.append(repository.git("var", f"GIT_{role}_IDENT", extra=extra).removesuffix(b"\n"))
    return lines[0], lines[1]


def signs_commits(repository: Repository) -> bool:
    return (
        repository.git(
            "config", "--type=bool", "--default=false", "--get", "commit.gpgSign"
        ).strip()
        == b"true"
    )


def store(repository: Repository, path: FilePath, data: bytes) -> str:
    """Store what git would of a file with these bytes, and return the blob's id."""
    return (
        repository.git("hash-object", "-w", "--stdin", "--path", path, text=data).decode().strip()
    )


def full_path(repository: Repository, path: FilePath) -> bytes:
    return os.fsencode(f"{repository.prefix}{path}")


def make_commits(repository: Repository, name: str, commits: Sequence[NewCommit]) -> CommitId:
    """Make commits in turn, return the last; only a scratch ref of this `name` refers to them."""
    ref = f"{SCRATCH}{name}".encode()
    stream = []
    for number, commit in enumerate(commits, 1):
        stream += [
            b"commit %s\nmark :%d\n" % (ref, number),
            b"author %s\ncommitter %s\n" % (commit.author, commit.committer),
        ]
        stream.append(_data(commit.message))
        # Without a parent git takes the commit before.
        stream += [b"from %s\n" % commit.parent.encode()] if commit.parent else []
        stream += [b"merge %s\n" % commit.merges.encode()] if commit.merges else []
        stream += [_file_line(path, stored) for path, stored in commit.files.items()]
    stream.append(b"get-mark :%d\n" % len(commits))
    result = run(
        repository.folder,
        ["fast-import", "--quiet", "--force", "--date-format=raw"],
        b"".join(stream),
        seconds=_SECONDS,
    )
    if result.status:
        raise result.failure("fast-import")
    return CommitId(result.output.decode().strip())


def make_own_commit(
    repository: Repository,
    name: str,
    message: str,
    files: Mapping[bytes, StoredFile | None],
    *,
    parent: CommitId,
    date: str,
    identity: Identity | None,
) -> CommitId:
    """Make the user's commit, signed as by `git commit`; only a scratch ref refers to it."""
    author, committer = identity_lines(repository, date, identity)
    text = message.encode("utf-8", "replace")
    commit = make_commits(
        repository,
        name,
        [NewCommit(message=text, author=author, committer=committer, files=files, parent=parent)],
    )
    if not signs_commits(repository):
        return commit
    tree = f"{commit}^{{tree}}"
    return commit_tree(repository, tree, [parent], message, date_variables(date, identity))


def commit_staged(
    repository: Repository, parents: Sequence[CommitId], index_file: str | None
) -> CommitId:
    """Commit what is staged, with no ref to it, so that it can be judged as it will be."""
    variables = {"GIT_INDEX_FILE": str(repository.root / index_file)} if index_file else {}
    tree = repository.git("write-tree", extra=variables).decode().strip()
    words = [word for parent in parents for word in ("-p", parent)]
    person = Identity("mdmem", "mdmem@localhost")
    dates = date_variables(f"@{_NO_DATE}", person)
    made = repository.git("commit-tree", *words, "-m", "staged", tree, extra=dates)
    return CommitId(made.decode().strip())


def date_variables(date: str, identity: Identity | None) -> dict[str, str]:
    variables = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    if identity:
        variables |= identity.variables("AUTHOR") | identity.variables("COMMITTER")
    return variables


def commit_tree(
    repository: Repository,
    tree: str,
    parents: Sequence[CommitId],
    message: str,
    variables: Mapping[str, str],
    seconds: float = READ_SECONDS,
) -> CommitId:
    """Commit a tree as `git commit` signs it, with no ref to it. Raises RepositoryProblem."""
    command = [
        "commit-tree",
        *(["-S"] if signs_commits(repository) else []),
        *(word for parent in parents for word in ("-p", parent)),
        "-F",
        "-",
        tree,
    ]
    text = message.encode("utf-8", "replace")
    made = run(repository.folder, command, text, variables, seconds)
    if made.status:
        raise made.failure("commit-tree")
    return CommitId(made.output.decode().strip())


def _data(text: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(text), text)


def _file_line(path: bytes, stored: StoredFile | None) -> bytes:
    quoted = b'"%s"' % path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    if stored is None:
        return b"D %s\n" % quoted
    mode = stored.mode.encode()
    if isinstance(stored.content, bytes):
        return b"M %s inline %s\n%s" % (mode, quoted, _data(stored.content))
    return b"M %s %s %s\n" % (mode, stored.content.encode(), quoted)


# Refs.


def move_refs(
    repository: Repository,
    moves: Iterable[tuple[str, str | None, str | None]],
    scratch: str | None = None,
) -> bool:
    """Move refs (name, new, old), all or none; None is no ref, an empty `old` any or none.

    False where one is not at `old` any more. `scratch` names a scratch ref to delete too.
    """
    commands = [_ref_command(*move) for move in moves]
    commands += [f"delete {SCRATCH}{scratch}\0"] if scratch else []
    text = "\0".join(["start", *commands, "prepare", "commit", ""]).encode(
        "utf-8", "surrogateescape"
    )
    return (
        run(
            repository.folder,
            ["update-ref", "-m", "mdmem: proposal", "--create-reflog", "-z", "--stdin"],
            text,
        ).status
        == 0
    )


def _ref_command(name: str, new: str | None, old: str | None) -> str:
    if new is None:
        return f"delete {name}\0{old}"
    return f"create {name}\0{new}" if old is None else f"update {name}\0{new}\0{old}"


def list_refs(repository: Repository, *prefixes: str) -> dict[str, CommitId]:
    listed = repository.git("for-each-ref", "--format=%(refname) %(objectname)", *prefixes)
    rows = (line.rpartition(" ") for line in listed.decode("utf-8", "surrogateescape").splitlines())
    return {name: CommitId(commit) for name, _, commit in rows}


def checked_out_in(repository: Repository, name: str) -> Path | None:
    """The work tree that has a branch checked out, by its full name; None where none has."""
    for block in repository.git("worktree", "list", "--porcelain", "-z").split(b"\0\0"):
        fields = dict(os.fsdecode(line).partition(" ")[::2] for line in block.split(b"\0"))
        if fields.get("branch") == name:
            return Path(fields["worktree"])
    return None


# Reading commits.


def commits_not_in(
    repository: Repository, tips: Iterable[CommitId], base: CommitId | None
) -> dict[CommitId, BranchCommit]:
    """The commits that lead to tips and are not in `base`, by ids, children before parents."""
    wanted = list(tips)
    if not wanted:
        return {}
    text = "".join(f"{name}\n" for name in (*wanted, *([f"^{base}"] if base else [])))
    fields = "%H%n%P%n%T%n%at%n%an <%ae>%n%ad%n%cn <%ce>%n%cd%n%B"
    command = ("log", "-z", "--topo-order", "--date=raw", f"--format={fields}", "--stdin")
    rows = (
        repository.git(*command, text=text.encode()).decode("utf-8", "surrogateescape").split("\0")
    )
    commits = {}
    for row in filter(None, rows):
        name, parents, tree, time, *lines, message = row.split("\n", 8)
        # Git has no word for a broken date, and makes no commit without one.
        author, committer = (
            f"{person} {date or _NO_DATE}".encode("utf-8", "surrogateescape")
            for person, date in (lines[:2], lines[2:])
        )
        commits[CommitId(name)] = BranchCommit(
            id=CommitId(name),
            parents=tuple(map(CommitId, parents.split())),
            tree=tree,
            time=commit_seconds(time),
            author=author,
            committer=committer,
            message=message,
        )
    return commits


def commit_times(repository: Repository, commits: Iterable[CommitId]) -> dict[CommitId, int]:
    """The times of commits, in seconds since 1970; missing commits are left out."""
    text = "".join(f"{name}\n" for name in commits).encode()
    command = ("log", "--no-walk=unsorted", "--ignore-missing", "--stdin", "--format=%H %ct")
    rows = repository.git(*command, text=text).decode().splitlines() if text else []
    times = (row.partition(" ") for row in rows)
    return {CommitId(name): commit_seconds(time) for name, _, time in times}


def merge_base(repository: Repository, first: CommitId, second: CommitId) -> CommitId | None:
    """The best common ancestor of two commits; None where there is none."""
    result = run(repository.folder, ["merge-base", first, second])
    if result.status not in (0, 1):  # 1: there is none
        raise result.failure("merge-base")
    return CommitId(result.output.decode().split()[0]) if result.status == 0 else None


def changed_blobs(
    repository: Repository, pairs: Sequence[tuple[str, str]]
) -> list[list[BlobChange]]:
    """The files that differ between each two trees (ids of trees), by one process.

    None where these take far more than their bytes.
    """
    if not pairs:
        return []
    output, compared = diff_trees(
        repository.at_root(), pairs, "-z", "--no-renames", "--no-ext-diff", are_commits=False
    )
    changes: list[list[BlobChange]] = []
    fields = iter(output.split(b"\0"))
    for field in fields:
        *names_of_trees, row = field.split(b"\n")
        changes += ([] for _ in names_of_trees)
        if row:
            changes[-1].append(_blob_change(row, next(fields)))
    if len(changes) != sum(compared):  # git is silent on a tree that it does not have
        raise RepositoryProblem("git-failed", "git diff-tree: a tree is missing")
    of_compared = iter(changes)
    return [next(of_compared) if is_compared else [] for is_compared in compared]


def _blob_change(head: bytes, path: bytes) -> BlobChange:
    old_mode, new_mode, old, new, _ = head.removeprefix(b":").split(b" ")
    modes = {mode for mode in (old_mode, new_mode) if mode != _NO_MODE}
    return BlobChange(
        path=path,
        before=None if old_mode == _NO_MODE else old.decode(),
        after=None if new_mode == _NO_MODE else new.decode(),
        mode=(old_mode if new_mode == _NO_MODE else new_mode).decode(),
        is_plain=modes <= _PLAIN_MODES,
    )


def trees_of(repository: Repository, commits: Sequence[CommitId | None]) -> list[str]:
    """The trees of some commits; of None the empty one."""
    empty = (
        repository.git("hash-object", "-w", "-t", "tree", "--stdin").decode().strip()
        if None in commits
        else ""
    )
    text = "".join(f"{commit}^{{tree}}\n" if commit else f"{empty}\n" for commit in commits)
    rows = (
        repository.git("cat-file", "--batch-check=%(objectname)", text=text.encode())
        .decode()
        .splitlines()
        if commits
        else []
    )
    if lacking := [row for row in rows if row.endswith(" missing")]:
        raise RepositoryProblem("git-failed", f"git cat-file: {lacking[0]}")
    return rows


def messages_with(
    repository: Repository, pattern: str, tip: CommitId | None
) -> list[tuple[CommitId, int, str]]:
    """The commits before `tip` with a line that matches an extended regex, newest first."""
    if tip is None:
        return []
    command = (
        "log",
        "-z",
        "-E",
        f"--grep={pattern}",
        "--format=%H%n%ct%n%B",
        "--end-of-options",
        tip,
    )
    rows = repository.git(*command).decode("utf-8", "surrogateescape").split("\0")
    fields = (row.split("\n", 2) for row in rows if row)
    return [(CommitId(name), commit_seconds(time), message) for name, time, message in fields]


class CommitFiles:
    """The Markdown files of a workspace as a commit has them, read when they are asked for."""

    def __init__(self, repository: Repository, commit: CommitId) -> None:
        self.repository = repository
        self.commit = commit

    def read(self, path: FilePath) -> bytes | None:
        """The bytes of one file; None where the commit has none."""
        return self.repository.read(self.commit, [path])[path]

    def mode(self, path: FilePath) -> str:
        row = self.repository.git(
            "ls-tree",
            "-z",
            "--full-tree",
            self.commit,
            "--",
            f":(literal){self.repository.prefix}{path}",
        )
        return row.partition(b" ")[0].decode() or NEW_FILE_MODE

    def paths(self) -> list[FilePath]:
        listed = self.repository.git("ls-tree", "-r", "-z", self.commit, "--", ".").split(b"\0")
        rows = (line.partition(b"\t") for line in listed if line)
        names = (os.fsdecode(path) for head, _, path in rows if head[:6] in _PLAIN_MODES)
        return [FilePath(name) for name in names if name.casefold().endswith(".md")]

    def read_all(self, paths: Sequence[FilePath]) -> dict[FilePath, bytes | None]:
        return self.repository.read(self.commit, paths)
