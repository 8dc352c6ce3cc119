"""Transcripts of pi and of OpenClaw, which is built on it: `sessions/*.jsonl` of an agent, versions 1 to 3 of the format."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from mdmem.model.sessions import Speaker
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.transcripts.envelopes import open_envelope
from mdmem.transcripts.lines import Line
from mdmem.transcripts.records import (
    RawMessage,
    Reading,
    SessionHeader,
    joined_text,
    object_of,
    objects_of,
    parsed_lines,
    text_of,
    time_of,
)

CLIENT = "openclaw"

_SESSION, _MESSAGE, _COMPACTED = "session", "message", "compaction"
_OTHER_TYPES = frozenset(
    ["branch_summary", _COMPACTED, "custom", "custom_message", "label", "leaf", "model_change", "session_info", "thinking_level_change"]
)
_OTHER_ROLES = frozenset(["toolResult", "bashExecution", "custom", "hookMessage", "branchSummary", "compactionSummary", "system"])
_GATEWAY_MODELS = frozenset({"gateway-injected", "delivery-mirror"})
"""Models of messages that the gateway writes in the agent's name."""

_FILE = late.pattern(r'(?s)<file name="[^"\n]*">.*?(?:</file>|\Z)')
"""A file that the person named on the command line."""
_REPLY_TAG = late.pattern(r"\[\[\s*(?:reply_to_current|reply_to\s*:[^\]\n]*|audio_as_voice)\s*\]\]\s*")
_TOOL_RESULT = late.pattern(rb'\{"type"\s*:\s*"message"[^{}]{0,300}"message"\s*:\s*\{\s*"role"\s*:\s*"(?:toolResult|bashExecution)"')
_LINK = late.pattern(rb'"(id|parentId)"\s*:\s*"([^"\\]{1,80})"')
_LINKS_WITHIN = 300


@dataclass(frozen=True, slots=True)
class _Entry:
    """One line of the tree. `parent`: None at a root."""

    id: str
    parent: str | None
    message: RawMessage | None = None


def recognises(record: dict[str, Any]) -> bool:
    """True for the record with which a session of pi or OpenClaw begins."""
    return record.get("type") == _SESSION and text_of(record.get("id")) is not None and "timestamp" in record


def read(lines: Iterable[Line], header: SessionHeader, window: bool, owners: Collection[str] = ()) -> Reading:
    """Read lines; `window`: they are not the first ones of their file; `owners`: ids of the user in group chats.

    Only the branch of the last entry counts: others were abandoned.
    """
    reading = Reading(header)
    entries: list[_Entry] = []
    for line, record in parsed_lines(lines, reading, lambda line: _is_no_message(line, entries, header)):
        kind = text_of(record.get("type"))
        if kind == _SESSION:
            header.set_first(session=record.get("id"), project=record.get("cwd"), started=record.get("timestamp"))
            continue
        if kind == _COMPACTED:
            header.compacted_line = line.number
        if kind != _MESSAGE and kind not in _OTHER_TYPES:
            reading.skip_type(line.number, kind)
        message = _message(line, record, reading, owners) if kind == _MESSAGE else None
        before = entries[-1].id if entries else None
        # Before version 2 entries had no ids: each follows the one before it.
        parent = text_of(record["parentId"]) if "parentId" in record else before
        entries.append(_Entry(text_of(record.get("id")) or f"line {line.number}", parent, message))
    reading.messages = _last_branch(entries, reading, window)
    return reading


def _is_no_message(line: Line, entries: list[_Entry], header: SessionHeader) -> bool:
    """True for the long result of a tool. Its place in the tree is noted."""
    if not _TOOL_RESULT.match(line.data):
        return False
    links = {name: value.decode("ascii", "replace") for name, value in reversed(_LINK.findall(line.data, 0, _LINKS_WITHIN))}
    if b"id" not in links or (b"parentId" not in links and entries):
        return False
    header.note_tools(line.number)
    entries.append(_Entry(links[b"id"], links.get(b"parentId")))
    return True


def _last_branch(entries: list[_Entry], reading: Reading, window: bool) -> list[RawMessage]:
    """The messages from a root to the last entry. A link to an entry that is not there (its line is damaged) leads to the one before."""
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
            reading.undecided = reading.undecided or (window and position > 0)
            before = position - 1
        position = before
    return messages[::-1]


def _message(line: Line, record: dict[str, Any], reading: Reading, owners: Collection[str]) -> RawMessage | None:
    content = object_of(record.get("message"))
    role = text_of(content.get("role"))
    blocks = content.get("content")
    if role == "toolResult" or any(block.get("type") == "toolCall" for block in objects_of(blocks)):
        reading.header.note_tools(line.number)
    sender: str | None = None
    typed = False
    if role == "user":
        envelope = open_envelope(_FILE.sub("", joined_text(blocks)), owners)
        text, sender = envelope.text, envelope.sender
        typed = envelope.typed and object_of(content.get("provenance")).get("kind", "external_user") == "external_user"
    elif role == "assistant":
        text = "" if text_of(content.get("model")) in _GATEWAY_MODELS else _REPLY_TAG.sub("", joined_text(blocks))
    else:
        text = ""
        if role not in _OTHER_ROLES:
            reading.skip_type(line.number, role)
    if not text.strip():
        return None
    return RawMessage(
        line=line.number,
        offset=line.offset,
        time=time_of(record.get("timestamp")) or time_of(content.get("timestamp")),
        speaker=Speaker.USER if role == "user" else Speaker.AGENT,
        typed=typed,
        text=text,
        id=text_of(record.get("id")),
        sender=sender,
    )
