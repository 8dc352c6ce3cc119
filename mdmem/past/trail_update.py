"""Open the trail, brought up to HEAD."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, time, timedelta
from functools import cache, partial
from itertools import islice

from mdmem.folder import budget, files
from mdmem.merge import again, merge_by_section
from mdmem.model import CommitId, FactId, FileKind, FilePath
from mdmem.model.errors import PathProblem, RepositoryProblem, StorageProblem
from mdmem.model.trail import Occurrence, TrailCommit, complement, intersection, union
from mdmem.past import clocks
from mdmem.past.copies import CopyFates
from mdmem.past.file_changes import FileChange, FileVersion
from mdmem.past.line import EarlierTrail, past_of, side_of
from mdmem.past.lines import Lines, ReadCommit
from mdmem.past.merge_step import Combination, MergeFile, MergeParent, build_merge_step
from mdmem.past.replay import build_step, confirmed_facts
from mdmem.past.steps import Step
from mdmem.past.storage import BrokenTrail, discard
from mdmem.past.table import Trail
from mdmem.repo import first_parent
from mdmem.repo.first_parent import ChangedFile, Parents
from mdmem.text import frontmatter
from mdmem.text.document import lines_without_ends
from mdmem.text.facts import fact_id, minute_of
from mdmem.workspace import Progress, Say, Workspace

_PAGES_KEPT = 200


def is_log(workspace: Workspace, path: FilePath) -> bool:
    return workspace.kind_of(path) is FileKind.DAILY


class CommitPages:
    """The memory files of commits, each version parsed once while it is kept.

    `adopted`: paths outside memory with the commit that renames each into it, memory until then.
    """

    def __init__(self, workspace: Workspace, adopted: Mapping[FilePath, CommitId]) -> None:
        self._workspace = workspace
        self.adopted = dict(adopted)
        self._pages: OrderedDict[tuple[str, FilePath], FileVersion | None] = OrderedDict()
        self._contents: dict[str, bytes] = {}
        self._memory_paths: dict[FilePath, bool] = {}

    def fetch(self, changes: Sequence[ChangedFile]) -> int:
        """Read all blobs that some changes need at once, and return how many bytes they have."""
        blobs = sorted(
            {blob for blob, path in self._versions(changes) if (blob, path) not in self._pages}
        )
        self._contents = self._workspace.repository.contents(blobs)
        return sum(map(len, self._contents.values()))

    def change(self, changed: ChangedFile) -> FileChange | None:
        """A change of a memory file with both pages; None if it is of another file."""
        before = self.page(changed.before, changed.before_path)
        after = self.page(changed.after, changed.path)
        if before is None and after is None:
            return None
        if after is None:
            return FileChange(changed.before_path, changed.before_path, before, None)
        return FileChange(
            changed.path, changed.before_path if before else changed.path, before, after
        )

    def at_commit(self, commit: CommitId, path: FilePath) -> FileVersion | None:
        """A memory file as a commit has it; None where it has none, or none that can be indexed."""
        data = self._workspace.repository.read(commit, [path])[path]
        return None if data is None else self._parse(data, path)

    def size(self, changes: Iterable[ChangedFile]) -> int:
        """The bytes of the versions that are new to the trail in some changes, at least."""
        return sum(len(self._contents.get(blob, b"")) for blob, _ in self._versions(changes))

    def leave_out_costly(self, changes: Iterable[ChangedFile]) -> None:
        """Have no page for the versions whose reading alone exceeds their budget."""
        for blob, path in self._versions(changes):
            with suppress(PathProblem):
                with budget.reading(self._data(blob)):
                    page = self._parse(self._data(blob), path)
                    if page is not None:
                        page.entries()
                continue
            self._pages[blob, path] = None

    def leave_out(self, changes: Iterable[ChangedFile]) -> None:
        self._pages.update(dict.fromkeys(self._versions(changes)))

    def _versions(self, changes: Iterable[ChangedFile]) -> set[tuple[str, FilePath]]:
        versions = {(change.before, change.before_path) for change in changes} | {
            (change.after, change.path) for change in changes
        }
        return {(blob, path) for blob, path in versions if blob and self.is_memory(path)}

    def is_memory(self, path: FilePath) -> bool:
        if path not in self._memory_paths:
            self._memory_paths[path] = self._workspace.kind_of(path).is_memory
        return self._memory_paths[path] or path in self.adopted

    def page(self, blob: str | None, path: FilePath) -> FileVersion | None:
        """A version of a file, parsed; None where there is none, or none that can be indexed."""
        if blob is None or not self.is_memory(path):
            return None
        if (blob, path) not in self._pages:
            self._pages[blob, path] = self._parse(self._data(blob), path)
            if len(self._pages) > _PAGES_KEPT:
                self._pages.popitem(last=False)
        self._pages.move_to_end((blob, path))
        return self._pages[blob, path]

    def _data(self, blob: str) -> bytes:
        if blob in self._contents:
            return self._contents[blob]
        return self._workspace.repository.contents([blob])[blob]

    def _parse(self, data: bytes, path: FilePath) -> FileVersion | None:
        try:
            document = self._workspace.parse(path, data)
        except PathProblem:
            return None
        return FileVersion(document, path, frontmatter.tags(document), self._workspace.daily)


def facts_to_derive(trail: Trail, after: int) -> set[FactId]:
    """The facts whose copies may have another fate by what commits after a number did."""
    facts, texts = trail.facts_with_copies(after)
    return facts | {fact_id(text.partition(": ")[2]) for text in texts}


def derive(workspace: Workspace, trail: Trail, facts: set[FactId]) -> None:
    if not facts:
        return
    times = _SaidTimes(workspace, trail)
    fates = CopyFates(trail, partial(is_log, workspace), times.of)
    times.expect(line[0] for fact in facts for line in fates.log_lines(fact))
    for fact in sorted(facts):
        trail.set_copy_marks(fact, fates.marks(fact))


def here_again(workspace: Workspace, trail: Trail) -> Iterator[Occurrence]:
    """The curated lines that a merge brought back though their fact was forgotten."""
    fates = CopyFates(trail, partial(is_log, workspace), _SaidTimes(workspace, trail).of)
    return (each for fact in trail.facts_here_again() for each in fates.here_again(fact))


class _SaidTimes:
    """When lines of logs were said, in their commits' zones and never later than these."""

    def __init__(self, workspace: Workspace, trail: Trail) -> None:
        self._workspace = workspace
        self._trail = trail
        self._offsets: dict[CommitId, timedelta] = {}

    def expect(self, occurrences: Iterable[Occurrence]) -> None:
        commits = {each.origin.commit for each in occurrences if _minute(each) is not None}
        self._offsets = first_parent.author_offsets(self._workspace.repository, commits)

    def of(self, occurrence: Occurrence) -> int:
        committed, _ = self._trail.order(occurrence.begun)
        minute, offset = _minute(occurrence), self._offsets.get(occurrence.origin.commit)
        if minute is None or offset is None:
            return committed
        return min(committed, int((minute - offset).timestamp()))


def _minute(occurrence: Occurrence) -> datetime | None:
    entry = occurrence.entry
    minute = minute_of(entry)
    if entry.day is None or minute is None:
        return None
    return datetime.combine(entry.day, time.fromisoformat(minute), UTC)


def merge_step(
    workspace: Workspace,
    trail: Trail,
    lines: Lines,
    read: ReadCommit,
    past: EarlierTrail,
    pages: CommitPages,
    brought_by: Callable[[CommitId], Collection[CommitId]],
) -> Step:
    commit = read.commit
    sides = [lines.commit(number) for number in commit.parents]
    parents = [MergeParent(side, side_of(trail, commit, side)) for side in sides]
    own = list(_commits_of_sides(commit, sides))
    touched = [trail.touched_by(numbers) for numbers in own]
    files = list(_merge_files(read, touched, pages))
    return build_merge_step(
        commit,
        files,
        parents,
        trail=past,
        order=lines.order,
        is_log=partial(is_log, workspace),
        brought_by=brought_by,
        combinations=lambda paths: _combinations(workspace, read, paths),
        replaced=trail.replaced_by_several(own),
    )


def _commits_of_sides(
    merge: TrailCommit, sides: Sequence[TrailCommit]
) -> Iterator[tuple[tuple[int, int], ...]]:
    past = [
        complement(union(side.missing, ((side.number + 1, merge.number),)), merge.number)
        for side in sides
    ]
    shared = past[0]
    for each in past[1:]:
        shared = intersection(shared, each)
    for each in past:
        yield intersection(each, complement(shared, merge.number))


def _merge_files(
    read: ReadCommit,
    touched: Sequence[Collection[FilePath]],
    pages: CommitPages,
) -> Iterator[MergeFile]:
    changes = [
        {
            change.path if change.after else change.before_path: change
            for change in read.changes[side]
        }
        for side in read.commit.parents
    ]
    renamed = {
        change.before_path
        for of_side in changes
        for change in of_side.values()
        if change.after and change.before
    } - {path for of_side in changes for path, change in of_side.items() if change.after}
    for path in dict.fromkeys(
        (*(path for of_side in changes for path in of_side), *_touched_by_several(touched))
    ):
        of_sides = [of_side.get(path) for of_side in changes]
        if (path in renamed and not any(of_sides)) or not pages.is_memory(path):
            continue
        has_own = all(of_sides)
        dropped = any(
            change and {change.path, change.before_path} & set(paths)
            for change, paths in zip(of_sides, touched, strict=True)
        )
        if has_own or dropped or sum(path in paths for paths in touched) > 1:
            yield _merge_file(path, of_sides, pages)


def _touched_by_several(touched: Sequence[Collection[FilePath]]) -> Iterator[FilePath]:
    for at, paths in enumerate(touched):
        for path in sorted(paths):
            if any(path in others for others in touched[at + 1 :]):
                yield path


def _merge_file(
    path: FilePath, changes: Sequence[ChangedFile | None], pages: CommitPages
) -> MergeFile:
    same_as = next((side for side, change in enumerate(changes) if change is None), None)

    @cache
    def page_before(side: int) -> FileVersion | None:
        change = changes[side]
        return pages.page(change.before, change.before_path) if change else None

    after = next((change.after for change in changes if change and change.after), None)
    return MergeFile(
        path=path,
        before=tuple(
            change.before_path if change and change.before else path for change in changes
        ),
        same_as=same_as,
        page=pages.page(after, path) if same_as is None else None,
        page_before=page_before,
    )


def _combinations(
    workspace: Workspace, read: ReadCommit, paths: Collection[FilePath]
) -> Iterator[Combination]:
    if len(read.git_parents) != 2:
        return
    for file in again.files_of_both(workspace.repository, *read.git_parents, paths):
        result = merge_by_section(file.base, file.ours, file.theirs, workspace.kind_of(file.path))
        for text, first, second in result.combinations:
            yield file.path, _first_line(text), (_first_line(first), _first_line(second))


def _first_line(text: str) -> str:
    return lines_without_ends(text)[0].strip()


_FEWEST_COMMITS, _MOST_COMMITS = 50, 500
"""The bounds of a batch, one transaction: the less its commits change, the larger the next."""
_BATCH_BYTES = 8_000_000
"""The bytes of files that a batch should read, roughly."""


def replay_new_commits(
    workspace: Workspace,
    trail: Trail,
    head: CommitId | None,
    boundary: CommitId | None = None,
    progress: Progress | None = None,
) -> None:
    """Add the commits that HEAD reaches and the trail has not; the caller holds the trail's lock.

    With a `boundary`, history begins with that commit, all of its files new, where git cannot give
    what is older. Raises StorageProblem (the disk does not take it).
    """
    if trail.head == head:
        return
    if head is None:
        cut(workspace, trail, 0)
        return
    dated: dict[CommitId, int] = {}
    while not _replay_up_to(
        workspace, trail, head, boundary=boundary, progress=progress, adopted={}, dated=dated
    ):
        pass


def _replay_up_to(
    workspace: Workspace,
    trail: Trail,
    head: CommitId,
    boundary: CommitId | None,
    progress: Progress | None,
    adopted: dict[FilePath, CommitId],
    dated: dict[CommitId, int],
) -> bool:
    """Add the commits up to HEAD, starting earlier if a file is renamed into memory.

    False where a commit says that earlier ones had arrived by some time: these are cut away, to be
    read again with the moments that are put into `dated`.
    """
    pages = CommitPages(workspace, adopted)
    new_commits = _new_commits(workspace, trail, head, boundary)
    lines = Lines(workspace, trail, dated)
    commits = lines.read(
        first_parent.read_history(workspace.repository, new_commits, boundary), head
    )
    batch_size = _FEWEST_COMMITS
    while batch := list(islice(commits, batch_size)):
        if (began := _adopt_renamed(workspace, trail, batch, pages)) is not None:
            # one transaction: a trail never ends in the midst of a past that is not memory's yet
            with trail.writing():
                cut(workspace, trail, began - 1)
                while not _replay_up_to(
                    workspace,
                    trail,
                    head,
                    boundary=boundary,
                    progress=progress,
                    adopted=pages.adopted,
                    dated=dated,
                ):
                    pass
            return True
        size = pages.fetch(
            [
                change
                for commit in batch
                for changes in commit.changes.values()
                for change in changes
            ]
        )
        batch_size = min(
            _MOST_COMMITS, max(_FEWEST_COMMITS, len(batch) * _BATCH_BYTES // max(1, size))
        )
        with trail.writing():
            _append(workspace, trail, lines, batch=batch, pages=pages)
            has_arrivals = any(clocks.ARRIVED in each.commit.message for each in batch)
            if has_arrivals and (late := trail.later_than_arrived()):
                dated.update(late)
                first = min(each.number for each in map(trail.commit_with_id, late) if each)
                cut(workspace, trail, first - 1)
                return False
        if progress:
            progress(lines.count_read, len(new_commits))
    return True


def _append(
    workspace: Workspace,
    trail: Trail,
    lines: Lines,
    batch: Sequence[ReadCommit],
    pages: CommitPages,
) -> None:
    for commit in batch:
        if brought := lines.brought_by(commit.commit):
            trail.bring(brought)
        trail.append(commit.commit, _bounded_step(workspace, trail, lines, commit, pages))
        pages.adopted = {
            path: name for path, name in pages.adopted.items() if name != commit.commit.commit
        }
    derive(workspace, trail, facts_to_derive(trail, batch[0].commit.number - 1))


def _adopt_renamed(
    workspace: Workspace, trail: Trail, batch: Sequence[ReadCommit], pages: CommitPages
) -> int | None:
    """Count files renamed into memory from their beginning; the first commit concerned."""
    renamed = []
    for commit in reversed(batch):  # a file may have had several names before
        for change in (change for changes in commit.changes.values() for change in changes):
            is_rename = change.path != change.before_path and change.before and change.after
            if (
                is_rename
                and pages.is_memory(change.path)
                and not pages.is_memory(change.before_path)
            ):
                pages.adopted[change.before_path] = commit.commit.commit
                renamed.append(change.before_path)
    if not renamed:
        return None
    touching = first_parent.touching_commits(workspace.repository, renamed, batch[-1].commit.commit)
    return min(
        (commit.number for commit in map(trail.commit_with_id, touching) if commit), default=None
    )


def _new_commits(
    workspace: Workspace, trail: Trail, head: CommitId, boundary: CommitId | None
) -> list[tuple[CommitId, Parents]]:
    """The commits missing from the trail, parents first; it is cut back to what HEAD reaches."""
    repository = workspace.repository
    borders = [boundary] if boundary else []
    newest = trail.newest_commit
    reached = None
    if newest is not None:
        known = [newest.commit] if not newest.missing else trail.tips()
        reached = first_parent.commits_since(repository, head, newest.commit, [*known, *borders])
    if reached is None:
        if newest is not None:
            _cut_unreached(workspace, trail, head)
        reached = first_parent.commits_reached(repository, head, [*trail.tips(), *borders])
    if newest is not None:  # where dates go back, git lists commits that the trail has
        reached = [each for each in reached if trail.commit_with_id(each[0]) is None]
    return reached if boundary is None else list(_after_boundary(trail, boundary, reached))


def _after_boundary(
    trail: Trail, boundary: CommitId, reached: Sequence[tuple[CommitId, Parents]]
) -> Iterator[tuple[CommitId, Parents]]:
    """A boundary and the commits that follow it; nothing is known of other pasts."""
    known = {boundary}
    if trail.commit_with_id(boundary) is None:
        yield boundary, ()
    for name, parents in reached:
        after = tuple(
            each for each in parents if each in known or trail.commit_with_id(each) is not None
        )
        if after:
            known.add(name)
            yield name, after


def _cut_unreached(workspace: Workspace, trail: Trail, head: CommitId) -> None:
    """Remove the first commit that HEAD does not reach, and all that arrived later."""
    reached = {name for name, _ in first_parent.commits_reached(workspace.repository, head)}
    last = next(
        (each.number - 1 for each in trail.commits_after() if each.commit not in reached), None
    )
    with trail.writing():
        if last is not None:
            cut(workspace, trail, last)
        # Where the commit that renamed a file into memory is gone, the earlier past of that file is
        # no longer memory's.
        while strange := [
            began
            for path, began in trail.live_paths().items()
            if not workspace.kind_of(path).is_memory
        ]:
            cut(workspace, trail, min(strange) - 1)


def cut(workspace: Workspace, trail: Trail, number: int) -> None:
    """Go back to a commit (0: to nothing); the caller holds the trail's lock."""
    with trail.writing():
        facts = facts_to_derive(trail, number)
        trail.cut(number)
        derive(workspace, trail, facts)


def _bounded_step(
    workspace: Workspace, trail: Trail, lines: Lines, read: ReadCommit, pages: CommitPages
) -> Step:
    """A step without the files that exceed their budget; without any if none alone is to blame."""
    changes = [change for each in read.changes.values() for change in each]
    for leave_out in (pages.leave_out_costly, pages.leave_out):
        try:
            with budget.limited(pages.size(changes)):
                return _step(workspace, trail, lines, read, pages)
        except budget.OverBudget:
            leave_out(changes)
    return _step(workspace, trail, lines, read, pages)


def _step(
    workspace: Workspace, trail: Trail, lines: Lines, read: ReadCommit, pages: CommitPages
) -> Step:
    commit = read.commit
    past = past_of(trail, commit)
    brought_by = partial(first_parent.commits_brought_by, workspace.repository)
    if commit.is_merge:
        return merge_step(
            workspace, trail, lines, read, past=past, pages=pages, brought_by=brought_by
        )
    (changed_files,) = read.changes.values() if read.changes else ((),)
    changes = [change for change in map(pages.change, changed_files) if change is not None]
    changes += _confirmed_files(past, commit, pages, {change.path for change in changes})
    return build_step(
        commit, changes, past, is_log=partial(is_log, workspace), brought_by=brought_by
    )


def _confirmed_files(
    trail: EarlierTrail, commit: TrailCommit, pages: CommitPages, changed: Collection[FilePath]
) -> list[FileChange]:
    facts = confirmed_facts(commit, trail)
    live = [
        each.entry.path
        for fact in facts
        for each in trail.occurrences_of(fact)
        if each.ended is None
    ]
    unchanged = [
        (path, pages.at_commit(commit.commit, path))
        for path in dict.fromkeys(live)
        if path not in changed
    ]
    return [FileChange(path, path, page, page) for path, page in unchanged]


def stored_trail(workspace: Workspace) -> Trail:
    """The trail as it is stored, not brought up to HEAD."""
    return Trail.open(workspace.state, settings_digest(workspace))


def settings_digest(workspace: Workspace) -> str:
    settings = repr(
        (
            workspace.settings.extra_paths,
            workspace.settings.paths,
            workspace.daily,
            workspace.settings.log_heading,
            workspace.root.name,
            workspace.repository.prefix,
            workspace.history_borders(),
            *workspace.source_rules,
        )
    )
    return hashlib.sha256(settings.encode("utf-8", "surrogateescape")).hexdigest()[:16]


@contextmanager
def updated_trail(
    workspace: Workspace, say: Say | None = None, progress: Progress | None = None
) -> Iterator[Trail]:
    head = workspace.repository.head()
    with stored_trail(workspace) as trail:
        if trail.head == head:
            yield from _discarded_if_broken(workspace, trail)
            return
    try:
        workspace.ensure_state()
        with files.lock(workspace.state / files.TRAIL_LOCK, workspace.settings.lock_timeout, say):
            # HEAD is read again: history may have been purged while this waited for the lock.
            trail = _updated_file(workspace, workspace.repository.head(), progress)
    except (OSError, StorageProblem):
        trail = _updated_in_memory(workspace, head, progress)
    with trail:
        yield from _discarded_if_broken(workspace, trail)


def _discarded_if_broken(workspace: Workspace, trail: Trail) -> Iterator[Trail]:
    try:
        yield trail
    except BrokenTrail:
        with suppress(OSError):
            discard(workspace.state)
        raise


def _updated_file(workspace: Workspace, head: CommitId | None, progress: Progress | None) -> Trail:
    """The stored trail, brought up to a commit (or begun with it); rebuilt if damaged."""
    if workspace.history_boundary is None:
        workspace.forget_history_boundary()  # a fetch may have brought what was missing
    try:
        return _updated(workspace, stored_trail(workspace), head, progress)
    except BrokenTrail:
        return _updated(
            workspace, Trail.create(workspace.state, settings_digest(workspace)), head, progress
        )
    except RepositoryProblem:
        if head is None or workspace.history_boundary == head or not _is_partial(workspace):
            raise
        workspace.set_history_boundary(head)
        return _updated(workspace, stored_trail(workspace), head, progress)


def _is_partial(workspace: Workspace) -> bool:
    """True in a partial clone, whose remote has objects that it lacks."""
    promises = r"^(remote\..*\.promisor|extensions\.partialclone)$"
    return workspace.repository.run("config", "--get-regexp", promises).status == 0


def _updated_in_memory(
    workspace: Workspace, head: CommitId | None, progress: Progress | None
) -> Trail:
    try:
        return _updated(workspace, Trail.in_memory(), head, progress)
    except RepositoryProblem:
        if head is None or not _is_partial(workspace):
            raise
        return _updated(workspace, Trail.in_memory(), head, progress, head)


def _updated(
    workspace: Workspace,
    trail: Trail,
    head: CommitId | None,
    progress: Progress | None,
    begins_with: CommitId | None = None,
) -> Trail:
    try:
        replay_new_commits(
            workspace, trail, head, begins_with or workspace.history_boundary, progress
        )
    except BaseException:
        trail.close()
        raise
    return trail
