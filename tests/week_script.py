"""What happens in the week of Ada (`data/weeks/ada.jsonl`): sessions, commands and edits by hand,
each at its minute.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from made_sessions import Turn
from workspaces import TOKEN

Row = Mapping[str, Any]
BERLIN = "Europe/Berlin"
MINUTE = timedelta(minutes=1)
OWNER, OTHER = "+4915550001", "+4915550002"
_SENDERS = {"ada": ("Ada", OWNER), "marek": ("Marek", OTHER)}


def read_rows(name: str) -> list[Row]:
    """The rows of a file of `data/weeks`."""
    path = Path(__file__).parent / "data" / "weeks" / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def values(rows: Sequence[Row], key: str) -> tuple[str, ...]:
    return tuple(row[key] for row in rows if key in row)


def text_of(rows: Sequence[Row], key: str) -> str:
    """A file of which each row has a line."""
    return "".join(f"{line}\n" for line in values(rows, key))


def moment(time: str) -> datetime:
    """A time such as `2 09:00 Europe/Berlin`: the day of March 2026, the minute, and the zone."""
    day, minute, zone = time.split()
    return datetime.fromisoformat(f"2026-03-{int(day):02}T{minute}").replace(tzinfo=ZoneInfo(zone))


@dataclass(frozen=True)
class Session:
    """A session with one turn a minute. `fork_of`: its first turns are those of another one, with
    their times.
    """

    client: str
    id: str
    start: datetime
    turns: Sequence[Turn] = field(default_factory=list)
    fork_of: str | None = None


def _sessions(rows: Sequence[Row]) -> Iterator[Session]:
    turns: list[Turn] = []
    for row in rows:
        match row:
            case {"session": name, "client": client, "at": at}:
                turns = []
                yield Session(client, name, moment(at), turns, row.get("fork_of"))
            case {"user": words} | {"agent": words} | {"tool": words}:
                (who,) = row
                turns.append((who, words.replace("{TOKEN}", TOKEN)))
            case {"ada": words} | {"marek": words}:
                (name,) = row
                turns.append(("user", _in_group(*_SENDERS[name], words)))


def _in_group(sender: str, number: str, words: str) -> str:
    """A message of a group chat, in the envelope of the gateway."""
    about = json.dumps(
        {"is_group_chat": True, "group_subject": "Retreat", "sender_id": number, "sender": sender}
    )
    return f"Conversation info (untrusted metadata):\n```json\n{about}\n```\n\n{words}"


_ROWS = read_rows("ada")
MEMORY, PROFILE = text_of(_ROWS, "memory"), text_of(_ROWS, "profile")
START = moment(f"1 18:00 {BERLIN}")
SESSIONS = tuple(_sessions(_ROWS))
EVENTS = [row for row in _ROWS if "at" in row and "session" not in row]
"""What the person, an agent and the timer do. A `run` with a name is a night, by which the gold
list knows it; an `edit` without a message is not committed.
"""
