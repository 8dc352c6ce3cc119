"""A memory that is held open: whatever is changed between two calls, the next call has it; nothing
is kept that grows.
"""

import gc
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import World
from servers import own_bytes
from warm import wait_until
from workspaces import NOW, Desk, append, code_of, desk

from mdmem.memory import Memory
from mdmem.model.history import ShowHistory
from mdmem.model.reads import Show
from mdmem.model.searches import ListFacts, Search
from mdmem.model.writes import Log

requires_proc = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")
MOST_GROWTH_BYTES = 20_000_000
"""The most growth over 120 calls after the first hundred: bounded caches still fill, and the
engine's threads take and leave memory.
"""
MOST_BYTES = 80 * 1024 * 1024
THREADS = 4


@pytest.fixture(autouse=True, scope="module")
def _collected() -> None:
    """Leave what earlier tests have made out of the many collections here."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _now(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MDMEM_NOW", NOW)


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


@pytest.fixture
def memory(at: Desk) -> Memory:
    return Memory.open(at.root, os.environ)


# Settings.


def local_settings(at: Desk) -> Path:
    return at.root / "mdmem.toml"


def own_settings(at: Desk) -> Path:
    path = at.world.home / ".config" / "mdmem" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@pytest.mark.parametrize("settings_of", [local_settings, own_settings])
def test_settings_are_read_again_when_their_file_changes(
    at: Desk, memory: Memory, settings_of: Callable[[Desk], Path]
) -> None:
    path = settings_of(at)
    assert memory.workspace.settings.actor is None
    for actor in ("one", "two", "six"):  # of one length, in one moment
        path.write_text(f'actor = "{actor}"\n')
        assert memory.workspace.settings.actor == actor
    path.unlink()
    assert memory.workspace.settings.actor is None


def test_settings_that_cannot_be_read_are_refused_until_they_can(at: Desk, memory: Memory) -> None:
    local_settings(at).write_text("actor = ")
    assert code_of(memory.status) == "bad-settings"
    assert code_of(memory.status) == "bad-settings"
    local_settings(at).unlink()
    memory.status()


def test_unchanged_settings_are_not_read_again(at: Desk, memory: Memory) -> None:
    workspace = memory.workspace
    while not workspace.basis:  # the files are a few milliseconds old
        workspace = memory.workspace
    at.commit("another")
    assert memory.workspace is workspace


def test_a_link_to_a_folder_outside_is_looked_at_each_time(
    at: Desk, world: World, repository: Path
) -> None:
    inside, outside = repository / "notes", world.home / "notes"
    inside.mkdir()
    outside.mkdir()
    at = desk(world, repository, "work")
    link = repository / "link"
    link.symlink_to(inside)
    local_settings(at).write_text('extra_paths = ["../link"]\n')
    memory = Memory.open(at.root, os.environ)
    assert memory.workspace.settings.extra_paths == ("../link",)
    link.unlink()
    link.symlink_to(outside)
    assert code_of(memory.status) == "bad-settings"


def test_a_repository_that_changes_its_form_is_found_again(at: Desk, memory: Memory) -> None:
    assert memory.workspace.repository.is_simple
    at.git("config", "core.worktree", str(at.root))
    assert not memory.workspace.repository.is_simple
    at.git("config", "--unset", "core.worktree")
    assert memory.workspace.repository.is_simple


def test_a_folder_that_becomes_a_repository_of_its_own_has_its_own_state(
    world: World, repository: Path
) -> None:
    at = desk(world, repository, "sub")
    memory = Memory.open(at.root, os.environ)
    before = memory.workspace.state
    world.git(at.root, "init", "-q")
    assert memory.workspace.state != before
    assert memory.workspace.state.is_relative_to(at.root)


# Nothing is kept.


@dataclass(frozen=True)
class Held:
    """The resources of the system that a process holds."""

    descriptors: tuple[str, ...]
    threads: int
    children: str


def held() -> Held:
    gc.collect()
    return Held(
        descriptors=tuple(
            sorted(
                str(path.readlink())
                for path in Path("/proc/self/fd").iterdir()
                if path.is_symlink()
            )
        ),
        threads=threading.active_count(),
        children=Path(f"/proc/self/task/{os.getpid()}/children").read_text(),
    )


def memory_bytes() -> int:
    gc.collect()
    return own_bytes(os.getpid())


def call_often(at: Desk, memory: Memory, calls: int) -> None:
    words = ("Stripe", "Oslo", "works", "lives", "mark", "nothing", "harbour")
    for number in range(calls):
        asked = " ".join(words[number * step % len(words)] for step in (1, 2, 3))
        memory.search(Search(f"{asked} {number}"))
        match number % 30:
            case 3:
                memory.facts(ListFacts())
            case 7:
                memory.show(Show("MEMORY.md"))
                memory.outline()
            case 11:
                memory.history(ShowHistory("Work"))
            case 13:
                at.write("memory/topic.md", f"# Topic\n\n- saved by hand, number {number}\n")
            case 17:
                memory.apply(append(f"- line {number}"))
            case 19:
                memory.status()
            case 23:
                memory.search(Search(asked, history=True))


@requires_proc
@pytest.mark.parametrize("calls", [120, pytest.param(10_000, marks=pytest.mark.slow)])
def test_calls_leave_nothing_behind(at: Desk, memory: Memory, calls: int) -> None:
    call_often(at, memory, 100)
    before, bytes_before = held(), memory_bytes()
    call_often(at, memory, calls)
    assert held() == before
    if calls > 120:
        assert memory_bytes() < MOST_BYTES
    else:
        assert memory_bytes() - bytes_before < MOST_GROWTH_BYTES


@requires_proc
def test_nothing_is_kept_open(at: Desk) -> None:
    before = held()
    memory = Memory.open(at.root, os.environ)
    for _ in range(5):
        assert memory.search(Search("Stripe")).hits
    wait_until(lambda: held() == before)  # the engine's own thread may look at its files just now
    memory.close()
    assert memory.search(Search("Stripe")).hits
    del memory
    wait_until(lambda: held() == before)


@requires_proc
@pytest.mark.background
def test_no_child_is_left_behind(at: Desk, memory: Memory) -> None:
    before = set(
        held().children.split()
    )  # what tests before this one started, and have not waited for
    memory.search(Search("Stripe"))
    for number in range(3):
        memory.apply(append(f"- line {number}"))
        at.write("memory/topic.md", f"# Topic\n\n- number {number}\n")
        assert memory.search(Search("number")).hits
    for thread in threading.enumerate():
        if thread.name == "mdmem catch-up":
            thread.join()
    assert set(held().children.split()) <= before


# Threads.


def save_by_hand(at: Desk, memory: Memory, number: int) -> None:
    at.write("memory/new", f"# Topic\n\n- zorblax {number:05}\n").rename(
        at.root / "memory" / "topic.md"
    )


def write_with_memory(at: Desk, memory: Memory, number: int) -> None:
    memory.apply(Log(f"zorblax {number:05}"))


def newest_number(memory: Memory) -> int:
    hits = memory.search(Search("zorblax", limit=100)).hits
    return max((int(hit.text.split()[-1]) for hit in hits if "zorblax" in hit.text), default=-1)


@pytest.mark.parametrize("write", [save_by_hand, write_with_memory])
def test_threads_search_while_another_writes(
    at: Desk, memory: Memory, write: Callable[[Desk, Memory, int], None]
) -> None:
    written, done = [-1], threading.Event()

    def search() -> int:
        searches = 0
        while not done.is_set() or not searches:
            before = written[-1]
            assert newest_number(memory) >= before
            searches += 1
        return searches

    with ThreadPoolExecutor(THREADS) as pool:
        searching = [pool.submit(search) for _ in range(THREADS)]
        try:
            for number in range(12):
                write(at, memory, number)
                written.append(number)
                assert newest_number(memory) == number
        finally:
            done.set()
        assert all(thread.result() for thread in searching)


def test_threads_write_one_after_the_other(at: Desk, memory: Memory) -> None:
    with ThreadPoolExecutor(THREADS) as pool:
        results = list(pool.map(lambda number: memory.apply(append(f"- line {number}")), range(8)))
    assert all(result.changed for result in results)
    assert {f"- line {number}" for number in range(8)} <= set(at.read("MEMORY.md").splitlines())
    assert len(at.subjects("MEMORY.md")) == 9
