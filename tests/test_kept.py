"""Answers that are kept between calls: whatever moves between two, the next call tells it.

A memory opened anew is the oracle.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from commandline import MadeOnce
from conftest import World
from held_open import kept
from workspaces import NOW, Desk, desk

from mdmem.folder import files
from mdmem.memory import Memory
from mdmem.model.proposals import Propose, Reject
from mdmem.model.reads import ListFiles
from mdmem.model.trends import ShowTrends
from mdmem.model.writes import Contradict, Forget, Log, Remember, WriteOptions

SEED = """# Memory

## Work

- office: Oslo
- office: Bergen
- on leave <!-- until: 2026-03-06 -->

## Home

- likes tea
"""
ASK: Mapping[str, Callable[[Memory], object]] = {
    "trends": lambda memory: memory.trends(ShowTrends(7)),
    "files": lambda memory: memory.files(ListFiles()),
    "proposals": lambda memory: memory.proposals.standing(),
    "conflicts": lambda memory: memory.conflicts(),
    "review": lambda memory: memory.review(),
    "unsaved": lambda memory: memory.unsaved(),
    "status": lambda memory: memory.status(),
}
KEPT = [name for name in ASK if name not in ("review", "unsaved", "status")]
"""Those of which the whole answer is kept, not parts of it."""
CLAUDE = WriteOptions(actor="claude")


@pytest.fixture
def at(
    world: World,
    repository: Path,
    monkeypatch: pytest.MonkeyPatch,
    made_once: MadeOnce,
) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    at = Desk(world, repository)
    made_once("two proposals and a branch", lambda: begin(at))
    return at


def begin(at: Desk) -> None:
    desk(at.world, at.root, seed=SEED)
    with closing(Memory.open(at.root, os.environ)) as opened:
        opened.proposals.propose(Propose(Remember("likes coffee", section="Home", options=CLAUDE)))
        opened.proposals.propose(Propose(Forget("likes tea", options=CLAUDE)))
        opened.apply(Log("the sun came out", options=CLAUDE))
    at.git("branch", "side")
    at.git("switch", "-q", "side")
    at.write("memory/side.md", "- only there\n")
    at.commit("side")
    at.git("switch", "-q", "-")


@pytest.fixture
def memory(at: Desk) -> Iterator[Memory]:
    with closing(Memory.open(at.root, os.environ)) as opened:
        yield opened


def fresh(at: Desk) -> dict[str, object]:
    with closing(Memory.open(at.root, os.environ)) as opened:
        return {name: ask(opened) for name, ask in ASK.items()}


def in_other_process(at: Desk, *words: str) -> None:
    command = [sys.executable, "-m", "mdmem", *words]
    subprocess.run(command, cwd=at.root, check=True, capture_output=True, env=os.environ)


def edit_in_place(at: Desk, memory: Memory) -> None:
    """One letter by hand, in the same second and with the same time of the file."""
    path = at.root / "MEMORY.md"
    before = path.stat()
    with path.open("r+b") as file:
        file.seek(SEED.index("Bergen"))
        file.write(b"Zurich")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def overtake(at: Desk, memory: Memory) -> None:
    """The line that a proposal takes out is another now."""
    at.write("MEMORY.md", SEED.replace("likes tea", "likes green tea"))


def fetch(at: Desk, memory: Memory) -> None:
    """A proposal and a commit from another clone."""
    clone = at.root.parent / "clone"
    at.git("clone", "-q", ".", clone)
    other = Desk(at.world, clone)
    other.git("config", "user.name", "Bob")
    other.git("config", "user.email", "bob@example.org")
    (clone / "MEMORY.md").write_text(SEED.replace("likes tea", "likes cake"))
    other.git("switch", "-q", "-c", "mdmem/proposals/bob/cafecafe")
    other.commit("proposed there")
    at.git("fetch", "-q", clone, "refs/heads/mdmem/*:refs/heads/mdmem/*")


def merge(at: Desk, memory: Memory) -> None:
    at.git("merge", "-q", "--no-edit", "side")


def switch(at: Desk, memory: Memory) -> None:
    at.git("switch", "-q", "side")


def pack(at: Desk, memory: Memory) -> None:
    """Pack all refs, then delete one of these."""
    at.git("pack-refs", "--all")
    at.git("branch", "-q", "-D", "side")


def settings(at: Desk, memory: Memory) -> None:
    at.write("notes/more.md", "# More\n\n- a note\n")
    at.write("mdmem.toml", 'paths = ["notes/*.md"]\n')


def zone(at: Desk, memory: Memory) -> None:
    at.write("mdmem.toml", 'timezone = "Pacific/Auckland"\n')


def midnight(at: Desk, memory: Memory) -> None:
    os.environ["MDMEM_NOW"] = "2026-03-07T00:00:01"


def write(at: Desk, memory: Memory) -> None:
    memory.apply(Log("it rained"))


def contradict(at: Desk, memory: Memory) -> None:
    memory.apply(Contradict("likes tea", "on leave"))


def propose(at: Desk, memory: Memory) -> None:
    edit = Remember("likes juice", section="Home", options=CLAUDE)
    memory.proposals.propose(Propose(edit))


def reject(at: Desk, memory: Memory) -> None:
    (view,) = memory.proposals.standing().views
    memory.proposals.reject(Reject(view.id))


def ignore(at: Desk, memory: Memory) -> None:
    """A new file is not saved, and then ignored."""
    at.write("memory/new.md", "- new\n")
    memory.unsaved()
    at.write("memory/.gitignore", "new.md\n")


def stage(at: Desk, memory: Memory) -> None:
    """The index alone says what is not saved any more."""
    at.git("rm", "-q", "--cached", "MEMORY.md")


def ignore_for_all(at: Desk, memory: Memory) -> None:
    at.write("memory/new.md", "- new\n")
    memory.unsaved()
    folder = at.world.home / ".config" / "git"
    folder.mkdir(parents=True)
    (folder / "ignore").write_text("new.md\n")


def change_identity(at: Desk, memory: Memory) -> None:
    """The commits so far are another's then."""
    at.git("config", "user.email", "somebody@example.org")


def list_person(at: Desk, memory: Memory) -> None:
    """An agent is a person by the user's own settings."""
    folder = at.world.home / ".config" / "mdmem"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text('people = ["claude"]\n')


def add_remote(at: Desk, memory: Memory) -> None:
    """Without a merge driver, which is worth a note then."""
    at.git("remote", "add", "origin", "nowhere")


def write_elsewhere(at: Desk, memory: Memory) -> None:
    in_other_process(at, "log", "by another process")


def purge_elsewhere(at: Desk, memory: Memory) -> None:
    in_other_process(at, "forget", "likes tea", "--purge", "--yes")


MOVES = [
    *(write, contradict, propose, reject, edit_in_place, overtake, fetch, merge, switch, pack),
    *(settings, zone, midnight, ignore, stage, ignore_for_all, change_identity, list_person),
    *(add_remote, write_elsewhere, purge_elsewhere),
]


@pytest.mark.costly
@pytest.mark.parametrize("move", MOVES)
def test_what_moves_between_two_calls_is_told(
    at: Desk,
    memory: Memory,
    monkeypatch: pytest.MonkeyPatch,
    move: Callable[[Desk, Memory], None],
) -> None:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    for name in KEPT:
        kept(lambda ask=ASK[name]: ask(memory))
    before = {name: ask(memory) for name, ask in ASK.items()}
    move(at, memory)
    told = {name: ask(memory) for name, ask in ASK.items()}
    assert told == fresh(at)
    assert told != before


def test_what_is_kept_is_what_a_memory_opened_anew_says(at: Desk, memory: Memory) -> None:
    for name in KEPT:
        kept(lambda ask=ASK[name]: ask(memory))
    assert {name: ask(memory) for name, ask in ASK.items()} == fresh(at)


def test_nothing_is_kept_that_may_have_changed_unseen(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(lambda: memory.trends(ShowTrends(7)))
    monkeypatch.setattr(files, "RACY_NS", 10**18)
    for name in KEPT:
        assert ASK[name](memory) is not ASK[name](memory) or name == "trends"
    assert memory.trends(ShowTrends(8)) is not memory.trends(ShowTrends(8))


@pytest.mark.costly
def test_edits_in_quick_succession_are_all_told(at: Desk, memory: Memory) -> None:
    path = at.root / "MEMORY.md"
    for number in range(30):
        path.write_text(SEED.replace("Bergen", f"City {number:03}"))
        (conflict,) = memory.conflicts().conflicts
        assert conflict.second.text == f"office: City {number:03}"
        assert memory.unsaved() == ("MEMORY.md",)


def test_the_view_of_an_actor_who_proposes_is_its_own(
    at: Desk, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = at.world.home / ".config" / "mdmem"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text('write = "propose"\n')
    persons = kept(lambda: memory.files(ListFiles()))
    home = home_facts(memory)
    monkeypatch.setenv("MDMEM_ACTOR", "claude")
    assert home_facts(memory) == home  # coffee for tea
    memory.proposals.propose(Propose(Remember("a dog", section="Home", options=CLAUDE)))
    assert home_facts(memory) == home + 1
    monkeypatch.delenv("MDMEM_ACTOR")
    assert memory.files(ListFiles()) == persons


def home_facts(memory: Memory) -> int:
    (count,) = (
        section.facts
        for row in memory.files(ListFiles()).files
        for section in row.sections
        if section.section[-1] == "Home"
    )
    return count


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands of all processes that are started."""
    start, started = subprocess.Popen.__init__, list[list[str]]()

    def counted(self: object, command: list[str], *rest: object, **named: object) -> None:
        started.append(command)
        start(self, command, *rest, **named)

    monkeypatch.setattr(subprocess.Popen, "__init__", counted)
    return started


def test_without_a_move_no_process_is_started(memory: Memory, processes: list[list[str]]) -> None:
    for name in KEPT:
        kept(lambda ask=ASK[name]: ask(memory))
    kept(lambda: memory.unsaved())
    kept(lambda: memory.review().advice)
    kept(lambda: memory.review().waiting)
    assert processes
    processes.clear()
    for name in (*KEPT, "review", "unsaved"):
        ASK[name](memory)
    assert processes == []


def test_status_asks_git_for_files_that_are_no_memory_alone(
    memory: Memory, processes: list[list[str]]
) -> None:
    ends = time.monotonic() + 10
    while len(processes) != 1:
        assert time.monotonic() < ends, processes
        processes.clear()
        memory.status()
    assert "ls-files" in processes[0]


def test_the_state_folder_may_be_deleted_at_any_time(at: Desk, memory: Memory) -> None:
    before = {name: kept(lambda ask=ASK[name]: ask(memory)) for name in KEPT}
    shutil.rmtree(memory.workspace.state)
    assert {name: ASK[name](memory) for name in KEPT} == before


def test_a_list_that_was_dropped_is_numbered_again(at: Desk, memory: Memory) -> None:
    listed = kept(lambda: memory.proposals.standing())
    shutil.rmtree(memory.workspace.state / "lists")
    again = memory.proposals.standing()
    assert again == listed
    assert (memory.workspace.state / "lists").is_dir()


@pytest.mark.costly
def test_a_proposal_for_a_file_that_is_no_memory_is_read_each_time(
    at: Desk, memory: Memory
) -> None:
    at.git("switch", "-q", "-c", "mdmem/proposals/bob/cafecafe")
    at.write("README.md", "- read me\n")
    at.commit("proposed")
    at.git("switch", "-q", "-")
    for text in ("", "- read me\n", "- other\n", "- otter\n"):
        at.write("README.md", text)
        with closing(Memory.open(at.root, os.environ)) as opened:
            assert memory.proposals.standing() == opened.proposals.standing()


@pytest.mark.costly
def test_threads_get_what_is_there(at: Desk, memory: Memory) -> None:
    path = at.root / "MEMORY.md"

    def ask(_: int) -> int:
        return sum(row.facts for row in memory.files(ListFiles()).files)

    with ThreadPoolExecutor(4) as pool:
        for number in range(5):
            path.write_text(SEED + "".join(f"- more {each}\n" for each in range(number)))
            assert set(pool.map(ask, range(16))) == {5 + number}


def test_a_linked_work_tree_keeps_nothing(at: Desk, world: World) -> None:
    other = at.root.parent / "linked"
    at.git("worktree", "add", "-q", other, "side")
    with closing(Memory.open(other, os.environ)) as opened:
        first = opened.trends(ShowTrends(7))
        assert opened.trends(ShowTrends(7)) == first
        opened.apply(Log("it rained"))
        assert opened.trends(ShowTrends(7)).current == first.current + 1
