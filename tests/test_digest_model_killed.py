"""Runs that are killed while a model is asked: nothing is lost or doubled, and what was paid for is
paid for again at most once a kill.
"""

import signal
import subprocess
import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path

import killed_model_step
import pytest
from conftest import TIME_LIMIT, World
from model_sessions import KEPT, SMALL, aged, entries, settings
from pi_sessions import START, write_session
from scripted_models import quoting, serving
from workspaces import NOW, Desk, desk

SESSIONS = 3


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository)


def is_killed(at: Desk, steps: int) -> bool:
    """Carry out what is due, to be killed after so many steps; False where it came to its end."""
    program = [sys.executable, "-B", killed_model_step.__file__, str(at.root), str(steps)]
    environment = {**at.world.environment, "MDMEM_NOW": NOW, "TZ": "UTC"}
    done = subprocess.run(
        program, env=environment, capture_output=True, timeout=TIME_LIMIT, check=False
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr.decode()
    return done.returncode != 0


@pytest.mark.parametrize("between", [12, pytest.param(1, marks=pytest.mark.slow)])
def test_nothing_is_lost_or_doubled_and_nothing_paid_twice(at: Desk, between: int):
    folder = at.world.home / "sessions"
    folder.mkdir()
    for number in range(SESSIONS):
        said = [f"{KEPT} {number}", *(SMALL.format(number * 100 + each) for each in range(12))]
        aged(
            write_session(
                folder, *said, session=f"5a1e000{number}", start=START + timedelta(hours=number)
            )
        )
    with serving(quoting) as server:
        settings(at, folder, f'model_url = "{server.url}"', 'model_name = "m"')
        kills = steps = 0
        while is_killed(at, steps):
            kills, steps = kills + 1, steps + between
            assert sum(count - 1 for count in Counter(server.prompts).values()) <= kills
        assert kills > 2
        paid = Counter(server.prompts)
    assert len(paid) == SESSIONS
    assert len(set(entries(at))) == len(entries(at)) == SESSIONS * 13
    cited = at.git("log", "--format=%(trailers:key=Mdmem-Cites,valueonly)").split("\n")
    assert max(Counter(filter(None, cited)).values()) == 1
