"""Digests that fail on the way: what is committed counts, nothing more is read, and the cursors
stay where they were.
"""

import errno
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from pi_sessions import START, Transcript, digest, texts, write_session
from workspaces import NOW, Desk, desk

from mdmem.folder import files
from mdmem.model.errors import MdmemError, RepositoryProblem

SAID = ("We decided to keep the old pump.", "agent: Noted.", "I prefer calls before noon.")


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository)


@pytest.fixture
def transcript(tmp_path: Path) -> Transcript:
    return partial(write_session, tmp_path)


@pytest.fixture
def paths(transcript: Transcript) -> list[Path]:
    return [
        transcript(*SAID),
        transcript("We decided to sell the boat.", session="6b2f0000", start=START.replace(day=6)),
    ]


def kept(at: Desk) -> dict[str, bytes]:
    """What is kept of how far transcripts are read."""
    return {path.name: path.read_bytes() for path in at.workspace.state.glob("*.json")}


def assert_whole_afterwards(at: Desk, paths: list[Path]) -> None:
    """The next digest writes all, and the one after that nothing."""
    assert len(digest(at, *paths).entries) == 3
    assert digest(at, *paths).figures.messages == 0
    assert at.read("memory/2026-03-04.md").count("\n- ") == 2


def test_busy(at: Desk, paths: list[Path]):
    at.write("mdmem.toml", "lock_timeout = 0.01\n")
    at.commit()
    at.workspace.ensure_state()
    with (
        files.lock(at.workspace.state / files.LOCK_NAME, 0),
        pytest.raises(RepositoryProblem) as problem,
    ):
        digest(at, *paths)
    assert problem.value.code == "busy"
    assert kept(at) == {} or b"inode" not in kept(at)["transcripts.json"]
    assert_whole_afterwards(at, paths)


def test_a_merge_is_under_way(at: Desk, paths: list[Path]):
    (at.root / ".git" / "MERGE_HEAD").write_text(at.git("rev-parse", "HEAD"))
    with pytest.raises(RepositoryProblem) as problem:
        digest(at, *paths)
    assert problem.value.code == "repository-busy"
    (at.root / ".git" / "MERGE_HEAD").unlink()
    assert_whole_afterwards(at, paths)


def test_detached_head(at: Desk, paths: list[Path]):
    at.git("checkout", "-q", "--detach")
    with pytest.raises(RepositoryProblem) as problem:
        digest(at, *paths)
    assert problem.value.code == "detached-head"
    at.git("checkout", "-q", "-")
    assert_whole_afterwards(at, paths)


@pytest.mark.parametrize("first", [True, False])
def test_the_disk_is_full(
    at: Desk, paths: list[Path], monkeypatch: pytest.MonkeyPatch, first: bool
):
    prepare, written = files.replace, 0

    def replace(path: Path, *arguments: Any) -> bool:
        nonlocal written
        written += path.suffix == ".md"
        if path.suffix == ".md" and (first or written > 1):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return prepare(path, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(files, "replace", replace)
        with pytest.raises((MdmemError, OSError)):
            digest(at, *paths)
    assert len(digest(at, *paths).entries) == (3 if first else 1)
    assert digest(at, *paths).figures.messages == 0
    assert at.read("memory/2026-03-04.md").count("\n- ") == 2


def test_the_cursors_cannot_be_kept(at: Desk, paths: list[Path], monkeypatch: pytest.MonkeyPatch):
    write = files.write_cache

    def write_cache(path: Path, text: str) -> None:
        if path.name == "transcripts.json":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(path, text)

    with monkeypatch.context() as patch:
        patch.setattr(files, "write_cache", write_cache)
        with pytest.raises(OSError, match="space"):
            digest(at, *paths)
    again = digest(at, *paths)
    assert (texts(again), at.read("memory/2026-03-04.md").count("\n- ")) == ([], 2)
