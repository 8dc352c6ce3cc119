"""Nights that are killed before each of their steps: the next one does the rest, and nothing is
lost, doubled or overwritten.
"""

import random
import shutil
import sys
from collections import Counter
from datetime import date
from pathlib import Path

import killed_dream
import pytest
from conftest import World
from dreams import MORNING, Said, curated, digested, dream, in_the_morning, settings, waiting
from kept_state import keep_state
from workspaces import Desk, desk

from mdmem.model import Source
from mdmem.model.writes import Revert

SEED = "# Memory\n\n## Facts\n\n- employer: Stripe\n- plays the cello in a quartet on Tuesdays\n\n## Work\n\n- employer: Stripe\n"
SAYINGS = (
    Said("I prefer tea over coffee", kind="preference"),
    Said("my boat lies in Bergen", line=2),
    Said("I just joined Figma", key="employer", line=3, source=Source.INFERRED),
    Said("plays the cello in a trio on Tuesdays", line=4),
    Said("please forget that my boat lies in Bergen", line=5, minute="21:00"),
    Said("never call before nine", line=6, kind="decision"),
)
MOST_STEPS = 400


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    in_the_morning(monkeypatch)
    settings(world, 'dream = "apply"')
    made = desk(world, repository, seed=SEED)
    digested(made, *SAYINGS)
    return made


def outcome(at: Desk) -> tuple[list[str], Counter[tuple[str | None, str | None]]]:
    """The curated lines, and the parts that wait."""
    return curated(at), Counter((part.old, part.new) for part in waiting(at))


def copy(at: Desk, folder: Path) -> Desk:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(at.root, folder, symlinks=True)
    keep_state(folder)
    return Desk(at.world, folder)


def killed(at: Desk, *steps: int) -> list[str]:
    """Have nights killed before these steps, one after another, and tell which were."""
    program = [sys.executable, "-B", killed_dream.__file__, at.root, *map(str, steps)]
    return at.world.run(
        at.root, program, environment={"MDMEM_NOW": MORNING, "TZ": "UTC"}
    ).stdout.split()


def check(at: Desk, expected: tuple[list[str], Counter[tuple[str | None, str | None]]]) -> None:
    """Check that one more night ends as one that was not killed."""
    dream(at)
    assert outcome(at) == expected
    assert max(expected[1].values()) == 1
    assert dream(at).commits == ()


@pytest.mark.parametrize("every", [43, pytest.param(1, marks=pytest.mark.slow)])
def test_before_each_step(at: Desk, tmp_path: Path, every: int):
    whole = copy(at, tmp_path / "whole")
    dream(whole)
    expected = outcome(whole)
    assert len(expected[0]) == 5
    for step in range(3, MOST_STEPS, every):
        harmed = copy(at, tmp_path / "harmed")
        if killed(harmed, step) == ["done"]:
            break
        check(harmed, expected)
        assert harmed.git("status", "--porcelain") == ""
        harmed.apply(Revert("dream/2026-03-06"))
        assert harmed.read("MEMORY.md") == at.read("MEMORY.md")
    else:
        pytest.fail("the night did not end")


@pytest.mark.parametrize("kills", [pytest.param(200, marks=pytest.mark.slow)])
def test_again_and_again(at: Desk, tmp_path: Path, kills: int):
    whole = copy(at, tmp_path / "whole")
    dream(whole)
    lots = random.Random(7)
    count = 0
    while count < kills:
        harmed = copy(at, tmp_path / "harmed")
        steps = [lots.randrange(60) for _ in range(10)]
        count += killed(harmed, *steps).count("killed")
        check(harmed, outcome(whole))


def test_two_machines_dream_one_night(at: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    other = copy(at, tmp_path / "other")
    dream(at)
    monkeypatch.setattr("platform.node", lambda: "another")
    monkeypatch.setenv("MDMEM_NOW", "2026-03-07T08:00:00+00:00")
    dream(other)
    expected = curated(at)
    at.git(
        "config",
        "merge.mdmem.driver",
        f"{sys.executable} -P -m mdmem.githooks.mergedriver %O %A %B %P %L",
    )
    at.write(".git/info/attributes", "*.md merge=mdmem\n")
    at.git("fetch", "-q", other.root, "main", "refs/heads/mdmem/*:refs/heads/mdmem/*")
    at.git("merge", "-q", "--no-edit", "FETCH_HEAD")
    assert Counter(curated(at)) == Counter(expected)
    assert all(change.op.value == "NONE" for change in dream(at, "2026-03-06").changes)
    assert date(2026, 3, 6).isoformat() in at.git("log", "--format=%B")
