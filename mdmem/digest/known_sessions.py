"""Sessions as digests and commits know them: how much of each is read, and those whose transcripts are gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from mdmem import config
from mdmem.digest import cursors, marks, sources
from mdmem.digest.cursors import Cursor
from mdmem.digest.sources import SessionName, name_parts
from mdmem.errors import TranscriptProblem
from mdmem.model.session_lists import SessionSummary
from mdmem.model.sessions import Transcript
from mdmem.queries.cited_sessions import CitedSession, cited_sessions
from mdmem.startup import late
from mdmem.transcripts import CLIENT_NAMES
from mdmem.transcripts.files import TranscriptFile, find_files, read_head, stat_file
from mdmem.transcripts.records import whole_lines
from mdmem.workspace import Workspace

_ID = late.pattern(r"[0-9a-f]{8}")
_SHORT_ID = 8
"""The characters of an id that some clients put into the names of files."""


class KnownSessions:
    """The sessions that cursors and commits know."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._zone = config.zone(workspace.settings.timezone)

    @cached_property
    def _cursors(self) -> Mapping[str, Cursor]:
        return cursors.read_cursors(self._workspace.state)

    @cached_property
    def _marks(self) -> Mapping[str, tuple[str, int]]:
        return marks.read_marks(self._workspace.state)

    @cached_property
    def _cited(self) -> Mapping[str, CitedSession]:
        return cited_sessions(self._workspace)

    def summary(self, path: Path, transcript: Transcript) -> SessionSummary:
        """Sum up a session whose transcript was read as a whole."""
        times = [message.time for message in transcript.messages if message.time is not None]
        read_line = min(self._read_line(path, transcript), transcript.lines)
        new = [message for message in transcript.messages if message.line > read_line and message.mark not in self._marks]
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
        """The last line that was read: by the cursor of the file, else by commits."""
        cursor = self._cursors.get(str(path.resolve()))
        if cursor is not None and not cursor.problem:
            return cursor.read_line if cursor.fits(stat_file(path)) else 0
        cited = self._cited.get(f"{transcript.client}/{transcript.session}")
        return cited.read_line if cited else 0

    def gone(self, files: Iterable[TranscriptFile]) -> Iterator[SessionSummary]:
        """The sessions whose transcripts are not there any more; `files` are those that are."""
        existing = self._existing_names([file.path for file in files])
        for name, session in self._all().items():
            if not existing.isdisjoint((name, session.session, session.session[:_SHORT_ID], session.session.partition("_")[0])):
                continue
            if session.path is None or not Path(session.path).exists():
                yield session

    def _existing_names(self, paths: Iterable[str]) -> set[str]:
        """Names by which sessions of files can be told: parts of the names of files, and for files with other names what is in them."""
        names: set[str] = set()
        for path in paths:
            stem = Path(path).stem
            names.update(name_parts(stem))
            if not _ID.search(stem):
                try:
                    head = read_head(path)
                except (TranscriptProblem, OSError):
                    continue
                if head is not None:
                    names.add(f"{head.client}/{head.session}")
        return names

    def _all(self) -> dict[str, SessionSummary]:
        """All sessions that cursors and commits know, by CLIENT/SESSION, as if they were gone."""
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
        }
        for path, cursor in self._cursors.items():
            if (start := cursor.start) is not None and start.session and not start.own:
                session = SessionSummary(
                    client=start.client,
                    session=start.session,
                    path=path,
                    project=start.project,
                    started=self._local(start.started),
                    ended=self._local(datetime.fromtimestamp(cursor.changed / 1e9, UTC) if cursor.changed else start.time),
                    messages=None,
                    read_line=start.read_line,
                    gone=True,
                )
                sessions[session.name] = session
        return sessions

    def gone_session(self, name: SessionName, reference: str) -> SessionSummary:
        """The session of a name whose transcript is not there any more.

        Raises:
            PathProblem: `file-not-found`: nothing knows such a session. TranscriptProblem: `ambiguous`.
        """
        files = find_files((*self._workspace.settings.sessions, *CLIENT_NAMES), self._workspace.environment)
        fitting = [session for session in self.gone(files) if name.fits(session.client, session.session)]
        exact = [session for session in fitting if session.session == name.session]
        if len(exact or fitting) > 1:
            raise sources.ambiguous(name, [session.name for session in exact or fitting])
        if not fitting:
            raise sources.not_found(reference)
        return (exact or fitting)[0]

    def _local(self, moment: datetime | None) -> datetime | None:
        """A time in the user's zone."""
        return moment.astimezone(self._zone) if moment else None


def _size_through(path: Path, read_line: int) -> int:
    """The bytes of a transcript up to a line and with it."""
    if read_line == 0:
        return 0
    return next((line.offset + len(line.data) + 1 for line in whole_lines(path.read_bytes()) if line.number == read_line), 0)
