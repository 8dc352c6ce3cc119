"""Transcripts of the Gemini CLI: `~/.gemini/tmp/*/chats/session-*.jsonl`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from mdmem.model.sessions import Speaker
from mdmem.sessions.records import (
    Client,
    Line,
    Place,
    RawMessage,
    Reading,
    SessionHeader,
    parsed_lines,
    text_of,
    text_of_parts,
    time_of,
)

_SPEAKERS = {"user": Speaker.USER, "gemini": Speaker.AGENT}
_OTHER_TYPES = frozenset({"info", "error", "warning"})
_MAIN = "main"
_LOOP_NOTICE, _CONTINUE = "System: Potential loop detected.", "Please continue."


def _recognises(record: dict[str, Any]) -> bool:
    has_ids = text_of(record.get("sessionId")) and text_of(record.get("projectHash"))
    return "type" not in record and has_ids is not None


def _read(
    lines: Iterable[Line],
    header: SessionHeader,
    is_part: bool,
    owners: Collection[str],
) -> Reading:
    """Of a repeated id, the last message counts.

    `$rewindTo` takes back everything from that message on, or all if it is missing, also in a part.
    `$set` has copies of messages for the model.
    """
    reading = Reading(header)
    messages: dict[str, RawMessage | None] = {}
    for line, record in parsed_lines(lines, reading, _is_no_message):
        kind = text_of(record.get("type"))
        if isinstance(rewound := record.get("$rewindTo"), str):
            for key in _from_key(messages, rewound):
                del messages[key]
        elif kind in _SPEAKERS:
            key = text_of(record.get("id")) or f"line {line.number}"
            messages.pop(key, None)
            messages[key] = _message(line, record, header)
        elif "$set" in record:
            continue
        elif _recognises(record):
            header.set_first(session=record.get("sessionId"), started=record.get("startTime"))
            header.unattended = header.unattended or record.get("kind", _MAIN) != _MAIN
        elif kind not in _OTHER_TYPES:
            reading.skip_type(line.number, kind)
    reading.messages = [message for message in messages.values() if message is not None]
    return reading


def _is_no_message(line: Line) -> bool:
    return line.data.startswith((b'{"$set":', b'{"$set" :'))


def _from_key(messages: dict[str, RawMessage | None], key: str) -> list[str]:
    keys = list(messages)
    return keys[keys.index(key) :] if key in messages else keys


def _message(line: Line, record: dict[str, Any], header: SessionHeader) -> RawMessage | None:
    speaker = _SPEAKERS[record["type"]]
    if record.get("toolCalls"):
        header.note_tools(line.number)
    content = record.get("content")
    if speaker is Speaker.USER and record.get("displayContent"):
        content = record["displayContent"]
    text = text_of_parts(content)
    is_clients = text.strip() == _CONTINUE or text.startswith(_LOOP_NOTICE)
    if not text.strip() or (speaker is Speaker.USER and is_clients):
        return None
    return RawMessage(
        line=line.number,
        offset=line.offset,
        time=time_of(record.get("timestamp")),
        speaker=speaker,
        typed=speaker is Speaker.USER and not header.unattended,
        text=text,
        id=text_of(record.get("id")),
        unattended=header.unattended,
    )


_TAGS = """
session_context hook_context state_snapshot loaded_context extension_context global_context
project_context user_project_memory untrusted_context activated_skill available_subagents
"""

CLIENT = Client(
    name="gemini",
    places=(Place("GEMINI_CLI_HOME", "~", ".gemini/tmp/*/chats/session-*.jsonl"),),
    tags=frozenset(_TAGS.split()),
    recognises=_recognises,
    read=_read,
    project_file=".project_root",
)
