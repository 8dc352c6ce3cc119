"""Read memory files for the index: entries with their origin and lifetime from the trail."""

from __future__ import annotations

import codecs
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from functools import cached_property

from mdmem.folder import budget, files, layout
from mdmem.folder.layout import ListedFile, log_day
from mdmem.index.indexer import FileEntries, FileFields, SearchIndex, file_fields
from mdmem.index.schema import IndexRow, Lifetime, live_since
from mdmem.index.snapshot import UNSETTLED, Snapshot, SnapshotFile, stamp_text
from mdmem.model import CommitId, FactId, FileKind, FilePath, Source, Status
from mdmem.model.errors import PathProblem
from mdmem.model.trail import Claim, Conflict, Entry, Fate, Mark, MarkKind, Occurrence
from mdmem.past.entry_states import EntryState, marks_by_occurrence, match_entries
from mdmem.past.table import Trail
from mdmem.repo import first_parent
from mdmem.repo.git_files import object_id
from mdmem.startup import late
from mdmem.startup.records import replace
from mdmem.text import contradictions, frontmatter
from mdmem.text.document import parse_bytes
from mdmem.text.facts import entries
from mdmem.text.terms import ENGLISH
from mdmem.workspace import Progress, Workspace

_MANY = 50
"""From so many files on it pays to ask for all blobs of HEAD: unchanged ones are not parsed."""
_FATE_STATUS = {
    Fate.SUPERSEDED: Status.SUPERSEDED,
    Fate.REMOVED: Status.REMOVED,
    Fate.MOVED: Status.CURRENT,
    Fate.JOINED: Status.CURRENT,
}
_ELSEWHERE = (Fate.MOVED, Fate.JOINED)
"""The fates of what goes on in another row."""
_MARK_STATUS = {MarkKind.SUPERSEDED: Status.SUPERSEDED, MarkKind.RETRACTED: Status.REMOVED}


class _PageReader:
    def __init__(self, workspace: Workspace, trail: Trail, due: int) -> None:
        self._workspace = workspace
        self._trail = trail
        head = trail.head
        many = due >= _MANY and head is not None
        self._head = head
        self._language = workspace.settings.language or ENGLISH
        self._pair_marks = trail.pair_marks()
        self._paired_facts = {fact for mark in self._pair_marks for fact in (mark.fact, mark.other)}
        self._copied = trail.copied_facts() if many else None
        self._last_touches = trail.last_touches() if many else {}
        self._blobs = first_parent.blobs(workspace.repository, head) if many and head else {}

    @cached_property
    def _pending(self) -> set[FilePath]:
        return set(self._workspace.repository.pending())

    @cached_property
    def _tracked(self) -> set[FilePath]:
        return self._workspace.repository.tracked()

    def read(
        self, file: ListedFile, before: SnapshotFile | None
    ) -> tuple[SnapshotFile, FileFields | None]:
        """A file for the snapshot, and its documents; None where they are the same as `before`."""
        now = time.time_ns()
        try:
            data = files.read(file.full_path) or b""
            with budget.reading(data):
                return self._read(file, data, now, before)
        except PathProblem as problem:
            stamp = stamp_text(file.status)
            return SnapshotFile(stamp, "", False, problem.message), FileFields(file.path, [])

    def _read(
        self, file: ListedFile, data: bytes, now: int, before: SnapshotFile | None
    ) -> tuple[SnapshotFile, FileFields | None]:
        stamp = stamp_text(file.status)
        states = self._states_from_trail(file.path, data)
        digest = files.digest(data)
        settled = _is_settled(file, now)
        if before is not None and before.digest == digest and settled:
            return before._replace(stamp=stamp), None
        if states:
            page = self._page(
                file.path,
                tuple([state.occurrence.entry for state in states if state.occurrence]),
                states,
            )
            page = (
                replace(page, about=frontmatter.labels(parse_bytes(data)).about)
                if data.removeprefix(codecs.BOM_UTF8).startswith(b"---")  # front matter
                else page
            )
        else:
            on_disk, about = _entries_and_about(self._workspace, file.path, data)
            page = replace(self._page(file.path, on_disk), about=about)
        stamp, digest = (stamp, digest) if settled else (UNSETTLED, "")
        return SnapshotFile(stamp, digest, any(page.uncommitted)), file_fields(page, self._language)

    def entries_of_removed_file(self, path: FilePath) -> FileEntries:
        return self._page(path, ())

    def _states_from_trail(self, path: FilePath, data: bytes) -> tuple[EntryState, ...]:
        """The entries of a file as in HEAD, all begun with its last commit: no need to parse it."""
        blob, number = self._blobs.get(path), self._last_touches.get(path)
        if (
            blob is None
            or number is None
            or not (number == 1 or self._trail.all_began_at(path, number))
            or blob != object_id(b"blob", data, len(blob))
        ):
            return ()
        marks, promoted = marks_by_occurrence(self._trail, path), self._trail.promoted_in(path)
        live = self._trail.take_live_occurrences(path)
        return tuple(
            [EntryState(each, marks[each.number], True, promoted.get(each.number)) for each in live]
        )

    def _page(
        self, path: FilePath, on_disk: tuple[Entry, ...], states: tuple[EntryState, ...] = ()
    ) -> FileEntries:
        kind = self._workspace.kind_of(path)
        if layout.is_outside(path) or layout.is_canvas(path):
            return _without_past(self._workspace, path, on_disk)
        states, removed = (states, ()) if states else match_entries(self._trail, path, on_disk)
        is_pending = any(not state.committed for state in (*states, *removed)) and (
            path in self._pending or path not in self._tracked
        )
        return FileEntries(
            path=path,
            entries=on_disk,
            origins=tuple(
                state.occurrence.origin if state.occurrence and state.committed else None
                for state in states
            ),
            uncommitted=tuple(not state.committed and is_pending for state in states),
            kind=kind,
            lifetimes=self._with_conflicts(
                path, on_disk, states, [_lifetime_on_disk(state) for state in states]
            ),
            uncommitted_removals=tuple(self._uncommitted_removals(states, removed, is_pending)),
            copied=self._trail.copied_facts(path) if self._copied is None else self._copied,
        )

    def _uncommitted_removals(
        self, states: Sequence[EntryState], removed: Sequence[EntryState], is_pending: bool
    ) -> Iterator[IndexRow]:
        """Rows of entries that a pending edit changed, and of lifetimes only in the past."""
        for state in (*removed, *(state for state in states if state.marks or not state.committed)):
            if state.occurrence is None:
                continue
            *earlier, last = _lifetimes(state.occurrence, state.marks)
            if is_pending and not state.committed:
                last = last if state.mark else replace(last, status=Status.REMOVED)
                earlier.append(replace(last, is_live=False, moved=state not in removed))
            entry, kind = (
                state.occurrence.entry,
                self._workspace.kind_of(state.occurrence.entry.path),
            )
            for lifetime in earlier:
                yield IndexRow(
                    entry=entry,
                    origin=state.occurrence.origin,
                    uncommitted=False,
                    kind=kind,
                    lifetime=lifetime,
                    last=self._head,
                )

    def _with_conflicts(
        self,
        path: FilePath,
        on_disk: tuple[Entry, ...],
        states: Sequence[EntryState],
        lifetimes: Sequence[Lifetime],
    ) -> tuple[Lifetime, ...]:
        """The lifetimes with contradictions; instructions in a bootstrap file are no facts."""
        if self._workspace.kind_of(path) is FileKind.BOOTSTRAP or all(
            entry.key is None and entry.fact not in self._paired_facts for entry in on_disk
        ):
            return tuple(lifetimes)
        claims = {
            entry_claim(entry, state.occurrence if state.committed else None): index
            for index, (entry, state, lifetime) in enumerate(
                zip(on_disk, states, lifetimes, strict=True)
            )
            if lifetime.status is Status.CURRENT and entry.fact is not None
        }
        every = [*claims, *self._paired_claims(path, {claim.id for claim in claims})]
        conflicts = contradictions.find_conflicts(
            every, self._pair_marks, self._workspace.now().date()
        )
        contradicts = _contradicting_facts(conflicts, claims)
        weaker = {claims[conflict.weaker] for conflict in conflicts if conflict.weaker in claims}
        return tuple(
            (
                replace(lifetime, contradicts=contradicts[index], weaker=index in weaker)
                if index in contradicts
                else lifetime
            )
            for index, lifetime in enumerate(lifetimes)
        )

    def _paired_claims(self, path: FilePath, facts: set[FactId]) -> Iterator[Claim]:
        pairs = [
            pair
            for mark in self._pair_marks
            for pair in ((mark.fact, mark.other), (mark.other, mark.fact))
        ]
        elsewhere = {second for first, second in pairs if first in facts and second} - facts
        for fact in sorted(elsewhere):
            for occurrence in self._trail.occurrences_of(fact):
                if (
                    occurrence.ended is None
                    and occurrence.entry.path != path
                    and not self._trail.marks_of(occurrence.number)
                ):
                    yield entry_claim(occurrence.entry, occurrence)


def _is_settled(file: ListedFile, now: int) -> bool:
    """False for a file saved while it was read: survey and git may not have seen its content."""
    try:
        current = stamp_text(file.full_path.lstat())
    except OSError:
        return False
    return now - max(
        file.status.st_mtime_ns, file.status.st_ctime_ns
    ) > files.RACY_NS and current == stamp_text(file.status)


def _contradicting_facts(
    conflicts: Sequence[Conflict], claims: Mapping[Claim, int]
) -> dict[int, tuple[FactId, ...]]:
    facts: dict[int, dict[FactId, None]] = defaultdict(dict)
    for conflict in conflicts:
        for first, second in ((conflict.first, conflict.second), (conflict.second, conflict.first)):
            if first in claims:
                facts[claims[first]][second.id] = None
    return {index: tuple(ids) for index, ids in facts.items()}


def entry_claim(entry: Entry, occurrence: Occurrence | None) -> Claim:
    """The claim that an entry makes; text that is not committed yet is the user's own."""
    origin = occurrence.origin if occurrence else None
    source = origin.source if origin else Source.USER_STATED
    return Claim(
        id=entry.fact or FactId(""),
        text=entry.text,
        key=entry.key,
        path=entry.path,
        section=entry.section,
        line=entry.start_line,
        time=origin.time if origin else int(time.time()),
        source=source,
        confidence=origin.confidence if origin else source.confidence,
        also=occurrence is not None and occurrence.also,
        until=entry.until,
    )


def _lifetimes(occurrence: Occurrence, marks: Sequence[Mark]) -> tuple[Lifetime, ...]:
    """The lifetimes, oldest first; each revoked mark ends one that is only in the past."""
    begun = occurrence.begun
    earlier: list[Lifetime] = []
    for mark in marks:
        if mark.ended == mark.begun:  # it was taken back before it came here
            continue
        if mark.ended is None or (occurrence.ended is not None and mark.ended >= occurrence.ended):
            last = Lifetime(
                begun=begun,
                ended=mark.begun,
                status=_MARK_STATUS[mark.kind],
                superseded_by=mark.other,
            )
            if earlier and mark.begun <= begun:  # it was set while another one held
                before = earlier.pop()
                last = replace(last, begun=before.begun, ended=before.ended)
            return (*earlier, last)
        if mark.begun > begun:
            earlier.append(Lifetime(begun=begun, ended=mark.begun, is_live=False, moved=True))
        begun = max(begun, mark.ended)
    if occurrence.fate is None:
        return (*earlier, live_since(begun))
    last = Lifetime(
        begun=begun,
        ended=occurrence.ended,
        status=_FATE_STATUS[occurrence.fate],
        superseded_by=occurrence.successor,
        is_live=False,
        moved=occurrence.fate in _ELSEWHERE,
    )
    return (*earlier, last)


def _lifetime_on_disk(state: EntryState) -> Lifetime:
    """The lifetime of a file's entry; a pending line has no commit, but a mark on it counts."""
    if state.occurrence and (state.committed or state.mark):
        last = _lifetimes(state.occurrence, state.marks)[-1]
        return (
            replace(last, promoted=state.promoted) if state.promoted and last.is_current else last
        )
    return live_since(None)


def ended_rows(
    workspace: Workspace, trail: Trail, after: int, upto: int
) -> Iterator[tuple[CommitId, tuple[IndexRow, ...]]]:
    """The rows that commits ended, by commit, where ends changed after `after`, up to `upto`."""
    for number, ended in trail.ended_groups(after, upto):
        commit = trail.commit_numbered(number)
        if commit is not None:
            in_memory = (
                occurrence
                for occurrence in ended
                if workspace.kind_of(occurrence.entry.path).is_memory
            )
            yield (
                commit.commit,
                tuple(
                    row
                    for occurrence in in_memory
                    for row in _ended_rows(workspace, trail, occurrence)
                ),
            )


def _ended_rows(workspace: Workspace, trail: Trail, occurrence: Occurrence) -> Iterator[IndexRow]:
    *earlier, last = _lifetimes(occurrence, trail.marks_of(occurrence.number, include_ended=True))
    entry = occurrence.entry
    kind = workspace.kind_of(entry.path)
    for lifetime in (*earlier, replace(last, is_live=False, moved=occurrence.fate in _ELSEWHERE)):
        yield IndexRow(
            entry=entry,
            origin=occurrence.origin,
            uncommitted=False,
            kind=kind,
            lifetime=lifetime,
            last=occurrence.last,
        )


def entries_at_commit(
    workspace: Workspace, contents: Mapping[FilePath, bytes | None], path: FilePath
) -> tuple[Entry, ...]:
    data = contents[path] or b""
    try:
        with budget.reading(data):
            document = workspace.parse(path, data)
            tags, daily = frontmatter.tags(document), workspace.daily
            return entries(document, path, tags, daily=daily, nested=True)
    except PathProblem:
        return ()


def _touched_paths(trail: Trail, after: int) -> set[FilePath]:
    """The files whose entries commits after `after`, or those cut away, may have changed."""
    return {
        *trail.paths_since(after),
        *(path for _, _, paths in trail.dropped_commits() for path in paths),
    }


def _newest_first(workspace: Workspace, paths: Iterable[str]) -> list[FilePath]:
    """Files in order: first those that are no logs, then logs, newest first."""

    def place(path: str) -> tuple[int, str]:
        return -(log_day(path, workspace.daily) or date.max).toordinal(), path

    return list(map(FilePath, sorted(paths, key=place)))


def files_as_they_are(workspace: Workspace, paths: Iterable[str]) -> Iterator[FileFields]:
    """Files without their past, the newest first; those that cannot be read are left out."""
    for path in _newest_first(workspace, paths):
        with suppress(PathProblem, OSError):
            yield fields_of(workspace, path, files.read(workspace.root / path) or b"")


def fields_of(workspace: Workspace, path: FilePath, data: bytes, above: str = "") -> FileFields:
    """The documents of a file without its past, named from a folder `above` (`sub/`) on.

    Raises PathProblem (`unsupported-file`).
    """
    with budget.reading(data):
        page = _without_past(workspace, path, *_entries_and_about(workspace, path, data))
        if above:
            name = FilePath(above + path)
            renamed = tuple(replace(entry, path=name) for entry in page.entries)
            page = replace(page, path=name, entries=renamed)
        return file_fields(page, workspace.settings.language or ENGLISH)


def _entries_and_about(
    workspace: Workspace, path: FilePath, data: bytes
) -> tuple[tuple[Entry, ...], str]:
    if layout.is_canvas(path):
        return late.module("text.canvas").canvas_entries(data, path), ""
    document = workspace.parse(path, data)
    labels = frontmatter.labels(document)
    return (
        entries(document, path, labels.tags, daily=workspace.daily, nested=True),
        labels.about,
    )


def _without_past(
    workspace: Workspace, path: FilePath, on_disk: tuple[Entry, ...], about: str = ""
) -> FileEntries:
    return FileEntries(
        path=path,
        entries=on_disk,
        origins=(None,) * len(on_disk),
        uncommitted=(False,) * len(on_disk),
        kind=FileKind.EVERGREEN if layout.is_canvas(path) else workspace.kind_of(path),
        about=about,
    )


class ChangedFiles:
    """The files that an index has not seen as they are.

    `seen` is what it has seen, `stamps` are the files now, `since` numbers the commit up to which
    it agrees with the trail.
    """

    def __init__(
        self,
        workspace: Workspace,
        seen: Snapshot,
        stamps: Mapping[str, str],
        trail: Trail,
        since: int,
    ) -> None:
        self._workspace, self._trail, self._since = workspace, trail, since
        self._commit = trail.head
        self._before = before = dict(seen.files)
        self._touched = _touched_paths(trail, since)
        if seen.commit != self._commit:
            self._touched |= {FilePath(path) for path, file in before.items() if file.uncommitted}
        due = [
            path
            for path, stamp in stamps.items()
            if path in self._touched
            or path not in before
            or before[path].stamp != stamp
            or before[path].skipped
        ]
        self._missing = {FilePath(path) for path in (*before, *self._touched) if path not in stamps}
        self._emptied = sorted(path for path in self._missing if trail.live_occurrences(path))
        self._total = len(due) + len(self._emptied)
        self._seen: dict[str, SnapshotFile] = {
            path: before[path] for path in stamps if path in before
        }
        self._due = _newest_first(workspace, due)

    @cached_property
    def _reader(self) -> _PageReader:
        """Made for the first file that is read: it asks git about all of them."""
        return _PageReader(self._workspace, self._trail, self._total)

    def update(self, index: SearchIndex, settings: str, progress: Progress | None) -> None:
        """`settings`: a digest of those that the index depends on."""
        newest = self._trail.newest_commit.number if self._trail.newest_commit else 0
        index.update(
            self._read(),
            self._missing.difference(self._emptied),
            Snapshot(
                commit=self._commit,
                files=self._seen,
                settings=settings,
                has_pair_marks=bool(self._trail.pair_marks()),
            ),
            progress=(lambda n: progress(n, self._total)) if progress else None,
            past=ended_rows(self._workspace, self._trail, self._since, newest),
            dropped={name for name, _, _ in self._trail.dropped_commits()},
        )

    def _read(self) -> Iterator[FileEntries | FileFields]:
        """Read the files; those removed since the survey are left to the next one."""
        for path in self._due:
            with suppress(FileNotFoundError, NotADirectoryError):
                file = layout.ListedFile(
                    self._workspace.root, path, (self._workspace.root / path).lstat()
                )
                self._seen[path], fields = self._reader.read(
                    file, self._before.get(path) if path not in self._touched else None
                )
                if fields is not None:
                    yield fields
        for path in self._emptied:
            yield self._reader.entries_of_removed_file(path)
