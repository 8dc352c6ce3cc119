"""Waiting for a quiet moment, by a clock that only sleeping moves."""

import os
from pathlib import Path

import pytest

from mdmem.index import background

START = 1_000_000.0


class Clock:
    """A fake `time`. Names are written in the folder until a set moment."""

    def __init__(self, folder: Path, busy_until: float) -> None:
        self.now = START
        self.stamps: list[float] = []
        self._folder, self._busy_until = folder, busy_until
        self._write()

    def _write(self) -> None:
        stamp = min(self.now, self._busy_until)
        os.utime(self._folder, (stamp, stamp))

    def time(self) -> float:
        return self.now

    monotonic = time

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self._write()
        mark = self._folder / "state" / "mark"
        if mark.exists():
            self.stamps.append(mark.stat().st_mtime)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "state").mkdir()
    return tmp_path


def clock(monkeypatch: pytest.MonkeyPatch, folder: Path, busy: float) -> Clock:
    made = Clock(folder, START + busy)
    monkeypatch.setattr(background, "time", made)
    return made


def waited(folder: Path) -> bool:
    return background.wait_unless_waited(str(folder), str(folder / "state" / "mark"))


@pytest.mark.parametrize(("busy", "seconds"), [(-1.0, 0.0), (0.0, 0.25), (1.0, 1.25), (60.0, 3.0)])
def test_until_it_is_quiet_but_not_for_long(
    monkeypatch: pytest.MonkeyPatch, folder: Path, busy: float, seconds: float
):
    time = clock(monkeypatch, folder, busy)
    background.wait_until_quiet(folder)
    assert time.now - START == pytest.approx(seconds, abs=0.06)


def test_meanwhile_a_mark_says_when_it_ends_at_the_latest(
    monkeypatch: pytest.MonkeyPatch, folder: Path
):
    time = clock(monkeypatch, folder, 1.0)
    assert waited(folder)
    assert set(time.stamps) == {START + 3}
    assert not (folder / "state" / "mark").exists()


@pytest.mark.parametrize(("stamp", "ours"), [(START + 2, False), (START - 2, True)])
def test_one_waits_and_one_that_was_killed_does_not(
    monkeypatch: pytest.MonkeyPatch, folder: Path, stamp: float, ours: bool
):
    mark = folder / "state" / "mark"
    mark.touch()
    os.utime(mark, (stamp, stamp))
    time = clock(monkeypatch, folder, 0.0)
    assert waited(folder) is ours
    assert (time.now > START) is ours
    assert mark.exists() is not ours


def test_a_mark_that_goes_meanwhile(monkeypatch: pytest.MonkeyPatch, folder: Path):
    """The process that waited has begun its work, and may not see what was done last."""
    mark = folder / "state" / "mark"
    mark.symlink_to("gone")
    clock(monkeypatch, folder, -1.0)
    assert waited(folder)
    assert not mark.is_symlink()


def test_where_nothing_can_be_marked(monkeypatch: pytest.MonkeyPatch, folder: Path):
    (folder / "state").rmdir()
    time = clock(monkeypatch, folder, 0.0)
    assert waited(folder)
    assert time.now == START
