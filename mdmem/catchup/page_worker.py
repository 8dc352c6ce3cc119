"""A second process that reads files for an index which is built from nothing: started, asked, and what it does itself.

Nothing depends on it: what it has not answered is read by the process that asked. It shares no memory with that process and no lock, so it
may be started from a program with threads; it ends with the pipe between the two.
"""

from __future__ import annotations

import gc
import marshal
import os
import select
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Self

from mdmem import listing, repo
from mdmem.catchup import pages, trail_update
from mdmem.model import CommitId, FilePath
from mdmem.search.indexer import FileFields, file_fields
from mdmem.search.snapshot import FileStamp, SnapshotFile
from mdmem.search.terms import ENGLISH, terms
from mdmem.workspace import Workspace, open_at

_ASKED_AHEAD = 2
"""Requests that wait for an answer: one is worked on, while the next is there already."""
_PIPE_BYTES = 1 << 20
"""The room of a pipe, so that an answer need not wait until it is read."""
_LENGTH_BYTES = 8

FileAnswer = tuple[SnapshotFile, FileFields]


class PageWorker:
    """A process that reads files of a workspace, as seen by the one that has the index."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._asked: deque[list[FilePath]] = deque()

    @classmethod
    def start(cls, workspace: Workspace) -> Self | None:
        """Start it; None where no process can be started."""
        command = [sys.executable, "-P", "-m", __name__, os.fspath(workspace.root)]
        environment = {**repo.environment(), **workspace.environment}
        with suppress(OSError, ValueError):
            return cls(
                subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env=environment,
                    bufsize=0,
                    pipesize=_PIPE_BYTES,
                )
            )
        return None

    def read(self, chunks: deque[list[FilePath]], commit: CommitId | None, settings: str, total: int) -> Iterator[FileAnswer | None]:
        """The files of `chunks`, which it takes from there, as they come in; None as often as none has.

        The caller takes chunks too, for itself, whenever it gets None. What is not answered comes back to them.

        Args:
            chunks: paths of files, a few at a time.
            commit: the newest one of the trail that the caller has.
            settings: a digest of what the trail depends on.
            total: how many files are to be read in all.
        """
        try:
            self._send((commit, settings, total))
            while chunks or self._asked:
                while chunks and len(self._asked) < _ASKED_AHEAD:
                    self._asked.append(chunks.popleft())
                    self._send(self._asked[-1])
                if not chunks or self._has_answered():
                    answers = _receive(self._output)
                    self._asked.popleft()
                    yield from map(_answer_of, answers)
                else:
                    yield None
        except (OSError, EOFError, ValueError):
            chunks.extendleft(reversed(self._asked))
        finally:
            self.close()

    def close(self) -> None:
        """End it."""
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()
        self._process.wait()

    @property
    def _output(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout

    def _has_answered(self) -> bool:
        return bool(select.select([self._output], (), (), 0)[0])

    def _send(self, value: Any) -> None:
        assert self._process.stdin is not None
        _send(self._process.stdin, value)


@contextmanager
def started(workspace: Workspace) -> Iterator[PageWorker | None]:
    """A process that gets ready while the caller goes on, and has ended in the end; None where none can be started.

    Meanwhile Python does not look for cycles among the objects of this one: there are many, hardly any of them in a cycle, and looking takes
    a tenth of the time.
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


def _send(stream: IO[bytes], value: Any) -> None:
    """Write a value with its length before it."""
    data = marshal.dumps(value)
    rest = memoryview(len(data).to_bytes(_LENGTH_BYTES) + data)
    while rest:
        rest = rest[stream.write(rest) :]


def _receive(stream: IO[bytes]) -> Any:
    """Read a value.

    Raises:
        EOFError: the other side has ended.
    """
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


def _answer_of(values: tuple[FilePath, str, str, bool, str | None, list[dict[str, Any]]]) -> FileAnswer:
    path, stamp, digest, uncommitted, skipped, documents = values
    snapshot = SnapshotFile(FileStamp(*map(int, stamp.split())), digest, uncommitted, skipped)
    return snapshot, FileFields(path, documents)


# The process itself.


def main(root: Path, environment: Mapping[str, str], requests: IO[bytes], answers: IO[bytes]) -> int:
    """Answer requests until there are no more; the first one says what the trail has to be like."""
    gc.disable()
    workspace = open_at(root, environment)
    terms("a word, so that all is loaded")
    with suppress(EOFError, BrokenPipeError):
        commit, settings, total = _receive(requests)
        with trail_update.stored_trail(workspace) as trail:
            newest = trail.newest_commit
            if (newest.commit if newest else None) != commit or trail_update.settings_digest(workspace) != settings:
                return 1
            reader = pages.PageReader(workspace, trail, total)
            language = workspace.settings.language or ENGLISH
            while True:
                _send(answers, list(_read_files(workspace, reader, _receive(requests), language)))
    return 0


def _read_files(workspace: Workspace, reader: pages.PageReader, paths: Sequence[FilePath], language: str) -> Iterator[tuple[object, ...]]:
    for path in paths:
        with suppress(FileNotFoundError, NotADirectoryError):
            file = listing.list_file(workspace.root, path, (workspace.root / path).lstat())
            snapshot, page = reader.read(file, None)
            assert page is not None  # there is no earlier one that it could equal
            documents = file_fields(page, language).documents
            yield path, snapshot.stamp.text, snapshot.digest, snapshot.uncommitted, snapshot.skipped, documents


if __name__ == "__main__":
    with open(0, "rb", buffering=0) as requests, open(1, "wb", buffering=0) as answers:
        sys.exit(main(Path(sys.argv[1]), os.environ, requests, answers))
