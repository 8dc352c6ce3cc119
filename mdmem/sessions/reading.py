"""Read a transcript: bytes in, messages out. Pure; first records tell the client's format."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice

from mdmem.model.errors import TranscriptProblem
from mdmem.model.sessions import Message, ReadingStart, Speaker, Transcript
from mdmem.sessions.clients import CLIENTS
from mdmem.sessions.records import (
    Client,
    Line,
    RawMessage,
    SessionHeader,
    parse_object,
    whole_lines,
)
from mdmem.sessions.tags import clean, strip_blocks

CONTEXT_MESSAGES = 20
"""Messages read before the new ones, so that answers keep their questions."""
OWN_REQUEST = "mdmem-extract/"
"""Begins the first text of a session of mdmem's own."""
_CLIENTS = {client.name: client for client in CLIENTS}
_MOST_FIRST_RECORDS = 20
_HASH_DIGITS = 12
_BEFORE_ALL = datetime.min.replace(tzinfo=UTC)


def recognise(data: bytes) -> Client | None:
    """The client by a file's first records (None: none yet; TranscriptProblem: unknown)."""
    first = islice(whole_lines(data), _MOST_FIRST_RECORDS)
    records = [record for line in first if (record := parse_object(line.data)) is not None]
    for record in records:
        for client in CLIENTS:
            if client.recognises(record):
                return client
    if records or data.count(b"\n", 0) >= _MOST_FIRST_RECORDS:
        message = "no client is known that writes transcripts in this format"
        raise TranscriptProblem("unknown-format", message)
    return None


def read(
    data: bytes,
    start: ReadingStart | None = None,
    owners: Collection[str] = (),
) -> Transcript | None:
    """Read a transcript, or the part of it that begins at `start`.

    Of a part, messages up to `start.read_line` are context. None: there is no record yet, or the
    part is not enough (the file was rewritten, or the conversation continues from before it).
    `owners` are ids of the user in group chats. Raises TranscriptProblem: `unknown-format`.
    """
    client = _CLIENTS[start.client] if start else recognise(data)
    if client is None:
        return None
    reader = _LineReader(start)
    header = _header(start)
    reading = client.read(reader.lines(data), header, start is not None, owners)
    if reading.needs_earlier_lines or reader.rewritten:
        return None
    messages = _clean_messages(reading.messages, start.time if start else None)
    after_line = start.read_line if start else 0
    own = start.own if start else None
    if own is None:
        of_user = (message for _, message, _ in messages if message.speaker is Speaker.USER)
        own = next((message.text.startswith(OWN_REQUEST) for message in of_user), None)
    return Transcript(
        client=client.name,
        session=header.session or "",
        project=header.project,
        started=header.started,
        messages=_in_order(client, [message for _, message, _ in messages]),
        lines=reader.number,
        size=reader.end,
        line_hash=reader.hash,
        tools_line=header.tools_line,
        compacted_line=header.compacted_line,
        own=own is True,
        skipped=tuple(skipped for skipped in reading.skipped if skipped.line > after_line),
        after_line=after_line,
        from_line=start.line if start else 1,
        next_start=_next_start(client.name, header, own, reader, messages, start),
    )


def read_header(data: bytes) -> tuple[Client, SessionHeader] | None:
    client = recognise(data)
    if client is None:
        return None
    header = SessionHeader()
    client.read(whole_lines(data), header, False, ())
    return client, header


def typed_texts(client: Client, data: bytes) -> list[str]:
    messages = client.read(whole_lines(data), SessionHeader(), True, ()).messages
    if client.sort_by_time:
        messages.sort(key=lambda message: message.time or _BEFORE_ALL)
    typed = (message.text for message in messages if message.typed)
    return [text for each in typed if (text := strip_blocks(each).strip())]


def was_rewritten(data: bytes, start: ReadingStart) -> bool:
    line = next(islice(whole_lines(data), start.read_line - 1, None), None)
    return line is None or line_hash(line.data) != start.read_hash


class _LineReader:
    def __init__(self, start: ReadingStart | None) -> None:
        self.start = start
        self.number, self.offset = (start.line - 1, start.offset) if start else (0, 0)
        self.end = self.offset
        self.hash: str | None = None
        self.rewritten = start is not None
        """True unless the line that the earlier reading ended with is still there."""

    def lines(self, data: bytes) -> Iterator[Line]:
        read_line = self.start.read_line if self.start else 0
        line: Line | None = None
        for line in whole_lines(data, self.number + 1, self.offset):
            if line.number == read_line and self.start:
                self.rewritten = line_hash(line.data) != self.start.read_hash
            yield line
        if line is not None:
            self.number, self.offset = line.number, line.offset
            self.end = line.offset + len(line.data) + 1
            self.hash = line_hash(line.data)


def _header(start: ReadingStart | None) -> SessionHeader:
    if start is None:
        return SessionHeader()
    return SessionHeader(
        session=start.session,
        project=start.project,
        started=start.started,
        unattended=start.unattended,
        tells_origin=start.tells_origin,
        tools_line=start.tools_line,
    )


_CleanMessage = tuple[RawMessage, Message, datetime | None]


def _clean_messages(
    raw_messages: Iterable[RawMessage], time: datetime | None
) -> list[_CleanMessage]:
    messages: list[_CleanMessage] = []
    for raw in raw_messages:
        time_before, time = time, raw.time or time
        text = clean(raw.text)
        if text:
            message = Message(
                line=raw.line,
                time=time,
                speaker=raw.speaker,
                typed=raw.typed,
                text=text,
                mark=_mark_of(time, raw.speaker, raw.text),
                id=raw.id,
                sender=(clean(raw.sender).replace("\n", " ") or "?") if raw.sender else None,
            )
            messages.append((raw, message, time_before))
    return messages


def clean_messages(messages: Iterable[RawMessage], started: datetime | None) -> tuple[Message, ...]:
    """The messages of a conversation that is no client's, as those of a transcript."""
    return tuple(message for _, message, _ in _clean_messages(messages, started))


def _in_order(client: Client, messages: list[Message]) -> tuple[Message, ...]:
    if client.sort_by_time:
        messages.sort(key=lambda message: message.time or _BEFORE_ALL)
    return tuple(messages)


def _next_start(
    client: str,
    header: SessionHeader,
    own: bool | None,
    reader: _LineReader,
    messages: list[_CleanMessage],
    start: ReadingStart | None,
) -> ReadingStart | None:
    if reader.hash is None:
        return start
    line, offset, time = reader.number, reader.offset, start.time if start else None
    unattended, tells_origin = header.unattended, header.tells_origin
    if messages:
        first, _, time = messages[max(0, len(messages) - CONTEXT_MESSAGES)]
        line, offset = first.line, first.offset
        unattended, tells_origin = first.unattended, first.tells_origin
    return ReadingStart(
        line=line,
        offset=offset,
        read_line=reader.number,
        read_hash=reader.hash,
        client=client,
        session=header.session,
        project=header.project,
        started=header.started,
        time=time,
        unattended=unattended,
        tells_origin=tells_origin,
        tools_line=header.tools_line,
        own=own,
    )


def line_hash(data: bytes) -> str:
    """The first 12 hex digits of the SHA-256 of a line without its end."""
    return hashlib.sha256(data).hexdigest()[:_HASH_DIGITS]


def _mark_of(time: datetime | None, speaker: Speaker, text: str) -> str:
    marked = f"{time.isoformat() if time else ''}\0{speaker.value}\0{text}"
    return line_hash(marked.encode("utf-8", "surrogatepass"))
