"""The state of a workspace: files, freshness of the index, facts on other branches, notes for the
user.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple

from mdmem.folder import files, hook_files, layout
from mdmem.health import dating
from mdmem.index.catching_up import index_and_stamps
from mdmem.index.indexer import SearchIndex
from mdmem.index.snapshot import Snapshot
from mdmem.merge import setup
from mdmem.model import CommitId, FactId, FileKind, FilePath
from mdmem.model.errors import (
    PathProblem,
    RepositoryProblem,
    WorkspaceProblem,
    number_of,
    printable,
    verb,
)
from mdmem.model.reads import (
    MoreFacts,
    VectorStatus,
    WorkspaceStatus,
)
from mdmem.past import trail_update
from mdmem.past.clocks import DAY_SECONDS
from mdmem.past.notes import holds_purged, parse_purged
from mdmem.past.table import Trail
from mdmem.proposals import branches
from mdmem.queries import folders
from mdmem.repo import Repository, branch_commits, commit_seconds
from mdmem.repo.branch_commits import CommitFiles
from mdmem.startup.records import dataclass
from mdmem.text.document import parse_bytes
from mdmem.text.facts import entries, items
from mdmem.workspace import Workspace, adoption, two_curated_hint

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
            document = workspace.parse(path, data or b"")
            for entry in entries(document, path, daily=workspace.daily):
                if entry.fact:
                    yield entry.fact


_QUOTED = 60
_PURGES = "Mdmem-Purged: "
_EVER = datetime.fromtimestamp(0, UTC)
"""A line read again counts as of any time: logging purged words again is reported too."""


def status(workspace: Workspace) -> WorkspaceStatus:
    """The files of a workspace and the freshness of its index, which stays as it is.

    With other branches the trail is brought up to date, as for a search.
    """
    index, is_fresh, stamps = index_and_stamps(workspace)
    repository = workspace.repository
    kinds = [workspace.kind_of(path) for path in stamps]
    unsaved = unsaved_files(workspace)
    with_more, notes = _other_branches(workspace)
    vectors, vector_notes = _vectors(workspace, index)
    return WorkspaceStatus(
        workspace=str(workspace.root),
        branch=repository.branch(),
        commit=repository.head(),
        files={kind.value: kinds.count(kind) for kind in FileKind if kind.is_memory},
        paths={
            glob: sum(layout.matches(path, (glob,)) and workspace.is_note(path) for path in stamps)
            for glob in workspace.settings.paths
        },
        other_markdown=len(folders.other_markdown(workspace, stamps)),
        uncommitted=unsaved,
        skipped=tuple(_skipped_files(workspace, stamps, index.seen)),
        entries=index.finder.count,
        indexed_commit=index.seen.commit,
        current=is_fresh,
        hooks=hook_files.hook_states(repository.known_hooks_dir or repository.hooks_dir),
        waiting=branches.waiting(workspace),
        adopted=adoption.is_adopted(repository, workspace.environment),
        branches=with_more,
        notes=(*notes, *vector_notes, *_notes(workspace)),
        vectors=vectors,
        conflicts=tuple(_conflicts(workspace, unsaved)),
    )


def _vectors(
    workspace: Workspace, index: SearchIndex
) -> tuple[VectorStatus | None, tuple[str, ...]]:
    if workspace.settings.vectors == "off":
        return None, ()
    from mdmem.vectors import store  # noqa: PLC0415 - with the model step

    is_old = workspace.settings.vectors == "weak"
    notes = ('your setting vectors = "weak" is read as "always"',) if is_old else ()
    try:
        return store.vector_status(workspace, index), notes
    except WorkspaceProblem as problem:
        return None, (problem.message,)


def unsaved_files(workspace: Workspace) -> tuple[FilePath, ...]:
    pending = workspace.repository.pending()
    return tuple(path for path in pending if workspace.kind_of(path).is_memory)


def _conflicts(workspace: Workspace, paths: Iterable[FilePath]) -> Iterator[tuple[FilePath, int]]:
    for path in paths:
        try:
            data = files.read(files.path_on_disk(workspace.root, path)) or b""
            found = parse_bytes(data).conflicts if b"<<<<<<<" in data else ()
        except PathProblem:
            continue  # it is listed as skipped
        yield from ((path, markers[0] + 1) for markers in found)


def _other_branches(workspace: Workspace) -> tuple[tuple[MoreFacts, ...], tuple[str, ...]]:
    try:
        return more_facts(workspace, as_stored=False), ()
    except RepositoryProblem as problem:
        return (), (f"cannot tell what other branches hold: {problem.message}",)


def _skipped_files(
    workspace: Workspace, stamps: Mapping[str, str], seen: Snapshot
) -> Iterator[tuple[FilePath, str]]:
    yield from workspace.left_out_files().items()
    changed, skipped = set(seen.changed_paths(stamps)[0]), seen.skipped
    for path in map(FilePath, sorted(changed.union(skipped).intersection(stamps))):
        if path not in changed:
            yield path, skipped[path]
            continue
        try:
            parse_bytes(files.read(files.path_on_disk(workspace.root, path)) or b"")
        except PathProblem as problem:
            yield path, problem.message


def _notes(workspace: Workspace) -> Iterator[str]:
    own_notes = workspace.settings_note, two_curated_hint(workspace)
    yield from filter(None, (workspace.repository.under_way(), *own_notes))
    if (
        workspace.repository.run("remote").output
        and setup.driver_command(workspace.repository) is None
    ):
        yield (
            "no merge driver is set here, so git merges memory by lines. To set it:"
            f" {verb('doctor', 'fix')}"
        )
    with trail_update.stored_trail(workspace) as trail:
        head, now = trail.newest_commit, workspace.now().timestamp()
        if head and head.moment > now + DAY_SECONDS and head.commit == workspace.repository.head():
            yield f"{dating.ahead(head, now)}. If that clock was wrong: {verb('doctor', 'fix')}"
        if known := workspace.known_signatures():
            unchecked = sum(each.commit not in known.by_commit for each in trail.commits_after())
            if unchecked:
                yield (
                    f"{number_of(unchecked, 'signature')} not checked yet, which"
                    f" {'counts' if unchecked == 1 else 'count'} as missing"
                )
        for each in trail_update.here_again(workspace, trail):
            quoted = " ".join(each.entry.text.split())[:_QUOTED]
            yield f"forgotten, but back: {each.entry.path}, {each.entry.fact} {quoted}"
        try:
            yield from _purge_notes(workspace, trail)
        except RepositoryProblem as problem:
            yield f"cannot tell whether purged text is still there: {problem.message}"


def _purge_notes(workspace: Workspace, trail: Trail) -> Iterator[str]:
    """The notes never have the purged text."""
    purges = _purges(workspace, trail)
    if not purges:
        return
    push = workspace.repository.command_line("git push --force-with-lease")
    for name in _unpurged_branches(workspace, purges[0].commit):
        yield (f"{name} may still hold text that was purged here. To replace it there: {push}")
    words = tuple(each for purge in purges for each in parse_purged(purge.message, purge.time))
    for path, listed in workspace.memory_files().items():
        try:
            data = files.read(listed.full_path) or b""
            document = workspace.parse(path, data)
        except PathProblem:  # status lists it as skipped
            continue
        if any(holds_purged(item.fact.text, _EVER, words) for item in items(document)):
            yield (
                f"{path} holds text that was purged. To purge it again:"
                f" {verb('forget', 'purge')} FACT"
            )


class _Purge(NamedTuple):
    commit: CommitId
    time: int
    message: str


def _purges(workspace: Workspace, trail: Trail) -> list[_Purge]:
    """The purges of HEAD, newest first; git is asked for those that the trail lacks."""
    repository, newest = workspace.repository, trail.newest_commit
    known = [
        _Purge(each.commit, each.time, each.message)
        for each in reversed(trail.commits_stating(_PURGES))
    ]
    head = repository.head()
    if head is None or (newest is not None and newest.commit == head):
        return known
    since = [f"^{newest.commit}"] if newest is not None and repository.has(newest.commit) else []
    listed = repository.git(
        "log", "-z", "--fixed-strings", f"--grep={_PURGES}", "--format=%H%n%ct%n%B", head, *since
    )
    found = [each.split("\n", 2) for each in listed.decode("utf-8", "replace").split("\0") if each]
    return [
        *(_Purge(CommitId(name), commit_seconds(time), message) for name, time, message in found),
        *known,
    ]


def _unpurged_branches(workspace: Workspace, purge: CommitId) -> list[str]:
    """Known remote branches with commits that HEAD lacks, and without the newest purge."""
    branch = workspace.repository.branch()
    if branch is None:
        return []
    wanted = (
        "--format=%(refname:short)",
        f"--no-contains={purge}",
        "--no-merged=HEAD",
        f"refs/remotes/*/{branch}",
    )
    return workspace.repository.git("for-each-ref", *wanted).decode("utf-8", "replace").split()
