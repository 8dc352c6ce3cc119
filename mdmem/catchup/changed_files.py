"""Read the files changed since an index was made; to build one from nothing, by two processes.

While the first process brings the trail up to HEAD, the second prepares pages; afterwards it reads
files with the trail. Nothing depends on it: what it has not answered is read by the process that
asked. It shares neither memory nor a lock, so a program with threads may start it; it ends with its
pipe.
"""

from __future__ import annotations

import gc
import marshal
import os
import select
import subprocess
import sys
import time
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import date
from functools import cache, cached_property, lru_cache
from operator import add
from pathlib import Path
from queue import SimpleQueue
from threading import Condition, Thread
from typing import IO, Any, Self

from mdmem import repo
from mdmem.catchup import pages, trail_update
from mdmem.catchup.entry_states import identity_on_disk
from mdmem.errors import PathProblem
from mdmem.folder import budget, files, layout, listing
from mdmem.folder.layout import log_day
from mdmem.model import CommitId, FileKind, FilePath
from mdmem.model.trail import Occurrence, Origin
from mdmem.repo import first_parent
from mdmem.repo.git_files import object_id
from mdmem.search import schema
from mdmem.search.indexer import FileEntries, FileFields, FileTexts, SearchIndex
from mdmem.search.labels import file_label
from mdmem.search.languages import ENGLISH
from mdmem.search.schema import document_text, lifetime_text, stored_row
from mdmem.search.snapshot import FileStamp, Snapshot, SnapshotFile, is_long, stamp_bytes
from mdmem.search.terms import terms
from mdmem.text import frontmatter
from mdmem.text.document import parse_bytes
from mdmem.text.entries import entries
from mdmem.trail import Trail
from mdmem.workspace import Progress, Workspace, open_at


def committed_blobs(workspace: Workspace, commit: CommitId | None) -> Mapping[FilePath, str]:
    return first_parent.blobs(workspace.repository, commit) if commit else {}


def prepare_page(
    workspace: Workspace, path: FilePath, blob: str | None, language: str
) -> tuple[SnapshotFile, FileTexts] | None:
    """Prepare a file's documents, without origin and lifetime (`document_text`).

    None where the file differs from its blob, cannot be read, or has entries that expire, or keys,
    which other files may contradict. Raises OSError where it does not exist.
    """
    file, now = (
        listing.ListedFile(workspace.root, path, (workspace.root / path).lstat()),
        time.time_ns(),
    )
    if blob is None or layout.is_outside(path):
        return None
    try:
        data = files.read(file.full_path) or b""
        if object_id(b"blob", data, len(blob)) != blob:
            return None
        with budget.reading(data):
            documents = _prepared(workspace, path, data, language)
    except PathProblem:
        return None
    if documents is None:
        return None
    return pages.snapshot_file(file, data, now), FileTexts(path, documents)


def _prepared(workspace: Workspace, path: FilePath, data: bytes, language: str) -> list[str] | None:
    document = parse_bytes(data)
    labels = frontmatter.labels(document)
    file_entries = entries(document, path, labels.tags, daily=workspace.daily)
    if any(entry.key is not None or entry.until is not None for entry in file_entries):
        return None
    text = schema.FileText(path, file_entries, workspace.kind_of(path), labels.about)
    return list(map(document_text, schema.text_fields(text, language, file_label(path))))


def complete(workspace: Workspace, trail: Trail, page: FileTexts) -> FileTexts | None:
    """Complete a prepared page; None where its entries have marks, so that it has to be read.

    The trail has the page's commit, and no marks of facts that contradict each other.
    """
    if trail.marks(page.path, include_ended=True) or trail.promoted_in(page.path):
        return None
    kind = workspace.kind_of(page.path)
    begun, origin, count = trail.shared_origin(page.path) or (0, None, 0)
    copied = trail.copied_facts(page.path)
    if count == len(page.documents) and not copied:
        end = _lifetime_text(kind, begun, origin, False)
        return FileTexts(page.path, [document + end for document in page.documents])
    occurrences = _occurrences(trail, page)
    ends = [
        _lifetime_text(kind, each.begun, each.origin, each.entry.fact in copied)
        for each in occurrences
    ]
    return (
        FileTexts(page.path, list(map(add, page.documents, ends)))
        if len(ends) == len(page.documents)
        else None
    )


@lru_cache(maxsize=4096)
def _lifetime_text(kind: FileKind, begun: int, origin: Origin | None, copied: bool) -> str:
    return lifetime_text(
        schema.lifetime_fields(origin, False, kind, schema.live_since(begun), None, copied)
    )


def _occurrences(trail: Trail, page: FileTexts) -> list[Occurrence]:
    waiting: dict[Hashable, deque[Occurrence]] = defaultdict(deque)
    for occurrence in trail.live_occurrences(page.path):
        waiting[identity_on_disk(occurrence.entry)].append(occurrence)
    lifetime = schema.lifetime_fields(
        None, False, FileKind.EVERGREEN, schema.live_since(None), None, False
    )
    rows = (schema.parse_row(stored_row(document) + lifetime.row) for document in page.documents)
    of_each = (waiting[identity_on_disk(row.entry)] for row in rows)
    return [equal.popleft() for equal in of_each if equal]


_MOST_WAITING_BYTES = 256_000_000
"""With so many unread bytes of answers the process waits, to bound its memory."""
_ASKED_AHEAD = 2
"""Requests sent in advance: one is worked on while the next is there already."""
_PIPE_BYTES = 1 << 20
"""The room of a pipe: answers need not wait to be read. Requests ahead fill at most half of it,
else both processes could wait for each other for ever.
"""
_LENGTH_BYTES = 8

Chunks = deque[list[FilePath]]
FileAnswer = tuple[SnapshotFile, FileFields | FileTexts]
_FileValues = tuple[FilePath, str, str, bool, str | None, list[Any]]
_ReadFile = Callable[[FilePath], FileAnswer | None]


class PageWorker:
    """A process that reads files of a workspace, as seen by the one that has the index."""

    def __init__(self, process: subprocess.Popen[bytes], workspace: Workspace) -> None:
        self._process = process
        self._workspace = workspace
        self._commit: CommitId | None = None
        self._to_prepare = 0
        """The number of requests that were sent before the trail was there."""
        self._asked: Chunks = deque()

    @classmethod
    def start(cls, workspace: Workspace) -> Self | None:
        """Start it; None where no process can be started."""
        command = [sys.executable, "-P", "-m", __name__, os.fspath(workspace.root)]
        environment = {**repo.environment(), **workspace.environment}
        with suppress(OSError, ValueError):
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
                bufsize=0,
                pipesize=_PIPE_BYTES,
            )
            return cls(process, workspace)
        return None

    def prepare(self, chunks: Chunks, commit: CommitId | None) -> None:
        """Have it prepare the first of `chunks`, taken from there, as of a commit."""
        self._commit = commit
        with suppress(OSError):  # noticed again when it is read
            self._send(
                (commit, trail_update.settings_digest(self._workspace), _language(self._workspace))
            )
            sent_bytes = 0
            while chunks and sent_bytes < _PIPE_BYTES // 2:
                sent_bytes += self._ask(chunks)
        self._to_prepare = len(self._asked)

    def read(self, chunks: Chunks, trail: Trail, total: int) -> Iterator[FileAnswer | None]:
        """The files of `chunks` and the prepared ones as they come in; None whenever none has.

        The caller takes chunks too, at each None; what is not answered comes back to them. `total`:
        how many files are to be read in all.
        """
        commit = trail.head
        is_of_prepared = commit == self._commit and not trail.pair_marks()
        try:
            self._send((commit, trail_update.settings_digest(self._workspace), total))
            while chunks or self._asked:
                while chunks and len(self._asked) < _ASKED_AHEAD:
                    self._ask(chunks)
                if chunks and not select.select([self._output], (), (), 0)[0]:  # no answer yet
                    yield None
                    continue
                answers = _receive(self._output)
                paths = self._asked.popleft()
                if not self._to_prepare:
                    yield from (
                        (_file_of(values), FileFields(values[0], values[-1])) for values in answers
                    )
                    continue
                self._to_prepare -= 1
                completed = dict(self._completed(answers, trail)) if is_of_prepared else {}
                if left := [path for path in paths if path not in completed]:
                    chunks.appendleft(left)
                yield from completed.values()
        except (OSError, EOFError, ValueError):
            chunks.extendleft(reversed(self._asked))
        finally:
            self.close()

    def _completed(
        self, prepared: Iterable[_FileValues], trail: Trail
    ) -> Iterator[tuple[FilePath, FileAnswer]]:
        for values in prepared:
            texts = complete(self._workspace, trail, FileTexts(values[0], values[-1]))
            if texts is not None:
                yield texts.path, (_file_of(values), texts)

    def close(self) -> None:
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()
        self._process.wait()

    @property
    def _output(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout

    def _ask(self, chunks: Chunks) -> int:
        self._asked.append(chunks.popleft())
        return self._send(self._asked[-1])

    def _send(self, value: Any) -> int:
        assert self._process.stdin is not None
        data = marshal.dumps(value)
        _send(self._process.stdin, data)
        return len(data)


@contextmanager
def started(workspace: Workspace) -> Iterator[PageWorker | None]:
    """A process that ends with the context; None where none can be started.

    Meanwhile the garbage collector is off: it finds few cycles, and takes a tenth of the time.
    """
    worker = PageWorker.start(workspace)
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        yield worker
    finally:
        if is_collecting:
            gc.enable()
        if worker is not None:
            worker.close()


def _send(stream: IO[bytes], data: bytes) -> None:
    for part in (len(data).to_bytes(_LENGTH_BYTES), data):
        rest = memoryview(part)
        while rest:
            rest = rest[stream.write(rest) :]


def _receive(stream: IO[bytes]) -> Any:
    """Read a value. Raises EOFError when the other side has ended."""
    length = int.from_bytes(_read_exactly(stream, _LENGTH_BYTES))
    return marshal.loads(_read_exactly(stream, length))


def _read_exactly(stream: IO[bytes], length: int) -> bytes:
    parts = []
    while length:
        part = stream.read(length)
        if not part:
            raise EOFError
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _file_of(values: _FileValues) -> SnapshotFile:
    _, stamp, digest, uncommitted, skipped, _ = values
    return SnapshotFile(FileStamp(*map(int, stamp.split())), digest, uncommitted, skipped)


def _values_of(answer: FileAnswer) -> _FileValues:
    file, page = answer
    return page.path, file.stamp.text, file.digest, file.uncommitted, file.skipped, page.documents


def _language(workspace: Workspace) -> str:
    return workspace.settings.language or ENGLISH


# The process itself.


class _Answers:
    """Sends answers in order, in a thread, so that work goes on while nobody reads them."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._waiting: SimpleQueue[bytes | None] = SimpleQueue()
        self._bytes = 0
        self._is_read = True
        self._changed = Condition()
        """Held while one of the two values above is read or set."""
        self._thread = Thread(target=self._send_all, daemon=True)
        self._thread.start()

    def add(self, answer: list[Any]) -> None:
        """Send an answer, once there is room for it. Raises BrokenPipeError without a reader."""
        data = marshal.dumps(answer)
        with self._changed:
            self._changed.wait_for(lambda: self._bytes < _MOST_WAITING_BYTES or not self._is_read)
            if not self._is_read:
                raise BrokenPipeError
            self._bytes += len(data)
        self._waiting.put(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self._waiting.put(None)
        self._thread.join()

    def _send_all(self) -> None:
        try:
            while (data := self._waiting.get()) is not None:
                _send(self._stream, data)
                self._note(-len(data))
        except BrokenPipeError:
            self._note(0, is_read=False)

    def _note(self, more_bytes: int, is_read: bool = True) -> None:
        with self._changed:
            self._bytes += more_bytes
            self._is_read = is_read
            self._changed.notify()


def main(
    root: Path, environment: Mapping[str, str], requests: IO[bytes], answers: IO[bytes]
) -> int:
    """Answer requests until there are no more.

    The first names the commit to prepare pages for; a later one that is no list of paths says that
    the trail is there.
    """
    gc.disable()
    workspace = open_at(root, environment)
    terms("a word, so that all is loaded")
    with suppress(EOFError, BrokenPipeError), _Answers(answers) as sent, ExitStack() as trails:
        commit, *settings = _receive(requests)
        if settings != [trail_update.settings_digest(workspace), _language(workspace)]:
            return 1
        read = _preparing(workspace, commit)
        while True:
            request = _receive(requests)
            if isinstance(request, list):
                sent.add(
                    [_values_of(answer) for path in request if (answer := read(path)) is not None]
                )
                continue
            commit, digest, total = request
            trail = trails.enter_context(trail_update.stored_trail(workspace))
            if trail.head != commit or trail_update.settings_digest(workspace) != digest:
                return 1
            read = _reading(workspace, trail, total)
    return 0


def _preparing(workspace: Workspace, commit: CommitId | None) -> _ReadFile:
    blobs = committed_blobs(workspace, commit)

    def prepare(path: FilePath) -> FileAnswer | None:
        with suppress(OSError):
            return prepare_page(workspace, path, blobs.get(path), _language(workspace))
        return None

    return prepare


def _reading(workspace: Workspace, trail: Trail, total: int) -> _ReadFile:
    # It asks git about all files: not before there is one to read.
    reader = cache(lambda: pages.PageReader(workspace, trail, total))

    def read(path: FilePath) -> FileAnswer | None:
        with suppress(FileNotFoundError, NotADirectoryError):
            snapshot, fields = reader().read(
                listing.ListedFile(workspace.root, path, (workspace.root / path).lstat()), None
            )
            assert fields is not None  # there is no earlier one that it could equal
            return snapshot, fields
        return None

    return read


# The files that an index has not seen as they are

_MUCH_BYTES = 300_000
"""Of fewer bytes most are read before a second process has started."""
_CHUNK_BYTES = 65_536
"""The least bytes of files and of their paths that a process takes at once."""
_PART_DOCUMENTS = 20_000
"""Documents after which a first build can be searched."""


class ChangedFiles:
    """The files that an index has not seen as they are.

    `seen` is what it has seen, `stamps` are the files now, `since` numbers the commit up to which
    it agrees with the trail. `worker` reads files too, where all are to be read; it has not
    been asked for `chunks`.
    """

    def __init__(
        self,
        workspace: Workspace,
        seen: Snapshot,
        stamps: Mapping[str, str],
        trail: Trail,
        since: int,
        worker: PageWorker | None = None,
        chunks: Chunks | None = None,
    ) -> None:
        self._workspace, self._trail, self._since, self._worker = workspace, trail, since, worker
        self._commit = trail.head
        self._before = before = dict(seen.files)
        self._touched = pages.touched_paths(trail, since)
        if seen.commit != self._commit:
            self._touched |= {FilePath(path) for path, file in before.items() if file.uncommitted}
        due = [
            path
            for path, stamp in stamps.items()
            if path in self._touched
            or path not in before
            or before[path].stamp.text != stamp
            or before[path].skipped
        ]
        self._missing = {FilePath(path) for path in (*before, *self._touched) if path not in stamps}
        self._emptied = sorted(path for path in self._missing if trail.live_occurrences(path))
        self._total = len(due) + len(self._emptied)
        self._seen: dict[str, SnapshotFile] = {
            path: before[path] for path in stamps if path in before
        }
        self._chunks = in_chunks(workspace, due, stamps) if chunks is None else chunks
        self._part = (
            _PART_DOCUMENTS if not before and is_long(stamps[path] for path in due) else None
        )

    @cached_property
    def _reader(self) -> pages.PageReader:
        """Made for the first file that is read here: it asks git about all of them."""
        return pages.PageReader(self._workspace, self._trail, self._total)

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
            past=pages.ended_rows(self._workspace, self._trail, self._since, newest),
            dropped={name for name, _, _ in self._trail.dropped_commits()},
            part=self._part,
        )

    def _read(self) -> Iterator[FileEntries | FileFields | FileTexts]:
        if self._worker is not None:
            for answer in self._worker.read(self._chunks, self._trail, self._total):
                if answer is None:
                    yield from self._read_chunk()
                else:
                    snapshot_file, fields = answer
                    self._seen[fields.path] = snapshot_file
                    yield fields
        while self._chunks:
            yield from self._read_chunk()
        if self._worker is not None:
            # the disk has nothing to do while the engine takes in the last documents
            self._trail.settle()
        for path in self._emptied:
            yield self._reader.entries_of_removed_file(path)

    def _read_chunk(self) -> Iterator[FileFields]:
        """Read some files here; those removed since the survey are left to the next one."""
        for path in self._chunks.popleft():
            with suppress(FileNotFoundError, NotADirectoryError):
                file = listing.ListedFile(
                    self._workspace.root, path, (self._workspace.root / path).lstat()
                )
                self._seen[path], fields = self._reader.read(
                    file, self._before.get(path) if path not in self._touched else None
                )
                if fields is not None:
                    yield fields


def is_much(stamps: Iterable[str]) -> bool:
    return (os.cpu_count() or 1) > 1 and sum(map(stamp_bytes, stamps)) >= _MUCH_BYTES


def in_chunks(workspace: Workspace, paths: Iterable[str], stamps: Mapping[str, str]) -> Chunks:
    """Paths of files, a few at a time: first those that are no logs, then logs, newest first."""

    def newest_first(path: str) -> tuple[int, str]:
        return -(log_day(path, workspace.daily) or date.max).toordinal(), path

    return deque(_chunks(sorted(paths, key=newest_first), stamps))


def _chunks(paths: Iterable[str], stamps: Mapping[str, str]) -> Iterator[list[FilePath]]:
    chunk: list[FilePath] = []
    size = 0
    for path in paths:
        chunk.append(FilePath(path))
        size += stamp_bytes(stamps[path]) + len(os.fsencode(path))
        if size >= _CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


if __name__ == "__main__":
    with open(0, "rb", buffering=0) as requests, open(1, "wb", buffering=0) as answers:
        sys.exit(main(Path(sys.argv[1]), os.environ, requests, answers))
