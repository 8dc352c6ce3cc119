"""Read what is new in transcripts, and write it into the logs of its days."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from pathlib import Path

from mdmem import config, files
from mdmem.changes import apply, digest_day
from mdmem.digest import cursors
from mdmem.digest.cursors import Cursor
from mdmem.digest.days import count_by_day, session_days
from mdmem.errors import PathProblem, RepositoryProblem, SectionProblem, TextProblem, TranscriptProblem, WorkspaceProblem
from mdmem.extract.drafts import Draft, DraftRules, draw, draw_permissively
from mdmem.extract.noise import REDACTED
from mdmem.facts import fact_id
from mdmem.given import guard
from mdmem.model import CommitId
from mdmem.model.digests import LINES, Digest, DigestedEntry, DigestResult, LeftSession
from mdmem.model.rules import is_iso_day
from mdmem.model.sessions import Message, Speaker, Transcript
from mdmem.model.writes import DayEntry, DigestDay, WriteResult
from mdmem.queries import dates, taken_out
from mdmem.queries.restated import nearest_entries
from mdmem.startup import late
from mdmem.startup.records import dataclass, field, replace
from mdmem.transcripts.files import find_files, read_file, searched_folders
from mdmem.transcripts.reading import CLIENTS
from mdmem.workspace import Say, Workspace

_IDLE = timedelta(days=1)
"""A session in which nothing was said for so long has ended."""
_HOST_DIGITS = 8
_LOCK_NAME = "run.lock"
_SESSION_CHARACTERS = 6
"""A session is named by so many characters of its id or more."""
_BEFORE_ID = late.pattern(r"[-_T](?=[0-9a-f])")


@dataclass(slots=True)
class _Tally:
    """The figures of a run so far."""

    sessions: int = 0
    messages: int = 0
    size: int = 0
    noise: int = 0
    repeated: int = 0
    redacted: int = 0
    refused: int = 0
    surplus: int = 0
    entries: list[DigestedEntry] = field(default_factory=list)
    commits: list[CommitId] = field(default_factory=list)
    left: list[LeftSession] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _News:
    """The news of a transcript: the entries that were drawn, and the marks of the messages that were new.

    `settled`: what is read now gives no more, were it by permissive rules.
    """

    path: Path
    transcript: Transcript
    drafts: tuple[Draft, ...]
    settled: bool
    marks: tuple[str, ...] = ()


def digest(workspace: Workspace, request: Digest, say: Say) -> DigestResult:
    """Digest what is new in transcripts, one after another.

    A transcript that cannot be read is left alone and named; the others are done.

    Raises:
        PathProblem: `file-not-found`: there is no such transcript. RepositoryProblem: `running`: another digest is at work.
        MdmemError: the workspace cannot be written.
    """
    paths = [path for name in request.sessions for path in _named(workspace, name)] if request.sessions else _due(workspace)
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
    for path in paths:
        work.digest_file(path)
    work.finish()
    tally = work.tally
    return DigestResult(
        run=run,
        sessions=tally.sessions,
        messages=tally.messages,
        size=tally.size,
        noise=tally.noise,
        entries=tuple(tally.entries),
        repeated=tally.repeated,
        redacted=tally.redacted,
        refused=tally.refused,
        surplus=tally.surplus,
        commits=tuple(tally.commits),
        left=tuple(tally.left),
    )


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


def _named(workspace: Workspace, name: str) -> list[Path]:
    """The transcript at a path, or the one whose file is named after a session that begins so.

    Raises:
        PathProblem: `file-not-found`: there is none.
    """
    if Path(name).is_file():
        return [Path(name)]
    if len(name) >= _SESSION_CHARACTERS:
        sources = workspace.settings.sessions or CLIENTS
        paths = [Path(file.path) for file in find_files(sources, workspace.environment) if _is_of(Path(file.path), name)]
        if paths:
            return paths
    raise PathProblem(
        "file-not-found", f"there is no transcript {name}", "Name its file, or the first six characters of the session or more."
    )


def _is_of(path: Path, session: str) -> bool:
    """True if a file is named after a session that begins so."""
    return any(path.stem[at:].startswith(session) for at in (0, *(match.end() for match in _BEFORE_ID.finditer(path.stem))))


def _due(workspace: Workspace) -> list[Path]:
    """The transcripts that the settings name; none where they switch digests off.

    Raises:
        WorkspaceProblem: `no-sessions`: they name none, or there are none.
    """
    sources, environment = workspace.settings.sessions, workspace.environment
    if workspace.settings.digest == "off":
        return []
    own_settings = config.user_settings_path(environment) or Path("config.toml")
    if not sources:
        hint = f'Put sessions = ["claude"] into {own_settings}; the clients are {", ".join(CLIENTS)}.'
        raise WorkspaceProblem("no-sessions", "no client is named whose sessions are to be read", hint)
    paths = [Path(file.path) for file in find_files(sources, environment)]
    if not paths:
        folders = ", ".join(searched_folders(sources, environment))
        raise WorkspaceProblem(
            "no-sessions", f"there are no transcripts in {folders}", "Name other clients, or globs, in the setting sessions."
        )
    return paths


def _host() -> str:
    """A short name of this machine that does not tell which it is."""
    return sha256(platform.node().encode()).hexdigest()[:_HOST_DIGITS]


class _Work:
    """A run over transcripts: what is known of them, and the figures."""

    def __init__(self, workspace: Workspace, request: Digest, run: str, say: Say) -> None:
        self._workspace = workspace
        self._request = request
        self._run = run
        self._say = say
        self._zone = config.zone(workspace.settings.timezone)
        self._cursors = cursors.read_cursors(workspace.state)
        self._marks: dict[str, tuple[str, int]] | None = None
        self._taken_out: tuple[taken_out.TakenOut, ...] | None = None
        self._changed = False
        self.tally = _Tally()

    def digest_file(self, path: Path) -> None:
        """Digest what is new in one transcript."""
        try:
            status = path.stat()
        except OSError as problem:
            self.tally.left.append(LeftSession(str(path), problem.strerror or "cannot be read"))
            return
        name = str(path.resolve())
        cursor = self._cursors.get(name)
        if cursor is not None and not cursor.fits(status):
            cursor = None
        if cursor is not None and cursor.is_of(status) and (cursor.settled or not _is_idle(status)):
            return
        try:
            news = self._read(path, cursor, status)
        except TranscriptProblem as problem:
            self.tally.left.append(LeftSession(str(path), problem.code))
            return
        except OSError as problem:
            self.tally.left.append(LeftSession(str(path), problem.strerror or "cannot be read"))
            return
        counts = dict(cursor.entries or {}) if cursor else {}
        if news is not None:
            counts = self._write(news, counts)
        if not self._request.dry_run and self._request.since is None:  # else what was left out is still to be read
            self._note_marks(news)
            self._cursors[name] = replace(
                cursors.cursor_of(status),
                start=news.transcript.next_start if news else None,
                entries=counts,
                settled=news is not None and news.settled,
            )
            self._changed = True

    def finish(self) -> None:
        """Keep how far everything is read."""
        if self._changed:
            self._workspace.ensure_state()
            cursors.write_cursors(self._workspace.state, self._cursors)
            if self._marks is not None:
                cursors.write_marks(self._workspace.state, self._marks, _today())

    def _read(self, path: Path, cursor: Cursor | None, status: os.stat_result) -> _News | None:
        """Read what is new in a file; None where there is nothing, or nothing of a person's session."""
        start = cursor.start if cursor else None
        transcript = read_file(str(path), start, self._workspace.settings.owner)
        if transcript is None:
            if status.st_size and self._request.sessions:
                raise TranscriptProblem("unknown-format", "there is no record in it")
            return None
        if transcript.own or not self._is_in_scope(transcript.project):
            return _News(path=path, transcript=transcript, drafts=(), settled=True)
        rules = DraftRules(zone=self._zone, keep_lines=self._request.keep == LINES, tools_line=transcript.tools_line)
        fresh = self._fresh_messages(transcript)
        known_lines = {message.line for message in transcript.messages} - {message.line for message in fresh}
        reading = draw(transcript.messages, rules, transcript.after_line, known_lines)
        drafts = reading.drafts
        has_entries = bool(drafts or (cursor and cursor.entries))
        permissive = not has_entries and _is_idle(status)
        if permissive and transcript.after_line:
            whole = read_file(str(path), None, self._workspace.settings.owner)
            drafts = draw_permissively(whole.messages, rules) if whole else ()
        elif permissive:
            drafts = draw_permissively(transcript.messages, rules)
        self.tally.sessions += bool(fresh)
        self.tally.messages += len(fresh)
        self.tally.size += transcript.size - (cursor.size if cursor and transcript.after_line else 0)
        self.tally.noise += reading.noise
        self.tally.redacted += sum(REDACTED in message.text for message in fresh)
        marks = tuple(message.mark for message in fresh)
        return _News(path=path, transcript=transcript, drafts=drafts, settled=has_entries or permissive, marks=marks)

    def _is_in_scope(self, project: str | None) -> bool:
        """True if the sessions of a project are to be read: those that were named, else those of this work tree, or all."""
        if self._request.sessions or self._workspace.settings.session_scope == "all":
            return True
        return project is not None and Path(project).resolve().is_relative_to(self._workspace.repository.root)

    def _fresh_messages(self, transcript: Transcript) -> list[Message]:
        """The messages that nobody has read yet: not of a fork or a copy of another session, nor written once more by the client."""
        if self._marks is None:
            self._marks = cursors.read_marks(self._workspace.state)
        fresh = {
            message.mark: message
            for message in transcript.messages
            if message.line > transcript.after_line and message.mark not in self._marks
        }
        return list(fresh.values())

    def _note_marks(self, news: _News | None) -> None:
        """Note messages as read, now that their entries are written."""
        if news is not None and self._marks is not None:
            self._marks |= dict.fromkeys(news.marks, (_session_name(news.transcript), _today()))

    def _write(self, news: _News, counts: Mapping[str, int]) -> dict[str, int]:
        """Write the entries of a session; returns how many each day has of it now."""
        transcript = news.transcript
        read_to = f"{_session_name(transcript)}#{transcript.lines} {transcript.line_hash}"
        drafts = tuple(self._allowed(self._since(news.drafts)))
        days = session_days(drafts, _session_name(transcript), self._run, read_to, self._zone, counts)
        self.tally.surplus += days.surplus
        written: list[date] = []
        for change in days.changes:
            written += [entry.day for entry in self._write_day(change)]
        return count_by_day(counts, written)

    def _since(self, drafts: Iterable[Draft]) -> Iterator[Draft]:
        """The drafts of the days that are asked for."""
        first = None if self._request.since is None else date.fromisoformat(self._request.since)
        return (draft for draft in drafts if first is None or draft.time.astimezone(self._zone).date() >= first)

    def _allowed(self, drafts: Iterable[Draft]) -> Iterator[Draft]:
        """The drafts but for what a person took out, and for what an agent only says again of memory."""
        for draft in drafts:
            if self._taken_out is None:
                self._taken_out = taken_out.facts_taken_out(self._workspace, self._say)
            if taken_out.is_taken_out(draft.text, fact_id(draft.text), draft.time, self._taken_out):
                self.tally.refused += 1
            elif draft.speaker is Speaker.AGENT and self._is_current(draft.text):
                self.tally.repeated += 1
            else:
                yield draft

    def _is_current(self, text: str) -> bool:
        """True if memory says a text already."""
        ((_, nearest),) = nearest_entries(self._workspace, [text], self._say)
        return bool(guard.drop_given([(text, nearest)], ()).dropped)

    def _write_day(self, change: DigestDay) -> list[DigestedEntry]:
        """Carry out one change. One that is refused is tried again entry by entry, so that a single text does not hold the others up."""
        change = replace(change, options=replace(change.options, dry_run=self._request.dry_run))
        try:
            result = apply.apply(self._workspace, change, self._say)
        except (TextProblem, SectionProblem, PathProblem):
            if len(change.entries) == 1:
                self.tally.refused += 1
                return []
            single = [replace(change, entries=(entry,)) for entry in change.entries]
            return [written for each in single for written in self._write_day(each)]
        return self._note_written(change, result)

    def _note_written(self, change: DigestDay, result: WriteResult) -> list[DigestedEntry]:
        entries = [_written_entry(change, entry) for entry in change.entries]
        written = [entry for entry in entries if entry.fact in result.added]
        self.tally.entries += written
        self.tally.repeated += len(entries) - len(written)
        if result.commit is not None:
            self.tally.commits.append(result.commit)
        return written


def _written_entry(change: DigestDay, entry: DayEntry) -> DigestedEntry:
    source = change.options.source
    return DigestedEntry(
        fact=digest_day.entry_fact(entry),
        day=change.day,
        minute=entry.minute,
        kind=entry.kind,
        text=entry.text,
        source=source,
        confidence=source.confidence if change.options.confidence is None else change.options.confidence,
        cites=(entry.cites,),
    )


def _session_name(transcript: Transcript) -> str:
    return f"{transcript.client}/{transcript.session}"


def _is_idle(status: os.stat_result) -> bool:
    return datetime.now(UTC) - datetime.fromtimestamp(status.st_mtime, UTC) >= _IDLE


def _today() -> int:
    """The day, counted from 1970."""
    return (datetime.now(UTC).date() - date(1970, 1, 1)).days
