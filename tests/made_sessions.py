"""Sessions of our own making, in the shapes of each client."""

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

Json = dict[str, Any]
Turn = tuple[str, str]
"""Who (`user`, `agent` or `tool`), and the text."""
PROJECT = "/home/ada/work"


def stamp(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%S.000Z}"


def write_session(
    client: str,
    turns: Sequence[Turn],
    session: str,
    start: datetime,
    step: timedelta = timedelta(minutes=1),
) -> bytes:
    """A session whose turns are a step apart; a tool's text is the result of a call that the agent
    makes.
    """
    rows = WRITERS[client](turns, session, [start + step * number for number in range(len(turns))])
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def _claude(turns: Sequence[Turn], session: str, times: Sequence[datetime]) -> Iterator[Json]:
    yield {"type": "mode", "mode": "normal", "sessionId": session}
    parent: str | None = None
    for number, ((who, text), time) in enumerate(zip(turns, times, strict=True)):
        call, own = f"toolu_{number}", f"{session}-{number}"
        use = {"type": "tool_use", "id": call, "name": "Read", "input": {"file_path": "notes.md"}}
        result = {"type": "tool_result", "tool_use_id": call, "content": text}
        values: list[Json] = {
            "user": [
                {
                    "type": "user",
                    "message": {"role": "user", "content": text},
                    "origin": {"kind": "human"},
                    "promptSource": "typed",
                }
            ],
            "agent": [
                {
                    "type": "assistant",
                    "message": {"role": "assistant", "content": [{"type": "text", "text": text}]},
                }
            ],
            "tool": [
                {"type": "assistant", "message": {"role": "assistant", "content": [use]}},
                {
                    "type": "user",
                    "message": {"role": "user", "content": [result]},
                    "toolUseResult": {"stdout": text},
                },
            ],
        }[who]
        for part, value in enumerate(values):
            uuid = f"{own}-{part}"
            links = {
                "uuid": uuid,
                "parentUuid": parent,
                "sessionId": session,
                "cwd": PROJECT,
                "isSidechain": False,
            }
            yield {**links, "timestamp": stamp(time), **value}
            parent = uuid


def _codex(turns: Sequence[Turn], session: str, times: Sequence[datetime]) -> Iterator[Json]:
    begun = stamp(times[0])
    yield {
        "timestamp": begun,
        "type": "session_meta",
        "payload": {
            "id": session,
            "timestamp": begun,
            "cwd": PROJECT,
            "cli_version": "0.169.0",
            "source": "cli",
        },
    }
    for number, ((who, text), time) in enumerate(zip(turns, times, strict=True)):
        person = {"content_item_metadata": [{"provenance": {"type": "user"}}]}
        payloads: list[Json] = {
            "user": [
                {
                    **{
                        "type": "message",
                        "role": "user",
                        "content": [{"type": "input_text", "text": text}],
                    },
                    "internal_chat_message_metadata_passthrough": person,
                }
            ],
            "agent": [
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": text}],
                }
            ],
            "tool": [
                {
                    "type": "function_call",
                    "name": "exec_command",
                    "arguments": "{}",
                    "call_id": f"call_{number}",
                },
                {"type": "function_call_output", "call_id": f"call_{number}", "output": text},
            ],
        }[who]
        yield from (
            {"timestamp": stamp(time), "type": "response_item", "payload": payload}
            for payload in payloads
        )


def _gemini(turns: Sequence[Turn], session: str, times: Sequence[datetime]) -> Iterator[Json]:
    yield {
        "sessionId": session,
        "projectHash": "0" * 64,
        "startTime": stamp(times[0]),
        "kind": "main",
    }
    for number, ((who, text), time) in enumerate(zip(turns, times, strict=True)):
        named = {"id": f"{session}-{number}", "timestamp": stamp(time)}
        result = {
            "functionResponse": {"id": "c", "name": "read_file", "response": {"output": text}}
        }
        call = {
            "id": "c",
            "name": "read_file",
            "args": {},
            "result": [result],
            "status": "success",
            "resultDisplay": text,
        }
        values: Json = {
            "user": {"type": "user", "content": [{"text": text}]},
            "agent": {"type": "gemini", "content": text},
            "tool": {"type": "gemini", "content": "", "toolCalls": [call]},
        }[who]
        yield {**named, **values}


def _openclaw(turns: Sequence[Turn], session: str, times: Sequence[datetime]) -> Iterator[Json]:
    yield {
        "type": "session",
        "version": 3,
        "id": session,
        "timestamp": stamp(times[0]),
        "cwd": PROJECT,
    }
    parent: str | None = None
    for number, ((who, text), time) in enumerate(zip(turns, times, strict=True)):
        role = {"user": "user", "agent": "assistant", "tool": "toolResult"}[who]
        message = {"role": role, "content": [{"type": "text", "text": text}]}
        yield {
            "type": "message",
            "id": f"{number:08x}",
            "parentId": parent,
            "timestamp": stamp(time),
            "message": message,
        }
        parent = f"{number:08x}"


def _copilot(turns: Sequence[Turn], session: str, times: Sequence[datetime]) -> Iterator[Json]:
    begun = {"sessionId": session, "version": 1, "startTime": stamp(times[0])}
    events: list[tuple[str, Json, datetime]] = [
        ("session.start", {**begun, "context": {"cwd": PROJECT}}, times[0])
    ]
    for number, ((who, text), time) in enumerate(zip(turns, times, strict=True)):
        call = {"toolCallId": f"call_{number}", "name": "view", "arguments": {"path": "notes.md"}}
        done = {"toolCallId": call["toolCallId"], "success": True, "result": {"content": text}}
        said: dict[str, list[tuple[str, Json]]] = {
            "user": [("user.message", {"content": text, "transformedContent": f"now\n\n{text}"})],
            "agent": [("assistant.message", {"content": text, "toolRequests": []})],
            "tool": [
                ("assistant.message", {"content": "", "toolRequests": [call]}),
                ("tool.execution_complete", done),
            ],
        }
        events += [(kind, data, time) for kind, data in said[who]]
    for number, (kind, data, time) in enumerate(events):
        parent = f"{session}-{number - 1}" if number else None
        links = {"id": f"{session}-{number}", "timestamp": stamp(time), "parentId": parent}
        yield {"type": kind, "data": data, **links}


def _qwen(turns: Sequence[Turn], session: str, times: Sequence[datetime]) -> Iterator[Json]:
    parent: str | None = None
    for number, ((who, text), time) in enumerate(zip(turns, times, strict=True)):
        result = {"functionResponse": {"name": "read_file", "response": {"output": text}}}
        kind, origin, role, part = {
            "user": ("user", "real_user", "user", {"text": text}),
            "agent": ("assistant", "assistant_output", "model", {"text": text}),
            "tool": ("tool_result", "tool_result", "user", result),
        }[who]
        yield {
            "uuid": f"{session}-{number}",
            "parentUuid": parent,
            "sessionId": session,
            "timestamp": stamp(time),
            "type": kind,
            "provenance": origin,
            "cwd": PROJECT,
            "version": "0.24.4",
            "message": {"role": role, "parts": [part]},
        }
        parent = f"{session}-{number}"


WRITERS: dict[str, Callable[[Sequence[Turn], str, Sequence[datetime]], Iterator[Json]]] = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "openclaw": _openclaw,
    "copilot": _copilot,
    "qwen": _qwen,
}
