"""Find commits that changed what only people may change; of a merge, what its sides do not say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from mdmem.folder.layout import is_markdown
from mdmem.merge import merge_by_section
from mdmem.merge.again import base_text
from mdmem.model import CommitId, FilePath, rules
from mdmem.repo import Repository, first_parent
from mdmem.repo.first_parent import Parents, Rows
from mdmem.startup import late
from mdmem.text.writers import ChangedPlace, Rules, WrittenFile, changed_places

_COMMITS_AT_ONCE = 250
"""The contents of so many commits are in memory."""
_NAMED = late.pattern(r"(?m)^[ \t]*Mdmem-(?:Actor|Claimed-By):[ \t]*(\S.*)")


def agent_of(message: str, people: Sequence[str]) -> str | None:
    """The first agent that a commit's message names as its actor, or who claims it; None: none.

    Those of commits that were squashed into it count too, wherever their trailers are.
    """
    named = (match[1] for match in _NAMED.finditer(message))
    return next((name for name in named if not rules.is_person(name, people)), None)


def changes_of(
    repository: Repository, by: Rules, commits: Sequence[tuple[CommitId, Parents]]
) -> Iterator[tuple[CommitId, list[ChangedPlace]]]:
    """Yield each commit with the places that it changed, those of a merge beyond its sides."""
    for start in range(0, len(commits), _COMMITS_AT_ONCE):
        chunk = commits[start : start + _COMMITS_AT_ONCE]
        single = [name for name, parents in chunk if len(parents) < 2]
        rows = first_parent.changes_of_trees(repository, single) if single else {}
        changes = _read(repository, by, [rows.get(name, []) for name, _ in chunk])
        for (name, parents), files in zip(chunk, changes, strict=True):
            found = list(changed_places(by, files))
            if len(parents) > 1:
                sides = ((name, parents[0], each) for each in parents[1:])
                found = max((_beyond(repository, by, *each) for each in sides), key=len)
            yield name, found


def _beyond(
    repository: Repository, by: Rules, merge: CommitId, ours: CommitId, theirs: CommitId
) -> list[ChangedPlace]:
    """The places that a merge changes beyond two of its sides; bases are merged as git does."""
    tree, bases = repository.at_root(), first_parent.merge_bases(repository, ours, theirs)
    sides = [first_parent.versions_in(tree, commit) for commit in (ours, theirs, merge)]
    versions = first_parent.versions_in(tree, bases[0]) if bases else {}, *sides
    rows = [(path, [each.get(path) for each in versions]) for path in set().union(*versions)]
    (files,) = _read(repository, by, [[row for row in rows if len({*row[1]}) > 1]], bases)
    return list(changed_places(by, files))


def contents(repository: Repository, versions: Iterable[str | None]) -> dict[str, bytes]:
    """The bytes of versions of files; of what is no file some that no text has."""
    names = sorted({*filter(None, versions)})
    others = {name: f"\0{name}".encode() for name in names if " " in name}
    return repository.contents([name for name in names if name not in others]) | others


def _read(
    repository: Repository, by: Rules, groups: Sequence[Rows], bases: Sequence[CommitId] = ()
) -> Iterator[Iterator[WrittenFile]]:
    """The changes of files of somebody's alone; rows have blobs before, or of base and sides."""
    prefix = repository.prefix
    owned = [
        [
            (own, blobs)
            for path, blobs in rows
            if path.startswith(prefix) and by.addresses(own := FilePath(path[len(prefix) :]))
        ]
        for rows in groups
    ]
    read = contents(repository, (blob for rows in owned for _, blobs in rows for blob in blobs))
    for rows in owned:
        texts = [(own, [read.get(blob or "") for blob in blobs]) for own, blobs in rows]
        for own, versions in texts if len(bases) > 1 else ():
            versions[0] = base_text(repository, bases, own) or None
        yield (WrittenFile(own, _merged(own, *before), after) for own, (*before, after) in texts)


def _merged(path: FilePath, base: bytes | None, *sides: bytes | None) -> bytes | None:
    """The text that a merge leads to without anybody's decision; the first side's for others."""
    if not sides:
        return base
    ours, theirs = sides
    if base == ours or (ours is None and base != theirs):
        return theirs
    if theirs in (base, ours, None) or not is_markdown(path):
        return ours
    merged = merge_by_section(base or b"", ours or b"", theirs or b"").data
    return ours if merged is None else merged
