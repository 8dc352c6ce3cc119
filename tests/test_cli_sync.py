"""A sync typed at a terminal: servers that ask for a password, or say nothing, get no answer."""

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from commandline import Shell, mdmem, on_terminal
from remote_servers import asking_server, silent_server
from workspaces import desk

from mdmem.cli import maintenance
from mdmem.cli.terminal import Progress

MARK = "MDMEM_TEST_SYNC"
PROMPT = re.compile(r"(?im)^(?:username|password|are you sure)\b")
OWNED = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
"""A program that makes its terminal the controlling one, which is where git and ssh ask."""
ASKING_SSH = """#!/bin/sh
case "$*" in *BatchMode=yes*) echo "Permission denied (publickey)." >&2; exit 255;; esac
echo "password: " > /dev/tty && read answer < /dev/tty
"""
STUBBORN_SSH = """#!/bin/sh
echo "password: " > /dev/tty && read answer < /dev/tty
sleep 60
"""


@contextmanager
def remote(kind: str, folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """The URL of a remote, and variables for git."""
    if kind in ("401", "silent"):
        with asking_server() if kind == "401" else silent_server() as port:
            yield f"http://127.0.0.1:{port}/x.git", {}
    else:
        ssh = folder / "ssh"
        ssh.write_text(STUBBORN_SSH if kind == "stubborn ssh" else ASKING_SSH)
        ssh.chmod(0o755)
        yield "ssh://git@example.test/x.git", {"GIT_SSH_COMMAND": str(ssh)}


def running(mark: str) -> list[str]:
    """The processes that have inherited a mark, and their children."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return found


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="it reads /proc")
@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("401", "authentication with origin failed: "),
        ("ssh", "authentication with origin failed: "),
        ("stubborn ssh", "origin did not answer within 2 seconds"),
        ("silent", "origin did not answer within 2 seconds"),
    ],
)
def test_nothing_is_asked_and_nothing_stays(
    shell: Shell, tmp_path: Path, kind: str, code: str
) -> None:
    at, mark = desk(shell.world, shell.folder), f"{kind} {os.getpid()}"
    with remote(kind, tmp_path) as (url, variables):
        at.git("remote", "add", "origin", url)
        command = [sys.executable, "-c", OWNED]
        began = time.monotonic()
        done = on_terminal(
            *(shell, *command, *mdmem("sync", "--wait", "2")), **{MARK: mark}, **variables
        )
        assert time.monotonic() - began < 30
        assert done.status == 1
        assert f"mdmem: {code}" in done.out
        assert not PROMPT.search(done.out)
        assert running(mark) == []


def test_without_that_it_would_ask_at_this_terminal(shell: Shell, tmp_path: Path) -> None:
    at = desk(shell.world, shell.folder)
    with remote("ssh", tmp_path) as (url, variables):
        at.git("remote", "add", "origin", url)
        command = (sys.executable, "-c", OWNED, "git", "fetch", "origin")
        done = on_terminal(shell, *command, typed=b"word\n", **variables)
    assert PROMPT.search(done.out)


@pytest.mark.parametrize("quiet", [(), ("-q",), ("--json",)])
def test_a_terminal_shows_the_progress_of_a_transfer(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quiet: tuple[str, ...]
) -> None:
    desk(shell.world, shell.folder)
    shell.git("init", "-q", "--bare", "-b", "main", str(tmp_path / "bare"))
    shell.git("remote", "add", "origin", str(tmp_path / "bare"))
    shell.git("push", "-q", "-u", "origin", "main")
    shell.run("remember", "tea")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    def shown(command: str) -> Progress:
        return Progress(command, sys.stderr, patience=0, interval=None)

    monkeypatch.setattr(maintenance, "shown", shown)
    done = shell.run("sync", *quiet)
    assert done.status == 0
    if quiet:
        assert done.err == ""
    else:
        assert re.search(
            r"\rXmdmem sync: \[#+\] (\d+) of \1, \d+ s", done.err.replace("\x1b[K", "X")
        )
        assert done.err.endswith("\r\x1b[K")


def test_contradictions_that_a_merge_leaves_are_counted(shell: Shell, tmp_path: Path) -> None:
    desk(shell.world, shell.folder)
    shell.git("init", "-q", "--bare", "-b", "main", str(tmp_path / "bare"))
    shell.git("remote", "add", "origin", str(tmp_path / "bare"))
    shell.git("push", "-q", "-u", "origin", "main")
    other = tmp_path / "other"
    names = ("-c", "user.name=Bo", "-c", "user.email=bo@example.org")
    shell.git("clone", "-q", *names, str(tmp_path / "bare"), str(other))
    at_other = ("-C", str(other))
    assert shell.run(*at_other, "remember", "tea", "--key", "breakfast").status == 0
    assert shell.run(*at_other, "sync").err == ""
    shell.run("remember", "porridge", "--key", "breakfast")
    done = shell.run("sync")
    assert done.out == "synced with origin: 1 pulled, 1 pushed\n"
    assert done.err == "mdmem: 1 contradiction to settle: mdmem conflicts\n"
