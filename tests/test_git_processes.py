"""How many git processes everyday commands start: each costs whoever waits some milliseconds."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from workspaces import Desk, append, desk

from mdmem.memory import Memory
from mdmem.model.pipelines import Sync
from mdmem.model.searches import Search
from mdmem.model.writes import Log

MOST = {
    "the first line of a day": 5,
    "a line of a day": 2,
    "an edit": 1,
    "an edit of a packed file": 3,
    "an edit beside a staged file": 3,
    "an edit of a file with pending edits": 7,
    "an edit in a linked work tree": 8,
    "a search": 0,
    "a search after a write": 3,
    "a sync with nothing to do": 6,
    "a sync that pushes": 18,
}
"""The most processes of each case; what a background process starts does not count."""
LINE, EDIT, SEARCH, SYNC = Log("it rained"), append("- by mdmem"), Search(query="Stripe"), Sync()
CASES: dict[str, tuple[Callable[[Desk], object], Callable[[Memory], object]]] = {
    "the first line of a day": (lambda at: None, lambda memory: memory.apply(LINE)),
    "a line of a day": (lambda at: at.apply(LINE), lambda memory: memory.apply(Log("it snowed"))),
    "an edit": (lambda at: None, lambda memory: memory.apply(EDIT)),
    "an edit of a packed file": (
        lambda at: at.git("gc", "-q"),
        lambda memory: memory.apply(EDIT),
    ),
    "an edit beside a staged file": (
        lambda at: at.git("add", at.write("notes.txt", "mine\n")),
        lambda memory: memory.apply(EDIT),
    ),
    "an edit of a file with pending edits": (
        lambda at: at.write("MEMORY.md", at.read("MEMORY.md") + "- by hand\n"),
        lambda memory: memory.apply(EDIT),
    ),
    "a search": (lambda at: None, lambda memory: memory.search(SEARCH)),
    "a search after a write": (lambda at: at.apply(EDIT), lambda memory: memory.search(SEARCH)),
    "a sync with nothing to do": (lambda at: None, lambda memory: memory.sync(SYNC)),
    "a sync that pushes": (lambda at: at.apply(EDIT), lambda memory: memory.sync(SYNC)),
}

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="git's own files are read on Linux alone"
)


@pytest.fixture
def at(world: World, repository: Path, tmp_path: Path) -> Desk:
    """A workspace that was synced with a remote, and searched."""
    at = desk(world, repository)
    world.git(tmp_path, "init", "-q", "--bare", "-b", "main", "origin.git")
    at.git("remote", "add", "origin", tmp_path / "origin.git")
    memory = Memory.open(at.root, os.environ)
    memory.sync(SYNC)
    memory.search(SEARCH)
    return at


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The git commands that the program starts from when this is cleared."""
    commands, start = list[str](), subprocess.Popen.__init__

    def counted(process: Any, command: Any, *arguments: Any, **options: Any) -> None:
        if command[0] == "git":
            commands.append(" ".join(command[4:]))
        start(process, command, *arguments, **options)

    monkeypatch.setattr(subprocess.Popen, "__init__", counted)
    return commands


@pytest.mark.parametrize("case", CASES)
def test_processes_of_a_command(at: Desk, started: list[str], case: str) -> None:
    prepare, act = CASES[case]
    prepare(at)
    memory = Memory.open(at.root, os.environ)
    started.clear()
    act(memory)
    assert len(started) <= MOST[case], "\n".join(started)


def test_a_write_where_only_git_can_tell(at: Desk, started: list[str], tmp_path: Path) -> None:
    at.git("worktree", "add", "-q", "-b", "side", tmp_path / "linked")
    Memory.open(tmp_path / "linked", os.environ).apply(LINE)
    started.clear()
    Memory.open(tmp_path / "linked", os.environ).apply(EDIT)
    assert len(started) <= MOST["an edit in a linked work tree"], "\n".join(started)
