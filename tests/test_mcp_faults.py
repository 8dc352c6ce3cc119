"""Faults of the server as an agent meets them, with the server as a process; and calls whose host
goes away.
"""

import json
import os
import select
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import TIME_LIMIT, World
from servers import PROGRAM, Server, call, line, processes_below, server
from workspaces import NOW, STATE, Desk, desk

from mdmem.folder import files
from mdmem.mcp import tools

CHANGED = "notifications/tools/list_changed"
WRITES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("memory_remember", {"text": "coffee", "key": "drink"}),
    ("memory_log", {"text": "it rained"}),
    ("memory_edit", {"section": "Work", "append": "- retired"}),
    ("memory_forget", {"fact": "works at Stripe"}),
    ("memory_task", {"action": "start", "name": "Move", "text": "to Redis"}),
)
LOG = "memory/2026-03-05.md"
BOUND = (
    'mount --bind "$PWD" "$PWD" && mount -o remount,bind,ro "$PWD" && cd "$PWD" && exec "$0" mcp'
)
"""The current folder, read-only for one process."""
SMALL = 'mount -t tmpfs -o size=3m none "$PWD" && cd "$PWD" && cp -a "$1/." . && exec "$0" mcp'
"""A small disk for one process, in the current folder, with a copy of another."""
IN_A_NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount")


def _mounts() -> bool:
    try:
        return (
            subprocess.run(
                [*IN_A_NAMESPACE, "mount", "-t", "tmpfs", "none", "/mnt"],
                capture_output=True,
                check=False,
            ).returncode
            == 0
        )
    except OSError:
        return False


where_disks_are_made = pytest.mark.skipif(
    not _mounts(), reason="this system does not let a process have a disk of its own"
)


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


def leftovers(at: Desk) -> list[str]:
    """The leftovers of an unfinished write: locks of git, temporary files, the journal,
    text that is not committed.
    """
    locks = [path.name for path in (at.root / ".git").glob("*.lock")]
    temporary = [path.name for path in at.root.rglob(".mdmem*")]
    record = [path.name for path in (at.root / STATE).iterdir() if path.suffix == ".json"]
    return [*locks, *temporary, *record, *at.git("status", "--porcelain").splitlines()]


# The workspace.


def test_no_workspace(at: Desk, tmp_path: Path):
    folder = tmp_path / "empty"
    folder.mkdir()
    with server(at, folder=folder, MDMEM_WORKSPACE="${CLAUDE_PROJECT_DIR}") as running:
        for tool, arguments in (("memory_search", {"query": "tea"}), *WRITES):
            failure = running.failure(tool, **arguments)
            assert failure == {
                "error": "no-workspace",
                "message": f"no workspace in {folder} or above",
                "hint": f'To create one: mdmem init DIR. To use one elsewhere: workspace = "DIR" in {at.world.home}/.config/mdmem/config.toml',
            }


@pytest.mark.parametrize(
    "before", [(), (line("ping", 2),)], ids=["at once", "after another request"]
)
def test_memory_that_comes_while_the_server_runs(at: Desk, tmp_path: Path, before: tuple[str, ...]):
    folder = tmp_path / "empty"
    folder.mkdir()
    at.world.git(folder, "init", "-q")
    with server(at, folder=folder, first=(*before, line("tools/list", 3))) as running:
        (listed,) = running.answer(3)["result"]["tools"]
        assert listed == dict(tools.STATUS)
        assert "mdmem init" in running.failure("memory_status")["hint"]
        at.world.run(folder, [PROGRAM, "init"])
        running.say(line("ping", 4))
        assert running.answer(CHANGED) == {"jsonrpc": "2.0", "method": CHANGED}
        assert running.answer(4)["result"] == {}
        assert running.text("memory_status") == tools.BEGIN_ANEW
        running.say(line("tools/list", 5))
        assert [each["name"] for each in running.answer(5)["result"]["tools"]] == list(tools.TOOLS)
        assert not running.has_answered(CHANGED)


def test_broken_settings_until_they_are_mended(at: Desk):
    with server(at) as running:
        running.text("memory_search", query="Stripe")
        at.write("mdmem.toml", "lock_timeot = 1\n")
        for tool, arguments in (("memory_search", {"query": "Stripe"}), *WRITES):
            assert running.failure(tool, **arguments) == {
                "error": "bad-settings",
                "message": "mdmem.toml:1: unknown setting 'lock_timeot'",
                "hint": "Did you mean lock_timeout?",
            }
        at.write("mdmem.toml", "lock_timeout = 1\n")
        assert "Stripe" in running.text("memory_search", query="Stripe")


@pytest.mark.slow
def test_an_index_that_is_behind_and_a_lock_that_is_held(at: Desk):
    at.write("mdmem.toml", "lock_timeout = 0.1\n")
    with server(at) as running:
        running.text("memory_search", query="Stripe")
        with files.lock(at.root / STATE / files.INDEX_LOCK, 1):
            for number in range(40):
                at.write(f"memory/topic{number}.md", f"# Topic\n\n- zorblax {number}\n")
            behind = "The index is behind.\nanother process is still updating it, and the newest changes may be missing"
            assert running.text("memory_search", query="zorblax") == f"No match.\n{behind}"
            assert (
                running.text("memory_search", query="Stripe")
                == f"- MEMORY.md:5 works at Stripe [7b5a9044]\n{behind}"
            )
        with files.lock(at.root / STATE / files.LOCK_NAME, 1):
            for tool, arguments in WRITES:
                assert running.failure(tool, **arguments) == {
                    "error": "busy",
                    "message": "gave up after 0.1 s: another mdmem is writing",
                    "hint": "Try again. lock_timeout sets how long to wait.",
                }
            assert "zorblax" in running.text("memory_search", query="zorblax")
        assert json.loads(running.text("memory_log", text="it rained"))["changed"] is True


# The disk.


@contextmanager
def on_a_small_disk(at: Desk, folder: Path) -> Iterator[tuple[Server, Path]]:
    """A server with a copy of the workspace on a small disk; the disk as it is seen from here."""
    folder.mkdir()
    running = Server(
        folder, at.world.environment, (*IN_A_NAMESPACE, "sh", "-c", SMALL, PROGRAM, str(at.root))
    )
    try:
        yield running, Path(f"/proc/{running.process.pid}/root{folder}")
    finally:
        running.close()


def fill(file: Path, left: int) -> None:
    """Fill a disk up to so many bytes."""
    with file.open("wb", buffering=0) as filler:
        try:
            while filler.write(b"x" * 4096):
                pass
        except OSError:
            filler.truncate(filler.tell() - left)


@where_disks_are_made
def test_a_full_disk_is_told_and_read_and_when_there_is_room_again_all_is_whole(
    at: Desk, tmp_path: Path
):
    with on_a_small_disk(at, tmp_path / "disk") as (running, disk):

        def git(*words: str) -> str:
            entered = (
                "nsenter",
                "--target",
                str(running.process.pid),
                "--mount",
                "--user",
                "--preserve-credentials",
            )
            return at.world.run(
                at.root, [*entered, "git", "-C", str(tmp_path / "disk"), *words]
            ).stdout

        running.text("memory_search", query="Stripe")
        before = (disk / "MEMORY.md").read_bytes()
        for left in (
            0,
            4096,
            8192,
            # where a commit has no room, the file is put back; if that has none either, the next write
            # ends it
        ):
            fill(disk / "filler.bin", left)
            assert "works at Stripe" in running.text("memory_search", query="Stripe")
            assert "works at Stripe" in running.text("memory_get", name="Work")
            for tool, arguments in WRITES:
                failure = running.failure(tool, **arguments)
                assert failure["error"] in ("storage", "commit-failed", "git-failed")
                assert (
                    "No space left on device" in failure["message"]
                    or "Out of diskspace" in failure["message"]
                )
                is_as_before = (disk / "MEMORY.md").read_bytes() == before
                assert is_as_before or (disk / STATE / "write-ahead.json").exists()
                assert is_as_before or left == 8192
            (disk / "filler.bin").unlink()
        for tool, arguments in WRITES:
            running.text(tool, **arguments)
        text = (disk / "MEMORY.md").read_text()
        assert [text.count(words) for words in ("drink: coffee", "- retired", "Stripe")] == [
            1,
            1,
            0,
        ]
        assert git("status", "--porcelain") == ""
        assert git("rev-list", "--count", "HEAD") == "6\n"


@where_disks_are_made
def test_a_workspace_that_cannot_be_written_is_read(at: Desk):
    running = Server(at.root, at.world.environment, (*IN_A_NAMESPACE, "sh", "-c", BOUND, PROGRAM))
    try:
        assert running.text("memory_search", query="Stripe") == (
            "- MEMORY.md:5 works at Stripe [7b5a9044]\nthe index cannot be written (Read-only file system); searched a temporary one"
        )
        assert "works at Stripe" in running.text("memory_get", name="Work")
        assert "works at Stripe" in running.text("memory_context")
        for tool, arguments in WRITES:
            failure = running.failure(tool, **arguments)
            assert failure["error"] == "storage"
            assert failure["message"] == f"Read-only file system: {at.root}/.git/mdmem"
    finally:
        running.close()
    assert at.subjects() == ["seed"]


# Calls.


def test_calls_that_are_wrong(at: Desk):
    with server(at) as running:
        for tool, name, hint in (
            ("memory_search", "querry", "Did you mean query?"),
            ("memory_log", "content", "Did you mean text?"),
            ("memory_forget", "zzz", "It takes fact, reason."),
        ):
            message = f"{tool} has no argument {name!r}"
            failure = running.failure(tool, **{name: "tea"})
            assert failure == {"error": "usage", "message": message, "hint": hint}
        running.say(
            call(2, "memory_serch"),
            "no json {",
            line("tools/none", 3),
            line("tools/call", 4, name="memory_get", arguments=["x"]),
        )
        assert running.answer(2)["error"] == {
            "code": -32602,
            "message": "no tool 'memory_serch'; did you mean memory_search?",
        }
        assert running.answer(None)["error"] == {
            "code": -32700,
            "message": "Parse error: a message is one line of JSON",
        }
        assert [running.answer(number)["error"]["code"] for number in (3, 4)] == [-32601, -32602]
        for number, message in (
            (5, call(5, "memory_log", text="half of a \ud83d")),
            (6, '{"jsonrpc": "2.0", "id": 6, "method": 7}'),
            (None, '{"jsonrpc": "2.0", "id": null, "method": 7}'),
        ):
            running.say(message)
            assert running.answer(number)["error"] == {
                "code": -32600,
                "message": "Invalid request: a message is one of JSON-RPC, in whole characters",
            }
        assert "Stripe" in running.text("memory_search", query="Stripe")


# Hosts that go away. A hook of git's holds a write up, so that it is under way for as long as the
# test needs.


class Gate:
    """A hook of git's that waits until it may go on."""

    def __init__(self, at: Desk, folder: Path) -> None:
        self._begun, self._open = folder / "begun", folder / "open"
        for pipe in (self._begun, self._open):
            os.mkfifo(pipe)
        at.hook("pre-commit", f"echo > {self._begun}; cat {self._open}")

    def await_write(self) -> None:
        self._begun.read_bytes()

    def open(self) -> None:
        self._open.write_bytes(b"")


@pytest.fixture
def gate(at: Desk, tmp_path: Path) -> Gate:
    return Gate(at, tmp_path)


def written(at: Desk) -> str:
    """The day's log as it is committed."""
    return at.git("show", f"HEAD:{LOG}")


def test_a_cancelled_call_is_not_answered_and_its_write_is_whole(at: Desk, gate: Gate):
    with server(at) as running:
        running.say(call(2, "memory_log", text="it rained"))
        gate.await_write()
        running.say(line("notifications/cancelled", requestId=2, reason="enough"))
        assert "Stripe" in running.text("memory_search", query="Stripe")
        gate.open()
        assert running.process.stdin is not None
        running.process.stdin.close()
        assert running.wait() == 0
        assert not running.has_answered(2)
        assert running.process.stdout is not None
        assert running.process.stdout.read() == b""
    assert "- it rained" in written(at)
    assert leftovers(at) == []


@pytest.mark.slow
def test_cancelled_calls_hold_no_place(at: Desk):
    at.write("mdmem.toml", "lock_timeout = 3600\n")
    at.commit("settings")
    at.workspace.ensure_state()
    numbers = range(2, 10)
    with server(at) as running:
        with files.lock(at.root / STATE / files.LOCK_NAME, 1):
            for number in numbers:
                running.say(call(number, "memory_log", text=f"it rained on day {number}"))
            running.say(line("ping", 50))
            running.answer(50)
            for number in numbers:
                running.say(line("notifications/cancelled", requestId=number))
            assert "Stripe" in running.text("memory_search", query="Stripe")
            assert not any(map(running.has_answered, numbers))
        assert running.process.stdin is not None
        running.process.stdin.close()
        assert running.wait() == 0
    assert all(f"- it rained on day {number}" in written(at) for number in numbers)
    assert leftovers(at) == []


@pytest.mark.slow
def test_a_host_that_dies_in_mid_call(at: Desk, gate: Gate):
    with server(at) as running:
        running.say(call(2, "memory_log", text="it rained"))
        gate.await_write()
        children = processes_below(running.process.pid)
        assert children
        running.hang_up()
        gate.open()
        assert running.wait() == 0
        assert running.errors() == ""
    assert "- it rained" in written(at)
    assert leftovers(at) == []
    assert not any(Path(f"/proc/{child}").exists() for child in children)


@pytest.mark.every(2)
@pytest.mark.parametrize("is_cancelled", [False, True])
def test_a_signal_in_mid_call(at: Desk, gate: Gate, is_cancelled: bool):
    with server(at) as running:
        running.say(call(2, "memory_log", text="it rained"))
        gate.await_write()
        if is_cancelled:
            running.say(line("notifications/cancelled", requestId=2), line("ping", 3))
            running.answer(3)
        running.process.send_signal(signal.SIGTERM)
        gate.open()
        assert running.wait() == 130
    assert "- it rained" in written(at)
    assert leftovers(at) == []


def test_a_server_that_is_killed_in_mid_call(at: Desk, gate: Gate):
    """Its git goes on; the next command finishes or drops what it was about to do."""
    with server(at) as running:
        running.say(call(2, "memory_log", text="it rained"))
        gate.await_write()
        children = [os.pidfd_open(child) for child in processes_below(running.process.pid)]
        running.process.kill()
        running.wait()
    (at.root / ".git" / "hooks" / "pre-commit").unlink()
    gate.open()
    for child in children:
        assert select.select([child], [], [], TIME_LIMIT)[0]
        os.close(child)
    with server(at) as running:
        running.text("memory_log", text="it snowed")
    assert [written(at).count(text) for text in ("- it rained", "- it snowed")] == [1, 1]
    assert leftovers(at) == []


# A hook of the host.


@pytest.mark.parametrize("event", ["UserPromptSubmit", "PreCompact"])
def test_a_hook_past_its_deadline_says_nothing_and_leaves_no_child(
    at: Desk, tmp_path: Path, event: str
):
    programs, started = tmp_path / "programs", tmp_path / "started"
    programs.mkdir()
    git = programs / "git"
    git.write_text(f'#!/bin/sh\necho $$ >> "{started}"\nexec sleep 60\n')
    git.chmod(0o755)
    at.git(
        "config", "core.worktree", str(at.root)
    )  # where git itself has to say where the work tree is
    values = json.dumps(
        {
            "hook_event_name": event,
            "session_id": "s1",
            "cwd": str(at.root),
            "prompt": "who works at Stripe?",
        }
    )
    environment = {"PATH": f"{programs}:{os.environ['PATH']}", "MDMEM_NOW": NOW}
    done = at.world.run(at.root, [PROGRAM, "agent-hook"], stdin=values, environment=environment)
    assert (done.stdout, done.stderr) == ("", "")
    children = started.read_text().split()
    assert children
    assert not any(Path(f"/proc/{child}").exists() for child in children)
