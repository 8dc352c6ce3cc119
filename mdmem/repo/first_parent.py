"""HEAD's first-parent line, oldest first, and what each commit of it did to the workspace's Markdown files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from mdmem.errors import RepositoryProblem
from mdmem.model import CommitId, FilePath
from mdmem.model.trail import Commit
from mdmem.repo.patches import FilePatch, parse_patches
from mdmem.repo.runner import MARKDOWN
from mdmem.repo.worktree import Repository, literal_pathspecs
from mdmem.startup import late
from mdmem.startup.records import dataclass

if TYPE_CHECKING:
    import git
else:
    git = late.module("git")


_COMMITS_AT_ONCE = 500
_SHA1_DIGITS = 40
_FIELDS = ("%H", "%P", "%at", "%an", "%B")
_FILE_MODES = (b"100644", b"100755")


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One Markdown file that a commit changed: the ids of its blobs before and after, None where there was no such file."""

    path: FilePath
    before_path: FilePath
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class CommitChanges:
    """A commit of the first-parent line, with what it changed in the workspace against its first parent."""

    commit: Commit
    parents: tuple[CommitId, ...]
    changes: tuple[ChangedFile, ...]


def commits_between(repository: Repository, above: CommitId | None, upto: CommitId) -> list[CommitId] | None:
    """The commits of the first-parent line of `upto` that come after `above` (None: all), oldest first.

    None where `above` does not lie on that line.
    """
    span = [str(upto), *([f"^{above}"] if above else [])]
    listed = repository.run("rev-list", "--first-parent", "--parents", *span)
    if listed.status:
        if above is None or repository.has(above):
            raise RepositoryProblem("broken-repository", f"git cannot read the history: {listed.words}", "git fsck says more.")
        return None
    rows = [row.split() for row in listed.output.decode().splitlines()][::-1]
    if above is not None and above != upto and (not rows or rows[0][1:2] != [above]):
        return None
    return [CommitId(row[0]) for row in rows]


def iterate_commits(repository: Repository, ids: Sequence[CommitId]) -> Iterator[CommitChanges]:
    """These commits one by one, read some hundred at a time."""
    for start in range(0, len(ids), _COMMITS_AT_ONCE):
        yield from read_commits(repository, ids[start : start + _COMMITS_AT_ONCE])


def read_commits(repository: Repository, ids: Sequence[CommitId]) -> list[CommitChanges]:
    """What these commits say, and what each changed against its first parent."""
    asked = "".join(f"{name}\n" for name in ids).encode()
    said = repository.git("log", "--no-walk=unsorted", "--stdin", "-z", f"--format={'%x00'.join(_FIELDS)}", text=asked)
    fields = said.decode("utf-8", "replace").split("\0")
    changes = _changes(repository, asked)
    found = []
    for name, parents, time, author, message in zip(*(fields[n :: len(_FIELDS)] for n in range(len(_FIELDS))), strict=False):
        commit = Commit(CommitId(name), int(time or 0), author, message)
        found.append(CommitChanges(commit, tuple(CommitId(parent) for parent in parents.split()), tuple(changes.get(commit.id, ()))))
    return found


def _changes(repository: Repository, asked: bytes) -> dict[CommitId, list[ChangedFile]]:
    output = repository.git(
        *("diff-tree", "--stdin", "-r", "-m", "--diff-merges=first-parent", "--root", "--raw", "-z", "-M", "--no-abbrev", "--relative"),
        *("--", MARKDOWN),
        text=asked,
    )
    found: dict[CommitId, list[ChangedFile]] = {}
    commit = CommitId("")
    fields = iter(output.split(b"\0"))
    for field in fields:
        if not field.startswith(b":"):
            commit = CommitId(field.decode())
            continue
        old_mode, new_mode, before, after, status = field[1:].split(b" ")
        path = before_path = FilePath(os.fsdecode(next(fields)))
        if status[:1] in b"RC":
            path = FilePath(os.fsdecode(next(fields)))
        if status[:1] == b"C":
            before_path, old_mode = path, b""
        old, new = (blob.decode() if mode in _FILE_MODES else None for mode, blob in ((old_mode, before), (new_mode, after)))
        if old or new:
            found.setdefault(commit, []).append(ChangedFile(path, before_path, old, new))
    return found


def blobs(repository: Repository, commit: CommitId) -> dict[FilePath, str]:
    """The ids of the workspace's files as a commit has them."""
    rows = repository.git("ls-tree", "-r", "-z", commit).split(b"\0")
    listed = (row.partition(b"\t") for row in rows if row)
    return {FilePath(os.fsdecode(path)): said.split()[2].decode() for said, _, path in listed if said.startswith(_FILE_MODES)}


def current_name(repository: Repository, path: FilePath, above: CommitId) -> FilePath:
    """What a file of a commit is called at HEAD; one that was taken out since goes by its last name."""
    seen: set[CommitId] = set()
    while (gone := _gone(repository, path, above)) and gone.commit.id not in seen:  # two branches may have taken it out each
        above = gone.commit.id
        seen.add(above)
        path = next((one.path for one in gone.changes if one.before_path == path), path)
    return path


def _gone(repository: Repository, path: FilePath, above: CommitId) -> CommitChanges | None:
    """The first commit after `above` in which a path is not there any more."""
    listed = repository.git(
        *("log", "--no-show-signature", "--no-color", "--no-follow", "--full-history", "--no-merges", "--topo-order", "--reverse"),
        *("--no-renames", "--diff-filter=D", "--format=%H", f"{above}..HEAD", "--", *literal_pathspecs([path])),
    )
    first = listed.split()[:1]
    return read_commits(repository, [CommitId(first[0].decode())])[0] if first else None


def side_commits(repository: Repository, merge: CommitChanges) -> Iterator[tuple[Commit, tuple[FilePatch, ...]]]:
    """What a merge brought besides the first-parent line, oldest first: commits of mdmem's, and those that changed Markdown files.

    With each come the lines that it brought in. GitPython reads no SHA-256 repositories, so there are none in those.
    """
    first, *others = merge.parents
    if len(first) != _SHA1_DIGITS or not others:
        return
    span = ["--topo-order", "--full-history", *others, f"^{first}"]
    touching = repository.git("rev-list", *span, "--", MARKDOWN).split()
    ours = repository.git("rev-list", *span, "--extended-regexp", "--grep=^Mdmem-Op: ").split()
    wanted = {*touching, *ours}
    ids = [CommitId(name.decode()) for name in repository.git("rev-list", "--reverse", *span).split() if name in wanted] if wanted else []
    if not ids:
        return
    reader = git.Repo(repository.root)
    reader.git.update_environment(
        GIT_DIR=str(repository.git_dir), GIT_COMMON_DIR=str(repository.common_dir), GIT_WORK_TREE=str(repository.root)
    )
    try:
        for start in range(0, len(ids), _COMMITS_AT_ONCE):
            chunk = ids[start : start + _COMMITS_AT_ONCE]
            patches = _patches(repository, chunk)
            for name in chunk:
                found = reader.commit(name)
                message = found.message if isinstance(found.message, str) else found.message.decode("utf-8", "replace")
                yield Commit(name, found.authored_date, str(found.author.name), message), patches.get(name, ())
    finally:
        reader.close()


def _patches(repository: Repository, commits: Sequence[CommitId]) -> dict[CommitId, tuple[FilePatch, ...]]:
    asked = "".join(f"{commit}\n" for commit in commits).encode()
    output = repository.git(
        *("diff-tree", "--stdin", "-r", "-p", "--text", "-U0", "--inter-hunk-context=0", "-M", "--root", "--relative"),
        *("--no-prefix", "--no-color", "--no-ext-diff", "--no-textconv", "--", MARKDOWN),
        text=asked,
    )
    return parse_patches(output)
