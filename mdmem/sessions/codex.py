"""Transcripts of Codex: `~/.codex/sessions/YEAR/MONTH/DAY/rollout-*.jsonl`."""

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
    joined_text,
    object_of,
    objects_of,
    parsed_lines,
    text_of,
    time_of,
)
from mdmem.startup import late

_TYPES = frozenset(
    [
        "session_meta",
        "response_item",
        "event_msg",
        "turn_context",
        "compacted",
        "token_usage_record",
        "world_state",
        "inter_agent_communication",
    ]
)
_TOOL_CALLS = frozenset(
    [
        "function_call",
        "custom_tool_call",
        "local_shell_call",
        "tool_search_call",
        "web_search_call",
        "image_generation_call",
    ]
)
_ROLES = {"user": Speaker.USER, "assistant": Speaker.AGENT}
_UNATTENDED = frozenset({"exec", "mcp"})
_TEXTS = ("input_text", "output_text", "text")
_ROLLED_BACK, _TURN_BEGINS = "thread_rolled_back", "task_started"
_BY_PERSON = "user"
"""The origin of a thread, or trigger of a turn, in which a person types."""

_LEADING_TAG = late.pattern(r"\s*(?:<[a-z][a-z0-9_ -]*>|# AGENTS\.md instructions for )")
"""Begins texts in the person's name that older versions do not mark otherwise."""
_NO_DIGIT = late.pattern(r"[^0-9]")
_OWN_TYPE = late.pattern(
    rb'"type"\s*:\s*"(response_item|event_msg|turn_context|world_state|token_usage_record)"',
)
_OWN_TYPE_WITHIN = 200
"""Its own type is in the first bytes of a line, with time and number."""


def _recognises(record: dict[str, Any]) -> bool:
    return record.get("type") == "session_meta" and isinstance(record.get("payload"), dict)


def _read(
    lines: Iterable[Line],
    header: SessionHeader,
    is_part: bool,
    owners: Collection[str],
) -> Reading:
    """Turns that the person rolled back do not count."""
    reading = Reading(header)
    for line, record in parsed_lines(lines, reading, lambda line: _is_no_message(line, header)):
        payload = object_of(record.get("payload"))
        kind = text_of(record.get("type"))
        if kind == "session_meta":
            _read_header(payload, record, header)
        elif kind == "response_item":
            _read_item(line, record, payload, reading)
        elif kind == "event_msg":
            _read_event(payload, reading, is_part)
        elif kind == "compacted":
            header.compacted_line = line.number
            _drop_summary(payload.get("message"), reading.messages)
        elif kind not in _TYPES:
            reading.skip_type(line.number, kind)
    return reading


def _is_no_message(line: Line, header: SessionHeader) -> bool:
    own_type = _OWN_TYPE.search(line.data, 0, _OWN_TYPE_WITHIN)
    if own_type is None or (own_type[1] == b"response_item" and b'"message"' in line.data):
        return False
    if b'_call"' in line.data and own_type[1] == b"response_item":
        header.note_tools(line.number)
    return True


def _read_header(payload: dict[str, Any], record: dict[str, Any], header: SessionHeader) -> None:
    """A fork also has the header of its origin, after its own."""
    if header.session is None:
        source = payload.get("source")
        is_unattended = isinstance(source, dict) or text_of(source) in _UNATTENDED
        by_person = payload.get("thread_source", _BY_PERSON) == _BY_PERSON
        header.unattended = is_unattended or not by_person
    started = payload.get("timestamp") or record.get("timestamp")
    header.set_first(_session(payload), payload.get("cwd"), started)


def _session(payload: dict[str, Any]) -> str | None:
    """Going back to an earlier turn begins another file under the same id: its time is added."""
    session, began = text_of(payload.get("id")), text_of(payload.get("timestamp"))
    if session and began and object_of(payload.get("history_base")).get("thread_id") == session:
        return f"{session}_{_NO_DIGIT.sub('', began)}"
    return session


def _read_item(
    line: Line,
    record: dict[str, Any],
    payload: dict[str, Any],
    reading: Reading,
) -> None:
    if text_of(payload.get("type")) in _TOOL_CALLS:
        reading.header.note_tools(line.number)
    speaker = _ROLES.get(text_of(payload.get("role")) or "")
    if speaker is None or payload.get("type") != "message":
        return
    if speaker is Speaker.USER:
        text, typed = _persons_text(payload)
    else:
        text, typed = joined_text(payload.get("content"), _TEXTS), False
    if text.strip():
        reading.messages.append(
            RawMessage(
                line=line.number,
                offset=line.offset,
                time=time_of(record.get("timestamp")),
                speaker=speaker,
                typed=typed and not reading.header.unattended,
                text=text,
                id=text_of(payload.get("id")),
                unattended=reading.header.unattended,
            )
        )


def _persons_text(payload: dict[str, Any]) -> tuple[str, bool]:
    blocks = objects_of(payload.get("content"))
    passed = payload.get("internal_chat_message_metadata_passthrough")
    details = object_of(passed or payload.get("metadata"))
    origins = details.get("content_item_metadata")
    if isinstance(origins, list):
        kinds = [object_of(object_of(item).get("provenance")).get("type") for item in origins]
        pairs = zip(blocks, kinds, strict=False)
        return joined_text([block for block, kind in pairs if kind == "user"], _TEXTS), True
    if "content_item_kinds" in details:
        return "", False
    texts = [joined_text([block], _TEXTS) for block in blocks]
    return "\n".join(text for text in texts if text and not _LEADING_TAG.match(text)), True


def _read_event(payload: dict[str, Any], reading: Reading, is_part: bool) -> None:
    if payload.get("type") == _ROLLED_BACK:
        _roll_back(payload.get("num_turns"), reading, is_part)
    elif payload.get("type") == _TURN_BEGINS:
        trigger = object_of(payload.get("turn_attribution")).get("turn_trigger")
        if trigger is not None:
            reading.header.unattended = trigger != _BY_PERSON


def _drop_summary(summary: Any, messages: list[RawMessage]) -> None:
    """Drop the answer to the request for a summary, which precedes the compaction."""
    if (
        messages
        and messages[-1].speaker is Speaker.AGENT
        and isinstance(summary, str)
        and summary.rstrip().endswith(messages[-1].text.strip())
    ):
        messages.pop()


def _roll_back(turns: Any, reading: Reading, is_part: bool) -> None:
    if not isinstance(turns, int) or isinstance(turns, bool) or turns < 1:
        return
    speakers = [message.speaker for message in reading.messages]
    prompts = [at for at, speaker in enumerate(speakers) if speaker is Speaker.USER]
    if len(prompts) < turns and is_part:
        reading.needs_earlier_lines = True
    del reading.messages[prompts[max(0, len(prompts) - turns)] if prompts else 0 :]


_TAGS = """
environment_context environments environments_instructions user_instructions instructions
apps_instructions plugins_instructions skills_instructions collaboration_mode multi_agent_mode
model_switch personality_spec realtime_conversation recommended_plugins skill
subagent_notification turn_aborted user_shell_command codex_internal_context codex_delegation
context_window context_window_guidance context_window_reminder current_time_reminder
managed_developer_instructions model_instructions multi_agent_role rollout_budget startup_context
user_action agent_message_board_notification
"""

CLIENT = Client(
    name="codex",
    places=(Place("CODEX_HOME", "~/.codex", "sessions/*/*/*/rollout-*.jsonl"),),
    tags=frozenset(_TAGS.split()) | {"permissions instructions"},
    recognises=_recognises,
    read=_read,
)
