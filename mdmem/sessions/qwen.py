"""Transcripts of Qwen Code: `~/.qwen/projects/*/chats/*.jsonl`."""

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
    TreeLine,
    last_branch,
    object_of,
    objects_of,
    parsed_lines,
    text_of,
    text_of_parts,
    time_of,
)

_SPEAKERS = {"user": Speaker.USER, "assistant": Speaker.AGENT}
_TOOL_RESULT = "tool_result"
_TYPES = frozenset({*_SPEAKERS, _TOOL_RESULT, "system"})
_COMPACTED = "chat_compression"
_BY_PERSON = "real_user"
_SAID = frozenset({None, "mid_turn_user_message", "realtime_message"})
"""Kinds of messages in the person's name that are the person's; others are by a program."""


def _recognises(record: dict[str, Any]) -> bool:
    """Its records have the ids of Claude Code's, and the messages of Gemini CLI."""
    has_ids = "parentUuid" in record and text_of(record.get("sessionId")) is not None
    has_own = "provenance" in record or "systemPayload" in record
    return has_ids and (has_own or "parts" in object_of(record.get("message")))


def _read(
    lines: Iterable[Line],
    header: SessionHeader,
    is_part: bool,
    owners: Collection[str],
) -> Reading:
    """Only the branch of the last entry counts: others were rewound."""
    reading = Reading(header)
    entries: list[TreeLine] = []
    for line, record in parsed_lines(lines, reading):
        kind = text_of(record.get("type"))
        if kind not in _TYPES:
            reading.skip_type(line.number, kind)
            continue
        header.set_first(record.get("sessionId"), record.get("cwd"), record.get("timestamp"))
        if record.get("subtype") == _COMPACTED:
            header.compacted_line = line.number
        parts = objects_of(object_of(record.get("message")).get("parts"))
        if kind == _TOOL_RESULT or any("functionCall" in part for part in parts):
            header.note_tools(line.number)
        uuid, parent = text_of(record.get("uuid")), text_of(record.get("parentUuid"))
        message = _message(line, record, _SPEAKERS.get(kind), parts)
        entries.append(TreeLine(uuid or f"line {line.number}", parent, message))
    reading.messages = last_branch(entries, reading, is_part)
    return reading


def _message(
    line: Line,
    record: dict[str, Any],
    speaker: Speaker | None,
    parts: list[dict[str, Any]],
) -> RawMessage | None:
    is_users, text = speaker is Speaker.USER, text_of_parts(parts)
    if is_users:
        shown = object_of(record.get("systemPayload")).get("displayText")
        text = shown if isinstance(shown, str) else text
        by_person = record.get("provenance", _BY_PERSON) == _BY_PERSON
        if not by_person or record.get("subtype") not in _SAID or record.get("backgroundTurn"):
            return None
    if speaker is None or not text.strip():
        return None
    return RawMessage(
        line=line.number,
        offset=line.offset,
        time=time_of(record.get("timestamp")),
        speaker=speaker,
        typed=is_users,
        text=text,
        id=text_of(record.get("uuid")),
    )


CLIENT = Client(
    name="qwen",
    places=(Place("QWEN_HOME", "~/.qwen", "projects/*/chats/*.jsonl"),),
    tags=frozenset({"qwen:user-prompt-submit-context", "qwen:session-start-context"}),
    recognises=_recognises,
    read=_read,
)
