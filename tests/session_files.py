"""Sessions of each client, as small files where it keeps them."""

import json
import os
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

START = datetime(2026, 3, 4, 9, 0, tzinfo=UTC)
SESSION = "5a1e0000-1111-4222-8333-444455556666"


def stamp(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%S.000Z}"


def _spoken(texts: Iterable[str], start: datetime) -> list[tuple[int, str, bool, str]]:
    """For each text its number, its words, whether the agent says it, and its time: one
    a minute.
    """
    rows = []
    for number, text in enumerate(texts):
        rows.append(
            (
                number,
                text.removeprefix("agent: "),
                text.startswith("agent: "),
                stamp(start + timedelta(minutes=number)),
            )
        )
    return rows


def claude(
    home: Path,
    *texts: str,
    session: str = SESSION,
    project: str = "/home/ada",
    start: datetime = START,
) -> Path:
    path = home / ".claude/projects" / project.replace("/", "-") / f"{session}.jsonl"
    rows: list[dict[str, Any]] = []
    for number, text, is_agent, time in _spoken(texts, start):
        kind = "assistant" if is_agent else "user"
        parent = f"{session[:8]}-{number - 1}" if number else None
        row = {
            "parentUuid": parent,
            "sessionId": session,
            "cwd": project,
            "type": kind,
            "uuid": f"{session[:8]}-{number}",
            "timestamp": time,
        }
        rows.append(row | {"message": {"role": kind, "content": [{"type": "text", "text": text}]}})
    return written(path, rows)


def codex(
    home: Path,
    *texts: str,
    session: str = SESSION,
    project: str = "/home/ada",
    start: datetime = START,
) -> Path:
    path = (
        home / f".codex/sessions/{start:%Y/%m/%d}/rollout-{start:%Y-%m-%dT%H-%M-%S}-{session}.jsonl"
    )
    header = {"id": session, "timestamp": stamp(start), "cwd": project, "source": "cli"}
    rows: list[dict[str, Any]] = [
        {"timestamp": stamp(start), "type": "session_meta", "payload": header}
    ]
    for _, text, is_agent, time in _spoken(texts, start):
        role, kind = ("assistant", "output_text") if is_agent else ("user", "input_text")
        message = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
        rows.append({"timestamp": time, "type": "response_item", "payload": message})
    return written(path, rows)


def pi(
    home: Path,
    *texts: str,
    session: str = SESSION,
    project: str = "/home/ada",
    start: datetime = START,
) -> Path:
    path = home / ".pi/agent/sessions/--ada--" / f"{start:%Y-%m-%dT%H-%M-%S-000Z}_{session}.jsonl"
    rows: list[dict[str, Any]] = [
        {"type": "session", "version": 3, "id": session, "timestamp": stamp(start), "cwd": project}
    ]
    for number, text, is_agent, time in _spoken(texts, start):
        message = {
            "role": "assistant" if is_agent else "user",
            "content": [{"type": "text", "text": text}],
        }
        parent = f"{number - 1:08x}" if number else None
        rows.append(
            {
                "type": "message",
                "id": f"{number:08x}",
                "parentId": parent,
                "timestamp": time,
                "message": message,
            }
        )
    return written(path, rows)


def gemini(
    home: Path,
    *texts: str,
    session: str = SESSION,
    project: str = "/home/ada",
    start: datetime = START,
) -> Path:
    folder = home / ".gemini/tmp/ada"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".project_root").write_text(project)
    path = folder / "chats" / f"session-{start:%Y-%m-%dT%H-%M}-{session[:8]}.jsonl"
    rows: list[dict[str, Any]] = [
        {"sessionId": session, "projectHash": "0" * 64, "startTime": stamp(start), "kind": "main"}
    ]
    for number, text, is_agent, time in _spoken(texts, start):
        rows.append(
            {
                "id": f"{number}",
                "timestamp": time,
                "type": "gemini" if is_agent else "user",
                "content": text,
            }
        )
    return written(path, rows)


def copilot(
    home: Path,
    *texts: str,
    session: str = SESSION,
    project: str = "/home/ada",
    start: datetime = START,
) -> Path:
    path = home / ".copilot/session-state" / session / "events.jsonl"
    begun = {"sessionId": session, "startTime": stamp(start), "context": {"cwd": project}}
    rows: list[dict[str, Any]] = [
        {"type": "session.start", "data": begun, "id": "start", "timestamp": stamp(start)}
    ]
    for number, text, is_agent, time in _spoken(texts, start):
        kind = "assistant.message" if is_agent else "user.message"
        rows.append({"type": kind, "data": {"content": text}, "id": f"{number}", "timestamp": time})
    return written(path, rows)


def qwen(
    home: Path,
    *texts: str,
    session: str = SESSION,
    project: str = "/home/ada",
    start: datetime = START,
) -> Path:
    path = home / ".qwen/projects" / project.replace("/", "-") / "chats" / f"{session}.jsonl"
    rows: list[dict[str, Any]] = []
    for number, text, is_agent, time in _spoken(texts, start):
        row = {
            "uuid": f"{number}",
            "parentUuid": f"{number - 1}" if number else None,
            "sessionId": session,
            "timestamp": time,
            "type": "assistant" if is_agent else "user",
            "cwd": project,
        }
        role = "model" if is_agent else "user"
        rows.append(row | {"message": {"role": role, "parts": [{"text": text}]}})
    return written(path, rows)


WRITERS = {
    "claude": claude,
    "codex": codex,
    "openclaw": pi,
    "gemini": gemini,
    "copilot": copilot,
    "qwen": qwen,
}
ALL = (f"sessions = {list(WRITERS)}", 'session_scope = "all"')
"""The settings with which the sessions of all clients are read."""


def written(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def named(home: Path, *lines: str) -> None:
    """Write the user's own settings, with a time that can be relied on."""
    path = home / ".config/mdmem/config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines))
    os.utime(path, (1, 1))
