"""Read commits: those that HEAD reaches with their changes to Markdown, and those it lacks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from functools import lru_cache
from itertools import islice
from pathlib import Path
from re import Match

from mdmem.model import CommitId, FilePath
from mdmem.model.errors import RepositoryProblem
from mdmem.model.trail import Commit
from mdmem.repo import git_files
from mdmem.repo.runner import MARKDOWN, literal_pathspecs, run
from mdmem.repo.tree_diffs import QUICK_SECONDS, diff_trees, within_bounds
from mdmem.repo.worktree import Repository, commit_seconds
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace

HUNK = late.pattern(rb"^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
"""A hunk's first line: removed lines, first new line, new lines; no count means 1."""
_OBJECT_ID = late.pattern(rb"^[0-9a-f]{40}(?:[0-9a-f]{24})?$")
_QUOTED = late.pattern(rb"\\([abtnvfr\"\\]|[0-7]{3})")
_ESCAPES = {
    b"a": b"\a",
    b"b": b"\b",
    b"t": b"\t",
    b"n": b"\n",
    b"v": b"\v",
    b"f": b"\f",
    b"r": b"\r",
    b'"': b'"',
    b"\\": b"\\",
}
_COMMITS_AT_ONCE = 500
_ANSWERS_KEPT = 1000
_FIELDS = ("%H", "%P", "%at", "%ct", "%an", "%ae", "%ce", "%B")
_LOG = ("log", "--no-walk=unsorted", "--stdin", "-z", f"--format={'%x00'.join(_FIELDS)}")
_CHANGED_FILES = (
    *("--root", "--raw", "-z", "-M", "--no-abbrev", "--relative", f"-O{os.devnull}"),
    *("--", MARKDOWN),
)
_ANY_FILES = ("--raw", "--no-abbrev", "--no-renames")
_FILE_MODES, _NO_MODE = (b"100644", b"100755"), b"000000"
_OFFSET = late.pattern(r"([+-])(\d\d)(\d\d)")
Parents = tuple[CommitId, ...]
Rows = list[tuple[FilePath, list[str | None]]]
"""Files, each with its blobs in several versions; None: no file. A link or a submodule is its mode
and id with a blank between them.
"""


@dataclass(frozen=True, slots=True)
class FilePatch:
    """One commit's change of one Markdown file: each hunk's added text, and the name before."""

    path: FilePath
    renamed_from: FilePath | None
    added: tuple[str, ...]


def parse_patches(output: bytes) -> dict[CommitId, tuple[FilePatch, ...]]:
    """Parse the output of `git diff-tree --stdin -p -U0`, commit by commit."""
    patches: dict[CommitId, list[FilePatch]] = {}
    lines = iter(output.split(b"\n"))
    commit = CommitId("")
    path = renamed_from = FilePath("")
    added: list[str] = []

    def close() -> None:
        if path:
            patches.setdefault(commit, []).append(
                FilePatch(path, renamed_from or None, tuple(added))
            )

    for line in lines:
        if _OBJECT_ID.match(line):
            close()
            commit, path = CommitId(line.decode()), FilePath("")
        elif line.startswith(b"diff --git "):
            close()
            path, renamed_from, added = FilePath(""), FilePath(""), []
        elif line.startswith(b"rename from "):
            renamed_from = unquoted(line[12:])
        elif line.startswith(b"rename to "):
            path = unquoted(line[10:])
        elif line.startswith(b"+++ ") and line != b"+++ /dev/null":
            path = unquoted(line[4:].removesuffix(b"\t"))  # git ends a name with a blank in it so
        elif match := HUNK.match(line):
            added.append(new_lines(lines, match))
    close()
    return {commit: tuple(of_commit) for commit, of_commit in patches.items()}


def new_lines(lines: Iterator[bytes], hunk: Match[bytes]) -> str:
    """The added lines of a hunk, without the last line end; `lines` follow `HUNK`'s match."""
    added = []
    count = int(hunk[1] or 1) + int(hunk[3] or 1)
    while count:
        line = next(lines)
        count -= not line.startswith(b"\\")
        if line.startswith(b"+"):
            added.append(line[1:])
    return b"\n".join(added).decode("utf-8", "replace")


def unquoted(path: bytes) -> FilePath:
    if path.startswith(b'"'):
        path = _QUOTED.sub(lambda m: _ESCAPES.get(m[1]) or bytes([int(m[1], 8)]), path[1:-1])
    return FilePath(os.fsdecode(path))


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A changed Markdown file: the ids of its blobs before and after, None where it is missing."""

    path: FilePath
    before_path: FilePath
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class CommitChanges:
    """A commit's changes against its first parent; `committed` is the committer's time, `committer`
    their address.

    `by_parent` has those against each parent (without one, all files), only from `read_history`.
    """

    commit: Commit
    committed: int
    parents: tuple[CommitId, ...]
    changes: tuple[ChangedFile, ...]
    by_parent: tuple[tuple[ChangedFile, ...], ...] = ()
    committer: str = ""


def commits_reached(
    repository: Repository, head: CommitId, without: Iterable[CommitId] = ()
) -> list[tuple[CommitId, Parents]]:
    """The commits that `head` reaches and `without` do not, parents first.

    Raises RepositoryProblem (`broken-repository`).
    """
    try:
        return _reached(repository, head, without)[0]
    except RepositoryProblem as problem:
        raise RepositoryProblem(
            "broken-repository",
            f"git cannot read the history: {problem.marked_hint or problem.message}",
            "For details: git fsck",
        ) from problem


def commits_since(
    repository: Repository, head: CommitId, old: CommitId, without: Iterable[CommitId]
) -> list[tuple[CommitId, Parents]] | None:
    """The commits that `head` reaches and `without` do not, parents first.

    None where `head` does not reach `old`, one of `without` or before these, or git cannot tell.
    """
    try:
        commits, ends = _reached(repository, head, without)
    except RepositoryProblem:
        return None
    return commits if old in ends else None


def _reached(
    repository: Repository, head: CommitId, without: Iterable[CommitId]
) -> tuple[list[tuple[CommitId, Parents]], set[CommitId]]:
    """The commits that only `head` reaches, parents first, and those just before them."""
    command = ("rev-list", "--topo-order", "--reverse", "--parents", "--boundary", "--stdin")
    revisions = _lines((head, *(f"^{name}" for name in without)))
    commits, ends = [], set()
    for row in repository.git(*command, text=revisions).decode().splitlines():
        name, *parents = row.split()
        if name.startswith("-"):
            ends.add(CommitId(name[1:]))
        else:
            commits.append((CommitId(name), tuple(map(CommitId, parents))))
    return commits, ends


def reaches(repository: Repository, head: CommitId, commit: CommitId) -> bool:
    """True if a commit exists and is `head` (a whole id too) or one of its ancestors."""
    try:
        return head == commit or _reaches(
            repository.root, repository.shallow_commits(), head, commit
        )
    except LookupError:
        return False


@lru_cache(maxsize=_ANSWERS_KEPT)
def _reaches(
    folder: Path, shallow_commits: frozenset[CommitId], head: CommitId, commit: CommitId
) -> bool:
    """Ask git once: only a shallow history that is deepened changes what a commit comes from."""
    status = run(folder, ["merge-base", "--is-ancestor", commit, head]).status
    if status not in (0, 1):  # one is missing, which a fetch may change
        raise LookupError(commit)
    return status == 0


def commits_brought_by(repository: Repository, merge: CommitId) -> list[CommitId]:
    """A merge with the commits that it brought to its first parent; another commit alone.

    Empty if it does not exist, or has no parent.
    """
    listed = repository.run("rev-list", merge, f"^{merge}^1")
    return [] if listed.status else [CommitId(name) for name in listed.output.decode().split()]


def line(repository: Repository) -> list[CommitId]:
    """The first-parent line of HEAD, oldest first."""
    listed = repository.git("rev-list", "--first-parent", "--reverse", "HEAD")
    return list(map(CommitId, listed.decode().split()))


def newest_commits(repository: Repository, path: FilePath, limit: int) -> list[CommitId]:
    """The newest first-parent commits of HEAD that changed a file, newest first."""
    if repository.head() is None:
        return []
    listed = repository.git(
        "rev-list", "--first-parent", f"-n{limit}", "HEAD", "--", *literal_pathspecs([path])
    )
    return [CommitId(name.decode()) for name in listed.split()]


def newest_changes(
    repository: Repository, head: CommitId, seen: CommitId | None, limit: int
) -> list[tuple[str, list[FilePath]]] | None:
    """Messages and Markdown files of the commits since `seen`; None if there are more than `limit`.

    None too where git takes too long. Raises RepositoryProblem (`git-failed`), also where `seen` is
    gone.
    """
    since = [f"^{seen}"] if seen else []
    form = ("log", "-z", f"-n{limit + 1}", "--name-only", "--relative", "--format=%x01%B%x02")
    try:
        output = repository.git(*form, head, *since, "--", MARKDOWN, seconds=QUICK_SECONDS)
    except RepositoryProblem as problem:
        if problem.code != "git-timeout":
            raise
        return None
    changes = []
    for row in output.split(b"\1")[1:]:
        message, _, paths = row.partition(b"\2")
        names = [FilePath(os.fsdecode(path)) for path in paths.strip(b"\0\n").split(b"\0") if path]
        changes.append((message.decode("utf-8", "replace"), names))
    return None if len(changes) > limit else changes


def read_history(
    repository: Repository,
    commits: Sequence[tuple[CommitId, Parents]],
    boundary: CommitId | None = None,
) -> Iterator[CommitChanges]:
    """Read commits, some hundred at a time, with what differs from each parent.

    All that `boundary`, where a shallow history begins, holds counts as added by it.
    """
    if boundary is not None and commits and commits[0][0] == boundary:
        yield _without_past(repository, boundary)
        commits = commits[1:]
    for start in range(0, len(commits), _COMMITS_AT_ONCE):
        chunk = commits[start : start + _COMMITS_AT_ONCE]
        merges = [(name, parents) for name, parents in chunk if len(parents) > 1]
        pairs = [(name, parent) for name, parents in merges for parent in parents]
        of_merges = iter(_changes_of_pairs(repository, pairs))
        read = _with_changes(repository, [name for name, _ in chunk], "off")
        for commit, (_, parents) in zip(read, chunk, strict=True):
            by_parent = tuple(islice(of_merges, len(parents) if len(parents) > 1 else 0))
            by_parent = by_parent or (commit.changes,)
            yield replace(commit, parents=parents, changes=by_parent[0], by_parent=by_parent)


def read_commits(repository: Repository, ids: Sequence[CommitId]) -> list[CommitChanges]:
    return _with_changes(repository, ids, "first-parent")


def _with_changes(
    repository: Repository, ids: Sequence[CommitId], of_merges: str
) -> list[CommitChanges]:
    """Commits with their changes (`of_merges`: as `git log --diff-merges`), by one process.

    No changes of a commit whose trees take far more than their bytes.
    """
    command = (*_LOG, "--sparse", "--no-follow", f"--diff-merges={of_merges}", *_CHANGED_FILES)

    def log(compared: Iterable[tuple[str, str]], seconds: float) -> bytes:
        names = _lines(name for _, name in compared)
        return repository.git(*command, text=names, seconds=seconds) if names else b""

    output, compared = within_bounds(repository, [("", name) for name in ids], log)
    left_out = _lines(name for name, is_in in zip(ids, compared, strict=True) if not is_in)
    if left_out:
        output += repository.git(*_LOG, text=left_out)
    read = {each.commit.id: each for each in _parse_log(output)}
    return [read[name] for name in ids]


def _parse_log(output: bytes) -> Iterator[CommitChanges]:
    fields = iter(output.split(b"\0"))
    following = next(fields)
    while following:
        name = following
        parents, time, committed, author, email, committer, message = (
            field.decode("utf-8", "replace") for field in islice(fields, len(_FIELDS) - 1)
        )
        changes = []
        # a blank line comes before the first change
        while (following := next(fields).lstrip(b"\n")).startswith(b":"):
            changes += [_changed_file(following, fields)]
        yield CommitChanges(
            commit=Commit(
                id=CommitId(name.decode()),
                time=commit_seconds(time),
                author=author,
                message=message,
                email=email,
            ),
            committed=commit_seconds(committed),
            parents=tuple(map(CommitId, parents.split())),
            changes=tuple(filter(None, changes)),
            committer=committer,
        )


def _changes_of_pairs(
    repository: Repository, pairs: Sequence[tuple[CommitId, CommitId]]
) -> list[tuple[ChangedFile, ...]]:
    """The changes of commits, each against another one.

    None of a commit whose trees take far more than their bytes.
    """
    if not pairs:
        return []
    turned = [(parent, name) for name, parent in pairs]
    output, compared = diff_trees(repository, turned, "--always", *_CHANGED_FILES)
    changes: list[list[ChangedFile]] = []
    fields = iter(output.split(b"\0"))
    for field in fields:
        if not field.startswith(b":"):
            changes += [[]] if field else []
        elif changed := _changed_file(field, fields):
            changes[-1].append(changed)
    of_compared = iter(changes)
    return [tuple(next(of_compared)) if is_compared else () for is_compared in compared]


def _without_past(repository: Repository, name: CommitId) -> CommitChanges:
    (commit,) = _parse_log(repository.git(*_LOG, text=_lines([name])))
    changes = tuple(changed_files(repository, None, name))
    return replace(commit, parents=(), changes=changes, by_parent=(changes,))


def author_offsets(repository: Repository, ids: Iterable[CommitId]) -> dict[CommitId, timedelta]:
    stdin = _lines(ids)
    command = (
        "log",
        "--no-walk=unsorted",
        "--ignore-missing",
        "--stdin",
        "--date=format:%z",
        "--format=%H %ad",
    )
    offsets = {}
    for line in repository.git(*command, text=stdin).decode().splitlines() if stdin else ():
        name, _, offset = line.partition(" ")
        if match := _OFFSET.fullmatch(offset):
            ahead = timedelta(hours=int(match[2]), minutes=int(match[3]))
            offsets[CommitId(name)] = -ahead if match[1] == "-" else ahead
    return offsets


def _lines(ids: Iterable[str]) -> bytes:
    return "".join(f"{name}\n" for name in ids).encode()


def _changed_file(attributes: bytes, fields: Iterator[bytes]) -> ChangedFile | None:
    """A line of git's raw output, its paths being the next fields; None without any file."""
    old_mode, new_mode, before, after, status = attributes[1:].split(b" ")
    path = before_path = FilePath(os.fsdecode(next(fields)))
    if status.startswith(b"R"):
        path = FilePath(os.fsdecode(next(fields)))
    old, new = (
        blob.decode() if mode in _FILE_MODES else None
        for mode, blob in ((old_mode, before), (new_mode, after))
    )
    return ChangedFile(path, before_path, old, new) if old or new else None


def changes_of_trees(repository: Repository, ids: Iterable[str]) -> dict[str, Rows]:
    """The files of any name that differ from all parents of each commit, or between two trees.

    The last version is that in the commit. Paths are from the root.
    """
    command = ("diff-tree", "--stdin", "--always", "--root", "-r", "-c", "-z", *_ANY_FILES)
    fields = iter(repository.git(*command, text=_lines(ids)).split(b"\0"))
    changes: dict[str, Rows] = {}
    for field in filter(None, fields):
        if not field.startswith(b":"):
            rows = changes.setdefault(field.decode().strip(), [])
            continue
        words = field.lstrip(b":").split(b" ")
        modes = zip(words, words[len(words) // 2 :], strict=False)
        versions = [_version(mode, name) for mode, name in modes]
        rows.append((FilePath(os.fsdecode(next(fields))), versions[: len(words) // 2]))
    return changes


def _version(mode: bytes, name: bytes) -> str | None:
    if mode in _FILE_MODES:
        return name.decode()
    return None if mode == _NO_MODE else f"{mode.decode()} {name.decode()}"


def changed_files(
    repository: Repository, before: CommitId | None, after: CommitId
) -> list[ChangedFile]:
    if before is not None:
        return list(*_changes_of_pairs(repository, [(after, before)]))
    return [
        ChangedFile(path, path, None, blob)
        for path, blob in blobs(repository, after).items()
        if path.casefold().endswith(".md")
    ]


def merge_bases(repository: Repository, first: CommitId, second: CommitId) -> list[CommitId]:
    """The best common ancestors: several after crosswise merges, none without a common past."""
    listed = repository.run("merge-base", "--all", first, second)
    if listed.status not in (0, 1):  # 1: there is none
        raise listed.failure("merge-base")
    return [CommitId(name) for name in listed.output.decode().split()]


def touching_commits(
    repository: Repository, paths: Sequence[FilePath], upto: CommitId
) -> list[CommitId]:
    """The commits up to `upto` that touched any of these files."""
    listed = repository.git("rev-list", "--full-history", upto, "--", *literal_pathspecs(paths))
    return [CommitId(name.decode()) for name in listed.split()]


def blobs(repository: Repository, commit: CommitId) -> dict[FilePath, str]:
    listed = versions_in(repository, commit)
    return {path: name for path, name in listed.items() if " " not in name}


def versions_in(repository: Repository, commit: CommitId) -> dict[FilePath, str]:
    """All that is in a commit, as in `Rows`."""
    rows = repository.git("ls-tree", "-r", "-z", commit).split(b"\0")
    listed = (row.partition(b"\t") for row in rows if row)
    return {
        FilePath(os.fsdecode(path)): _version(*attributes.split()[::2]) or ""
        for attributes, _, path in listed
    }


def current_name(repository: Repository, path: FilePath, after: CommitId) -> FilePath:
    """The name at HEAD of a file of a commit; of a removed file, its last name."""
    visited: set[CommitId] = set()
    # Each of two branches may have removed it.
    while (
        removal := _removing_commit(repository, path, after)
    ) and removal.commit.id not in visited:
        after = removal.commit.id
        visited.add(after)
        path = next((change.path for change in removal.changes if change.before_path == path), path)
    return path


def _removing_commit(
    repository: Repository, path: FilePath, after: CommitId
) -> CommitChanges | None:
    listed = repository.git(
        "log",
        "--no-color",
        "--no-follow",
        "--full-history",
        "--no-merges",
        "--topo-order",
        "--reverse",
        "--no-renames",
        "--diff-filter=D",
        "--format=%H",
        f"{after}..HEAD",
        "--",
        *literal_pathspecs([path]),
    )
    first = listed.split()[:1]
    return read_commits(repository, [CommitId(first[0].decode())])[0] if first else None


# Commits from other branches: moves of a branch in git's reflog, and commits that HEAD lacks.

_ENTRY = late.pattern(r"([0-9a-f]{40,64}) ([0-9a-f]{40,64}) .*> (\d+) [+-]\d{4}\t(.*)")
_LANDED = late.pattern(r"(?:pull|merge|rebase|mdmem sync)\b|commit \(merge\)")
_READ_BYTES = 65_536
_PROPOSALS = "mdmem/proposals/*"


@dataclass(frozen=True, slots=True)
class BranchMove:
    """A line of a branch's reflog: old and new commit, and when, in seconds since 1970.

    `is_landing`: by a pull, a merge or a rebase, which bring in what others committed.
    """

    before: CommitId
    after: CommitId
    time: int
    is_landing: bool


def branch_moves(repository: Repository, branch: str) -> list[BranchMove]:
    """The last moves of a branch, oldest first; none where git keeps no reflog of it."""
    path = f"{repository.common_dir}/logs/refs/heads/{branch}"
    text = (git_files.read_bytes(path) or b"")[-_READ_BYTES:].decode("utf-8", "replace")
    return [
        BranchMove(
            before=CommitId(match[1]),
            after=CommitId(match[2]),
            time=commit_seconds(match[3]),
            is_landing=_LANDED.match(match[4]) is not None,
        )
        for line in text.splitlines()
        if (match := _ENTRY.fullmatch(line))
    ]


def messages_about(
    repository: Repository, commits: Iterable[CommitId], path: FilePath
) -> list[str]:
    text = "".join(f"{commit}\n" for commit in commits).encode()
    if not text:
        return []
    command = ("log", "--no-walk=unsorted", "--stdin", "-z", "--format=%B")
    listed = repository.git(*command, "--", *literal_pathspecs([path]), text=text)
    return [message for message in listed.decode("utf-8", "replace").split("\0") if message]


def _lacking(repository: Repository) -> tuple[str, ...]:
    """Arguments for branches' and the last fetched commits that HEAD lacks; no proposals."""
    fetched = ("FETCH_HEAD",) if os.path.lexists(f"{repository.git_dir}/FETCH_HEAD") else ()
    branches = (f"--exclude={_PROPOSALS}", "--branches", f"--exclude=*/{_PROPOSALS}", "--remotes")
    return (*branches, *fetched, "--not", "HEAD")


def lacks_commits(repository: Repository) -> bool:
    return bool(repository.run("rev-list", "-n1", *_lacking(repository)).output.strip())


def find_text(repository: Repository, path: FilePath, data: bytes) -> CommitId | None:
    """The newest commit of branches or the last fetch, not proposals, with these bytes."""
    options = ("--no-color", "--no-follow", "--no-renames", "--diff-merges=first-parent")
    listed = repository.run(
        "log",
        *options,
        "--raw",
        "--no-abbrev",
        "--format=%H",
        *_lacking(repository),
        "--",
        *literal_pathspecs([path]),
    )
    rows = listed.output.decode("utf-8", "replace").splitlines() if listed.status == 0 else []
    if not rows:
        return None
    blob = repository.git("hash-object", "--stdin", "--path", path, text=data).decode().strip()
    commit = CommitId("")
    for row in filter(None, rows):
        if not row.startswith(":"):
            commit = CommitId(row)
        elif row.split()[3] == blob:
            return commit
    return None


def added_lines(
    repository: Repository, reached: Iterable[tuple[CommitId, Parents]]
) -> Iterator[tuple[Commit, tuple[FilePatch, ...]]]:
    """Commits (as from `commits_reached`) with their added lines.

    A merge has none: see `lines_of_merges`.
    """
    ids = [name for name, _ in reached]
    patches = _patches(repository, ids)
    for changes in read_commits(repository, ids):
        yield changes.commit, patches.get(changes.commit.id, ())


def lines_of_merges(
    repository: Repository, reached: Iterable[tuple[CommitId, Parents]]
) -> Iterator[tuple[CommitId, FilePath, str]]:
    """The lines that merges among some commits have of no parent."""
    merges = [(name, parents) for name, parents in reached if len(parents) > 1]
    by_parent = [
        _patches(repository, [f"{name} {each[at]}" for name, each in merges if at < len(each)])
        for at in range(max((len(parents) for _, parents in merges), default=0))
    ]
    for name, parents in merges:
        of_each = [
            {
                (patch.path, line)
                for patch in patches.get(name, ())
                for text in patch.added
                for line in text.split("\n")
            }
            for patches in by_parent[: len(parents)]
        ]
        yield from ((name, path, line) for path, line in sorted(set.intersection(*of_each)))


def _patches(repository: Repository, rows: Sequence[str]) -> dict[CommitId, tuple[FilePatch, ...]]:
    """The patches of Markdown files by commit; a row is a commit, or one and a parent.

    None of a commit whose trees take far more than their bytes.
    """
    pairs = [(parent, name) for name, _, parent in (row.partition(" ") for row in rows)]
    output, _ = diff_trees(
        repository,
        pairs,
        "--always",
        "-p",
        "--text",
        "-U0",
        "--inter-hunk-context=0",
        "-M",
        "--root",
        "--relative",
        "--no-prefix",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--",
        MARKDOWN,
    )
    return parse_patches(output)
