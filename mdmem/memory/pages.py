"""Memory files as the index takes them: each entry with the occurrence that the trail knows of it."""

import time
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby

from mdmem import contradictions, files
from mdmem.document import decode, parse, with_line_end
from mdmem.editors import frontmatter
from mdmem.errors import PathProblem
from mdmem.files import Found
from mdmem.memory.workspace import Workspace
from mdmem.model import Claim, CommitId, Entry, FactId, Fate, FilePath, Mark, MarkKind, Occurrence, Source, Status
from mdmem.search.entries import entries
from mdmem.search.indexer import FileEntries, SeenFile, Stamp
from mdmem.search.schema import Life, Row
from mdmem.versions import Versions

_RACY_NS = 20_000_000
"""A file that was changed less than this before it was read may change again without its time stamp showing it."""
_UNSETTLED = Stamp(0, 0, 0, 0)
"""No file's stamp: of a file that is to be read again."""
_STATUS = {Fate.SUPERSEDED: Status.SUPERSEDED, Fate.REMOVED: Status.REMOVED, Fate.MOVED: Status.CURRENT}
_MARKED = {MarkKind.SUPERSEDED: Status.SUPERSEDED, MarkKind.RETRACTED: Status.REMOVED}


def _stamp_of(found: Found) -> Stamp | None:
    try:
        return Stamp.of(found.place.lstat())
    except OSError:
        return None


def identity(entry: Entry) -> tuple[object, ...]:
    """What makes an entry of a file on disk the same as one of a commit."""
    return entry.section, with_line_end(entry.text, "\n"), entry.first_line


class Pages:
    """Reads files for the index: their entries, where each comes from, since when, and whether it is committed."""

    def __init__(self, workspace: Workspace, known: Versions, due: bool) -> None:
        self._workspace = workspace
        self._known = known
        self._pending = set(workspace.repository.pending()) if due else set()
        self._tracked = workspace.repository.tracked() if due else set()
        self._pairs = known.pairs() if due else ()

    def read(self, found: Found, before: SeenFile | None) -> tuple[SeenFile, FileEntries | None]:
        """What is to be remembered of a file, and its entries; None where they are the same as `before`."""
        path, now, kind = found.path, time.time_ns(), self._workspace.kind_of(found.path)
        try:
            data = files.read(found.place) or b""
            document = parse(decode(data))
        except PathProblem as problem:
            return SeenFile(Stamp.of(found.status), "", False, problem.message), FileEntries(path, (), (), (), kind)
        digest = files.digest(data)
        # A file that is saved while it is read may hold what the survey, and what git said of it, did not see: it is read again.
        settled = now - max(found.status.st_mtime_ns, found.status.st_ctime_ns) > _RACY_NS and _stamp_of(found) == Stamp.of(found.status)
        if before is not None and before.digest == digest and settled:
            return replace(before, stamp=Stamp.of(found.status)), None
        page = self._page(path, entries(document, path, frontmatter.tags(document)))
        seen_as, digest = (Stamp.of(found.status), digest) if settled else (_UNSETTLED, "")
        return SeenFile(seen_as, digest, any(page.uncommitted)), page

    def _page(self, path: FilePath, listed: tuple[Entry, ...]) -> FileEntries:
        kind = self._workspace.kind_of(path)
        if _is_outside(path):
            return FileEntries(path, listed, (None,) * len(listed), (False,) * len(listed), kind)
        left: dict[object, deque[Occurrence]] = defaultdict(deque)
        for occurrence in self._known.standing(path):
            left[identity(occurrence.entry)].append(occurrence)
        joined = [left[identity(entry)].popleft() if left[identity(entry)] else None for entry in listed]
        dirty = path in self._pending or path not in self._tracked
        marks = {mark.occurrence: mark for mark in self._known.marks(path)}
        lives = self._with_conflicts(path, listed, joined, [_life(one, marks.get(one.number)) if one else Life() for one in joined])
        unseen = [one for rest in left.values() for one in rest] if dirty else []
        return FileEntries(
            path,
            listed,
            tuple(one.origin if one else None for one in joined),
            tuple(one is None and dirty for one in joined),
            kind,
            lives,
            tuple(self._unseen(one, marks.get(one.number)) for one in unseen),
        )

    def _unseen(self, occurrence: Occurrence, mark: Mark | None) -> Row:
        """A committed occurrence that an edit, not committed yet, has taken out."""
        head = self._known.head
        life = replace(_life(occurrence, mark), standing=False)
        life = life if mark else replace(life, status=Status.REMOVED)
        return Row(
            occurrence.entry, occurrence.origin, False, self._workspace.kind_of(occurrence.entry.path), life, head.commit if head else None
        )

    def _with_conflicts(
        self, path: FilePath, listed: tuple[Entry, ...], joined: list[Occurrence | None], lives: list[Life]
    ) -> tuple[Life, ...]:
        today = self._workspace.now().date()
        current = [n for n, life in enumerate(lives) if life.status is Status.CURRENT and listed[n].fact is not None]
        claims = {n: claim(listed[n], joined[n]) for n in current}
        found = contradictions.found([*claims.values(), *self._paired(path, {one.id for one in claims.values()})], self._pairs, today)
        numbers = {one: n for n, one in claims.items()}
        against: dict[int, list[FactId]] = defaultdict(list)
        weaker = set()
        for conflict in found:
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
            for one in self._known.having(fact):
                if one.ended is None and one.entry.path != path and not self._known.marks_of(one.number):
                    yield claim(one.entry, one)


def claim(entry: Entry, occurrence: Occurrence | None) -> Claim:
    """An entry as somebody's claim; text that is not committed yet is the user's own."""
    origin = occurrence.origin if occurrence else None
    source = origin.source if origin else Source.USER_STATED
    confidence = origin.confidence if origin else source.confidence
    also = occurrence is not None and occurrence.also
    when = origin.time if origin else int(time.time())
    fact = entry.fact or FactId("")
    return Claim(fact, entry.text, entry.key, entry.path, entry.section, entry.start_line, when, source, confidence, also, entry.until)


def _life(occurrence: Occurrence, mark: Mark | None) -> Life:
    """How an occurrence stands: by its end, or while it stands by what a commit says of it."""
    if mark is not None:
        return Life(occurrence.begun, mark.begun, _MARKED[mark.kind], mark.other)
    if occurrence.fate is None:
        return Life(occurrence.begun)
    moved = occurrence.fate is Fate.MOVED
    return Life(occurrence.begun, occurrence.ended, _STATUS[occurrence.fate], occurrence.successor, standing=False, moved=moved)


def past(workspace: Workspace, known: Versions, above: int, upto: int) -> Iterator[tuple[CommitId, tuple[Row, ...]]]:
    """What ended with the landmarks from `above` (exclusive) to `upto`, by commit."""
    for number, ended in groupby(known.ended(above, upto), key=lambda one: one.ended):
        landmark = known.landmark(number or 0)
        if landmark is not None:
            yield landmark.commit, tuple(_past_row(workspace, known, one) for one in ended)


def _past_row(workspace: Workspace, known: Versions, occurrence: Occurrence) -> Row:
    mark = next(iter(known.marks_of(occurrence.number)), None)
    life = _life(occurrence, mark)
    if mark is not None:
        life = replace(life, standing=False, moved=occurrence.fate is Fate.MOVED)
    return Row(occurrence.entry, occurrence.origin, False, workspace.kind_of(occurrence.entry.path), life, occurrence.last)


def at_commit(found: Mapping[FilePath, bytes | None], path: FilePath) -> tuple[Entry, ...]:
    """The entries of a file as a commit has it."""
    try:
        document = parse(decode(found[path] or b""))
    except PathProblem:
        return ()
    return entries(document, path, frontmatter.tags(document))


def _is_outside(path: FilePath) -> bool:
    """Whether a file (of an extra path) is not the repository's."""
    return path.startswith(("/", "../"))


def touched(known: Versions, above: int) -> set[FilePath]:
    """The files whose entries the landmarks after `above` (and those that are no more) may have changed."""
    return {*known.paths_since(above), *(path for _, _, paths in known.dropped() for path in paths)}
