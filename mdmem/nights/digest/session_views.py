"""List sessions, or show the messages of one."""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, time, tzinfo
from itertools import islice
from operator import itemgetter
from pathlib import Path

from mdmem.folder import config
from mdmem.index.session_messages import purged_texts
from mdmem.lookup import dates
from mdmem.model.errors import TranscriptProblem, UsageProblem, field, number_of
from mdmem.model.sessions import (
    ClientFolder,
    Message,
    SessionList,
    SessionSummary,
    SessionView,
    ShownMessage,
    ShowSessions,
)
from mdmem.nights.digest import known_sessions
from mdmem.nights.digest.known_sessions import KnownSessions, SessionName
from mdmem.sessions.clients import CLIENT_NAMES
from mdmem.sessions.files import (
    Scope,
    TranscriptFile,
    find_files,
    read_file,
    read_head,
    searched_folders,
    settings_hint,
)
from mdmem.workspace import Say, Workspace, session_folders

_LINES_BEHIND = 20
"""Lines behind cited ones in which messages around them are looked for."""
_CONTEXT_MESSAGES = 5
"""Messages shown before and behind the named lines."""
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


def list_sessions(workspace: Workspace, request: ShowSessions) -> SessionList:
    """Without configured sessions, possible ones are listed, unread. Raises: UsageProblem."""
    if request.client is not None and request.client not in CLIENT_NAMES:
        raise UsageProblem(
            f"{field('client')} is {request.client[:80]!r}",
            f"The clients are {', '.join(CLIENT_NAMES)}.",
        )
    settings, environment = workspace.settings, workspace.environment
    if not settings.sessions:
        hints = ("no transcript source configured", settings_hint(environment))
        return SessionList((), folders=tuple(_folders(workspace)), notes=hints)
    listing = _Listing(workspace, request)
    sessions = listing.newest_first()
    notes = listing.notes
    if not listing.files:
        notes = (
            *notes,
            f"no transcripts in {', '.join(searched_folders(settings.sessions, environment))}",
        )
    if request.client is not None and not sessions and request.client not in settings.sessions:
        notes = (*notes, f"the setting sessions does not include {request.client}")
    shown = sorted(
        sessions[: request.limit],
        key=lambda session: session.ended or session.started or _LONG_AGO,
        reverse=True,
    )
    return SessionList(tuple(shown), left_out=len(sessions) > request.limit, notes=notes)


def _folders(workspace: Workspace) -> Iterator[ClientFolder]:
    for client in CLIENT_NAMES:
        paths = [file.path for file in find_files((client,), workspace.environment)]
        for folder in searched_folders((client,), workspace.environment):
            yield ClientFolder(
                client,
                folder,
                sum(path.startswith(f"{os.path.realpath(folder)}/") for path in paths),
            )


class _Listing:
    def __init__(self, workspace: Workspace, request: ShowSessions) -> None:
        self._workspace = workspace
        self._request = request
        self._scope = Scope(workspace.settings.session_scope, session_folders(workspace))
        self._since = _LONG_AGO
        if request.since is not None:
            day = dates.past_day(workspace, request.since, "since")
            self._since = datetime.combine(
                day, time.min, tzinfo=config.zone(workspace.settings.timezone)
            ).astimezone(UTC)
        self.files = sorted(
            find_files(workspace.settings.sessions, workspace.environment),
            key=lambda file: (-file.modified, file.path),
        )
        self._known = KnownSessions(workspace)
        self._unread: list[str] = []
        self._elsewhere = 0

    @property
    def notes(self) -> tuple[str, ...]:
        unread = (
            f"{number_of(len(self._unread), 'transcript')} could not be read, such as"
            f" {next(iter(self._unread), '')}"
        )
        elsewhere = (
            f"{number_of(self._elsewhere, 'session')} of other folders left out; to include them:"
            ' session_scope = "all" in your user settings'
        )
        return (*((unread,) if self._unread else ()), *((elsewhere,) if self._elsewhere else ()))

    def newest_first(self) -> list[SessionSummary]:
        """By last change, gone ones included, one more than shown."""
        by_time = itemgetter(1)
        gone = [
            (session, session.ended or _LONG_AGO)
            for session in self._known.gone(self.files)
            if self._counts(session)
        ]
        gone.sort(key=by_time, reverse=True)
        both = heapq.merge(self._existing(), gone, key=by_time, reverse=True)
        return [session for session, _ in islice(both, self._request.limit + 1)]

    def _counts(self, session: SessionSummary) -> bool:
        is_in_scope = session.project is None or self._scope.includes(session.project)
        return (
            is_in_scope
            and self._request.client in (None, session.client)
            and (session.ended or _LONG_AGO) >= self._since
        )

    def _existing(self) -> Iterator[tuple[SessionSummary, datetime]]:
        for file in self.files:
            modified = datetime.fromtimestamp(file.modified / 1e9, UTC)
            if modified < self._since:
                return
            try:
                session = self._summary(file)
            except TranscriptProblem as problem:
                self._unread.append(f"{file.path} ({problem.code})")
                continue
            except OSError as problem:
                self._unread.append(f"{file.path} ({problem.strerror})")
                continue
            if session is not None and (session.ended or modified) >= self._since:
                yield session, modified

    def _summary(self, file: TranscriptFile) -> SessionSummary | None:
        head = read_head(file.path)
        if head is None or self._request.client not in (None, head.client):
            return None
        if head.project is not None and not self._scope.includes(head.project):
            self._elsewhere += 1
            return None
        transcript = read_file(file.path, None, self._workspace.settings.owner)
        if (
            transcript is None
            or transcript.own
            or not transcript.messages
            or not self._scope.includes(transcript.project)
        ):
            return None
        return self._known.summary(Path(file.path), transcript)


def show_session(
    workspace: Workspace, request: ShowSessions, reference: str, say: Say
) -> SessionView:
    """Raises: PathProblem (`file-not-found`), TranscriptProblem (`ambiguous`, `unknown-format`,
    `bad-line`).
    """
    sessions, zone = KnownSessions(workspace), config.zone(workspace.settings.timezone)
    name = (
        SessionName(None, reference)
        if known_sessions.is_file(reference)
        else known_sessions.parse_name(reference)
    )
    if known_sessions.is_file(name.without_lines):
        path = Path(name.without_lines)
    else:
        transcript_file = known_sessions.find_transcript(workspace, name)
        if transcript_file is None:
            return SessionView(sessions.gone_session(name, reference), ())
        path = transcript_file.path
    transcript = read_file(str(path), None, workspace.settings.owner)
    if transcript is None:
        raise known_sessions.not_found(reference)
    if name.first_line is not None and name.first_line > transcript.lines:
        message = f"no line {name.first_line} in {path}"
        raise TranscriptProblem(
            "bad-line",
            message,
            f"It has {number_of(transcript.lines, 'line')}.",
            last=transcript.lines,
        )
    purged = purged_texts(workspace, say)
    messages = [message for message in transcript.messages if not purged.hold(message)]
    first, last = _part(messages, name, request.limit)
    return SessionView(
        session=sessions.summary(path, transcript),
        messages=tuple(
            _shown(message, name, request.chars, zone) for message in messages[first:last]
        ),
        older=first,
        newer=len(messages) - last,
    )


def cited_messages(
    workspace: Workspace, request: ShowSessions, reference: str, say: Say
) -> tuple[ShownMessage, ...]:
    """The messages in and around cited lines (`CLIENT/SESSION#LINE`); none if the session is gone.

    A transcript is not read to its end, so whether its user took back something later is not told.

    Raises: TranscriptProblem (`ambiguous`, `unknown-format`).
    """
    name = known_sessions.parse_name(reference)
    transcript_file = known_sessions.find_transcript(workspace, name)
    if transcript_file is None or name.last_line is None:
        return ()
    lines = name.last_line + _LINES_BEHIND
    transcript = read_file(str(transcript_file.path), None, workspace.settings.owner, lines)
    if transcript is None or name.last_line > transcript.lines:
        return ()
    purged, zone = purged_texts(workspace, say), config.zone(workspace.settings.timezone)
    messages = [message for message in transcript.messages if not purged.hold(message)]
    first, last = _part(messages, name, request.limit)
    return tuple(_shown(message, name, request.chars, zone) for message in messages[first:last])


def _part(messages: Sequence[Message], name: SessionName, limit: int) -> tuple[int, int]:
    if name.first_line is None or name.last_line is None:
        return max(0, len(messages) - limit), len(messages)
    positions = [
        number
        for number, message in enumerate(messages)
        if name.first_line <= message.line <= name.last_line
    ]
    behind = next(
        (number for number, message in enumerate(messages) if message.line > name.last_line),
        len(messages),
    )
    first, last = (positions[0], positions[-1] + 1) if positions else (behind, behind)
    first = max(first, last - limit)
    room = limit - (last - first)
    return max(0, first - min(_CONTEXT_MESSAGES, room // 2)), min(
        len(messages), last + min(_CONTEXT_MESSAGES, room - room // 2)
    )


def _shown(message: Message, name: SessionName, chars: int, zone: tzinfo | None) -> ShownMessage:
    return ShownMessage(
        line=message.line,
        time=message.time.astimezone(zone) if message.time else None,
        speaker=message.speaker.value,
        sender=message.sender,
        typed=message.typed,
        text=message.text[:chars],
        cut=max(0, len(message.text) - chars),
        is_named=name.first_line is not None
        and name.last_line is not None
        and name.first_line <= message.line <= name.last_line,
    )
