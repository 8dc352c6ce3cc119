"""Marks of messages: kept, found, and dropped when they are old."""

import json
from pathlib import Path

import pytest

from mdmem.nights.digest import cursors
from mdmem.nights.digest.cursors import DueLines, read_state

DAY = cursors.today()


def mark(number: int) -> str:
    return f"{number * 99_991:012x}"


def test_what_is_kept_is_found(tmp_path: Path):
    for part in range(3):
        read = read_state(tmp_path)
        for number in range(part * 100, part * 100 + 100):
            read.marks.setdefault(mark(number), (f"claude/{number % 7}", DAY))
            if number % 50 == 49:
                read.write(tmp_path)
    read_state(tmp_path).write(tmp_path)
    kept = {mark(number): (f"claude/{number % 7}", DAY) for number in range(300)}
    assert read_state(tmp_path).marks == kept


def test_old_ones_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cursors, "today", lambda: DAY)
    read = read_state(tmp_path)
    read.marks |= {mark(number): ("a/1", DAY - age) for number, age in enumerate((60, 59, 0))}
    read.write(tmp_path)
    assert read_state(tmp_path).marks == {mark(1): ("a/1", DAY - 59), mark(2): ("a/1", DAY)}


@pytest.mark.parametrize(
    "damage",
    [
        '{"version":6,"cursors":{},"ends":{},"due":{},"marks":{"a/1":{"x":""}}}',
        '{"version":6,"cursors":{"/a":3},"ends":{},"due":{},"marks":{}}',
    ],
)
def test_damaged_ones_are_none(tmp_path: Path, damage: str):
    (tmp_path / cursors.STATE_NAME).write_text(damage)
    read = read_state(tmp_path)
    assert (read.marks, dict(read.cursors), read.ends) == ({}, {}, None)


def test_what_0_3_left_is_taken_over_once(tmp_path: Path):
    path, one, two = str(tmp_path), "0123456789ab", "ab0123456789"
    marks = {one[:2]: f"{one[2:]}00001{DAY:04x}", two[:2]: f"{two[2:]}00000{DAY:04x}"}
    old = {"version": 1, "sessions": ["a/2", "a/1"], "day": DAY, "marks": marks}
    (tmp_path / "marks.json").write_text(json.dumps(old))
    due = {"version": 2, "sessions": {"a/1": [path, 7, 2, 900, True, 1, 0]}}
    (tmp_path / "model-due.json").write_text(json.dumps(due))
    (tmp_path / cursors.STATE_NAME).write_text('{"version":5,"values":{"cursors":{},"ends":{}}}')
    for _ in range(2):
        read = read_state(tmp_path)
        assert read.marks == {one: ("a/1", DAY), two: ("a/2", DAY)}
        assert read.due == {"a/1": DueLines(path, 7, 2, size=900, compacted=True, tries=1)}
        read.write(tmp_path)
        (tmp_path / "marks.json").write_text("{}")
