"""Sessions known to digests and commits: how far read, and whether the transcript is gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from mdmem.folder import config
from mdmem.model.errors import PathProblem, TranscriptProblem, UsageProblem
from mdmem.model.history import Blame, FactHistory, SectionHistory
from mdmem.model.sessions import SessionSummary, Transcript
from mdmem.nights.digest.cursors import ReadState, read_state
from mdmem.queries.cited_sessions import CitedSession, cited_sessions
from mdmem.sessions.clients import CLIENT_NAMES
from mdmem.sessions.files import (
    TranscriptFile,
    TranscriptHead,
    find_files,
    read_file,
    read_head,
    stat_file,
)
from mdmem.sessions.records import whole_lines
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.workspace import Workspace

_FEWEST_CHARACTERS = 6
"""The minimum of an id's characters that name a session, unless it is shorter."""
_LINES = late.pattern(r"#([0-9]{1,9})(?:-([0-9]{1,9}))?$")
_BEFORE_ID = late.pattern(r"[-_T](?=[0-9a-f])")
_MOST_NAMED = 10
_TOO_SHORT_HINT = (
    "Name its file, or its id: CLIENT/SESSION, SESSION, or the first six characters or more."
)


def first_time(workspace: Workspace, since: str | None = None) -> datetime | None:
    """The start of the first day to read, as asked for or by the settings; None: there is none."""
    settings = workspace.settings
    days = [each for each in (since, settings.sessions_since) if each is not None]
    if not days:
        return None
    day = max(map(date.fromisoformat, days))
    return datetime.combine(day, time.min, config.zone(settings.timezone)).astimezone()


def configured_files(workspace: Workspace) -> Iterator[TranscriptFile]:
    """The transcripts that the settings name, but those older than the first day to read."""
    since = first_time(workspace)
    first = 0.0 if since is None else since.timestamp() * 1e9
    for file in find_files(workspace.settings.sessions, workspace.environment):
        if file.modified >= first:
            yield file


@dataclass(frozen=True, slots=True)
class SessionName:
    """A session as a user names it; the lines are None if not named."""

    client: str | None
    session: str
    first_line: int | None = None
    last_line: int | None = None

    @property
    def without_lines(self) -> str:
        return self.session if self.client is None else f"{self.client}/{self.session}"

    def fits(self, client: str, session: str) -> bool:
        return self.client in (None, client) and (
            session == self.session
            or (len(self.session) >= _FEWEST_CHARACTERS and session.startswith(self.session))
        )


@dataclass(frozen=True, slots=True)
class NamedTranscript:
    path: Path
    head: TranscriptHead

    @property
    def session(self) -> str:
        """CLIENT/SESSION."""
        return f"{self.head.client}/{self.head.session}"


def parse_name(text: str) -> SessionName:
    """Parse `[CLIENT/]SESSION[#LINE[-LINE]]`. Raises: UsageProblem: lines in wrong order."""
    lines = _LINES.search(text)
    name = text[: lines.start()] if lines else text
    first = int(lines[1]) if lines else None
    last = int(lines[2]) if lines and lines[2] else first
    if first is not None and last is not None and not 1 <= first <= last:
        raise UsageProblem(
            f"{text[:80]} names no lines",
            "Lines count from 1, the lower number first: SESSION#12-20.",
        )
    client, slash, session = name.partition("/")
    if slash and client in CLIENT_NAMES:
        return SessionName(client, session, first, last)
    return SessionName(None, name, first, last)


def find_transcript(workspace: Workspace, name: SessionName) -> NamedTranscript | None:
    """The transcript of a session of any known client, by file names before contents.

    Raises: TranscriptProblem (`ambiguous`: several sessions begin so, or several files are of one).
    """
    if not name.session:
        return None
    files = [
        Path(file.path)
        for file in find_files((*workspace.settings.sessions, *CLIENT_NAMES), workspace.environment)
    ]
    likely = [path for path in files if _may_be_of(path, name.session)]
    for paths in (likely, [path for path in files if path not in set(likely)]):
        transcripts = [
            each for each in _read_heads(paths) if name.fits(each.head.client, each.head.session)
        ]
        exact = [each for each in transcripts if each.head.session == name.session]
        if transcripts:
            return _only(name, exact or transcripts)
    return None


def _only(name: SessionName, transcripts: list[NamedTranscript]) -> NamedTranscript:
    if len({each.session for each in transcripts}) == 1 and len(transcripts) > 1:
        transcripts = [
            each for each in transcripts if each.head.session in each.path.stem
        ] or transcripts
        if len(transcripts) > 1:  # what a sub-agent did has the id of its session
            transcripts = list(filter(_has_messages, transcripts)) or transcripts
    if len(transcripts) == 1:
        return transcripts[0]
    sessions = sorted({each.session for each in transcripts})
    names = sessions if len(sessions) > 1 else sorted(str(each.path) for each in transcripts)
    raise ambiguous(name, names)


def ambiguous(name: SessionName, names: Sequence[str]) -> TranscriptProblem:
    named = ", ".join((*names[:_MOST_NAMED], *(["…"] if len(names) > _MOST_NAMED else [])))
    message = f"{name.session[:80]} matches several: {named}"
    return TranscriptProblem(
        "ambiguous",
        message,
        "Name one of them, with more characters or by its file.",
        sessions=list(names),
    )


def _has_messages(transcript: NamedTranscript) -> bool:
    with suppress(TranscriptProblem, OSError):
        read = read_file(str(transcript.path))
        return read is not None and bool(read.messages)
    return False


def _read_heads(paths: Iterable[Path]) -> Iterator[NamedTranscript]:
    for path in paths:
        try:
            head = read_head(str(path))
        except (TranscriptProblem, OSError):
            continue
        if head is not None:
            yield NamedTranscript(path, head)


def _may_be_of(path: Path, session: str) -> bool:
    """True if a file's name fits a session; some names have only an id's beginning."""
    parts = _name_parts(path.stem)
    return any(
        part.startswith(session) or (len(part) >= _FEWEST_CHARACTERS and session.startswith(part))
        for part in parts
    )


def _name_parts(stem: str) -> list[str]:
    """A file name and its possible ids: `rollout-TIME-ID`, `TIME_ID`, `session-TIME-ID`."""
    return [stem[at:] for at in (0, *(match.end() for match in _BEFORE_ID.finditer(stem)))]


def named_transcript(workspace: Workspace, name: str) -> Path:
    """Raises: PathProblem (`file-not-found`), TranscriptProblem (`ambiguous`), UsageProblem."""
    if is_file(name):
        return Path(name)
    session = parse_name(name)
    if session.first_line is not None:
        raise UsageProblem(
            f"{name[:80]} names lines", "A session is read as a whole: name it without them."
        )
    transcript = find_transcript(workspace, session)
    if transcript is None:
        raise not_found(name)
    return transcript.path


def is_file(name: str) -> bool:
    """True if a name is the path of a file; some are no path at all."""
    try:
        return Path(name).is_file()
    except (OSError, ValueError):
        return False


def not_found(name: str) -> PathProblem:
    return PathProblem("file-not-found", f"no transcript {name[:200]}", _TOO_SHORT_HINT)


Answer = TypeVar("Answer", bound=SectionHistory | FactHistory | Blame)


def with_gone(workspace: Workspace, answer: Answer) -> Answer:
    gone = _gone_sessions(workspace, map(_session, answer.cites))
    return replace(answer, gone=tuple(cited for cited in answer.cites if _session(cited) in gone))


def _session(cited: str) -> str:
    return cited.rpartition("#")[0]


def _gone_sessions(workspace: Workspace, sessions: Iterable[str]) -> set[str]:
    """The sessions without a transcript.

    Files are searched by name; only without a match are the first records read of configured and
    digested files.
    """
    by_client: dict[str, set[str]] = {}
    for session in sessions:
        client = session.partition("/")[0]
        if client in CLIENT_NAMES:  # what was imported has no transcript
            by_client.setdefault(client, set()).add(session)
    gone: set[str] = set()
    for client, of_client in by_client.items():
        files = find_files([client], workspace.environment)
        gone |= of_client - _named_sessions(of_client, files)
    if gone:
        sources = find_files(workspace.settings.sessions, workspace.environment)
        read = read_state(workspace.state).cursors
        paths = dict.fromkeys((*(file.path for file in sources), *read))
        gone -= {transcript.session for transcript in _read_heads(map(Path, paths))}
    return gone


def _named_sessions(sessions: Iterable[str], files: Iterable[TranscriptFile]) -> set[str]:
    paths = [Path(file.path) for file in files]
    ids = {session: session.partition("/")[2] for session in sessions}
    return {
        session
        for session, name in ids.items()
        # The first test is quicker than the second.
        if any(name[:_FEWEST_CHARACTERS] in path.stem and _may_be_of(path, name) for path in paths)
    }


_ID = late.pattern(r"[0-9a-f]{8}")
_SHORT_ID = 8
"""The characters of an id that some clients put into the names of files."""


class KnownSessions:
    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._zone = config.zone(workspace.settings.timezone)

    @cached_property
    def _read(self) -> ReadState:
        return read_state(self._workspace.state)

    @cached_property
    def _cited(self) -> Mapping[str, CitedSession]:
        return cited_sessions(self._workspace)

    def summary(self, path: Path, transcript: Transcript) -> SessionSummary:
        times = [message.time for message in transcript.messages if message.time is not None]
        read_line = min(self._read_line(path, transcript), transcript.lines)
        new = [
            message
            for message in transcript.messages
            if message.line > read_line and message.mark not in self._read.marks
        ]
        return SessionSummary(
            client=transcript.client,
            session=transcript.session,
            path=str(path),
            project=transcript.project,
            started=self._local(transcript.started or min(times, default=None)),
            ended=self._local(max(times, default=None)),
            messages=len(transcript.messages),
            read_line=read_line,
            new_bytes=transcript.size - _size_through(path, read_line),
            new_messages=len(new),
        )

    def _read_line(self, path: Path, transcript: Transcript) -> int:
        cursor = self._read.cursors.get(str(path.resolve()))
        if cursor is not None and not cursor.problem:
            return cursor.read_line if cursor.fits(stat_file(path)) else 0
        cited = self._cited.get(f"{transcript.client}/{transcript.session}")
        return cited.read_line if cited else 0

    def gone(self, files: Iterable[TranscriptFile]) -> Iterator[SessionSummary]:
        existing = self._existing_names([file.path for file in files])
        for name, session in self._all().items():
            id_ = session.session
            if existing.isdisjoint((name, id_, id_[:_SHORT_ID], id_.partition("_")[0])) and (
                session.path is None or not Path(session.path).exists()
            ):
                yield session

    def _existing_names(self, paths: Iterable[str]) -> set[str]:
        names: set[str] = set()
        for path in map(Path, paths):
            names.update(_name_parts(path.stem))
            if not _ID.search(path.stem):
                names.update(each.session for each in _read_heads([path]))
        return names

    def _all(self) -> dict[str, SessionSummary]:
        """All known sessions by CLIENT/SESSION, as if they were gone."""
        sessions = {
            name: SessionSummary(
                client=name.partition("/")[0],
                session=name.partition("/")[2],
                path=None,
                project=None,
                started=None,
                ended=self._local(cited.time),
                messages=None,
                read_line=cited.read_line,
                gone=True,
            )
            for name, cited in self._cited.items()
            if name.partition("/")[0] in CLIENT_NAMES
        }
        for path, cursor in self._read.cursors.items():
            if (start := cursor.start) is not None and start.session and not start.own:
                session = SessionSummary(
                    client=start.client,
                    session=start.session,
                    path=path,
                    project=start.project,
                    started=self._local(start.started),
                    ended=self._local(
                        datetime.fromtimestamp(cursor.changed / 1e9, UTC)
                        if cursor.changed
                        else start.time
                    ),
                    messages=None,
                    read_line=start.read_line,
                    gone=True,
                )
                sessions[session.name] = session
        return sessions

    def gone_session(self, name: SessionName, reference: str) -> SessionSummary:
        """Raises: PathProblem (`file-not-found`), TranscriptProblem (`ambiguous`)."""
        files = find_files(
            (*self._workspace.settings.sessions, *CLIENT_NAMES), self._workspace.environment
        )
        fitting = [
            session for session in self.gone(files) if name.fits(session.client, session.session)
        ]
        exact = [session for session in fitting if session.session == name.session]
        if len(exact or fitting) > 1:
            raise ambiguous(name, [session.name for session in exact or fitting])
        if not fitting:
            raise not_found(reference)
        return (exact or fitting)[0]

    def _local(self, moment: datetime | None) -> datetime | None:
        return moment.astimezone(self._zone) if moment else None


def _size_through(path: Path, read_line: int) -> int:
    if read_line == 0:
        return 0
    return next(
        (
            line.offset + len(line.data) + 1
            for line in whole_lines(path.read_bytes())
            if line.number == read_line
        ),
        0,
    )
