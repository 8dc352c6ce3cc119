from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.index.snapshot import (
    EMPTY_SNAPSHOT,
    NEVER_INDEXED,
    SNAPSHOT_NAME,
    FileStamp,
    Snapshot,
    SnapshotFile,
    read_snapshot,
    stamp_text,
    stamps_digest,
    write_snapshot,
)
from mdmem.model import CommitId

FILES = {
    "MEMORY.md": SnapshotFile(FileStamp(1, 2, 3, 4), "aa", False),
    "memory/été.md": SnapshotFile(FileStamp(5, 6, 7, 8), "bb", True),
    "memory/odd\udcff.md": SnapshotFile(
        FileStamp(9, 10, 11, 12), "", False, "the file is not UTF-8"
    ),
}
SEEN = Snapshot(CommitId("c" * 40), FILES, "settings", False, "of all of them")
STAMPS = {path: seen.stamp.text for path, seen in FILES.items()}


@pytest.mark.parametrize("durably", [False, True])
def test_it_is_read_as_it_was_written(tmp_path: Path, durably: bool) -> None:
    write_snapshot(tmp_path, EMPTY_SNAPSHOT, durably)
    write_snapshot(tmp_path, SEEN, durably)
    read = read_snapshot(tmp_path)
    assert read is not None
    assert read == SEEN
    assert read.stamps == SEEN.stamps
    assert [*read.files] == [*FILES]
    assert [path.name for path in tmp_path.iterdir()] == [SNAPSHOT_NAME]


def test_where_there_is_nothing_nothing_was_seen(tmp_path: Path) -> None:
    assert read_snapshot(tmp_path) is None
    assert read_snapshot(tmp_path / "missing") is None


DAMAGE: Mapping[str, Callable[[bytes], bytes]] = {
    "empty": lambda text: b"",
    "half": lambda text: text[: len(text) // 2],
    "one digit of a file": lambda text: text.replace(b'"aa"', b'"ab"'),
    "another version": lambda text: text.replace(b'{"version":', b'{"version":1'),
    "not an object": lambda text: b"[]",
}


@pytest.mark.parametrize("name", DAMAGE)
def test_what_is_damaged_counts_for_nothing(tmp_path: Path, name: str) -> None:
    write_snapshot(tmp_path, SEEN, False)
    place = tmp_path / SNAPSHOT_NAME
    place.write_bytes(DAMAGE[name](place.read_bytes()))
    assert read_snapshot(tmp_path) is None


@pytest.mark.parametrize("stored", [False, True])
def test_files_that_are_unlike_what_was_seen(tmp_path: Path, stored: bool) -> None:
    write_snapshot(tmp_path, SEEN, False)
    seen = read_snapshot(tmp_path) if stored else SEEN
    assert seen is not None
    assert seen.changed_paths(STAMPS) == ([], [])
    now = {"MEMORY.md": STAMPS["MEMORY.md"], "memory/été.md": "5 6 8 8", "memory/new.md": "1 1 1 1"}
    assert seen.changed_paths(now) == (["memory/été.md", "memory/new.md"], ["memory/odd\udcff.md"])


def test_a_path_whose_documents_are_being_changed_is_like_no_file() -> None:
    assert Snapshot(files={"MEMORY.md": NEVER_INDEXED}).changed_paths(STAMPS)[0] == [*STAMPS]


def test_a_stamp_is_the_same_both_ways(tmp_path: Path) -> None:
    status = tmp_path.stat()
    assert FileStamp.of(status).text == stamp_text(status)


@given(st.dictionaries(st.sampled_from([*STAMPS]), st.sampled_from([*STAMPS.values()])))
def test_the_digest_of_all_stamps_tells_them_apart(stamps: dict[str, str]) -> None:
    turned = dict(reversed(stamps.items()))
    assert stamps_digest(turned) == stamps_digest(stamps)
    assert (stamps_digest(stamps) == stamps_digest(STAMPS)) == (stamps == STAMPS)
