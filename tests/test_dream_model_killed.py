"""Nights that are killed while a model is asked and what it says is written: nothing is lost or
doubled, and no request is paid for twice.
"""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import killed_model_step
import pytest
from conftest import TIME_LIMIT, World
from dreams import MORNING, Said, curated, digested, in_the_morning, settings, waiting
from scripted_models import MODEL, Reply, ScriptedServer, serving
from workspaces import Desk, desk

from mdmem.model import Source

STATED = [
    "I collect old stamps of Austria.",
    "We decided to paint the shed green.",
    "Remember that the boiler is serviced in May.",
    "I prefer calls before noon.",
]
STATED_LINES = [
    "collect old stamps of Austria",
    "paint the shed green",
    "the boiler is serviced in May",
    "prefer calls before noon",
]
ONCE = [
    "The archive holds maps of Oslo.",
    "The neighbours keep bees.",
    "A spare key hangs behind the clock.",
]


@pytest.fixture
def morning(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    in_the_morning(monkeypatch)
    return desk(world, repository)


def adding(data: dict[str, Any], _: int) -> Reply:
    """A model that adds all."""
    return Reply(
        json.dumps(
            {
                "changes": [
                    {"op": "ADD", "fact": each["id"], "text": each["text"]}
                    for each in data["facts"]
                ]
            }
        )
    )


def repeated(server: ScriptedServer) -> int:
    """The number of requests about an entry that the model was asked about before."""
    asked: set[str] = set()
    count = 0
    for data in server.data:
        entries = {fact["id"] for fact in data["facts"]}
        count += not asked.isdisjoint(entries)
        asked |= entries
    return count


def is_killed(at: Desk, steps: int) -> bool:
    """Carry out what is due, to be killed after so many steps; False where it came to its end."""
    program = [sys.executable, "-B", killed_model_step.__file__, str(at.root), str(steps)]
    environment = {**at.world.environment, "MDMEM_NOW": MORNING, "TZ": "UTC"}
    done = subprocess.run(
        program, env=environment, capture_output=True, timeout=TIME_LIMIT, check=False
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr.decode()
    return done.returncode != 0


@pytest.mark.parametrize("between", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_a_night(morning: Desk, between: int):
    digested(
        morning,
        *(Said(text, minute=f"09:0{number}", line=number) for number, text in enumerate(STATED, 1)),
    )
    digested(
        morning,
        *(
            Said(text, minute=f"10:0{number}", line=number, source=Source.INFERRED)
            for number, text in enumerate(ONCE, 7)
        ),
    )
    with serving(adding) as server:
        settings(
            morning.world,
            f'model_url = "{server.url}"',
            f'model_name = "{MODEL}"',
            'dream = "apply"',
            'digest = "model"',
        )
        kills = steps = 0
        while is_killed(morning, steps):
            kills, steps = kills + 1, steps + between
            assert repeated(server) <= min(kills, 4)  # until the answer is kept
        assert kills > 2
    assert [sum(text in line for line in curated(morning)) for text in STATED_LINES] == [1] * 4
    assert sorted(part.new or "" for part in waiting(morning)) == sorted(
        f"[fact] {text.rstrip('.')}" for text in ONCE
    )
