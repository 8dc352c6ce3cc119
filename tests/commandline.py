"""The command line as a test drives it: a workspace with a person's edits in it, commands in this
process, and on a terminal.
"""

import fcntl
import json
import os
import pty
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from io import BytesIO, TextIOWrapper
from pathlib import Path
from select import select
from typing import Any

import pytest
from conftest import World, sealed_world
from workspaces import TOKEN as TOKEN
from workspaces import match_index

from mdmem.cli import main

NOW = "2026-03-05T09:30:00+00:00"
LOG = "memory/2026-03-05.md"
MEMORY = """\
# Memory

## Preferences

- [preference] drink: tea
- likes dark rooms

## Work

- editor: Helix, always Helix

### Employer

- works at Stripe

## Pets

- pet: cat
- pet: dog

## Twice

- one

## Twice

- two
"""
FILES = {
    "MEMORY.md": MEMORY,
    LOG: "# 2026-03-05\n\n## 09:00\n\n- [fact] the heating was mended #house\n",
    "memory/rooms.md": "# Rooms\n\n- likes dark rooms\n",
    "memory/open.md": "# Open\n\n```\ncode\n",
    "notes.txt": "no memory\n",
}
WRITE = [
    "changed",
    "path",
    "section",
    "etag",
    "commit",
    "added",
    "removed",
    "supersedes",
    "contradicts",
    "kept",
    "like",
    "warnings",
]


@dataclass
class Shell:
    """A workspace with a person's edits, saved, staged and new, that nobody has committed yet."""

    world: World
    folder: Path
    patch: pytest.MonkeyPatch
    capture: pytest.CaptureFixture[str]
    kept: list[Any] = field(default_factory=list)

    def run(self, *words: str, stdin: bytes = b"") -> "Done":
        """One command in this process."""
        self.patch.setattr(sys, "stdin", TextIOWrapper(BytesIO(stdin)))
        self.capture.readouterr()
        status = main(list(words))
        return Done(status, *self.capture.readouterr())

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def hook(self, name: str, text: str) -> None:
        self.write(f".git/hooks/{name}", f"#!/bin/sh\n{text}\n").chmod(0o755)

    def git(self, *arguments: str) -> str:
        return self.world.git(self.folder, *arguments).stdout

    def snapshot(self) -> Mapping[str, Any]:
        """Every file with its mode, HEAD and the branches, and what git thinks of it all, its index
        included.
        """
        status = ("status", "--porcelain=v2", "--branch", "--untracked-files=all")
        answer = self.world.git(
            self.folder, *status, check=False, environment={"GIT_OPTIONAL_LOCKS": "0"}
        )
        own = [
            path
            for path in self.folder.rglob("*")
            if path.relative_to(self.folder).parts[0] != ".git"
        ]
        refs = [self.folder / ".git" / "HEAD", *(self.folder / ".git" / "refs").rglob("*")]
        files = {
            str(path.relative_to(self.folder)): (path.lstat().st_mode, path.read_bytes())
            for path in (*own, *refs)
            if path.is_file()
        }
        return {"files": files, "status": (answer.stdout, answer.stderr)}


@dataclass(frozen=True)
class Done:
    """The result of a command."""

    status: int
    out: str
    err: str

    @property
    def answer(self) -> Any:
        """The one JSON object on standard output."""
        assert self.err == ""
        return json.loads(self.out)


@pytest.fixture(scope="session")
def commands_built_once() -> Iterator[None]:
    """Have Typer build its commands once, not for each call: that takes longer than most calls."""
    app = import_module("mdmem.cli.app")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app, "get_command", cache(app.get_command))
        yield


@pytest.fixture(scope="session")
def first_commit(tmp_path_factory: pytest.TempPathFactory, empty_repository: Path) -> Path:
    """A repository with the first commit of a shell, and what is staged in it, made once."""
    folder = Path(
        shutil.copytree(empty_repository, tmp_path_factory.mktemp("first") / "repository")
    )
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        world = sealed_world(folder.parent, patch)
        world.git(folder, "add", ".")
        world.git(folder, "commit", "-q", "-m", "first")
        (folder / "staged.txt").write_text("staged\n")
        world.git(folder, "add", ".")
    return folder


@pytest.fixture
def shell(
    world: World,
    repository: Path,
    first_commit: Path,
    commands_built_once: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Shell]:
    prepared = prepared_shell(world, repository, first_commit, monkeypatch, capsys)
    yield prepared
    for opened in prepared.kept:
        opened.close()


def prepared_shell(
    world: World,
    repository: Path,
    first_commit: Path,
    patch: pytest.MonkeyPatch,
    capture: pytest.CaptureFixture[str],
) -> Shell:
    """A shell in a repository, which becomes a copy of the first commit with the person's edits."""
    shutil.copytree(first_commit, repository, dirs_exist_ok=True)
    match_index(repository)
    patch.setenv("MDMEM_NOW", NOW)
    patch.chdir(repository)
    prepared = Shell(world, repository, patch, capture)
    prepared.write("MEMORY.md", MEMORY + "\n## By hand\n\n- not committed yet\n")
    return prepared


MadeOnce = Callable[[str, Callable[[], object]], None]


@pytest.fixture(scope="session")
def folders_made() -> dict[str, Path]:
    """The files that `made_once` writes, by their names."""
    return {}


@pytest.fixture
def made_once(
    world: World, folders_made: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> MadeOnce:
    """Does something of a name in the folder of a test: its home and repositories. The tests after
    it are given what came of it, so that nothing in there may hold the folder's path.
    """

    def make(name: str, action: Callable[[], object]) -> None:
        folder = world.home.parent
        if name not in folders_made:
            action()
            made = tmp_path_factory.mktemp("made") / "once"
            folders_made[name] = Path(shutil.copytree(folder, made, symlinks=True))
            return
        for path in folder.iterdir():
            shutil.rmtree(path)
        shutil.copytree(folders_made[name], folder, symlinks=True, dirs_exist_ok=True)
        for index in folder.glob("*/.git/index"):
            match_index(index.parents[1])

    return make


def elsewhere(shell: Shell) -> None:
    shell.patch.chdir(tempfile.mkdtemp(dir=shell.world.home))


def commits(shell: Shell, *parents: str) -> str:
    """A commit on HEAD's branch that changes nothing."""
    commit = shell.git(
        "commit-tree",
        "HEAD^{tree}",
        *(word for parent in parents for word in ("-p", parent)),
        "-m",
        "made",
    ).strip()
    shell.git("update-ref", "refs/heads/main", commit)
    return commit


def mdmem(*words: str) -> list[str]:
    return [sys.executable, "-m", "mdmem", *words]


INTERRUPT = "\x03"


def on_terminal(
    shell: Shell,
    *command: str,
    typed: bytes = b"",
    keys: Sequence[str] = (),
    size: tuple[int, int] = (200, 50),
    **environment: str,
) -> Done:
    """A command with a terminal for all of its streams; what it printed there, and what was typed,
    with plain line ends.

    `size` is that of the terminal, in columns and lines. Each of `keys` is typed at a prompt that
    ends in the keys it takes, as in `[y,n] `.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    process = subprocess.Popen(
        command,
        cwd=shell.folder,
        env={**shell.world.environment, "MDMEM_NOW": NOW, "TERM": "xterm", **environment},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    os.write(ours, typed)
    printed, left = b"", list(keys)
    try:
        while chunk := _read(ours):
            printed += chunk
            if keys and printed.endswith(b"] "):
                assert left, f"a key more is asked for:\n{printed.decode()}"
                key = left.pop(0)
                if key == INTERRUPT:
                    os.killpg(process.pid, signal.SIGINT)
                else:
                    os.write(ours, key.encode())
        assert not left, printed.decode()
        return Done(process.wait(60), printed.decode().replace("\r\n", "\n"), "")
    finally:
        os.close(ours)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _read(descriptor: int) -> bytes:
    """What a program prints next; nothing once it has ended."""
    assert select([descriptor], [], [], 60)[0], "the program is silent for a minute"
    try:
        return os.read(descriptor, 65_536)
    except OSError:  # the other side is closed
        return b""
