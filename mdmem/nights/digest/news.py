"""Read a transcript's new messages, and draw entries from them. Nothing is written."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, tzinfo
from pathlib import Path

from mdmem.model.errors import TranscriptProblem
from mdmem.model.pipelines import LINES, Digest
from mdmem.model.sessions import Message, SkippedLine, Transcript
from mdmem.nights.digest.cursors import Cursor, ReadEnd, cursor_of
from mdmem.nights.digest.known_sessions import first_time
from mdmem.queries import cited_sessions
from mdmem.sessions.drafts import Draft, DraftRules, draw, draw_permissively
from mdmem.sessions.files import Scope, TranscriptFile, has_line, read_file, read_head
from mdmem.sessions.reading import line_hash
from mdmem.sessions.records import whole_lines
from mdmem.sessions.sentences import REDACTED
from mdmem.startup.records import dataclass, replace
from mdmem.workspace import Workspace


@dataclass(frozen=True, slots=True)
class News:
    """The news of a transcript: drawn entries and unread messages.

    - `marks`: of all messages read with it, earlier ones included.
    - `size`: the new bytes. `noise`: the new messages without content.
    - `has_entries`: some were drawn, now or before. `settled`: permissive rules can draw no more.
    - `outside`: it is another project's session.
    """

    transcript: Transcript
    drafts: tuple[Draft, ...] = ()
    messages: tuple[Message, ...] = ()
    marks: tuple[str, ...] = ()
    size: int = 0
    noise: int = 0
    has_entries: bool = False
    settled: bool = True
    outside: bool = False

    @property
    def session(self) -> str:
        """CLIENT/SESSION."""
        return f"{self.transcript.client}/{self.transcript.session}"

    @property
    def skipped(self) -> tuple[SkippedLine, ...]:
        return tuple(
            skipped
            for skipped in self.transcript.skipped
            if skipped.line > self.transcript.after_line
        )

    @property
    def redacted(self) -> int:
        return sum(REDACTED in message.text for message in self.messages)


def read_news(
    workspace: Workspace,
    request: Digest,
    file: TranscriptFile,
    cursor: Cursor | None,
    marks: Mapping[str, tuple[str, int]],
    zone: tzinfo | None,
    ended: int,
    scope: Scope,
    permissive: bool = True,
) -> News | None:
    """Read what is new in a file behind its cursor; None: it is empty so far.

    `marks` are the sessions of messages already read, `zone` None is the system's, `ended` (ns)
    means sessions last written before are over. `scope`: whose sessions count. `permissive` draws
    from those that are over by permissive rules if nothing else does.
    Raises: TranscriptProblem (`unknown-format`), OSError.
    """
    owners = workspace.settings.owner
    transcript = read_file(file.path, cursor.start if cursor else None, owners)
    if transcript is None:
        if file.size and request.sessions:
            raise TranscriptProblem("unknown-format", "it contains no records")
        return None
    if (
        cursor is not None
        and cursor.start is None
        and cursor.end is not None
        and has_line(file.path, cursor.end.line, cursor.end.hash)
    ):
        transcript = replace(transcript, after_line=cursor.end.line)
    if transcript.own or not scope.includes(transcript.project):
        return News(transcript=transcript, outside=not transcript.own)
    rules = DraftRules(
        zone=zone, keep_lines=request.keep == LINES, tools_line=transcript.tools_line
    )
    since = first_time(workspace, request.since)
    fresh = _fresh_messages(transcript, marks, since)
    known_lines = {message.line for message in transcript.messages} - {
        message.line for message in fresh
    }
    drawn = draw(transcript.messages, rules, transcript.after_line, known_lines)
    drafts = drawn.drafts
    has_entries = bool(drafts or (cursor and cursor.has_entries))
    permissive = permissive and not has_entries and file.modified <= ended
    if permissive:
        whole = read_file(file.path, None, owners) if transcript.after_line else transcript
        drafts = _draw_permissively(whole, rules, marks, since) if whole else ()
    return News(
        transcript=transcript,
        drafts=drafts,
        messages=fresh,
        marks=tuple(message.mark for message in transcript.messages),
        size=transcript.size - (cursor.read_size if cursor and transcript.after_line else 0),
        noise=drawn.noise,
        has_entries=has_entries or bool(drafts),
        settled=has_entries or permissive,
    )


def _draw_permissively(
    transcript: Transcript,
    rules: DraftRules,
    marks: Mapping[str, tuple[str, int]],
    since: datetime | None,
) -> tuple[Draft, ...]:
    """The best of an ended session without other entries, unless another said it first."""
    if draw(transcript.messages, rules).drafts:
        return ()
    session = f"{transcript.client}/{transcript.session}"
    own = [
        message
        for message in transcript.messages
        if marks.get(message.mark, (session, 0))[0] == session and was_said(message, since)
    ]
    return draw_permissively(own, rules)


def was_said(message: Message, since: datetime | None) -> bool:
    """True if a message is of a time or later; none is known to be, without a time of its own."""
    return since is None or (message.time is not None and message.time >= since)


def _fresh_messages(
    transcript: Transcript, marks: Collection[str], since: datetime | None
) -> tuple[Message, ...]:
    """Unread messages: not of a fork or copy of another session, nor a client's repeat."""
    fresh = {
        message.mark: message
        for message in transcript.messages
        if message.line > transcript.after_line
        and message.mark not in marks
        and was_said(message, since)
    }
    return tuple(fresh.values())


_Ends = dict[str, tuple[ReadEnd, ...]]


def committed_ends(workspace: Workspace) -> _Ends:
    """The last lines read of each session, CLIENT/SESSION, by the commits of digests."""
    ends: dict[str, list[ReadEnd]] = {}
    for name, hash_ in cited_sessions.lines_read(workspace):
        session, _, line = name.rpartition("#")
        ends.setdefault(session, []).append(ReadEnd(int(line), hash_))
    return {session: tuple(dict.fromkeys(each)) for session, each in ends.items()}


def rebuilt_cursor(file: TranscriptFile, ends: _Ends) -> Cursor | None:
    """None if the line has changed. Raises: TranscriptProblem (`unknown-format`), OSError."""
    head = read_head(file.path)
    hashes = (
        {(end.line, end.hash) for end in ends.get(f"{head.client}/{head.session}", ())}
        if head
        else set()
    )
    if not hashes:
        return None
    numbers = {line for line, _ in hashes}
    read: ReadEnd | None = None
    size = last = 0
    for line in whole_lines(Path(file.path).read_bytes()):
        last = line.number
        if line.number in numbers and (line.number, line_hash(line.data)) in hashes:
            read, size = (
                ReadEnd(line.number, line_hash(line.data)),
                line.offset + len(line.data) + 1,
            )
    if read is None:
        return None
    cursor = replace(cursor_of(file), read_size=size, end=read, has_entries=True, settled=True)
    return cursor if read.line == last else replace(cursor, size=size, changed=0)
