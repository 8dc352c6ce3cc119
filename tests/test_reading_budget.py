"""A file that a parser never finishes: it is left out and named, and everything else goes on."""

import gc
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import World
from workspaces import Desk, code_of
from workspaces import desk as make_desk

from mdmem.editors.merge3.merging import merge3
from mdmem.folder import budget, files
from mdmem.index import catching_up, pages
from mdmem.memory import Memory
from mdmem.model.errors import PathProblem
from mdmem.model.searches import Search
from mdmem.model.writes import Remember
from mdmem.past import file_changes
from mdmem.text import document
from mdmem.text.facts import entries

ENDLESS = "the parser never ends here"
MESSAGE = f"memory/trap.md is left out: {budget.LEFT_OUT}"


def _loop() -> None:
    while True:
        pass


def _match_for_hours() -> None:
    re.match(r"(a+)+$", "a" * 60 + "b")


def _fill_memory() -> None:
    parts = []
    while True:
        parts.append(bytes(1_000_000))


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch, world: World) -> Iterator[None]:
    monkeypatch.setattr(budget, "_SECONDS", 0.2)
    budget._exceeded.__init__()
    callbacks = gc.callbacks[:]
    gc.callbacks.clear()  # what is raised in one is lost, and hypothesis has one
    yield
    gc.callbacks[:] = callbacks


@pytest.fixture(params=["document", "entries"])
def trap(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, short: None) -> list[str]:
    """An endless parser for texts with ENDLESS; each time that one is parsed is in the list."""
    parsed: list[str] = []

    def endless(real: Callable[..., object], text_of: Callable[..., str]) -> Callable[..., object]:
        def parse(first: object, *rest: object, **options: object) -> object:
            if ENDLESS in text_of(first):
                parsed.append(text_of(first))
                _loop()
            return real(first, *rest, **options)

        return parse

    if request.param == "document":
        monkeypatch.setattr(document, "_parse_file", endless(document._parse_file, str))
    else:
        for module in (pages, catching_up, file_changes):
            parse = endless(entries, lambda page: page.text)
            monkeypatch.setattr(module, "entries", parse)
    return parsed


@pytest.fixture
def desk(world: World, repository: Path) -> Desk:
    return make_desk(world, repository)


@pytest.fixture
def memory(desk: Desk) -> Iterator[Memory]:
    memory = Memory.open(desk.root, os.environ)
    yield memory
    memory.close()


def _plant(desk: Desk) -> None:
    desk.write("memory/trap.md", f"# Trap\n\n- {ENDLESS}\n")


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("is_warm", [True, False])
def test_all_but_the_file_is_found(
    desk: Desk, memory: Memory, trap: list[str], committed: bool, is_warm: bool
):
    if is_warm:
        assert memory.search(Search(query="Oslo")).notes == ()
    _plant(desk)
    if committed:
        desk.commit()
    for _ in range(2):
        found = memory.search(Search(query="Oslo"))
        assert found.hits
        assert found.notes == (MESSAGE,)
    times = len(trap)
    assert times <= 3
    assert Memory.open(desk.root, os.environ).search(Search(query="Oslo")).notes == (MESSAGE,)
    assert dict(memory.status().skipped) == {"memory/trap.md": budget.LEFT_OUT}
    named = [each for each in memory.examine() if "memory/trap.md cannot" in each.message]
    assert [each.message for each in named] == [
        f"memory/trap.md cannot be searched: {budget.LEFT_OUT}"
    ]
    assert memory.apply(Remember("coffee is hot")).commit
    assert memory.search(Search(query="coffee")).hits
    assert len(trap) == times, "the same version is not read again"
    desk.write("memory/trap.md", "# Trap\n\n- a zebra\n")
    found = memory.search(Search(query="zebra"))
    assert (len(found.hits), found.notes) == (1, ())


def test_history_goes_on_behind_a_version_that_never_ends(
    desk: Desk, memory: Memory, trap: list[str]
):
    _plant(desk)
    desk.commit()
    desk.write("memory/trap.md", "# Trap\n\n- a zebra\n")
    desk.write("memory/other.md", "# Other\n\n- an okapi\n")
    desk.commit()
    found = memory.search(Search(query="zebra okapi"))
    assert (len(found.hits), found.notes) == (2, ())
    assert len(trap) <= 3


def test_another_version_of_the_program_reads_it_again(
    desk: Desk, memory: Memory, trap: list[str], monkeypatch: pytest.MonkeyPatch
):
    _plant(desk)
    memory.search(Search(query="Oslo"))
    times = len(trap)
    for module in ("mdmem.folder.budget", "mdmem.index.snapshot"):
        monkeypatch.setattr(f"{module}.__version__", "99.0")
    budget._exceeded.__init__()
    again = Memory.open(desk.root, os.environ)
    assert again.search(Search(query="Oslo")).notes == (MESSAGE,)
    assert len(trap) > times


@pytest.mark.parametrize("committed", [True, False])
def test_a_thread_of_a_server_goes_on_too(
    desk: Desk, memory: Memory, trap: list[str], committed: bool
):
    memory.search(Search(query="Oslo"))
    _plant(desk)
    if committed:
        desk.commit()
    notes: list[tuple[str, ...]] = []
    thread = threading.Thread(target=lambda: notes.append(memory.search(Search("Oslo")).notes))
    thread.start()
    thread.join(60)
    assert notes == [(MESSAGE,)]


@pytest.mark.parametrize("work", [_loop, _match_for_hours, _fill_memory])
def test_a_budget_ends_what_a_main_thread_does(short: None, work: Callable[[], None]):
    for _ in range(2):
        started = time.process_time()
        with pytest.raises(budget.OverBudget), budget.limited(0):
            work()
        assert time.process_time() - started < 3


@pytest.mark.parametrize("work", [_loop, _fill_memory])
def test_a_budget_ends_what_another_thread_does(short: None, work: Callable[[], None]):
    raised: list[bool] = []

    def run() -> None:
        with pytest.raises(budget.OverBudget), budget.limited(0):
            work()
        raised.append(True)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(30)
    assert raised == [True]


def test_a_version_is_refused_at_once_in_other_processes_too(short: None):
    assert code_of(lambda: _read_endlessly(b"x")) == "unsupported-file"
    text = (
        "from mdmem.folder import budget\n"
        "try:\n"
        "    with budget.reading(b'x'): print('read')\n"
        "except budget.PathProblem as problem: print(problem.message)"
    )
    told = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == budget.LEFT_OUT


def _read_endlessly(data: bytes) -> None:
    with budget.reading(data):
        _loop()


def test_a_budget_grows_with_the_file(short: None):
    with budget.limited(1_000_000):
        ends = time.process_time() + 0.6
        while time.process_time() < ends:
            pass


def test_a_background_step_ends_when_its_folder_is_gone(desk: Desk):
    workspace = desk.workspace
    workspace.ensure_state()
    command = [sys.executable, "-P", "-m", "mdmem.githooks", "catch-up", str(desk.root)]
    with files.lock(workspace.state / files.INDEX_LOCK, 1):
        process = subprocess.Popen(command)
        time.sleep(1)  # long enough to end, if it did not wait
        assert process.poll() is None, "it waits for the lock"
        shutil.rmtree(desk.root)
        assert process.wait(10) == 1


def test_a_merge_of_very_many_equal_lines_is_left_to_git(
    short: None, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(budget, "_SECONDS_EACH_MB", 0.0)
    base = b"# Memory\n\n- one\n"
    theirs = base + b"".join(b"## S\n\n- a\n" for _ in range(3_000))
    began = time.process_time()
    for _ in range(3):
        merged = merge3(base, base + b"- late\n", theirs)
        assert (merged.data, merged.reason) == (None, budget.LEFT_OUT)
    assert time.process_time() - began < 5
    assert merge3(base, base + b"- late\n", base + b"- x\n").data is not None


def test_what_would_be_lost_in_a_destructor_is_raised_after_it(short: None):
    class Slow:
        def __del__(self) -> None:
            ends = time.thread_time() + 0.3
            while time.thread_time() < ends:
                pass

    def drop_one_and_loop() -> None:
        Slow()
        _loop()

    with pytest.raises(budget.OverBudget), budget.limited(0):
        drop_one_and_loop()


def test_without_a_home_this_process_remembers_what_took_too_much(
    short: None, monkeypatch: pytest.MonkeyPatch
):
    for name in ("HOME", "XDG_STATE_HOME", "USERPROFILE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(PathProblem), budget.reading(b"trap"):
        _loop()
    began = time.process_time()
    with pytest.raises(PathProblem), budget.reading(b"trap"):
        _loop()
    assert time.process_time() - began < 0.1
    budget._exceeded.__init__()
