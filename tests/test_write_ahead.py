"""The record of a write that is under way, as it is kept on disk."""

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from mdmem.folder import files, write_ahead
from mdmem.model import FilePath


def test_locks_and_the_record_are_where_another_version_looks_for_them():
    names = (
        files.LOCK_NAME,
        write_ahead.RECORD_NAME,
        files.INDEX_LOCK,
        files.QUEUE_LOCK,
        files.TRAIL_LOCK,
    )
    assert names == ("lock", "write-ahead.json", "index.lock", "queue.lock", "trail.lock")


class TestRecord:
    RECORD = write_ahead.Record(
        path=FilePath("a.md"),
        before=None,
        after="0",
        message="m",
        date="@0 +0000",
        temporary=".mdmem-0.tmp",
    )

    def test_it_is_read_as_it_was_written(self, tmp_path: Path):
        for record in (self.RECORD, replace(self.RECORD, before="1", message="\N{SNOWMAN}\udcff")):
            write_ahead.save_record(tmp_path, record)
            assert write_ahead.load_record(tmp_path) == record
            assert [path.name for path in tmp_path.iterdir()] == [write_ahead.RECORD_NAME]
        assert stat.S_IMODE((tmp_path / write_ahead.RECORD_NAME).stat().st_mode) == 0o600

    def test_what_is_dropped_with_it(self, tmp_path: Path):
        write_ahead.save_record(tmp_path, self.RECORD)
        for name in (".mdmem-1.tmp", ".mdmem-2.tmp", "kept.tmp", ".mdmem-kept"):
            (tmp_path / name).touch()
        write_ahead.drop_record(tmp_path)
        assert sorted(path.name for path in tmp_path.iterdir()) == [".mdmem-kept", "kept.tmp"]
        write_ahead.drop_record(tmp_path / "none")
        write_ahead.drop_record(tmp_path)

    def test_what_another_process_has_dropped_meanwhile(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(Path, "iterdir", lambda folder: iter([folder / ".mdmem-1.tmp"]))
        write_ahead.drop_record(tmp_path)


class TestMoveRecord:
    MOVE = write_ahead.MoveRecord(
        path=FilePath("a.md"),
        target=FilePath("b.md"),
        is_removal=False,
        digests={"": "0"},
        message="m",
        date="@0 +0000",
    )
    REMOVAL = replace(
        MOVE,
        path=FilePath("memory/a"),
        target=FilePath("memory/.mdmem-0.tmp"),
        is_removal=True,
        digests={"x.md": "1"},
    )

    @pytest.mark.parametrize(
        ("record", "before", "temporary"), [(MOVE, "0", ""), (REMOVAL, None, ".mdmem-0.tmp")]
    )
    def test_it_is_read_as_it_was_written(
        self, tmp_path: Path, record: write_ahead.MoveRecord, before: str | None, temporary: str
    ):
        write_ahead.save_record(tmp_path, record)
        assert write_ahead.load_record(tmp_path) == record
        assert record.files == (write_ahead.FileRecord(record.path, before, "", temporary),)

    @pytest.mark.parametrize(
        "record",
        [
            replace(REMOVAL, target=FilePath("memory/b")),
            replace(REMOVAL, target=FilePath(".mdmem-0.tmp/b")),
            replace(MOVE, message=1),
            replace(MOVE, digests={"": 0}),
        ],
    )
    def test_one_that_somebody_wrote_is_none(self, tmp_path: Path, record: write_ahead.MoveRecord):
        write_ahead.save_record(tmp_path, record)
        assert write_ahead.load_record(tmp_path) is None
