"""Shared parts of the clients' readers: lines, the result of reading, fields of a record."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from mdmem.model.sessions import SkippedLine, Speaker
from mdmem.startup import late
from mdmem.startup.records import dataclass, field

_MOST_LINE_BYTES = 8 * 1024 * 1024
_TOO_LONG, _NO_OBJECT = "over 8 MB", "no JSON object"
_LONG = 2048
"""Shorter lines are parsed at once."""
_TYPE_NAME = late.pattern(r"[A-Za-z0-9_.$-]{1,40}")
_YEARS = range(1970, 9000)
"""At the ends of the calendar the next day, or another zone's time, may not exist."""


class Line(NamedTuple):
    """A line without its end: its number in the file (from 1), its offset, its bytes."""

    number: int
    offset: int
    data: bytes


def whole_lines(data: bytes, number: int = 1, offset: int = 0) -> Iterator[Line]:
    """The whole lines of `data`, which begins at `offset` of the file with line `number`."""
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        yield Line(number, offset + start, data[start:end])
        start, number = end + 1, number + 1


def last_line(data: bytes) -> Line | None:
    """The last whole line of a file; None where there is none."""
    end = data.rfind(b"\n")
    start = data.rfind(b"\n", 0, max(end, 0)) + 1
    return Line(data.count(b"\n"), start, data[start:end]) if end >= 0 else None


def parse_object(data: bytes | str) -> dict[str, Any] | None:
    """The JSON object of a line or text (None: it is none)."""
    try:
        values = json.loads(data if isinstance(data, str) else data.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None


@dataclass(frozen=True, slots=True)
class RawMessage:
    """A message as in the file, with header values as of when it was read."""

    line: int
    offset: int
    time: datetime | None
    speaker: Speaker
    typed: bool
    text: str
    id: str | None = None
    sender: str | None = None
    unattended: bool = False
    tells_origin: bool = False


@dataclass(slots=True)
class SessionHeader:
    """The facts about a session besides its messages.

    `unattended`: a program or another agent began it. `tells_origin`: records name the origin of
    typed texts. `tools_line`: the first use of a tool; `compacted_line`: the last compaction.
    """

    session: str | None = None
    project: str | None = None
    started: datetime | None = None
    unattended: bool = False
    tells_origin: bool = False
    tools_line: int | None = None
    compacted_line: int | None = None

    def set_first(self, session: Any = None, project: Any = None, started: Any = None) -> None:
        self.session = self.session or text_of(session)
        self.project = self.project or text_of(project)
        self.started = self.started or time_of(started)

    def note_tools(self, line: int) -> None:
        if self.tools_line is None:
            self.tools_line = line


@dataclass(slots=True)
class Reading:
    """`needs_earlier_lines`: this part does not tell which messages count: read the whole file."""

    header: SessionHeader
    messages: list[RawMessage] = field(default_factory=list)
    skipped: list[SkippedLine] = field(default_factory=list)
    needs_earlier_lines: bool = False

    def skip(self, line: int, reason: str) -> None:
        self.skipped.append(SkippedLine(line, reason))

    def skip_type(self, line: int, name: Any) -> None:
        shown = name if isinstance(name, str) and _TYPE_NAME.fullmatch(name) else "?"
        self.skip(line, f"unknown type {shown}")


class Place(NamedTuple):
    """Where a client keeps its sessions: the folder that `variable`, if any, names, or `folder`."""

    variable: str | None
    folder: str
    files: str


Read = Callable[[Iterable[Line], SessionHeader, bool, Collection[str]], Reading]


@dataclass(frozen=True, slots=True)
class Client:
    """A client: where its sessions are, how they are recognised and read.

    - `tags`: in which it puts text of its own. `recognises`: a record of this client alone.
    - `read`: lines and header to messages; also given: whether this is a part, whose earlier lines
      are missing and whose header has what they told; owners' ids.
    - `sort_by_time`: its messages have to be sorted, as an answer may be before its question.
    - `one_dot`: files with a second dot in their names, copies and traces, are not read.
    - `project_file`: names the project, in the folder above the session's.
    """

    name: str
    places: tuple[Place, ...]
    tags: frozenset[str]
    recognises: Callable[[dict[str, Any]], bool]
    read: Read
    sort_by_time: bool = False
    one_dot: bool = False
    project_file: str | None = None


def parsed_lines(
    lines: Iterable[Line],
    reading: Reading,
    is_no_message: Callable[[Line], bool] = lambda line: False,
) -> Iterator[tuple[Line, dict[str, Any]]]:
    """The lines with their records; long ones that surely hold no message are passed over."""
    for line in lines:
        size = len(line.data)
        if size > _MOST_LINE_BYTES:
            reading.skip(line.number, _TOO_LONG)
        elif size <= _LONG or not _looks_whole(line.data) or not is_no_message(line):
            record = parse_object(line.data)
            if record is not None:
                yield line, record
            elif line.data.strip():
                reading.skip(line.number, _NO_OBJECT)


def _looks_whole(data: bytes) -> bool:
    return data.startswith(b"{") and data.rstrip().endswith(b"}")


@dataclass(frozen=True, slots=True)
class TreeLine:
    """A line of a file that is a tree: lines follow others, and what was abandoned stays."""

    id: str
    parent: str | None
    message: RawMessage | None = None


def last_branch(entries: list[TreeLine], reading: Reading, is_part: bool) -> list[RawMessage]:
    """From a root to the last entry; a link to a damaged line leads to the one before."""
    positions = {entry.id: position for position, entry in enumerate(entries)}
    messages: list[RawMessage] = []
    position = len(entries) - 1
    while position >= 0:
        entry = entries[position]
        if entry.message is not None:
            messages.append(entry.message)
        if entry.parent is None:
            break
        before = positions.get(entry.parent, -1)
        if before >= position or before < 0:
            reading.needs_earlier_lines = reading.needs_earlier_lines or (is_part and position > 0)
            before = position - 1
        position = before
    return messages[::-1]


def text_of(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def object_of(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def objects_of(value: Any) -> list[dict[str, Any]]:
    return [item for item in list_of(value) if isinstance(item, dict)]


def time_of(value: Any) -> datetime | None:
    """A time in UTC, of ISO 8601 or of milliseconds since 1970 (None: neither)."""
    try:
        if isinstance(value, str):
            time = datetime.fromisoformat(value)
            time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            time = datetime.fromtimestamp(value / 1000, UTC)
        else:
            return None
    except (ValueError, OverflowError, OSError):
        return None
    return time if time.year in _YEARS else None


def joined_text(content: Any, types: tuple[str, ...] = ("text",)) -> str:
    """The text of a message: itself, or that of its blocks of these types."""
    if isinstance(content, str):
        return content
    blocks = (block for block in objects_of(content) if text_of(block.get("type")) in types)
    texts = (block.get("text") for block in blocks)
    return "\n".join(text for text in texts if isinstance(text, str))


_FILES = late.pattern(r"(?m)^--- Content from (?:referenced files|MCP resource [^\n]*) ---[ \t]*$")
"""After it is what a prompt names with `@`, and nothing else, so no mark in this ends it."""


def text_of_parts(content: Any) -> str:
    """The text of a message of Gemini CLI or its like, without thoughts and files."""
    texts = (text_of(part.get("text")) for part in objects_of(content) if not part.get("thought"))
    text = content if isinstance(content, str) else "\n".join(filter(None, texts))
    files = _FILES.search(text)
    return text[: files.start()] if files else text
