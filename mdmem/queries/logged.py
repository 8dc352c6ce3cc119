"""The entries of memory that are nearest to each of some texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mdmem.catchup import trails
from mdmem.catchup.index import FreshIndex, fresh_index
from mdmem.editors import likeness
from mdmem.editors.fact_difference import fact_difference
from mdmem.errors import PathProblem
from mdmem.folder import files
from mdmem.folder.layout import is_markdown
from mdmem.history.notes import parse_message
from mdmem.history.purged import PurgedWords, holds_purged, purged_words
from mdmem.model import CommitId, FactId, FilePath
from mdmem.model.searches import Search
from mdmem.model.trail import Fate, MarkKind, TrailCommit
from mdmem.proposals import origins
from mdmem.queries import search
from mdmem.startup.records import dataclass
from mdmem.text.document import parse_bytes
from mdmem.workspace import Say, Workspace

if TYPE_CHECKING:
    from mdmem.trail import Trail


def count_by_session(workspace: Workspace, path: FilePath, say: Say) -> Counter[str]:
    """Count a log's digested entries by session (CLIENT/SESSION)."""
    with trails.fresh_trail(workspace, say) as trail:
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


def _messages_with(workspace: Workspace, beginning: str) -> Iterator[str]:
    repository = workspace.repository
    if repository.head() is None:
        return
    command = (
        "log",
        "-z",
        "--no-color",
        "--encoding=UTF-8",
        "--format=%B",
        f"--grep=^{beginning}",
        "HEAD",
    )
    yield from repository.git(*command).decode("utf-8", "replace").split("\0")


_TRAILERS = ("Mdmem-Read", "Mdmem-Cites")


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


_BEFORE_ALL = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class TakenOut:
    """A fact that a person took out, and when."""

    fact: FactId
    text: str
    time: datetime


class TakenOutFacts:
    """Facts that a person removed by a commit (None: none), and purged words."""

    def __init__(
        self, facts: Iterable[TakenOut], purged: tuple[PurgedWords, ...], commit: CommitId | None
    ) -> None:
        self.commit = commit
        self._purged = purged
        self._times: dict[FactId, datetime] = {}
        self._facts = tuple(facts)
        self._statements = likeness.StatementIndex(each.text for each in self._facts)
        for each in self._facts:
            self._times[each.fact] = max(each.time, self._times.get(each.fact, each.time))

    def holds(self, text: str, fact: FactId, time: datetime | None) -> bool:
        """True if a person removed this text, or nearly this.

        Args:
            time: of the person's own statement, which counts if it is later than the removal.
        """
        # Without microseconds, as the times of commits are.
        time = _BEFORE_ALL if time is None else time.replace(microsecond=0)
        if fact in self._times and time <= self._times[fact]:
            return True
        return any(
            time <= self._facts[at].time for at in self._statements.find(text)
        ) or holds_purged(text, time, self._purged)


def facts_taken_out(workspace: Workspace, say: Say) -> TakenOutFacts:
    """Facts whose lines a person removed (committed or not), or retracted in a log."""
    with trails.fresh_trail(workspace, say) as trail:
        newest = trail.newest_commit
        facts = (
            *_removed(workspace, trail),
            *_retracted(workspace, trail),
            *_rejected(workspace, newest),
        )
        purged = purged_words(trail)
    return TakenOutFacts(
        (*facts, *_removed_by_hand(workspace)), purged, newest.commit if newest else None
    )


def _removed(workspace: Workspace, trail: Trail) -> list[TakenOut]:
    newest = trail.newest_commit
    ended = trail.occurrences_ended(0, newest.number) if newest else ()
    removed = [each for each in ended if each.fate is Fate.REMOVED and each.entry.fact is not None]
    times = {
        number: _persons_time(workspace, trail, number)
        for number in {each.ended for each in removed if each.ended is not None}
    }
    return [
        TakenOut(each.entry.fact, each.entry.text, time)
        for each in removed
        if each.ended is not None
        and each.entry.fact is not None
        and (time := times[each.ended]) is not None
    ]


def _retracted(workspace: Workspace, trail: Trail) -> list[TakenOut]:
    retracted = []
    for mark in trail.marks():
        if (
            mark.kind is MarkKind.RETRACTED
            and (time := _persons_time(workspace, trail, mark.begun)) is not None
        ):
            occurrences = trail.occurrences_of(mark.fact)
            retracted += [TakenOut(mark.fact, each.entry.text, time) for each in occurrences[-1:]]
    return retracted


def _rejected(workspace: Workspace, newest: TrailCommit | None) -> list[TakenOut]:
    parts = origins.rejected_parts(workspace.repository, newest.commit if newest else None)
    return [
        TakenOut(FactId(part.name), part.text or "", part.time)
        for part in parts
        if not part.is_removal
    ]


def _removed_by_hand(workspace: Workspace) -> list[TakenOut]:
    repository, now = workspace.repository, workspace.now()
    paths = [
        path
        for path in repository.pending()
        if is_markdown(path) and workspace.kind_of(path).is_memory
    ]
    head = repository.head()
    removed = []
    for path, before in (repository.read(head, paths) if head and paths else {}).items():
        try:
            after = files.read(files.path_on_disk(workspace.root, path))
            difference = fact_difference(parse_bytes(before or b""), parse_bytes(after or b""))
        except PathProblem:  # it is no text that mdmem reads
            continue
        replaced = {pair.old for pair in difference.supersedes}
        removed += [
            TakenOut(item.fact.id, item.fact.text, now)
            for item in difference.removed
            if item.fact.id not in replaced
        ]
    return removed


def _persons_time(workspace: Workspace, trail: Trail, number: int) -> datetime | None:
    """The time of a person's commit, else None; a merge says nothing of the other side's lines."""
    commit = trail.commit_numbered(number)
    if commit is None or commit.is_merge:
        return None
    actor = parse_message(commit.message).provenance.actor
    return None if workspace.is_agent(actor) else datetime.fromtimestamp(commit.time, UTC)


_NEAREST = 8


def nearest_entries(
    workspace: Workspace, texts: Iterable[str], say: Say
) -> list[tuple[str, tuple[str, ...]]]:
    """Each text with the texts of the current entries that are nearest to it."""
    index = fresh_index(workspace, say, current=True)
    return [(text, nearest_in(workspace, index, text, say)) for text in texts]


def nearest_in(workspace: Workspace, index: FreshIndex, text: str, say: Say) -> tuple[str, ...]:
    """The texts of the entries in an index that are nearest to a text."""
    return tuple(
        hit.text
        for hit in search.search_in(workspace, index, Search(query=text, limit=_NEAREST), say).hits
    )
