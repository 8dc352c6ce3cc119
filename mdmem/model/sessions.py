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
    """One message of a transcript, safe to store: without client blocks, secrets and control
    characters.

    - `time`: UTC; the previous message's where it has none (None: there is none before).
    - `typed`: a person typed it, not a host or a program. `id`: the client's own.
    - `mark`: 12 hex digits of the SHA-256 of raw time, speaker and text; copies share it.
    - `sender`: in a chat of several people, the speaker if it is not the owner.
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
    """The number of skipped lines of a transcript, the first of them, and why."""

    count: int
    first: int
    reason: str


@dataclass(frozen=True, slots=True)
class ReadingStart:
    """The position at which the next reading of a transcript may begin; some messages are read
    again.

    - `line`, `offset`: where to begin. `time`: of the message before.
    - `read_line`, `read_hash`: the last line read; if it differs, the file was rewritten.
    - `unattended`: nobody types. `tells_origin`: records name their origin. `own`: mdmem began
      it (None: nobody has said anything yet).
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

    - `lines`, `size`: whole lines read and their bytes, from the start of the file.
    - `line_hash`: 12 hex digits of the SHA-256 of the last of these lines.
    - `tools_line`: where the agent first used a tool. Messages before it are judged as those of a
      session without tools, so that reading in parts gives the same as reading the whole.
    - `compacted_line`: where the context was compacted last, in this part. `own`: mdmem began it.
    - `after_line`: messages after it are new (0: all). `from_line`: the first line read.
    - `next_start`: where to continue once the file has grown.
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

    - `reference`: with line or lines (`SESSION#12`, `SESSION#12-20`); None lists all sessions.
    - `since`: only sessions with messages since an ISO date or a past day in words.
    - `limit`: the newest sessions or messages. `chars`: maximum characters of a message.
    """

    reference: str | None = None
    client: str | None = None
    since: str | None = None
    limit: int = 40
    chars: int = 2000

    def __post_init__(self) -> None:
        require_possible_day(self.since, "since")
        require_range("limit", self.limit, 1, _MOST)
        require_range("chars", self.chars, 1, _MOST)


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A session: the figures of its transcript, and how much of it was digested.

    - `path`: of the transcript; `project`: its working folder.
    - `read_line`: the last digested line; `new_bytes`, `new_messages`: after it.
    - `gone`: the transcript is missing, so this is from earlier readings or commits.
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
    """A message of a session. `is_named`: in the lines asked for. `cut`: characters left out."""

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
    """Sessions, newest first. `folders`: possible sources, if the settings name no client yet."""

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
