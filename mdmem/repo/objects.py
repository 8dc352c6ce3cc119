"""Git's objects: read in bulk, named, and written as packs."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from mdmem.errors import RepositoryProblem
from mdmem.repo.runner import run

LONG_SECONDS = 3600.0
"""What a command may take that goes through all of a repository."""
_CHUNK_BYTES = 32_000_000
_PACK_TYPES = {b"commit": 1, b"tree": 2, b"blob": 3, b"tag": 4}


def git(folder: Path, *arguments: str, text: bytes = b"", extra: Mapping[str, str] | None = None) -> bytes:
    """The output of a git command that must succeed. `folder` is the root of a work tree: below it index-pack would not find its place."""
    done = run(folder, arguments, text, extra, LONG_SECONDS)
    if done.status:
        raise RepositoryProblem(
            "git-failed",
            f"git {next(a for a in arguments if a[0] != '-' and '=' not in a)} failed",
            "Run it again, which completes what was begun; git fsck says more.",
        )
    return done.output


class Objects:
    """Objects read in bulk, a bounded amount at a time, and written as packs (or, without `keep`, only named)."""

    def __init__(self, folder: Path, keep: bool) -> None:
        self._folder = folder
        self._keep = keep
        self._hash = git(folder, "rev-parse", "--show-object-format").decode().strip()
        self._waiting: dict[str, bytes] = {}
        self._size = 0

    def described(self, ids: Iterable[str]) -> list[tuple[str, bytes, int]]:
        """Id, kind and size of objects."""
        asked = "".join(f"{name}\n" for name in ids).encode()
        lines = git(self._folder, "cat-file", "--batch-check", text=asked).splitlines() if asked else []
        found = [line.split(b" ") for line in lines]
        if any(len(words) != 3 for words in found):
            raise RepositoryProblem("broken-repository", "the repository lacks objects that its history names", "git fsck says which.")
        return [(words[0].decode(), words[1], int(words[2])) for words in found]

    def read(self, objects: Iterable[tuple[str, bytes, int]]) -> Iterator[tuple[str, bytes, bytes]]:
        """Id, kind and bytes of objects, in their order."""
        for chunk in _chunks(objects):
            output = git(self._folder, "cat-file", "--batch", text="".join(f"{name}\n" for name, _, _ in chunk).encode())
            at = 0
            for name, kind, size in chunk:
                at = output.index(b"\n", at) + 1
                yield name, kind, output[at : at + size]
                at += size + 1

    def add(self, kind: bytes, data: bytes) -> str:
        """The id of a new object."""
        name = hashlib.new(self._hash, b"%s %d\0%s" % (kind, len(data), data)).hexdigest()
        if self._keep and name not in self._waiting:
            packed = _pack_head(_PACK_TYPES[kind], len(data)) + zlib.compress(data, 1)
            self._waiting[name] = packed
            self._size += len(packed)
            if self._size > _CHUNK_BYTES:
                self.flush()
        return name

    def flush(self) -> None:
        """Give git what was added."""
        if self._waiting:
            pack = b"PACK" + (2).to_bytes(4, "big") + len(self._waiting).to_bytes(4, "big") + b"".join(self._waiting.values())
            git(self._folder, "index-pack", "--stdin", text=pack + hashlib.new(self._hash, pack).digest())
        self._waiting, self._size = {}, 0


def _chunks(objects: Iterable[tuple[str, bytes, int]]) -> Iterator[list[tuple[str, bytes, int]]]:
    chunk: list[tuple[str, bytes, int]] = []
    size = 0
    for found in objects:
        if chunk and size + found[2] > _CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
        chunk.append(found)
        size += found[2]
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
