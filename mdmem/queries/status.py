"""The state of a workspace: files, freshness of the index, notes for the user."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from mdmem.folder import files, hook_files, layout
from mdmem.index.catching_up import index_and_stamps
from mdmem.index.indexer import SearchIndex
from mdmem.index.snapshot import Snapshot
from mdmem.merge import setup
from mdmem.model import CommitId, FileKind, FilePath
from mdmem.model.errors import PathProblem, RepositoryProblem, WorkspaceProblem, verb
from mdmem.model.reads import (
    MoreFacts,
    VectorStatus,
    WorkspaceStatus,
)
from mdmem.past import trail_update
from mdmem.past.notes import holds_purged, parse_purged
from mdmem.past.table import Trail
from mdmem.proposals import branches
from mdmem.queries import folders, other_branches
from mdmem.repo import commit_seconds
from mdmem.text.document import parse_bytes
from mdmem.text.facts import items
from mdmem.workspace import Workspace, adoption, two_curated_hint

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

    try:
        return store.vector_status(workspace, index), ()
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
        return other_branches.more_facts(workspace, as_stored=False), ()
    except RepositoryProblem as problem:
        return (), (f"cannot tell what other branches hold: {problem.message}",)


def _skipped_files(
    workspace: Workspace, stamps: Mapping[str, str], seen: Snapshot
) -> Iterator[tuple[FilePath, str]]:
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
            document = parse_bytes(files.read(listed.full_path) or b"")
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
