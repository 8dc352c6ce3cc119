"""The staged changes by a repository's files, of which the objects and the index are written here
byte by byte.
"""

import hashlib
import zlib
from pathlib import Path

import pytest

from mdmem.model import CommitId
from mdmem.repo.git_files import known_paths, staged_changes

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
    return store(
        git_dir,
        b"tree",
        b"".join(b"%s\0%s" % (mode_and_name, bytes.fromhex(name)) for mode_and_name, name in rows),
    )


def entry(path: bytes, name: str, mode: int = 0o100644, stage: int = 0) -> bytes:
    fields = (
        bytes(24)
        + mode.to_bytes(4, "big")
        + bytes(12)
        + bytes.fromhex(name)
        + (stage << 12 | len(path)).to_bytes(2, "big")
    )
    return fields + path + b"\0" * (8 - (62 + len(path)) % 8)


def extension(name: bytes, content: bytes) -> bytes:
    return name + len(content).to_bytes(4, "big") + content


class Repository:
    """A commit that has MEMORY.md and aX/c.md, and folders aX/bX and d that are missing; an index
    with another MEMORY.md.
    """

    def __init__(self, git_dir: Path) -> None:
        self.git_dir = git_dir
        old, new = (store(git_dir, b"blob", data) for data in (b"old", b"new"))
        inner = store_tree(git_dir, (b"40000 bX", MISSING), (b"100644 c.md", new))
        tree = store_tree(
            git_dir, (b"100644 MEMORY.md", old), (b"40000 aX", inner), (b"40000 d", MISSING)
        )
        self.commit = CommitId(
            store(git_dir, b"commit", b"tree %s\nauthor a\n\nx\n" % tree.encode())
        )
        self.entries = [
            entry(path, new) for path in (b"MEMORY.md", b"aX/bX/x.md", b"aX/c.md", b"d/x.md")
        ]
        missing = bytes.fromhex(MISSING)
        self.cached = b"\0-1 2\naX\0-1 1\nbX\x001 0\n" + missing + b"d\x001 0\n" + missing

    def write_index(self, *extensions: bytes, version: int = 2, more: int = 0) -> str:
        head = b"DIRC" + version.to_bytes(4, "big") + (len(self.entries) + more).to_bytes(4, "big")
        (self.git_dir / "index").write_bytes(
            head + b"".join(self.entries) + b"".join(extensions) + b"\xee" * 20
        )
        return str(self.git_dir / "index")

    def staged(self, index: str) -> list[tuple[bytes, bytes | None, bytes | None]] | None:
        return staged_changes(str(self.git_dir), index, self.commit)


@pytest.fixture
def at(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


@pytest.mark.parametrize("more", [b"", b"more"])
def test_a_folder_that_stayed_the_same_is_not_read(at: Repository, more: bytes) -> None:
    """By what the index has cached; what stands behind the root there is of no concern."""
    index = at.write_index(extension(b"TREE", at.cached + more))
    assert at.staged(index) == [(b"MEMORY.md", b"old", b"new")]
    paths = [b"MEMORY.md", b"aX/bX/x.md", b"aX/bX", b"d/x.md", b"none.md"]
    assert known_paths(str(at.git_dir), index, at.commit, paths) == {
        b"MEMORY.md",
        b"aX/bX/x.md",
        b"d/x.md",
    }


@pytest.mark.parametrize(
    ("mode", "stage", "is_read"),
    [
        (0o100644, 0, True),
        (0o100755, 0, True),
        (0o120000, 0, False),
        (0o100644, 1, False),
        (0o100644, 2, False),
    ],
)
def test_which_files_are_read(at: Repository, mode: int, stage: int, is_read: bool) -> None:
    """No links, and none that a merge has left unmerged."""
    at.entries[0] = entry(b"MEMORY.md", store(at.git_dir, b"blob", b"new"), mode, stage)
    assert at.staged(at.write_index(extension(b"TREE", at.cached))) == (
        [(b"MEMORY.md", b"old", b"new")] if is_read else None
    )


@pytest.mark.parametrize("version", [1, 3, 4])
def test_another_version_of_the_format_is_for_git(at: Repository, version: int) -> None:
    """The third has longer entries for files of which more is to be known, and is written where
    there are such alone.
    """
    assert at.staged(at.write_index(extension(b"TREE", at.cached), version=version)) is None


def test_without_cached_folders_each_is_read(at: Repository) -> None:
    assert at.staged(at.write_index()) is None
    old = store(at.git_dir, b"blob", b"old")
    tree = store_tree(at.git_dir, (b"100644 MEMORY.md", old))
    at.commit = CommitId(store(at.git_dir, b"commit", b"tree %s\nauthor a\n\nx\n" % tree.encode()))
    del at.entries[1:]
    assert at.staged(at.write_index()) == [(b"MEMORY.md", b"old", b"new")]


@pytest.mark.parametrize("name", [b"xTRA", b"link"])
def test_an_extension_that_must_be_understood(at: Repository, name: bytes) -> None:
    assert at.staged(at.write_index(extension(b"TREE", at.cached), extension(name, b""))) is None


def test_more_entries_than_there_can_be(at: Repository) -> None:
    """Git is asked even if the last three bytes of their number are right."""
    assert at.staged(at.write_index(extension(b"TREE", at.cached), more=1 << 24)) is None
