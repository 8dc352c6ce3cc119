"""A process that is over when it has done one thing."""

import sys
from pathlib import Path

import pytest
from conftest import World


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
