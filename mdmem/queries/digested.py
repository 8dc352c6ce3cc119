"""The work of digests, as their commits tell it: the entries in a log, and the lines that were read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from mdmem.catchup import trails
from mdmem.history.notes import parse_message
from mdmem.model import FactId, FilePath
from mdmem.workspace import Say, Workspace


def count_by_session(workspace: Workspace, path: FilePath, say: Say) -> Counter[str]:
    """Count the entries of a log that digests wrote into it, by the session in which they were said, as CLIENT/SESSION."""
    with trails.fresh_trail(workspace, say) as trail:
        cites = [each.origin.cites for each in trail.live_occurrences(path) if each.entry.fact is not None]
    return Counter(cited[0].rpartition("#")[0] for cited in cites if cited)


def lines_read(workspace: Workspace) -> Iterator[tuple[str, str]]:
    """The last lines that were read of sessions, as CLIENT/SESSION#LINE, each with its hash; by all commits that led to HEAD, merged ones too."""
    return (read for message in _messages_with(workspace, "Mdmem-Read: ") for read in parse_message(message).reads)


def sessions_cited(workspace: Workspace, fact: FactId) -> frozenset[str]:
    """The sessions in which a fact was said, as CLIENT/SESSION, by all commits that led to HEAD."""
    notes = (parse_message(message) for message in _messages_with(workspace, f"Mdmem-Cites: {fact} "))
    return frozenset(lines.rpartition("#")[0] for note in notes for cited, lines in note.cites if cited == fact)


def _messages_with(workspace: Workspace, beginning: str) -> Iterator[str]:
    """The messages of commits that led to HEAD and have a line that begins so."""
    repository = workspace.repository
    if repository.head() is None:
        return
    command = ("log", "-z", "--no-color", "--encoding=UTF-8", "--format=%B", f"--grep=^{beginning}", "HEAD")
    yield from repository.git(*command).decode("utf-8", "replace").split("\0")
