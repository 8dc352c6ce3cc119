"""Commits from other branches: moves of a branch in git's reflog, and commits that HEAD lacks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from mdmem.model import CommitId, FilePath
from mdmem.model.trail import Commit
from mdmem.repo import git_files
from mdmem.repo.first_parent import FilePatch, commits_reached, parse_patches, read_commits
from mdmem.repo.runner import MARKDOWN, literal_pathspecs
from mdmem.repo.worktree import Repository
from mdmem.startup import late
from mdmem.startup.records import dataclass

_ENTRY = late.pattern(r"([0-9a-f]{40,64}) ([0-9a-f]{40,64}) .*> (\d+) [+-]\d{4}\t(.*)")
_LANDED = late.pattern(r"(?:pull|merge|rebase|mdmem sync)\b|commit \(merge\)")
_READ_BYTES = 65_536
"""No more of the end of a reflog is read."""
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
            time=int(match[3]),
            is_landing=_LANDED.match(match[4]) is not None,
        )
        for line in text.splitlines()
        if (match := _ENTRY.fullmatch(line))
    ]


def messages_about(
    repository: Repository, commits: Iterable[CommitId], path: FilePath
) -> list[str]:
    """The messages of the commits, among these, that changed a file."""
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
    """True if HEAD lacks a commit that `find_text` would look at."""
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
    repository: Repository, commit: CommitId, head: CommitId | None
) -> Iterator[tuple[Commit, tuple[FilePatch, ...]]]:
    """The ancestors of a commit that another lacks, oldest first, with their added lines."""
    ids = [name for name, _ in commits_reached(repository, commit, [head] if head else [])]
    output = repository.git(
        "diff-tree",
        "--stdin",
        "-r",
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
        text="".join(f"{name}\n" for name in ids).encode(),
    )
    patches = parse_patches(output)
    for changes in read_commits(repository, ids):
        yield changes.commit, patches.get(changes.commit.id, ())
