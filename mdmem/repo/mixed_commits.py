"""Take out of a commit of ours what somebody saved before git read the file. Rare, and loaded late: an everyday write is one `git commit`."""

from __future__ import annotations

import os

from mdmem.model import CommitId, FilePath
from mdmem.repo import branch_commits, commits
from mdmem.repo.runner import run
from mdmem.repo.worktree import Repository


def replace_commit(repository: Repository, newest: CommitId, path: FilePath, data: bytes, order: commits.CommitOrder) -> CommitId | None:
    """Put a commit in the place of HEAD's newest one that holds `data` at `path`, and is the same otherwise; None where HEAD has moved on.

    It is signed as `git commit` would sign it. Files stay, and the index holds the new commit's `path`: what differs on disk is pending.

    Raises:
        RepositoryProblem: `git-failed`.
    """
    parents = repository.git("show", "-s", "--format=%P", str(newest)).decode().split()
    tree = _tree_with(repository, newest, f"{repository.prefix}{path}", branch_commits.store(repository, path, data))
    is_signed = branch_commits.signs_commits(repository)
    command = ["commit-tree", *(["-S"] if is_signed else []), *(word for parent in parents for word in ("-p", parent)), "-F", "-", tree]
    text = order.message.encode("utf-8", "replace")
    made = run(repository.folder, command, text, commits.commit_variables(order), order.hook_timeout)
    if made.status:
        raise made.failure("commit-tree")
    commit = CommitId(made.output.decode().strip())
    subject = order.message.partition("\n")[0]
    moved = run(repository.folder, ["update-ref", "-m", f"commit: {subject}", "HEAD", commit, newest])
    if moved.status:
        return None
    commits.renew_index(repository, [path])
    return commit


def _tree_with(repository: Repository, commit: CommitId, path: str, blob: str) -> str:
    """Write the tree of a commit with another blob for one of its files, and return its id."""
    folders = path.split("/")
    object_id = blob
    while folders:
        name = os.fsencode(folders.pop())
        entries = repository.git("ls-tree", "--full-tree", "-z", f"{commit}:{'/'.join(folders)}").split(b"\0")
        lines = [_with_id(line, object_id) if line.partition(b"\t")[2] == name else line for line in entries]
        object_id = repository.git("mktree", "--missing", "-z", text=b"\0".join(lines)).decode().strip()
    return object_id


def _with_id(line: bytes, object_id: str) -> bytes:
    """A line of `git ls-tree` with another id: mode, kind, id, tab, name."""
    head, _, name = line.partition(b"\t")
    mode, kind, _ = head.split(b" ")
    return b"%s %s %s\t%s" % (mode, kind, object_id.encode(), name)
