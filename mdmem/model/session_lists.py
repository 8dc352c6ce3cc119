"""Arguments and results of looking at sessions: the list of them, and one with its messages."""

from __future__ import annotations

from datetime import datetime

from mdmem.model.rules import require_possible_day, require_range
from mdmem.startup.records import dataclass

_MOST = 1_000_000


@dataclass(frozen=True, slots=True)
class ShowSessions:
    """List sessions, or show the messages of one.

    - `reference`: the session, with a line or lines (`SESSION#12`, `SESSION#12-20`); None lists all that count.
    - `client`: only this one's. `since`: an ISO date or a past day in words; only sessions in which something was said since then.
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
    """A session: the figures of its transcript, and how much of it digests have read. Times are in the user's zone.

    - `path`: of the transcript; `project`: the folder that the session works in.
    - `started`, `ended`: the times of its beginning and of its last message.
    - `read_line`: the last line that was read.
    - `new_bytes`, `new_messages`: what no digest has read yet.
    - `gone`: the transcript is not there any more; what is known of it is from earlier readings, or from commits.
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
    """A message of a session. `is_named`: it stands in the lines that were named. `cut`: so many characters of its end are not shown."""

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
    """Sessions, the newest first. `left_out`: there are more. `folders`: where transcripts could be read, if the settings name no client yet."""

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
