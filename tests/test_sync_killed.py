"""A sync that is killed before any of its steps: the next command and the next sync need no hand,
nothing is lost or doubled, and no other machine's line is committed as a person's.
"""

import os
from pathlib import Path

import pytest
from conftest import World
from killed_sync import DONE, killed_before, steps_of
from proposal_actions import propose
from workspaces import Desk

from mdmem.folder import files
from mdmem.memory import Memory
from mdmem.model import Source
from mdmem.model.pipelines import Sync
from mdmem.model.writes import Log, Remember, Save, WriteOptions
from mdmem.proposals import reading

SEED = "# Memory\n\n## Facts\n\n- city: Rome\n"
STATES = {
    "merge": ["ada 1", "ada 2", "ada 3", "ada 4", "bo 1", "bo 2", "bo 3"],
    "forward": ["ada 1", "ada 2", "ada 3", "ada 4", "bo 3"],
}
"""Lines of the other machine, and of an agent and a person on this one."""
POINTS = ("git fetch", "rename landing.next.json landing.json", "exchange")
POINTS += ("git update-ref", "git update-index", "git push")


@pytest.fixture
def clones(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a remote and two clones; both have changed the same files."""
    monkeypatch.setenv("MDMEM_NOW", "2026-03-05T10:00:00")
    folder = tmp_path / "clones"
    folder.mkdir()
    world.git(folder, "init", "-q", "--bare", "-b", "main", "origin.git")
    desks = {}
    for name in ("ada", "bo"):
        world.git(folder, "clone", "-q", "origin.git", name)
        desks[name] = at = Desk(world, folder / name)
        at.git("remote", "set-url", "origin", "../origin.git")
        at.git("config", "user.name", name)
        at.git("config", "user.email", f"{name}@example.org")
        if name == "ada":
            at.write("MEMORY.md", SEED)
            at.write("memory/gone.md", "- old\n")
            at.write("memory/pond.md", "# Pond\n\n- a carp\n")
            at.commit("seed")
            at.git("push", "-q", "origin", "main")
    sync(desks["bo"])
    ada = desks["ada"]
    agent = WriteOptions(source=Source.AUTO)
    ada.apply(Remember("ada 1 saw amber", section="Facts", options=agent))
    ada.apply(Log("ada 2 saw rain", options=agent))
    ada.write("memory/pond.md", "# Pond\n\n- a carp\n- ada 3 put a tench in\n")
    ada.write("memory/new/x.md", "- ada 4 dug a well\n")
    ada.git("rm", "-q", "memory/gone.md")
    ada.commit("more\n\nMdmem-Op: save\nMdmem-Source: auto")
    propose(ada, Remember("ada proposes this", section="Facts"))
    sync(ada)
    return folder


def prepare(folder: Path, world: World, state: str) -> None:
    """Have the other clone write, too, and leave an edit that is not committed."""
    at = Desk(world, folder / "bo")
    if state == "merge":
        propose(at, Remember("bo proposes this", section="Facts"))
        at.apply(Remember("bo 1 saw basalt", section="Facts"))
        at.apply(Log("bo 2 saw snow"))
    at.write("MEMORY.md", at.read("MEMORY.md") + "- bo 3 typed this\n")
    at.write("notes.txt", "not for git\n")


def sync(at: Desk) -> None:
    Memory.open(at.root, os.environ).sync(Sync())


def go_on(at: Desk, step: int) -> str:
    """The step after the kill: a write, a person's save, or the next sync at once."""
    match step % 3:
        case 0:
            at.apply(Log("bo 4 goes on"))
        case 1:
            pond = at.root / "memory/pond.md"
            pond.write_text(pond.read_text() + "- bo 4 goes on\n")
            Memory.open(at.root, os.environ).save(Save())
        case _:
            sync(at)
            at.apply(Log("bo 4 goes on"))
    return "bo 4"


def require_sound(at: Desk, words: list[str]) -> None:
    """Both are in step, each line is there once, and each is whose it was."""
    assert at.git("rev-parse", "HEAD") == at.git("-C", "../origin.git", "rev-parse", "main")
    assert at.git("status", "--porcelain") == "?? notes.txt\n"
    proposals = ("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/mdmem")
    assert at.git(*proposals) == at.git("-C", "../origin.git", *proposals)
    waiting = [part.view.new for each in reading.read_open(at.workspace)[0] for part in each.parts]
    assert "ada proposes this" in waiting
    assert ("bo proposes this" in waiting) == ("bo 1" in words)
    lines = [line for path in at.root.rglob("*.md") for line in path.read_text().splitlines()]
    found = [word for word in words for line in lines if word in line]
    assert found == words
    assert "- old" not in lines
    assert not (at.root / "memory/gone.md").exists()
    unmarked = at.git(
        *("log", "--no-merges", "--author=bo", "--invert-grep", "--grep=^Mdmem-Op: ", "-p")
    )
    assert not [line for line in unmarked.splitlines() if line.startswith("+") and "ada " in line]
    assert not list(at.root.rglob(".mdmem-*"))
    assert not list((at.root / ".git/mdmem").glob("landing*.json"))
    at.git("fsck", "--strict", "--no-dangling")


def check(world: World, clones: Path, state: str, step: int, ways: int = 0) -> str:
    """Kill a sync before a step, and go on; return the step's name."""
    copy, name = killed_before(world, clones, step, f"killed {step}")
    at = Desk(world, copy)
    if (step + ways) % 5 == 4:
        files.remove_tree(at.root / ".git/mdmem/root")
    words = [*STATES[state], go_on(at, step + ways)]
    sync(at)
    require_sound(at, words)
    files.remove_tree(copy.parent)
    return name


@pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_sync_killed_before_and_after_each_point(
    world: World, clones: Path, is_whole: bool
) -> None:
    """As a whole, before and after all points; in the suite, before every second one."""
    state = "merge"
    prepare(clones, world, state)
    names = steps_of(world, clones)
    assert {name for name in POINTS if name not in names} == set()
    firsts = [names.index(name) for name in POINTS]
    steps = {*firsts, *(first + 1 for first in firsts)} if is_whole else firsts[1::2]
    for step in sorted(steps):
        check(world, clones, state, step)


@pytest.mark.slow
@pytest.mark.parametrize("ways", range(3))
@pytest.mark.parametrize("state", STATES)
def test_a_sync_killed_before_each_step(world: World, clones: Path, state: str, ways: int) -> None:
    prepare(clones, world, state)
    step = 0
    while check(world, clones, state, step, ways) != DONE:
        step += 1
    assert step > 40
