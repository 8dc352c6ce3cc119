"""From one transcript to the next: what is not read again, and what is kept of how far each is
read.
"""

import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from pi_sessions import write_session
from workspaces import NOW, Desk, desk

from mdmem.memory import Memory
from mdmem.model.pipelines import StepRecord
from mdmem.model.sessions import ReadingStart
from mdmem.nights.digest import cursors, news
from mdmem.nights.digest.cursors import Cursor, ReadEnd, read_state

TALK = ("We decided to keep the old pump.", "agent: Noted.", "I prefer calls before noon.")
START = ReadingStart(
    line=3,
    offset=120,
    read_line=5,
    read_hash="0123456789ab",
    client="openclaw",
    session="a|b%c",
    project="/home/ada|%7C/x y",
    started=datetime(2026, 3, 4, 9, tzinfo=UTC),
    time=None,
    unattended=False,
    tells_origin=True,
    tools_line=None,
    own=None,
)


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository)


@pytest.fixture
def folder(at: Desk) -> Path:
    made = at.world.home / "sessions"
    made.mkdir()
    settings(at, made)
    return made


def settings(at: Desk, folder: Path, scope: str = "all") -> None:
    path = at.world.home / ".config" / "mdmem" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'sessions = ["{folder}/*.jsonl"]\nsession_scope = "{scope}"\ndream = "off"\n')


def run(at: Desk) -> StepRecord:
    memory = Memory(at.workspace)
    try:
        (step,) = memory.pipelines.run().steps
    finally:
        memory.close()
    return step.record


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are read from now on."""
    names: list[str] = []
    read_file = news.read_file

    def noted(path: str, *rest: Any) -> Any:
        names.append(Path(path).name)
        return read_file(path, *rest)

    monkeypatch.setattr(news, "read_file", noted)
    return names


@pytest.mark.parametrize("start", [None, START])
@pytest.mark.parametrize("end", [None, ReadEnd(5, "0123456789ab")])
@pytest.mark.parametrize(
    "more", [{}, {"has_entries": True, "settled": True}, {"problem": "unknown-format"}]
)
def test_a_cursor_is_read_as_it_was_kept(
    tmp_path: Path, start: ReadingStart | None, end: ReadEnd | None, more: dict[str, Any]
):
    cursor = Cursor(device=1, inode=2, size=3, changed=4, read_size=2, start=start, end=end, **more)
    read = read_state(tmp_path)
    read.cursors["/a"] = cursor
    read.write(tmp_path)
    assert read_state(tmp_path).cursors["/a"] == cursor


def test_a_damaged_row_is_none(tmp_path: Path):
    (tmp_path / cursors.STATE_NAME).write_text(
        '{"version":6,"ends":{},"due":{},"marks":{},"cursors":{"/a":"{\\"device\\":1,","/b":"[]"}}'
    )
    kept = read_state(tmp_path).cursors
    assert [kept.get("/a"), kept.get("/b"), kept.get("/c")] == [None, None, None]


def test_what_is_as_it_was_is_not_read_again(at: Desk, folder: Path, read: list[str]):
    for number in range(3):
        write_session(folder, *TALK, session=f"5a1e000{number}")
    (folder / "strange.jsonl").write_text('{"what": "is this"}\n')
    (folder / "empty.jsonl").write_text("")
    assert run(at).outcome == "unknown-format"
    read.clear()
    again = run(at)
    assert (read, again.outcome, again.figures.left) == ([], "unknown-format", 1)
    write_session(folder, *TALK, "We decided to sell the boat.", session="5a1e0001")
    assert (run(at).figures.entries, read) == (1, ["5a1e0001.jsonl"])


def test_what_has_ended_is_looked_at_once_more(at: Desk, folder: Path, read: list[str]):
    write_session(folder, "ok", "agent: Noted.")
    (folder / "empty.jsonl").write_text("")
    run(at)
    for path in folder.iterdir():
        os.utime(path, (time.time() - 2 * 24 * 3600,) * 2)
    read.clear()
    run(at)
    assert set(read) == {"5a1e0000.jsonl", "empty.jsonl"}
    read.clear()
    run(at)
    assert read == []


def test_sessions_of_other_projects_are_read_once_they_count(
    at: Desk, folder: Path, read: list[str]
):
    settings(at, folder, "project")
    write_session(folder, *TALK)
    assert (run(at).figures.entries, run(at).figures.entries, len(read)) == (0, 0, 1)
    settings(at, folder)
    assert run(at).figures.entries == 2


def test_a_file_by_a_link_is_the_same_file(at: Desk, folder: Path, read: list[str]):
    path = write_session(folder, *TALK)
    (folder.parent / "link").symlink_to(folder)
    run(at)
    settings(at, folder.parent / "link")
    read.clear()
    assert (run(at).outcome, read) == ("unchanged", [])
    assert list(read_state(at.workspace.state).cursors) == [str(path)]
