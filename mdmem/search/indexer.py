"""The index on disk: what it holds, what it has seen of the workspace, and the search in it. It can be deleted at any time.

The folder holds the documents and, beside them, `seen.json`. The order of an update makes sure that a crash leaves an index that is
behind and never one that lies: the paths about to change are marked as unseen, then the documents are committed, then what was
seen is written. Without a readable `seen.json` of this version the documents count for nothing.
"""

import json
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from mdmem.errors import StorageProblem
from mdmem.model import CommitId, Entry, FileKind, FilePath, Hit, Origin
from mdmem.search import query, ranking, results, schema
from mdmem.search.query import Filter, Wanted
from mdmem.search.results import Match
from mdmem.search.schema import Life, Row

if TYPE_CHECKING:
    import tantivy

P = ParamSpec("P")
T = TypeVar("T")

INDEX_NAME = "index"
"""The folder of the index, in the state folder."""
_SEEN_NAME = "seen.json"
_DOCUMENTS_NAME = "documents"
_HEAP_BYTES = 15_000_000
"""The least that a writer takes."""


class BrokenIndex(StorageProblem):
    """The index cannot be read. Nothing is lost by deleting it; an update of `Index.anew` builds it again."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """What the file system says of a file; times are in nanoseconds since 1970."""

    mtime_ns: int
    ctime_ns: int
    size: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> "Stamp":
        """What tells this state of a file from another."""
        return cls(status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A file as it was indexed: `digest` is of its bytes, `skipped` says why it could not be indexed."""

    stamp: Stamp
    digest: str
    uncommitted: bool
    skipped: str | None = None


UNSEEN = SeenFile(Stamp(0, 0, 0, 0), "", True)
"""Of a path whose documents are being changed: like no file there is, so the path is done again, or taken out where it is gone."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What the index knows of the workspace; `settings` is a digest of the settings that change what is indexed."""

    commit: CommitId | None = None
    files: Mapping[str, SeenFile] = field(default_factory=dict)
    settings: str = ""


EMPTY = Seen()


@dataclass(frozen=True, slots=True)
class FileEntries:
    """The entries of one file.

    Args:
        path: the file's.
        entries: what stands in it on disk.
        origins: parallel to `entries`.
        uncommitted: parallel to `entries`.
        kind: the file's.
        lives: parallel to `entries`; without any they are a person's new text.
        unseen: what HEAD holds and an uncommitted edit took out.
    """

    path: FilePath
    entries: tuple[Entry, ...]
    origins: tuple[Origin | None, ...]
    uncommitted: tuple[bool, ...]
    kind: FileKind
    lives: tuple[Life, ...] = ()
    unseen: tuple[Row, ...] = ()


class Index:
    """Entries to be found.

    Open it again while holding the lock before an update: what another process has indexed since is not known to this object.
    """

    def __init__(self, folder: Path | None, index: "tantivy.Index | None", seen: Seen) -> None:
        self._folder = folder
        self._index = index
        self._searcher = _read(index.searcher) if index else None
        self.seen: Seen = seen
        """The workspace as the index knows it."""

    @classmethod
    def open(cls, folder: Path) -> "Index":
        """The index in a folder. What is broken, half written or of another version counts as empty.

        Nothing is made or deleted before `update`.

        Raises:
            OSError: the folder cannot be read.
        """
        seen = _read_seen(folder / _SEEN_NAME)
        if seen is None:
            return cls.anew(folder)
        try:
            return cls(folder, _read(_open_documents, folder / _DOCUMENTS_NAME), seen)
        except BrokenIndex:
            return cls.anew(folder)

    @classmethod
    def anew(cls, folder: Path) -> "Index":
        """An empty index that takes the place of whatever the folder holds, at the first update."""
        return cls(folder, None, EMPTY)

    @classmethod
    def in_memory(cls) -> "Index":
        """An empty index that leaves nothing behind."""
        import tantivy

        return cls(None, schema.prepare(tantivy.Index(schema.schema())), EMPTY)

    @property
    def count(self) -> int:
        """The number of entries that are current, or have expired."""
        if self._searcher is None:
            return 0
        found: Any = _read(self._searcher.search, query.passing(Filter(), date.max), 1)  # its stub does not know the count
        return int(found.count)

    def update(
        self,
        changed: Iterable[FileEntries],
        removed: Collection[str],
        seen: Seen,
        progress: Callable[[int], None] | None = None,
        past: Iterable[tuple[CommitId, tuple[Row, ...]]] = (),
        dropped: Collection[CommitId] = (),
    ) -> None:
        """Bring the index to a new state of the workspace; the caller holds the lock.

        Args:
            changed: files whose entries are to be replaced; read one by one, so that they need not be in memory together.
            removed: paths whose entries are to go.
            seen: the workspace as the index then knows it.
            progress: called with the number of files done, after each.
            past: the rows that ended with a commit, each commit once; they take the place of those that it had. Read one by one.
            dropped: commits whose rows are to go.

        Raises:
            StorageProblem, OSError: the disk does not take it, or another process is writing; the index stays as it was or is
                behind, and the next update mends it.
        """
        if self._index is None:
            self._start_anew()
        files, ends = _peeked(changed), _peeked(past)
        if files or ends or removed or dropped:
            self._change(files or (), removed, progress, ends or (), dropped)
        self._remember(seen)

    def _start_anew(self) -> None:
        import tantivy

        assert self._folder is not None  # only an index in a folder can be missing
        documents = self._folder / _DOCUMENTS_NAME
        (self._folder / _SEEN_NAME).unlink(missing_ok=True)
        if documents.exists():
            shutil.rmtree(documents)
        documents.mkdir(parents=True)
        self._index = schema.prepare(_stored(tantivy.Index, schema.schema(), str(documents)))
        self.seen = EMPTY

    def _change(
        self,
        changed: Iterable[FileEntries],
        removed: Collection[str],
        progress: Callable[[int], None] | None,
        past: Iterable[tuple[CommitId, tuple[Row, ...]]],
        dropped: Collection[CommitId],
    ) -> None:
        assert self._index is not None
        writer = _stored(self._index.writer, _HEAP_BYTES, 1)
        try:
            touched = set(removed)
            for path in removed:
                _stored(writer.delete_documents_by_term, "path", schema.file_label(path))
            for number, file in enumerate(changed, 1):
                touched.add(file.path)
                _stored(writer.delete_documents_by_term, "path", schema.file_label(file.path))
                for document in chain(schema.documents(file.path, _rows(file)), schema.documents(file.path, _in_order(file.unseen))):
                    _stored(writer.add_document, document)
                if progress:
                    progress(number)
            for commit in dropped:
                _stored(writer.delete_documents_by_term, "gone", commit)
            for commit, rows in past:
                _stored(writer.delete_documents_by_term, "gone", commit)
                for document in _gone(commit, rows):
                    _stored(writer.add_document, document)
            if self._folder is not None and (self._folder / _SEEN_NAME).exists():
                self._remember(replace(self.seen, files={**self.seen.files, **dict.fromkeys(touched, UNSEEN)}), durably=True)
            _stored(writer.commit)
        finally:
            # A writer that goes without this leaves the segments of its merges behind for good.
            _stored(writer.wait_merging_threads)
        _stored(self._index.reload)
        self._searcher = self._index.searcher()

    def _remember(self, seen: Seen, durably: bool = False) -> None:
        if self._folder is not None:
            _write_seen(self._folder / _SEEN_NAME, seen, durably)
        self.seen = seen

    def search(self, wanted: Wanted) -> tuple[Match, ...]:
        """The best entries, best first; where the score is the same, the newer day, then path and line.

        Two occurrences of one fact in one section of one file are one hit, the first of them; with `history` the one that is most
        current, then newest. Where the past is asked for, what is no fact is one hit where it has the same text.

        Raises:
            BrokenIndex: the index turns out to be damaged.
        """
        asked = query.found_by(wanted) if self._searcher and wanted.limit > 0 else None
        if asked is None:
            return ()
        candidates = max(ranking.CANDIDATES, 3 * wanted.limit)
        while True:
            found = self._ranked(asked, candidates)
            best = _best(found, wanted, self._row)
            if len(best) >= wanted.limit or len(found) < candidates:
                break
            candidates *= 4
        if wanted.filter.history:
            scores = {schema.statement_label(row.entry): score for score, row in best}
            rows = self._all(query.occurrences(scores, wanted.filter, wanted.today))
            best = [(scores[label], row) for label, row in results.one_each(rows, wanted.filter, wanted.today).items()]
        matches = [Match(results.hit(row, score, wanted.filter, wanted.today), row) for score, row in best]
        return tuple(sorted(matches, key=results.order)[: wanted.limit])

    def entries(self, wanted: Filter, today: date | None = None) -> tuple[Hit, ...]:
        """Every entry that passes the filter, by path and line, with the score 0; of the past, each statement once as in a search.

        `today` (default: `valid_on`, else the end of time) tells what has expired, and dates text that was just written.

        Raises:
            BrokenIndex: the index turns out to be damaged.
        """
        day = today or wanted.valid_on or date.max
        judged = day if today or wanted.valid_on else date.min
        rows: Iterable[Row] = self._all(query.passing(wanted, day))
        if wanted.reaches_back:
            rows = results.one_each(rows, wanted, judged).values()
        hits = [results.hit(row, 0.0, wanted, judged) for row in rows]
        return tuple(sorted(hits, key=lambda hit: (hit.path, hit.start_line)))

    def _all(self, asked: "tantivy.Query") -> Iterator[Row]:
        everything = self._searcher.num_docs if self._searcher else 0
        return (self._row(address) for _, address in self._found(asked, everything))

    def _found(self, asked: "tantivy.Query", limit: int) -> "list[tuple[float, tantivy.DocAddress]]":
        if self._searcher is None:
            return []
        return _read(self._searcher.search, asked, max(1, min(limit, self._searcher.num_docs)), count=False).hits

    def _ranked(self, asked: "tantivy.Query", limit: int) -> "list[tuple[float, tantivy.DocAddress]]":
        """The candidates by their final score."""
        found = self._found(asked, limit)
        if not found or self._searcher is None:
            return []
        factors = _read(self._searcher.fast_field_values, "factor", [address for _, address in found])
        pairs = zip(found, factors, strict=True)
        scored = [(round(score * (factor or 0.0), ranking.SCORE_DIGITS), address) for (score, address), factor in pairs]
        return sorted(scored, key=itemgetter(0), reverse=True)

    def _row(self, address: "tantivy.DocAddress") -> Row:
        assert self._searcher is not None
        return _read(schema.row_of, _read(self._searcher.doc, address))


def _best(
    found: "list[tuple[float, tantivy.DocAddress]]", wanted: Wanted, row_at: "Callable[[tantivy.DocAddress], Row]"
) -> list[tuple[float, Row]]:
    """The first hits among scored candidates, and those of the same score as the last; no more rows are read than it takes."""
    best: dict[object, tuple[float, Row]] = {}
    last = 0.0
    for score, address in found:
        if len(best) >= wanted.limit and score < last:
            break
        last = score
        row = row_at(address)
        entry = row.entry
        same = schema.statement_label(entry) if wanted.filter.reaches_back else (entry.path, entry.section, entry.fact or entry.start_line)
        known = best.get(same)
        if known is None or entry.start_line < known[1].entry.start_line:
            best[same] = (known[0] if known else score, row)
    return list(best.values())


def _peeked(values: Iterable[T]) -> Iterator[T] | None:
    """The same values; None where there are none."""
    rest = iter(values)
    return next((chain([first], rest) for first in rest), None)


def _gone(commit: CommitId, rows: Iterable[Row]) -> "Iterator[tantivy.Document]":
    """The documents of what ended with a commit: those of one file stood near each other."""
    for path, together in groupby(_in_order(rows), key=lambda row: row.entry.path):
        yield from schema.documents(path, list(together), commit)


def _in_order(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row.entry.path, row.entry.start_line))


def _rows(file: FileEntries) -> list[Row]:
    lives = file.lives or (Life(),) * len(file.entries)
    parallel = zip(file.entries, file.origins, file.uncommitted, lives, strict=True)
    return [Row(entry, origin, uncommitted, file.kind, life) for entry, origin, uncommitted, life in parallel]


def _open_documents(folder: Path) -> "tantivy.Index":
    import tantivy

    return schema.prepare(tantivy.Index.open(str(folder)))


def _failures() -> tuple[type[BaseException], ...]:
    """What tantivy raises for whatever goes wrong: ValueError, in words alone, and for some flipped bits a Rust panic.

    The class of a panic is made at the first one and cannot be imported.
    """
    return (ValueError, *(kind for kind in BaseException.__subclasses__() if kind.__name__ == "PanicException"))


def _stored(action: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    try:
        return action(*args, **named)
    except _failures() as problem:
        hint = "Is the disk full, or another process writing it? If neither, mdmem reindex --full builds it anew."
        raise StorageProblem(f"the index could not be written: {problem}", hint) from problem


def _read(action: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    try:
        return action(*args, **named)
    except _failures() as problem:
        raise BrokenIndex(f"the index could not be read: {problem}", "mdmem reindex --full builds it anew.") from problem


def _read_seen(path: Path) -> Seen | None:
    """What was seen, or None where there is nothing, or nothing of this version."""
    try:
        found = json.loads(path.read_bytes())
        if found["version"] != schema.VERSION:
            return None
        files = {name: _seen_file(values) for name, values in found["files"].items()}
        return Seen(found["commit"], files, found["settings"])
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, TypeError, KeyError, AttributeError):  # half written, or another program's
        return None


def _seen_file(values: list[Any]) -> SeenFile:
    (mtime, ctime, size, inode), digest, uncommitted, skipped = values
    return SeenFile(Stamp(mtime, ctime, size, inode), digest, uncommitted, skipped)


def _write_seen(path: Path, seen: Seen, durably: bool) -> None:
    files = {name: _values(file) for name, file in seen.files.items()}
    found = {"version": schema.VERSION, "commit": seen.commit, "settings": seen.settings, "files": files}
    new = path.with_name(f"{path.name}.new")
    with new.open("w", encoding="utf-8") as stream:
        json.dump(found, stream, separators=(",", ":"))
        if durably:
            stream.flush()
            os.fsync(stream.fileno())
    new.replace(path)
    if durably:
        _sync_folder(path.parent)


def _values(file: SeenFile) -> list[Any]:
    stamp = file.stamp
    return [[stamp.mtime_ns, stamp.ctime_ns, stamp.size, stamp.inode], file.digest, file.uncommitted, file.skipped]


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
