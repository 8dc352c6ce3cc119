"""Replay a merge: read the files in which its sides met, or that it changed itself."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache, partial

from mdmem import merges
from mdmem.catchup.commit_pages import CommitPages, is_log
from mdmem.catchup.lines import Lines, ReadCommit
from mdmem.document import lines_without_ends
from mdmem.history.file_changes import EarlierTrail, Page
from mdmem.history.merge_entries import MergeFile, MergeParent
from mdmem.history.merge_step import Combination, build_merge_step
from mdmem.model import CommitId, FilePath
from mdmem.model.ranges import complement, intersection, union
from mdmem.model.trail import TrailCommit
from mdmem.repo.first_parent import ChangedFile
from mdmem.trail import Step, Trail, side_of
from mdmem.workspace import Workspace


def merge_step(
    workspace: Workspace,
    trail: Trail,
    lines: Lines,
    read: ReadCommit,
    past: EarlierTrail,
    pages: CommitPages,
    brought_by: Callable[[CommitId], Collection[CommitId]],
) -> Step:
    """Work out what a merge did besides what its sides did."""
    commit = read.commit
    sides = [lines.commit(number) for number in commit.parents]
    parents = [MergeParent(side, side_of(trail, commit, side)) for side in sides]
    own = list(_own_numbers(commit, sides))
    touched = [trail.touched_by(numbers) for numbers in own]
    files = list(_merge_files(workspace, read, touched, pages))
    return build_merge_step(
        commit,
        files,
        parents,
        past,
        lines.order,
        partial(is_log, workspace),
        brought_by,
        lambda paths: _combinations(workspace, read, paths),
        trail.replaced_by_several(own),
    )


def _own_numbers(merge: TrailCommit, sides: Sequence[TrailCommit]) -> Iterator[tuple[tuple[int, int], ...]]:
    """The commits that each side has and not all of them have."""
    past = [complement(union(side.missing, ((side.number + 1, merge.number),)), merge.number) for side in sides]
    shared = past[0]
    for each in past[1:]:
        shared = intersection(shared, each)
    for each in past:
        yield intersection(each, complement(shared, merge.number))


def _merge_files(
    workspace: Workspace, read: ReadCommit, touched: Sequence[Collection[FilePath]], pages: CommitPages
) -> Iterator[MergeFile]:
    """The files that several sides touched, and those that the merge changed itself."""
    changes = [
        {change.path if change.after else change.before_path: change for change in read.changes[side]} for side in read.commit.parents
    ]
    renamed = {change.before_path for of_side in changes for change in of_side.values() if change.after and change.before} - {
        path for of_side in changes for path, change in of_side.items() if change.after
    }
    for path in dict.fromkeys((*(path for of_side in changes for path in of_side), *_met(touched))):
        of_sides = [of_side.get(path) for of_side in changes]
        if (path in renamed and not any(of_sides)) or not pages.is_memory(path):
            continue
        has_own = all(of_sides)
        dropped = any(change and {change.path, change.before_path} & set(paths) for change, paths in zip(of_sides, touched, strict=True))
        if has_own or dropped or sum(path in paths for paths in touched) > 1:
            yield _merge_file(path, of_sides, pages)


def _met(touched: Sequence[Collection[FilePath]]) -> Iterator[FilePath]:
    """The files that several sides touched."""
    for at, paths in enumerate(touched):
        for path in sorted(paths):
            if any(path in others for others in touched[at + 1 :]):
                yield path


def _merge_file(path: FilePath, changes: Sequence[ChangedFile | None], pages: CommitPages) -> MergeFile:
    same_as = next((side for side, change in enumerate(changes) if change is None), None)

    @cache
    def page_before(side: int) -> Page | None:
        change = changes[side]
        return pages.page(change.before, change.before_path) if change else None

    after = next((change.after for change in changes if change and change.after), None)
    return MergeFile(
        path=path,
        before=tuple(change.before_path if change and change.before else path for change in changes),
        same_as=same_as,
        page=pages.page(after, path) if same_as is None else None,
        page_before=page_before,
    )


def _combinations(workspace: Workspace, read: ReadCommit, paths: Collection[FilePath]) -> Iterator[Combination]:
    """The first line of each text that a merge of two commits makes of two others, and the first lines of these."""
    if len(read.git_parents) != 2:
        return
    for file in merges.files_of_both(workspace.repository, *read.git_parents, paths):
        result = merges.merge_texts(file.base, file.ours, file.theirs, workspace.kind_of(file.path))
        for text, first, second in result.combinations:
            yield file.path, _first_line(text), (_first_line(first), _first_line(second))


def _first_line(text: str) -> str:
    return lines_without_ends(text)[0].strip()
