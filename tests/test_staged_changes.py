"""The staged changes by a repository's files, of which the objects and the index are written here byte by byte."""

import hashlib
import zlib
from pathlib import Path

import pytest

from mdmem.model import CommitId
from mdmem.repo.staged_changes import known_paths, staged_changes

MISSING = "cd" * 20
"""The id of a tree that no file holds."""


def store(git_dir: Path, kind: bytes, data: bytes) -> str:
    stored = b"%s %d\0%s" % (kind, len(data), data)
    name = hashlib.sha1(stored, usedforsecurity=False).hexdigest()
    path = git_dir / "objects" / name[:2] / name[2:]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(zlib.compress(stored))
    return name


def store_tree(git_dir: Path, *rows: tuple[bytes, str]) -> str:
    return store(git_dir, b"tree", b"".join(b"%s\0%s" % (mode_and_name, bytes.fromhex(name)) for mode_and_name, name in rows))


def entry(path: bytes, name: str) -> bytes:
    fields = bytes(24) + (0o100644).to_bytes(4, "big") + bytes(12) + bytes.fromhex(name) + len(path).to_bytes(2, "big")
    return fields + path + b"\0" * (8 - (62 + len(path)) % 8)


def extension(name: bytes, content: bytes) -> bytes:
    return name + len(content).to_bytes(4, "big") + content


class Repository:
    """A commit that has MEMORY.md and aX/c.md, and a folder aX/bX that is missing; an index with another MEMORY.md."""

    def __init__(self, git_dir: Path) -> None:
        self.git_dir = git_dir
        old, new = (store(git_dir, b"blob", data) for data in (b"old", b"new"))
        inner = store_tree(git_dir, (b"40000 bX", MISSING), (b"100644 c.md", new))
        tree = store_tree(git_dir, (b"100644 MEMORY.md", old), (b"40000 aX", inner))
        self.commit = CommitId(store(git_dir, b"commit", b"tree %s\nauthor a\n\nx\n" % tree.encode()))
        self.entries = [entry(path, new) for path in (b"MEMORY.md", b"aX/bX/x.md", b"aX/c.md")]
        self.cached = b"\0-1 1\naX\0-1 1\nbX\x001 0\n" + bytes.fromhex(MISSING)

    def write_index(self, *extensions: bytes, version: int = 2, count: int = 3) -> str:
        head = b"DIRC" + version.to_bytes(4, "big") + count.to_bytes(4, "big")
        (self.git_dir / "index").write_bytes(head + b"".join(self.entries) + b"".join(extensions) + b"\xee" * 20)
        return str(self.git_dir / "index")

    def staged(self, index: str) -> list[tuple[bytes, bytes | None, bytes | None]] | None:
        return staged_changes(str(self.git_dir), index, self.commit)


@pytest.fixture
def at(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("more", [b"", b"more"])
def test_a_folder_that_stayed_the_same_is_not_read(at: Repository, version: int, more: bytes) -> None:
    """By what the index has cached; what stands behind the root there is of no concern."""
    index = at.write_index(extension(b"TREE", at.cached + more), version=version)
    assert at.staged(index) == [(b"MEMORY.md", b"old", b"new")]
    paths = [b"MEMORY.md", b"aX/bX/x.md", b"aX/bX", b"none.md"]
    assert known_paths(str(at.git_dir), index, at.commit, paths) == {b"MEMORY.md", b"aX/bX/x.md"}


def test_without_cached_folders_each_is_read(at: Repository) -> None:
    assert at.staged(at.write_index()) is None
    old = store(at.git_dir, b"blob", b"old")
    tree = store_tree(at.git_dir, (b"100644 MEMORY.md", old))
    at.commit = CommitId(store(at.git_dir, b"commit", b"tree %s\nauthor a\n\nx\n" % tree.encode()))
    del at.entries[1:]
    assert at.staged(at.write_index(count=1)) == [(b"MEMORY.md", b"old", b"new")]


@pytest.mark.parametrize("name", [b"xTRA", b"link"])
def test_an_extension_that_must_be_understood(at: Repository, name: bytes) -> None:
    assert at.staged(at.write_index(extension(b"TREE", at.cached), extension(name, b""))) is None


def test_more_entries_than_there_can_be(at: Repository) -> None:
    """Git is asked even if the last three bytes of their number are right."""
    assert at.staged(at.write_index(extension(b"TREE", at.cached), count=(1 << 24) + 3)) is None
