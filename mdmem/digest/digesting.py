"""Read what is new in transcripts, and write it into the logs of its days."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from hashlib import sha256
from pathlib import Path
from time import monotonic

from mdmem import config
from mdmem.digest import cursors, rebuilding
from mdmem.digest.cursors import Cursor, ReadState
from mdmem.digest.news import News, cursor_after, is_idle, read_news
from mdmem.digest.runs import StepRecorder
from mdmem.digest.sources import due_transcripts, named_transcript
from mdmem.digest.tally import Tally
from mdmem.digest.turns import in_turn
from mdmem.digest.writing import EntryWriter
from mdmem.errors import PathProblem, RefusedChange, SectionProblem, TextProblem, TranscriptProblem
from mdmem.model.digests import Digest, DigestResult, LeftSession
from mdmem.model.rules import is_iso_day
from mdmem.queries import dates
from mdmem.startup.records import replace
from mdmem.transcripts.clients import require_sources
from mdmem.workspace import Progress, Say, Workspace

_STEP = "digest"
_HOST_DIGITS = 8
_SAVING_SECONDS = 5.0
"""The pause between two savings of what is read, in a long run."""
_BY_HOOK = "MDMEM_RUN"
"""The variable that is set for a digest which a hook of an agent's host started."""


def digest(workspace: Workspace, request: Digest, say: Say, progress: Progress | None = None) -> DigestResult:
    """Digest what is new in transcripts, one after another.

    A transcript that cannot be read is left alone and named; the others are done. What a hook reports meanwhile is digested too, as a step of
    its own.

    Raises:
        PathProblem: `file-not-found`: there is no such transcript. TranscriptProblem: `ambiguous`: several fit a name.
        RepositoryProblem: `running`: another digest is at work.
        MdmemError: the workspace cannot be written.
    """
    paths = [named_transcript(workspace, name) for name in request.sessions]
    if not request.sessions and workspace.settings.digest != "off":
        require_sources(workspace.settings, workspace.environment)
    if request.since is not None and not is_iso_day(request.since):
        request = replace(request, since=dates.past_day(workspace, request.since, "since").isoformat())
    workspace.ensure_state()

    def work() -> DigestResult:
        with StepRecorder(workspace.state, _STEP, keep=not request.dry_run) as step:
            return _digest(workspace, request, paths if request.sessions else None, step, say, progress)

    def look_again(transcripts: tuple[str, ...]) -> bool:
        if request.dry_run:
            return False
        with StepRecorder(workspace.state, _STEP) as step:
            digest_reported(transcripts)(workspace, step, say, progress)
        return True

    is_reported = workspace.environment.get(_BY_HOOK) and not request.dry_run
    return in_turn(workspace.state, work, look_again, [str(path.absolute()) for path in paths] if is_reported else ())


def is_due(workspace: Workspace) -> bool:
    """True if the settings have sessions digested."""
    return bool(workspace.settings.sessions) and workspace.settings.digest != "off"


def digest_due(workspace: Workspace, step: StepRecorder, say: Say, progress: Progress | None = None) -> DigestResult:
    """Digest what is new in the transcripts that the settings name, in the turn of the caller.

    Raises:
        MdmemError: there are none, or the workspace cannot be written.
    """
    return _digest(workspace, Digest(), None, step, say, progress)


def digest_reported(transcripts: Sequence[str]) -> Callable[[Workspace, StepRecorder, Say, Progress | None], DigestResult]:
    """A function that does the same with the transcripts that a hook reported, as far as they are still there."""
    paths = [Path(path) for path in transcripts if Path(path).is_file()]

    def digest_them(workspace: Workspace, step: StepRecorder, say: Say, progress: Progress | None = None) -> DigestResult:
        return _digest(workspace, Digest(sessions=tuple(map(str, paths))), paths, step, say, progress)

    return digest_them


def _digest(
    workspace: Workspace, request: Digest, paths: Sequence[Path] | None, step: StepRecorder, say: Say, progress: Progress | None
) -> DigestResult:
    """Digest some transcripts (None: those that the settings name), and give the step its figures, whatever ends it."""
    step.run = f"digest/{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{_host()}"
    work = _Work(workspace, request, step.run, say)
    is_whole = False
    try:
        work.digest_files(due_transcripts(workspace) if paths is None else paths, progress)
        is_whole = paths is None
    finally:
        step.figures = work.tally.figures()
        work.finish(is_whole)
    step.outcome = work.tally.outcome
    return work.tally.result(step.run)


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

    def digest_files(self, paths: Sequence[Path], progress: Progress | None) -> None:
        """Digest what is new in transcripts, one after another."""
        for number, path in enumerate(paths, 1):
            self.digest_file(path)
            if progress is not None:
                progress(number, len(paths))

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
        self._cursors[name] = cursor_after(status, news)
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
