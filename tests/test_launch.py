"""A process that is over when it has done one thing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import World
from warm import wait_until


@pytest.mark.parametrize("status", [0, 3, 97])
def test_its_status_and_what_it_said(world: World, tmp_path: Path, status: int):
    code = f"import sys; from mdmem.startup.launch import launch; launch(lambda: print('out', end='') or print('err', end='', file=sys.stderr) or {status})"
    done = world.run(tmp_path, [sys.executable, "-c", code], check=False)
    assert (done.returncode, done.stdout, done.stderr) == (status, "out", "err")


def test_where_nothing_takes_what_it_said(world: World, tmp_path: Path):
    code = "import sys; from mdmem.startup.launch import launch; sys.stdout = open('/dev/full', 'w'); launch(lambda: print('lost') or 3)"
    assert world.run(tmp_path, [sys.executable, "-c", code], check=False).returncode == 3


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_to_be_ended_is_to_be_interrupted(world: World, tmp_path: Path, number: str):
    code = f"import signal; signal.signal(signal.{number}, signal.SIG_DFL); from mdmem.startup.launch import launch; launch(lambda: signal.raise_signal(signal.{number}))"
    done = world.run(tmp_path, [sys.executable, "-c", code], check=False)
    assert (done.returncode, done.stderr) == (130, "mdmem: interrupted\n")


def test_what_does_not_hear_that_the_terminal_has_gone_goes_on(world: World, tmp_path: Path):
    code = (
        "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); from mdmem.startup.launch import launch;"
        "launch(lambda: signal.raise_signal(signal.SIGHUP) or 3)"
    )
    assert world.run(tmp_path, [sys.executable, "-c", code], check=False).returncode == 3


def test_a_bug_is_told(world: World, tmp_path: Path):
    done = world.run(
        tmp_path,
        [sys.executable, "-c", "from mdmem.startup.launch import launch; launch(lambda: 1 / 0)"],
        check=False,
    )
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr


def test_what_is_left_to_the_end_comes_after_the_answer_and_once(world: World, tmp_path: Path):
    code = (
        "from mdmem.startup.launch import launch, leave_to_the_end as leave\n"
        "launch(lambda: print([leave(n, lambda: print('after', flush=True)) for n in 'aab']) or 0)"
    )
    done = world.run(tmp_path, [sys.executable, "-c", code])
    assert done.stdout == "[True, True, True]\nafter\nafter\n"


@pytest.mark.parametrize("before", ["", "from mdmem.startup.launch import live_on; live_on()"])
def test_nothing_is_left_to_the_end_of_what_may_live_long(
    world: World, tmp_path: Path, before: str
):
    asked = f"{before}\nprint(leave_to_the_end('a', print))"
    started = f"launch(lambda: exec({asked!r}) or 0)" if before else asked
    code = f"from mdmem.startup.launch import launch, leave_to_the_end\n{started}"
    assert world.run(tmp_path, [sys.executable, "-c", code]).stdout == "False\n"


FORKED = """
import json, os, sqlite3, sys, threading
from mdmem.startup import launch

def work():
    told, going = sys.argv[1:]
    with open(going) as gate:
        gate.read()
    files = {number: os.readlink(f"/proc/self/fd/{number}") for number in range(3)}
    others = [os.readlink(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")
              if int(number) > 2 and os.path.exists(f"/proc/self/fd/{number}")]
    with open(told + ".new", "w") as file:
        json.dump([os.getsid(0) == os.getpid(), files, others], file)
    os.rename(told + ".new", told)
    raise RuntimeError("nobody hears it")

def main():
    kept = BEFORE
    print(launch.fork_detached(work))
    return 0

launch.launch(main)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="it forks on Linux alone")
def test_a_forked_process_has_neither_session_nor_files_of_its_caller(world: World, tmp_path: Path):
    told, going = tmp_path / "told", tmp_path / "going"
    os.mkfifo(going)
    lock = os.open(tmp_path / "lock", os.O_CREAT | os.O_RDWR)
    os.set_inheritable(lock, True)
    try:
        done = subprocess.run(
            [sys.executable, "-c", FORKED.replace("BEFORE", "None"), told, going],
            env=world.environment,
            capture_output=True,
            text=True,
            close_fds=False,
            check=True,
        )
    finally:
        os.close(lock)
    assert (done.stdout, done.stderr) == ("True\n", "")
    going.write_text("go")
    wait_until(told.exists)
    is_leader, files, others = json.loads(told.read_text())
    assert is_leader
    assert set(files.values()) == {"/dev/null"}
    assert str(tmp_path / "lock") not in others


@pytest.mark.skipif(sys.platform != "linux", reason="it forks on Linux alone")
@pytest.mark.parametrize(
    "before",
    [
        "threading.Thread(target=threading.Event().wait, daemon=True).start()",
        "sqlite3.connect('made.db').execute('CREATE TABLE t (x)').connection",
    ],
)
def test_what_has_threads_or_open_files_is_not_forked(world: World, tmp_path: Path, before: str):
    code = FORKED.replace("BEFORE", before)
    done = world.run(tmp_path, [sys.executable, "-W", "error", "-c", code, "told", "going"])
    assert (done.stdout, done.stderr) == ("False\n", "")
