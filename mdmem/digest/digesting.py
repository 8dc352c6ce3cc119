"""Read what is new in transcripts, and write it into the logs of its days."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, date, datetime
from hashlib import sha256
from pathlib import Path
from time import monotonic

from mdmem import config, files
from mdmem.digest import cursors, rebuilding
from mdmem.digest.cursors import Cursor, ReadState
from mdmem.digest.news import News, is_idle, read_news
from mdmem.digest.sources import due_transcripts, named_transcript
from mdmem.digest.tally import Tally
from mdmem.digest.writing import EntryWriter
from mdmem.errors import PathProblem, RefusedChange, RepositoryProblem, SectionProblem, TextProblem, TranscriptProblem
from mdmem.model.digests import Digest, DigestResult, LeftSession
from mdmem.model.rules import is_iso_day
from mdmem.queries import dates
from mdmem.startup.records import replace
from mdmem.workspace import Say, Workspace

_HOST_DIGITS = 8
_LOCK_NAME = "run.lock"
_SAVING_SECONDS = 5.0
"""The pause between two savings of what is read, in a long run."""


def digest(workspace: Workspace, request: Digest, say: Say) -> DigestResult:
    """Digest what is new in transcripts, one after another.

    A transcript that cannot be read is left alone and named; the others are done.

    Raises:
        PathProblem: `file-not-found`: there is no such transcript. TranscriptProblem: `ambiguous`: several fit a name. RepositoryProblem: `running`: another digest is at work.
        MdmemError: the workspace cannot be written.
    """
    names = request.sessions
    paths = [named_transcript(workspace, name) for name in names] if names else due_transcripts(workspace)
    if request.since is not None and not is_iso_day(request.since):
        request = replace(request, since=dates.past_day(workspace, request.since, "since").isoformat())
    workspace.ensure_state()
    with _alone(workspace):
        return _digest(workspace, request, paths, say)


@contextmanager
def _alone(workspace: Workspace) -> Iterator[None]:
    """Hold the lock of runs, so that of two digests one works.

    Raises:
        RepositoryProblem: `running`.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(files.lock(workspace.state / _LOCK_NAME, 0))
        except RepositoryProblem as problem:
            message = "another digest of this workspace is at work"
            raise RepositoryProblem("running", message, "It reads what is new; what comes meanwhile is read by the next one.") from problem
        yield


def _digest(workspace: Workspace, request: Digest, paths: Iterable[Path], say: Say) -> DigestResult:
    run = f"digest/{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{_host()}"
    work = _Work(workspace, request, run, say)
    is_whole = False
    try:
        for path in paths:
            work.digest_file(path)
        is_whole = not request.sessions
    finally:
        work.finish(is_whole)
    return work.tally.result(run)


def figures(result: DigestResult) -> Mapping[str, int]:
    """The figures that the event of a digest keeps."""
    return {
        "sessions": result.sessions,
        "messages": result.messages,
        "bytes": result.size,
        "noise": result.noise,
        "entries": len(result.entries),
        "already": result.repeated,
        "redacted": result.redacted,
        "refused": result.refused,
        "surplus": result.surplus,
    }


def _host() -> str:
    """A short name of this machine that does not tell which it is."""
    return sha256(platform.node().encode()).hexdigest()[:_HOST_DIGITS]


class _Work:
    """A run over transcripts: how far each is read, and the figures."""

    def __init__(self, workspace: Workspace, request: Digest, run: str, say: Say) -> None:
        self._workspace = workspace
        self._request = request
        self._zone = config.zone(workspace.settings.timezone)
        read = cursors.read_state(workspace.state)
        self._cursors, self._ends = read.cursors, read.ends
        self._marks: dict[str, tuple[str, int]] | None = None
        self._changed, self._saved = False, monotonic()
        self.tally = Tally()
        self._writer = EntryWriter(workspace, request, run, self._zone, self.tally, say)

    def digest_file(self, path: Path) -> None:
        """Digest what is new in one transcript, or note why it is left alone."""
        name = str(path.resolve())
        try:
            status = path.stat()
            cursor = self._cursor(path, name, status)
            if cursor is not None and cursor.is_of(status) and (cursor.settled or not is_idle(status)):
                return
            if self._marks is None:
                self._marks = cursors.read_marks(self._workspace.state)
            news = read_news(self._workspace, self._request, path, status, cursor, self._marks, self._zone)
        except TranscriptProblem as problem:
            self.tally.left.append(LeftSession(str(path), problem.code))
            return
        except OSError as problem:
            self.tally.left.append(LeftSession(str(path), problem.strerror or "cannot be read"))
            return
        if news is not None:
            self.tally.add_news(news)
            try:
                self._writer.write(news)
            except (SectionProblem, PathProblem, TextProblem, RefusedChange) as problem:  # a day's log cannot take entries
                self.tally.left.append(LeftSession(str(path), problem.code))
                return
        if not self._request.dry_run and self._request.since is None:  # else what was left out is still to be read
            self._note_read(name, status, news)
            if monotonic() - self._saved > _SAVING_SECONDS:
                self._save()

    def _cursor(self, path: Path, name: str, status: os.stat_result) -> Cursor | None:
        """The end of what is read of a file (None: nothing); by what commits tell where it was lost."""
        if (cursor := self._cursors.get(name)) is not None:
            return cursor if cursor.fits(status) else None
        if self._ends is None:
            self._ends, self._changed = rebuilding.committed_ends(self._workspace), True
        if not self._ends or (cursor := rebuilding.rebuilt_cursor(path, status, self._ends)) is None:
            return None
        self._cursors[name], self._changed = cursor, True
        return cursor

    def _note_read(self, name: str, status: os.stat_result, news: News | None) -> None:
        """Note a transcript and its messages as read, now that the entries are written."""
        if news is not None and self._marks is not None:
            for mark in news.marks:
                self._marks.setdefault(mark, (news.session, _today()))
        self._cursors[name] = replace(
            cursors.cursor_of(status),
            read_size=news.transcript.size if news else 0,
            start=news.transcript.next_start if news else None,
            has_entries=news is not None and news.has_entries,
            settled=news is not None and news.settled,
        )
        self._changed = True

    def finish(self, is_whole: bool) -> None:
        """Keep the cursors. Where all transcripts were looked at, what commits tell is not needed any more."""
        if is_whole:
            self._ends = {}
        self._save()

    def _save(self) -> None:
        self._saved = monotonic()
        if self._changed and not self._request.dry_run:
            self._workspace.ensure_state()
            cursors.write_state(self._workspace.state, ReadState(self._cursors, self._ends))
            if self._marks is not None:
                cursors.write_marks(self._workspace.state, self._marks, _today())


def _today() -> int:
    """The day, counted from 1970."""
    return (datetime.now(UTC).date() - date(1970, 1, 1)).days
