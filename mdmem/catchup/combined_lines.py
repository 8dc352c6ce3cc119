"""Lines that only a merge made, with the words of one side and the tags of the other: each has the weaker of the two sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from mdmem.document import lines_without_ends
from mdmem.facts import parse_item
from mdmem.history.file_changes import EarlierTrail, FileChange
from mdmem.model import CommitId, FilePath
from mdmem.model.trail import Origin
from mdmem.repo.first_parent import CommitChanges, merges_brought_by
from mdmem.startup import late
from mdmem.startup.records import replace
from mdmem.workspace import Workspace

if TYPE_CHECKING:
    from mdmem import merges
    from mdmem.editors.merge3 import merging
else:
    merges = late.module("mdmem.merges")
    merging = late.module("mdmem.editors.merge3.merging")

Origins = Mapping[FilePath, Mapping[str, Origin]]
"""Origins by file and stripped line."""


def combined_origins(
    workspace: Workspace, merge: CommitChanges, changes: Sequence[FileChange], merged_origins: Origins, trail: EarlierTrail
) -> dict[FilePath, dict[str, Origin]]:
    """The origins of the lines that a merge made, or a merge on the branch that it brings in.

    Args:
        workspace: the workspace.
        merge: the commit; a merge of more than two makes no such lines.
        changes: the memory files in which it differs from its first parent.
        merged_origins: of the lines that side commits brought in.
        trail: up to the commit before.
    """
    made = {change.path: lines for change in changes if (lines := _lines_of_neither(change, merged_origins))}
    origins: dict[FilePath, dict[str, Origin]] = {path: {} for path in made}
    if not made or len(merge.parents) != 2:
        return {}
    earlier = {change.path: _earlier_origins(change, trail) for change in changes if change.path in made}
    for ours, theirs in [*merges_brought_by(workspace.repository, merge), merge.parents]:
        for path, line, parts in _combinations(workspace, ours, theirs, made):
            sources = [
                origin
                for part in parts
                if (origin := origins[path].get(part) or merged_origins.get(path, {}).get(part) or _earlier(part, earlier[path], trail))
            ]
            if sources:
                weakest = min(sources, key=lambda origin: (origin.source.strength, origin.confidence, origin.claimed_by is None))
                origins[path][line] = replace(weakest, commit=merge.commit.id, time=merge.commit.time)
    return {path: {line: origin for line, origin in of_file.items() if line in made[path]} for path, of_file in origins.items()}


def _lines_of_neither(change: FileChange, merged_origins: Origins) -> frozenset[str]:
    """The lines that neither the first parent has nor a side commit brought in."""
    before, after = (page.document.lines if page else () for page in (change.before, change.after))
    return frozenset(line.strip() for line in after).difference(
        (line.strip() for line in before), merged_origins.get(change.path, {}), ("",)
    )


def _combinations(
    workspace: Workspace, ours: CommitId, theirs: CommitId, made: Mapping[FilePath, frozenset[str]]
) -> Iterator[tuple[FilePath, str, tuple[str, str]]]:
    """The first line of each text that a merge of two commits makes of two others, and the first lines of these."""
    for file in merges.files_of_both(workspace.repository, ours, theirs, made):
        result = merging.merge3(file.base, file.ours, file.theirs, workspace.kind_of(file.path))
        for text, first, second in result.combinations:
            yield file.path, _first_line(text), (_first_line(first), _first_line(second))


def _first_line(text: str) -> str:
    return lines_without_ends(text)[0].strip()


def _earlier_origins(change: FileChange, trail: EarlierTrail) -> dict[str, Origin]:
    """The origins of the entries that stand before a merge, by their first lines."""
    return {each.entry.first_line: each.origin for each in trail.live_occurrences(change.before_path)}


def _earlier(line: str, origins: Mapping[str, Origin], trail: EarlierTrail) -> Origin | None:
    """The origin of a line of the first parent, or of one that it has no more."""
    if line in origins:
        return origins[line]
    occurrences = trail.occurrences_of(parse_item(line).id)
    return occurrences[-1].origin if occurrences else None
