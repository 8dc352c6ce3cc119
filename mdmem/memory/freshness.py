"""Catching up: the index is compared with the commit and the files that are there, and brought to them."""

import contextlib
import hashlib
import os
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from mdmem import files, history, repo
from mdmem.document import BOM, decode, parse, split_lines
from mdmem.editors import frontmatter
from mdmem.errors import PathProblem, RepositoryProblem, StorageProblem
from mdmem.files import Found
from mdmem.memory.workspace import Workspace, known_in, open_at
from mdmem.model import CommitId, FilePath, Origin
from mdmem.search.entries import entries
from mdmem.search.indexer import INDEX_NAME, BrokenIndex, FileEntries, Index, Seen, SeenFile, Stamp

Say = Callable[[str], None]
Progress = Callable[[int, int], None]
"""Called with the number of files done and the number to do."""

_INDEX_LOCK = "index.lock"
_QUEUE_LOCK = "queue.lock"
_RACY_NS = 20_000_000
"""A file that was changed less than this before it was read may change again without its time stamp showing it."""
_UNSETTLED = Stamp(0, 0, 0, 0)
"""No file's stamp: of a file that is to be read again."""
_ROUNDS = 3
_BURST_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Fresh:
    """An index to search, and how far it can be trusted: `stale` where it could not be brought up to date, `notes` why."""

    index: Index
    commit: CommitId | None
    stale: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Survey:
    """What is there now."""

    commit: CommitId | None
    files: dict[FilePath, Found]
    settings: str


@dataclass(frozen=True, slots=True)
class _Gap:
    """What happened between the commit that the index has seen and the one that is there.

    `origins` are those of the lines brought in since, None where the commits between do not tell, so that all of history is asked.
    `paths` are those that differ or whose lines may have another origin now.
    """

    origins: history.Origins | None
    paths: Collection[str] = ()


def _survey(workspace: Workspace) -> _Survey:
    what = repr((workspace.settings.extra_paths, workspace.settings.language, workspace.root.name))
    return _Survey(
        workspace.repository.head(), workspace.memory_files(), hashlib.sha256(what.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    )


def _stamp(status: os.stat_result) -> Stamp:
    return Stamp(status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)


def _stamp_of(place: Path) -> Stamp | None:
    try:
        return _stamp(place.lstat())
    except OSError:
        return None


def _has_seen(index: Index, survey: _Survey) -> bool:
    seen = index.seen
    return (
        seen.commit == survey.commit
        and seen.settings == survey.settings
        and seen.files.keys() == survey.files.keys()
        and all(seen.files[path].stamp == _stamp(found.status) for path, found in survey.files.items())
    )


def is_current(workspace: Workspace) -> tuple[Index, bool]:
    """The index as it is, and whether it has seen everything that is there."""
    index = Index.open(workspace.state / INDEX_NAME)
    return index, _has_seen(index, _survey(workspace))


def fresh(workspace: Workspace, say: Say, progress: Progress | None = None, full: bool = False) -> Fresh:
    """The index, brought up to date first, or (`full`) built anew. Another process that is busy with it is waited for."""
    try:
        index = Index.anew(workspace.state / INDEX_NAME) if full else Index.open(workspace.state / INDEX_NAME)
        survey = _survey(workspace)
        if _has_seen(index, survey):
            return Fresh(index, survey.commit)
        workspace.ensure_state()
        with files.lock(workspace.state / _INDEX_LOCK, workspace.settings.lock_timeout, say):
            return _bring_up(workspace, full, progress)
    except RepositoryProblem as problem:
        if problem.code != "busy":
            raise
        return Fresh(index, index.seen.commit, True, ("another process has been indexing for long; the newest changes may be missing",))
    except (OSError, StorageProblem) as problem:
        reason = problem.message if isinstance(problem, StorageProblem) else problem.strerror or str(problem)
        return _in_memory(workspace, f"the index cannot be written ({reason}); searched an index in memory")


def rebuild(workspace: Workspace, full: bool, say: Say, progress: Progress | None = None) -> Fresh:
    """The index brought up to date, or built anew (`full`)."""
    workspace.ensure_state()
    with files.lock(workspace.state / _INDEX_LOCK, workspace.settings.lock_timeout, say):
        return _bring_up(workspace, full, progress)


def _bring_up(workspace: Workspace, full: bool = False, progress: Progress | None = None) -> Fresh:
    index = Index.anew(workspace.state / INDEX_NAME) if full else Index.open(workspace.state / INDEX_NAME)
    survey = _survey(workspace)
    if _has_seen(index, survey):
        return Fresh(index, survey.commit)
    try:
        _update(workspace, index, survey, progress)
    except BrokenIndex:
        index = Index.anew(workspace.state / INDEX_NAME)
        _update(workspace, index, survey, progress)
    return Fresh(index, survey.commit)


def _in_memory(workspace: Workspace, note: str) -> Fresh:
    index, survey = Index.in_memory(), _survey(workspace)
    _update(workspace, index, survey, None)
    return Fresh(index, survey.commit, False, (note,))


def _gap(workspace: Workspace, index: Index, now: CommitId | None) -> _Gap | None:
    """What lies between the commit that the index has seen and this one; None where everything is to be read again."""
    repository, seen = workspace.repository, index.seen.commit
    if seen == now:
        return _Gap(history.Origins())
    if seen is None or now is None or not repository.has(seen):
        return None
    base = repository.merge_base(seen, now)
    if base is None:
        return None
    brought = history.origins(repository.walk(base, now))
    # A file that is the same in both commits may still owe its lines to other commits: taken out and put back, or on both branches.
    paths: set[str] = {*repository.changed_paths(seen, now), *brought.lines}
    if base == seen and not repository.has_merges(seen, now):
        return _Gap(brought, paths)
    return _Gap(None, paths | index.paths_with_commits(repository.between(base, seen)))


def _update(workspace: Workspace, index: Index, survey: _Survey, progress: Progress | None) -> None:
    """Have the index read what it has not seen; what it has seen already stays."""
    gap = _gap(workspace, index, survey.commit) if index.seen.settings == survey.settings else None
    known = dict(index.seen.files) if gap else {}
    gap = gap or _Gap(None)
    touched: set[str] = set(gap.paths)
    if index.seen.commit != survey.commit:
        touched |= {path for path, file in known.items() if file.uncommitted}
    due = [f for path, f in survey.files.items() if path in touched or path not in known or known[path].stamp != _stamp(f.status)]
    pages = _Pages(workspace, index, survey.commit, gap.origins, {found.path for found in due})
    seen: dict[str, SeenFile] = {path: known[path] for path in survey.files if path in known}

    def changed() -> Iterator[FileEntries]:
        for found in due:
            before = known.get(found.path) if found.path not in touched else None
            seen[found.path], page = pages.read(found, before)
            if page is not None:
                yield page

    removed = [path for path in index.seen.files if path not in survey.files]
    index.update(changed(), removed, Seen(survey.commit, seen, survey.settings), (lambda n: progress(n, len(due))) if progress else None)


class _Pages:
    """Reads files for the index: their entries, where each comes from, and whether it is committed."""

    def __init__(
        self, workspace: Workspace, index: Index, commit: CommitId | None, origins: history.Origins | None, due: set[FilePath]
    ) -> None:
        self._workspace = workspace
        self._index = index
        self._commit = commit
        self._newest = origins
        pending = [path for path in workspace.repository.pending() if path in due] if due else []
        self._committed = workspace.repository.read(commit, pending) if commit else dict.fromkeys(pending)
        self._kept = workspace.repository.tracked() if due else set()

    @cached_property
    def _all(self) -> history.Origins:
        """The origins of all lines there ever were: read only where what is known already does not tell."""
        return history.origins(self._workspace.repository.walk(None, self._commit) if self._commit else ())

    def read(self, found: Found, before: SeenFile | None) -> tuple[SeenFile, FileEntries | None]:
        """What is to be remembered of a file, and its entries; None where they are the same as `before`."""
        path, now = found.path, time.time_ns()
        try:
            data = files.read(found.place) or b""
            document = parse(decode(data))
        except PathProblem as problem:
            return SeenFile(_stamp(found.status), "", False, problem.message), FileEntries(path, (), (), (), self._workspace.kind_of(path))
        digest = files.digest(data)
        # A file that is saved while it is read may hold what the survey, and what git said of it, did not see: it is read again.
        settled = now - max(found.status.st_mtime_ns, found.status.st_ctime_ns) > _RACY_NS and _stamp_of(found.place) == _stamp(
            found.status
        )
        if before is not None and before.digest == digest and settled:
            return replace(before, stamp=_stamp(found.status)), None
        listed = entries(document, path, frontmatter.tags(document))
        open_lines = self._open_lines(path, document.lines)
        uncommitted = tuple(open_lines is not None and not open_lines.isdisjoint(range(e.start_line, e.end_line + 1)) for e in listed)
        origins = self._origins(path, [None if is_open else entry.first_line for entry, is_open in zip(listed, uncommitted, strict=True)])
        page = FileEntries(path, listed, origins, uncommitted, self._workspace.kind_of(path))
        stamp, known = (_stamp(found.status), digest) if settled else (_UNSETTLED, "")
        return SeenFile(stamp, known, any(uncommitted)), page

    def _origins(self, path: FilePath, lines: Sequence[str | None]) -> tuple[Origin | None, ...]:
        """The origin of each line; None for a line that has none (yet)."""
        if _is_outside(path):
            return (None,) * len(lines)
        newest = self._newest
        earlier = self._index.origins(newest.renamed.get(path, path)) if newest else {}

        def origin(line: str) -> Origin | None:
            return (newest.of(path, line, earlier) if newest else None) or self._all.of(path, line, {})

        return tuple(None if line is None else origin(line) for line in lines)

    def _open_lines(self, path: FilePath, lines: tuple[str, ...]) -> frozenset[int] | None:
        """The numbers (from 1) of the lines that are in no commit yet; None where all are."""
        if _is_outside(path):
            return None
        if path not in self._committed:
            return None if path in self._kept else frozenset(range(1, len(lines) + 1))
        blob = self._committed[path] or b""
        kept = {line.strip() for line in split_lines(blob.decode("utf-8", "replace").removeprefix(BOM))}
        return frozenset(number for number, line in enumerate(lines, 1) if line.strip() not in kept)


def _is_outside(path: FilePath) -> bool:
    """Whether a file (of an extra path) is not the repository's."""
    return path.startswith(("/", "../"))


# In the background.


def start_catching_up(workspace: Workspace) -> int | None:
    """Start a detached process that brings the index up to date, unless one runs or waits already. It is never a reason to fail.

    Returns:
        Its process id, None where none was started.
    """
    if any(files.is_locked(workspace.state / name) for name in (_QUEUE_LOCK, _INDEX_LOCK)) or not sys.executable:
        return None
    # -P: nothing is imported from the folder that the user is in.
    command = [sys.executable, "-P", "-m", "mdmem.githooks", "catch-up", str(workspace.root)]
    null = os.devnull
    streams = [(os.POSIX_SPAWN_OPEN, 0, null, os.O_RDONLY, 0), (os.POSIX_SPAWN_OPEN, 1, null, os.O_WRONLY, 0), (os.POSIX_SPAWN_DUP2, 1, 2)]
    try:
        return os.posix_spawn(sys.executable, command, repo.environment(), file_actions=streams, setsid=True)
    except OSError:
        return None


def catch_up(root: Path) -> None:
    """Bring the index of one workspace up to date, then let git tidy up; at once back where another process waits to do so.

    It waits for a moment first, so that a burst of writes is one catch-up and not as many as there are writes.
    """
    workspace = open_at(root)
    workspace.ensure_state()
    with contextlib.ExitStack() as queue:
        try:
            queue.enter_context(files.lock(workspace.state / _QUEUE_LOCK, 0))
        except RepositoryProblem:
            return
        time.sleep(_BURST_SECONDS)
        with files.lock(workspace.state / _INDEX_LOCK, workspace.settings.lock_timeout):
            queue.close()
            for _ in range(_ROUNDS):
                _bring_up(workspace)
                if is_current(workspace)[1]:
                    break
    workspace.repository.maintain()


def catch_up_all(folder: Path) -> None:
    """Bring the index of every workspace up to date that has been used in the work tree that `folder` is in."""
    for root in known_in(folder):
        catch_up(root)
