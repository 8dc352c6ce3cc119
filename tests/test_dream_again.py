"""What a person took out, or wrote themselves, against what is said again: in a night, and in a
digest.
"""

from pathlib import Path

import pytest
from conftest import World
from dreams import Said, digested, dream, fates, in_the_morning, settings
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
