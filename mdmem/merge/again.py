"""Merges of two commits, made again file by file: nothing is stored of a merge.

The trailers for the message of one come from this too: contradictions, and what was kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from mdmem.folder import layout
from mdmem.merge import facts_in, ids_in, merge_by_section
from mdmem.model import CommitId, FactId, FileKind, FilePath
from mdmem.repo import Repository
from mdmem.repo.first_parent import ChangedFile, changed_files, merge_bases
from mdmem.startup.records import dataclass
from mdmem.workspace import Workspace, workspaces_of


@dataclass(frozen=True, slots=True)
class MergedFile:
    """A Markdown file that both sides changed: its path in the merge, its base, each version."""

    path: FilePath
    base: bytes
    ours: bytes
    theirs: bytes


def files_of_both(
    repository: Repository,
    ours: CommitId,
    theirs: CommitId,
    only: Collection[FilePath] | None = None,
    bases: Sequence[CommitId] | None = None,
) -> Iterator[MergedFile]:
    """The files that both changed and have, with their bases (several: merged as git does)."""
    bases = merge_bases(repository, ours, theirs) if bases is None else bases
    sides = [
        {
            change.before_path if change.before else change.path: change
            for change in changed_files(repository, bases[0] if bases else None, side)
        }
        for side in (ours, theirs)
    ]
    for origin, our_change in sides[0].items():
        their_change = sides[1].get(origin)
        if (
            their_change is None
            or not (our_change.after and their_change.after)
            or our_change.after == their_change.after
        ):
            continue
        path = our_change.path if our_change.path != origin else their_change.path
        if only is not None and path not in only:
            continue
        base = base_text(repository, bases, origin)
        contents = repository.contents([our_change.after, their_change.after])
        if base is not None:
            yield MergedFile(path, base, contents[our_change.after], contents[their_change.after])


def base_text(repository: Repository, bases: Sequence[CommitId], path: FilePath) -> bytes | None:
    """A file in a merge's base (empty: missing); None where several bases cannot be merged."""
    if not bases:
        return b""
    versions = [
        version or b""
        for version in repository.blobs([f"{base}:{repository.prefix}{path}" for base in bases])
    ]
    text = versions[0]
    for base, version in zip(bases[1:], versions[1:], strict=True):
        if version == text:
            continue
        older = base_text(repository, merge_bases(repository, bases[0], base), path)
        merged = merge_by_section(older, text, version).data if older is not None else None
        if merged is None:
            return None
        text = merged
    return text


# Trailers.


def merge_trailers(
    repository: Repository,
    merged: Iterable[MergedFile],
    text_of: Callable[[FilePath], bytes | None],
    environment: Mapping[str, str],
) -> tuple[str, ...]:
    """The trailers for files that both sides changed; only of facts that are in the result.

    `repository` is seen from its root, `text_of` gives a file's text in the result.
    """
    files = list(merged)
    workspaces = workspaces_of(
        repository, {(repository.root / file.path).parent for file in files}, environment
    )
    trailers: list[str] = []
    for file in files:
        workspace = workspaces.get((repository.root / file.path).parent)
        kind = merged_kind(workspace, file.path) if workspace else None
        if kind is not None:
            trailers += _trailers_of_file(file, kind, text_of(file.path) or b"")
    return tuple(dict.fromkeys(trailers))


def trailers_of_moved(
    repository: Repository,
    ours: CommitId,
    theirs: CommitId,
    text_of: Callable[[FilePath], bytes | None],
    bases: Sequence[CommitId] | None = None,
) -> tuple[str, ...]:
    """The trailers for facts that one side moved to another file and the other removed."""
    bases = merge_bases(repository, ours, theirs) if bases is None else bases
    if not bases:
        return ()
    sides = [changed_files(repository, bases[0], side) for side in (ours, theirs)]
    after = [{each.before: each.after or "" for each in side if each.before} for side in sides]
    of_both = after[0].keys() & after[1].keys()
    blobs = {name for blob in of_both for name in (blob, after[0][blob], after[1][blob]) if name}
    texts = repository.contents(list(blobs))
    facts = {"": frozenset[FactId]()} | {name: facts_in(data) for name, data in texts.items()}
    candidates = frozenset[FactId]().union(
        *(facts[blob] - facts[after[0][blob]] - facts[after[1][blob]] for blob in of_both)
    )
    if not candidates:
        return ()
    moves = [_moves(repository, side, candidates) for side in sides]
    trailers = []
    for (gone, _), (_, moved) in (moves, moves[::-1]):
        for fact in sorted(gone & moved.keys()):
            if fact in facts_in(text_of(moved[fact]) or b""):
                trailers.append(f"Mdmem-Kept: {fact}")
    return tuple(trailers)


def _moves(
    repository: Repository, side: Sequence[ChangedFile], candidates: frozenset[FactId]
) -> tuple[frozenset[FactId], dict[FactId, FilePath]]:
    """Those of some facts that a side has nowhere any more, and those it moved, with the file."""
    contents = repository.contents(
        [blob for each in side for blob in (each.before, each.after) if blob]
    )
    facts = {blob: facts_in(data) & candidates for blob, data in contents.items()}
    none = frozenset[FactId]()
    out, into = set[FactId](), dict[FactId, FilePath]()
    standing = set[FactId]()
    for each in side:
        before, after = facts.get(each.before or "", none), facts.get(each.after or "", none)
        out |= before - after
        standing |= after
        into |= dict.fromkeys(after - before, each.path)
    return frozenset(out - standing), {fact: into[fact] for fact in out & into.keys()}


def merged_kind(workspace: Workspace, path: FilePath) -> FileKind | None:
    """The kind of a memory file by its path from the root; None for one not merged by section."""
    inner = FilePath(path.removeprefix(workspace.repository.prefix))
    kind = workspace.kind_of(inner)
    is_merged = (
        kind.is_memory
        and kind is not FileKind.BOOTSTRAP
        and not layout.within(inner, workspace.settings.extra_paths)
    )
    return kind if is_merged else None


def _trailers_of_file(file: MergedFile, kind: FileKind, result: bytes) -> Iterator[str]:
    """The trailers for one file; values of one key contradict each other without any."""
    notes = merge_by_section(file.base, file.ours, file.theirs, kind).notes
    standing = ids_in(result) if notes.contradictions or notes.kept else frozenset()
    for first, second, key in notes.contradictions:
        if key is None and {first, second} <= standing:
            yield f"Mdmem-Contradicts: {first} {second}"
    for fact in notes.kept:
        if fact in standing:
            yield f"Mdmem-Kept: {fact}"
