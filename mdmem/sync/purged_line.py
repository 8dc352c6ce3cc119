"""Carry a purge to the other side: make the commits of that side again on the purged line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mdmem import repo
from mdmem.changes.placing import changes_between
from mdmem.folder.layout import is_markdown
from mdmem.folder.machine import machine_name
from mdmem.model import CommitId
from mdmem.past.notes import PurgedWords, holds_purged, parse_purged
from mdmem.proposals import branches
from mdmem.purge import history_rewrite, ref_rewrite
from mdmem.purge.history_rewrite import KEPT_STASH
from mdmem.purge.purging import PURGE_TRAILER, empty_state
from mdmem.repo import Repository, branch_commits, first_parent
from mdmem.repo.branch_commits import SCRATCH, BranchCommit, NewCommit, StoredFile
from mdmem.repo.first_parent import reaches
from mdmem.repo.merge_trees import merge_trees
from mdmem.repo.remotes import DEVICES, Remote
from mdmem.text.document import split_lines
from mdmem.workspace import Say, Workspace

_NAME = "sync"
_LISTED = 20
_PROPOSALS = "refs/heads/mdmem/proposals"
_CURSORS = frozenset({"transcripts.json", "marks.json"})
"""The files that say how far transcripts are read."""


def make_again(
    workspace: Workspace, onto: CommitId, side: CommitId, since: CommitId, say: Say
) -> CommitId:
    """Make the commits of a side since a commit again on a purged line, and return the last.

    Author, date and trailers stay; lines with purged words are left out, and merges too.
    """
    repository = workspace.repository.at_root()
    listed = branch_commits.commits_not_in(repository, [side], since)
    known = branch_commits.commits_not_in(repository, [onto], since)
    commits = [
        commit
        for name, commit in reversed(listed.items())
        if len(commit.parents) == 1 and name not in known
    ]
    for commit in commits[:_LISTED]:
        subject = commit.message.partition("\n")[0]
        say(f"to be made again: {commit.id[:10]} {subject}")
    if len(commits) > _LISTED:
        say(f"and {len(commits) - _LISTED} more")
    words = purged_words(repository, onto)
    for commit in commits:
        onto = _make_again(workspace, repository, onto, commit, words)
    repository.run("update-ref", "-d", f"{SCRATCH}{_NAME}")
    return onto


def purged_words(repository: Repository, tip: CommitId) -> tuple[PurgedWords, ...]:
    # At any time: what was said after the purge, on a machine that did not know, goes too.
    return tuple(each for words in _purges(repository, tip).values() for each in words)


def _purges(repository: Repository, tip: CommitId) -> dict[CommitId, tuple[PurgedWords, ...]]:
    notes = branch_commits.messages_with(repository, f"^{PURGE_TRAILER}$", tip)
    return {commit: tuple(parse_purged(message, time)) for commit, time, message in notes}


def brings_purged(
    repository: Repository, tip: CommitId, memory: CommitId, words: tuple[PurgedWords, ...]
) -> bool:
    return any(_bringing(repository, tip, memory, words))


def _bringing(
    repository: Repository, tip: CommitId, memory: CommitId, words: tuple[PurgedWords, ...]
) -> Iterator[tuple[CommitId, PurgedWords]]:
    """The commits that only `tip` has and that add purged words, with these."""
    reached = first_parent.commits_reached(repository, tip, [memory])
    for commit, patches in first_parent.added_lines(repository, reached):
        lines = [line for patch in patches for text in patch.added for line in split_lines(text)]
        yield from (
            (commit.id, each) for each in words if any(_holds(line, each) for line in lines)
        )


def is_purged_text_back(
    repository: Repository, tip: CommitId | None, line: CommitId | None
) -> bool:
    """True if a tip brings text again that was purged on a line, as a merge by an old clone does.

    Who says it anew, knowing of the purge, may.
    """
    if tip is None or line is None or reaches(repository, line, tip):
        return False
    purges = _purges(repository, line)
    words = tuple(each for row in purges.values() for each in row)
    return bool(words) and any(
        not reaches(repository, commit, purge)
        for commit, each in _bringing(repository, tip, line, words)
        for purge, row in purges.items()
        if each in row
    )


def is_purge_known(repository: Repository, theirs: CommitId, ours: CommitId) -> bool | None:
    """True if all that was purged here was purged there too, False if it is the other way round.

    None if each side has purged something else, or only one has.
    """
    there, here = (
        {(each.count, each.hash) for each in purged_words(repository, tip)}
        for tip in (theirs, ours)
    )
    if not (there and here):
        return None
    return True if here <= there else (False if there <= here else None)


def branches_again(
    workspace: Workspace,
    remote: Remote,
    onto: CommitId,
    since: CommitId,
    seen: Mapping[str, CommitId],
    say: Say,
) -> dict[str, tuple[CommitId | None, CommitId]]:
    """The remote's proposals and devices' branches made again on a purged line, to be pushed.

    `since` is the remote's line with the text, `seen` what both had last of the proposals: the
    purge has rewritten those here.
    """
    repository = workspace.repository
    devices = {f"refs/heads/{DEVICES}{name}": tip for name, tip in remote.devices().items()}
    local = branch_commits.list_refs(repository, _PROPOSALS)
    updates: dict[str, tuple[CommitId | None, CommitId]] = {}
    for name, tip in (remote.proposals() | devices).items():
        if branch_commits.merge_base(repository, since, tip) and not reaches(repository, onto, tip):
            is_ours = seen.get(name) == tip and name in local
            new = local[name] if is_ours else make_again(workspace, onto, tip, since, say)
            updates[name] = (None if new == onto else new, tip)
    return updates


def own_refs_again(workspace: Workspace, onto: CommitId, since: CommitId, say: Say) -> None:
    """Make proposals and mdmem's own refs again on a purged line; `since` had the text."""
    repository = workspace.repository
    made: dict[CommitId, CommitId | None] = {}
    moves: list[tuple[str, CommitId | None, str]] = []
    for name, tip in branch_commits.list_refs(repository, _PROPOSALS, "refs/mdmem").items():
        if name.startswith(KEPT_STASH) or reaches(repository, onto, tip):
            continue
        if tip not in made:
            new = make_again(workspace, onto, tip, since, say)
            made[tip] = None if new == onto else new
        moves.append((name, made[tip], tip))
    moved = {name: new for name, new, _ in moves if new}
    moves += [(name, new, "") for name, new in branches.made_again(workspace, moved).items()]
    branch_commits.move_refs(repository, moves)


def _make_again(
    workspace: Workspace,
    repository: Repository,
    onto: CommitId,
    commit: BranchCommit,
    words: tuple[PurgedWords, ...],
) -> CommitId:
    date = branch_commits.date_variables(repo.raw_date(workspace.now()), workspace.identity())
    # git merges two commits: this one has the tree of the line, and the commit's parent as base.
    # It is in no history, and so not signed.
    line = repository.git(
        "commit-tree", "-p", commit.parents[0], "-m", "x", f"{onto}^{{tree}}", extra=date
    )
    merged = merge_trees(repository, CommitId(line.decode().strip()), commit.id, machine_name())
    files = _changed_files(repository, onto, merged.tree, words)
    if not files and changes_between(repository, commit.parents[0], commit.id):
        return onto  # nothing is left of it
    message = _without(commit.message, words)
    new = NewCommit(
        message=message.encode("utf-8", "surrogateescape"),
        author=commit.author,
        committer=commit.committer,
        files=files,
        parent=onto,
    )
    return branch_commits.make_commits(repository, _NAME, [new])


def _changed_files(
    repository: Repository, onto: CommitId, tree: str, words: tuple[PurgedWords, ...]
) -> Mapping[bytes, StoredFile | None]:
    (changes,) = branch_commits.changed_blobs(
        repository, [(branch_commits.trees_of(repository, [onto])[0], tree)]
    )
    contents = repository.contents([change.after for change in changes if change.after])
    old = repository.contents([change.before for change in changes if change.before])
    files: dict[bytes, StoredFile | None] = {}
    for change in changes:
        if change.after is None:
            files[change.path] = None
            continue
        data = contents[change.after]
        if is_markdown(change.path.decode("utf-8", "replace")):
            text = _without(data.decode("utf-8", "surrogateescape"), words)
            data = text.encode("utf-8", "surrogateescape")
        if change.before is None or data != old[change.before]:
            files[change.path] = StoredFile(change.mode, data)
    return files


def _without(text: str, words: tuple[PurgedWords, ...]) -> str:
    kept = (line for line in split_lines(text) if not any(_holds(line, each) for each in words))
    return "".join(kept)


def _holds(line: str, words: PurgedWords) -> bool:
    return holds_purged(line, words.time, (words,))


def forget_old(workspace: Workspace) -> None:
    """Empty reflogs and caches, and remove what nothing refers to, as a purge does."""
    empty_state(workspace, None, _CURSORS)
    repository = workspace.repository
    folder = repository.root
    logs = repository.common_dir / "logs"
    listed = branch_commits.list_refs(repository, "refs/heads", "refs/remotes", "refs/mdmem")
    refs = [ref for ref in listed if (logs / ref).exists()]  # git refuses one that has none
    if (repository.git_dir / "logs" / "HEAD").exists():
        refs.append("HEAD")
    if refs:
        history_rewrite.git(
            folder, "reflog", "expire", "--expire=all", "--expire-unreachable=all", *refs
        )
    head = repository.head()
    words = purged_words(repository, head) if head else ()
    for file in ref_rewrite.drop_leftovers(repository):
        text = file.read_bytes().decode("utf-8", "surrogateescape")
        if (kept := _without(text, words)) != text:
            file.write_bytes(kept.encode("utf-8", "surrogateescape"))
    history_rewrite.git(folder, "repack", "-a", "-d", "-l", "-q")
    history_rewrite.git(folder, "prune", "--expire=now")
