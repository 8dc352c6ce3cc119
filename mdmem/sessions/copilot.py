"""Transcripts of GitHub Copilot CLI: `~/.copilot/session-state/*/events.jsonl`."""

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
    object_of,
    parsed_lines,
    text_of,
    time_of,
)
from mdmem.startup.records import replace

_SPEAKERS = {"user.message": Speaker.USER, "assistant.message": Speaker.AGENT}
_STARTED, _RESUMED = "session.start", "session.resume"
_COMPACTED, _SYSTEM, _TOOL = "session.compaction_complete", "system.message", "tool."
_BY_PERSON = (None, "user")
_NOBODY_THERE = "running in non-interactive mode"
"""In its instructions where a program gave the prompt; it tells of that nowhere else."""


def _recognises(record: dict[str, Any]) -> bool:
    has_id = text_of(object_of(record.get("data")).get("sessionId")) is not None
    return record.get("type") == _STARTED and has_id


def _read(
    lines: Iterable[Line],
    header: SessionHeader,
    is_part: bool,
    owners: Collection[str],
) -> Reading:
    """Events of sub-agents do not count. What is rewound is cut off the file."""
    reading, process, detached = Reading(header), 0, False
    for line, record in parsed_lines(lines, reading):
        kind, data = text_of(record.get("type")) or "", object_of(record.get("data"))
        if not isinstance(record.get("data"), dict) or not kind:
            reading.skip_type(line.number, record.get("type"))
        elif kind.startswith(_TOOL) or data.get("toolRequests"):
            header.note_tools(line.number)
        if record.get("agentId") or data.get("parentToolCallId"):
            continue
        if kind in (_STARTED, _RESUMED):
            project = object_of(data.get("context")).get("cwd")
            header.set_first(data.get("sessionId"), project, data.get("startTime"))
            detached = detached or bool(data.get("detachedFromSpawningParentSessionId"))
            header.unattended = header.unattended or detached
            process = len(reading.messages)
        elif kind == _SYSTEM and not detached:
            _read_instructions(data, reading, process)
        elif kind == _COMPACTED:
            header.compacted_line = line.number
        elif kind in _SPEAKERS and (message := _message(line, record, data, header)):
            reading.messages.append(message)
    return reading


def _read_instructions(data: dict[str, Any], reading: Reading, process: int) -> None:
    """They follow the first prompt of a process, only where they differ from the last ones.

    `process`: the number of messages before it.
    """
    unattended = _NOBODY_THERE in (text_of(data.get("content")) or "")
    reading.header.unattended = unattended
    if len(reading.messages) > process:
        last = reading.messages[-1]
        typed = last.speaker is Speaker.USER and not unattended
        reading.messages[-1] = replace(last, typed=typed, unattended=unattended)


def _message(
    line: Line, record: dict[str, Any], data: dict[str, Any], header: SessionHeader
) -> RawMessage | None:
    """The text is `content`: `transformedContent` has what the client and its hooks add."""
    speaker, text = _SPEAKERS[record["type"]], text_of(data.get("content")) or ""
    is_users = speaker is Speaker.USER
    is_injected = data.get("source") not in _BY_PERSON or data.get("isAutopilotContinuation")
    if not text.strip() or (is_users and is_injected):
        return None
    return RawMessage(
        line=line.number,
        offset=line.offset,
        time=time_of(record.get("timestamp")),
        speaker=speaker,
        typed=is_users and not header.unattended,
        text=text,
        id=text_of(record.get("id")),
        unattended=header.unattended,
    )


CLIENT = Client(
    name="copilot",
    places=(Place("COPILOT_HOME", "~/.copilot", "session-state/*/events.jsonl"),),
    tags=frozenset({"current_datetime", "agent_instructions", "tagged_files"}),
    recognises=_recognises,
    read=_read,
)
