"""Proposals and decisions that are made by several processes at once: nothing is lost, doubled, or
half there.
"""

import subprocess
from pathlib import Path

import pytest
from commandline import mdmem
from conftest import World
from proposal_actions import BOT, SEED, closed, fact, propose
from test_kills import BICYCLE, CELLO, require_sound, tips
from workspaces import NOW, Desk, desk

from mdmem.memory import Memory
from mdmem.text.facts import fact_id


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    prepared = desk(world, repository, seed=SEED)
    prepared.workspace.ensure_state()
    return prepared


def started(at: Desk, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        mdmem(*words),
        cwd=at.root,
        env=dict(at.world.environment) | {"MDMEM_NOW": NOW},
        stdout=subprocess.DEVNULL,
    )


def test_processes_at_once_lose_nothing(at: Desk) -> None:
    """Four that propose to one proposal, and one that decides on it meanwhile."""
    proposal = propose(at, fact(BICYCLE))
    texts = [f"has {number} cats" for number in range(4)]
    writers = [
        started(
            at,
            "remember",
            text,
            "--section",
            "Facts",
            "--propose",
            "--actor",
            BOT,
        )
        for text in texts
    ]
    assert started(at, "accept", proposal, fact_id(BICYCLE)).wait(60) == 0
    ends = [writer.wait(60) for writer in writers]
    assert ends == [0] * 4
    states = {
        part.name: part.state
        for view in Memory(at.workspace).proposals.standing().views
        for part in view.parts
    }
    assert {name for name, state in states.items() if state.waits} == {
        fact_id(text) for text in texts
    }
    assert at.read("MEMORY.md").count(BICYCLE) == 1
    require_sound(at)


def test_decisions_at_once_are_made_once(at: Desk) -> None:
    proposal = propose(at, fact(BICYCLE))
    propose(at, fact(CELLO))
    for process in [started(at, "accept", proposal) for _ in range(3)]:
        process.wait(60)
    assert at.git("log", "--format=%s").count("accept") == 2
    assert (at.read("MEMORY.md").count(BICYCLE), at.read("MEMORY.md").count(CELLO)) == (1, 1)
    assert (tips(at), list(closed(at))) == ({}, [proposal])
    require_sound(at)
