"""Files that are renamed into memory keep their past from before."""

import os
from pathlib import Path

import pytest
from conftest import World
from trail_dump import dump
from workspaces import Desk

from mdmem.memory import Memory
from mdmem.model.history import FactHistory, SectionHistory, ShowHistory
from mdmem.model.searches import Search
from mdmem.past import fresh_trail, trail_update
from mdmem.past.table import Trail


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    """A workspace beside a file of notes with a past."""
    desk = Desk(world, repository)
    desk.write("MEMORY.md", "# Memory\n")
    for port in (1, 2, 3):
        desk.write("NOTES.md", f"# Notes\n\n## Facts\n\n- port: 800{port}\n- host: a\n- name: b\n")
        desk.commit(f"port {port}")
    return desk


def ports(at: Desk) -> list[str]:
    """The values of the port that its history has, oldest first."""
    history = Memory.open(at.root, os.environ).history(ShowHistory("port: 8003"))
    assert isinstance(history, FactHistory)
    return [link.text[-4:] for link in history.chain]


def require_same_as_rebuilt(at: Desk) -> None:
    workspace = at.workspace
    with fresh_trail(workspace) as kept, Trail.in_memory() as rebuilt:
        trail_update.replay_new_commits(workspace, rebuilt, workspace.repository.head())
        assert dump(kept) == dump(rebuilt)


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("names", [["memory/notes.md"], ["docs/old.md", "memory/notes.md"]])
def test_the_past_of_a_file_that_becomes_memory(at: Desk, names: list[str], is_known: bool) -> None:
    before = "NOTES.md"
    for name in names:
        if is_known:
            assert not Memory.open(at.root, os.environ).search(Search("port")).hits
        (at.root / name).parent.mkdir(exist_ok=True)
        at.git("mv", before, name)
        at.commit("renamed")
        before = name
    assert ports(at) == ["8001", "8002", "8003"]
    section = Memory.open(at.root, os.environ).history(ShowHistory("Facts", file="memory/notes.md"))
    assert isinstance(section, SectionHistory)
    assert len(section.revisions) == 3
    hits = Memory.open(at.root, os.environ).search(Search("port", history=True)).hits
    assert [hit.text for hit in hits if not hit.near] == ["port: 8003"]
    require_same_as_rebuilt(at)


def test_another_file_of_the_old_name_is_no_memory(at: Desk) -> None:
    (at.root / "memory").mkdir()
    at.git("mv", "NOTES.md", "memory/notes.md")
    at.commit("renamed")
    at.write("NOTES.md", "# Notes\n\n- port: 9999\n")
    at.commit("another")
    assert not Memory.open(at.root, os.environ).search(Search("9999", history=True)).hits
    require_same_as_rebuilt(at)


def test_a_rename_that_is_taken_back(at: Desk) -> None:
    (at.root / "memory").mkdir()
    at.git("mv", "NOTES.md", "memory/notes.md")
    at.commit("renamed")
    assert ports(at) == ["8001", "8002", "8003"]
    at.git("reset", "-q", "--hard", "HEAD~1")
    assert not Memory.open(at.root, os.environ).search(Search("port", history=True)).hits
    require_same_as_rebuilt(at)
