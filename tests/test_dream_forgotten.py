"""What a person took out comes back when the person says it again, and by nobody else."""

from datetime import date
from pathlib import Path

import pytest
from conftest import World
from dreams import DAY, Said, curated, digested, dream, fates, in_the_morning, logged, settings
from workspaces import Desk, desk

from mdmem.model import Source
from mdmem.model.pipelines import DreamOp
from mdmem.model.writes import Forget

FORGOTTEN = "keeps an old Volvo in the yard"
LATER = date(2026, 3, 7)
ADD, UPDATE, DELETE, NONE = DreamOp


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    settings(world, 'dream = "apply"')
    in_the_morning(monkeypatch, "2026-03-06T07:00:00+00:00")
    at = desk(world, repository, seed=f"# Memory\n\n## Facts\n\n- home: Oslo\n- {FORGOTTEN}\n")
    at.apply(Forget(FORGOTTEN))
    in_the_morning(monkeypatch, "2026-03-08T07:00:00+00:00")
    return at


def test_what_the_person_says_again_comes_back(at: Desk):
    digested(at, Said(FORGOTTEN, day=LATER))
    assert fates(dream(at)) == {FORGOTTEN: (ADD, True)}


def test_what_an_agent_says_again_does_not(at: Desk):
    logged(at, FORGOTTEN, source=Source.USER_STATED, session="claude/aaaaaaaa")
    logged(at, FORGOTTEN, source=Source.USER_STATED, day=LATER, session="claude/bbbbbbbb")
    assert fates(dream(at, str(DAY), str(LATER))) == {FORGOTTEN: (NONE, False)}


def test_nor_does_what_an_agent_learned_or_another_sender_said(at: Desk):
    digested(
        at,
        Said(FORGOTTEN, source=Source.AUTO),
        Said(FORGOTTEN, source=Source.AUTO, day=LATER, session="claude/bbbbbbbb"),
    )
    digested(
        at,
        Said(
            FORGOTTEN, sender="Berta", source=Source.INFERRED, day=LATER, session="claude/cccccccc"
        ),
    )
    dream(at, str(DAY), str(LATER))
    assert not any("Volvo" in line for line in curated(at))


@pytest.mark.parametrize("year", [2019, 2041])
def test_what_is_taken_out_by_hand_and_not_committed_is_so_now(
    at: Desk, monkeypatch: pytest.MonkeyPatch, year: int
):
    text, day = "the shed is painted green", date(year, 3, 6)
    in_the_morning(monkeypatch, f"{year}-03-06T12:00:00+00:00")
    before = at.read("MEMORY.md")
    at.write("MEMORY.md", f"{before}- {text}\n")
    at.commit()
    at.write("MEMORY.md", before)
    in_the_morning(monkeypatch, f"{year}-03-07T07:00:00+00:00")
    digested(at, Said(text, day=day, minute="11:00"))
    dream(at, str(day))
    assert not any(text in line for line in curated(at))


@pytest.mark.parametrize("stop", ["", "."])
def test_it_is_forgotten_by_the_words_that_the_log_holds(
    at: Desk, monkeypatch: pytest.MonkeyPatch, stop: str
):
    said = "I prefer a seat at the aisle."
    digested(at, Said(said, day=LATER))
    dream(at, str(LATER))
    assert any("aisle" in line for line in curated(at))
    at.apply(Forget(said.rstrip(".") + stop))
    assert not any("aisle" in line for line in curated(at))
    in_the_morning(monkeypatch, "2026-03-09T07:00:00+00:00")
    dream(at, str(LATER))
    assert not any("aisle" in line for line in curated(at))
