"""The sessions that entries and commits of memory cite, and the lines of them that were read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime

from mdmem.model import FactId, FilePath
from mdmem.past import fresh_trail
from mdmem.past.notes import parse_message
from mdmem.repo import commit_seconds
from mdmem.startup.records import dataclass
from mdmem.workspace import Say, Workspace


def count_by_session(workspace: Workspace, path: FilePath, say: Say) -> Counter[str]:
    """Count a log's digested entries by session (CLIENT/SESSION)."""
    with fresh_trail(workspace, say) as trail:
        cites = [
            each.origin.cites
            for each in trail.live_occurrences(path)
            if each.entry.fact is not None
        ]
    return Counter(cited[0].rpartition("#")[0] for cited in cites if cited)


def lines_read(workspace: Workspace) -> Iterator[tuple[str, str]]:
    """The last read lines (CLIENT/SESSION#LINE) with their hashes, by all commits below HEAD."""
    return (
        read
        for message in _messages_with(workspace, "Mdmem-Read: ")
        for read in parse_message(message).reads
    )


def sessions_cited(workspace: Workspace, fact: FactId) -> frozenset[str]:
    """The sessions in which a fact was said, as CLIENT/SESSION, by all commits that led to HEAD."""
    notes = (
        parse_message(message) for message in _messages_with(workspace, f"Mdmem-Cites: {fact} ")
    )
    return frozenset(
        lines.rpartition("#")[0] for note in notes for cited, lines in note.cites if cited == fact
    )


def _messages_with(workspace: Workspace, *beginnings: str, form: str = "%B") -> list[str]:
    """The messages with a line that begins like this, of all commits that led to HEAD."""
    repository = workspace.repository
    if repository.head() is None:
        return []
    patterns = [f"--grep=^{beginning}" for beginning in beginnings]
    command = ("log", "-z", "--no-color", "--encoding=UTF-8", f"--format={form}", *patterns, "HEAD")
    return repository.git(*command).decode("utf-8", "replace").split("\0")


_TRAILERS = ("Mdmem-Read: ", "Mdmem-Cites: ")


@dataclass(frozen=True, slots=True)
class CitedSession:
    """A session, the last line that a commit names as read, and the newest such commit's time."""

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
    for record in _messages_with(workspace, *_TRAILERS, form="%ct%n%B"):
        seconds, _, message = record.partition("\n")
        time, note = datetime.fromtimestamp(commit_seconds(seconds), UTC), parse_message(message)
        for reference, _ in note.reads:
            session, _, line = reference.rpartition("#")
            yield time, session, int(line)
        for _, reference in note.cites:
            yield time, reference.rpartition("#")[0], 0
