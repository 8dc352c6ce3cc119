"""The index on disk: what it holds, what it has seen of the workspace, and the search in it. It can be deleted at any time.

The folder holds the documents and, beside them, `seen.json`. The order of an update makes sure that a crash leaves an index that is
behind and never one that lies: the paths about to change are marked as unseen, then the documents are committed, then what was
seen is written. Without a readable `seen.json` of this version the documents count for nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import chain, groupby
from zlib import crc32

from mdmem.digests import short
from mdmem.errors import StorageProblem
from mdmem.files import sync_folder
from mdmem.library import cache, cached_property, counted, itemgetter, partial
from mdmem.model import CommitId, FileKind, FilePath
from mdmem.model.searches import Hit, Part, Why
from mdmem.records import dataclass, field, replace
from mdmem.search import cues, query, ranking, results, schema
from mdmem.search.overlay import Overlay, Statistics, Written
from mdmem.search.query import Clause, Filter, Lexicon, Wanted
from mdmem.search.ranking import Candidates
from mdmem.search.results import Match
from mdmem.search.schema import Life, Row
from mdmem.search.words import ENGLISH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ParamSpec, TypeVar

    import tantivy

    from mdmem.model.trail import Entry, Origin
    from mdmem.paths import Path
    from mdmem.search.cues import Asked

    Address = tantivy.DocAddress
    Scored = tuple[float, Any]
    P = ParamSpec("P")
    T = TypeVar("T")

INDEX_NAME = "index"
"""The folder of the index, in the state folder."""
_SEEN_NAME = "seen.json"
_DOCUMENTS_NAME = "documents"
_FILES = b',"files":'
"""What parts the beginning of `seen.json`, which every search reads, from the files, which it needs only where they have changed."""
_DIGEST_BYTES = 16
_MANY_OF_FILE = 2000
_TERMS_TRIED = 50
"""Of a field, until one is found that is in a document which has not been deleted."""
_MOST_INFLECTED = 5
"""So many words that begin like an unknown one are looked at, by the alphabet."""
_HEAP_BYTES = 100_000_000
"""What a writer may hold before it starts a segment: each segment of a memory built at once costs a search 30 µs. Taken as it is needed."""


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
    def of(cls, status: os.stat_result) -> Stamp:
        """What tells this state of a file from another."""
        return cls(status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)

    @property
    def text(self) -> str:
        """The same as `stamp_text` has it."""
        return f"{self.mtime_ns} {self.ctime_ns} {self.size} {self.inode}"


def stamp_text(status: os.stat_result) -> str:
    """A stamp in one word, for who looks at ten thousand files."""
    return f"{status.st_mtime_ns} {status.st_ctime_ns} {status.st_size} {status.st_ino}"


def stamps_digest(stamps: Mapping[str, str]) -> str:
    """What tells the stamps of all files, by path, from others."""
    return short("\0".join(chain.from_iterable(sorted(stamps.items()))).encode("utf-8", "surrogateescape"), _DIGEST_BYTES).hex()


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
    """What the index knows of the workspace.

    `settings` is a digest of the settings that change what is indexed, `stamps` of the stamps of all files: the index keeps it. `paired`
    says that facts may be marked as contradicting each other, or as not doing so.
    """

    commit: CommitId | None = None
    files: Mapping[str, SeenFile] = field(default_factory=dict)
    settings: str = ""
    paired: bool = True
    stamps: str = field(default="", compare=False)

    def unlike(self, stamps: Mapping[str, str]) -> tuple[list[str], list[str]]:
        """The paths whose stamps, as `stamp_text` has them, are others than were seen; and those that have none any more."""
        known = (
            self.files.stamps() if isinstance(self.files, _WrittenFiles) else {path: file.stamp.text for path, file in self.files.items()}
        )
        return [path for path, stamp in stamps.items() if known.get(path) != stamp], [path for path in known if path not in stamps]


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


@dataclass(frozen=True, slots=True)
class _Ranked:
    """The candidates of one search, with their scores."""

    candidates: Candidates
    addresses: Sequence[Address | Written]
    scores: Sequence[float]

    def in_order(self) -> Iterator[tuple[float, int, int]]:
        """Score, day and number of each: the better score first, then the newer day."""
        scores, days = self.scores, self.candidates.days
        best = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)
        for score, alike in groupby(best, lambda number: round(scores[number], ranking.SCORE_DIGITS)):
            yield from ((score, days[number], number) for number in sorted(alike, key=days.__getitem__, reverse=True))


class Index:
    """Entries to be found.

    Open it again while holding the lock before an update: what another process has indexed since is not known to this object.
    """

    def __init__(self, folder: Path | None, index: tantivy.Index | None, seen: Seen, language: str | None) -> None:
        self._folder = folder
        self._language = language or ENGLISH
        self._index = index
        self._searcher: tantivy.Searcher | None = None
        self._lexicon = query.NO_WORDS
        self._overlay: Overlay | None = None
        if index:
            self._look(_read(index.searcher))
        self.seen: Seen = seen
        """The workspace as the index knows it."""

    @classmethod
    def open(cls, folder: Path, language: str | None = None) -> Index:
        """The index in a folder. What is broken, half written or of another version counts as empty.

        Nothing is made or deleted before `update`. The language of its words (by default English) is the caller's to keep: an index that
        was made for another is to be built anew.

        Raises:
            OSError: the folder cannot be read.
        """
        seen = _read_seen(folder / _SEEN_NAME)
        if seen is None:
            return cls.anew(folder, language)
        try:
            return cls(folder, _read(_open_documents, folder / _DOCUMENTS_NAME), seen, language)
        except BrokenIndex:
            return cls.anew(folder, language)

    @classmethod
    def anew(cls, folder: Path, language: str | None = None) -> Index:
        """An empty index that takes the place of whatever the folder holds, at the first update."""
        return cls(folder, None, EMPTY, language)

    @classmethod
    def in_memory(cls, language: str | None = None) -> Index:
        """An empty index that leaves nothing behind."""
        import tantivy

        return cls(None, schema.prepare(tantivy.Index(schema.schema())), EMPTY, language)

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
        import shutil  # here, so that no search pays for loading it

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
                _stored(writer.delete_documents_by_term, "label", schema.file_label("path", path))
            for number, file in enumerate(changed, 1):
                touched.add(file.path)
                _stored(writer.delete_documents_by_term, "label", schema.file_label("path", file.path))
                for together in (_rows(file), _in_order(file.unseen)):
                    for document in schema.documents(file.path, together, self._language):
                        _stored(writer.add_document, document)
                if progress:
                    progress(number)
            for commit in dropped:
                _stored(writer.delete_documents_by_term, "label", schema.as_label("gone", commit))
            for commit, rows in past:
                _stored(writer.delete_documents_by_term, "label", schema.as_label("gone", commit))
                for document in _gone(commit, rows, self._language):
                    _stored(writer.add_document, document)
            if self._folder is not None and (self._folder / _SEEN_NAME).exists():
                self._remember(replace(self.seen, files={**self.seen.files, **dict.fromkeys(touched, UNSEEN)}), durably=True)
            _stored(writer.commit)
        finally:
            # A writer that goes without this leaves the segments of its merges behind for good.
            _stored(writer.wait_merging_threads)
        _stored(self._index.reload)
        self._look(self._index.searcher())

    def rows(self, path: str) -> list[Row] | None:
        """What the index has of a file, in order: what stands in it, and what HEAD holds and an uncommitted edit took out.

        None where that is much.

        Raises:
            BrokenIndex: the index turns out to be damaged.
        """
        found = self._of_file(path)
        return sorted(map(self._row, found), key=lambda row: row.entry.start_line) if len(found) < _MANY_OF_FILE else None

    def _of_file(self, path: str) -> list[Address]:
        return [address for _, address in self._found(query.of_file(path), _MANY_OF_FILE)]

    def lay_over(self, paths: Collection[str], pages: Iterable[FileEntries]) -> None:
        """Have searches of what is current find files as they are now, though the index has seen them otherwise; nothing is written.

        Args:
            paths: of the files that are unlike what was seen, or have gone.
            pages: the entries of those that are there.

        Raises:
            BrokenIndex: the index turns out to be damaged.
        """
        assert self._searcher is not None  # an index without documents is to be updated
        entries = [one for page in pages for one in self._written(page.path, _rows(page))]
        replaced = {path: self._of_file(path) for path in paths}
        hidden = counted(address.segment_ord for found in replaced.values() for address in found)
        emptied = {segment for segment, count in enumerate(self._sizes()) if count == hidden[segment]}
        dropped: list[Written] = []
        for path, found in replaced.items():
            rows = [self._row(address) for address in found if address.segment_ord in emptied]
            for standing in (True, False):
                dropped += self._written(FilePath(path), _in_order(row for row in rows if row.life.standing is standing))
        self._overlay = Overlay(
            entries,
            frozenset((address.segment_ord, address.doc) for found in replaced.values() for address in found),
            dropped,
            partial(_statistics, self._searcher),
            cache(partial(_holding, self._searcher)),
        )
        self._lexicon = _lexicon(self._searcher, self._overlay)

    def _written(self, path: FilePath, rows: Sequence[Row]) -> Iterator[Written]:
        for row, values in zip(rows, schema.values(path, rows, self._language), strict=True):
            yield Written.of(values, ranking.FIELD_WEIGHTS, row)

    def _sizes(self) -> list[int]:
        """The number of documents in each segment, deleted ones apart; none where another process has changed them since."""
        assert self._searcher is not None
        if self._folder is None:
            return []
        told = json.loads((self._folder / _DOCUMENTS_NAME / "meta.json").read_bytes())["segments"]
        sizes = [one["max_doc"] - (one["deletes"]["num_deleted_docs"] if one["deletes"] else 0) for one in told]
        return sizes if sum(sizes) == self._searcher.num_docs and len(sizes) == self._searcher.num_segments else []

    def _look(self, searcher: tantivy.Searcher) -> None:
        """Search what `searcher` sees from now on."""
        self._searcher, self._lexicon = searcher, _lexicon(searcher)

    def _remember(self, seen: Seen, durably: bool = False) -> None:
        seen = replace(seen, stamps=stamps_digest({path: file.stamp.text for path, file in seen.files.items()}))
        if self._folder is not None:
            _write_seen(self._folder / _SEEN_NAME, seen, durably)
        self.seen = seen

    def search(self, wanted: Wanted) -> tuple[Match, ...]:
        """The best entries, best first; where the score is the same, the newer day, then path and line.

        Two current occurrences of one fact in one section of one file are one hit, the first of them; where the past is asked for, two
        of one text that is no fact as well. With `history` each occurrence that is over is a hit of its own.

        Raises:
            BrokenIndex: the index turns out to be damaged.
        """
        looked_for = query.clauses(wanted.query, self._lexicon, self._language) if wanted.limit > 0 else ()
        if not looked_for:
            return ()
        asked = cues.asked(wanted.query)
        candidates = max(ranking.CANDIDATES, ranking.CANDIDATES_A_HIT * wanted.limit)
        narrowed = not wanted.filter.is_plain
        while True:
            found, complete = self._matching(looked_for, wanted, candidates, narrowed)
            ranked = self._ranked(found, asked)
            best = self._best(ranked, wanted)
            if complete or (len(best) >= wanted.limit and (narrowed or len(found) >= candidates // 2)):
                break
            candidates, narrowed = candidates * (4 if narrowed else 1), True
        if wanted.filter.history:
            numbers = {schema.statement_number(row.entry): number for number, row in best}
            alike = self._all(query.occurrences(numbers, wanted.filter, wanted.today))
            rows = [row for row in alike if schema.statement_number(row.entry) in numbers]
            best = [(numbers[schema.statement_number(row.entry)], row) for row in results.shown(rows, wanted.filter, wanted.today)]
        matches = [
            Match(
                results.hit(row, round(ranked.scores[number], ranking.SCORE_DIGITS), wanted.filter, wanted.today),
                row,
                self._why(ranked, number, looked_for, asked) if wanted.explain else None,
            )
            for number, row in best
        ]
        return tuple(sorted(matches, key=results.order)[: wanted.limit])

    def entries(self, wanted: Filter, today: date | None = None) -> tuple[Hit, ...]:
        """Every entry that passes the filter, by path and line, with the score 0; where the past is asked for, as in a search.

        `today` (default: `valid_on`, else the end of time) tells what has expired, and dates text that was just written.

        Raises:
            BrokenIndex: the index turns out to be damaged.
        """
        day = today or wanted.valid_on or date.max
        judged = day if today or wanted.valid_on else date.min
        rows: Iterable[Row] = self._all(query.passing(wanted, day))
        if wanted.reaches_back:
            rows = results.shown(rows, wanted, judged)
        hits = [results.hit(row, 0.0, wanted, judged) for row in rows]
        return tuple(sorted(hits, key=lambda hit: (hit.path, hit.start_line)))

    def _all(self, asked: tantivy.Query) -> Iterator[Row]:
        everything = self._searcher.num_docs if self._searcher else 0
        return (self._row(address) for _, address in self._found(asked, everything))

    def _found(self, asked: tantivy.Query, limit: int) -> list[Any]:
        if self._searcher is None:
            return []
        return _read(self._searcher.search, asked, max(1, min(limit, self._searcher.num_docs)), count=False).hits

    def _matching(self, looked_for: Iterable[Clause], wanted: Wanted, limit: int, narrowed: bool) -> tuple[list[Scored], bool]:
        """The best by BM25 that pass the filter (unless `narrowed`, of so many of all), and whether there are no others.

        Asked for the words alone, the engine skips what cannot be among the best: twice as fast, if most of memory is current.
        """
        asked = query.found_by(self._overlay.weighed(looked_for) if self._overlay else looked_for)
        if narrowed:
            found = self._found(query.narrowed(asked, wanted.filter, wanted.today), limit)
            complete = len(found) < limit
            return self._with_overlay(found, looked_for, wanted, limit), complete
        found = self._found(asked, limit)
        complete = len(found) < limit
        found = self._with_overlay(found, looked_for, wanted, limit)
        lasts: list[int] = self._column("last", [address for _, address in found])
        return [one for one, last in zip(found, lasts, strict=True) if last >= _first_day(wanted)], complete

    def _with_overlay(self, found: list[Scored], looked_for: Iterable[Clause], wanted: Wanted, limit: int) -> list[Scored]:
        """The best of these and of what lies over the index, without what that hides."""
        if self._overlay is None:
            return found
        hidden = self._overlay.hidden
        new = [one for one in self._overlay.scores(looked_for) if one[1].numbers["last"] >= _first_day(wanted)]
        shown = [one for one in found if (one[1].segment_ord, one[1].doc) not in hidden]
        return sorted([*shown, *new], key=itemgetter(0), reverse=True)[:limit]

    def _column(self, name: str, addresses: list[Any]) -> Any:
        """A number of each document; each has one of these."""
        if self._searcher is None or not addresses:
            return []
        if self._overlay is None:
            return _read(self._searcher.fast_field_values, name, addresses)
        stored = [one for one in addresses if not isinstance(one, Written)]
        told = _read(self._searcher.fast_field_values, name, stored) if stored else []
        rest = iter(told)
        return [one.numbers[name] if isinstance(one, Written) else next(rest) for one in addresses]

    def _ranked(self, found: list[Scored], asked: Asked) -> _Ranked:
        addresses = [address for _, address in found]
        columns = (self._column(name, addresses) for name in ("factor", "cues", "day"))
        candidates = Candidates([score for score, _ in found], *columns)
        return _Ranked(candidates, addresses, ranking.scores(candidates, asked))

    def _best(self, ranked: _Ranked, wanted: Wanted) -> list[tuple[int, Row]]:
        """The first hits among the candidates, by number, and those in the same place as the last; no more are read than it takes."""
        best: dict[object, tuple[int, Row]] = {}
        last = 0.0, 0
        for score, day, number in ranked.in_order():
            if len(best) >= wanted.limit and (score, day) < last:
                break
            last = score, day
            row = self._row(ranked.addresses[number])
            entry = row.entry
            own = entry.path, entry.section, entry.fact or entry.start_line
            same = schema.statement_number(entry) if wanted.filter.reaches_back else own
            known = best.get(same)
            if known is None or entry.start_line < known[1].entry.start_line:
                best[same] = (known[0] if known else number, row)
        return list(best.values())

    def _why(self, ranked: _Ranked, number: int, looked_for: Iterable[Clause], asked: Asked) -> Why:
        assert self._searcher is not None
        address = ranked.addresses[number]
        assert not isinstance(address, Written)  # who wants explanations has the index brought up to date
        parts = []
        for one in looked_for:
            try:
                told = query.term_query(one).explain(self._searcher, address).to_json()
            except ValueError:  # the term is not in this entry
                continue
            name, term, weight, said = one
            parts.append(Part(name, term, said, round(weight * json.loads(told)["value"], ranking.SCORE_DIGITS)))
        factors = ranking.told(ranked.candidates, number, ranked.scores[number], asked)
        return Why(tuple(parts), tuple(results.founded(self._row(address), factors)))

    def _row(self, address: Address | Written) -> Row:
        if isinstance(address, Written):
            return address.row
        assert self._searcher is not None
        return _read(schema.row_of, _read(self._searcher.doc, address))


def _lexicon(searcher: tantivy.Searcher, over: Overlay | None = None) -> Lexicon:
    def holding(term: str) -> int:
        return _read(searcher.doc_freq, "text", term) + (over.count("text", term) if over else 0)

    def heading(term: str) -> int:
        return _read(searcher.doc_freq, "heading", term) + (over.count("heading", term) if over else 0)

    def beginning(start: str) -> list[str]:
        known = [term for term, _ in _read(searcher.terms_with_prefix, "text", start, limit=_MOST_INFLECTED)]
        return sorted({*known, *over.beginning("text", start)})[:_MOST_INFLECTED] if over else known

    total = searcher.num_docs + (len(over.entries) - len(over.hidden) if over else 0)
    return Lexicon(total, holding, heading, beginning)


def _statistics(searcher: tantivy.Searcher, field: str, known: str | None) -> Statistics:
    """What the engine's BM25 knows of a field, by its own account of the score of some document in it; to look for a term takes longer."""
    for term in chain([known] if known else (), _some_terms(searcher, field)):
        asked = query.term_query((field, term, 1.0, term))
        for _, address in _read(searcher.search, asked, 1, count=False).hits:
            told = dict(_told(json.loads(_read(asked.explain, searcher, address).to_json())))
            return Statistics(told["N"], told["N"] * told["avgdl"])
    return Statistics(searcher.num_docs, 0.0)


def _some_terms(searcher: tantivy.Searcher, field: str) -> Iterator[str]:
    yield from (term for term, _ in _read(searcher.terms_with_prefix, field, "", limit=_TERMS_TRIED))


def _holding(searcher: tantivy.Searcher, field: str, term: str) -> int:
    return _read(searcher.doc_freq, field, term)


def _told(part: Any) -> Iterator[tuple[str, float]]:
    """The values that an account of a score names."""
    yield part["description"].partition(",")[0], part["value"]
    for one in part.get("details", ()):
        yield from _told(one)


def _first_day(wanted: Wanted) -> int:
    """The ordinal of the day through which an entry must be current."""
    return wanted.filter.valid_on.toordinal() if wanted.filter.valid_on else 1


def _peeked(values: Iterable[T]) -> Iterator[T] | None:
    """The same values; None where there are none."""
    rest = iter(values)
    return next((chain([first], rest) for first in rest), None)


def _gone(commit: CommitId, rows: Iterable[Row], language: str) -> Iterator[tantivy.Document]:
    """The documents of what ended with a commit: those of one file stood near each other."""
    for path, together in groupby(_in_order(rows), key=lambda row: row.entry.path):
        yield from schema.documents(path, list(together), language, commit)


def _in_order(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row.entry.path, row.entry.start_line))


def _rows(file: FileEntries) -> list[Row]:
    lives = file.lives or (Life(),) * len(file.entries)
    parallel = zip(file.entries, file.origins, file.uncommitted, lives, strict=True)
    return [Row(entry, origin, uncommitted, file.kind, life) for entry, origin, uncommitted, life in parallel]


def _open_documents(folder: Path) -> tantivy.Index:
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


class _WrittenFiles(Mapping[str, SeenFile]):
    """Files as `seen.json` has them, taken apart when one is first asked for."""

    def __init__(self, text: memoryview) -> None:
        self._text = text

    @cached_property
    def _files(self) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = json.loads(bytes(self._text))
        return found

    def stamps(self) -> dict[str, str]:
        """The stamps by path, as they are written."""
        return {path: values[0] for path, values in self._files.items()}

    def __getitem__(self, path: str) -> SeenFile:
        stamp, digest, uncommitted, skipped = self._files[path]
        return SeenFile(Stamp(*map(int, stamp.split())), digest, uncommitted, skipped)

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


def _read_seen(path: Path) -> Seen | None:
    """What was seen, or None where there is nothing, or nothing of this version."""
    try:
        text = path.read_bytes()
        end = text.index(_FILES)
        found, files = json.loads(text[:end] + b"}"), memoryview(text)[end + len(_FILES) : -1]
        if found["version"] != schema.VERSION or found["check"] != crc32(files):
            return None
        return Seen(found["commit"], _WrittenFiles(files), found["settings"], found["paired"], found["stamps"])
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, TypeError, KeyError):  # half written, or another program's
        return None


def _write_seen(path: Path, seen: Seen, durably: bool) -> None:
    """Write what was seen: one object, the files last, and before them a checksum of their text."""
    files = _json({path: [file.stamp.text, file.digest, file.uncommitted, file.skipped] for path, file in seen.files.items()})
    told = {"commit": seen.commit, "settings": seen.settings, "paired": seen.paired, "stamps": seen.stamps}
    start = {"version": schema.VERSION, **told, "check": crc32(files)}
    new = path.with_name(f"{path.name}.new")
    with new.open("wb") as stream:
        stream.write(_json(start)[:-1] + _FILES + files + b"}")
        if durably:
            stream.flush()
            os.fsync(stream.fileno())
    new.replace(path)
    if durably:
        sync_folder(path.parent)


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
