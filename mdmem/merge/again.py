"""Merges of two commits, made again file by file: nothing is stored of a merge."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from mdmem.merge import merge_by_section
from mdmem.model import CommitId, FilePath
from mdmem.repo import Repository
from mdmem.repo.first_parent import changed_files, merge_bases
from mdmem.startup.records import dataclass


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
