"""Ended days that are due, and the last night, by the state folder or the user's own commits."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path

from mdmem.folder import files
from mdmem.model import CommitId
from mdmem.model.writes import is_night
from mdmem.past import notes
from mdmem.proposals import branches
from mdmem.repo import commit_seconds
from mdmem.startup.records import asdict, dataclass
from mdmem.workspace import Workspace

SEEN_NAME = "dream.json"
_MOST_NIGHTS = 14
"""The maximum of nights in one run."""
_DAY = timedelta(days=1)
_VERSION = 1


@dataclass(frozen=True, slots=True)
class SeenNight:
    """The last night: its day, its newest judged commit, and that commit's Unix time."""

    day: date
    commit: CommitId
    time: int


def is_due(workspace: Workspace) -> bool:
    """True if the settings ask for dreams (proposed ones need `sessions`), and a day is due."""
    settings = workspace.settings
    is_wanted = settings.dream == "apply" or (
        settings.dream == "propose" and bool(settings.sessions)
    )
    return is_wanted and bool(due_days(workspace))


def due_days(workspace: Workspace) -> list[date]:
    """Ended days to dream, oldest first, at most `_MOST_NIGHTS`; the first time only one."""
    newest = _last_ended(workspace)
    seen = read_seen(workspace)
    first = newest if seen is None else seen.day + _DAY
    return [
        first + timedelta(days=number)
        for number in range(min((newest - first).days + 1, _MOST_NIGHTS))
    ]


def _last_ended(workspace: Workspace) -> date:
    now = workspace.now()
    is_time = f"{now:%H:%M}" >= workspace.settings.dream_at
    return now.date() - (_DAY if is_time else 2 * _DAY)


def read_seen(workspace: Workspace) -> SeenNight | None:
    """The last night, from the state folder or the user's commits; None if neither tells.

    Commits of others tell of their nights, and what lies ahead of now is nobody's.
    """
    return read_kept(workspace.state) or _committed(workspace)


def read_kept(state: Path) -> SeenNight | None:
    try:
        values = json.loads((state / SEEN_NAME).read_bytes())
        if values["version"] == _VERSION:
            return SeenNight(
                date.fromisoformat(values["day"]), CommitId(values["commit"]), int(values["time"])
            )
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        pass
    return None


def write_seen(state: Path, night: SeenNight) -> None:
    """Store the last night. Raises: OSError."""
    values = {"version": _VERSION, **asdict(night)}
    files.write_cache(state / SEEN_NAME, json.dumps(values, default=date.isoformat))


def _committed(workspace: Workspace) -> SeenNight | None:
    repository = workspace.repository
    head = repository.head()
    if head is None:
        return None
    proposed = [
        ref.tip for ref in branches.open_proposals(workspace).values() if ref.actor == "dream"
    ]
    command = (
        "log",
        "-z",
        "--no-color",
        "--encoding=UTF-8",
        "--format=%ae%n%at%n%B",
        "--grep=^Mdmem-Dreamt: ",
    )
    messages = repository.git(*command, head, *proposed).decode("utf-8", "replace").split("\0")
    addresses, now = workspace.user_addresses, workspace.now()
    nights = []
    for entry in filter(None, messages):
        author, time, message = entry.split("\n", 2)
        if author.casefold() not in addresses:
            continue
        note = notes.parse_message(message)
        if note.dreamt is not None and note.run is not None and is_night(note.run):
            day = date.fromisoformat(note.run.partition("/")[2])
            if day <= now.date() + _DAY:
                seconds = min(commit_seconds(time), int(now.timestamp()))
                nights.append(SeenNight(day, note.dreamt, seconds))
    return max(nights, key=lambda night: (night.day, night.time), default=None)
