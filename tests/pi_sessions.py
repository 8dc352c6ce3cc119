"""Sessions of pi as tests write them, and their digest."""

import json
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from workspaces import Desk

from mdmem.memory import Memory
from mdmem.model.pipelines import Digest, DigestResult

START = datetime(2026, 3, 4, 9, 0, tzinfo=UTC)
Transcript = Callable[..., Path]
_ROLES = {"agent: ": "assistant", "tool: ": "toolResult"}
_MINUTE = timedelta(minutes=1)


def write_session(
    folder: Path,
    *texts: str,
    session: str = "5a1e0000",
    start: datetime = START,
    every: timedelta = _MINUTE,
) -> Path:
    """Write a session, a message a minute; those that begin with `agent: ` are the agent's, those
    with `tool: ` a tool's.
    """
    path = folder / f"{session}.jsonl"
    rows: list[dict[str, Any]] = [
        {
            "type": "session",
            "version": 3,
            "id": session,
            "timestamp": stamp(start),
            "cwd": "/home/ada",
        }
    ]
    for number, text in enumerate(texts):
        who, words = next(
            (
                (who, text.removeprefix(mark))
                for mark, who in _ROLES.items()
                if text.startswith(mark)
            ),
            ("user", text),
        )
        message = {"role": who, "content": [{"type": "text", "text": words}]}
        parent = f"{number - 1:08x}" if number else None
        time = stamp(start + every * number)
        rows.append(
            {
                "type": "message",
                "id": f"{number:08x}",
                "parentId": parent,
                "timestamp": time,
                "message": message,
            }
        )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def stamp(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%S.000Z}"


def digest(at: Desk, *paths: Path, **options: Any) -> DigestResult:
    with closing(Memory(at.workspace)) as memory:
        return memory.pipelines.digest(Digest(sessions=tuple(map(str, paths)), **options))


def texts(result: DigestResult) -> list[str]:
    return [entry.text for entry in result.entries]
