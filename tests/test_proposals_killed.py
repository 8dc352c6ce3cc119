"""Proposals and decisions that are killed at some step, or made by several processes at once:
nothing is lost, doubled, or half there.
"""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from commandline import mdmem
from conftest import World
from killed_write import killed_after
from proposal_actions import BOT, SEED, accept, closed, fact, on, parts, propose, reject, silent
from workspaces import NOW, Desk, desk

from mdmem.memory import Memory
from mdmem.model.proposals import PartState, Propose
from mdmem.model.writes import Remember, WriteOptions
from mdmem.proposals import branches
from mdmem.review import proposing
from mdmem.text.facts import fact_id

CELLO, BICYCLE = "plays the cello", "rides a bicycle"
MOST_STEPS = 60
STEPS = [
    pytest.param(range(0, MOST_STEPS, 9), id="some"),
    pytest.param(range(MOST_STEPS), id="all", marks=pytest.mark.slow),
]


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    prepared = desk(world, repository, seed=SEED)
    prepared.workspace.ensure_state()
    return prepared


def tips(at: Desk) -> dict[str, str]:
    return {ref.id: ref.tip for ref in branches.open_proposals(at.workspace).values()}


def require_sound(at: Desk) -> None:
    """The work tree is as committed, and git finds nothing wrong."""
    assert at.git("status", "--porcelain") == ""
    at.git("fsck", "--strict", "--no-dangling")


@pytest.mark.parametrize("steps", STEPS)
def test_a_killed_proposal_is_there_or_not(at: Desk, tmp_path: Path, steps: Sequence[int]) -> None:
    proposal = propose(at, fact(BICYCLE))
    before = at.git("rev-parse", "HEAD")
    request = Propose(Remember(CELLO, section="Facts", options=WriteOptions(actor=BOT)))
    copies = killed_after(at, tmp_path / "killed", request, NOW, steps)
    assert copies[0][1]
    assert not copies[-1][1], "it has more steps than are tried"
    for copy, _ in copies:
        proposing.propose(copy.workspace, request, silent)
        assert {part.name: part.state for part in parts(copy, proposal).values()} == {
            fact_id(BICYCLE): PartState.OPEN,
            fact_id(CELLO): PartState.OPEN,
        }
        assert copy.git("log", "--format=%s", f"HEAD..{tips(copy)[proposal]}").count("\n") == 2
        assert copy.git("rev-parse", "HEAD") == before
        require_sound(copy)


@pytest.mark.parametrize("steps", STEPS)
def test_a_killed_acceptance_is_completed_by_the_next(
    at: Desk, tmp_path: Path, steps: Sequence[int]
) -> None:
    proposal = propose(at, fact(BICYCLE))
    propose(at, fact("Linear", "Work", key="employer"))
    copies = killed_after(at, tmp_path / "killed", on(proposal), NOW, steps)
    assert copies[0][1]
    assert not copies[-1][1], "it has more steps than are tried"
    for copy, _ in copies:
        if proposal in tips(copy):
            accept(copy, proposal)
        text = copy.read("MEMORY.md")
        assert (text.count(BICYCLE), text.count("Linear"), text.count("Stripe")) == (1, 1, 0)
        assert (tips(copy), list(closed(copy))) == ({}, [proposal])
        accepted = copy.git("log", "--format=%(trailers:key=Mdmem-Accepts,valueonly)").split("\n")
        assert sorted(filter(None, accepted)) == sorted(
            f"{proposal} {fact_id(text)}" for text in (BICYCLE, "employer: Linear")
        )
        require_sound(copy)


@pytest.mark.parametrize("steps", STEPS)
def test_a_killed_rejection_is_completed_by_the_next(
    at: Desk, tmp_path: Path, steps: Sequence[int]
) -> None:
    proposal = propose(at, fact(BICYCLE))
    propose(at, fact(CELLO))
    request = on(proposal, fact_id(CELLO), accepts=False)
    copies = killed_after(at, tmp_path / "killed", request, NOW, steps)
    assert copies[0][1]
    assert not copies[-1][1], "it has more steps than are tried"
    for copy, _ in copies:
        reject(copy, proposal, fact_id(CELLO))
        assert CELLO not in copy.git("show", f"{tips(copy)[proposal]}:MEMORY.md")
        assert {part.name: part.state for part in parts(copy, proposal).values()} == {
            fact_id(BICYCLE): PartState.OPEN,
            fact_id(CELLO): PartState.REJECTED,
        }
        assert copy.git("log", "--format=%s").count("reject") == 1
        assert copy.read("MEMORY.md") == SEED
        require_sound(copy)
        assert accept(copy, proposal).closed
        assert copy.git("for-each-ref", "refs/mdmem/scratch") == ""


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
