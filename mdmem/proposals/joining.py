"""A proposal's branch joined with HEAD, so that what came to memory since can be proposed to change."""

from __future__ import annotations

import os
from collections.abc import Mapping

from mdmem import repo
from mdmem.editors.merge3.merging import merge3
from mdmem.layout import is_markdown
from mdmem.model import CommitId
from mdmem.proposals import branches
from mdmem.proposals.branches import ProposalRef
from mdmem.repo import branch_commits
from mdmem.repo.branch_commits import BlobChange, NewCommit, StoredFile
from mdmem.startup.records import replace
from mdmem.workspace import Workspace


def join_head(workspace: Workspace, ref: ProposalRef) -> ProposalRef | None:
    """Merge HEAD into a proposal's branch; as it is, where that holds HEAD already, or a work tree has the branch checked out.

    None where the two do not merge, or the branch moved.
    """
    repository = workspace.repository
    head = repository.head()
    base = branch_commits.merge_base(repository, head, ref.tip) if head else None
    if head is None or base is None or base == head or branch_commits.checked_out_in(repository, ref.name):
        return ref
    base_tree, head_tree, tip_tree = branch_commits.trees_of(repository, [base, head, ref.tip])
    to_tip, to_head = branch_commits.changed_blobs(repository, [(base_tree, tip_tree), (base_tree, head_tree)])
    files = _merged(workspace, {change.path: change for change in to_tip}, to_head)
    if files is None:
        return None
    author, committer = branch_commits.identity_lines(repository, repo.raw_date(workspace.now()), workspace.identity())
    message = f"mdmem: proposal {ref.id} goes on from {head[:10]}\n".encode()
    new = NewCommit(message=message, author=author, committer=committer, files=files, parent=ref.tip, merges=head)
    tip: CommitId = branch_commits.make_commits(repository, ref.id, [new])
    joined = replace(ref, tip=tip)
    return joined if branches.move(repository, ref, joined) else None


def _merged(workspace: Workspace, to_tip: Mapping[bytes, BlobChange], to_head: list[BlobChange]) -> dict[bytes, StoredFile | None] | None:
    """The files that a branch takes over from HEAD, merged with its own changes; None where one does not merge."""
    both = [change for change in to_head if change.path in to_tip]
    names = [blob for change in both for blob in (change.before, change.after, to_tip[change.path].after) if blob]
    blobs = workspace.repository.contents(list(dict.fromkeys(names)))
    prefix = os.fsencode(workspace.repository.prefix)
    files: dict[bytes, StoredFile | None] = {}
    for change in to_head:
        own = to_tip.get(change.path)
        if own is None or own.after == change.after:
            files[change.path] = StoredFile(change.mode, change.after) if change.after else None
            continue
        path = os.fsdecode(change.path.removeprefix(prefix))
        if own.after is None or change.after is None or not change.is_plain or not own.is_plain or not is_markdown(path):
            return None
        base, ours, theirs = (blobs[blob] if blob else b"" for blob in (change.before, change.after, own.after))
        merged = merge3(base, ours, theirs, workspace.kind_of(path)).data
        if merged is None:
            return None
        files[change.path] = StoredFile(change.mode, merged)
    return files
