"""The facts on other branches that HEAD's line of history never had, counted for each branch."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from mdmem.folder import files, layout
from mdmem.model import CommitId, FactId, FileKind, FilePath
from mdmem.model.errors import PathProblem, printable
from mdmem.model.reads import MoreFacts
from mdmem.past import trail_update
from mdmem.past.table import Trail
from mdmem.repo import Repository, branch_commits
from mdmem.repo.branch_commits import CommitFiles
from mdmem.startup.records import dataclass
from mdmem.text.document import parse_bytes
from mdmem.text.facts import entries
from mdmem.workspace import Workspace

MOST_BRANCHES = 20
"""Only the branches that moved last are read."""
_HEADS, _OWN = "refs/heads/", "refs/heads/mdmem/"
_CACHE_NAME = "branches.json"
_MOST_NAME = 60
_NO_FACTS = (FileKind.OTHER, FileKind.BOOTSTRAP)


@dataclass(frozen=True, slots=True)
class BranchFacts:
    """The facts of a branch's tip that the line of `head` did not know when they were read."""

    name: str
    tip: CommitId
    head: CommitId
    facts: tuple[FactId, ...]


def more_facts(workspace: Workspace, *, as_stored: bool) -> tuple[MoreFacts, ...]:
    """The branches with more facts, newest first, and how many each has.

    A branch is read again only when it has moved. `as_stored`: if HEAD's history is not read up to
    its end, say nothing rather than wait for that.
    """
    repository = workspace.repository
    head, here = repository.head(), f"{_HEADS}{repository.branch()}"
    refs = branch_commits.list_refs(repository, _HEADS)
    refs = {name: refs[name] for name in refs if name != here and not name.startswith(_OWN)}
    if head is None or not refs:
        return ()
    open_trail = trail_update.stored_trail if as_stored else trail_update.updated_trail
    with open_trail(workspace) as trail:
        if trail.head != head:
            return ()
        more = (
            MoreFacts(
                branch=printable(each.name, keep="")[:_MOST_NAME],
                count=len(_unknown(trail, each.facts)),
            )
            for each in _branches(workspace, trail, head, refs)
        )
        return tuple(each for each in more if each.count)


def _branches(
    workspace: Workspace, trail: Trail, head: CommitId, refs: Mapping[str, CommitId]
) -> Sequence[BranchFacts]:
    digest = hashlib.sha256(repr(sorted(refs.items())).encode()).hexdigest()
    was, rows = _load(workspace)
    # What was known at a commit of HEAD's line is known to that line for ever.
    known = {row.tip: row for row in rows if trail.commit_with_id(row.head)}
    if was == digest and len(known) == len({row.tip for row in rows}):
        return rows
    newest = [name for name in _newest_first(workspace.repository) if name in refs]
    tips = {name: refs[name] for name in newest[:MOST_BRANCHES]}
    unread = list(dict.fromkeys(tip for tip in tips.values() if tip not in known))
    read = _read(workspace, head, unread)
    facts = {tip: _unknown(trail, each) for tip, each in zip(unread, read, strict=True)}
    rows = [
        BranchFacts(name.removeprefix(_HEADS), tip, head, facts[tip])
        if tip in facts
        else BranchFacts(name.removeprefix(_HEADS), tip, known[tip].head, known[tip].facts)
        for name, tip in tips.items()
    ]
    values = [[row.name, row.tip, row.head, row.facts] for row in rows]
    with suppress(OSError):
        workspace.ensure_state()
        files.write_cache(workspace.state / _CACHE_NAME, json.dumps([digest, values]))
    return rows


def _unknown(trail: Trail, facts: Iterable[FactId]) -> tuple[FactId, ...]:
    return tuple(fact for fact in facts if not trail.ids_with_prefix(fact))


def _load(workspace: Workspace) -> tuple[str, list[BranchFacts]]:
    try:
        digest, values = json.loads((workspace.state / _CACHE_NAME).read_bytes())
        rows = [BranchFacts(name, tip, head, tuple(facts)) for name, tip, head, facts in values]
    except (OSError, ValueError, TypeError):
        return "", []
    return digest, rows


def _newest_first(repository: Repository) -> list[str]:
    words = ("for-each-ref", "--sort=-committerdate", "--format=%(refname)", _HEADS)
    return repository.git(*words).decode("utf-8", "surrogateescape").splitlines()


def _read(
    workspace: Workspace, head: CommitId, tips: Sequence[CommitId]
) -> Iterator[tuple[FactId, ...]]:
    """The facts of each commit, in the memory files that it has and `head` has not so."""
    repository, prefix = workspace.repository, workspace.repository.prefix
    trees = branch_commits.trees_of(repository, [head, *tips])
    pairs = [(trees[0], tree) for tree in trees[1:]]
    for tip, changes in zip(tips, branch_commits.changed_blobs(repository, pairs), strict=True):
        paths = (os.fsdecode(each.path) for each in changes if each.after and each.is_plain)
        own = (path.removeprefix(prefix) for path in paths if path.startswith(prefix))
        memory = [FilePath(path) for path in own if _may_hold_facts(workspace, path)]
        texts = CommitFiles(repository, tip).read_all(memory) if memory else {}
        yield tuple(dict.fromkeys(_facts(workspace, texts)))


def _may_hold_facts(workspace: Workspace, path: str) -> bool:
    is_other = workspace.kind_of(path) in _NO_FACTS
    return not is_other and not layout.lies_elsewhere(workspace.root, path)


def _facts(workspace: Workspace, texts: Mapping[FilePath, bytes | None]) -> Iterable[FactId]:
    for path, data in texts.items():
        with suppress(PathProblem):  # not UTF-8, or too large
            for entry in entries(parse_bytes(data or b""), path, daily=workspace.daily):
                if entry.fact:
                    yield entry.fact
