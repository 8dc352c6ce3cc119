"""Days that no night has read, and the last night, by the state folder or the user's commits."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from mdmem.folder import files, layout
from mdmem.model import CommitId
from mdmem.model.trail import EVERY_NUMBER, LAST_NUMBER, TrailCommit, union
from mdmem.model.writes import is_night
from mdmem.past import fresh_trail, notes
from mdmem.past.table import Trail
from mdmem.proposals import branches
from mdmem.repo import commit_seconds
from mdmem.startup.records import asdict, dataclass
from mdmem.workspace import Workspace

SEEN_NAME = "dream.json"
MOST_DAYS = timedelta(days=30)
"""The time for which a log that was written waits for a night."""
_DAY = timedelta(days=1)
_VERSION = 2
"""The first night of version 1 read one day, and left no word of it."""


@dataclass(frozen=True, slots=True)
class SeenNight:
    """The last night: its day, its newest judged commit, and that commit's Unix time."""

    day: date
    commit: CommitId
    time: int


def due_day(workspace: Workspace) -> date | None:
    """The last ended day, if the last night was that of an earlier one.

    None too where the settings ask for no night (one that proposes needs `sessions`).
    """
    dream = workspace.settings.dream
    if dream != "apply" and not (dream == "propose" and workspace.settings.sessions):
        return None
    newest = _last_ended(workspace)
    seen = read_seen(workspace)
    return newest if seen is None or seen.day < newest else None


def open_days(
    workspace: Workspace, trail: Trail, last: date, seen: SeenNight | None
) -> frozenset[date]:
    """The days up to `last` with entries that mdmem wrote lately, and that no night has read.

    Lately is within `MOST_DAYS`, by the moment of the commit. What a person wrote or had before
    does not open a day.
    """
    since = int((workspace.now() - MOST_DAYS).timestamp())
    commit = commit_of(trail, seen) if seen else None
    unread = union(commit.missing, ((commit.number + 1, LAST_NUMBER),)) if commit else EVERY_NUMBER
    days = set()
    for path in trail.touched_since(since):
        day = layout.log_day(path, workspace.daily)
        if day is not None and day <= last and day not in days:
            among = unread if seen is not None and day <= seen.day else EVERY_NUMBER
            if trail.has_entry_by_mdmem(path, since, among):
                days.add(day)
    return frozenset(days)


def unread_days(workspace: Workspace) -> tuple[date, ...]:
    """`open_days` up to yesterday, oldest first."""
    yesterday = workspace.now().date() - _DAY
    with fresh_trail(workspace) as trail:
        return tuple(sorted(open_days(workspace, trail, yesterday, read_seen(workspace))))


def commit_of(trail: Trail, seen: SeenNight) -> TrailCommit | None:
    """The commit up to which the last night has read, or (rewritten history) one as old."""
    return trail.commit_with_id(seen.commit) or trail.last_commit_upto(seen.time)


def _last_ended(workspace: Workspace) -> date:
    now = workspace.now()
    is_time = f"{now:%H:%M}" >= workspace.settings.dream_at
    return now.date() - (_DAY if is_time else 2 * _DAY)


def read_seen(workspace: Workspace) -> SeenNight | None:
    """The last night, from the state folder or the user's commits; None if neither tells.

    Commits of others tell of their nights, and what lies ahead of now is nobody's.
    """
    values = _kept(workspace.state)
    return _committed(workspace) if values is None else _parse_seen(values)


def read_kept(state: Path) -> SeenNight | None:
    return _parse_seen(_kept(state))


def _kept(state: Path) -> object:
    with suppress(OSError, ValueError, RecursionError):
        return json.loads((state / SEEN_NAME).read_bytes())
    return None


def _parse_seen(values: Any) -> SeenNight | None:
    with suppress(ValueError, TypeError, KeyError):
        if values["version"] == _VERSION:
            return SeenNight(
                date.fromisoformat(values["day"]), CommitId(values["commit"]), int(values["time"])
            )
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
