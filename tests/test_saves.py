"""A save of every kind between two calls is found by the next."""

import mmap
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import World
from workspaces import NOW, Desk, desk

from mdmem.memory import Memory
from mdmem.model.searches import Search
from mdmem.model.writes import Log

WARMING_CALLS = 4
TOPIC = "# Topic\n\n- the harbour is quiet\n"
NEW = "# Topic\n\n- the zorblax is loud\n"


@pytest.fixture(autouse=True)
def _now(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MDMEM_NOW", NOW)


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    at = desk(world, repository, "work")
    at.write("memory/topic.md", TOPIC)
    at.write("memory/deep/er/topic.md", TOPIC)
    at.write("memory/2026-03-05.md", "# 2026-03-05\n\n- went sailing\n")
    at.write("away/topic.md", NEW)
    at.write("README.md", "# Read me\n\n- of no memory\n")
    outside = world.home / "notes"
    outside.mkdir()
    (outside / "note.md").write_text(TOPIC)
    settings = world.home / ".config" / "mdmem" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'extra_paths = ["{outside}"]\n')
    at.commit("topics")
    at.git("checkout", "-q", "-b", "other")
    at.write("memory/topic.md", NEW)
    at.commit("other")
    at.git("checkout", "-q", "main")
    return at


@pytest.fixture
def memory(at: Desk) -> Iterator[Memory]:
    memory = Memory.open(at.root, os.environ)
    memory.search(Search("harbour"))  # the first call builds the index
    for _ in range(WARMING_CALLS):
        memory.search(Search("harbour"))
    yield memory
    memory.close()


def texts(memory: Memory, query: str = "zorblax harbour") -> set[tuple[str, str]]:
    result = memory.search(Search(query))
    assert not result.stale
    assert result.notes == ()
    return {
        (hit.path, hit.text)
        for hit in result.hits
        if any(word in hit.text for word in query.split())
    }


def in_place(path: Path) -> None:
    path.write_text(NEW)


def with_the_times_that_it_had(path: Path) -> None:
    """The same size, too."""
    before = path.stat()
    path.write_text(NEW.ljust(before.st_size)[: before.st_size])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def appended(path: Path) -> None:
    with path.open("a") as file:
        file.write(NEW)


def by_an_open_file(path: Path) -> None:
    """Write a file that is still open when memory is searched."""
    descriptor = os.open(path, os.O_WRONLY)
    os.write(descriptor, NEW.encode())
    os.truncate(path, len(NEW))
    os.close(os.dup(descriptor))
    OPEN_FILES.append(descriptor)


OPEN_FILES: list[int] = []


def by_rename(path: Path) -> None:
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_text(NEW)
    temporary.rename(path)


def by_rename_from_elsewhere(path: Path) -> None:
    temporary = path.parents[1] / "elsewhere"
    temporary.write_text(NEW)
    temporary.rename(path)


def with_a_backup(path: Path) -> None:
    """Save as an editor does that keeps the old file."""
    path.rename(path.with_name(f"{path.name}~"))
    path.write_text(NEW)


def by_delete_and_create(path: Path) -> None:
    path.unlink()
    path.write_text(NEW)


def by_a_map(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(len(NEW))
        with mmap.mmap(file.fileno(), 0) as mapped:
            mapped[:] = NEW.encode()
            mapped.flush()


def by_a_copy(path: Path) -> None:
    source = path.parents[1] / "source"
    source.write_text(NEW)
    shutil.copyfile(source, path)


def by_a_link(path: Path) -> None:
    source = path.parents[1] / "source"
    source.write_text(NEW)
    path.unlink()
    os.link(source, path)


SAVES = [
    in_place,
    with_the_times_that_it_had,
    appended,
    by_an_open_file,
    by_rename,
    by_rename_from_elsewhere,
    with_a_backup,
    by_delete_and_create,
    by_a_map,
    by_a_copy,
    by_a_link,
]


@pytest.fixture(autouse=True)
def _closed_files() -> Iterator[None]:
    yield
    while OPEN_FILES:
        os.close(OPEN_FILES.pop())


@pytest.mark.every(4)
@pytest.mark.parametrize("save", SAVES)
@pytest.mark.parametrize(
    "name",
    [
        "memory/topic.md",
        pytest.param("memory/deep/er/topic.md", marks=pytest.mark.slow),
        "~/notes/note.md",
    ],
)
def test_a_save_is_found_by_the_next_call(
    at: Desk, memory: Memory, name: str, save: Callable[[Path], None]
) -> None:
    path = at.world.home / name[2:] if name.startswith("~") else at.root / name
    before = texts(memory)
    assert not any("zorblax" in text for _, text in before)
    save(path)
    assert ("the zorblax is loud" in {text.strip() for _, text in texts(memory)}) is True
    path.unlink()
    assert not any("zorblax" in text for _, text in texts(memory))


def files_of_a_branch(at: Desk) -> None:
    at.git("checkout", "-q", "other")


def a_branch_alone(at: Desk) -> None:
    at.git("symbolic-ref", "HEAD", "refs/heads/other")
    at.git("checkout", "-q", "HEAD", "--", "memory/topic.md")


def a_stash(at: Desk) -> None:
    at.write("memory/topic.md", NEW)
    at.git("stash", "-q")
    at.git("stash", "pop", "-q")


def a_new_file(at: Desk) -> None:
    at.write("memory/new.md", NEW)


def a_new_folder(at: Desk) -> None:
    at.write("memory/a/b/c/new.md", NEW)


def a_folder_moved_in(at: Desk) -> None:
    (at.root / "away").rename(at.root / "memory" / "away")


def a_folder_exchanged(at: Desk) -> None:
    (at.root / "memory" / "deep" / "er").rename(at.root / "old")
    (at.root / "away").rename(at.root / "memory" / "deep" / "er")


def the_memory_folder_exchanged(at: Desk) -> None:
    (at.root / "memory").rename(at.root / "old")
    (at.root / "away").rename(at.root / "memory")


def the_workspace_exchanged(at: Desk) -> None:
    shutil.copytree(at.root, at.root.with_name("copy"))
    (at.root.with_name("copy") / "memory" / "topic.md").write_text(NEW)
    at.root.rename(at.root.with_name("old"))
    at.root.with_name("copy").rename(at.root)


def a_folder_outside_exchanged(at: Desk) -> None:
    notes = at.world.home / "notes"
    notes.rename(at.world.home / "old")
    notes.symlink_to(at.root / "away")


def a_file_at_the_top(at: Desk) -> None:
    at.write("USER.md", NEW)


def another_name_of_a_file(at: Desk) -> None:
    path = at.root / "memory" / "topic.md"
    twin = at.root / "twin"
    twin.write_text(TOPIC)
    path.unlink()
    os.link(twin, path)
    Memory.open(at.root, os.environ).search(Search("harbour"))
    twin.write_text(NEW)


def a_log_of_our_own(at: Desk) -> None:
    Memory.open(at.root, os.environ).apply(Log("the zorblax is loud"))


def a_commit_and_a_save(at: Desk) -> None:
    at.write("memory/2026-03-05.md", "# 2026-03-05\n\n- stayed at home\n")
    at.commit("stayed")
    at.write("memory/topic.md", NEW)


def a_setting(at: Desk) -> None:
    at.write("mdmem.toml", 'extra_paths = ["away"]\n')


CHANGES = [
    files_of_a_branch,
    a_branch_alone,
    a_stash,
    a_new_file,
    a_new_folder,
    a_folder_moved_in,
    a_folder_exchanged,
    the_memory_folder_exchanged,
    the_workspace_exchanged,
    a_folder_outside_exchanged,
    a_file_at_the_top,
    another_name_of_a_file,
    a_log_of_our_own,
    a_commit_and_a_save,
    a_setting,
]


@pytest.mark.every(2)
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_found_by_the_next_call(
    at: Desk, memory: Memory, change: Callable[[Desk], None]
) -> None:
    assert not any("zorblax" in text for _, text in texts(memory))
    change(at)
    assert any("zorblax" in text for _, text in texts(memory))
    assert texts(memory) == texts(Memory.open(at.root, os.environ))


def test_a_repository_in_a_folder_of_memory(at: Desk, memory: Memory) -> None:
    path = at.write("memory/own/topic.md", NEW)
    assert any("zorblax" in text for _, text in texts(memory))
    (path.parent / ".git").mkdir()
    assert not any("zorblax" in text for _, text in texts(memory))
    path.write_text(f"{NEW}- more of it\n")
    assert not any("zorblax" in text for _, text in texts(memory))
    (path.parent / ".git").rmdir()
    assert any("zorblax" in text for _, text in texts(memory))


def test_what_takes_a_file_out(at: Desk, memory: Memory) -> None:
    assert len(texts(memory)) == 3
    (at.root / "memory" / "topic.md").unlink()
    assert len(texts(memory)) == 2
    shutil.rmtree(at.root / "memory" / "deep")
    assert len(texts(memory)) == 1
    (at.world.home / "notes").rename(at.world.home / "gone")
    assert texts(memory) == set()
    (at.world.home / "gone").rename(at.world.home / "notes")
    assert len(texts(memory)) == 1


def test_a_file_saved_time_and_again(at: Desk, memory: Memory) -> None:
    for number in range(30):
        at.write("memory/topic.md", f"# Topic\n\n- zorblax number {number:03}\n")
        assert any(text == f"zorblax number {number:03}" for _, text in texts(memory))


def test_a_map_that_stays_open(at: Desk, memory: Memory) -> None:
    path = at.root / "memory" / "topic.md"
    with path.open("r+b") as file:
        mapped = mmap.mmap(file.fileno(), 0)
    before = path.stat().st_mtime_ns
    texts(memory)
    start = mapped.find(b"harbour")
    mapped[start : start + 7] = b"zorblax"
    changed = path.stat().st_mtime_ns != before  # not on every file system
    assert any("zorblax" in text for _, text in texts(memory)) is changed
    mapped.close()


def test_each_workspace_has_its_own(
    at: Desk, memory: Memory, world: World, repository: Path
) -> None:
    there = desk(world, repository, "there")
    other = Memory.open(there.root, os.environ)
    for _ in range(WARMING_CALLS):
        texts(other)
    at.write("memory/topic.md", NEW)
    assert not any("zorblax" in text for _, text in texts(other))
    assert any("zorblax" in text for _, text in texts(memory))
    there.write("MEMORY.md", NEW)
    assert any("zorblax" in text for _, text in texts(other))


def test_a_fork_takes_nothing_from_its_parent(at: Desk, memory: Memory) -> None:
    at.write("memory/topic.md", NEW)
    child = os.fork()
    if not child:
        status = 1
        try:
            status = 0 if any("zorblax" in text for _, text in texts(memory)) else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert any("zorblax" in text for _, text in texts(memory))
