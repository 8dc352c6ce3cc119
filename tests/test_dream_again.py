"""What a person took out, or wrote themselves, against what is said again: in a night, and in a
digest. A night that two machines dream.
"""

import sys
from collections import Counter
from pathlib import Path

import pytest
from conftest import World
from dreams import Said, curated, digested, dream, fates, in_the_morning, settings
from killed_write import copied
from test_kills import a_night
from workspaces import Desk, desk

from mdmem.model.pipelines import DreamOp

SEED = "# Memory\n\n## Facts\n\n- home: Oslo\n- sister: Anna\n- keeps an old Volvo in the yard\n"
ADD, UPDATE, DELETE, NONE = DreamOp


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    in_the_morning(monkeypatch, "2026-03-06T07:00:00+00:00")
    settings(world, 'dream = "apply"')
    return desk(world, repository, seed=SEED)


@pytest.mark.parametrize("text", ["I live in Oslo.", "my home is Oslo"])
def test_the_value_that_stands_is_left(at: Desk, monkeypatch: pytest.MonkeyPatch, text: str):
    in_the_morning(monkeypatch)
    digested(at, Said(text, key="home"), Said("My sister is called Anna.", key="sister", line=2))
    assert {change.why for change in dream(at).changes} == {"it is already in memory"}


def test_the_value_that_was_said_last_is_left_too(at: Desk, monkeypatch: pytest.MonkeyPatch):
    in_the_morning(monkeypatch)
    digested(
        at,
        Said("I live in Bergen.", key="home", minute="08:00"),
        Said("I live in Oslo.", key="home", line=2),
    )
    assert fates(dream(at)) == {
        "I live in Bergen.": (NONE, False),
        "I live in Oslo.": (NONE, False),
    }


def test_a_minute_counts_in_the_zone_in_which_it_was_written(
    at: Desk, world: World, monkeypatch: pytest.MonkeyPatch
):
    settings(world, 'timezone = "Europe/Berlin"', 'dream = "apply"')
    in_the_morning(monkeypatch, "2026-03-06T15:00:00+01:00")
    digested(at, Said("I live in Bergen.", key="home", minute="09:05"))
    at.write("MEMORY.md", SEED.replace("Oslo", "Molde"))
    at.git("commit", "-qam", "by hand", "--date", "2026-03-06T14:00:00+01:00")
    settings(
        world, 'timezone = "America/New_York"', 'dream = "apply"'
    )  # where 09:05 is 15:05 in Berlin
    in_the_morning(monkeypatch, "2026-03-07T08:00:00-05:00")
    assert fates(dream(at)) == {"I live in Bergen.": (NONE, False)}


def test_two_machines_dream_one_night(
    world: World, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    in_the_morning(monkeypatch)
    at = a_night(world, repository)
    other = copied(at, tmp_path / "other")
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
    assert "2026-03-06" in at.git("log", "--format=%B")
