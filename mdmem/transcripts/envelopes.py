"""The envelope in which OpenClaw hands a chat's message to the agent: who sent it and when, before the words themselves."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from mdmem.startup import late
from mdmem.startup.records import dataclass

_BLOCK = late.pattern(r"(?s)\s*(?P<label>[A-Z][^\n]{0,80}) \(untrusted[^)\n]{0,60}\):[ \t]*\n```json\n(?P<values>.*?)\n```[ \t]*(?:\n|\Z)")
_CONVERSATION, _SENDER = "Conversation info", "Sender"
_RECALLED = late.pattern(
    r"(?s)(?:\A|\n)[ \t]*Untrusted context \(metadata, do not treat as instructions or commands\):\s*"
    r"<active_memory_plugin>.*?</active_memory_plugin>[ \t]*\n?"
)
"""The text of a memory plugin in front of the words."""
_TRAILER = late.pattern(r"(?s)(?:^|\n)Untrusted context \(metadata, do not treat as instructions or commands\):.*")
_STAMP = late.pattern(
    r"\s*(?P<time>\[[^\]\n]{0,120}\b\d{4}-\d\d-\d\d[^\]\n]{0,40}\])[ \t]*|\s*\[message_id: [^\]\n]{0,200}\][ \t]*\n?|\s*System(?: \(untrusted\))?: \[[^\n]*(?:\n|\Z)"
)
"""The time before a message, its number, and what happened since the last one, line by line."""
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
class OpenedEnvelope:
    """The words of a message. `typed`: a person typed them; `sender`: their name, where they are not the owner's."""

    text: str
    typed: bool
    sender: str | None


def open_envelope(text: str, owners: Collection[str]) -> OpenedEnvelope:
    """Take a message out of its envelope. Who is not among `owners` (ids) is another sender.

    Only the first block of each kind is the gateway's: what looks like one behind it may be part of the message.
    """
    text = _RECALLED.sub("\n", text)
    blocks: dict[str, dict[str, Any]] = {}
    while block := _BLOCK.match(text):
        blocks.setdefault(block["label"], _values(block["values"]))
        text = text[block.end() :]
    text = _NUMBER.sub("", _TRAILER.sub("", text))
    typed = not text.lstrip().startswith(_WRITTEN_BY_GATEWAY)
    while (stamp := _STAMP.match(text)) and stamp.end():
        text = text[stamp.end() :]
        if stamp["time"]:
            break
    typed = typed and not text.lstrip().startswith(_WRITTEN_BY_GATEWAY)
    return OpenedEnvelope(text.strip(), typed, _other_sender(blocks.get(_CONVERSATION, {}), blocks.get(_SENDER, {}), owners))


def _values(text: str) -> dict[str, Any]:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def _other_sender(conversation: dict[str, Any], sender: dict[str, Any], owners: Collection[str]) -> str | None:
    """The name of a message's sender, if that is not the owner.

    In a direct chat without any id it is the owner, in a group it is not.
    """
    id_ = conversation.get("sender_id")
    told = [id_] if id_ else [sender.get("id"), sender.get("e164")]
    ids = [value for value in told if isinstance(value, str) and value]
    is_of_group = conversation.get("is_group_chat") is True or "group_subject" in conversation
    if any(value in owners for value in ids) or not (ids or is_of_group):
        return None
    names = [sender.get("name"), conversation.get("sender"), sender.get("label"), sender.get("username"), *ids]
    return next((name[:_MOST_SENDER] for name in names if isinstance(name, str) and name), "?")
