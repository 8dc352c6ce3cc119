"""Marks of messages: kept, found, and dropped when they are old."""

from hashlib import sha256
from pathlib import Path

import pytest

from mdmem.nights.digest import cursors
from mdmem.nights.digest.cursors import read_marks, write_marks


def mark(number: int) -> str:
    return sha256(str(number).encode()).hexdigest()[:12]


@pytest.mark.parametrize("many", [2_000, 10])
def test_what_is_kept_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: int):
    monkeypatch.setattr(cursors, "_MANY_LOOKUPS", many)
    for part in range(3):
        kept = read_marks(tmp_path)
        for number in range(part * 100, part * 100 + 100):
            assert kept.setdefault(mark(number), (f"claude/{number % 7}", 20_000)) == (
                f"claude/{number % 7}",
                20_000,
            )
        write_marks(tmp_path, kept, 20_001)
    kept = read_marks(tmp_path)
    assert [kept.get(mark(number)) for number in range(300)] == [
        (f"claude/{number % 7}", 20_000) for number in range(300)
    ]
    assert [kept.get(mark(number)) for number in range(300, 400)] == [None] * 100
    assert kept.setdefault(mark(5), ("codex/1", 1)) == ("claude/5", 20_000)
    assert (len(kept), set(kept)) == (300, {mark(number) for number in range(300)})


def test_digits_that_stand_across_two_marks_are_none(tmp_path: Path):
    kept = read_marks(tmp_path)
    kept["ab0123456789"], kept["abcdefcdefcd"] = ("a/1", 20_000), ("a/2", 20_000)
    write_marks(tmp_path, kept, 20_000)
    kept = read_marks(tmp_path)
    record = "0123456789" + "00000" + f"{20_000:04x}"
    for at in range(1, len(record)):
        assert ("ab" + (record + "cdefcdefcd")[at : at + 10] in kept) is False


def test_old_ones_are_dropped(tmp_path: Path):
    kept = read_marks(tmp_path)
    kept[mark(1)], kept[mark(2)] = ("a/1", 20_000), ("a/2", 20_030)
    write_marks(tmp_path, kept, 20_030)
    kept = read_marks(tmp_path)
    kept[mark(3)] = ("a/3", 20_060)
    write_marks(tmp_path, kept, 20_060)
    assert dict(read_marks(tmp_path)) == {mark(2): ("a/2", 20_030), mark(3): ("a/3", 20_060)}


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "{",
        "[]",
        '{"version":1}',
        '{"version":1,"sessions":[],"day":0,"marks":{"ab":3}}',
        '{"version":9}',
    ],
)
def test_damaged_ones_are_none(tmp_path: Path, damage: str):
    (tmp_path / cursors.MARKS_NAME).write_text(damage)
    assert dict(read_marks(tmp_path)) == {}
