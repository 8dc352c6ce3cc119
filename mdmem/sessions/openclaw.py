"""Transcripts of pi and of OpenClaw, which is built on it: versions 1 to 3 of the format."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial
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
    joined_text,
    last_branch,
    object_of,
    objects_of,
    parse_object,
    parsed_lines,
    text_of,
    time_of,
)
from mdmem.startup import late
from mdmem.startup.records import dataclass

_BY_PERSON = "external_user"
_SESSION, _MESSAGE, _COMPACTED = "session", "message", "compaction"
_OTHER_TYPES = frozenset(
    [
        "branch_summary",
        _COMPACTED,
        "custom",
        "custom_message",
        "label",
        "leaf",
        "model_change",
        "session_info",
        "thinking_level_change",
    ]
)
_OTHER_ROLES = frozenset(
    [
        "toolResult",
        "bashExecution",
        "custom",
        "hookMessage",
        "branchSummary",
        "compactionSummary",
        "system",
    ]
)
_GATEWAY_MODELS = frozenset({"gateway-injected", "delivery-mirror"})

_FILE = late.pattern(r'(?s)<file name="[^"\n]*">.*?(?:</file>|\Z)')
_REPLY_TAG = late.pattern(
    r"\[\[\s*(?:reply_to_current|reply_to\s*:[^\]\n]*|audio_as_voice)\s*\]\]\s*",
)
_TOOL_RESULT = late.pattern(
    rb'\{"type"\s*:\s*"message"[^{}]{0,300}"message"\s*:\s*\{\s*'
    rb'"role"\s*:\s*"(?:toolResult|bashExecution)"'
)
_LINK = late.pattern(rb'"(id|parentId)"\s*:\s*"([^"\\]{1,80})"')
_LINKS_WITHIN = 300


def _recognises(record: dict[str, Any]) -> bool:
    has_id = text_of(record.get("id")) is not None
    return record.get("type") == _SESSION and has_id and "timestamp" in record


def _read(
    lines: Iterable[Line],
    header: SessionHeader,
    is_part: bool,
    owners: Collection[str],
) -> Reading:
    """Only the branch of the last entry counts: others were abandoned."""
    reading = Reading(header)
    entries: list[TreeLine] = []
    skips = partial(_is_no_message, entries=entries, header=header)
    for line, record in parsed_lines(lines, reading, skips):
        kind = text_of(record.get("type"))
        if kind == _SESSION:
            header.set_first(record.get("id"), record.get("cwd"), record.get("timestamp"))
            continue
        if kind == _COMPACTED:
            header.compacted_line = line.number
        if kind != _MESSAGE and kind not in _OTHER_TYPES:
            reading.skip_type(line.number, kind)
        message = _message(line, record, reading, owners) if kind == _MESSAGE else None
        before = entries[-1].id if entries else None
        # Before version 2 entries had no ids: each follows the one before it.
        parent = text_of(record["parentId"]) if "parentId" in record else before
        entries.append(
            TreeLine(text_of(record.get("id")) or f"line {line.number}", parent, message)
        )
    reading.messages = last_branch(entries, reading, is_part)
    return reading


def _is_no_message(line: Line, entries: list[TreeLine], header: SessionHeader) -> bool:
    """True for the long result of a tool; its place in the tree is noted."""
    if not _TOOL_RESULT.match(line.data):
        return False
    found = reversed(_LINK.findall(line.data, 0, _LINKS_WITHIN))
    links = {name: value.decode("ascii", "replace") for name, value in found}
    if b"id" not in links or (b"parentId" not in links and entries):
        return False
    header.note_tools(line.number)
    entries.append(TreeLine(links[b"id"], links.get(b"parentId")))
    return True


def _message(
    line: Line,
    record: dict[str, Any],
    reading: Reading,
    owners: Collection[str],
) -> RawMessage | None:
    content = object_of(record.get("message"))
    role = text_of(content.get("role"))
    blocks = content.get("content")
    if role == "toolResult" or any(block.get("type") == "toolCall" for block in objects_of(blocks)):
        reading.header.note_tools(line.number)
    sender: str | None = None
    typed = False
    if role == "user":
        envelope = _open_envelope(_FILE.sub("", joined_text(blocks)), owners)
        text, sender = envelope.text, envelope.sender
        origin = object_of(content.get("provenance")).get("kind", _BY_PERSON)
        typed = envelope.typed and origin == _BY_PERSON
    elif role == "assistant":
        is_gateways = text_of(content.get("model")) in _GATEWAY_MODELS
        text = "" if is_gateways else _REPLY_TAG.sub("", joined_text(blocks))
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


# The envelope in which OpenClaw hands a chat's message to the agent: who sent it (None: the owner,
# whose ids are `owners`) and when, before the words themselves.

_BLOCK = late.pattern(
    r"(?s)\s*(?P<label>[A-Z][^\n]{0,80}) \(untrusted[^)\n]{0,60}\):[ \t]*\n"
    r"```json\n(?P<values>.*?)\n```[ \t]*(?:\n|\Z)"
)
_UNTRUSTED = r"Untrusted context \(metadata, do not treat as instructions or commands\):"
_CONVERSATION, _SENDER = "Conversation info", "Sender"
_RECALLED = late.pattern(
    rf"(?s)(?:\A|\n)[ \t]*{_UNTRUSTED}\s*"
    r"<active_memory_plugin>.*?</active_memory_plugin>[ \t]*\n?"
)
_TRAILER = late.pattern(rf"(?s)(?:^|\n){_UNTRUSTED}.*")
_STAMP = late.pattern(
    r"\s*(?P<time>\[[^\]\n]{0,120}\b\d{4}-\d\d-\d\d[^\]\n]{0,40}\])[ \t]*|"
    r"\s*\[message_id: [^\]\n]{0,200}\][ \t]*\n?|"
    r"\s*System(?: \(untrusted\))?: \[[^\n]*(?:\n|\Z)"
)
"""The time before a message, its number, and events since the last one, line by line."""
_NUMBER = late.pattern(r"\n\[message_id: [^\]\n]{0,200}\]\s*\Z")
_WRITTEN_BY_GATEWAY = (
    "Read HEARTBEAT.md",
    "A new session was started via /new or /reset",
    "Pre-compaction memory flush",
    "Write any lasting notes to memory/",
    "[Inter-session message]",
    "[cron:",
    "[Subagent Context]",
)
_MOST_SENDER = 80


@dataclass(frozen=True, slots=True)
class _OpenedEnvelope:
    text: str
    typed: bool
    sender: str | None


def _open_envelope(text: str, owners: Collection[str]) -> _OpenedEnvelope:
    """A block of a kind that came before may be part of the message."""
    text = _RECALLED.sub("\n", text)
    blocks: dict[str, dict[str, Any]] = {}
    while block := _BLOCK.match(text):
        blocks.setdefault(block["label"], parse_object(block["values"]) or {})
        text = text[block.end() :]
    text = _NUMBER.sub("", _TRAILER.sub("", text))
    typed = not text.lstrip().startswith(_WRITTEN_BY_GATEWAY)
    while (stamp := _STAMP.match(text)) and stamp.end():
        text = text[stamp.end() :]
        if stamp["time"]:
            break
    typed = typed and not text.lstrip().startswith(_WRITTEN_BY_GATEWAY)
    sender = _other_sender(blocks.get(_CONVERSATION, {}), blocks.get(_SENDER, {}), owners)
    return _OpenedEnvelope(text.strip(), typed, sender)


def _other_sender(
    conversation: dict[str, Any],
    sender: dict[str, Any],
    owners: Collection[str],
) -> str | None:
    """The sender; without an id it is the owner in a direct chat, but not in a group."""
    id_ = conversation.get("sender_id")
    told = [id_] if id_ else [sender.get("id"), sender.get("e164")]
    ids = [value for value in told if isinstance(value, str) and value]
    is_of_group = conversation.get("is_group_chat") is True or "group_subject" in conversation
    if any(value in owners for value in ids) or not (ids or is_of_group):
        return None
    own_names = [sender.get("label"), sender.get("username")]
    names = [sender.get("name"), conversation.get("sender"), *own_names, *ids]
    return next((name[:_MOST_SENDER] for name in names if isinstance(name, str) and name), "?")


_TAGS = """
project_instructions available_skills active_memory_plugin relevant-memories relevant_memories
recalled-memories recalled_memories
"""

CLIENT = Client(
    name="openclaw",
    places=(
        Place("OPENCLAW_STATE_DIR", "~/.openclaw", "agents/*/sessions/[!.]*.jsonl"),
        Place("PI_CODING_AGENT_DIR", "~/.pi/agent", "sessions/*/[!.]*.jsonl"),
    ),
    tags=frozenset(_TAGS.split()),
    recognises=_recognises,
    read=_read,
    one_dot=True,
)
