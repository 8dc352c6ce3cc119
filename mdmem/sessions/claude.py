"""Transcripts of Claude Code: `~/.claude/projects/*/*.jsonl`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
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
    joined_text,
    object_of,
    objects_of,
    parsed_lines,
    text_of,
    time_of,
)
from mdmem.startup import late
from mdmem.startup.records import dataclass, field

_OTHER_TYPES = frozenset(
    [
        "agent-color",
        "agent-name",
        "agent-setting",
        "ai-title",
        "api-request",
        "api-request-blob",
        "api-request-shape",
        "atis-latch",
        "attribution-snapshot",
        "bridge-session",
        "content-replacement",
        "cost-state",
        "custom-title",
        "file-history-delta",
        "file-history-snapshot",
        "fork-context-ref",
        "frame-link",
        "isolation-latch",
        "last-prompt",
        "marble-origami-commit",
        "marble-origami-reset",
        "marble-origami-snapshot",
        "mode",
        "permission-mode",
        "pr-link",
        "progress",
        "queue-operation",
        "relocated",
        "saved_hook_context",
        "speculation-accept",
        "started",
        "summary",
        "system",
        "tag",
        "task-summary",
        "tools-used",
        "worktree-state",
    ]
)
_WRITTEN_BY_CLIENT = (
    "[Request interrupted by user",
    "This session is being continued from a previous conversation",
    "Caveat: The messages below",
)
"""Prefixes of texts in the person's name that older versions do not mark otherwise."""
_SYNTHETIC = "<synthetic>"
_COMPACTED = "compact_boundary"

_TYPE = late.pattern(rb'"type"\s*:\s*"([a-z_-]+)"')
_LINKS = late.pattern(rb'"(uuid|parentUuid)"\s*:\s*"([^"\\]{1,80})"')


def _recognises(record: dict[str, Any]) -> bool:
    kind = text_of(record.get("type"))
    if kind in ("user", "assistant", "system", "attachment", "progress"):
        return "parentUuid" in record and "sessionId" in record
    ids = ("sessionId", "leafUuid", "messageId")
    return kind in _OTHER_TYPES and any(name in record for name in ids)


@dataclass(slots=True)
class _Chain:
    is_part: bool
    order: list[str] = field(default_factory=list)
    positions: dict[str, int] = field(default_factory=dict)
    parents: dict[str, str | None] = field(default_factory=dict)
    prompts: list[str] = field(default_factory=list)

    def add(self, uuid: str | None, parent: str | None) -> None:
        if uuid is not None:
            self.positions[uuid] = len(self.order)
            self.order.append(uuid)
            self.parents[uuid] = parent

    def taken_back(self, parent: str | None) -> set[str] | None:
        """The lines that a prompt takes back by answering `parent`; None: that is not here."""
        if parent is None or not self.order or parent == self.order[-1]:
            return set()
        position = self.positions.get(parent)
        if position is None:
            return None if self.is_part else set()
        if not self.prompts or self.positions[self.prompts[-1]] <= position:
            return set()
        branch = {parent}
        for uuid in self.order[position + 1 :]:
            if self.parents[uuid] in branch:
                branch.add(uuid)
        return branch - {parent}


def _read(
    lines: Iterable[Line],
    header: SessionHeader,
    is_part: bool,
    owners: Collection[str],
) -> Reading:
    """A rewound conversation goes on from an earlier line, which takes back those after it.

    Of a repeated line (a compaction keeps it) the last one counts.
    """
    reading = Reading(header)
    chain = _Chain(is_part=is_part)
    messages: dict[str, RawMessage] = {}
    skips = partial(_is_no_message, chain=chain, header=header)
    for line, record in parsed_lines(lines, reading, skips):
        kind = text_of(record.get("type"))
        if kind not in ("user", "assistant", "attachment"):
            if kind not in _OTHER_TYPES:
                reading.skip_type(line.number, kind)
            if record.get("subtype") == _COMPACTED:
                header.compacted_line = line.number
            header.set_first(session=record.get("sessionId"), project=record.get("cwd"))
            chain.add(text_of(record.get("uuid")), text_of(record.get("parentUuid")))
            continue
        header.set_first(record.get("sessionId"), record.get("cwd"), record.get("timestamp"))
        uuid, parent = text_of(record.get("uuid")), text_of(record.get("parentUuid"))
        if _is_from_user(record):
            taken_back = chain.taken_back(parent)
            reading.needs_earlier_lines = reading.needs_earlier_lines or (
                taken_back is None and bool(messages)
            )
            if taken_back:
                messages = {key: each for key, each in messages.items() if key not in taken_back}
        chain.add(uuid, parent)
        message = _message(line, record, header)
        if message is not None:
            key = uuid or f"line {line.number}"
            messages.pop(key, None)
            messages[key] = message
            if message.speaker is Speaker.USER and uuid is not None:
                chain.prompts.append(uuid)
    reading.messages = list(messages.values())
    return reading


def _is_no_message(line: Line, chain: _Chain, header: SessionHeader) -> bool:
    """True for a long line without a message; its place in the chain is noted."""
    types = _TYPE.findall(line.data)
    if b"queued_command" in types or not _holds_no_text(types):
        return False
    if b"tool_use" in types or b"tool_result" in types:
        header.note_tools(line.number)
    links: dict[bytes, str] = {}
    for name, value in _LINKS.findall(line.data):
        links.setdefault(name, value.decode("ascii", "replace"))
    chain.add(links.get(b"uuid"), links.get(b"parentUuid"))
    return True


def _holds_no_text(types: list[bytes]) -> bool:
    if not types or b"system" in types:
        return False
    if types[0] in (b"progress", b"file-history-snapshot", b"api-request-blob"):
        return True
    if b"assistant" in types:
        return b"text" not in types and b"user" not in types
    return b"tool_result" in types if b"user" in types else b"attachment" in types


def _is_from_user(record: dict[str, Any]) -> bool:
    is_users = record.get("type") == "user" and record.get("isSidechain") is not True
    return is_users and not _has_block(record, "tool_result")


def _has_block(record: dict[str, Any], kind: str) -> bool:
    blocks = objects_of(object_of(record.get("message")).get("content"))
    return any(block.get("type") == kind for block in blocks)


def _message(line: Line, record: dict[str, Any], header: SessionHeader) -> RawMessage | None:
    if any(record.get(name) is True for name in ("isMeta", "isCompactSummary", "isSidechain")):
        return None
    if record.get("type") == "attachment":
        return _queued_message(line, record, header)
    content = object_of(record.get("message"))
    if record.get("type") == "assistant":
        if _has_block(record, "tool_use"):
            header.note_tools(line.number)
        if content.get("model") == _SYNTHETIC:
            return None
        return _raw(line, record, header, Speaker.AGENT, False, joined_text(content.get("content")))
    if "promptSource" in record:
        header.tells_origin = True
    if _has_block(record, "tool_result") or "toolUseResult" in record:
        header.note_tools(line.number)
        return None
    text = joined_text(content.get("content"))
    if text.startswith(_WRITTEN_BY_CLIENT):
        return None
    typed = _is_typed(record.get("origin"), record.get("promptSource"), header)
    return _raw(line, record, header, Speaker.USER, typed, text)


def _is_typed(origin: Any, source: Any, header: SessionHeader) -> bool:
    """Older versions do not tell where a text comes from."""
    if origin is None and source is None:
        return not header.tells_origin
    return object_of(origin).get("kind") == "human" and source == "typed"


def _queued_message(line: Line, record: dict[str, Any], header: SessionHeader) -> RawMessage | None:
    attachment = object_of(record.get("attachment"))
    if (
        attachment.get("type") != "queued_command"
        or attachment.get("commandMode", "prompt") != "prompt"
        or attachment.get("isMeta") is True
    ):
        return None
    origin = attachment.get("origin")
    typed = object_of(origin).get("kind") == "human" or (origin is None and not header.tells_origin)
    time = time_of(attachment.get("timestamp"))
    text = joined_text(attachment.get("prompt"))
    return _raw(line, record, header, Speaker.USER, typed=typed, text=text, time=time)


def _raw(
    line: Line,
    record: dict[str, Any],
    header: SessionHeader,
    speaker: Speaker,
    typed: bool,
    text: str,
    time: datetime | None = None,
) -> RawMessage | None:
    if not text.strip():
        return None
    return RawMessage(
        line=line.number,
        offset=line.offset,
        time=time or time_of(record.get("timestamp")),
        speaker=speaker,
        typed=typed,
        text=text,
        id=text_of(record.get("uuid")),
        tells_origin=header.tells_origin,
    )


_TAGS = """
system-reminder system_reminder local-command-caveat local-command-stdout local-command-stderr
command-name command-message command-args command-contents bash-input bash-stdout bash-stderr
bash-exit-code user-prompt-submit-hook session-start-hook task-notification task-reminder
teammate-message cross-session-message agent-message fork-boilerplate remote-review
remote-review-progress ide_opened_file ide_selection ide_diagnostics new-diagnostics
persisted-output interrupted-output tool_use_error user-memory-input session_metadata
"""

CLIENT = Client(
    name="claude",
    places=(Place("CLAUDE_CONFIG_DIR", "~/.claude", "projects/*/*.jsonl"),),
    tags=frozenset(_TAGS.split()),
    recognises=_recognises,
    read=_read,
    sort_by_time=True,  # some messages come again after a compaction
)
