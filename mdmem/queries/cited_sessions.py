"""The sessions that commits name: those of which digests wrote entries, whether their transcripts are still there or not."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from mdmem.history.notes import parse_message
from mdmem.startup.records import dataclass
from mdmem.workspace import Workspace

_TRAILERS = ("Mdmem-Read", "Mdmem-Cites")


@dataclass(frozen=True, slots=True)
class CitedSession:
    """A session (CLIENT/SESSION), the last line of it that a commit names as read, and the time of the newest commit that names it."""

    session: str
    read_line: int
    time: datetime


def cited_sessions(workspace: Workspace) -> dict[str, CitedSession]:
    """The sessions that the commits which led to HEAD name, merged ones too."""
    sessions: dict[str, CitedSession] = {}
    for time, session, read_line in _named(workspace):
        previous = sessions.get(session)
        if previous is not None:
            time, read_line = max(time, previous.time), max(read_line, previous.read_line)
        sessions[session] = CitedSession(session, read_line, time)
    return sessions


def _named(workspace: Workspace) -> Iterator[tuple[datetime, str, int]]:
    repository = workspace.repository
    if repository.head() is None:
        return
    patterns = [f"--grep=^{trailer}: " for trailer in _TRAILERS]
    command = ("log", "-z", "--no-color", "--encoding=UTF-8", "--format=%ct%n%B", *patterns, "HEAD")
    for record in repository.git(*command).decode("utf-8", "replace").split("\0"):
        seconds, _, message = record.partition("\n")
        if not seconds.isdecimal():
            continue
        time, note = datetime.fromtimestamp(int(seconds), UTC), parse_message(message)
        for reference, _ in note.reads:
            session, _, line = reference.rpartition("#")
            yield time, session, int(line) if line.isdecimal() else 0
        for _, reference in note.cites:
            yield time, reference.rpartition("#")[0], 0
