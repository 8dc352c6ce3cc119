"""A proposal's branch without some parts; other commits stay, on new parents."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from mdmem import repo
from mdmem.editors.merge3.merging import merge3
from mdmem.errors import PathProblem, SectionProblem
from mdmem.folder.layout import is_markdown
from mdmem.history.messages import quoted_line
from mdmem.history.notes import parse_message
from mdmem.model import CommitId, FactId, FileKind, FilePath, SectionPath
from mdmem.proposals import branches, taking
from mdmem.proposals.branches import ProposalRef
from mdmem.proposals.parts import Part
from mdmem.proposals.pieces import EMPTY, FactPiece, FileFacts, SectionPiece
from mdmem.proposals.reading import Proposal
from mdmem.repo import Repository, branch_commits
from mdmem.repo.branch_commits import NEW_FILE_MODE, BlobChange, BranchCommit, NewCommit, StoredFile
from mdmem.startup.records import replace
from mdmem.text.document import decode, parse
from mdmem.workspace import Workspace


def join_head(workspace: Workspace, ref: ProposalRef) -> ProposalRef | None:
    """Merge HEAD into a proposal's branch, unless it has it or is checked out.

    None where the two conflict, or the branch moved.
    """
    repository = workspace.repository
    head = repository.head()
    base = branch_commits.merge_base(repository, head, ref.tip) if head else None
    if (
        head is None
        or base is None
        or base == head
        or branch_commits.checked_out_in(repository, ref.name)
    ):
        return ref
    base_tree, head_tree, tip_tree = branch_commits.trees_of(repository, [base, head, ref.tip])
    to_tip, to_head = branch_commits.changed_blobs(
        repository, [(base_tree, tip_tree), (base_tree, head_tree)]
    )
    files = _merged(workspace, {change.path: change for change in to_tip}, to_head)
    if files is None:
        return None
    author, committer = branch_commits.identity_lines(
        repository, repo.raw_date(workspace.now()), workspace.identity()
    )
    message = f"mdmem: proposal {ref.id} goes on from {head[:10]}\n".encode()
    new = NewCommit(
        message=message,
        author=author,
        committer=committer,
        files=files,
        parent=ref.tip,
        merges=head,
    )
    tip: CommitId = branch_commits.make_commits(repository, ref.id, [new])
    joined = replace(ref, tip=tip)
    return joined if branches.move(repository, ref, joined) else None


def _merged(
    workspace: Workspace, to_tip: Mapping[bytes, BlobChange], to_head: list[BlobChange]
) -> dict[bytes, StoredFile | None] | None:
    """The files to take from HEAD, merged with the branch's changes; None on conflict."""
    both = [change for change in to_head if change.path in to_tip]
    names = [
        blob
        for change in both
        for blob in (change.before, change.after, to_tip[change.path].after)
        if blob
    ]
    blobs = workspace.repository.contents(list(dict.fromkeys(names)))
    prefix = os.fsencode(workspace.repository.prefix)
    files: dict[bytes, StoredFile | None] = {}
    for change in to_head:
        own = to_tip.get(change.path)
        if own is None or own.after == change.after:
            files[change.path] = StoredFile(change.mode, change.after) if change.after else None
            continue
        path = os.fsdecode(change.path.removeprefix(prefix))
        if (
            own.after is None
            or change.after is None
            or not change.is_plain
            or not own.is_plain
            or not is_markdown(path)
        ):
            return None
        base, ours, theirs = (
            blobs[blob] if blob else b"" for blob in (change.before, change.after, own.after)
        )
        merged = merge3(base, ours, theirs, workspace.kind_of(path)).data
        if merged is None:
            return None
        files[change.path] = StoredFile(change.mode, merged)
    return files


Compose = Callable[[Part, str, str], str]
"""Makes the message for one part from its file's texts before and after."""


def rewrite(
    repository: Repository, proposal: Proposal, gone: Sequence[Part], compose: Compose
) -> CommitId | None:
    """Commit a proposal without some parts, moving no branch; None where nothing is left."""
    is_plain = all(isinstance(part.piece, FactPiece) for part in gone if part.piece is not None)
    if is_plain and not any(len(commit.parents) > 1 for commit in proposal.branch.commits):
        try:
            commits = _filtered(repository, proposal, gone)
        except (PathProblem, SectionProblem):
            pass  # a text in between cannot be edited: try one commit per part
        else:
            return _make(repository, proposal, commits)
    names = {part.name for part in gone}
    kept = [part for part in proposal.parts if part.name not in names]
    return _make(repository, proposal, _part_by_part(repository, proposal, kept, compose))


def _make(repository: Repository, proposal: Proposal, commits: list[NewCommit]) -> CommitId | None:
    if not commits:
        return None
    first = replace(commits[0], parent=proposal.view.base)
    return branch_commits.make_commits(repository, proposal.ref.id, [first, *commits[1:]])


# Commit by commit.


def _filtered(repository: Repository, proposal: Proposal, gone: Sequence[Part]) -> list[NewCommit]:
    """Remove the parts' facts from every version of their files."""
    changes = proposal.branch.commit_changes
    about: dict[bytes, list[Part]] = {}
    for part in gone:
        if isinstance(part.piece, FactPiece):
            about.setdefault(branch_commits.full_path(repository, part.view.path), []).append(part)
    names = [
        blob
        for row in changes
        for each in row
        if each.path in about
        for blob in (each.before, each.after)
        if blob
    ]
    blobs = repository.contents(list(dict.fromkeys(names)))
    kept: dict[bytes, bytes | str | None] = {}
    commits = []
    for commit, row in zip(proposal.branch.commits, changes, strict=True):
        files: dict[bytes, StoredFile | None] = {}
        for each in row:
            content: bytes | str | None = each.after
            if each.path in about and each.after is not None:
                content = _without(decode(blobs[each.after]), about[each.path])
            before = kept.get(
                each.path,
                (
                    each.before
                    if each.path not in about or each.before is None
                    else blobs[each.before]
                ),
            )
            if content != before:
                files[each.path] = StoredFile(each.mode, content) if content is not None else None
            kept[each.path] = content
        if files or (not row and not _states_only(commit, gone)):
            commits.append(_new_commit(commit, _message_without(commit.message, gone), files))
    return commits


def _without(text: str, parts: Sequence[Part]) -> bytes:
    for part in parts:
        if isinstance(part.piece, FactPiece) and part.source is not None:
            text = taking.without(
                part.piece, parse(text), frozenset(FileFacts(part.source.base).paths)
            )
    return text.encode()


def _states_only(commit: BranchCommit, gone: Sequence[Part]) -> bool:
    """True if a commit without text states only parts to remove."""
    note = parse_message(commit.message)
    stated = {*note.retracts, *note.confirms, *(old for old, _ in note.supersedes)}
    return bool(stated) and stated <= {FactId(part.name) for part in gone}


def _message_without(message: str, gone: Sequence[Part]) -> str:
    """A message without lines that quote or name the parts."""
    raws = [
        place.item.raw
        for part in gone
        if isinstance(part.piece, FactPiece)
        for place in (part.piece.old, part.piece.new)
        if place
    ]
    quotes = {
        f"{sign} {quoted_line(line)}"
        for raw in raws
        for line in raw.splitlines()
        if line.strip()
        for sign in "+-"
    }
    names = {part.name for part in gone}
    lines = message.split("\n")
    return "\n".join(
        line
        for line in lines
        if line not in quotes
        and not (line.startswith("Mdmem-") and names.intersection(line.split(" ")[1:]))
    )


def _new_commit(
    commit: BranchCommit, message: str, files: dict[bytes, StoredFile | None]
) -> NewCommit:
    return NewCommit(
        message=message.encode("utf-8", "replace"),
        author=commit.author,
        committer=commit.committer,
        files=files,
    )


# Part by part.


def _part_by_part(
    repository: Repository, proposal: Proposal, parts: Sequence[Part], compose: Compose
) -> list[NewCommit]:
    """A commit for each part, on top of the branch's base."""
    modes = {change.path: change.mode for row in proposal.branch.commit_changes for change in row}
    texts: dict[FilePath, str] = {}
    commits = []
    for part in sorted(parts, key=order):
        path = part.view.path
        before = texts.get(path, part.source.base.text if part.source else "")
        after = _with_part(before, part)
        if after != before or part.piece is None:
            texts[path] = after
            name = branch_commits.full_path(repository, path)
            files: dict[bytes, StoredFile | None] = (
                {name: StoredFile(modes.get(name, NEW_FILE_MODE), after.encode())}
                if after != before
                else {}
            )
            commits.append(
                _new_commit(proposal.branch.commits[-1], compose(part, before, after), files)
            )
    return commits


def _with_part(text: str, part: Part) -> str:
    now = parse(text) if text else EMPTY
    if part.source is None:
        return text
    match part.piece:
        case FactPiece():
            put = taking.put_fact(part.piece, part.source, now, FileKind.EVERGREEN, is_forced=True)
        case SectionPiece():
            put = taking.put_section(part.piece, part.source, now)
        case None:
            return text
    return text if put.text is None else put.text


def order(part: Part) -> int:
    """Headings that others may need first, then facts, then texts and removals."""
    piece = part.piece
    if not isinstance(piece, SectionPiece):
        return 1
    section: tuple[SectionPath | None, SectionPath | None] = (piece.old, piece.new)
    return 2 if piece.target is not None else 3 if section[1] is None else 0


def in_order(parts: Sequence[Part]) -> list[Part]:
    """Parts in the order in which they can be applied."""
    return sorted(parts, key=order)
