"""Catching up: the index is compared with the commit and the files that are there, and brought to them."""

import contextlib
import hashlib
import os
import sys
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from mdmem import files, history, repo
from mdmem.document import decode, parse
from mdmem.editors import frontmatter
from mdmem.errors import PathProblem, RepositoryProblem, StorageProblem
from mdmem.files import Found
from mdmem.memory.workspace import Workspace, known_in, open_at
from mdmem.model import CommitId, FilePath
from mdmem.search.entries import entries
from mdmem.search.indexer import FileEntries, Index, Seen, SeenFile, Stamp

Say = Callable[[str], None]
Progress = Callable[[int, int], None]
"""Called with the number of files done and the number to do."""

_INDEX_LOCK = "index.lock"
_QUEUE_LOCK = "queue.lock"
_INDEX = "index"
_RACY_NS = 20_000_000
"""A file that was changed less than this before it was read may change again without its time stamp showing it."""
_ROUNDS = 3


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
    """What happened between the commit that the index has seen and the one that is there: `paths` and commits that it touched."""

    origins: history.Origins
    paths: Collection[FilePath] = ()
    lost: Collection[CommitId] = ()


def _survey(workspace: Workspace) -> _Survey:
    what = repr((workspace.settings.extra_paths, workspace.settings.language, workspace.root.name))
    return _Survey(
        workspace.repository.head(), workspace.memory_files(), hashlib.sha256(what.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    )


def _stamp(status: os.stat_result) -> Stamp:
    return Stamp(status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)


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
    index = Index.open(workspace.state / _INDEX)
    return index, _has_seen(index, _survey(workspace))


def fresh(workspace: Workspace, say: Say, progress: Progress | None = None) -> Fresh:
    """The index, brought up to date first. Another process that is busy with it is waited for."""
    index = Index.open(workspace.state / _INDEX)
    survey = _survey(workspace)
    if _has_seen(index, survey):
        return Fresh(index, survey.commit)
    try:
        workspace.ensure_state()
        with files.lock(workspace.state / _INDEX_LOCK, workspace.settings.lock_timeout, say):
            return _bring_up(workspace, progress=progress)
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
    index = Index.anew(workspace.state / _INDEX) if full else Index.open(workspace.state / _INDEX)
    survey = _survey(workspace)
    if not _has_seen(index, survey):
        _update(workspace, index, survey, progress)
    return Fresh(index, survey.commit)


def _in_memory(workspace: Workspace, note: str) -> Fresh:
    index, survey = Index.in_memory(), _survey(workspace)
    _update(workspace, index, survey, None)
    return Fresh(index, survey.commit, False, (note,))


def _gap(workspace: Workspace, seen: CommitId | None, now: CommitId | None) -> _Gap | None:
    """What lies between two commits; None where it cannot be told, so that everything is to be read again."""
    if seen == now:
        return _Gap(history.Origins())
    if seen is None or now is None or not workspace.repository.has(seen):
        return None
    base = workspace.repository.merge_base(seen, now)
    if base is None:
        return None
    lost = workspace.repository.between(base, seen) if base != seen else ()
    return _Gap(history.origins(workspace.repository.walk(base, now)), workspace.repository.changed_paths(seen, now), set(lost))


def _update(workspace: Workspace, index: Index, survey: _Survey, progress: Progress | None) -> None:
    """Have the index read what it has not seen; what it has seen already stays."""
    gap = _gap(workspace, index.seen.commit, survey.commit) if index.seen.settings == survey.settings else None
    known = dict(index.seen.files) if gap else {}
    if gap is None:
        gap = _Gap(history.origins(workspace.repository.walk(None, survey.commit) if survey.commit else ()))
    touched = {*gap.paths, *index.paths_with_commits(gap.lost)}
    if index.seen.commit != survey.commit:
        touched |= {path for path, file in known.items() if file.uncommitted}
    due = [f for path, f in survey.files.items() if path in touched or path not in known or known[path].stamp != _stamp(f.status)]
    pages = _Pages(workspace, index, survey.commit, gap, {found.path for found in due})
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

    def __init__(self, workspace: Workspace, index: Index, commit: CommitId | None, gap: _Gap, due: set[FilePath]) -> None:
        self._workspace = workspace
        self._index = index
        self._gap = gap
        self._lost = set(gap.lost)
        pending = [path for path in workspace.repository.pending() if path in due] if due else []
        self._committed = workspace.repository.read(commit, pending) if commit else dict.fromkeys(pending)
        self._kept = workspace.repository.tracked() if due else set()

    def read(self, found: Found, before: SeenFile | None) -> tuple[SeenFile, FileEntries | None]:
        """What is to be remembered of a file, and its entries; None where they are the same as `before`."""
        path, now = found.path, time.time_ns()
        try:
            data = files.read(found.place) or b""
            document = parse(decode(data))
        except PathProblem as problem:
            return SeenFile(_stamp(found.status), "", False, problem.message), FileEntries(path, (), (), (), self._workspace.kind_of(path))
        digest = files.digest(data)
        settled = now - max(found.status.st_mtime_ns, found.status.st_ctime_ns) > _RACY_NS
        stamp = _stamp(found.status) if settled else Stamp(0, 0, found.status.st_size, found.status.st_ino)
        if before is not None and before.digest == digest:
            return replace(before, stamp=stamp), None
        listed = entries(document, path, frontmatter.tags(document))
        open_lines = self._open_lines(path, document.lines)
        uncommitted = tuple(open_lines is not None and not open_lines.isdisjoint(range(e.start_line, e.end_line + 1)) for e in listed)
        earlier = self._index.origins(self._gap.origins.renamed.get(path, path)) if self._index.count else {}
        earlier = {line: origin for line, origin in earlier.items() if origin.commit not in self._lost}
        origins = tuple(
            None if is_open else self._gap.origins.of(path, entry.first_line, earlier)
            for entry, is_open in zip(listed, uncommitted, strict=True)
        )
        page = FileEntries(path, listed, origins, uncommitted, self._workspace.kind_of(path))
        return SeenFile(stamp, digest, any(uncommitted)), page

    def _open_lines(self, path: FilePath, lines: tuple[str, ...]) -> frozenset[int] | None:
        """The numbers (from 1) of the lines that are in no commit yet; None where all are."""
        if path.startswith(("/", "../")):
            return None
        if path not in self._committed:
            return None if path in self._kept else frozenset(range(1, len(lines) + 1))
        blob = self._committed[path] or b""
        kept = {line.strip() for line in blob.decode("utf-8", "replace").splitlines()}
        return frozenset(number for number, line in enumerate(lines, 1) if line.strip() not in kept)


# In the background.


def start_catching_up(workspace: Workspace) -> None:
    """Start a detached process that brings the index up to date, unless one runs or waits already. It is never a reason to fail."""
    if any(files.is_locked(workspace.state / name) for name in (_QUEUE_LOCK, _INDEX_LOCK)) or not sys.executable:
        return
    command = [sys.executable, "-m", "mdmem.githooks", "catch-up", str(workspace.root)]
    null = os.devnull
    streams = [(os.POSIX_SPAWN_OPEN, 0, null, os.O_RDONLY, 0), (os.POSIX_SPAWN_OPEN, 1, null, os.O_WRONLY, 0), (os.POSIX_SPAWN_DUP2, 1, 2)]
    with contextlib.suppress(OSError):
        os.posix_spawn(sys.executable, command, repo.environment(), file_actions=streams, setsid=True)


def catch_up(root: Path) -> None:
    """Bring the index of one workspace up to date, then let git tidy up; at once back where another process waits to do so."""
    workspace = open_at(root)
    workspace.ensure_state()
    with contextlib.ExitStack() as queue:
        try:
            queue.enter_context(files.lock(workspace.state / _QUEUE_LOCK, 0))
        except RepositoryProblem:
            return
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
