"""Memory files as the index takes them: each entry with the occurrence that the trail knows of it."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from mdmem import contradictions, files, layout
from mdmem.catchup.entry_states import EntryState, marks_by_occurrence, match_entries
from mdmem.document import parse_bytes
from mdmem.entries import entries
from mdmem.errors import PathProblem
from mdmem.files import ListedFile
from mdmem.model import CommitId, FactId, FilePath, Source, Status
from mdmem.model.trail import Claim, Entry, Fate, Mark, MarkKind, Occurrence
from mdmem.repo import first_parent
from mdmem.repo.git_files import object_id
from mdmem.search.indexer import FileEntries
from mdmem.search.schema import IndexRow, Lifetime, live_since
from mdmem.search.snapshot import FileStamp, SnapshotFile
from mdmem.startup import late
from mdmem.startup.records import replace
from mdmem.trail import Trail
from mdmem.workspace import Workspace

if TYPE_CHECKING:
    from mdmem.editors import frontmatter
else:
    frontmatter = late.module("mdmem.editors.frontmatter")


_MANY = 50
"""From so many files on it pays to ask for all that HEAD holds, and what the table has of a file need not be read from it."""
_UNSETTLED = FileStamp(0, 0, 0, 0)
"""No file's stamp: of a file that is to be read again."""
_STATUS = {Fate.SUPERSEDED: Status.SUPERSEDED, Fate.REMOVED: Status.REMOVED, Fate.MOVED: Status.CURRENT}
_MARKED = {MarkKind.SUPERSEDED: Status.SUPERSEDED, MarkKind.RETRACTED: Status.REMOVED}


def _stamp_of(found: ListedFile) -> FileStamp | None:
    try:
        return FileStamp.of(found.full_path.lstat())
    except OSError:
        return None


class PageReader:
    """Reads files for the index: their entries, where each comes from, since when, and whether it is committed."""

    def __init__(self, workspace: Workspace, known: Trail, due: int) -> None:
        self._workspace = workspace
        self._known = known
        self._pending = set(workspace.repository.pending()) if due else set()
        self._tracked = workspace.repository.tracked() if due else set()
        self._pairs = known.pair_marks() if due else ()
        self._paired_facts = {fact for mark in self._pairs for fact in (mark.one, mark.other)}
        many = due >= _MANY and known.newest_commit is not None
        self._touches = known.last_touches() if many else {}
        self._blobs = first_parent.blobs(workspace.repository, known.newest_commit.commit) if many and known.newest_commit else {}

    def read(self, found: ListedFile, before: SnapshotFile | None) -> tuple[SnapshotFile, FileEntries | None]:
        """What is to be remembered of a file, and its entries; None where they are the same as `before`."""
        path, now, kind = found.path, time.time_ns(), self._workspace.kind_of(found.path)
        try:
            data = files.read(found.full_path) or b""
            standing = self._whole(path, data)
            document = None if standing else parse_bytes(data)
        except PathProblem as problem:
            return SnapshotFile(FileStamp.of(found.status), "", False, problem.message), FileEntries(path, (), (), (), kind)
        digest = files.digest(data)
        # A file that is saved while it is read may hold what the survey, and what git said of it, did not see: it is read again.
        settled = now - max(found.status.st_mtime_ns, found.status.st_ctime_ns) > files.RACY_NS and _stamp_of(found) == FileStamp.of(
            found.status
        )
        if before is not None and before.digest == digest and settled:
            return replace(before, stamp=FileStamp.of(found.status)), None
        if document is None:
            page = self._page(path, tuple([one.occurrence.entry for one in standing if one.occurrence]), standing)
        else:
            page = self._page(path, entries(document, path, frontmatter.tags(document)))
        seen_as, digest = (FileStamp.of(found.status), digest) if settled else (_UNSETTLED, "")
        return SnapshotFile(seen_as, digest, any(page.uncommitted)), page

    def entries_of_removed_file(self, path: FilePath) -> FileEntries:
        """A file that HEAD holds and that is not there any more: nothing but what has been taken out."""
        return self._page(path, ())

    def _whole(self, path: FilePath, data: bytes) -> tuple[EntryState, ...]:
        """What stands in a file, as the table says it, where that needs no reading.

        It is as HEAD has it, and all that stands in it began with the last commit that touched it, so that lines and tags are that one's.
        """
        blob, landmark = self._blobs.get(path), self._touches.get(path)
        if blob is None or landmark is None or not self._known.all_began_at(path, landmark) or blob != object_id(b"blob", data, len(blob)):
            return ()
        marks = marks_by_occurrence(self._known, path)
        return tuple([EntryState(one, marks[one.number], True) for one in self._known.live_occurrences(path)])

    def _page(self, path: FilePath, listed: tuple[Entry, ...], whole: tuple[EntryState, ...] = ()) -> FileEntries:
        kind = self._workspace.kind_of(path)
        if layout.is_outside(path):
            return FileEntries(path, listed, (None,) * len(listed), (False,) * len(listed), kind)
        found, gone = (whole, ()) if whole else match_entries(self._known, path, listed)
        dirty = path in self._pending or path not in self._tracked
        return FileEntries(
            path,
            listed,
            tuple(one.occurrence.origin if one.occurrence and one.committed else None for one in found),
            tuple(not one.committed and dirty for one in found),
            kind,
            self._with_conflicts(path, listed, found, [_life_on_disk(one) for one in found]),
            tuple(self._unseen(found, gone, dirty)),
        )

    def _unseen(self, found: Sequence[EntryState], gone: Sequence[EntryState], dirty: bool) -> Iterator[IndexRow]:
        """What HEAD holds and an edit, not committed yet, has taken out; what it only wrote in another way is found by its time alone.

        So is, edit or not, how something stood before a mark that was taken back.
        """
        head = self._known.newest_commit.commit if self._known.newest_commit else None
        for one in (*gone, *(one for one in found if one.marks or not one.committed)):
            if one.occurrence is not None:
                *before, life = _lives(one.occurrence, one.marks)
                if dirty and not one.committed:
                    life = life if one.mark else replace(life, status=Status.REMOVED)
                    before.append(replace(life, is_live=False, moved=one not in gone))
                entry, kind = one.occurrence.entry, self._workspace.kind_of(one.occurrence.entry.path)
                yield from (IndexRow(entry, one.occurrence.origin, False, kind, each, head) for each in before)

    def _with_conflicts(
        self, path: FilePath, listed: tuple[Entry, ...], found: Sequence[EntryState], lives: Sequence[Lifetime]
    ) -> tuple[Lifetime, ...]:
        if all(one.key is None and one.fact not in self._paired_facts for one in listed):
            return tuple(lives)
        today = self._workspace.now().date()
        current = [n for n, life in enumerate(lives) if life.status is Status.CURRENT and listed[n].fact is not None]
        claims = {n: entry_claim(listed[n], found[n].occurrence if found[n].committed else None) for n in current}
        conflicts = contradictions.find_conflicts(
            [*claims.values(), *self._paired(path, {one.id for one in claims.values()})], self._pairs, today
        )
        numbers = {one: n for n, one in claims.items()}
        against: dict[int, list[FactId]] = defaultdict(list)
        weaker = set()
        for conflict in conflicts:
            for one, other in ((conflict.one, conflict.other), (conflict.other, conflict.one)):
                if one in numbers:
                    against[numbers[one]].append(other.id)
            if conflict.weaker in numbers:
                weaker.add(numbers[conflict.weaker])
        return tuple(
            replace(life, contradicts=tuple(dict.fromkeys(against[n])), weaker=n in weaker) if n in against else life
            for n, life in enumerate(lives)
        )

    def _paired(self, path: FilePath, here: set[FactId]) -> Iterator[Claim]:
        """The claims of other files that are marked as a contradiction of one of this file."""
        others = {b for mark in self._pairs for a, b in ((mark.one, mark.other), (mark.other, mark.one)) if a in here and b}
        for fact in sorted(others - here):
            for one in self._known.occurrences_of(fact):
                if one.ended is None and one.entry.path != path and not self._known.marks_of(one.number):
                    yield entry_claim(one.entry, one)


def entry_claim(entry: Entry, occurrence: Occurrence | None) -> Claim:
    """An entry as somebody's claim; text that is not committed yet is the user's own."""
    origin = occurrence.origin if occurrence else None
    source = origin.source if origin else Source.USER_STATED
    confidence = origin.confidence if origin else source.confidence
    also = occurrence is not None and occurrence.also
    when = origin.time if origin else int(time.time())
    fact = entry.fact or FactId("")
    return Claim(fact, entry.text, entry.key, entry.path, entry.section, entry.start_line, when, source, confidence, also, entry.until)


def _lives(occurrence: Occurrence, marks: Sequence[Mark]) -> tuple[Lifetime, ...]:
    """How an occurrence stands: by its end, or while it stands by what a commit says of it.

    Before that comes how it stood until each mark that was taken back while it stood; that is found by its time alone.
    """
    begun = occurrence.begun
    before: list[Lifetime] = []
    for mark in marks:
        if mark.ended is None or (occurrence.ended is not None and mark.ended >= occurrence.ended):
            return (*before, Lifetime(begun, mark.begun, _MARKED[mark.kind], mark.other))
        if mark.begun > begun:
            before.append(Lifetime(begun, mark.begun, is_live=False, moved=True))
        begun = max(begun, mark.ended)
    if occurrence.fate is None:
        return (*before, live_since(begun))
    moved = occurrence.fate is Fate.MOVED
    return (*before, Lifetime(begun, occurrence.ended, _STATUS[occurrence.fate], occurrence.successor, is_live=False, moved=moved))


def _life_on_disk(one: EntryState) -> Lifetime:
    """How an entry of a file stands; a line that was changed and is not committed begins with no commit, but a mark on it holds."""
    return _lives(one.occurrence, one.marks)[-1] if one.occurrence and (one.committed or one.mark) else live_since(None)


def ended_rows(workspace: Workspace, known: Trail, above: int, upto: int) -> Iterator[tuple[CommitId, tuple[IndexRow, ...]]]:
    """What ended with the landmarks from `above` (exclusive) to `upto`, by commit."""
    for number, ended in groupby(known.occurrences_ended(above, upto), key=lambda one: one.ended):
        landmark = known.commit_numbered(number or 0)
        if landmark is not None:
            yield landmark.commit, tuple(row for one in ended for row in _past_rows(workspace, known, one))


def _past_rows(workspace: Workspace, known: Trail, occurrence: Occurrence) -> Iterator[IndexRow]:
    *before, last = _lives(occurrence, known.marks_of(occurrence.number, include_ended=True))
    kind = workspace.kind_of(occurrence.entry.path)
    for life in (*before, replace(last, is_live=False, moved=occurrence.fate is Fate.MOVED)):
        yield IndexRow(occurrence.entry, occurrence.origin, False, kind, life, occurrence.last)


def entries_at_commit(found: Mapping[FilePath, bytes | None], path: FilePath) -> tuple[Entry, ...]:
    """The entries of a file as a commit has it."""
    try:
        document = parse_bytes(found[path] or b"")
    except PathProblem:
        return ()
    return entries(document, path, frontmatter.tags(document))


def touched_paths(known: Trail, above: int) -> set[FilePath]:
    """The files whose entries the landmarks after `above` (and those that are no more) may have changed."""
    return {*known.paths_since(above), *(path for _, _, paths in known.dropped_commits() for path in paths)}
