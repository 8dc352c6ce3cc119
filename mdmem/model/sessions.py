"""Sessions as their transcripts tell them: who said what, when, and in which line of the file."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from mdmem.model.rules import require_possible_day, require_range
from mdmem.startup.records import dataclass


class Speaker(StrEnum):
    """The speaker of a message."""

    USER = "user"
    AGENT = "agent"


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a transcript, safe to store: without the blocks of clients and memory tools,
    secrets and control characters.

    - `line`: of the file, from 1.
    - `time`: in UTC; that of the message before where it has none (None: none before has one).
    - `typed`: a person typed these words; never true of what a host or a program put there.
    - `mark`: the first 12 hex digits of the SHA-256 of time, speaker and text as the file has it.
      Copies of a message have the same one.
    - `id`: the client's own.
    - `sender`: in a chat of several people, who says it if that is not the owner.
    """

    line: int
    time: datetime | None
    speaker: Speaker
    typed: bool
    text: str
    mark: str
    id: str | None = None
    sender: str | None = None


@dataclass(frozen=True, slots=True)
class SkippedLine:
    """A line of a transcript that was not read, and why."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class SkippedLines:
    """Lines of a transcript that were not read: their number, the first of them, and why that was
    not.
    """

    count: int
    first: int
    reason: str


@dataclass(frozen=True, slots=True)
class ReadingStart:
    """Where the next reading of a transcript may begin, and what the lines before it tell. Some
    messages before the last one are read again.

    - `line`, `offset`: the first line to read, and where it begins in the file.
    - `read_line`, `read_hash`: the last line that was read, and its hash. A file in which this line
      is another one was rewritten.
    - `time`: of the message before.
    - `unattended`: nobody types in this session. `tells_origin`: records say where their texts come
      from.
    - `own`: None before the first text.
    """

    line: int
    offset: int
    read_line: int
    read_hash: str
    client: str
    session: str | None
    project: str | None
    started: datetime | None
    time: datetime | None
    unattended: bool
    tells_origin: bool
    tools_line: int | None
    own: bool | None


@dataclass(frozen=True, slots=True)
class Transcript:
    """A session of a client, or the part of it that was read.

    - `session`: its id; `project`: the folder it works in.
    - `lines`, `size`: how many whole lines were read through, and their bytes. Both count from the
      start of the file.
    - `line_hash`: the first 12 hex digits of the SHA-256 of the last of these lines (None: there is
      none).
    - `tools_line`: the first line at which the agent used a tool (None: it used none). Messages
      before it are judged as those of a session without tools, so that a session that is read
      message by message gives what it gives as a whole.
    - `compacted_line`: where the context of the agent was compacted last, in the part that was read
      (None: nowhere).
    - `own`: mdmem itself began it.
    - `after_line`: messages behind this line are new; those up to it were read before (0: all are
      new, as in a file that was rewritten).
    - `from_line`: the first line that was read; `messages` says nothing of those before it.
    - `next_start`: where to go on once the file has grown (None: nothing is read yet).
    """

    client: str
    session: str
    project: str | None
    started: datetime | None
    messages: tuple[Message, ...]
    lines: int
    size: int
    line_hash: str | None
    tools_line: int | None
    own: bool
    compacted_line: int | None = None
    skipped: tuple[SkippedLine, ...] = ()
    after_line: int = 0
    from_line: int = 1
    next_start: ReadingStart | None = None


_MOST = 1_000_000


@dataclass(frozen=True, slots=True)
class ShowSessions:
    """List sessions, or show the messages of one.

    - `reference`: the session, with a line or lines (`SESSION#12`, `SESSION#12-20`); None lists all
      that count.
    - `client`: only this one's. `since`: an ISO date or a past day in words; only sessions in which
      something was said since then.
    - `limit`: the most sessions or messages, the newest. `chars`: the most characters of a message.
    """

    reference: str | None = None
    client: str | None = None
    since: str | None = None
    limit: int = 40
    chars: int = 2000

    def __post_init__(self) -> None:
        """Refuse an impossible day, and numbers out of their range."""
        require_possible_day(self.since)
        require_range("limit", self.limit, 1, _MOST)
        require_range("chars", self.chars, 1, _MOST)


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A session: the figures of its transcript, and how much of it digests have read. Times are in
    the user's zone.

    - `path`: of the transcript; `project`: the folder that the session works in.
    - `started`, `ended`: the times of its beginning and of its last message.
    - `read_line`: the last line that was read.
    - `new_bytes`, `new_messages`: what no digest has read yet.
    - `gone`: the transcript is not there any more; what is known of it is from earlier readings, or
      from commits.
    """

    client: str
    session: str
    path: str | None
    project: str | None
    started: datetime | None
    ended: datetime | None
    messages: int | None
    read_line: int
    new_bytes: int = 0
    new_messages: int = 0
    gone: bool = False

    @property
    def name(self) -> str:
        """CLIENT/SESSION."""
        return f"{self.client}/{self.session}"


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A message of a session. `is_named`: it stands in the lines that were named. `cut`: so many
    characters of its end are not shown.
    """

    line: int
    time: datetime | None
    speaker: str
    sender: str | None
    typed: bool
    text: str
    cut: int = 0
    is_named: bool = False


@dataclass(frozen=True, slots=True)
class ClientFolder:
    """A folder in which a client keeps transcripts, and how many there are."""

    client: str
    folder: str
    files: int


@dataclass(frozen=True, slots=True)
class SessionList:
    """Sessions, the newest first. `left_out`: there are more. `folders`: where transcripts could be
    read, if the settings name no client yet.
    """

    sessions: tuple[SessionSummary, ...]
    left_out: bool = False
    folders: tuple[ClientFolder, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session and messages of it, oldest first; `older` and `newer` ones are not shown."""

    session: SessionSummary
    messages: tuple[ShownMessage, ...]
    older: int = 0
    newer: int = 0
