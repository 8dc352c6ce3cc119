"""A backfill that takes long: it shows how far it is, can be interrupted or killed, and goes on
where it was.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from commandline import NOW, Shell, mdmem, on_terminal
from pi_sessions import START, write_session

from mdmem.memory import Memory
from mdmem.nights import steps

OFTEN = """
import os, signal, sys
from pathlib import Path
from mdmem.nights.digest import digesting
digesting._MOST_HELD = 1
"""
"""What is read is written session by session."""
RUN = f"""{OFTEN}
from mdmem.__main__ import run
sys.argv = ["mdmem", "run"]
run()
"""
KILLED = f"""{OFTEN}
from mdmem.memory import Memory
def progress(done, total):
    if done == 5:
        os.kill(os.getpid(), signal.SIGKILL)
Memory.open(Path(sys.argv[1]), os.environ, progress=progress).pipelines.run()
"""


@pytest.fixture(params=[12])
def days(shell: Shell, request: pytest.FixtureRequest) -> int:
    """The number of days on each of which a session was held; the user's own settings name them."""
    folder, count = shell.world.home / "sessions", int(request.param)
    folder.mkdir()
    for day in range(count):
        held: datetime = START - timedelta(days=day)
        write_session(
            folder,
            f"We decided to keep pump number {day}.",
            "agent: Noted.",
            session=f"5a1e{day:04d}",
            start=held,
        )
    own = shell.world.home / ".config" / "mdmem" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text(f'sessions = ["{folder}/*.jsonl"]\nsession_scope = "all"\ndream = "off"\n')
    return count


def entries(shell: Shell) -> Iterator[str]:
    for path in (shell.folder / "memory").glob("????-??-??.md"):
        yield from (line for line in path.read_text().splitlines() if "pump number" in line)


def head(shell: Shell) -> bytes:
    return (shell.folder / ".git" / "refs" / "heads" / "main").read_bytes()


def test_it_tells_how_far_it_is(shell: Shell, days: int):
    counts: list[tuple[int, int]] = []
    with closing(
        Memory.open(
            Path(shell.folder),
            shell.world.environment,
            progress=lambda *count: counts.append(count),
        )
    ) as memory:
        (step,) = memory.pipelines.run().steps
    assert step.record.figures.entries == days
    assert counts[-1] == (days, days)
    assert [done for done, _ in counts] == sorted(done for done, _ in counts)
    assert len(counts) >= days


def test_its_words_on_a_terminal(shell: Shell, days: int):
    done = on_terminal(shell, *mdmem("run"))
    assert (done.status, f"digest: {days} entries of {days} sessions" in done.out) == (0, True)


@pytest.mark.parametrize("days", [60], indirect=True)  # there has to be time for the signal
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_keeps_what_is_done(shell: Shell, days: int, number: signal.Signals):
    heads = {head(shell)}
    environment = {**shell.world.environment, "MDMEM_NOW": NOW}
    process = subprocess.Popen(
        [sys.executable, "-c", RUN],
        cwd=shell.folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while len(heads) < 4 and process.poll() is None:
        heads.add(head(shell))
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, b"mdmem: interrupted\n")
    (step,) = json.loads(shell.run("run", "--json").out)["steps"]
    first, second = steps.read_steps(shell.folder / ".git" / "mdmem" / "root")
    assert (first.outcome, second.outcome) == ("interrupted", "done")
    assert 0 < step["sessions"] < days
    assert len(list(entries(shell))) == len(set(entries(shell))) == days


def test_what_a_killed_one_has_read_is_not_read_again(shell: Shell, days: int):
    killed = shell.world.run(
        shell.folder, [sys.executable, "-c", KILLED, Path(shell.folder)], check=False
    )
    assert killed.returncode == -signal.SIGKILL
    (step,) = json.loads(shell.run("run", "--json").out)["steps"]
    assert step["sessions"] == days - 5
    assert len(list(entries(shell))) == len(set(entries(shell))) == days
