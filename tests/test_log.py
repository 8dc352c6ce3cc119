"""Entries of a day's log, as memory writes them."""

from pathlib import Path

import pytest
from conftest import World
from workspaces import NOW, Desk, desk

from mdmem.model.writes import Forget, Log, Remember, WriteOptions

LOG = "memory/2026-03-05.md"


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository)


def superseding(text: str, fact: str) -> Log:
    return Log(text, options=WriteOptions(supersedes=fact))


class TestTheSameEntryTwice:
    def test_is_written_once(self, at: Desk):
        assert at.apply(Log("rain")).changed
        assert not at.apply(Log("Rain", tags=("weather",))).changed

    def test_is_written_once_with_and_without_a_final_stop(self, at: Desk):
        assert at.apply(Log("rain since nine.")).changed
        assert not at.apply(Log("Rain since nine")).changed
        assert at.apply(Log("rain since nine?")).changed
        assert at.apply(Remember("the gate sticks")).changed
        again = at.apply(Remember("the gate sticks."))
        assert (again.changed, at.read("MEMORY.md").count("gate")) == (False, 1)

    def test_is_written_again_after_it_was_retracted(self, at: Desk):
        for _ in range(2):
            assert at.apply(Log("rain")).changed
            at.apply(Forget("rain"))
        assert at.apply(Log("rain")).changed
        assert not at.apply(Log("rain")).changed
        assert at.read(LOG).count("- rain") == 3

    def test_is_written_again_after_it_was_superseded(self, at: Desk):
        at.apply(Log("deploy is green"))
        at.apply(superseding("deploy is red", "deploy is green"))
        back = at.apply(superseding("deploy is green", "deploy is red"))
        assert (back.changed, len(back.added), len(back.supersedes)) == (True, 1, 1)
        assert at.read(LOG).count("- deploy is green") == 2
        assert not at.apply(superseding("deploy is green", "deploy is red")).changed

    def test_is_written_again_after_it_expired(self, at: Desk):
        assert at.apply(Log("the door is open (until 2026-03-04)")).changed
        assert at.apply(Log("the door is open")).changed
        assert not at.apply(Log("the door is open")).changed
