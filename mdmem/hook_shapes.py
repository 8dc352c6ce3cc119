"""The shapes in which agents' hosts name an event to their hooks, and in which each is answered.

A host is told by its fields, never by its environment: one bundle serves many hosts.
"""

from __future__ import annotations

import json
import os
import select
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from mdmem.startup import late
from mdmem.startup.records import dataclass, field

_MOST_SESSION = 200
_MOST_BYTES = 16_000_000  # no event of a host comes near
_LOST_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class HostShape:
    """A host, or all of one shape.

    - Its events have one of the fields `marks` and not the field `lacks`, or names of `events`.
    - `key`: of the text in its answer, with `beside`; "": the text alone; None: no answer is read.
    - `answers`: the events whose answer it reads.
    """

    marks: frozenset[str] = frozenset()
    lacks: str | None = None
    events: frozenset[str] = frozenset()
    key: str | None = None
    beside: Mapping[str, Any] = field(default_factory=dict)
    answers: frozenset[str] = frozenset({"SessionStart", "UserPromptSubmit"})


CLAUDE = HostShape(
    key="hookSpecificOutput", answers=frozenset({"SessionStart", "UserPromptSubmit", "PreCompact"})
)
"""The shape of Claude Code, and of Codex, Qwen Code, Gemini CLI and VS Code."""
_HOSTS = (
    HostShape(  # it shows nothing at a prompt
        marks=frozenset({"cursor_version"}),
        key="additional_context",
        answers=frozenset({"SessionStart"}),
    ),
    HostShape(
        marks=frozenset({"clineVersion"}), key="contextModification", beside={"cancel": False}
    ),
    HostShape(
        marks=frozenset({"agent_action_name", "event"}), answers=frozenset()
    ),  # Windsurf, Goose
    HostShape(events=frozenset({"agentSpawn", "userPromptSubmit"}), key=""),  # Kiro, Amazon Q
    HostShape(  # Copilot CLI
        marks=frozenset({"timestamp"}),
        lacks="transcript_path",
        key="additionalContext",
    ),
)
_FORGETS = "timestamp"
"""A field of all hosts that do not keep the start block in the history that they resume."""
_NAME_FIELDS = ("hook_event_name", "hookEventName", "hookName", "agent_action_name", "event")
_SESSION_FIELDS = ("session_id", "sessionId", "conversation_id", "taskId", "trajectory_id")
_FOLDER_FIELDS = ("cwd", "workspace_roots.0", "workspaceRoots.0", "working_dir")
_PROMPT_FIELDS = ("prompt", "userPromptSubmit.prompt", "tool_info.user_prompt", "message")
_EVENTS = {
    spelling: name
    for name, spellings in {
        "SessionStart": "sessionstart agentspawn taskstart taskresume",
        "UserPromptSubmit": "userpromptsubmit userpromptsubmitted beforeagent beforesubmitprompt"
        " preuserprompt",
        "PreCompact": "precompact",
        "PostCompact": "postcompact",
        "SessionEnd": "sessionend taskcomplete taskcancel",
    }.items()
    for spelling in spellings.split()
}
"""By their spellings without case and separators. PreCompress of Gemini CLI comes every turn."""
_HOOK_CONTEXT = late.pattern(r"(?s)<hook_context>.*?</hook_context>\s*")
"""Gemini CLI puts what hooks gave, escaped, into the prompt that it tells the next hook."""


@dataclass(frozen=True, slots=True)
class HookEvent:
    """An event; a field is None where it is missing or of the wrong type.

    `name` is that of Claude Code, and empty for an event that is none of ours; `called` is the
    host's own name.
    """

    name: str
    session: str | None = None
    source: str | None = None
    folder: str | None = None
    prompt: str | None = None
    summary: str | None = None
    transcript: str | None = None
    host: HostShape = CLAUDE
    called: str | None = None

    @property
    def is_answered(self) -> bool:
        return self.name in self.host.answers

    def shaped(self, text: str) -> str:
        """The answer that tells the model a text. Hosts refuse keys that they do not know."""
        if not text:
            return ""
        if self.host is CLAUDE:
            named = {"hookEventName": self.called or self.name, "additionalContext": text}
            return json.dumps({self.host.key: named})
        return json.dumps({**self.host.beside, self.host.key: text}) if self.host.key else text


def parse_event(data: bytes, argument: str | None = None) -> HookEvent | None:
    """Parse a host's JSON; None for events of subagents, an event without a name for what is none.

    `argument` names the event where the input does not.
    """
    try:
        values = json.loads(data) if len(data) <= _MOST_BYTES else None
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        return HookEvent(name="")
    if values.get("agent_id"):
        return None

    def text(*names: str) -> str | None:
        return next(_texts(values, names), None)

    called = text(*_NAME_FIELDS) or argument or ""
    host, session = _host(values, called), text(*_SESSION_FIELDS)
    name = _EVENTS.get("".join(filter(str.isalnum, called)).casefold(), "")
    source, prompt = text("source"), text(*_PROMPT_FIELDS)
    if source == "new" or (source == "resume" and _FORGETS in values):
        source = "startup"
    return HookEvent(
        name=name,
        session=(
            session if session and session.isprintable() and len(session) <= _MOST_SESSION else None
        ),
        source=source,
        folder=text(*_FOLDER_FIELDS),
        prompt=(prompt and _HOOK_CONTEXT.sub("", prompt)) or None,
        summary=text("compact_summary"),
        transcript=text("transcript_path"),
        host=host,
        called=called or None,
    )


def _host(values: Mapping[str, Any], called: str) -> HostShape:
    for host in _HOSTS:
        if called in host.events or (values.keys() & host.marks and host.lacks not in values):
            return host
    return CLAUDE


def _texts(values: Mapping[str, Any], names: tuple[str, ...]) -> Iterator[str]:
    """The fields that hold a text; `a.b` is `b` in `a`, and `a.0` the first of a list."""
    for name in names:
        value: Any = values
        for part in name.split("."):
            if isinstance(value, list) and part == "0":
                value = next(iter(value), None)
            else:
                value = value.get(part) if isinstance(value, dict) else None
        if isinstance(value, str) and value.strip():
            yield value


def lost_input() -> bytes:
    """The input that a host gave to a bare `mdmem`, as far as it comes within half a second."""
    data, end = b"", time.monotonic() + _LOST_SECONDS
    with suppress(OSError):  # a folder, for one
        while select.select([0], [], [], max(0.0, end - time.monotonic()))[0]:
            data += (part := os.read(0, 1 << 16))
            if not part or len(data) > _MOST_BYTES:
                break
    return data
