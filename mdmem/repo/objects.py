"""Read git's objects in bulk, and write new ones as packs."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from mdmem.errors import RepositoryProblem
from mdmem.repo.runner import run

LONG_SECONDS = 3600.0
"""The time limit of commands that go through the whole repository."""
_CHUNK_BYTES = 32_000_000
_PACK_TYPES = {b"commit": 1, b"tree": 2, b"blob": 3, b"tag": 4}


def git(
    folder: Path, *arguments: str, text: bytes = b"", extra: Mapping[str, str] | None = None
) -> bytes:
    """Run a git command that must succeed, in the root of a work tree (index-pack needs that)."""
    result = run(folder, arguments, text, extra, LONG_SECONDS)
    if result.status:
        raise RepositoryProblem(
            "git-failed",
            f"git {next(a for a in arguments if a[0] != '-' and '=' not in a)} failed",
            "Run it again to complete it. For details: git fsck",
        )
    return result.output


class Objects:
    """Reads objects in bounded bulk, and writes packs (without `keep`, works out ids only)."""

    def __init__(self, folder: Path, keep: bool) -> None:
        self._folder = folder
        self._keep = keep
        self._hash = git(folder, "rev-parse", "--show-object-format").decode().strip()
        self._waiting: dict[str, bytes] = {}
        self._size = 0

    def describe(self, ids: Iterable[str]) -> list[tuple[str, bytes, int]]:
        """Id, kind and size of each object."""
        text = "".join(f"{name}\n" for name in ids).encode()
        return _parse_descriptions(
            git(self._folder, "cat-file", "--batch-check", text=text) if text else b""
        )

    def describe_all(self) -> list[tuple[str, bytes, int]]:
        """Id, kind and size of each object that is there, reachable or not."""
        return _parse_descriptions(
            git(self._folder, "cat-file", "--batch-all-objects", "--batch-check")
        )

    def read(self, objects: Iterable[tuple[str, bytes, int]]) -> Iterator[tuple[str, bytes, bytes]]:
        """Yield id, kind and bytes of each object, in their order."""
        for chunk in _chunks(objects):
            output = git(
                self._folder,
                "cat-file",
                "--batch",
                text="".join(f"{name}\n" for name, _, _ in chunk).encode(),
            )
            offset = 0
            for name, kind, size in chunk:
                offset = output.index(b"\n", offset) + 1
                yield name, kind, output[offset : offset + size]
                offset += size + 1

    def add(self, kind: bytes, data: bytes) -> str:
        """Add an object, and return its id."""
        name = hashlib.new(self._hash, b"%s %d\0%s" % (kind, len(data), data)).hexdigest()
        if self._keep and name not in self._waiting:
            packed = _pack_head(_PACK_TYPES[kind], len(data)) + zlib.compress(data, 1)
            self._waiting[name] = packed
            self._size += len(packed)
            if self._size > _CHUNK_BYTES:
                self.flush()
        return name

    def flush(self) -> None:
        """Write the objects added since the last flush into the repository."""
        if self._waiting:
            pack = (
                b"PACK"
                + (2).to_bytes(4, "big")
                + len(self._waiting).to_bytes(4, "big")
                + b"".join(self._waiting.values())
            )
            git(
                self._folder,
                "index-pack",
                "--stdin",
                text=pack + hashlib.new(self._hash, pack).digest(),
            )
        self._waiting, self._size = {}, 0


def _parse_descriptions(output: bytes) -> list[tuple[str, bytes, int]]:
    rows = [line.split(b" ") for line in output.splitlines()]
    if any(len(row) != 3 for row in rows):
        raise RepositoryProblem(
            "broken-repository",
            "the repository lacks objects that its history names",
            "To see which: git fsck",
        )
    return [(row[0].decode(), row[1], int(row[2])) for row in rows]


def _chunks(objects: Iterable[tuple[str, bytes, int]]) -> Iterator[list[tuple[str, bytes, int]]]:
    """The objects in runs of at most `_CHUNK_BYTES` (a larger object comes alone)."""
    chunk: list[tuple[str, bytes, int]] = []
    total = 0
    for name, kind, size in objects:
        if chunk and total + size > _CHUNK_BYTES:
            yield chunk
            chunk, total = [], 0
        chunk.append((name, kind, size))
        total += size
    if chunk:
        yield chunk


def _pack_head(kind: int, size: int) -> bytes:
    """The head of an object in a pack: kind and size, seven bits a byte (gitformat-pack)."""
    head = [(kind << 4) | (size & 15)]
    size >>= 4
    while size:
        head[-1] |= 0x80
        head.append(size & 0x7F)
        size >>= 7
    return bytes(head)
