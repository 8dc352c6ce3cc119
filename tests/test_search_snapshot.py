from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.index.snapshot import (
    EMPTY_SNAPSHOT,
    NEVER_INDEXED,
    SEEN_NAME,
    Snapshot,
    SnapshotFile,
    read_seen,
    stamps_digest,
    write_seen,
)
from mdmem.model import CommitId

FILES = {
    "MEMORY.md": SnapshotFile("1 2 3 4", "aa", False),
    "memory/été.md": SnapshotFile("5 6 7 8", "bb", True),
    "memory/odd\udcff.md": SnapshotFile("9 10 11 12", "", False, "the file is not UTF-8"),
}
SEEN = Snapshot(CommitId("c" * 40), FILES, "settings", False, "of all of them")
STAMPS = {path: seen.stamp for path, seen in FILES.items()}
VERSION = [7, "0.4"]
read_from = partial(read_seen, version=VERSION, seen_type=Snapshot, file_type=SnapshotFile)


@pytest.mark.parametrize("durably", [False, True])
def test_it_is_read_as_it_was_written(tmp_path: Path, durably: bool) -> None:
    write_seen(tmp_path, VERSION, EMPTY_SNAPSHOT, durably)
    write_seen(tmp_path, VERSION, SEEN, durably)
    read = read_from(tmp_path)
    assert read == SEEN
    assert read.stamps == SEEN.stamps
    assert [*read.files] == [*FILES]
    assert [path.name for path in tmp_path.iterdir()] == [SEEN_NAME]


def test_where_there_is_nothing_nothing_was_seen(tmp_path: Path) -> None:
    assert read_from(tmp_path) is None
    assert read_from(tmp_path / "missing") is None


DAMAGE: Mapping[str, Callable[[bytes], bytes]] = {
    "empty": lambda text: b"",
    "half": lambda text: text[: len(text) // 2],
    "one digit of a file": lambda text: text.replace(b'"aa"', b'"ab"'),
    "another setting": lambda text: text.replace(b'"settings"', b'"settinga"'),
    "another version": lambda text: text.replace(b"[7,", b"[8,"),
    "of another program": lambda text: b"{}",
}


@pytest.mark.parametrize("name", DAMAGE)
def test_what_is_damaged_counts_for_nothing(tmp_path: Path, name: str) -> None:
    write_seen(tmp_path, VERSION, SEEN, False)
    place = tmp_path / SEEN_NAME
    place.write_bytes(DAMAGE[name](place.read_bytes()))
    assert read_from(tmp_path) is None


@pytest.mark.parametrize("stored", [False, True])
def test_files_that_are_unlike_what_was_seen(tmp_path: Path, stored: bool) -> None:
    write_seen(tmp_path, VERSION, SEEN, False)
    seen = read_from(tmp_path) if stored else SEEN
    assert seen.changed_paths(STAMPS) == ([], [])
    now = {"MEMORY.md": STAMPS["MEMORY.md"], "memory/été.md": "5 6 8 8", "memory/new.md": "1 1 1 1"}
    assert seen.changed_paths(now) == (["memory/été.md", "memory/new.md"], ["memory/odd\udcff.md"])


def test_a_path_whose_documents_are_being_changed_is_like_no_file() -> None:
    assert Snapshot(files={"MEMORY.md": NEVER_INDEXED}).changed_paths(STAMPS)[0] == [*STAMPS]


@given(st.dictionaries(st.sampled_from([*STAMPS]), st.sampled_from([*STAMPS.values()])))
def test_the_digest_of_all_stamps_tells_them_apart(stamps: dict[str, str]) -> None:
    turned = dict(reversed(stamps.items()))
    assert stamps_digest(turned) == stamps_digest(stamps)
    assert (stamps_digest(stamps) == stamps_digest(STAMPS)) == (stamps == STAMPS)
