"""State folders: only what this user's mdmem made is read, and nobody else reads it."""

import json
import os
import shutil
import stat
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from conftest import World
from workspaces import NOW, STATE

from mdmem.folder import files, journal
from mdmem.folder.journal import CommitStep, FileStep, Journal
from mdmem.memory import Memory, initialise
from mdmem.model import FilePath
from mdmem.model.reads import Initialise
from mdmem.model.searches import Search
from mdmem.model.writes import Log
from mdmem.workspace import open_at, state

HOME = Path(".git", "mdmem")
STATE_HOME = ".local/state/mdmem"


@pytest.fixture
def folder(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    folder = tmp_path / "notes"
    folder.mkdir()
    world.git(folder, "init", "-q")
    world.git(folder, "config", "user.name", "Ada")
    world.git(folder, "config", "user.email", "ada@example.org")
    (folder / "MEMORY.md").write_text("# Memory\n\n## Facts\n\n- the boiler is in the cellar\n")
    world.git(folder, "add", ".")
    world.git(folder, "commit", "-qm", "facts")
    return folder


def texts(folder: Path, query: str = "boiler") -> list[str]:
    with closing(Memory.open(folder, os.environ)) as memory:
        return [hit.text for hit in memory.search(Search(query)).hits]


def listed(world: World) -> list[str]:
    return (world.home / STATE_HOME / "state-ids").read_text().splitlines()


class TestWhoseItIs:
    def test_a_search_makes_one_and_lists_it(self, world: World, folder: Path):
        assert texts(folder)
        (line,) = listed(world)
        assert len(line) == 33
        made = (folder / HOME / "id").read_text()
        index = (folder / STATE / "index").stat().st_ino
        assert texts(folder)
        assert (folder / HOME / "id").read_text() == made
        assert (folder / STATE / "index").stat().st_ino == index
        assert listed(world) == [line]

    @pytest.mark.parametrize(
        "way", ["none", "unknown", "long", "link", "fifo", "folder", "no list"]
    )
    def test_one_that_is_not_listed_is_made_anew(self, world: World, folder: Path, way: str):
        texts(folder)
        path = folder / HOME / "id"
        match way:
            case "none":
                path.unlink()
            case "unknown":
                path.write_text("0" * 32)
            case "long":
                path.write_text("0" * 1_000_000)
            case "link":
                path.rename(folder / "id")
                path.symlink_to(folder / "id")
            case "folder":
                path.unlink()
                path.mkdir()
            case "fifo":
                path.unlink()
                os.mkfifo(path)
            case _:
                (world.home / STATE_HOME / "state-ids").write_text("")
        (folder / STATE / "events.jsonl").write_text("{}\n")
        (folder / STATE / "run.lock").touch()
        (folder / HOME / "landing.json").write_text("{}")
        open_at(folder, os.environ)
        assert sorted(each.name for each in (folder / HOME).iterdir()) == ["id", "root"]
        left = {each.name for each in (folder / STATE).iterdir()}
        assert all(name == "lock" or name.endswith(".lock") for name in left)
        assert "run.lock" in left
        assert texts(folder) == ["the boiler is in the cellar"]

    def test_a_copy_elsewhere(self, folder: Path, tmp_path: Path):
        texts(folder)
        shutil.copytree(folder, tmp_path / "copy")
        open_at(tmp_path / "copy", os.environ)
        assert not (tmp_path / "copy" / STATE / "index").exists()

    def test_a_folder_that_was_moved_or_put_back(self, folder: Path, tmp_path: Path):
        texts(folder)
        folder.rename(tmp_path / "moved")
        open_at(tmp_path / "moved", os.environ)
        assert (tmp_path / "moved" / STATE / "index").exists()
        shutil.copytree(tmp_path / "moved", folder)
        open_at(folder, os.environ)
        assert (folder / STATE / "index").exists()

    def test_no_record_of_a_stranger_is_carried_out(self, world: World, folder: Path):
        digest = files.digest(b"evil\n")
        step = FileStep(
            path=FilePath("MEMORY.md"),
            before=files.digest((folder / "MEMORY.md").read_bytes()),
            after=digest,
            temporary=".mdmem-0.tmp",
        )
        (folder / STATE).mkdir(parents=True)
        journal.save(folder / STATE / journal.WRITE_NAME, Journal((step,), CommitStep("x", "")))
        (folder / ".mdmem-0.tmp").write_text("evil\n")
        with closing(Memory.open(folder, os.environ)) as memory:
            memory.apply(Log("a line"))
        assert "evil" not in (folder / "MEMORY.md").read_text()
        assert world.git(folder, "log", "-1", "--format=%s").stdout.startswith("memory/")

    @pytest.mark.parametrize("inner", ["", "root", "root/index", "root/lock"])
    def test_links_are_not_followed(self, folder: Path, tmp_path: Path, inner: str):
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "letter").write_text("to Bo\n")
        link = folder / HOME / inner if inner else folder / HOME
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(outside)
        with closing(Memory.open(folder, os.environ)) as memory:
            memory.apply(Log("a line"))
            memory.search(Search("line"))
        assert not link.is_symlink()
        assert [each.name for each in outside.iterdir()] == ["letter"]

    def test_a_link_to_the_state_of_another_folder(self, world: World, folder: Path):
        other = world.home / "other"
        shutil.copytree(folder, other)
        texts(other)
        (folder / HOME).symlink_to(other / HOME)
        before = [(path, path.stat().st_mtime_ns) for path in sorted((other / HOME).rglob("*"))]
        assert texts(folder) == ["the boiler is in the cellar"]
        with closing(Memory.open(folder, os.environ)) as memory:
            memory.apply(Log("a line"))
        assert not (folder / HOME).is_symlink()
        after = [(path, path.stat().st_mtime_ns) for path in sorted((other / HOME).rglob("*"))]
        assert after == before

    def test_the_list_keeps_the_newest(
        self, world: World, folder: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(state, "_MOST_IDS", 3)
        texts(folder)
        (first,) = listed(world)
        for _ in range(3):
            shutil.rmtree(folder / HOME)
            texts(folder)
        assert len(listed(world)) == 3
        assert first not in listed(world)

    def test_a_writer_of_an_older_version_is_waited_for(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(state, "_LOCK_SECONDS", 0.05)
        (folder / STATE).mkdir(parents=True)
        (folder / STATE / "events.jsonl").touch()
        with files.lock(folder / STATE / "lock", 0):
            workspace = open_at(folder, os.environ)
            assert not workspace.state.is_relative_to(folder)
            assert (folder / STATE / "events.jsonl").exists()
        assert open_at(folder, os.environ).state == folder / STATE
        assert not (folder / STATE / "events.jsonl").exists()

    def test_many_at_once(self, world: World, folder: Path):
        (folder / STATE).mkdir(parents=True)
        threads = [threading.Thread(target=open_at, args=(folder, os.environ)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(listed(world)) == 1


class TestElsewhere:
    @pytest.fixture(params=["another owner", "no list", "no home"])
    def cause(
        self, request: pytest.FixtureRequest, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> str:
        match request.param:
            case "another owner":
                monkeypatch.setattr(os, "geteuid", lambda: 54_321)
            case "no list":
                (world.home / ".local").write_text("a file\n")
            case _:
                monkeypatch.delenv("HOME")
                monkeypatch.delenv("XDG_STATE_HOME", raising=False)
        monkeypatch.setenv("TMPDIR", str(world.home))
        cause: str = request.param
        return cause

    def test_reads_and_writes(self, world: World, folder: Path, cause: str):
        shutil.rmtree(folder / HOME, ignore_errors=True)
        with closing(Memory.open(folder, os.environ)) as memory:
            memory.apply(Log("a line"))
            assert [hit.text for hit in memory.search(Search("line")).hits] == ["a line"]
            assert not memory.workspace.state.is_relative_to(folder)
            assert memory.workspace.state.parent.parent.name == "states"
            again = open_at(folder, os.environ)
            assert again.state == memory.workspace.state
        assert not (folder / STATE).exists()

    def test_what_lies_there_is_left_alone(self, folder: Path, monkeypatch: pytest.MonkeyPatch):
        texts(folder)
        before = sorted((folder / HOME).rglob("*"))
        monkeypatch.setattr(os, "geteuid", lambda: 54_321)
        assert texts(folder) == ["the boiler is in the cellar"]
        assert sorted((folder / HOME).rglob("*")) == before
        lock = open_at(folder, os.environ).write_lock()
        assert lock == folder / STATE / "lock"

    def test_a_temporary_folder_of_somebody_else(
        self, world: World, folder: Path, monkeypatch: pytest.MonkeyPatch
    ):
        (world.home / ".local").write_text("a file\n")
        monkeypatch.setenv("TMPDIR", str(world.home))
        planted = world.home / f"mdmem-state-{os.geteuid()}"
        planted.mkdir(0o755)
        assert texts(folder) == ["the boiler is in the cellar"]
        assert list(planted.iterdir()) == []


class TestSharedRepositories:
    @pytest.mark.parametrize(
        ("value", "mode"),
        [("group", 0o660), ("true", 0o660), ("all", 0o664), ("2", 0o664), ("0660", 0o660)],
    )
    def test_the_lock_is_for_all_who_may_write(
        self,
        world: World,
        folder: Path,
        value: str,
        mode: int,
        monkeypatch: pytest.MonkeyPatch,
    ):
        monkeypatch.delenv("MDMEM_ADOPT")
        world.git(folder, "config", "core.sharedRepository", value)
        workspace = open_at(folder, os.environ)
        lock = workspace.write_lock()
        assert lock == folder / HOME / "root.lock"
        assert stat.S_IMODE(lock.stat().st_mode) == mode
        home = stat.S_IMODE((folder / HOME).stat().st_mode)
        assert home & 0o2770 == 0o2770
        assert (folder / STATE).stat().st_mode & 0o777 == 0o700
        initialise(Initialise(str(folder), hooks=False), os.environ)
        assert stat.S_IMODE((folder / ".git" / "mdmem-id").stat().st_mode) == mode

    @pytest.mark.parametrize("value", ["umask", "false", "0600", "09", "nonsense"])
    def test_others_keep_the_old_place(self, world: World, folder: Path, value: str):
        world.git(folder, "config", "core.sharedRepository", value)
        assert open_at(folder, os.environ).write_lock() == folder / STATE / "lock"

    def test_a_second_user(self, world: World, folder: Path, monkeypatch: pytest.MonkeyPatch):
        world.git(folder, "config", "core.sharedRepository", "group")
        first = open_at(folder, os.environ).write_lock()
        monkeypatch.setattr(os, "geteuid", lambda: 54_321)
        workspace = open_at(folder, os.environ)
        assert workspace.write_lock() == first
        assert not workspace.state.is_relative_to(folder)


def in_a_shell(folder: Path) -> None:
    with closing(Memory.open(folder, os.environ)) as memory:
        memory.apply(Log("lives in Oslo"))
        memory.search(Search("boiler"))
        memory.search(Search("boiler", sessions=True))


@pytest.mark.parametrize("before", [lambda _: None, in_a_shell])
def test_other_users_read_nothing_of_it(
    world: World, folder: Path, before: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
):
    """Also after an update of what was there."""
    sessions = world.home / ".openclaw" / "agents" / "main" / "sessions"
    sessions.mkdir(parents=True)
    settings = world.home / ".config" / "mdmem" / "config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('sessions = ["openclaw"]\nsession_scope = "all"\n')
    start = {"type": "session", "version": 3, "id": "s", "timestamp": NOW, "cwd": "/x"}
    (sessions / "s.jsonl").write_text(json.dumps(start) + "\n")
    umask = os.umask(0o002)
    try:
        before(folder)
        in_a_shell(folder)
    finally:
        os.umask(umask)
    modes = {
        str(path.relative_to(folder)): stat.S_IMODE(path.lstat().st_mode)
        for path in (folder / HOME, *(folder / HOME).rglob("*"))
    }
    assert {path: oct(mode) for path, mode in modes.items() if mode & 0o077} == {}
    assert any(path.endswith(".store") for path in modes)
