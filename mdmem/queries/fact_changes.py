"""Changes to facts, commit by commit: added, replaced with its pair, removed; the newest first."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from functools import cache
from itertools import islice
from pathlib import Path
from posixpath import normpath
from typing import NamedTuple

from mdmem.folder import config, files
from mdmem.lookup import dates
from mdmem.model import FactId, FileKind, FilePath
from mdmem.model.errors import HistoryProblem, verb
from mdmem.model.history import (
    CURATED,
    LOGS,
    ChangeKind,
    ChangeList,
    FactChange,
    LargeCommit,
    Made,
    ReplacedFact,
    ShowChanges,
)
from mdmem.model.rules import fold_actor
from mdmem.model.trail import CLOSING_MARKS, LAST_NUMBER, Entry, Fate, Mark, Occurrence, TrailCommit
from mdmem.past.copies import taken_back
from mdmem.past.notes import line_notes, statement_of
from mdmem.past.table import Trail
from mdmem.queries.past import Past, look_back
from mdmem.startup.records import replace
from mdmem.text.facts import shown_text
from mdmem.workspace import Say, Workspace

_DAY = timedelta(days=1)
_FEW_COMMITS, _MORE_COMMITS = 2, 4
"""Commits read first, and the factor of older ones where these changed too few facts."""
_MOST_AT_ONCE = 1_000
"""Facts that a commit may add for them to be read at once; of more, file by file."""
_MOST_KEPT = 10_000
"""Commits whose counts are kept, each a kilobyte."""
_KEPT_NAME = "changes.json"


def list_changes(workspace: Workspace, request: ShowChanges, say: Say) -> ChangeList:
    since, until = dates.days_asked(workspace, request.since, request.until)
    with look_back(workspace, say) as past:
        read = list(_newest_changes(past, request, since, until))
        undone = tuple(taken_back(past.trail.reverts())) if request.commit else ()
    changes = [each for each in read if isinstance(each, FactChange)]
    limit = request.limit or len(changes)
    return ChangeList(
        changes=tuple(changes[:limit]),
        large=tuple(each for each in read if isinstance(each, LargeCommit)),
        notes=past.limit_notes(len(changes), limit),
        since=dates.understood(request.since, since),
        until=dates.understood(request.until, until),
        is_undone=any(each.made.commit.startswith(undone) for each in changes[:1]),
    )


class Maker(NamedTuple):
    """An actor to whom changes are counted, or None, and the author of the commit."""

    actor: str | None
    author: str


Counts = Mapping[tuple[Maker, ChangeKind], int]
"""Numbers of changes to facts, by maker and kind."""


class _KeptCounts:
    """Counts by the state of a commit, of the last period that was asked for, in a file.

    With a digest of the files left out of them; of another one there are none.
    """

    def __init__(self) -> None:
        self._left_out = ""
        self._counts: Mapping[str, Counts] | None = None

    def of(self, path: Path, left_out: str) -> Mapping[str, Counts]:
        if self._counts is None:
            self._left_out, self._counts = left_out, {}
            if (text := files.read_checked(path)) is not None:
                self._left_out, rows = json.loads(text)
                self._counts = {
                    state: {
                        (Maker(actor, author), ChangeKind(kind)): count
                        for actor, author, kind, count in counts
                    }
                    for state, counts in rows.items()
                }
        return self._counts if self._left_out == left_out else {}

    def keep(self, path: Path, left_out: str, counts: Mapping[str, Counts]) -> None:
        if (left_out, counts) == (self._left_out, self._counts) or len(counts) > _MOST_KEPT:
            return
        self._left_out, self._counts = left_out, counts
        rows = {
            state: [(*maker, kind, count) for (maker, kind), count in of_commit.items()]
            for state, of_commit in counts.items()
        }
        with suppress(OSError):  # they are counted again the next time
            files.write_checked(path, json.dumps([left_out, rows]))


def counts_since(past: Past, first: date) -> Iterator[tuple[int, Counts]]:
    """The time of each commit since a day and the changes to facts it made, newest first.

    Only commits that came since the last call, or changed something else than then, are read; of
    one that added many facts and did nothing else, how many.
    """
    workspace, trail = past.workspace, past.trail
    newest = _newest_first(trail, past.moments.newest(None, _start_of(workspace, first)))
    before, last = min(newest, default=1) - 1, max(newest, default=0)
    counted: dict[int, Counts] = {}
    spans: list[tuple[int, int]] = []
    for number in trail.large_commits(before, last, _MOST_AT_ONCE):
        if (counts := _counts_of_large(past, number)) is not None:
            counted[number] = counts
            spans.append((before, number - 1))
            before = number
    spans.append((before, last))
    left_out = _digest(
        sorted(
            path
            for before, last in spans
            for path in trail.paths_changed(before + 1, last)
            if not _has_facts(workspace, path)
        )
    )
    kept, place = workspace.resources.get(_KeptCounts), workspace.state / _KEPT_NAME
    known = kept.of(place, left_out)
    told: dict[str, Counts] = {}
    for before, last in spans:
        states = {
            number: _digest(state) for number, state in trail.change_states(before, last).items()
        }
        asked = {number: newest[number] for number in states.keys() & newest.keys()}
        missing = {number: asked[number] for number in asked if states[number] not in known}
        reader = _ChangeReader(past, missing, ShowChanges(limit=0)) if missing else None
        for number in asked:
            state = states[number]
            told[state] = counted[number] = (
                reader.counts(number) if reader and number in missing else known[state]
            )
    kept.keep(place, left_out, told)
    return ((moment, counted[number]) for number, moment in newest.items())


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _counts_of_large(past: Past, number: int) -> Counts | None:
    """The counts of a commit that only added facts; None where several people may have made it."""
    commit = past.trail.commit_numbered(number)
    if commit is None or _has_several_notes(commit):
        return None
    begun = past.trail.facts_begun_with(number)
    count = sum(
        count for path, count in begun.items() if path is None or _has_facts(past.workspace, path)
    )
    made = past.made(commit)
    return {(Maker(made.actor, made.author), ChangeKind.ADDED): count} if count else {}


def _has_several_notes(commit: TrailCommit) -> bool:
    return commit.message.count("Mdmem-Op: ") > 1


def _has_facts(workspace: Workspace, path: FilePath) -> bool:
    kind = workspace.kind_of(path)
    return kind.is_memory and kind is not FileKind.BOOTSTRAP


def _newest_first(trail: Trail, moments: Mapping[int, int]) -> dict[int, int]:
    ranks = trail.ranks(moments)
    order = sorted(
        moments.keys() & ranks.keys(),
        key=lambda number: (moments[number], ranks[number]),
        reverse=True,
    )
    return {number: moments[number] for number in order}


def _newest_changes(
    past: Past, request: ShowChanges, since: date | None, until: date | None
) -> list[FactChange | LargeCommit]:
    start = _start_of(past.workspace, since) if since else None
    end = _start_of(past.workspace, until + _DAY) if until and until < date.max else None
    if request.commit is not None:
        number = _number_of(past, request.commit)
        named = _ChangeReader(past, {number: past.moments.of(number)}, request)
        return list(_passing(past, named, request, since=since, until=until))
    count = _FEW_COMMITS if request.limit else None
    changes: list[FactChange | LargeCommit] = []
    while True:
        newest = past.moments.newest(count, start, end)
        reader = _ChangeReader(past, newest, request)
        wanted = request.limit + 1 - len(changes) if request.limit else None
        changes += islice(_passing(past, reader, request, since=since, until=until), wanted)
        if count is None or len(newest) < count or len(changes) > request.limit:
            return changes
        end = min(newest.values())
        count *= _MORE_COMMITS


def _start_of(workspace: Workspace, day: date) -> float:
    return dates.seconds_of(
        datetime.combine(day, time.min, config.zone(workspace.settings.timezone))
    )


def _passing(
    past: Past,
    reader: _ChangeReader,
    request: ShowChanges,
    since: date | None,
    until: date | None,
) -> Iterator[FactChange | LargeCommit]:
    asked = None if request.actor is None else frozenset([fold_actor(request.actor)])
    own_names = past.workspace.user_names
    names = own_names if asked and asked <= own_names else asked
    return (each for each in reader.changes() if _passes(each.made, names, since, until))


def _number_of(past: Past, reference: str) -> int:
    commit = past.workspace.repository.commit_named(reference)
    known = past.trail.commit_with_id(commit) if commit else None
    if known is None:
        why = "is not in the history of HEAD" if commit else "is not a commit"
        hint = f"To list commits: {verb('history')}"
        raise HistoryProblem("commit-not-found", f"{reference[:80]!r} {why}", hint)
    return known.number


def _passes(
    made: Made, names: frozenset[str] | None, since: date | None, until: date | None
) -> bool:
    day = made.time.date()
    if (since and day < since) or (until and day > until):
        return False
    by = [made.who, *([made.proposed_by] if made.proposed_by else [])]
    return names is None or not names.isdisjoint(map(fold_actor, by))


class _ChangeReader:
    """Reads what commits did to facts; they come with the times at which they count as made."""

    def __init__(self, past: Past, moments: Mapping[int, int], request: ShowChanges) -> None:
        self._past, self._workspace, trail = past, past.workspace, past.trail
        self._trail = trail
        self._moments = moments
        file = None if request.file is None else normpath(request.file)
        self._file = None if file == "." else file
        self._where = request.where
        self._fold = request.fold
        self._is_wanted = cache(self._is_in_wanted_file)
        # What began with a commit can only have ended with one that arrived later.
        before, last = min(moments, default=1) - 1, max(moments, default=0)
        ended = trail.occurrences_ended(before, last)
        self._ended = _by_number(filter(self._counts, ended), "ended")
        self._begun: dict[int, list[Occurrence]] | None = None
        if not request.limit:
            is_wanted = self._is_wanted if self._where or self._file else None
            begun = trail.occurrences_begun(before, last, is_wanted)
            self._begun = _by_number(filter(self._counts, begun), "begun")

    def _is_in_wanted_file(self, path: FilePath) -> bool:
        if not _has_facts(self._workspace, path):
            return False
        is_log = self._workspace.kind_of(path) is FileKind.DAILY
        if self._where and (self._where == LOGS) is not is_log:
            return False
        wanted = self._file
        return (
            wanted is None
            or path.startswith(f"{wanted}/")
            or wanted in (path, path.rpartition("/")[2])
        )

    def _counts(self, occurrence: Occurrence) -> bool:
        path = occurrence.entry.path
        if occurrence.entry.fact is None or occurrence.fate is Fate.JOINED:
            return False
        return self._is_wanted(path)

    def changes(self) -> Iterator[FactChange | LargeCommit]:
        for number in _newest_first(self._trail, self._moments):
            if self._fold and (large := self._large(number)) is not None:
                yield large
            else:
                yield from self._changes_in(number)

    def _large(self, number: int) -> LargeCommit | None:
        begun = self._trail.facts_begun_with(number).items()
        logs_count = self._where != CURATED and self._file is None
        count = sum(
            facts
            for path, facts in begun
            if (logs_count if path is None else self._is_wanted(path))
        )
        commit = self._trail.commit_numbered(number) if count > self._fold else None
        return LargeCommit(self._past.made(commit), count) if commit else None

    def counts(self, number: int) -> Counts:
        return Counter(
            (Maker(each.made.actor, each.made.author), each.kind)
            for each in self._changes_in(number)
        )

    def _changes_in(self, number: int) -> Iterator[FactChange]:
        ended, marked = self._ended.get(number, []), list(self._marked(number))
        if self._begun is not None and not (ended or marked or number in self._begun):
            return
        commit = self._trail.commit_numbered(number)
        assert commit is not None  # the trail has given its number
        yield from self._of_commit(commit, ended, self._begun_with(commit), marked)

    def _begun_with(self, commit: TrailCommit) -> Iterable[Sequence[Occurrence]]:
        """In parts that come one after another in the order of files and lines."""
        if self._begun is not None:
            return [self._begun.get(commit.number, [])]
        # several notes are told apart by all that a commit added
        most = LAST_NUMBER if _has_several_notes(commit) else _MOST_AT_ONCE
        parts = self._trail.begun_with(commit.number, most, self._is_wanted)
        return (list(filter(self._counts, part)) for part in parts)

    def _marked(self, number: int) -> Iterator[tuple[Mark, Occurrence]]:
        """Marks that began with a commit and ended an occurrence still in the file."""
        for commit in self._trail.commits_with_marks_from(number):
            for mark in self._trail.marks_stated_by(commit):
                if mark.begun == number and mark.kind in CLOSING_MARKS:
                    occurrences = self._trail.occurrences_of(mark.fact)
                    yield from (
                        (mark, each)
                        for each in occurrences
                        if each.number == mark.occurrence and self._counts(each)
                    )

    def _of_commit(
        self,
        commit: TrailCommit,
        ended: Sequence[Occurrence],
        begun: Iterable[Sequence[Occurrence]],
        marked: Sequence[tuple[Mark, Occurrence]],
    ) -> Iterator[FactChange]:
        moved = Counter(each.entry.fact for each in ended if each.fate is Fate.MOVED)
        gone = [(each, each.successor) for each in ended if each.fate is not Fate.MOVED]
        gone += [(each, mark.other) for mark, each in marked]
        gone.sort(key=lambda pair: _position(pair[0]))
        replaced = {successor: each.entry for each, successor in reversed(gone) if successor}
        facts: set[FactId | None] = set()
        for part in begun:
            added: list[Occurrence] = []
            for occurrence in sorted(part, key=_position):
                if moved[occurrence.entry.fact]:
                    moved[occurrence.entry.fact] -= 1
                else:
                    added.append(occurrence)
            notes = line_notes(statement_of(commit), [each.entry.first_line for each in added])
            for occurrence, note in zip(added, notes, strict=True):
                entry, origin = occurrence.entry, occurrence.origin
                is_own = origin.commit == commit.commit  # else another commit has confirmed it
                made = self._past.made(commit, note, origin if is_own else None)
                yield _fact_change(made, entry, replaced.get(entry.fact) if entry.fact else None)
            facts.update(occurrence.entry.fact for occurrence in added)
        for occurrence, successor in gone:
            told = replaced[successor] if successor is not None and successor in facts else None
            if told is None or told.fact != occurrence.entry.fact:
                yield self._gone(self._past.made(commit), occurrence.entry, successor)

    def _gone(self, made: Made, entry: Entry, successor: FactId | None) -> FactChange:
        if successor is not None and (newest := self._newest_of(successor)) is not None:
            return _fact_change(made, newest.entry, entry)
        return replace(_fact_change(made, entry, None), kind=ChangeKind.REMOVED)

    def _newest_of(self, fact: FactId) -> Occurrence | None:
        told = [each for each in self._trail.occurrences_of(fact) if each.fate is not Fate.JOINED]
        ranks = self._trail.ranks({each.begun for each in told})
        return max(told, key=lambda each: ranks[each.begun], default=None)


def _by_number(occurrences: Iterable[Occurrence], name: str) -> dict[int, list[Occurrence]]:
    by_number: dict[int, list[Occurrence]] = defaultdict(list)
    for occurrence in occurrences:
        by_number[getattr(occurrence, name)].append(occurrence)
    return by_number


def _position(occurrence: Occurrence) -> tuple[FilePath, int]:
    return occurrence.entry.path, occurrence.entry.start_line


def _fact_change(made: Made, entry: Entry, old: Entry | None) -> FactChange:
    return FactChange(
        made=made,
        kind=ChangeKind.REPLACED if old else ChangeKind.ADDED,
        fact=entry.fact or FactId(""),
        text=shown_text(entry),
        path=entry.path,
        section=entry.section,
        line=entry.start_line,
        replaced=ReplacedFact(old.fact or FactId(""), shown_text(old), old.path, old.section)
        if old
        else None,
    )
