"""The secrets of the page, as they are kept between starts."""

import json
import stat
import time
from pathlib import Path

import pytest

from mdmem.page.guard import LIFETIME_SECONDS, new_keys, stored_keys


def test_keys_are_kept_for_their_owner_alone(tmp_path: Path):
    file = tmp_path / "page.json"
    made, kept = stored_keys(file), stored_keys(file)
    assert (made.is_kept, kept.is_kept) == (False, True)
    assert (made.key, made.token) == (kept.key, kept.token)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["page.json"]


def test_they_are_two_and_random():
    secrets = {value for keys in (new_keys(), new_keys()) for value in (keys.key, keys.token)}
    assert len(secrets) == 4
    assert all(len(value) == 22 for value in secrets)


def test_they_change_when_asked(tmp_path: Path):
    file = tmp_path / "page.json"
    first = stored_keys(file)
    second = stored_keys(file, renew=True)
    assert {first.key, first.token}.isdisjoint({second.key, second.token})
    assert stored_keys(file).key == second.key


@pytest.mark.parametrize(
    ("age", "is_kept"), [(LIFETIME_SECONDS - 60, True), (LIFETIME_SECONDS, False), (-60, False)]
)
def test_they_change_after_30_days(tmp_path: Path, age: int, is_kept: bool):
    file = tmp_path / "page.json"
    first = stored_keys(file)
    record = {**json.loads(file.read_text()), "made": int(time.time()) - age}
    file.write_text(json.dumps(record))
    assert (stored_keys(file).key == first.key) is is_kept


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_they_change_where_others_could_read_them(tmp_path: Path, mode: int):
    file = tmp_path / "page.json"
    first = stored_keys(file)
    file.chmod(mode)
    assert stored_keys(file).key != first.key
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"key": "", "token": "", "made": 1}'])
def test_they_change_where_the_file_is_damaged(tmp_path: Path, text: str):
    file = tmp_path / "page.json"
    file.write_text(text)
    file.chmod(0o600)
    made = stored_keys(file)
    assert stored_keys(file).key == made.key
