"""Read new lines of transcripts, file after file, and write them to the logs of their days."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, MutableMapping
from functools import cached_property
from operator import attrgetter
from time import monotonic, time_ns

from mdmem.folder import config
from mdmem.llm import requests
from mdmem.lookup import dates
from mdmem.model.errors import TranscriptProblem, WorkspaceProblem
from mdmem.model.pipelines import Digest, DigestResult, LeftSession, StepRecord
from mdmem.model.rules import is_iso_day
from mdmem.model.sessions import SkippedLines
from mdmem.nights.digest import cursors, known_sessions, model_step, news
from mdmem.nights.digest.cursors import OTHER_PROJECT, Cursor
from mdmem.nights.digest.model_step import ModelNews, ModelStep
from mdmem.nights.digest.news import News
from mdmem.nights.digest.writing import EntryWriter, add_news
from mdmem.nights.steps import BELOW_RUN, StepRecorder, in_turn, new_name
from mdmem.sessions.files import (
    Scope,
    TranscriptFile,
    find_files,
    require_sources,
    searched_folders,
    stat_file,
)
from mdmem.startup.records import dataclass, replace
from mdmem.workspace import Progress, Say, Workspace, projects_of, session_folders

STEP = "digest"
_IDLE_NS = 24 * 3600 * 10**9
"""A session without messages for so long has ended."""
_SAVING_SECONDS = 5.0
"""The pause between two savings of cursors, in a long run."""
_MOST_HELD = 500
"""Entries held before writing: they share few commits, and are soon read again if lost."""


@dataclass(frozen=True, slots=True)
class _HeldPart:
    file: TranscriptFile
    cursor: Cursor
    part: News


class _DigestRun:
    def __init__(
        self, workspace: Workspace, request: Digest, say: Say, tally: DigestResult
    ) -> None:
        self._workspace = workspace
        self._request = request
        self.tally = tally
        self._say = say
        self._zone = config.zone(workspace.settings.timezone)
        self._ended = time_ns() - _IDLE_NS
        scope = "all" if request.sessions else workspace.settings.session_scope
        self._scope = Scope(scope, session_folders(workspace))
        self._outside = cursors.other_project(projects_of(workspace))
        self._read = cursors.read_state(workspace.state)
        self._cursors = self._read.cursors
        self._saved = monotonic()
        self._held: list[_HeldPart] = []
        self._held_marks: dict[str, tuple[str, int]] = {}
        self._unsettled: list[tuple[TranscriptFile, str]] = []
        """Ended sessions without entries: permissive rules draw from them after the model."""
        self._model: ModelStep | None = None
        if (workspace.settings.digest == "model" or request.model) and model_step.is_wanted(
            workspace.settings, request
        ):
            self._model = ModelStep(
                workspace, request, tally.run, self._zone, tally=tally, say=say, read=self._read
            )

    @cached_property
    def _writer(self) -> EntryWriter:
        return EntryWriter(
            self._workspace, self._request, self.tally.run, self._zone, self.tally, self._say
        )

    def digest_files(self, files: Iterable[TranscriptFile], progress: Progress | None) -> None:
        """Digest transcripts oldest first, and write several ones' entries together."""
        changed = sorted(
            {file for file in files if not self._is_read(file)}, key=attrgetter("modified", "path")
        )
        for number, file in enumerate(changed, 1):
            self._digest_file(file)
            if (
                self._held and self._writer.held >= _MOST_HELD
            ) or monotonic() - self._saved > _SAVING_SECONDS:
                self._write_held()
            if progress is not None:
                progress(number, len(changed))
        self._write_held()

    def ask_model(self, files: Iterable[TranscriptFile] | None) -> None:
        """Ask a configured model what the rules left (None: of all), then draw permissively."""
        if self._model is None:
            return
        for part in self._model.news(None if files is None else {file.path for file in files}):
            if self._is_written(part):
                self._model.settle(part)
                if not self._request.dry_run:
                    self._save()
        for file, session in self._unsettled:
            if not self._model.is_pending(session):
                self._digest_file(file, permissive=True)
        if self._held:
            self._write_held()
        self._model.figures.waiting = self._model.waiting

    def _is_written(self, part: ModelNews) -> bool:
        """Write a session's suggestions; False where its log cannot take them."""
        if not part.drafts:
            return True
        cursor = self._cursors.get(part.path)
        read = (
            None
            if cursor is None or cursor.read_end is None
            else f"{part.session}#{cursor.read_end.line} {cursor.read_end.hash}"
        )
        self._writer.hold_drafts(part.session, part.session_id, part.drafts, read)
        problem = self._writer.write()[0]
        if problem is not None:
            self.tally.left.append(LeftSession(part.path, problem.code))
        elif cursor is not None:
            self._cursors[part.path] = replace(cursor, has_entries=True, settled=True)
            self._read.has_changed = True
        return problem is None

    def _is_read(self, file: TranscriptFile) -> bool:
        """True if a file has no news; unreadable ones are not tried again."""
        read = self._cursors.unchanged(file)
        problem = read.get("problem", "")
        if problem.startswith(OTHER_PROJECT):
            is_outside = self._is_outside(problem)
            self.tally.outside += is_outside
            return is_outside
        if problem:
            self.tally.left.append(LeftSession(file.path, problem))
        elif not read or not (read["settled"] or file.modified > self._ended):
            return False
        self.tally.inside += 1
        return True

    def _is_outside(self, problem: str) -> bool:
        return problem == self._outside and not self._scope.is_all

    def _digest_file(self, file: TranscriptFile, permissive: bool = False) -> None:
        try:
            cursor = self._cursor(file)
            if cursor is not None and self._is_read(file):  # by what commits tell
                return
            seen = ChainMap(self._read.marks, self._held_marks)
            permissive = permissive or self._model is None
            part = news.read_news(
                self._workspace,
                self._request,
                file,
                cursor,
                marks=seen,
                zone=self._zone,
                ended=self._ended,
                scope=self._scope,
                permissive=permissive,
            )
        except TranscriptProblem as problem:
            self.tally.left.append(LeftSession(file.path, problem.code))
            self._keep(file, replace(cursors.cursor_of(file), problem=problem.code))
            return
        except OSError as problem:
            self.tally.left.append(LeftSession(file.path, problem.strerror or "cannot be read"))
            return
        if part is not None and not part.settled and file.modified <= self._ended:
            self._unsettled.append((file, part.session))
        after = self._cursor_behind(file, cursor, part)
        if part is not None and (part.drafts or self._held):
            self._writer.hold(part)
            self._held.append(_HeldPart(file, after, part))
            _add_marks(self._held_marks, part)
        else:
            self._keep(file, after, part)

    def _write_held(self) -> None:
        """Write held entries, and store how far all is read.

        A transcript that shares messages with one whose entries could not be written, as a fork
        does, is read again.
        """
        held, self._held = self._held, []
        self._held_marks.clear()
        problems = self._writer.write() if held else ()
        unwritten = {
            mark
            for each, problem in zip(held, problems, strict=True)
            if problem
            for mark in each.part.marks
        }
        for each, problem in zip(held, problems, strict=True):
            if problem is not None:
                self.tally.left.append(LeftSession(each.file.path, problem.code))
            elif unwritten.isdisjoint(each.part.marks):
                self._keep(each.file, each.cursor, each.part)
        self._save()

    def _cursor(self, file: TranscriptFile) -> Cursor | None:
        """The progress in a file (None: unread); by commits if the cursor was lost."""
        cursor = self._cursors.get(file.path)
        if cursor is not None:
            is_unread = cursor.problem.startswith(OTHER_PROJECT) and not self._is_outside(
                cursor.problem
            )
            return cursor if cursor.fits(file) and not is_unread else None
        if self._read.ends is None:
            self._read.ends = news.committed_ends(self._workspace)
            self._read.has_changed = True
        if not self._read.ends or (cursor := news.rebuilt_cursor(file, self._read.ends)) is None:
            return None
        self._cursors[file.path], self._read.has_changed = cursor, True
        return cursor

    def _cursor_behind(
        self, file: TranscriptFile, before: Cursor | None, part: News | None
    ) -> Cursor:
        if part is None:
            return replace(cursors.cursor_of(file), settled=file.modified <= self._ended)
        return replace(
            cursors.cursor_of(file),
            read_size=part.transcript.size,
            start=part.transcript.next_start,
            has_entries=part.has_entries,
            settled=part.settled,
            problem=self._outside if part.outside else "",
            skipped=_add_skipped(
                before.skipped if before and part.transcript.after_line else None, part
            ),
        )

    def _keep(self, file: TranscriptFile, cursor: Cursor, part: News | None = None) -> None:
        """Note a transcript and its messages as read, now that the entries are written."""
        if part is not None:
            add_news(self.tally, part)
        if self._request.since is not None:  # what was left out is still to be read
            return
        if part is not None:
            _add_marks(self._read.marks, part)
            if self._model is not None:
                self._model.add(part, file.path)
        self._cursors[file.path], self._read.has_changed = cursor, True

    def finish(self, is_whole: bool) -> None:
        if is_whole:  # after all transcripts, committed ends are not needed any more
            self._read.ends = {}
        self._save()

    def _save(self) -> None:
        self._saved = monotonic()
        if self._read.has_changed and not self._request.dry_run:
            self._workspace.ensure_state()
            self._read.write(self._workspace.state)


def _add_marks(seen: MutableMapping[str, tuple[str, int]], part: News) -> None:
    read = part.session, cursors.today()
    for mark in part.marks:
        seen.setdefault(mark, read)


def _add_skipped(before: SkippedLines | None, part: News) -> SkippedLines | None:
    if not part.skipped:
        return before
    if before is not None:
        return replace(before, count=before.count + len(part.skipped))
    return SkippedLines(len(part.skipped), part.skipped[0].line, part.skipped[0].reason)


# The verb, and the step of a run.


def digest(
    workspace: Workspace, request: Digest, say: Say, progress: Progress | None = None
) -> DigestResult:
    """An unreadable transcript is only named; those that hooks report meanwhile are another step.

    Raises: PathProblem (`file-not-found`), TranscriptProblem (`ambiguous`), RepositoryProblem
    (`running`), WorkspaceProblem (`no-model`), PackageProblem (`missing-package`), MdmemError.
    """
    if request.model:
        requests.configured(workspace.settings, workspace.environment)
    request = replace(
        request,
        sessions=tuple(
            stat_file(known_sessions.named_transcript(workspace, name)).path
            for name in request.sessions
        ),
    )
    if not request.sessions and workspace.settings.digest != "off":
        require_sources(workspace.settings, workspace.environment)
    if request.since is not None and not is_iso_day(request.since):
        request = replace(
            request, since=dates.past_day(workspace, request.since, "since").isoformat()
        )
    workspace.ensure_state()

    def work() -> DigestResult:
        with StepRecorder(workspace.state, STEP, keep=not request.dry_run) as step:
            return carry_out(workspace, request, say, progress, step)

    def look_again(transcripts: tuple[str, ...]) -> bool:
        if request.dry_run:
            return False
        with StepRecorder(workspace.state, STEP) as step:
            carry_out(workspace, Digest(sessions=transcripts), say, progress, step)
        return True

    is_reported = workspace.environment.get(BELOW_RUN) and not request.dry_run
    return in_turn(workspace.state, work, look_again, request.sessions if is_reported else ())


def is_due(workspace: Workspace) -> bool:
    return bool(workspace.settings.sessions) and workspace.settings.digest != "off"


def carry_out(
    workspace: Workspace, request: Digest, say: Say, progress: Progress | None, step: StepRecord
) -> DigestResult:
    """Digest transcripts by their paths, if they still exist; without any, all that are configured.

    The caller has the turn. The step has its figures, whatever ends it. Raises: MdmemError.
    """
    step.run = new_name(workspace.state, STEP)
    files = (
        [stat_file(path) for path in request.sessions if known_sessions.is_file(path)]
        if request.sessions
        else None
    )
    tally = DigestResult(run=step.run, figures=step.figures)
    work = _DigestRun(workspace, request, say, tally)
    is_whole = False
    try:
        work.digest_files(_due_files(workspace) if files is None else files, progress)
        work.ask_model(files)
        is_whole = files is None
    finally:
        step.figures.left = len(tally.left)
        step.figures.tokens = tally.model.tokens if tally.model else 0
        work.finish(is_whole)
    step.outcome = tally.outcome
    return tally


def _due_files(workspace: Workspace) -> list[TranscriptFile]:
    """Raises: WorkspaceProblem (`no-sessions`: none configured, or none exist)."""
    environment = workspace.environment
    if workspace.settings.digest == "off":
        return []
    sources = require_sources(workspace.settings, environment)
    if next(find_files(sources, environment), None) is None:
        folders = ", ".join(searched_folders(sources, environment))
        raise WorkspaceProblem(
            "no-sessions",
            f"no transcripts in {folders}",
            "Name other clients, or globs, in the setting sessions.",
        )
    return list(known_sessions.configured_files(workspace))
