"""Clones that digest one transcript and are merged by plain git: nothing is doubled that git can
tell, and no later digest doubles anything.
"""

import os
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from conftest import World
from pi_sessions import Transcript, digest, texts, write_session
from workspaces import NOW, Desk, desk

from mdmem.memory import Memory
from mdmem.model.searches import ListFacts
from mdmem.text.document import parse
from mdmem.text.facts import items

LOG = "memory/2026-03-04.md"
SAID = (
    "We decided to keep the old pump.",
    "agent: Noted.",
    "I prefer calls before noon.",
    "We decided to sell the boat.",
)
KEPT = [text for text in SAID if not text.startswith("agent: ")]


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository)


@pytest.fixture
def other(at: Desk, tmp_path: Path) -> Desk:
    at.git("clone", "-q", at.root, tmp_path / "clone")
    cloned = Desk(at.world, tmp_path / "clone")
    for name in ("name", "email"):
        cloned.git("config", f"user.{name}", "bo@example.org")
    return cloned


@pytest.fixture
def transcript(tmp_path: Path) -> Transcript:
    return partial(write_session, tmp_path)


def merge(at: Desk, other: Desk) -> bool:
    """Merge the branch of a clone; False where git leaves a conflict."""
    at.git("fetch", "-q", other.root, "HEAD")
    return (
        at.world.git(at.root, "merge", "-q", "--no-edit", "FETCH_HEAD", check=False).returncode == 0
    )


def keep_both_sides(at: Desk) -> None:
    """Resolve the conflict in the log as a person does who takes out the marks."""
    marks = ("<<<<<<< ", "||||||| ", "=======", ">>>>>>> ")
    at.write(
        LOG,
        "".join(
            line for line in at.read(LOG).splitlines(keepends=True) if not line.startswith(marks)
        ),
    )
    at.commit("merged")


def count(at: Desk) -> Counter[str]:
    return Counter(item.fact.text for item in items(parse(at.read(LOG))))


def lose_state(at: Desk) -> None:
    for path in at.workspace.state.glob("*.json"):
        path.unlink()


@pytest.mark.parametrize("loses", [False, True])
def test_both_have_read_the_same(
    at: Desk, other: Desk, transcript: Transcript, monkeypatch: pytest.MonkeyPatch, loses: bool
):
    path = transcript(*SAID)
    digest(at, path)
    monkeypatch.setenv("MDMEM_NOW", "2026-03-06T07:08:09")
    digest(other, path)
    assert merge(at, other)
    assert count(at) == Counter(KEPT)
    if loses:
        lose_state(at)
    for each in (path, transcript(*SAID, "ok")):
        assert texts(digest(at, each)) == []
    assert texts(digest(at, transcript(*SAID, "We decided to paint the roof."))) == [
        "We decided to paint the roof."
    ]


@pytest.mark.parametrize("loses", [False, True])
def test_one_has_read_more(at: Desk, other: Desk, transcript: Transcript, loses: bool):
    digest(at, transcript(*SAID[:2]))
    path = transcript(*SAID)
    digest(other, path)
    if not merge(at, other):
        keep_both_sides(at)
    doubled = count(at)
    assert set(doubled) == set(KEPT)
    if loses:
        lose_state(at)
    assert texts(digest(at, path)) == []
    assert count(at) == doubled
    facts = [fact.text for fact in Memory.open(at.root, os.environ).facts(ListFacts()).facts]
    assert Counter(text for text in facts if text in KEPT) == Counter(KEPT)


@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_one_side_is_taken(at: Desk, other: Desk, transcript: Transcript, side: str):
    digest(at, transcript(*SAID[:2]))
    path = transcript(*SAID)
    digest(other, path)
    if not merge(at, other):
        at.git("checkout", f"--{side}", LOG)
        at.commit("merged")
    digest(at, path)
    assert count(at) == Counter(KEPT)
