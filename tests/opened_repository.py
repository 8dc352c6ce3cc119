"""A repository as git's own files tell of it, and as git does: fixtures for tests that hold for
both.
"""

from dataclasses import replace
from pathlib import Path

import pytest
from conftest import World
from workspaces import Desk, desk

from mdmem import repo
from mdmem.model import CommitId
from mdmem.repo import Repository


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    """A workspace below the root."""
    return desk(world, repository, "sub")


@pytest.fixture(params=[True, False], ids=["read", "git"])
def opened(at: Desk, request: pytest.FixtureRequest) -> Repository:
    """The repository, of which git's own files may be read, or may not."""
    opened = repo.discover(at.root)
    return opened if request.param else replace(opened, is_simple=False)


def head(at: Desk) -> CommitId:
    return CommitId(at.git("rev-parse", "HEAD").strip())


def change_message(at: Desk, message: bytes, header: bytes = b"") -> CommitId:
    """Change the message of the newest commit to any bytes; `git commit` itself would make UTF-8 of
    them.

    `header` is added to the lines above the message.
    """
    path = at.world.home / "commit"
    lines = at.git("cat-file", "commit", "HEAD").partition("\n\n")[0].encode()
    path.write_bytes(lines + b"\n" + header + b"\n" + message)
    at.git("update-ref", "HEAD", at.git("hash-object", "-t", "commit", "-w", path).strip())
    return head(at)
