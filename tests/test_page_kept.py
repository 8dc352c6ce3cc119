"""What pages show while nothing moves: whatever moves between two requests, the next page tells it.

Pages of a memory opened anew are the oracle.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from commandline import MadeOnce
from conftest import World
from page_driver import ask
from proposal_actions import on
from workspaces import NOW, Desk, desk

from mdmem.folder import files
from mdmem.memory import Memory
from mdmem.model.proposals import Propose
from mdmem.model.writes import Contradict, Forget, Log, Remember, WriteOptions
from mdmem.page.app import build_app
from mdmem.page.pages import Links, Reader
from mdmem.proposals import listings

SEED = """# Memory

## Work

- office: Oslo
- office: Bergen
- on leave <!-- until: 2026-03-06 -->

## Home

- likes tea
"""
PAGES = ("/", "/files", "/review", "/trends", "/days")
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


@pytest.fixture
def reader(memory: Memory) -> Reader:
    return Reader(memory, Links())


def shown(reader: Reader) -> dict[str, str]:
    app = build_app(reader)
    return {path: ask(app, "GET", path).text for path in PAGES}


def fresh(at: Desk) -> dict[str, str]:
    with closing(Memory.open(at.root, os.environ)) as opened:
        return shown(Reader(opened, Links()))


def keep(reader: Reader) -> dict[str, str]:
    """The pages, once all is kept: what was written a moment ago may be written again unseen."""
    ends = time.monotonic() + 10
    pages = shown(reader)
    while len(reader.kept) < len(PAGES):
        assert time.monotonic() < ends, "it is never kept"
        pages = shown(reader)
    return pages


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
    memory.proposals.decide(on(view.id, accepts=False))


def stage(at: Desk, memory: Memory) -> None:
    """The index alone says what is not saved any more."""
    at.git("rm", "-q", "--cached", "MEMORY.md")


def change_identity(at: Desk, memory: Memory) -> None:
    """The commits so far are another's then."""
    at.git("config", "user.email", "somebody@example.org")


def list_person(at: Desk, memory: Memory) -> None:
    """An agent is a person by the user's own settings."""
    folder = at.world.home / ".config" / "mdmem"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text('people = ["claude"]\n')


def write_elsewhere(at: Desk, memory: Memory) -> None:
    in_other_process(at, "log", "by another process")


def purge_elsewhere(at: Desk, memory: Memory) -> None:
    in_other_process(at, "forget", "likes tea", "--purge", "--yes")


MOVES = [
    *(write, contradict, propose, reject, edit_in_place, overtake, fetch, merge, switch, pack),
    *(settings, zone, midnight, stage, change_identity, list_person),
    *(write_elsewhere, purge_elsewhere),
]


@pytest.mark.costly
@pytest.mark.parametrize("move", MOVES)
def test_what_moves_between_two_pages_is_told(
    at: Desk,
    reader: Reader,
    monkeypatch: pytest.MonkeyPatch,
    move: Callable[[Desk, Memory], None],
) -> None:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    before = keep(reader)
    move(at, reader.memory)
    told = shown(reader)
    assert told == fresh(at)
    assert told != before or move is pack


def test_what_is_kept_is_what_a_memory_opened_anew_says(at: Desk, reader: Reader) -> None:
    keep(reader)
    assert shown(reader) == fresh(at)


def test_review_reads_no_proposal_again(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = keep(reader)
    monkeypatch.delattr(listings, "read_standing")
    assert shown(reader)["/review"] == pages["/review"]


def test_nothing_is_kept_that_may_have_changed_unseen(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "RACY_NS", 10**18)
    shown(reader)
    assert not reader.kept


def test_what_is_kept_does_not_grow_with_the_number_of_pages(reader: Reader) -> None:
    keep(reader)
    for number in range(1, 60):
        assert ask(build_app(reader), "GET", f"/files?after={number}").status == 200
    assert 0 < len(reader.kept) <= 32


@pytest.mark.costly
def test_edits_in_quick_succession_are_all_told(at: Desk, reader: Reader) -> None:
    path = at.root / "MEMORY.md"
    for number in range(30):
        path.write_text(SEED.replace("Bergen", f"City {number:03}"))
        assert f"City {number:03}" in shown(reader)["/"]


def test_a_linked_work_tree_keeps_nothing(at: Desk) -> None:
    other = at.root.parent / "linked"
    at.git("worktree", "add", "-q", other, "side")
    with closing(Memory.open(other, os.environ)) as opened:
        reader = Reader(opened, Links())
        before = shown(reader)
        opened.apply(Log("it rained"))
        assert "it rained" in shown(reader)["/"]
        assert before != shown(reader)
        assert not reader.kept
