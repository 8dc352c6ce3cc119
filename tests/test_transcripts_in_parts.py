"""A transcript that is read as it grows gives the same messages as one that is read at its end."""

import json
from typing import Any

import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st

from mdmem.model.sessions import Transcript
from mdmem.sessions.reading import CONTEXT_MESSAGES, read

Steps = list[tuple[str, int]]


def at_minute(minute: int) -> str:
    return f"2026-03-04T{minute // 60 % 24:02}:{minute % 60:02}:00.000Z"


def make_claude(steps: Steps) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = [{"type": "mode", "sessionId": "s1", "mode": "normal"}]
    ids: list[str] = []
    for number, (step, value) in enumerate(steps):
        kind = "assistant" if step == "agent" else "user"
        content: Any = f"{step} {number}"
        if step == "tool":
            content = [{"type": "tool_result", "content": "never said " * (value * 100)}]
        parent = ids[value % len(ids)] if step == "rewind" and ids else ids[-1] if ids else None
        record = {
            "parentUuid": parent,
            "sessionId": "s1",
            "cwd": "/w",
            "type": kind,
            "message": {"role": kind, "content": content},
        }
        record |= {"uuid": f"uuid-{number}", "timestamp": at_minute(number)}
        if step in ("user", "rewind") and value % 3:
            record |= {"origin": {"kind": "human"}, "promptSource": "typed"}
        if step == "repeat" and len(records) > 1:
            record = records[-1]
        records.append(record)
        ids.append(record["uuid"])
    return records


def make_codex(steps: Steps) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = [
        {
            "timestamp": at_minute(0),
            "type": "session_meta",
            "payload": {"id": "s2", "cwd": "/w", "source": "cli"},
        }
    ]
    for number, (step, value) in enumerate(steps):
        kind, payload = (
            "response_item",
            {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": f"{step} {number}"}],
            },
        )
        if step == "agent":
            payload |= {"role": "assistant"}
        elif step == "tool":
            payload = {"type": "function_call_output", "output": "never said " * (value * 100)}
        elif step == "rewind":
            kind, payload = "event_msg", {"type": "thread_rolled_back", "num_turns": value % 4}
        elif step == "repeat":
            kind, payload = (
                "event_msg",
                {
                    "type": "task_started",
                    "turn_attribution": {"turn_trigger": ["user", "exec"][value % 2]},
                },
            )
        records.append({"timestamp": at_minute(number), "type": kind, "payload": payload})
    return records


def make_openclaw(steps: Steps) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = [
        {"type": "session", "version": 3, "id": "s3", "timestamp": at_minute(0), "cwd": "/w"}
    ]
    ids: list[str | None] = [None]
    for number, (step, value) in enumerate(steps):
        parent = (
            ids[value % len(ids)]
            if step == "rewind"
            else "missing"
            if step == "repeat"
            else ids[-1]
        )
        role = {"agent": "assistant", "tool": "toolResult"}.get(step, "user")
        text = "never said " * (value * 100) if step == "tool" else f"{step} {number}"
        record = {
            "type": "message",
            "id": f"id-{number}",
            "parentId": parent,
            "timestamp": at_minute(number),
        }
        records.append(
            record | {"message": {"role": role, "content": [{"type": "text", "text": text}]}}
        )
        ids.append(f"id-{number}")
    return records


def make_gemini(steps: Steps) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = [
        {"sessionId": "s4", "projectHash": "0", "startTime": at_minute(0), "kind": "main"}
    ]
    messages: list[dict[str, Any]] = []
    for number, (step, value) in enumerate(steps):
        kind = "gemini" if step == "agent" else "user"
        record: dict[str, Any] = {
            "id": f"id-{number}",
            "timestamp": at_minute(number),
            "type": kind,
            "content": [{"text": f"{step} {number}"}],
        }
        if step == "tool":
            record = {"$set": {"messages": ["never said " * (value * 100)]}}
        elif step == "rewind":
            record = {
                "$rewindTo": messages[value % len(messages)]["id"]
                if messages and value % 5
                else "unknown"
            }
        elif step == "repeat" and messages:
            record = messages[value % len(messages)] | {"content": f"{step} {number}"}
        else:
            messages.append(record)
        records.append(record)
    return records


def make_copilot(steps: Steps) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = [
        {"type": "session.start", "data": {"sessionId": "s5", "context": {"cwd": "/w"}}}
    ]
    for number, (step, value) in enumerate(steps):
        kind, data = "user.message", {"content": f"{step} {number}"}
        if step == "agent":
            kind = "assistant.message"
        elif step == "tool":
            kind, data = "tool.execution_complete", {"result": "never said " * (value * 100)}
        elif step == "rewind":  # another process, in which a program may ask
            kind, data = ("session.resume", {}) if value % 2 else ("system.message", INSTRUCTIONS)
        elif step == "repeat":
            data |= {"source": ["user", "skill-x"][value % 2]}
        records.append({"type": kind, "data": data, "timestamp": at_minute(number)})
    return records


INSTRUCTIONS = {"content": "You are running in non-interactive mode."}


def make_qwen(steps: Steps) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = [
        {"type": "system", "subtype": "session_model", "uuid": "id", "parentUuid": None}
        | {"sessionId": "s6", "cwd": "/w", "provenance": "system", "timestamp": at_minute(0)}
    ]
    ids = ["id"]
    for number, (step, value) in enumerate(steps):
        parent = ids[value % len(ids)] if step == "rewind" else ids[-1]
        text = "never said " * (value * 100) if step == "tool" else f"{step} {number}"
        records.append(
            {
                "uuid": f"id-{number}",
                "parentUuid": "missing" if step == "repeat" else parent,
                "sessionId": "s6",
                "timestamp": at_minute(number),
                "type": {"agent": "assistant", "tool": "tool_result"}.get(step, "user"),
                "message": {"parts": [{"text": text}]},
            }
        )
        ids.append(f"id-{number}")
    return records


MAKERS = {
    "claude": make_claude,
    "codex": make_codex,
    "openclaw": make_openclaw,
    "gemini": make_gemini,
    "copilot": make_copilot,
    "qwen": make_qwen,
}
STEP = st.tuples(
    st.sampled_from(["user", "agent", "tool", "user", "agent", "rewind", "repeat"]),
    st.integers(0, 60),
)
FORWARD = st.tuples(st.sampled_from(["user", "agent", "tool"]), st.integers(0, 60))


def whole(data: bytes) -> Transcript:
    transcript = read(data)
    assert transcript is not None
    return transcript


def read_on(data: bytes, earlier: Transcript) -> Transcript:
    """Read on as a caller does once a file has grown."""
    assert earlier.next_start is not None
    return read(data[earlier.next_start.offset :], earlier.next_start) or whole(data)


def without_messages(transcript: Transcript) -> tuple[Any, ...]:
    names = [
        "client",
        "session",
        "project",
        "started",
        "lines",
        "size",
        "line_hash",
        "tools_line",
        "own",
    ]
    return tuple(getattr(transcript, name) for name in names)


@pytest.mark.parametrize("client", MAKERS)
@examples(60)
@given(
    steps=st.lists(STEP, min_size=1, max_size=70),
    cuts=st.lists(st.integers(1, 71), min_size=1, max_size=4),
    torn=st.integers(0, 30),
)
def test_parts_give_what_the_whole_gives(client: str, steps: Steps, cuts: list[int], torn: int):
    lines = [json.dumps(record).encode() + b"\n" for record in MAKERS[client](steps)]
    data = b"".join(lines)
    transcript = whole(lines[0])
    for cut in sorted(cuts):
        # The line behind the cut is still being written.
        visible = b"".join(lines[:cut]) + b"".join(lines[cut : cut + 1])[:torn].rstrip(b"\n")
        before, transcript = transcript.lines, read_on(visible, transcript)
        expected = whole(visible)
        assert [message for message in transcript.messages if message.line > before] == [
            message for message in expected.messages if message.line > before
        ]
        assert without_messages(transcript) == without_messages(expected)
    before, transcript = transcript.lines, read_on(data, transcript)
    assert [message for message in transcript.messages if message.line > before] == [
        message for message in whole(data).messages if message.line > before
    ]


@pytest.mark.parametrize("client", MAKERS)
@examples(30)
@given(steps=st.lists(FORWARD, min_size=30, max_size=90), cut=st.integers(1, 90))
def test_a_part_begins_some_messages_before_what_is_new(client: str, steps: Steps, cut: int):
    lines = [json.dumps(record).encode() + b"\n" for record in MAKERS[client](steps)]
    first = whole(b"".join(lines[:cut]))
    start = first.next_start
    assert start is not None
    second = read(b"".join(lines)[start.offset :], start)
    assert second is not None
    context = [message for message in second.messages if message.line <= first.lines]
    assert context == list(first.messages[-CONTEXT_MESSAGES:])


def test_a_file_that_was_rewritten_is_read_from_its_start():
    lines = [json.dumps(record).encode() + b"\n" for record in make_claude([("user", 1)] * 30)]
    start = whole(b"".join(lines)).next_start
    assert start is not None
    data = b"".join(lines)[start.offset :]
    assert read(data, start) is not None
    assert read(data.replace(b"user 29", b"user 30"), start) is None
    assert read(data[:-2], start) is None
    assert read(b"", start) is None
