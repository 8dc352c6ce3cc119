"""Compare the index with HEAD and the files on disk, and bring it up to date, or lay over it what
a person has just saved.

Only where the result is sure to be that of an update: entries that were in such a file before keep
what the index has of them, and new ones are a person's own text, not committed. Everything else
(marks, contradictions, entries restored by an edit, much at once) is left to an update.
"""

from __future__ import annotations

import gc
import hashlib
import time
from collections import defaultdict, deque
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain
from typing import TYPE_CHECKING

from mdmem.folder import budget, files, layout
from mdmem.folder.budget import LEFT_OUT
from mdmem.folder.files import INDEX_LOCK, QUEUE_LOCK
from mdmem.index import background
from mdmem.index.indexed import passages
from mdmem.index.indexer import FileEntries, KeptIndex, SearchIndex
from mdmem.index.schema import BrokenIndex, IndexRow, Lifetime
from mdmem.index.snapshot import (
    EMPTY_SNAPSHOT,
    INDEX_NAME,
    Snapshot,
    is_long,
    stamp_text,
    stamps_digest,
)
from mdmem.model import CommitId, FileKind, FilePath, Source
from mdmem.model.errors import PathProblem, RepositoryProblem, StorageProblem
from mdmem.model.searches import BuildProgress
from mdmem.model.trail import Claim, Entry
from mdmem.past import discard_trail, fresh_trail, has_trail
from mdmem.past.entry_states import identity_on_disk
from mdmem.repo import commits, git_files
from mdmem.startup import late
from mdmem.startup.records import dataclass, field, replace
from mdmem.text import contradictions, frontmatter
from mdmem.text.facts import entries
from mdmem.workspace import Progress, Say, Workspace

if TYPE_CHECKING:
    from mdmem.past.table import Trail

_MOST_FILES, _MOST_BYTES = 8, 100_000
"""More is indexed first: scoring it would take longer."""


def _overlay_unindexed(
    workspace: Workspace, index: SearchIndex, changed: Collection[str], removed: Collection[str]
) -> SearchIndex | None:
    """The index with files laid over it; None where unsure. Raises BrokenIndex (damaged)."""
    if index.seen.has_pair_marks or len(changed) + len(removed) > _MOST_FILES:
        return None
    try:
        with budget.limited(_MOST_BYTES):
            return _with_files(workspace, index, changed, removed)
    except (PathProblem, budget.OverBudget):
        return None  # an update names the file


def _with_files(
    workspace: Workspace, index: SearchIndex, changed: Collection[str], removed: Collection[str]
) -> SearchIndex | None:
    pages, bytes_left = [], _MOST_BYTES
    hidden = [*removed]
    for path in map(FilePath, changed):
        data = files.read(workspace.root / path)
        document = workspace.parse(path, data or b"")
        bytes_left -= len(data or b"")
        indexed = index.seen.files.get(path)
        is_elsewhere = layout.is_outside(path) or layout.is_canvas(path)
        if bytes_left < 0 or is_elsewhere or (indexed and not indexed.digest):
            return None
        if indexed and data is not None and files.digest(data) == indexed.digest:
            continue
        hidden.append(path)
        labels = frontmatter.labels(document)
        on_disk = entries(document, path, labels.tags, daily=workspace.daily, nested=True)
        page = _page(workspace, index, path, tuple(chain.from_iterable(map(passages, on_disk))))
        if page is None:
            return None
        pages.append(replace(page, about=labels.about))
    return index.found_by(
        index.finder.with_overlay(hidden, ((page.path, page.rows) for page in pages))
    )


def _page(
    workspace: Workspace, index: SearchIndex, path: FilePath, on_disk: tuple[Entry, ...]
) -> FileEntries | None:
    """A file's entries with what the index has of them; None where that does not suffice."""
    rows = index.finder.rows(path)
    kind = workspace.kind_of(path)
    if rows is None or (kind is not FileKind.BOOTSTRAP and _contradict(workspace, on_disk)):
        return None
    live = [row for row in rows if row.lifetime.is_live]
    removed_keys = {key for row in rows if not row.lifetime.is_live for key in _keys(row.entry)}
    if not all(map(_is_unmarked, live)) or not removed_keys.isdisjoint(
        key for entry in on_disk for key in _keys(entry)
    ):
        return None
    waiting: dict[Hashable, deque[IndexRow]] = defaultdict(deque)
    for row in live:
        equal = waiting[identity_on_disk(row.entry)]
        if equal and (equal[0].origin, equal[0].lifetime) != (row.origin, row.lifetime):
            return None  # nobody can tell which of two equal entries was removed
        equal.append(row)
    indexed = [
        waiting[key].popleft() if waiting[key] else None for key in map(identity_on_disk, on_disk)
    ]
    return FileEntries(
        path=path,
        entries=on_disk,
        origins=tuple(row.origin if row else None for row in indexed),
        uncommitted=tuple(row.uncommitted if row else True for row in indexed),
        kind=kind,
        lifetimes=tuple(row.lifetime if row else Lifetime() for row in indexed),
    )


def _is_unmarked(row: IndexRow) -> bool:
    return row.lifetime == Lifetime(begun=row.lifetime.begun) and row.uncommitted == (
        row.origin is None
    )


def _keys(entry: Entry) -> tuple[Hashable, ...]:
    return (
        (identity_on_disk(entry), (entry.section, entry.fact))
        if entry.fact
        else (identity_on_disk(entry),)
    )


def _contradict(workspace: Workspace, on_disk: Sequence[Entry]) -> bool:
    if not any(entry.key for entry in on_disk):
        return False
    source = Source.USER_STATED
    claims = [
        Claim(
            id=entry.fact,
            text=entry.text,
            key=entry.key,
            path=entry.path,
            section=entry.section,
            line=entry.start_line,
            time=0,
            source=source,
            confidence=source.confidence,
            until=entry.until,
        )
        for entry in on_disk
        if entry.fact is not None
    ]
    return bool(contradictions.find_conflicts(claims, (), workspace.now().date()))


_ROUNDS = 3
_LOOK_SECONDS = 0.1
_MAX_NAMED = 3
_PROGRESS_NAME = "index-progress"
"""Tells other processes how many files an index has that is being built from nothing."""
_PROGRESS_SECONDS = 0.2
_LONG_HISTORY = 1_000
"""So many commits take a second to read, as long as 5,000 entries."""
_STARTING_SECONDS = 10.0
"""The longest wait for a detached process to begin; one second is usual."""
_BEHIND = (
    "the index is behind: another process is still updating it, and the newest changes may be"
    " missing"
)
_ONLY_PART = (
    "the index is behind: another process is still reading history; older entries may be missing,"
    " and replaced lines may be shown"
)


@dataclass(frozen=True, slots=True)
class FreshIndex:
    """An index to search: `stale` if it could not be updated, with the reason in `notes`.

    `behind` if it has still to be updated, though searches for current entries find everything.
    `building`: it is stale because another process is still building it. `members`: the workspaces
    of a pool that it is of, by name; `missing`: those that could not be read.
    """

    index: SearchIndex
    commit: CommitId | None
    stale: bool = False
    notes: tuple[str, ...] = ()
    behind: bool = False
    building: BuildProgress | None = None
    members: Mapping[str | None, PoolMember] = field(default_factory=dict)
    missing: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class PoolMember:
    workspace: Workspace
    index: SearchIndex


@dataclass(frozen=True, slots=True)
class _WorkspaceSurvey:
    """The workspace now: commit, file stamps (`stamp_text`), digests of settings and stamps."""

    commit: CommitId | None
    stamps: Mapping[str, str]
    settings: str
    digest: str


class _LastDigest:
    """The digest of the files' stamps, which takes longer than to see that none has changed."""

    def __init__(self) -> None:
        self._last: tuple[Mapping[str, str], str] | None = None

    def of(self, stamps: Mapping[str, str]) -> str:
        last = self._last
        if last is None or last[0] != stamps:
            last = self._last = stamps, stamps_digest(stamps)
        return last[1]


def _settings(workspace: Workspace) -> str:
    own = workspace.settings
    settings = repr(
        (
            own.extra_paths,
            own.paths,
            workspace.daily,
            own.log_heading,
            own.language,
            workspace.root.name,
            workspace.history_borders(),
            *workspace.source_rules,
        )
    )
    return hashlib.sha256(settings.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _overlaid(
    workspace: Workspace, index: SearchIndex, survey: _WorkspaceSurvey
) -> SearchIndex | None:
    """The index with unindexed files laid over it; None if that may be incomplete."""
    snapshot = index.seen
    if (
        snapshot.commit is None
        or snapshot.is_to_be_read_again
        or (snapshot.commit, snapshot.settings) != (survey.commit, survey.settings)
    ):
        return None
    kept = workspace.resources.get(KeptIndex)
    with kept.lock:
        if (
            kept.overlaid is not None
            and kept.overlaid[0] is index
            and kept.overlaid[1] == survey.digest
        ):
            return kept.overlaid[2]
        now = time.time_ns()
        changed, removed = snapshot.changed_paths(survey.stamps)
        try:
            overlaid = _overlay_unindexed(workspace, index, changed, removed)
        except BrokenIndex:
            return None  # an update builds it from scratch
        settled = all(
            int(time_ns) < now - files.RACY_NS
            for path in changed
            for time_ns in survey.stamps[path].split()[:2]
        )
        kept.overlaid = (
            (index, survey.digest, overlaid) if overlaid is not None and settled else None
        )
        return overlaid


def _survey(workspace: Workspace) -> _WorkspaceSurvey:
    commit = workspace.repository.head()
    stamps = workspace.memory_paths(stamp_text, canvases=True)
    digest = workspace.resources.get(_LastDigest).of(stamps)
    return _WorkspaceSurvey(commit, stamps, _settings(workspace), digest)


def _has_seen(index: SearchIndex, survey: _WorkspaceSurvey) -> bool:
    key = survey.commit, survey.settings, survey.digest
    return _snapshot_key(index.seen) == key and not index.seen.is_to_be_read_again


def _is_up_to_date(workspace: Workspace, index: SearchIndex, survey: _WorkspaceSurvey) -> bool:
    """True if the index has seen everything, or all but commits that concern no memory.

    These change no answer, and the next update takes them in; it would take ten times as long.
    """
    if _has_seen(index, survey):
        return True
    seen = index.seen
    return (
        seen.commit is not None
        and survey.commit is not None
        and not seen.is_to_be_read_again
        and (seen.settings, seen.stamps) == (survey.settings, survey.digest)
        and not workspace.repository.concerns_memory(seen.commit, survey.commit)
    )


def _snapshot_key(seen: Snapshot) -> tuple[CommitId | None, str, str]:
    """A short form of a snapshot, equal only for equal workspaces."""
    return seen.commit, seen.settings, seen.stamps


def _opened(workspace: Workspace, from_scratch: bool = False) -> SearchIndex:
    """The index for an update; an empty one where it is a part or of no use."""
    folder, language = workspace.state / INDEX_NAME, workspace.settings.language
    index = None if from_scratch else SearchIndex.open(folder, language)
    return (
        index
        if index is not None and not index.seen.is_part
        else SearchIndex.create(folder, language)
    )


def index_and_stamps(workspace: Workspace) -> tuple[SearchIndex, bool, Mapping[str, str]]:
    """The index as it is, True if it has seen everything that is there, and what is there.

    What is there: the files' stamps (`stamp_text`) by path.
    """
    index, survey = index_unchecked(workspace), _survey(workspace)
    return index, _is_up_to_date(workspace, index, survey), survey.stamps


def index_as_is(workspace: Workspace) -> tuple[SearchIndex, bool]:
    return index_and_stamps(workspace)[:2]


def index_unchecked(workspace: Workspace) -> SearchIndex:
    folder, language = workspace.state / INDEX_NAME, workspace.settings.language
    return workspace.resources.get(KeptIndex).index(folder, language)


def fresh_index(
    workspace: Workspace,
    say: Say,
    progress: Progress | None = None,
    full: bool = False,
    current: bool = False,
    in_part: bool = False,
) -> FreshIndex:
    """The index, brought up to date first, or (`full`) rebuilt; waits for another updater.

    If only `current` entries are to be searched, a few files saved by hand are laid over it
    instead. An index that takes long to build is built by another process for a caller that takes
    it `in_part`, who gets the newest days as soon as they are there.
    """
    fresh = _fresh_index(workspace, say, progress, full, current, in_part)
    left_out = fresh.index.seen.left_out
    notes = [f"{path} is left out: {LEFT_OUT}" for path in left_out[:_MAX_NAMED]]
    if len(left_out) > _MAX_NAMED:
        notes.append(f"{len(left_out) - _MAX_NAMED} more files are left out (see status)")
    if workspace.settings_note:
        notes.append(workspace.settings_note)
    return replace(fresh, notes=(*fresh.notes, *notes)) if notes else fresh


def _fresh_index(
    workspace: Workspace,
    say: Say,
    progress: Progress | None,
    full: bool,
    current: bool,
    in_part: bool,
) -> FreshIndex:
    try:
        index = _opened(workspace, from_scratch=True) if full else index_unchecked(workspace)
        survey = _survey(workspace)
        if _is_up_to_date(workspace, index, survey):
            return FreshIndex(index=index, commit=survey.commit)
        if current and (overlaid := _overlaid(workspace, index, survey)):
            return FreshIndex(index=overlaid, commit=survey.commit, behind=True)
        workspace.ensure_state()
        takes_part = in_part and index.seen.commit is None
        if takes_part and _takes_long(workspace, survey):
            _start_build(workspace)
        with _update_lock(workspace, say, takes_part):
            fresh = _bring_up_to_date(workspace, full, progress, (index.seen, survey))
        if workspace.settings.verify != "off":
            background.start_catching_up(workspace)  # which checks signatures
        return fresh
    except RepositoryProblem as problem:
        if problem.code != "busy":
            raise
        now = index_unchecked(workspace)
        is_built = not (now.seen.is_part or now.seen == EMPTY_SNAPSHOT)
        return FreshIndex(
            index=now,
            commit=now.seen.commit,
            stale=True,
            notes=(_BEHIND,) if is_built else (_ONLY_PART,) if now.seen.is_part else (),
            building=None if is_built else _recorded_progress(workspace, len(survey.stamps)),
        )
    except (OSError, StorageProblem) as problem:
        reason = (
            problem.message
            if isinstance(problem, StorageProblem)
            else problem.strerror or str(problem)
        )
        return _in_memory(
            workspace, f"the index cannot be written ({reason}); searched a temporary one"
        )


def _takes_long(workspace: Workspace, survey: _WorkspaceSurvey) -> bool:
    """True if a first build is to be searchable before it has read history."""
    return is_long(survey.stamps.values()) or (
        workspace.repository.has_commits(_LONG_HISTORY) and not has_trail(workspace)
    )


def _recorded_progress(workspace: Workspace, files_in_all: int) -> BuildProgress:
    done = git_files.read_bytes(f"{workspace.state}/{_PROGRESS_NAME}")
    return BuildProgress(int(done or 0), files_in_all)


def _recording(workspace: Workspace, progress: Progress | None) -> Progress:
    recorded = time.monotonic()

    def record(done: int, total: int) -> None:
        nonlocal recorded
        if progress:
            progress(done, total)
        if time.monotonic() - recorded > _PROGRESS_SECONDS:
            recorded = time.monotonic()
            files.write_cache(workspace.state / _PROGRESS_NAME, str(done))

    return record


def _start_build(workspace: Workspace) -> None:
    """Start a detached build, then poll until it has the lock: nothing reports that."""
    started, ends = (
        background.start_catching_up_now(workspace),
        time.monotonic() + _STARTING_SECONDS,
    )
    while (
        started
        and started.is_alive()
        and not files.is_locked(workspace.state / INDEX_LOCK)
        and time.monotonic() < ends
    ):
        time.sleep(_LOOK_SECONDS)


@contextmanager
def _update_lock(workspace: Workspace, say: Say, takes_part: bool) -> Iterator[None]:
    """Hold the lock; an open index suffices in part. Raises RepositoryProblem (`busy`)."""
    path, timeout = workspace.state / INDEX_LOCK, workspace.settings.lock_timeout
    begin, notices = time.monotonic(), [files.NOTICE] if takes_part else []
    while takes_part and files.is_locked(path):
        waited = time.monotonic() - begin
        if index_unchecked(workspace).seen.is_part or waited > timeout:
            timeout = 0
            break
        if waited > files.NOTICE_SECONDS and notices:
            say(notices.pop())
        time.sleep(_LOOK_SECONDS)
    with files.lock(path, timeout, say):
        yield


def rebuild_index(
    workspace: Workspace, full: bool, say: Say, progress: Progress | None = None
) -> FreshIndex:
    """Bring the index up to date, or (`full`) rebuild it together with its trail."""
    workspace.ensure_state()
    with files.lock(workspace.state / INDEX_LOCK, workspace.settings.lock_timeout, say):
        if full:
            discard_trail(workspace)
            workspace.forget_history_boundary()
        fresh = _bring_up_to_date(workspace, full, progress)
        if fresh.index.seen.has_unsettled:  # saved just now: once more when it is settled
            time.sleep(files.RACY_NS / 1e9)
            fresh = _bring_up_to_date(workspace)
    check_signatures(workspace)
    return fresh


def check_signatures(workspace: Workspace, most: int | None = None) -> None:
    """Ask git whose signatures commits have, and index again what counts otherwise by them.

    More than `most` are left to the background. What cannot be kept, or what another process asks,
    stays unchecked. Raises WorkspaceProblem (`bad-settings`), RepositoryProblem (`git-failed`).
    """
    if workspace.settings.verify == "off" or not workspace.is_adopted:
        return
    try:
        has_changed = late.module("past.verifying").verify(workspace, most)
        if has_changed and index_unchecked(workspace).seen.commit is not None:
            with files.lock(workspace.state / INDEX_LOCK, workspace.settings.lock_timeout):
                _bring_up_to_date(workspace, again=True)
        known = workspace.known_signatures()
        if most is not None and known and not known.is_whole:
            background.start_catching_up(workspace)
    except (OSError, StorageProblem, RepositoryProblem) as problem:
        if getattr(problem, "code", "busy") == "git-failed":
            raise


def _bring_up_to_date(
    workspace: Workspace,
    full: bool = False,
    progress: Progress | None = None,
    before: tuple[Snapshot, _WorkspaceSurvey] | None = None,
    again: bool = False,
) -> FreshIndex:
    """Bring the index up to date; the caller holds the lock.

    `before` are snapshot and survey from before the lock: if the snapshot is the same, files are
    not looked at twice. Else the old survey would remove what another process has indexed since.
    `again`: of the same commits some count otherwise than before.
    """
    index = _opened(workspace, full)
    survey = (
        before[1]
        if before and _snapshot_key(before[0]) == _snapshot_key(index.seen)
        else _survey(workspace)
    )
    if _has_seen(index, survey) and not again:
        return FreshIndex(index=index, commit=survey.commit)
    try:
        index = _update(workspace, index, survey, progress)
    except BrokenIndex:
        index = _update(workspace, _opened(workspace, from_scratch=True), survey, progress)
    return FreshIndex(index=index, commit=index.seen.commit)


def _in_memory(workspace: Workspace, note: str) -> FreshIndex:
    index, survey = SearchIndex.in_memory(workspace.settings.language), _survey(workspace)
    index = _update(workspace, index, survey, None, stored=False)
    return FreshIndex(index=index, commit=index.seen.commit, notes=(note,))


def _agreed_commit(index: SearchIndex, trail_table: Trail) -> int | None:
    dropped = trail_table.dropped_commits()
    numbers = [number - 1 for _, number, _ in dropped]
    if index.seen.commit is None:
        return 0
    if commit := trail_table.commit_with_id(index.seen.commit):
        numbers.append(commit.number)
    elif index.seen.commit not in {commit for commit, _, _ in dropped}:
        return None
    return min(numbers)


def _update(
    workspace: Workspace,
    index: SearchIndex,
    survey: _WorkspaceSurvey,
    progress: Progress | None,
    stored: bool = True,
) -> SearchIndex:
    """Index what has changed; unless `stored`, the trail keeps what the stored one must remove."""
    # only where something changed
    from mdmem.index import pages  # noqa: PLC0415

    with ExitStack() as build:
        is_new = stored and index.seen == EMPTY_SNAPSHOT
        if is_new:
            build.callback((workspace.state / _PROGRESS_NAME).unlink, missing_ok=True)
            (workspace.state / _PROGRESS_NAME).unlink(missing_ok=True)
            if gc.isenabled():  # it finds few cycles, and takes a tenth of the time
                gc.disable()
                build.callback(gc.enable)
            if _takes_long(workspace, survey):
                index.begin(pages.files_as_they_are(workspace, survey.stamps))
        with fresh_trail(workspace) as trail_table:
            survey = replace(survey, settings=_settings(workspace))
            since = _agreed_commit(index, trail_table)
            if not (index.seen == EMPTY_SNAPSHOT or index.seen.is_part) and (
                since is None or index.seen.settings != survey.settings
            ):
                index, since = _opened(workspace, from_scratch=True), 0
            changed = pages.ChangedFiles(
                workspace,
                seen=index.seen,
                stamps=survey.stamps,
                trail=trail_table,
                since=since or 0,
            )
            changed.update(
                index, survey.settings, _recording(workspace, progress) if is_new else progress
            )
            if stored and trail_table.dropped_commits():
                with trail_table.writing():
                    trail_table.forget_dropped()
    return index


# In the background.

_MAINTAINED = "0"
"""The first digit of commits after which git looks for maintenance to do: of one in sixteen.

It does so for thousands of objects; to ask takes a tenth of a catch-up.
"""


def catch_up_workspace(workspace: Workspace) -> bool:
    """Bring the index up to date, then run git's maintenance; False if another waits to do so.

    It waits for a quiet moment first, so that a burst of writes leads to one catch-up.
    """
    workspace.ensure_state()
    with ExitStack() as queue:
        try:
            queue.enter_context(files.lock(workspace.state / QUEUE_LOCK, 0))
        except RepositoryProblem:
            return False
        background.wait_until_quiet(workspace.state)  # each write has its record in there
        with files.lock(workspace.state / INDEX_LOCK, workspace.settings.lock_timeout):
            queue.close()
            for _ in range(_ROUNDS):
                commit = _bring_up_to_date(workspace).commit
                if index_as_is(workspace)[1]:
                    break
    is_due = commit is None or commit.startswith(_MAINTAINED)
    if is_due and workspace.is_adopted:  # a setting there names a program
        commits.maintain(workspace.repository)
    check_signatures(workspace)
    return True
